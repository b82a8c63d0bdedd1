//! The authority of a URL (RFC 3986 section 3.2), which comes before its path: user and password, host and port. Also here: the key of a host,
//! the unit of politeness, and of a queue that an embedder names in a host's place.
//!
//! Users and passwords are only looked for so that a message can say that they were left out. No message shows them.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Range;

use super::key::without_dot;

/// The unit of politeness: scheme, host and port, or a named [queue](crate::frontier::Href::queue) that stands in their place. Requests with
/// one host key are spaced out, and mostly made one at a time. The key of a host is its origin, `https://example.org` or
/// `http://example.org:8080`. The key of a queue is `@name`, which is no origin.
///
/// It takes 16 bytes, and one allocation for the text. A table of hosts can be searched by
/// [`CanonicalUrl::origin`](super::CanonicalUrl::origin), which allocates nothing:
///
/// ```
/// # use crawler_frontier::address::{Canonicalizer, HostKey, KeyRules};
/// # use std::collections::HashMap;
/// # let url = Canonicalizer::new(&KeyRules::default()).canonicalize("https://example.org/a")?;
/// let hosts: HashMap<HostKey, u32> = HashMap::from([(url.host_key(), 7)]);
/// assert_eq!(hosts.get(url.origin()), Some(&7));
/// # Ok::<(), crawler_frontier::address::AddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostKey(Box<str>);

impl HostKey {
    pub(super) fn new(origin: &str) -> Self {
        Self(origin.into())
    }

    /// The host key with this text, which [`as_str`](Self::as_str) gave before.
    pub fn of_origin(origin: &str) -> Self {
        Self::new(origin)
    }

    /// The key of the queue with this name: 1 to 64 bytes of UTF-8 without control characters and without blanks around it, and not `*`,
    /// which stands for all queues in rules. Names differ if any of their bytes do.
    ///
    /// ```
    /// use crawler_frontier::address::HostKey;
    ///
    /// let key = HostKey::of_queue("ann's account")?;
    /// assert_eq!((key.as_str(), key.queue()), ("@ann's account", Some("ann's account")));
    /// assert!(HostKey::of_queue("").is_err() && HostKey::of_queue(&"x".repeat(65)).is_err());
    /// # Ok::<(), crawler_frontier::address::QueueError>(())
    /// ```
    ///
    /// # Errors
    /// If the name breaks one of these rules.
    pub fn of_queue(name: &str) -> Result<Self, QueueError> {
        QueueError::check(name).map(|name| Self(format!("{QUEUE}{name}").into()))
    }

    /// The queue's name; `None` for an origin.
    pub fn queue(&self) -> Option<&str> {
        self.0.strip_prefix(QUEUE)
    }

    /// The text: `@name` for a queue, else an origin without a trailing slash. An origin has a port only if that is not the scheme's default.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `http` or `https`; empty for a queue.
    pub fn scheme(&self) -> &str {
        if self.queue().is_some() { "" } else { scheme(&self.0) }
    }

    /// The host's name or address, an IPv6 address in brackets. For a queue it is `@name`, as in rules.
    pub fn host(&self) -> &str {
        host_of(&self.0)
    }

    /// The port, or the scheme's default if none is written; 0 for a queue.
    pub fn port(&self) -> u16 {
        if self.queue().is_some() { 0 } else { port_of(&self.0) }
    }

    /// Where this host's robots.txt is (RFC 9309 section 2.3). A queue has none: the robots.txt of its URL's origin applies to each page.
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

/// The first character of a queue's key. No origin begins with it.
pub(super) const QUEUE: char = '@';

/// A text that is not a queue name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is not a queue name: a name has 1 to {} bytes, no control characters, no blanks around it, and is not *",
    Self::MOST
)]
pub struct QueueError {
    /// The text, or the beginning of a long one.
    name: String,
}

impl QueueError {
    /// The most bytes of a queue's name.
    pub(crate) const MOST: usize = 64;

    /// The name, if it is a queue name.
    pub(crate) fn check(name: &str) -> Result<&str, Self> {
        let is_plain = name != "*" && name.trim() == name && !name.contains(char::is_control);
        let is_one = is_plain && (1..=Self::MOST).contains(&name.len());
        if is_one { Ok(name) } else { Err(Self { name: name.chars().take(Self::MOST).collect() }) }
    }

    /// The text, if it is a queue's key.
    pub(crate) fn check_key(key: &str) -> Result<&str, Self> {
        Self::check(key.strip_prefix(QUEUE).unwrap_or_default()).map(|_| key)
    }
}

fn scheme(origin: &str) -> &str {
    if origin.starts_with("https") { "https" } else { "http" }
}

/// The port of a host key's text, or the scheme's default if none is written.
pub(super) fn port_of(origin: &str) -> u16 {
    let written = origin[range(origin).end..].strip_prefix(':').and_then(|port| port.parse().ok());
    written.unwrap_or(if origin.starts_with("https:") { 443 } else { 80 })
}

/// The host in `scheme://host[:port]`; the whole text of a queue's key.
pub fn host_of(origin: &str) -> &str {
    &origin[range(origin)]
}

/// The range of the host. Digits at the end are a port if a colon comes before them. An IPv6 address has colons of its own, but ends with a
/// bracket.
fn range(origin: &str) -> Range<usize> {
    if origin.starts_with(QUEUE) {
        return 0..origin.len();
    }
    let start = scheme(origin).len() + "://".len();
    let bytes = origin.as_bytes();
    let port = bytes.iter().rposition(|byte| !byte.is_ascii_digit()).filter(|&at| at >= start && bytes[at] == b':');
    start..port.unwrap_or(origin.len())
}

