//! A response: how its headers are read, the links in its headers (`Link` of RFC 8288, and `Refresh`), and which pages are wanted, by their
//! headers.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::time::{Duration, Instant};

use http::header::{self, HeaderMap, HeaderName};

use super::access::AccessError;
use super::fetch_error::FetchError;
use super::request::Exchange;
use crate::crawl::FetchOptions;
use crate::crawl::date::retry_after;
use crate::crawl::html::{RobotsTag, refresh};
use crate::crawl::media_types::MediaTypes;
use crate::crawl::records::message;
use crate::frontier::{Failure, Preferences, Purpose, Validators};

/// What most pages have as their Content-Type: no response needs a copy of its own.
const USUAL_TYPES: [&str; 5] = [
    "text/html; charset=utf-8",
    "text/html; charset=UTF-8",
    "text/html;charset=utf-8",
    "text/html;charset=UTF-8",
    "text/html",
];

/// At most this many bytes of a validator; a longer one is not sent back.
const MAX_VALIDATOR: usize = 256;

/// A response, whatever its status.
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The Content-Type header: UTF-8, or else Latin-1. Several are joined by commas, like one header.
    pub content_type: Option<Cow<'static, str>>,
    /// The Location header as it was written, not resolved yet. Non-ASCII bytes are escaped, as in browsers.
    pub location: Option<String>,
    /// Retry-After, as a delay from now; zero for a date in the past. It is not capped.
    pub retry_after: Option<Duration>,
    /// Links in the head: those of `Link` headers whose relations are also followed on a page, and the target of a `Refresh` header.
    pub links: Vec<String>,
    /// The first link with `rel=canonical` in a `Link` header: the page's own URL (RFC 6596).
    pub canonical: Option<String>,
    /// The directives of the X-Robots-Tag headers for this agent.
    pub robots: RobotsTag,
    /// The uses of the page that its head prefers: by `Content-Usage`, `Content-Signal`, and `noai` and `noimageai` of `X-Robots-Tag`.
    pub preferences: Preferences,
    /// The front end that sent a challenge instead of the page.
    pub(in crate::crawl) challenge: Option<&'static str>,
    /// The validators for a conditional request.
    pub validators: Option<Box<Validators>>,
    /// The decoded body, up to the limit. With a status other than 2xx, at most 64 KiB or one second of it is taken.
    pub body: Vec<u8>,
    /// Bytes of the decoded body, as far as it was loaded. [`body`](Self::body) has fewer bytes if the crawl will not read the body: it
    /// then keeps only the start, and does not load the rest if that is long.
    pub body_bytes: u64,
    /// The body is in a content coding that cannot be decoded, and is not text. Text is read as it is, as in browsers.
    pub raw: bool,
    /// Bytes of the body on the wire.
    pub wire_bytes: u64,
    /// The body was longer than the limit, or a decompression bomb. The rest was not taken.
    pub truncated: bool,
    /// Why the body broke off. The bytes that came are kept. [`Incomplete`](crate::frontier::Failure::Incomplete): the connection closed.
    /// [`Timeout`](crate::frontier::Failure::Timeout): a clock ran out. [`BadResponse`](crate::frontier::Failure::BadResponse): it is not
    /// in the coding that the header names, the coding is unknown, its chunks are framed wrongly, or it came in tiny pieces. For a status
    /// other than 2xx it is `None`.
    pub incomplete: Option<FetchError>,
    /// The body was not framed or coded as its head says, and was read as in browsers.
    pub(in crate::crawl) is_lenient: bool,
    /// Why its body was not taken: the page is not wanted.
    pub(in crate::crawl) refused: Option<Unwanted>,
    /// Its request was signed.
    pub(in crate::crawl) signed: bool,
    /// The response has set a cookie, or changed one.
    pub(in crate::crawl) has_new_cookies: bool,
    /// When the request was sent.
    pub sent_at: Instant,
    /// Time from sending the request to the response's head.
    pub first_byte: Duration,
    /// Time from sending the request to the end of the body.
    pub total: Duration,
    /// A digest of the decoded body, as far as it was taken, if requested.
    pub(in crate::crawl) digest: Option<u64>,
    /// The exchange as it came, if requested.
    pub(in crate::crawl) exchange: Option<Box<Exchange>>,
}

