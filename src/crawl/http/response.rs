//! What came back for one URL, and how its headers' texts are read.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::{Duration, Instant};

use jiff::fmt::strtime;
use jiff::{SignedDuration, Timestamp};

use super::exchange::Exchange;
use super::fetch_error::FetchError;
use crate::crawl::html::RobotsTag;
use crate::frontier::Validators;

/// What came back for one URL, whatever its status.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The Content-Type header: UTF-8, or else Latin-1.
    pub content_type: Option<String>,
    /// The Location header as it was written, not yet resolved; bytes beyond ASCII escaped, as browsers do.
    pub location: Option<String>,
    /// Retry-After, as a rest from now; zero for a date that has passed. Not clamped.
    pub retry_after: Option<Duration>,
    /// What all X-Robots-Tag headers ask of this agent.
    pub robots: RobotsTag,
    /// By which it can be asked for again, on the condition that it has changed.
    pub validators: Option<Box<Validators>>,
    /// The body, its codings undone, up to the cap. With another status than 2xx it is no page: no more than 64 KiB or a
    /// second of it is taken.
    pub body: Vec<u8>,
    /// Bytes of the body, its content codings undone, up to the cap. A crawl keeps no more than the start of what it will not
    /// read: then [`body`](Self::body) has fewer.
    pub body_bytes: u64,
    /// The body is in a content coding that is not known, and not to be parsed.
    pub raw: bool,
    /// Bytes of the body on the wire, before its codings were undone.
    pub wire_bytes: u64,
    /// The body was longer than the cap, or a decompression bomb; the rest was not taken.
    pub truncated: bool,
    /// Why the body ended before its end; what had come is kept. [`Incomplete`](crate::frontier::Failure::Incomplete): the
    /// connection closed. [`Timeout`](crate::frontier::Failure::Timeout): a clock ran out.
    /// [`BadResponse`](crate::frontier::Failure::BadResponse): not the coding that the header names, or one that is not known
    /// on the way, or crumbs. `None` of a body that is no page.
    pub incomplete: Option<FetchError>,
    /// When the request was sent.
    pub sent_at: Instant,
    /// From the request sent to the response's head.
    pub first_byte: Duration,
    /// From the request sent to the end of the body.
    pub total: Duration,
    /// The response as it came, where that was asked for.
    pub(in crate::crawl) exchange: Option<Box<Exchange>>,
}

/// A header's value as text: UTF-8, or else Latin-1 (RFC 9110 section 5.5), in which each byte is a character.
pub(super) fn header_text(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => text.into(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect::<String>().into(),
    }
}

/// A Location's text: the bytes that the server named are asked for, in whatever encoding they are.
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

/// The forms of an HTTP-date (RFC 9110 section 5.6.7), the one in use and two obsolete ones, without their weekday, which may be
/// wrong and says nothing more; their time zone is made a number first.
const DATE_FORMATS: [&str; 4] =
    ["%d %b %Y %H:%M:%S %z", "%d-%b-%y %H:%M:%S %z", "%d-%b-%Y %H:%M:%S %z", "%b %e %H:%M:%S %Y %z"];

/// Retry-After (RFC 9110 section 10.2.3), seconds or a date, as a rest from `now`; `None` where it is neither.
pub(super) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // All digits: the parse fails by overflow alone.
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
            // The weekday says nothing that the date does not.
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