/// `https://example.org` of the wire URL `https://example.org./a`: its origin as the key spells it.
pub(crate) fn origin_of(wire: &str) -> Cow<'_, str> {
    let start = wire.find("://").map_or(0, |at| at + 3);
    let origin = &wire[..wire[start..].find('/').map_or(wire.len(), |path| start + path)];
    let (host, port) = origin.split_at(range(origin).end);
    let bare_host = without_dot(host);
    if bare_host.len() == host.len() { origin.into() } else { format!("{bare_host}{port}").into() }
}

/// `/a?b` of the wire URL `https://example.org/a?b`.
pub fn path_and_query(wire: &str) -> &str {
    let host = wire.find("://").map_or(0, |at| at + 3);
    wire[host..].find('/').map_or("/", |path| &wire[host + path..])
}

/// Whether a URL, or a link to one, names a user or a password. These are [never sent](super).
///
/// ```
/// # use crawler_frontier::driver::has_userinfo;
/// assert!(has_userinfo("https://ann:pw@example.org/") && has_userinfo("//ann@example.org/"));
/// assert!(!has_userinfo("https://example.org/@ann") && !has_userinfo("mailto:ann@example.org"));
/// ```
pub fn has_userinfo(text: &str) -> bool {
    text.contains('@') && authority(text).is_some_and(|authority| text[authority].contains('@'))
}

/// The text without user and password; `None` if it has none. A text without a scheme has them only if there is a password, since
/// `ann@example.org` alone is a mail address.
pub fn without_userinfo(text: &str) -> Option<String> {
    let authority = authority(text).or_else(|| bare(text))?;
    let end = authority.start + text[authority.clone()].rfind('@')? + 1;
    Some(format!("{}{}", &text[..authority.start], &text[end..]))
}

/// The range of the authority: after `//`, with or without a scheme before it.
fn authority(text: &str) -> Option<Range<usize>> {
    let is_slash = |c| matches!(c, '/' | '\\');
    let scheme = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c)).unwrap_or(text.len());
    let slashes = if text[scheme..].starts_with(':') { scheme + 1 } else { 0 };
    let start = text.len() - text[slashes..].trim_start_matches(is_slash).len();
    (start >= slashes + 2).then(|| start..end(text, start))
}

/// The range of the authority in a text such as `ann:pw@example.org`. A mail address with a scheme, such as `mailto:`, has none.
fn bare(text: &str) -> Option<Range<usize>> {
    let authority = 0..end(text, 0);
    let user = text[authority.clone()].rsplit_once('@')?.0;
    let (scheme, _) = user.split_once(':')?;
    let is_person =
        ["acct", "mailto", "sip", "sips", "tel", "xmpp"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    (!is_person).then_some(authority)
}

/// The end of an authority that begins at `start`.
fn end(text: &str, start: usize) -> usize {
    text[start..].find(['/', '\\', '?', '#']).map_or(text.len(), |at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Canonicalizer, KeyRules};

    #[test]
    fn a_queue_has_a_name_and_nothing_of_an_origin() {
        for name in ["a", "https", "http://a.example", "example.org:80", "Ann\u{e9} 2", "@", "**", &"x".repeat(64)] {
            let key = HostKey::of_queue(name).unwrap();
            assert_eq!((key.queue(), key.host(), key.scheme(), key.port()), (Some(name), key.as_str(), "", 0));
            assert_eq!(QueueError::check_key(key.as_str()), Ok(key.as_str()));
        }
        for name in ["", "*", "a\nb", "a\u{85}", "\0", " a", "a ", &"x".repeat(65), &"\u{e9}".repeat(33)] {
            assert!(HostKey::of_queue(name).is_err(), "{name:?}");
        }
        assert!(QueueError::check_key("name").is_err() && QueueError::check_key("@").is_err());
        assert_eq!(HostKey::of_origin("https://a.example").queue(), None);
        let error = HostKey::of_queue("").unwrap_err().to_string();
        assert_eq!(
            error,
            "\"\" is not a queue name: a name has 1 to 64 bytes, no control characters, no blanks around it, and is not *"
        );
    }

    #[test]
    fn an_origin_is_read_from_a_wire_url_as_the_key_has_it() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        for text in [
            "http://a.example/b://c",
            "https://a.example.:8443/?x",
            "https://A.example./a%7e",
            "http://[::1]:80/",
            "http://[::1]:8/;jsessionid=1",
            "http://1../",
        ] {
            let Ok(url) = canonicalizer.canonicalize(text) else { continue };
            assert_eq!(origin_of(url.wire()), url.origin(), "{text}");
        }
    }

    #[test]
    fn users_and_passwords_are_taken_out_of_authorities_only() {
        for (text, clean) in [
            ("http://ann:pw@a.org/b", "http://a.org/b"),
            ("HTTPS://ann@a.org", "HTTPS://a.org"),
            (r"http:\\ann:p@w@a.org\b", r"http:\\a.org\b"),
            ("//ann:pw@a.org?b", "//a.org?b"),
            ("ann:pw@a.org:8080/b", "a.org:8080/b"),
        ] {
            assert_eq!(without_userinfo(text).as_deref(), Some(clean), "{text}");
        }
        for text in [
            "http://a.org/@ann",
            "http://a.org?to=http://ann:pw@b.org/",
            "mailto:ann@a.org",
            "ann@a.org",
            "/b?c=//ann:pw@d",
            "a.org",
            "",
            "http:",
            "é//ann@b",
        ] {
            assert_eq!(without_userinfo(text), None, "{text}");
            assert!(!has_userinfo(text), "{text}");
        }
    }
}
