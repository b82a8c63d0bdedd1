//! The canonicalizer: it turns text into a URL in its two forms, wire and key, by fixed rules.

use super::authority::{host_of, port_of};
use super::key::{Key, KeyMaker};
use super::wire::Wire;
use super::{AddressError, BaseUrl, Fingerprint, FingerprintKey, HostKey, KeyRules, whatwg};

/// Turns text into [`CanonicalUrl`]s by fixed rules. It never changes, so threads share it by reference.
///
/// A URL that is its own key, as most are, costs one parse and one allocation. Any other costs a second allocation.
#[derive(Clone, Debug)]
pub struct Canonicalizer {
    keys: KeyMaker,
    max_bytes: usize,
}

impl Canonicalizer {
    /// The most bytes that a URL may have, unless another limit is given. RFC 9110 section 4.1 asks for
    /// at least 8,000.
    pub const DEFAULT_MAX_BYTES: usize = 8192;

    /// Prepares the rules, with the default limit on length.
    pub fn new(rules: &KeyRules) -> Self {
        Self { keys: KeyMaker::new(rules), max_bytes: Self::DEFAULT_MAX_BYTES }
    }

    /// The same rules with another limit on a URL's bytes. It holds for the text and for the wire URL made from it.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The rules in force.
    pub fn rules(&self) -> &KeyRules {
        self.keys.rules()
    }

    /// The most bytes that a URL may have.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// The URL that an absolute text stands for.
    ///
    /// # Errors
    /// If the text is not the absolute http(s) address of a page.
    pub fn canonicalize(&self, text: &str) -> Result<CanonicalUrl, AddressError> {
        whatwg::wire(None, text, self.max_bytes).map(|wire| self.keyed(wire))
    }

    /// The URL that a link on a page leads to.
    ///
    /// # Errors
    /// If the resolved text is not the http(s) address of a page.
    pub fn join(&self, base: &BaseUrl, href: &str) -> Result<CanonicalUrl, AddressError> {
        whatwg::wire(Some(base), href, self.max_bytes).map(|wire| self.keyed(wire))
    }

    /// The base of a fetched page's links: `wire` is the URL at which the page was fetched, after
    /// all redirects.
    ///
    /// # Errors
    /// If the text is not an absolute http(s) URL.
    pub fn base(&self, wire: &str) -> Result<BaseUrl, AddressError> {
        BaseUrl::parse(wire, self.max_bytes)
    }

    /// The URL of a page that was admitted before, and the base of its links: one parse for both. The limit on length does not apply to the
    /// page's own URL, which may have been admitted under another limit.
    ///
    /// # Errors
    /// If the text is not an absolute http(s) URL.
    pub fn page(&self, wire: &str) -> Result<(CanonicalUrl, BaseUrl), AddressError> {
        let base = BaseUrl::parse(wire, usize::MAX)?.with_max_bytes(self.max_bytes);
        Ok((self.keyed(base.wire().clone()), base))
    }

    fn keyed(&self, wire: Wire) -> CanonicalUrl {
        let key = self.keys.make(&wire);
        CanonicalUrl::new(wire, key)
    }
}

/// A URL in its two forms: the spelling that is requested (wire), and the one spelling that stands for all of them (key).
///
/// Both are printable ASCII. Only a [`Canonicalizer`](super::Canonicalizer) makes one, so it need not be checked again. It takes 56 bytes
/// and the wire text, and the key's text only if that differs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CanonicalUrl {
    wire: String,
    /// Where the wire's path starts.
    path: usize,
    key: Option<Key>,
}

impl CanonicalUrl {
    pub(super) fn new(wire: Wire, key: Option<Key>) -> Self {
        Self { wire: wire.text, path: wire.path, key }
    }

    /// The URL as it is requested: as the WHATWG parser writes it, without fragment, user and password.
    pub fn wire(&self) -> &str {
        &self.wire
    }

    /// The text that all spellings of this URL share.
    pub fn key(&self) -> &str {
        self.key.as_ref().map_or(&self.wire, |key| &key.text)
    }

    /// The fingerprint of the key.
    pub fn fingerprint(&self, key: FingerprintKey) -> Fingerprint {
        key.fingerprint(self.key())
    }

    /// The text of the [`HostKey`], such as `https://example.org`: enough to look one up, without an allocation.
    pub fn origin(&self) -> &str {
        match &self.key {
            Some(key) => &key.text[..key.path],
            None => &self.wire[..self.path],
        }
    }

    /// The unit of politeness, in the key's spelling. One allocation.
    pub fn host_key(&self) -> HostKey {
        HostKey::new(self.origin())
    }

    /// The host's name or address as the key has it: in lower case, without port or trailing dot,
    /// an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        host_of(self.origin())
    }

    /// The port, or the scheme's default if none is written.
    pub fn port(&self) -> u16 {
        port_of(self.origin())
    }

    /// Path and query of the wire form, which robots rules are matched against. It starts with a slash.
    pub fn path_and_query(&self) -> &str {
        &self.wire[self.path..]
    }
}
