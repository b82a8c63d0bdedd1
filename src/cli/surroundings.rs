//! Warnings about environment variables that other programs obey, but this one only when told to.

use std::ffi::OsString;

/// Variables that set a proxy for other clients; curl and others read them in both cases.
const PROXIES: [&str; 6] = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/// The warnings, if no proxy is set. They never contain the values, since some of these have passwords.
pub(super) fn warnings(variable: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
    let set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty());
    let set: Vec<&str> = PROXIES.iter().copied().filter(set).collect();
    if set.is_empty() {
        return Vec::new();
    }
    vec![format!("{} ignored: each host is asked directly; to obey the environment: --proxy env", set.join(", "))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_named_and_their_values_are_not() {
        let variable = |name: &str| match name {
            "http_proxy" => Some("http://ann:secret@proxy:3128".into()),
            "HTTPS_PROXY" => Some("http://proxy".into()),
            "all_proxy" => Some("".into()),
            _ => None,
        };
        let said = warnings(variable);
        assert_eq!(
            said,
            ["http_proxy, HTTPS_PROXY ignored: each host is asked directly; to obey the environment: --proxy env"]
        );
        assert!(warnings(|_| None).is_empty());
    }
}
