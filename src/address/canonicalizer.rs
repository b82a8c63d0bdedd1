use super::key::KeyMaker;
use super::whatwg::Wire;
use super::{AddressError, BaseUrl, CanonicalUrl, KeyRules};

/// Bytes that a URL may have unless told otherwise. RFC 9110 section 4.1 asks for at least 8,000.
pub const DEFAULT_MAX_BYTES: usize = 8192;

/// Turns text into [`CanonicalUrl`]s by fixed rules. Cheap to share, immutable.
///
/// Costs one parse and one allocation for a URL that is its own key, and a second allocation for one that is not.
#[derive(Clone, Debug)]
pub struct Canonicalizer {
    keys: KeyMaker,
    max_bytes: usize,
}

impl Canonicalizer {
    /// Prepares the rules, with the default limit on length.
    pub fn new(rules: &KeyRules) -> Self {
        Self { keys: KeyMaker::new(rules), max_bytes: DEFAULT_MAX_BYTES }
    }

    /// The same rules with another limit on a URL's bytes, which holds for the text and for the wire URL made of it.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The rules in force.
    pub fn rules(&self) -> &KeyRules {
        self.keys.rules()
    }

    /// Bytes that a URL may have.
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// An absolute URL.
    ///
    /// # Errors
    /// Where the text is not the absolute http(s) address of a page.
    pub fn canonicalize(&self, text: &str) -> Result<CanonicalUrl, AddressError> {
        Wire::parse(None, text, self.max_bytes).map(|wire| self.keyed(wire))
    }

    /// A link found on a page.
    ///
    /// # Errors
    /// Where the resolved text is not the http(s) address of a page.
    pub fn join(&self, base: &BaseUrl, href: &str) -> Result<CanonicalUrl, AddressError> {
        Wire::parse(Some(base), href, self.max_bytes).map(|wire| self.keyed(wire))
    }

    /// The base that a fetched page's links start from: the wire URL it was fetched at.
    ///
    /// # Errors
    /// Where the text is not an absolute http(s) URL.
    pub fn base(&self, wire: &str) -> Result<BaseUrl, AddressError> {
        BaseUrl::parse(wire, self.max_bytes)
    }

    fn keyed(&self, wire: Wire) -> CanonicalUrl {
        let key = self.keys.make(&wire);
        CanonicalUrl::new(wire, key)
    }
}
