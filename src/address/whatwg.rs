//! The door to the `url` crate: text in, the wire form out.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use url::{ParseError, Position, Url};

use super::punycode;
use super::slashes::{is_dropped, split_slashes};

/// Why a text is not the address of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not a URL by the WHATWG standard.
    #[error("not a URL: {0}")]
    Malformed(String),
    /// Longer than the limit: the text, which is checked before it is parsed, or the wire URL made
    /// of it.
    #[error("{length} bytes long, the limit is {limit}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The most bytes allowed.
        limit: usize,
    },
    /// Neither http nor https.
    #[error("scheme `{0}` is not crawled")]
    UnsupportedScheme(String),
}

/// The URL that a page's links are resolved against, and the encoding in which their queries are
/// written.
///
/// It is made once for a page, by [`Canonicalizer::base`](super::Canonicalizer::base), and holds
/// the limit on a URL's length.
#[derive(Clone, Debug)]
pub struct BaseUrl {
    parsed: Parsed,
    query: Option<QueryEncoder>,
    max_bytes: usize,
}

impl BaseUrl {
    pub(super) fn parse(text: &str, max_bytes: usize) -> Result<Self, AddressError> {
        resolve(None, text, max_bytes).map(|parsed| Self { parsed, query: None, max_bytes })
    }

    /// The same base, and another limit for the bases that are made of it.
    pub(super) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// The base that a `<base href>` makes of this one. `None` where the result is no http(s) URL,
    /// so that this one stays in force.
    #[must_use]
    pub fn rebase(&self, href: &str) -> Option<Self> {
        let parsed = resolve(Some(self), href, self.max_bytes).ok()?;
        Some(Self { parsed, query: self.query.clone(), max_bytes: self.max_bytes })
    }

    /// The same base on a page that is not in UTF-8. The queries of its links are written in the
    /// page's encoding (URL standard, "percent-encode after encoding"), and the paths are not.
    #[must_use]
    pub fn with_query_encoder(self, query: Option<QueryEncoder>) -> Self {
        Self { query, ..self }
    }
}

/// Writes a query's characters as the bytes of a page's encoding. A character that the encoding
/// lacks becomes `%26%23N%3B`, where N is its number in Unicode, as browsers do.
///
/// A function, so that this floor needs no table of encodings.
#[derive(Clone)]
pub struct QueryEncoder(Arc<Encode>);

type Encode = dyn Fn(&str) -> Cow<'_, [u8]> + Send + Sync;

impl QueryEncoder {
    /// Of a function from text to bytes. Bytes that no URL may hold are escaped after it.
    pub fn new(encode: impl Fn(&str) -> Cow<'_, [u8]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(encode))
    }
}

impl fmt::Debug for QueryEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueryEncoder")
    }
}

/// The wire form: ASCII, `scheme://host[:port]`, then path and query.
pub(super) struct Wire {
    pub(super) text: String,
    /// Where the host ends. `:port` may follow.
    pub(super) host_end: usize,
    /// Where the path starts, and the origin ends.
    pub(super) path: usize,
}

impl Wire {
    pub(super) fn parse(base: Option<&BaseUrl>, text: &str, max_bytes: usize) -> Result<Self, AddressError> {
        let wire = Self::of(resolve(base, text, max_bytes)?);
        check_length(wire.text.len(), max_bytes)?;
        Ok(wire)
    }

    /// Of a page that links are resolved against.
    pub(super) fn of_base(base: &BaseUrl) -> Self {
        Self::of(base.parsed.clone())
    }

    fn of(Parsed { url, masked }: Parsed) -> Self {
        let authority = url.scheme().len() + "://".len();
        let userinfo = url[..Position::BeforeHost].len() - authority;
        let host_end = url[..Position::AfterHost].len() - userinfo;
        let path = url[..Position::BeforePath].len() - userinfo;
        let end = url[..Position::AfterQuery].len();
        let mut text = String::from(url);
        text.truncate(end);
        if userinfo > 0 {
            text.drain(authority..authority + userinfo);
        }
        if masked {
            punycode::unmask(&mut text, authority..host_end);
        }
        Self { text, host_end, path }
    }
}

/// What the parser made of a text.
#[derive(Clone, Debug)]
struct Parsed {
    url: Url,
    /// Whether the host's `xn--` labels are masked, and must be changed back.
    masked: bool,
}

/// Parses a text, against a base where there is one. A text that can be refused by its first bytes
/// or its length is never copied.
fn resolve(base: Option<&BaseUrl>, text: &str, max_bytes: usize) -> Result<Parsed, AddressError> {
    let text = text.trim_matches(|c| c <= ' ');
    if let Some(scheme) = unsupported_scheme(text) {
        return Err(AddressError::UnsupportedScheme(scheme));
    }
    check_length(text.len(), max_bytes)?;
    let parsed = parse(base, text).map(|url| {
        let inherits = |base: &BaseUrl| base.parsed.masked && base.parsed.url.host_str() == url.host_str();
        Parsed { masked: base.is_some_and(inherits), url }
    });
    let parsed = parsed.or_else(|error| {
        let masked = punycode::mask(text).and_then(|text| parse(base, &text).ok());
        masked.map(|url| Parsed { url, masked: true }).ok_or(error)
    });
    let parsed = parsed.map_err(|error| AddressError::Malformed(error.to_string()))?;
    match parsed.url.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => Err(AddressError::UnsupportedScheme(scheme.chars().take(MAX_SCHEME).collect())),
    }
}

fn parse(base: Option<&BaseUrl>, text: &str) -> Result<Url, ParseError> {
    let Some(base) = base else { return Url::parse(text) };
    let encode = base.query.as_ref().map(|query| &*query.0 as &dyn Fn(&str) -> Cow<'_, [u8]>);
    Url::options().base_url(Some(&base.parsed.url)).encoding_override(encode).parse(&two_slashes(text))
}

fn check_length(length: usize, limit: usize) -> Result<(), AddressError> {
    if length > limit { Err(AddressError::TooLong { length, limit }) } else { Ok(()) }
}

/// Bytes in which a scheme is looked for. The longest that is registered with IANA has 36.
const MAX_SCHEME: usize = 64;

/// The scheme, where a text starts with one that is not http or https. This spares the parser a
/// `data:` URL of 100 MB.
fn unsupported_scheme(text: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.\t\n\r".contains(&byte);
    let end = text.bytes().take(MAX_SCHEME).position(|byte| !is_part(byte))?;
    let scheme = &text[..end];
    if !text[end..].starts_with(':') || scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    // Few texts come this far. The parser removes tabs and line ends before it looks
    // (`java\nscript:`), so this must, too.
    let scheme: String = scheme.chars().filter(|&c| !is_dropped(c)).map(|c| c.to_ascii_lowercase()).collect();
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !matches!(&*scheme, "http" | "https");
    is_scheme.then_some(scheme)
}

/// The link with two slashes at its beginning where it has more. The standard takes `///host/path`
/// against a base for `//host/path`, however many slashes there are, and so do browsers; the `url`
/// crate (2.5) refuses it.
fn two_slashes(href: &str) -> Cow<'_, str> {
    let (slashes, rest) = split_slashes(href);
    if slashes > 2 { format!("//{rest}").into() } else { href.into() }
}
