//! A response, and how its headers are read.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::time::{Duration, Instant};

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use jiff::fmt::strtime;
use jiff::{SignedDuration, Timestamp};

use super::exchange::Exchange;
use super::fetch_error::FetchError;
use super::link_header;
use super::wanted::Unwanted;
use crate::crawl::html::RobotsTag;
use crate::frontier::{Failure, Validators};

/// At most this many bytes of a validator; a longer one is not sent back.
const MAX_VALIDATOR: usize = 256;

/// A response, whatever its status.
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The Content-Type header: UTF-8, or else Latin-1. Several are joined by commas, like one header.
    pub content_type: Option<String>,
    /// The Location header as it was written, not resolved yet. Non-ASCII bytes are escaped, as in browsers.
    pub location: Option<String>,
    /// Retry-After, as a delay from now; zero for a date in the past. It is not capped.
    pub retry_after: Option<Duration>,
    /// Links in the head: those of `Link` headers whose relations are also followed on a page, and the target of a `Refresh` header.
    pub links: Vec<String>,
    /// The first of them that a `Link` header names as the page's own URL by `rel=canonical` (RFC 6596).
    pub canonical: Option<String>,
    /// What the X-Robots-Tag headers ask of this agent.
    pub robots: RobotsTag,
    /// Its head says that it is a challenge instead of the page.
    pub(in crate::crawl) challenge: bool,
    /// The validators for a conditional request.
    pub validators: Option<Box<Validators>>,
    /// The decoded body, up to the limit. With a status other than 2xx, at most 64 KiB or one second of it is taken.
    pub body: Vec<u8>,
    /// Bytes of the decoded body, as far as it was loaded. Of a body that it will not read, a crawl keeps only the start, so that
    /// [`body`](Self::body) has fewer. If such a body is long, it does not load the rest either.
    pub body_bytes: u64,
    /// The body is in a content coding that cannot be decoded, and is not text. Text is read as it is, as in browsers.
    pub raw: bool,
    /// Bytes of the body on the wire.
    pub wire_bytes: u64,
    /// The body was longer than the limit, or a decompression bomb. The rest was not taken.
    pub truncated: bool,
    /// Why the body broke off. The bytes that had come are kept. [`Incomplete`](crate::frontier::Failure::Incomplete): the connection
    /// closed. [`Timeout`](crate::frontier::Failure::Timeout): a clock ran out. [`BadResponse`](crate::frontier::Failure::BadResponse): it
    /// is not in the coding that the header names, or in an unknown one, its chunks are framed wrongly, or it came in crumbs. `None` for a
    /// status other than 2xx.
    pub incomplete: Option<FetchError>,
    /// It was not framed or coded as its head says, and was read as in browsers.
    pub(in crate::crawl) is_lenient: bool,
    /// Why its body was not taken: the page is not wanted.
    pub(in crate::crawl) refused: Option<Unwanted>,
    /// It has set a cookie, or changed one.
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
            ..200 => return bad("a switch of protocols that nobody asked for"),
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
        let links: Vec<_> = texts(headers, &header::LINK).flat_map(|value| link_header::targets(&value)).collect();
        let refreshed = texts(headers, &header::REFRESH).find_map(|value| link_header::refresh_target(&value));
        Ok(Self {
            status,
            canonical: links.iter().find(|link| link.is_canonical).map(|link| link.href.clone()),
            links: links.into_iter().map(|link| link.href).chain(refreshed).collect(),
            content_type: content_type(headers),
            location: location.map(|value| location_text(value.as_bytes())),
            retry_after: texts(headers, &header::RETRY_AFTER)
                .next()
                .and_then(|value| retry_after(&value, Timestamp::now())),
            robots,
            challenge: is_challenge(headers),
            validators: validators(headers),
            body: Vec::new(),
            body_bytes: 0,
            raw: false,
            wire_bytes: 0,
            truncated: false,
            incomplete: None,
            is_lenient: false,
            refused: None,
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

/// Whether a head announces a challenge instead of the page: Cloudflare's `cf-mitigated` and AWS WAF's `x-amzn-waf-action`.
fn is_challenge(headers: &HeaderMap) -> bool {
    let is = |name, words: &[&[u8]]| {
        let value = headers.get(HeaderName::from_static(name)).map(HeaderValue::as_bytes);
        value.is_some_and(|value| words.iter().any(|word| value.eq_ignore_ascii_case(word)))
    };
    is("cf-mitigated", &[b"challenge"]) || is("x-amzn-waf-action", &[b"captcha", b"challenge"])
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
pub(super) fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
    }
}

/// The values of a header as texts.
pub(super) fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = Cow<'a, str>> {
    headers.get_all(name).iter().map(|value| header_text(value.as_bytes()))
}

