//! One suite, both clients: each suite also runs over reqwest.

use std::process::Command;

use crawler::crawl::ClientChoice;

/// Set to `reqwest` in the process that runs a suite over it. The commands that such a suite runs go by it, too.
const VARIABLE: &str = "CRAWLER_FETCH_CLIENT";

/// The client that this process tests.
pub(crate) fn client() -> ClientChoice {
    match std::env::var(VARIABLE).as_deref() {
        #[cfg(feature = "reqwest")]
        Ok("reqwest") => ClientChoice::REQWEST,
        Ok(name) => panic!("{VARIABLE} is {name}"),
        Err(_) => ClientChoice::DIRECT,
    }
}

/// Whether the client of this process keeps a promise that `direct` alone keeps, as the table of clients has it in the reference.
pub(crate) fn keeps(promise: &str) -> bool {
    let row = format!("\n| {promise} | ");
    assert!(include_str!("../../docs/reference.md").contains(&row), "no row of the reference: {promise}");
    client() == ClientChoice::DIRECT
}

/// Defines a test that runs all others of its suite over reqwest. All pass but those that are listed, each with the promise that `direct`
/// alone keeps, as the table of clients has it in the reference; and these fail.
macro_rules! and_over_reqwest {
    ($(holding $guard:expr;)? $($test:literal: $promise:literal),* $(,)?) => {
        #[test]
        #[cfg_attr(not(feature = "reqwest"), ignore = "wants the feature `reqwest`")]
        fn and_over_reqwest() {
            $(let _guard = $guard;)?
            crate::both::again(module_path!(), &[$(($test, $promise)),*]);
        }
    };
}
pub(crate) use and_over_reqwest;

/// Runs the tests of a module.
pub(crate) fn again(module: &str, only_direct: &[(&str, &str)]) {
    if client() != ClientChoice::DIRECT {
        return;
    }
    let run = |arguments: &[&str]| {
        let suite = std::env::current_exe().unwrap();
        let output = Command::new(suite).args(arguments).env(VARIABLE, "reqwest").output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // Tests are named without the crate that they are in.
    let named = |test: &str| [module, "::", test].concat().split_once("::").unwrap().1.to_owned();
    let (_, listed) = run(&["--list", "--format", "terse"]);
    let is_left_out = |test: &str| {
        test == named("and_over_reqwest") || only_direct.iter().any(|(only_direct, _)| test == named(only_direct))
    };
    let of_module = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    let mut all: Vec<_> = of_module.filter(|test| test.starts_with(&named("")) && !is_left_out(test)).collect();
    assert!(!all.is_empty(), "{module}: {listed}");
    all.push("--exact");
    let (passed, told) = run(&all);
    assert!(passed && !told.contains(" 0 passed"), "{told}");
    for (test, promise) in only_direct {
        assert!(keeps(promise));
        let (passed, told) = run(&["--exact", &named(test)]);
        assert!(!passed && told.contains("1 failed"), "{test}: reqwest does this too: {promise}\n{told}");
    }
}
