use std::fmt;

/// Scheme, host and port: the unit of politeness. Displayed as an origin, `https://example.org` or `http://example.org:8080`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(Box<str>);

impl HostKey {
    pub(super) fn new(origin: impl Into<Box<str>>) -> Self {
        Self(origin.into())
    }

    /// The origin's text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where this host's robots.txt is.
    pub fn robots_url(&self) -> String {
        format!("{}/robots.txt", self.0)
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
