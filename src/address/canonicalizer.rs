//! From text to URL, by fixed rules.

use super::key::KeyMaker;
use super::whatwg;
use super::wire::Wire;
use super::{AddressError, BaseUrl, CanonicalUrl, KeyRules};

/// The most bytes that a URL may have, unless another limit is given. RFC 9110 section 4.1 asks for
/// at least 8,000.
pub const DEFAULT_MAX_BYTES: usize = 8192;

/// Turns text into [`CanonicalUrl`]s by fixed rules. It never changes, so threads share it by reference.
///
/// A URL that is its own key, as most are, costs one parse and one allocation. Any other costs a second allocation.
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

    /// The URL of a page that was admitted before, and the base of its links: one parse for both. The limit does not apply to the page's
    /// own URL: it may have been another when the page was admitted.
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
