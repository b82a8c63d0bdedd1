//! The only file that uses the `url` crate: text in, the wire form out.
//!
//! A text takes the first of these paths that applies:
//!
//! 1. It is too long, has a scheme that is not crawled, or is a template's link: an error, before anything is copied.
//! 2. It is [plain](super::wire): the wire form is put together from its bytes and the base's.
//! 3. The parser takes it. The fragment, user and password are cut off the result.
//! 4. The parser refuses its host, and a label of it begins with `xn--`: it is parsed again with that label [masked](super::masks).
//!
//! The parser differs from today's URL standard in four ways, which are corrected here:
//!
//! - It refuses more than two slashes before a link's host.
//! - It refuses hosts whose `xn--` labels are invalid punycode.
//! - It leaves a `^` in a path, which the standard escapes since 2025-03.
//! - `..` does not leave a [segment](super::masks) such as `d:`.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use url::{ParseError, Position, Url};

use super::masks::{is_dropped, mask_drives, mask_punycode, split_slashes, unmask_drives, unmask_punycode};
use super::wire::{Wire, basis, plain_absolute, plain_join};

/// Why a text is not the address of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// Not a URL by the WHATWG standard.
    #[error("not a URL: {0}")]
    Malformed(String),
    /// A template's link, with an unfilled `{{…}}`.
    #[error("a template: a script would put something in the place of {{{{…}}}}")]
    Template,
    /// Longer than the limit: the text, which is checked before it is parsed, or the wire URL made from it.
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

/// The URL that a page's links are resolved against, and the encoding of their queries.
///
/// It is made once for a page, by [`Canonicalizer::base`](super::Canonicalizer::base), and holds the limit on a URL's length.
#[derive(Clone, Debug)]
pub struct BaseUrl {
    wire: Wire,
    /// The length of its directory.
    directory: usize,
    /// The parser's result. The first link that needs it fills it in.
    parsed: OnceLock<Parsed>,
    query: Option<QueryEncoder>,
    max_bytes: usize,
}

impl BaseUrl {
    /// An absolute URL as a base. `max_bytes` holds for it and for the bases made from it.
    pub(super) fn parse(text: &str, max_bytes: usize) -> Result<Self, AddressError> {
        Self::resolve(None, text, max_bytes)
    }

    /// The same base, with another limit for the bases made from it.
    pub(super) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Its wire form.
    pub(super) fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The text of its wire form.
    pub fn text(&self) -> &str {
        &self.wire.text
    }

    /// The base that a `<base href>` makes of this one. `None` if the result is no http(s) URL, so that this one stays in force.
    #[must_use]
    pub fn rebase(&self, href: &str) -> Option<Self> {
        let base = Self::resolve(Some(self), href, self.max_bytes).ok()?;
        Some(base.with_query_encoder(self.query.clone()))
    }

    /// The part of this base that decides, together with a link's text, where the link leads. It is a prefix of the base's
    /// [text](Self::text). Links with equal texts and equal parts lead to the same URL, whatever pages they are on. `None` if the page's
    /// encoding decides too: the link has a query, and the page is not in UTF-8.
    pub fn basis(&self, href: &str) -> Option<&str> {
        let is_encoded = self.query.is_some() && href.contains('?');
        (!is_encoded).then(|| basis(&self.wire, self.directory, href))
    }

    fn resolve(base: Option<&Self>, text: &str, max_bytes: usize) -> Result<Self, AddressError> {
        let plain_query = base.is_none_or(|base| base.query.is_none());
        let plain = plain_absolute(text, plain_query).filter(|_| text.len() <= max_bytes);
        let (wire, parsed) = if let Some(wire) = plain {
            (wire, OnceLock::new())
        } else {
            let parsed = resolve(base, text, max_bytes)?;
            (wire_of(parsed.clone()), parsed.into())
        };
        Ok(Self { directory: wire.directory().len(), wire, parsed, query: None, max_bytes })
    }

    fn parsed(&self) -> Result<&Parsed, AddressError> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let parsed = resolve(None, &self.wire.text, usize::MAX)?;
        Ok(self.parsed.get_or_init(|| parsed))
    }

    /// The same base on a page that is not in UTF-8. The queries of its links are written in the page's encoding (URL standard,
    /// "percent-encode after encoding"), and the paths are not.
    #[must_use]
    pub fn with_query_encoder(self, query: Option<QueryEncoder>) -> Self {
        Self { query, ..self }
    }
}

