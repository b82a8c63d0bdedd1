//! Hosts as rules name them: `x.example`, or `*.x.example`.

use super::{Canonicalizer, KeyRules};

/// Hosts as rules name them: `x.example` is the host alone, `*.x.example` is `x.example` and all hosts below it. Scheme and port do not
/// count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostPattern {
    pub(super) base: String,
    pub(super) is_below: bool,
}

impl HostPattern {
    /// Reads a name, and gives it the spelling that it has in URLs; `None` if it is no host name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (base, is_below) = text.strip_prefix("*.").map_or((text, false), |base| (base, true));
        let has_port = if base.starts_with('[') { !base.ends_with(']') } else { base.contains(':') };
        let is_plain = !base.is_empty() && !has_port && !base.contains(['/', '?', '#', '@', '*', '\\', ' ']);
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let url = canonicalizer.canonicalize(&format!("http://{base}/")).ok().filter(|_| is_plain)?;
        Some(Self { base: without_dot(url.host()).to_owned(), is_below })
    }

    /// Itself, and every name with a star that matches all hosts that this one matches, the longest first.
    pub(super) fn and_wider(&self) -> impl Iterator<Item = Self> {
        let below = suffixes(&self.base).map(|base| Self { base: base.to_owned(), is_below: true });
        (!self.is_below).then(|| self.clone()).into_iter().chain(below)
    }
}

/// A host's name, and its remainder after each dot, the longest first.
pub(crate) fn suffixes(host: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(host), |name| name.split_once('.').map(|(_, rest)| rest))
}

/// A host's name without the dot that may end it: `x.example.` is the same host.
pub(super) fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_urls_have_it() {
        for (text, base, is_below) in [
            ("x.example", "x.example", false),
            ("*.X.Example.", "x.example", true),
            ("b\u{fc}cher.example", "xn--bcher-kva.example", false),
            ("127.1", "127.0.0.1", false),
            ("[::1]", "[::1]", false),
        ] {
            assert_eq!(HostPattern::parse(text), Some(HostPattern { base: base.to_owned(), is_below }), "{text}");
        }
        for text in
            ["", "*.", "*", "a.*.x", "http://x.example", "x.example:80", "[::1]:80", "x/y", "x y", "u@x", "x?", "x#"]
        {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
    }
}