impl Response {
    /// A response whose body is still to come. `agent` is the product token that `X-Robots-Tag` is matched against.
    pub(super) fn begun(
        head: &http::Response<()>,
        agent: &str,
        is_conditional: bool,
        sent_at: Instant,
    ) -> Result<Self, FetchError> {
        let status = head.status().as_u16();
        let bad =
            |message| Err(FetchError { sent_at: Some(sent_at), ..FetchError::new(Failure::BadResponse, message) });
        match status {
            // The client skips other interim responses. A switch of protocols was not requested.
            ..200 => return bad("a switch of protocols that was not requested"),
            304 if !is_conditional => return bad("304 to a request without conditions"),
            _ => {}
        }
        let headers = head.headers();
        let mut locations = headers.get_all(header::LOCATION).iter();
        let location = locations.next();
        if locations.any(|other| Some(other) != location) {
            return bad("two different Location headers");
        }
        let mut robots = RobotsTag::default();
        for value in texts(headers, &HeaderName::from_static("x-robots-tag")) {
            robots.add_header(&value, agent);
        }
        let content_type = content_type(headers);
        let stated = stated(headers).fold(Preferences::default(), |all, (_, _, says)| all.and(says));
        let links: Vec<_> = texts(headers, &header::LINK).flat_map(|value| link_targets(&value)).collect();
        let refreshed = texts(headers, &header::REFRESH).find_map(|value| refresh(&value).map(str::to_owned));
        Ok(Self {
            status,
            canonical: links.iter().find(|link| link.is_canonical).map(|link| link.href.clone()),
            links: links.into_iter().map(|link| link.href).chain(refreshed).collect(),
            preferences: stated.and(robots.preferences(is_image(content_type.as_deref()))),
            content_type,
            location: location.map(|value| location_text(value.as_bytes())),
            retry_after: texts(headers, &header::RETRY_AFTER).next().and_then(|value| retry_after(&value)),
            robots,
            challenge: None,
            validators: None,
            body: Vec::new(),
            body_bytes: 0,
            raw: false,
            wire_bytes: 0,
            truncated: false,
            incomplete: None,
            is_lenient: false,
            refused: None,
            signed: false,
            has_new_cookies: false,
            sent_at,
            first_byte: sent_at.elapsed(),
            total: Duration::ZERO,
            digest: None,
            exchange: None,
        })
    }

    /// Whether its status is 2xx.
    pub(in crate::crawl) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, content_type, body_bytes, incomplete, .. } = self;
        let mut shown = f.debug_struct("Response");
        shown.field("status", status).field("content_type", content_type).field("body_bytes", body_bytes);
        shown.field("incomplete", incomplete).finish_non_exhaustive()
    }
}

/// A header's value as text: UTF-8, or else Latin-1 (RFC 9110 section 5.5), in which each byte is a character.
fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
    }
}

/// The values of a header as texts.
pub(super) fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = Cow<'a, str>> {
    headers.get_all(name).iter().map(|value| header_text(value.as_bytes()))
}

/// The headers that say what a page may be used for: each name, all of its values as one text, and the preferences in it. Content-Signal is
/// not in any standard; some front ends send it.
fn stated(headers: &HeaderMap) -> impl Iterator<Item = (&'static str, String, Preferences)> {
    type Reads = fn(&[u8]) -> Preferences;
    let all: [(&str, &str, Reads); 2] = [
        ("content-usage", "Content-Usage", Preferences::of_usage),
        ("content-signal", "Content-Signal", Preferences::of_signal),
    ];
    all.into_iter().filter_map(|(name, shown, reads)| {
        let values: Vec<_> = texts(headers, &HeaderName::from_static(name)).collect();
        let value = Some(values.join(", ")).filter(|value| !value.is_empty())?;
        let says = reads(value.as_bytes());
        Some((shown, value, says))
    })
}

fn is_image(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|of| of.trim_start().get(..6).is_some_and(|of| of.eq_ignore_ascii_case("image/")))
}

/// The header that denies a page for this purpose.
fn denial(headers: &HeaderMap, purpose: Purpose) -> String {
    let header = stated(headers).find(|(_, _, says)| says.denies(purpose));
    let header = header.map_or_else(|| "X-Robots-Tag: noai".to_owned(), |(name, value, _)| format!("{name}: {value}"));
    denial_rule(purpose, &header)
}

/// A denial as a rule, in words.
fn denial_rule(purpose: Purpose, line: &str) -> String {
    format!("{purpose}: {line}")
}