/// The Content-Type headers as one (RFC 9110 section 5.3).
fn content_type(headers: &HeaderMap) -> Option<String> {
    let mut values = texts(headers, &header::CONTENT_TYPE);
    let mut whole = values.next()?.into_owned();
    values.for_each(|value| whole.extend([", ", &*value]));
    Some(whole)
}

/// A Location's text. Non-ASCII bytes are escaped, so that exactly the bytes that the server named are requested.
pub(super) fn location_text(value: &[u8]) -> String {
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

/// The forms of an HTTP-date (RFC 9110 section 5.6.7): the current one and the obsolete ones. The weekday is cut off first, since it may be
/// wrong and adds nothing. The time zone is a number.
const DATE_FORMATS: [&str; 4] =
    ["%d %b %Y %H:%M:%S %z", "%d-%b-%y %H:%M:%S %z", "%d-%b-%Y %H:%M:%S %z", "%b %e %H:%M:%S %Y %z"];

/// Retry-After (RFC 9110 section 10.2.3), which is seconds or a date, as a delay from `now`; `None` if it is neither.
pub(super) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // All are digits, so parsing can fail only by overflow.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let rest = date(value)?.duration_since(now);
    Some(rest.max(SignedDuration::ZERO).unsigned_abs())
}

fn date(value: &str) -> Option<Timestamp> {
    let weekday = value.find(|c: char| !c.is_alphabetic()).unwrap_or_default();
    let date = value[weekday..].trim_start_matches([',', ' ']);
    let (date, zone) = match date.rsplit_once(' ') {
        Some((date, zone)) if ["GMT", "UTC"].iter().any(|known| zone.eq_ignore_ascii_case(known)) => (date, "+0000"),
        Some((date, zone)) if zone.starts_with(['+', '-']) => (date, zone),
        _ => (date, "+0000"),
    };
    let text = format!("{date} {zone}");
    DATE_FORMATS.iter().find_map(|format| strtime::parse(format, &text).ok()?.to_timestamp().ok())
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

/// The validators of a response. Those that are too long are ignored.
fn validators(headers: &HeaderMap) -> Option<Box<Validators>> {
    let text = |name: &HeaderName| {
        let text = headers.get(name).and_then(|value| value.to_str().ok());
        text.filter(|text| text.len() <= MAX_VALIDATOR).map(Into::into)
    };
    let found = Validators { etag: text(&header::ETAG), last_modified: text(&header::LAST_MODIFIED) };
    (found != Validators::default()).then(|| Box::new(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = "1994-11-06T08:49:07Z".parse().unwrap();
        let cases = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(30)),
            ("Sun Nov  6 08:49:37 1994", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("Sat, 06 Nov 2004 08:49:07 GMT", Some(315_619_200)),
            // The weekday adds nothing to the date.
            ("Mon, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Friday, 06-Nov-94 08:49:37 GMT", Some(30)),
            ("Tue Nov  6 08:49:37 1994", Some(30)),
            ("Sonntag, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sun, 6 Nov 1994 08:49:37 UTC", Some(30)),
            ("sun, 06 nov 1994 08:49:37 gmt", Some(30)),
            ("Sun, 06 Nov 1994 08:49:37 +0000", Some(30)),
            ("Sun, 06 Nov 1994 09:49:37 +0100", Some(30)),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ];
        for (value, seconds) in cases {
            assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs), "{value}");
        }
    }
}
