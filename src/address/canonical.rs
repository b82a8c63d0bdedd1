use url::Url;

use super::{HostKey, KeyRules};

/// A URL in its two forms: as the page spelled it (wire), and the one spelling that stands for all of its kind (key).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalUrl {
    wire: Url,
    key: String,
}

impl CanonicalUrl {
    /// What is requested: WHATWG-parsed, fragment and userinfo off.
    pub fn wire(&self) -> &str {
        self.wire.as_str()
    }

    /// What equal URLs share.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The unit of politeness, from the key's spelling.
    pub fn host_key(&self) -> HostKey {
        HostKey::new(self.wire.origin().ascii_serialization())
    }

    /// The host's name or address, lower-case, without port.
    pub fn host(&self) -> &str {
        self.wire.host_str().unwrap_or_default()
    }

    /// Path and query of the wire form, as robots rules are matched against it.
    pub fn path_and_query(&self) -> &str {
        &self.wire[url::Position::BeforePath..]
    }
}

/// The URL that a page's links are resolved against.
#[derive(Clone, Debug)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Resolves `href` as a `<base href>` would be: against this base; `None` where the result cannot be a base.
    #[must_use]
    pub fn rebase(&self, href: &str) -> Option<Self> {
        self.0.join(href).ok().filter(|url| matches!(url.scheme(), "http" | "https")).map(Self)
    }
}

/// Why a text is not the address of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not a URL by the WHATWG standard.
    #[error("not a URL: {0}")]
    Malformed(String),
    /// Longer than the limit, which was checked before parsing.
    #[error("{length} bytes long, the limit is {limit}")]
    TooLong {
        /// Bytes in the text.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Neither http nor https.
    #[error("scheme `{0}` is not crawled")]
    UnsupportedScheme(String),
}

/// Turns text into [`CanonicalUrl`]s by fixed rules. Cheap to share, immutable.
#[derive(Clone, Debug)]
pub struct Canonicalizer {
    rules: KeyRules,
}

impl Canonicalizer {
    /// Prepares the rules.
    pub fn new(rules: &KeyRules) -> Self {
        Self { rules: rules.clone() }
    }

    /// The rules in force.
    pub fn rules(&self) -> &KeyRules {
        &self.rules
    }

    /// An absolute URL.
    ///
    /// # Errors
    /// Where the text is not the absolute http(s) address of a page.
    pub fn canonicalize(&self, text: &str) -> Result<CanonicalUrl, AddressError> {
        Self::finish(Url::parse(text))
    }

    /// A link found on a page.
    ///
    /// # Errors
    /// Where the resolved text is not the http(s) address of a page.
    pub fn join(&self, base: &BaseUrl, href: &str) -> Result<CanonicalUrl, AddressError> {
        Self::finish(base.0.join(href))
    }

    /// The base that a fetched page's links start from: the wire URL it was fetched at.
    ///
    /// # Errors
    /// Where the text is not an absolute http(s) URL.
    pub fn base(&self, wire: &str) -> Result<BaseUrl, AddressError> {
        Url::parse(wire).map(BaseUrl).map_err(|error| AddressError::Malformed(error.to_string()))
    }

    fn finish(parsed: Result<Url, url::ParseError>) -> Result<CanonicalUrl, AddressError> {
        let mut wire = parsed.map_err(|error| AddressError::Malformed(error.to_string()))?;
        if !matches!(wire.scheme(), "http" | "https") {
            return Err(AddressError::UnsupportedScheme(wire.scheme().to_owned()));
        }
        wire.set_fragment(None);
        let key = wire.as_str().to_owned();
        Ok(CanonicalUrl { wire, key })
    }
}