/// The Content-Type headers as one (RFC 9110 section 5.3).
fn content_type(headers: &HeaderMap) -> Option<Cow<'static, str>> {
    let mut values = texts(headers, &header::CONTENT_TYPE);
    let (first, second) = (values.next()?, values.next());
    if second.is_none()
        && let Some(usual) = USUAL_TYPES.iter().find(|usual| **usual == first)
    {
        return Some(Cow::Borrowed(usual));
    }
    let mut whole = first.into_owned();
    second.into_iter().chain(values).for_each(|value| whole.extend([", ", &*value]));
    Some(whole.into())
}

/// A Location's text. Non-ASCII bytes are escaped, so that exactly the bytes that the server named are requested.
fn location_text(value: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii() {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// The codings of a header, in the order in which they were applied. A value that is not text counts as an unknown coding.
pub(super) fn codings<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("no text"));
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// The transfer codings of a body, in the order in which they were applied (RFC 9112 section 6.1), without the final "chunked", which the
/// client decodes. Some proxies name it twice for a body that is chunked once; no server chunks a body twice.
pub(super) fn transfer_codings<'a>(codings: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut codings: Vec<_> = codings.filter(|coding| !coding.is_empty()).collect();
    while codings.pop_if(|last| last.eq_ignore_ascii_case("chunked")).is_some() {}
    codings
}

/// The validators of a response. Validators that are too long are ignored.
pub(super) fn validators(headers: &HeaderMap) -> Option<Box<Validators>> {
    let text = |name: &HeaderName| {
        let text = headers.get(name).and_then(|value| value.to_str().ok());
        text.filter(|text| text.len() <= MAX_VALIDATOR).map(Into::into)
    };
    let found = Validators { etag: text(&header::ETAG), last_modified: text(&header::LAST_MODIFIED) };
    (found != Validators::default()).then(|| Box::new(found))
}

/// The link relations that are followed, as on a page.
const FOLLOWED: [&str; 5] = ["alternate", CANONICAL, "next", "prev", "previous"];
/// The relation by which a page names its own URL (RFC 6596).
const CANONICAL: &str = "canonical";

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LinkTarget {
    href: String,
    is_canonical: bool,
}

