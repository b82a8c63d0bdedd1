//! The unit of politeness.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Range;

/// Scheme, host and port: requests to it are spaced out, mostly one at a time. Written as an origin, `https://example.org` or
/// `http://example.org:8080`.
///
/// It takes one allocation of exactly the text, and 16 bytes besides. A table of hosts can be searched by
/// [`CanonicalUrl::origin`](super::CanonicalUrl::origin), which allocates nothing:
///
/// ```
/// # use crawler::address::{Canonicalizer, HostKey, KeyRules};
/// # use std::collections::HashMap;
/// # let url = Canonicalizer::new(&KeyRules::default()).canonicalize("https://example.org/a")?;
/// let hosts: HashMap<HostKey, u32> = HashMap::from([(url.host_key(), 7)]);
/// assert_eq!(hosts.get(url.origin()), Some(&7));
/// # Ok::<(), crawler::address::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(Box<str>);

impl HostKey {
    pub(super) fn new(origin: &str) -> Self {
        Self(origin.into())
    }

    /// From the text of a host key that was written before.
    pub(crate) fn of_origin(origin: &str) -> Self {
        Self::new(origin)
    }

    /// The origin's text, without a trailing slash. It has a port only if that is not the scheme's default.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `http` or `https`.
    pub fn scheme(&self) -> &str {
        scheme(&self.0)
    }

    /// The host's name or address, an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        host(&self.0)
    }

    /// The port, or the scheme's default if none is written.
    pub fn port(&self) -> u16 {
        let written = self.0[range(&self.0).end..].strip_prefix(':').and_then(|port| port.parse().ok());
        written.unwrap_or(if self.scheme() == "https" { 443 } else { 80 })
    }

    /// Where this host's robots.txt is (RFC 9309 section 2.3).
    pub fn robots_url(&self) -> String {
        format!("{}/robots.txt", self.0)
    }
}

impl fmt::Display for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// It hashes and compares like its text, so a table can be searched by text.
impl Borrow<str> for HostKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

fn scheme(origin: &str) -> &str {
    if origin.starts_with("https") { "https" } else { "http" }
}

/// The host in `scheme://host[:port]`.
pub(crate) fn host(origin: &str) -> &str {
    &origin[range(origin)]
}

/// The range of the host. A port is the digits at the end if a colon is before them. An IPv6 address, which has colons of its own, ends
/// with a bracket.
fn range(origin: &str) -> Range<usize> {
    let start = scheme(origin).len() + "://".len();
    let bytes = origin.as_bytes();
    let port = bytes.iter().rposition(|byte| !byte.is_ascii_digit()).filter(|&at| at >= start && bytes[at] == b':');
    start..port.unwrap_or(origin.len())
}

/// `/a?b` of the wire URL `https://example.org/a?b`.
pub(crate) fn path_and_query(wire: &str) -> &str {
    let host = wire.find("://").map_or(0, |at| at + 3);
    wire[host..].find('/').map_or("/", |path| &wire[host + path..])
}