/// The wire form of a text, against a base if there is one. The limit holds for both: a short link may be long once it is escaped.
pub(super) fn wire(base: Option<&BaseUrl>, text: &str, max_bytes: usize) -> Result<Wire, AddressError> {
    let plain = if text.len() > max_bytes {
        None
    } else if let Some(base) = base {
        plain_join(&base.wire, text, base.query.is_none())
    } else {
        plain_absolute(text, true)
    };
    let wire = plain.map_or_else(|| resolve(base, text, max_bytes).map(wire_of), Ok)?;
    check_length(wire.text.len(), max_bytes)?;
    Ok(wire)
}

/// The wire form of the parser's result: without user, password and fragment, and with masked labels restored. The parser's text is reused,
/// and it is moved only if a user or password is cut out.
fn wire_of(Parsed { url, masked, has_drives }: Parsed) -> Wire {
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
        unmask_punycode(&mut text, authority..host_end);
    }
    let query = text[path..].find('?').map_or(text.len(), |at| path + at);
    if has_drives || text[path..query].contains('^') {
        let mended = unmask_drives(&text[path..query]).replace('^', "%5E");
        text.replace_range(path..query, &mended);
    }
    Wire { text, host_end, path }
}

/// The parser's result.
#[derive(Clone, Debug)]
struct Parsed {
    url: Url,
    /// Whether the host's `xn--` labels are masked, and must be restored.
    masked: bool,
    /// Whether the path may have masked segments, which must be restored.
    has_drives: bool,
}

/// Parses a text, against a base if there is one. A text that can be refused by its first bytes or its length is never copied.
fn resolve(base: Option<&BaseUrl>, text: &str, max_bytes: usize) -> Result<Parsed, AddressError> {
    let text = text.trim_matches(|c| c <= ' ');
    if let Some(scheme) = unsupported_scheme(text) {
        return Err(AddressError::UnsupportedScheme(scheme));
    }
    check_length(text.len(), max_bytes)?;
    if is_template(text) {
        return Err(AddressError::Template);
    }
    let drives = mask_drives(text);
    let text = drives.as_deref().unwrap_or(text);
    let query = base.and_then(|base| base.query.as_ref());
    let base = base.map(BaseUrl::parsed).transpose()?;
    let parse = |text: &str| parse(base, query, text);
    let parsed = parse(text).map(|url| {
        let inherits = |base: &Parsed| base.masked && base.url.host_str() == url.host_str();
        Parsed { masked: base.is_some_and(inherits), url, has_drives: false }
    });
    let parsed = parsed.or_else(|error| {
        let masked = mask_punycode(text).and_then(|text| parse(&text).ok());
        masked.map(|url| Parsed { url, masked: true, has_drives: false }).ok_or(error)
    });
    let mut parsed = parsed.map_err(|error| AddressError::Malformed(error.to_string()))?;
    parsed.has_drives = drives.is_some() || base.is_some_and(|base| base.has_drives);
    match parsed.url.scheme() {
        "http" | "https" => Ok(parsed),
        scheme => Err(AddressError::UnsupportedScheme(scheme.chars().take(MAX_SCHEME).collect())),
    }
}

fn parse(base: Option<&Parsed>, query: Option<&QueryEncoder>, text: &str) -> Result<Url, ParseError> {
    let Some(base) = base else { return Url::parse(text) };
    let encode = query.map(|query| &*query.0 as &dyn Fn(&str) -> Cow<'_, [u8]>);
    Url::options().base_url(Some(&base.url)).encoding_override(encode).parse(&two_slashes(text))
}

/// Whether a text has, before its fragment, a placeholder for a script: `{{…}}`.
fn is_template(text: &str) -> bool {
    // Most texts have no brace.
    text.bytes().any(|byte| byte == b'{')
        && text.split('#').next().and_then(|text| text.split_once("{{")).is_some_and(|(_, rest)| rest.contains("}}"))
}

fn check_length(length: usize, limit: usize) -> Result<(), AddressError> {
    if length > limit { Err(AddressError::TooLong { length, limit }) } else { Ok(()) }
}

/// Bytes in which a scheme is looked for. The longest one registered with IANA has 36.
const MAX_SCHEME: usize = 64;

/// The scheme, if a text starts with one that is not http or https. This spares the parser a `data:` URL of 100 MB.
fn unsupported_scheme(text: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.\t\n\r".contains(&byte);
    let end = text.bytes().take(MAX_SCHEME).position(|byte| !is_part(byte))?;
    let scheme = &text[..end];
    if !text[end..].starts_with(':') || scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    // Few texts come this far. The parser removes tabs and line ends before it looks (`java\nscript:`), so this must, too.
    let scheme: String = scheme.chars().filter(|&c| !is_dropped(c)).map(|c| c.to_ascii_lowercase()).collect();
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !matches!(&*scheme, "http" | "https");
    is_scheme.then_some(scheme)
}

/// The link with two slashes at its beginning if it has more. Against a base, the standard and browsers read `///host/path` as
/// `//host/path`, however many slashes there are; the `url` crate (2.5) refuses it.
fn two_slashes(href: &str) -> Cow<'_, str> {
    let (slashes, rest) = split_slashes(href);
    if slashes > 2 { format!("//{rest}").into() } else { href.into() }
}