/// The targets of a `Link` header's links that are followed. A link with an `anchor` is a link of another page, and is ignored. Parsing
/// ends at the first error.
fn link_targets(header: &str) -> Vec<LinkTarget> {
    let mut targets = Vec::new();
    let mut rest = header.trim_start_matches([' ', '\t', ',']);
    while let Some((target, after)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        let (mut is_followed, mut is_canonical, mut is_elsewhere, mut has_rel) = (false, false, false, false);
        rest = after.trim_start();
        while let Some(parameter) = rest.strip_prefix(';') {
            let (name, value, after) = parse_parameter(parameter);
            if name.eq_ignore_ascii_case("rel") && !has_rel {
                let has = |known: &str| value.split_ascii_whitespace().any(|rel| rel.eq_ignore_ascii_case(known));
                (is_followed, is_canonical) = (FOLLOWED.iter().any(|known| has(known)), has(CANONICAL));
                // Later `rel` parameters are ignored (section 3.3).
                has_rel = true;
            }
            is_elsewhere |= name.eq_ignore_ascii_case("anchor");
            rest = after;
        }
        if is_followed && !is_elsewhere && !target.trim().is_empty() {
            targets.push(LinkTarget { href: target.trim().to_owned(), is_canonical });
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
    targets
}

/// A parameter's name, its value without quotes, and the rest of the text.
fn parse_parameter(text: &str) -> (&str, String, &str) {
    let text = text.trim_start();
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let name = text[..end].trim();
    let Some(value) = text[end..].strip_prefix('=') else { return (name, String::new(), &text[end..]) };
    let value = value.trim_start();
    let Some(quoted) = value.strip_prefix('"') else {
        let end = value.find([';', ',']).unwrap_or(value.len());
        return (name, value[..end].trim().to_owned(), &value[end..]);
    };
    let (mut unquoted, mut letters) = (String::new(), quoted.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (name, unquoted, quoted[at + 1..].trim_start()),
            '\\' => unquoted.extend(letters.next().map(|(_, letter)| letter)),
            _ => unquoted.push(letter),
        }
    }
    (name, unquoted, "")
}

/// The errors of unwanted pages, as written in records.
const UNWANTED_TYPE: &str = "unwanted_type";
const TOO_LARGE: &str = "too_large";
const PREFERENCE: &str = "preference";

/// Whether a record's error means that the page was not wanted. That is the user's choice, and not a failure.
pub(in crate::crawl) fn is_unwanted(error: &str) -> bool {
    [UNWANTED_TYPE, TOO_LARGE, PREFERENCE].contains(&error)
}

fn size_rule(most: u64) -> String {
    format!("longer than fetch.max_bytes = {most}")
}

/// Which pages are taken, judged by their heads.
#[derive(Debug)]
pub(super) struct Wanted {
    types: MediaTypes,
    max_bytes: Option<u64>,
    purpose: Option<Purpose>,
}

/// Why a page was refused, so that its body was not read or not kept.
#[derive(Clone, Debug)]
pub(in crate::crawl) struct Unwanted {
    /// The error in its record.
    pub(in crate::crawl) name: &'static str,
    /// The rule, in words.
    pub(in crate::crawl) rule: String,
}

impl Wanted {
    /// The rules of these options.
    ///
    /// # Errors
    /// When a word names no type.
    pub(super) fn new(options: &FetchOptions) -> Result<Self, AccessError> {
        let types = MediaTypes::new(&options.types);
        let types = types.map_err(|error| AccessError::of_option("types", error.to_string()))?;
        Ok(Self { types, max_bytes: options.max_bytes, purpose: options.purpose })
    }

    /// Why a page is refused by its head. `length` is that of the body, if the head states it.
    pub(super) fn refuse(&self, content_type: Option<&str>, length: Option<u64>) -> Option<Unwanted> {
        let named = content_type.filter(|named| !named.trim().is_empty());
        if named.is_some() && !self.types.has(named) {
            return Some(Unwanted { name: UNWANTED_TYPE, rule: self.type_rule() });
        }
        self.refuse_bytes(length.unwrap_or_default())
    }

    /// Why a page is refused for the purpose of the crawl.
    pub(super) fn refuse_purpose(&self, headers: &HeaderMap, preferences: Preferences) -> Option<Unwanted> {
        let purpose = self.purpose.filter(|purpose| preferences.denies(*purpose))?;
        Some(Unwanted { name: PREFERENCE, rule: denial(headers, purpose) })
    }

    /// Whether the rule in the message of a record would refuse its page again.
    pub(super) fn has_rule(&self, rule: &str) -> bool {
        if self.purpose.is_some_and(|purpose| rule.starts_with(&denial_rule(purpose, ""))) {
            return true;
        }
        rule == message(&self.type_rule()) || self.max_bytes.is_some_and(|most| rule == size_rule(most))
    }

    fn type_rule(&self) -> String {
        format!("none of fetch.types = {}", self.types)
    }

    /// Why a page of `bytes` bytes is refused.
    pub(super) fn refuse_bytes(&self, bytes: u64) -> Option<Unwanted> {
        let most = self.max_bytes.filter(|most| bytes > *most)?;
        Some(Unwanted { name: TOO_LARGE, rule: size_rule(most) })
    }

    /// The most bytes of a page that are read.
    pub(super) fn most(&self, ours: usize) -> u64 {
        self.max_bytes.unwrap_or(u64::MAX).min(ours as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_header_is_read_by_its_grammar() {
        for (header, expected) in [
            ("</2>; rel=next", &["/2"][..]),
            ("</2>; rel=\"next\", </0>;rel=prev", &["/2", "/0"]),
            ("</0>; rel=previous", &["/0"]),
            ("< http://a.test/x,y;z >; title=\"a, <b>; rel=next\"; rel=\"start NEXT\"", &["http://a.test/x,y;z"]),
            (", </a> ; Rel = Canonical ,, </b> ; rel = alternate ; hreflang = de", &["/a", "/b"]),
            ("</s.css>; rel=stylesheet; as=style, </p>; rel=preload", &[]),
            ("</2>; rel=self; rel=next", &[]),
            ("</2>; anchor=\"/other\"; rel=next", &[]),
            ("</2>; rel=\"ne\\xt\"", &["/2"]),
            ("</2>", &[]),
            ("<>; rel=next", &[]),
            ("</2; rel=next", &[]),
            ("/2; rel=next", &[]),
            ("</1>; rel=next; title=\"no end, </2>; rel=next", &["/1"]),
            ("</1>; rel=next junk", &["/1"]),
            ("", &[]),
        ] {
            let hrefs: Vec<String> = link_targets(header).into_iter().map(|target| target.href).collect();
            assert_eq!(hrefs, expected, "{header}");
        }
        let canonical: Vec<bool> =
            link_targets("</a>; rel=next, </b>; rel=\"x CANONICAL\", </c>; rel=canonical; anchor=\"/d\"")
                .into_iter()
                .map(|target| target.is_canonical)
                .collect();
        assert_eq!(canonical, [false, true]);
    }
}
