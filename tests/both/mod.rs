//! One suite, both clients: a suite runs itself once more over reqwest.

use std::process::Command;

use crawler::crawl::ClientChoice;

/// Set in the process that runs a suite over reqwest.
const VARIABLE: &str = "SUITE_OVER_REQWEST";

/// The client that this process tests.
pub(crate) fn client() -> ClientChoice {
    if std::env::var_os(VARIABLE).is_some() { ClientChoice::REQWEST } else { ClientChoice::DIRECT }
}

/// Runs this suite over reqwest. All tests pass but these, of which each has the promise beside it that only `direct` keeps; and these
/// fail. `own` is the test that calls this.
pub(crate) fn passes_over_reqwest(own: &str, only_direct: &[(&str, &str)]) {
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let run = |arguments: &[&str]| {
        let suite = std::env::current_exe().unwrap();
        let output = Command::new(suite).args(arguments).env(VARIABLE, "1").output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut arguments = vec!["--exact", "--skip", own];
    arguments.extend(only_direct.iter().flat_map(|(test, _)| ["--skip", test]));
    let (passed, told) = run(&arguments);
    assert!(passed, "{told}");
    for (test, promise) in only_direct {
        let (passed, told) = run(&[test, "--exact"]);
        assert!(!passed && told.contains("1 failed"), "{test}: reqwest does this too: {promise}\n{told}");
    }
}