/// Writes a query's characters as the bytes of a page's encoding. A character that the encoding
/// lacks becomes `%26%23N%3B`, where N is its number in Unicode, as browsers do.
///
/// It is a function, so that this module needs no table of encodings.
#[derive(Clone)]
pub struct QueryEncoder(pub(super) Arc<Encode>);

type Encode = dyn Fn(&str) -> Cow<'_, [u8]> + Send + Sync;

impl QueryEncoder {
    /// From a function from text to bytes. Bytes that no URL may hold are escaped afterwards.
    pub fn new(encode: impl Fn(&str) -> Cow<'_, [u8]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(encode))
    }
}

impl fmt::Debug for QueryEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueryEncoder")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const BASES: &[&str] = &[
        "http://a.org/",
        "https://a.org/b/c.html",
        "https://a.org:8080/b//c/?d=e/f?g",
        "http://10.0.0.1/b/../c/d",
        "http://[::1]/b/%7ec/[d]",
        "http://ann:pw@a.org/b/c#d",
        "http://xn--a.org/b/c",
        "http://b%C3%BCcher.de/%2e%2e/b;c/d",
        "http://a.org/x/d:/b|/c^",
    ];

    /// The parts of links, and what makes them unusual.
    const PIECES: &[&str] = &[
        "a",
        "b.html",
        "c-d_e~f",
        "index",
        "..",
        ".",
        "...",
        ".h",
        "/",
        "/",
        "/",
        "//",
        "?",
        "#",
        "&x=1",
        ":",
        ";",
        "@",
        "%",
        "%2e",
        "%2E",
        "%41",
        "%2",
        "'",
        "!$()*+,=",
        "[",
        "]",
        "|",
        "\\",
        "^",
        "`",
        "{",
        "}",
        "\"",
        "<",
        " ",
        "\t",
        "\n",
        "\u{1}",
        "\u{7f}",
        "é",
        "A",
        "http:",
        "https:",
        "http://",
        "https://",
        "HTTP://",
        "http:///",
        "mailto:",
        "a.org",
        "www.b-c.example",
        "b--c",
        "xn--a",
        "-",
        "0x7f",
        "127.1",
        "1",
        "a..b",
        "a.1",
        ":80",
        ":443",
        ":8080",
        ":0",
        ":65536",
        ":080",
        "localhost",
        "d:",
        "/d:/",
        "b|",
        "/..",
        "../",
        "{{a}}",
        "//a.org:80",
        "//a.org:443/",
    ];

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(select(PIECES), 0..9).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

        /// A text that is resolved without the parser gives the parser's result.
        #[test]
        fn plain_texts_are_what_the_parser_makes_of_them(base in select(BASES), text in text(), in_latin in any::<bool>()) {
            let base = BaseUrl::parse(base, usize::MAX).unwrap();
            let latin = QueryEncoder::new(|query| query.bytes().map(|byte| byte | 0x80).collect::<Vec<_>>().into());
            let base = base.with_query_encoder(in_latin.then_some(latin));
            let parse = |base: Option<&BaseUrl>| resolve(base, &text, usize::MAX).map(wire_of);
            if let Some(wire) = plain_join(base.wire(), &text, !in_latin) {
                prop_assert_eq!(parse(Some(&base)), Ok(wire));
            }
            if let Some(wire) = plain_absolute(&text, true) {
                prop_assert_eq!(parse(None), Ok(wire));
            }
            // A `<base href>` resolves as a link does.
            if let (Ok(wire), Some(rebased)) = (parse(Some(&base)), base.rebase(&text)) {
                prop_assert_eq!(rebased.wire(), &wire);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

        /// A link leads to the same URL from all bases with the same part that it depends on.
        #[test]
        fn a_link_depends_on_its_basis_and_nothing_else(
            bases in prop::array::uniform2("(http://a[.]org|https://a[.]org|http://b[.]org:81)/(a/)?[a-c]?([?][a-c])?"),
            text in text(),
        ) {
            let [one, other] = bases.map(|base| BaseUrl::parse(&base, usize::MAX).unwrap());
            if one.basis(&text) == other.basis(&text) {
                let [one, other] = [one, other].map(|base| resolve(Some(&base), &text, usize::MAX).map(wire_of));
                prop_assert_eq!(one, other);
            }
        }
    }

    #[test]
    fn the_parser_is_mended_where_the_standard_has_moved() {
        for (base, href, expected) in [
            ("http://h.test/", "/a^b?c^d#e^", "http://h.test/a%5Eb?c^d"),
            ("http://h.test/a^b/c", "d\u{e9}", "http://h.test/a%5Eb/d%C3%A9"),
            ("http://h.test/a^b/c", "d", "http://h.test/a%5Eb/d"),
            ("http://h.test/", "http://h.test/\u{e9}/d:/..", "http://h.test/%C3%A9/"),
            ("http://h.test/", "/a/b|/../c", "http://h.test/a/c"),
            ("http://h.test/", "/a/b|/c", "http://h.test/a/b|/c"),
            ("http://h.test/", "/d:/../\u{e9}", "http://h.test/%C3%A9"),
            ("http://h.test/x/d:/b|/c", "../../\u{e9}", "http://h.test/x/%C3%A9"),
            ("http://h.test/x/d:/b|/c", "\u{e9}?/d:/..", "http://h.test/x/d:/b|/%C3%A9?/d:/.."),
            ("http://h.test/x/d:/", "%2e%2E", "http://h.test/x/"),
            ("http://h.test/", "b|/../\u{e9}", "http://h.test/%C3%A9"),
            ("http://h.test/", "\\d:\\..\\\u{e9}", "http://h.test/%C3%A9"),
            ("http://h.test/", "//d:/../\u{e9}", "http://d/%C3%A9"),
            ("http://h.test/", "https:/d:/../\u{e9}", "https://d/%C3%A9"),
            ("http://h.test/", "/d\t:/.\n./\u{e9}", "http://h.test/%C3%A9"),
            ("http://h.test/", "/:d:", "http://h.test/:d:"),
            ("http://h.test/", "1:d:", "http://h.test/1:d:"),
        ] {
            let base = BaseUrl::parse(base, usize::MAX).unwrap();
            assert_eq!(wire(Some(&base), href, usize::MAX).unwrap().text, expected, "{href}");
        }
    }

    #[test]
    fn a_template_is_no_address() {
        let base = BaseUrl::parse("http://h.test/", usize::MAX).unwrap();
        for (href, is_one) in [
            ("/{{ url }}", true),
            ("{{url}}", true),
            ("/a?b={{c}}", true),
            ("http://{{host}}/a", true),
            ("/a#{{b}}", false),
            ("/\u{e9}#{{b}}", false),
            ("/{a}", false),
            ("/}}{{", false),
            ("/%7B%7Ba%7D%7D", false),
        ] {
            let error = wire(Some(&base), href, usize::MAX).err();
            assert_eq!(error == Some(AddressError::Template), is_one, "{href}: {error:?}");
        }
    }

    #[test]
    fn plain_texts_are_most_of_the_web() {
        let base = BaseUrl::parse("https://a.org:8080/b/c?d", usize::MAX).unwrap();
        for (href, wire) in [
            ("", "https://a.org:8080/b/c?d"),
            ("#e", "https://a.org:8080/b/c?d"),
            ("e.html", "https://a.org:8080/b/e.html"),
            ("e.html?f=g#h", "https://a.org:8080/b/e.html?f=g"),
            ("?f=g", "https://a.org:8080/b/c?f=g"),
            ("./", "https://a.org:8080/b/"),
            ("../../../e/./f/..", "https://a.org:8080/e/"),
            ("/e//f", "https://a.org:8080/e//f"),
            ("//b-c.org", "https://b-c.org/"),
            ("//b.org:80?e", "https://b.org:80/?e"),
            ("http://b.org/e:f/../g", "http://b.org/g"),
        ] {
            assert_eq!(plain_join(&base.wire, href, true).unwrap().text, wire, "{href}");
        }
        for href in ["e:f", "é", "/%2e", "\\", "//B.org", "//b", "//1", "//b.org:443", "a b", "https:e", "?'"] {
            let unusual = plain_join(&base.wire, href, true).map(|wire| wire.text);
            assert!(unusual.is_none() || href == "//b", "{href}: {unusual:?}");
        }
    }
}
