//! One suite, both clients: a suite runs itself once more over reqwest.

#[cfg(feature = "reqwest")]
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

/// Defines a test that runs all others of its suite over reqwest. All pass but those that are listed, each with the promise that `direct`
/// alone keeps, as the table of clients has it in the reference; and these fail.
macro_rules! and_over_reqwest {
    ($($test:literal: $promise:literal),* $(,)?) => {
        #[cfg(feature = "reqwest")]
        #[test]
        fn and_over_reqwest() {
            crate::both::again(&[], &[$(($test, $promise)),*]);
        }
    };
}
pub(crate) use and_over_reqwest;

/// The same, with further arguments for the test runner.
#[cfg(feature = "reqwest")]
pub(crate) fn again(further: &[&str], only_direct: &[(&str, &str)]) {
    if client() == ClientChoice::REQWEST {
        return;
    }
    let run = |arguments: &[&str]| {
        let suite = std::env::current_exe().unwrap();
        let output = Command::new(suite).args(arguments).args(further).env(VARIABLE, "reqwest").output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut all = vec!["--exact", "--skip", "and_over_reqwest"];
    all.extend(only_direct.iter().flat_map(|(test, _)| ["--skip", test]));
    let (passed, told) = run(&all);
    assert!(passed && !told.contains(" 0 passed"), "{told}");
    for (test, promise) in only_direct {
        let row = format!("\n| {promise} | ");
        assert!(include_str!("../../docs/reference.md").contains(&row), "no row of the reference: {promise}");
        let (passed, told) = run(&["--exact", test]);
        assert!(!passed && told.contains("1 failed"), "{test}: reqwest does this too: {promise}\n{told}");
    }
}
