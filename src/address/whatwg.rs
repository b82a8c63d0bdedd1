//! The door to the `url` crate: text in, the wire form out.

use std::borrow::Cow;

use url::{Position, Url};

/// Why a text is not the address of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not a URL by the WHATWG standard.
    #[error("not a URL: {0}")]
    Malformed(String),
    /// Longer than the limit, as text (checked before parsing) or as the wire URL that it stands for.
    #[error("{length} bytes long, the limit is {limit}")]
    TooLong {
        /// Bytes there are.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// Neither http nor https.
    #[error("scheme `{0}` is not crawled")]
    UnsupportedScheme(String),
}

/// The URL that a page's links are resolved against.
#[derive(Clone, Debug)]
pub struct BaseUrl {
    url: Url,
    max_bytes: usize,
}

impl BaseUrl {
    pub(super) fn parse(text: &str, max_bytes: usize) -> Result<Self, AddressError> {
        resolve(None, text, max_bytes).map(|url| Self { url, max_bytes })
    }

    /// Resolves `href` as a `<base href>` would be: against this base; `None` where the result cannot be a base.
    #[must_use]
    pub fn rebase(&self, href: &str) -> Option<Self> {
        resolve(Some(&self.url), href, self.max_bytes).ok().map(|url| Self { url, max_bytes: self.max_bytes })
    }
}

/// The wire form: ASCII, `scheme://host[:port]` then path and query.
pub(super) struct Wire {
    pub(super) text: String,
    /// Where the host ends; `:port` may follow.
    pub(super) host_end: usize,
    /// Where the path starts, and the origin ends.
    pub(super) path: usize,
}

impl Wire {
    pub(super) fn parse(base: Option<&BaseUrl>, text: &str, max_bytes: usize) -> Result<Self, AddressError> {
        let url = resolve(base.map(|base| &base.url), text, max_bytes)?;
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
        check_length(text.len(), max_bytes)?;
        Ok(Self { text, host_end, path })
    }
}

/// Parses, against a base where there is one. What can be refused by its first bytes or its length is never copied.
fn resolve(base: Option<&Url>, text: &str, max_bytes: usize) -> Result<Url, AddressError> {
    let text = text.trim_matches(|c| c <= ' ');
    if let Some(scheme) = unsupported_scheme(text) {
        return Err(AddressError::UnsupportedScheme(scheme));
    }
    check_length(text.len(), max_bytes)?;
    let parsed = base.map_or_else(|| Url::parse(text), |base| base.join(&two_slashes(text)));
    let url = parsed.map_err(|error| AddressError::Malformed(error.to_string()))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        scheme => Err(AddressError::UnsupportedScheme(scheme.chars().take(MAX_SCHEME).collect())),
    }
}

fn check_length(length: usize, limit: usize) -> Result<(), AddressError> {
    if length > limit { Err(AddressError::TooLong { length, limit }) } else { Ok(()) }
}

/// Bytes in which a scheme is looked for; the longest registered with IANA has 36.
const MAX_SCHEME: usize = 64;

/// The scheme, where a text starts with one that is not http or https: the parser is spared a `data:` URL of 100 MB.
fn unsupported_scheme(text: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.\t\n\r".contains(&byte);
    let end = text.bytes().take(MAX_SCHEME).position(|byte| !is_part(byte))?;
    let scheme = &text[..end];
    if !text[end..].starts_with(':') || scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    // Rare from here on: the parser removes tabs and line ends before it looks (`java\nscript:`), so this must too.
    let scheme: String = scheme.chars().filter(|&c| !is_dropped(c)).map(|c| c.to_ascii_lowercase()).collect();
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !matches!(&*scheme, "http" | "https");
    is_scheme.then_some(scheme)
}

/// The standard takes `///host/path` against a base for `//host/path`, however many slashes there are, and so do browsers;
/// the `url` crate (2.5) refuses it. Borrowed but for that.
fn two_slashes(href: &str) -> Cow<'_, str> {
    let rest = href.trim_start_matches(|c| matches!(c, '/' | '\\') || is_dropped(c));
    let slashes = href[..href.len() - rest.len()].bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    if slashes > 2 { format!("//{rest}").into() } else { href.into() }
}

/// Dropped from anywhere in a URL by the standard.
fn is_dropped(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r')
}
