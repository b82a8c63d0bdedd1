//! Parses the lines that clients send.
//!
//! A line is checked completely before it has any effect. A wrong line does not affect other lines. An unknown field is an error: otherwise a
//! misspelled field would be ignored silently.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::value::RawValue;

use crate::address::{HostKey, Identity};
use crate::frontier::{Failure, LeaseToken, Trouble, Validators};
use crate::gate::{Found, Gate, Refusal, Via};
use crate::serve::core::{LeaseEnd, OwnedHref, PageEnd};

/// A line of `urls`: a URL alone, or a URL with attributes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlLine<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    identity: Option<String>,
    queue: Option<String>,
    priority: Option<i64>,
    depth: Option<u32>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

/// The verdict on a line of `urls`, as far as it does not need the frontier.
#[derive(Debug)]
pub(super) enum Judged {
    /// The frontier decides.
    Asked,
    /// It is not a URL that can be fetched.
    Refused(Refusal),
    /// The line is wrong.
    Wrong(String),
}

/// Reads a line of `urls`. If the frontier is to decide, its URL is appended to `found`.
pub(super) fn url_line(line: &[u8], gate: &Gate, found: &mut Vec<Found>) -> Judged {
    let line = match parse_url_line(line) {
        Ok(line) => line,
        Err(reason) => return Judged::Wrong(reason),
    };
    let url = match gate.canonicalizer().canonicalize(&line.url) {
        Ok(url) => url,
        Err(error) => {
            let refusal = Refusal::from(&error);
            gate.refuse(refusal);
            return Judged::Refused(refusal);
        }
    };
    let depth = line.depth.unwrap_or_default();
    let via = if depth == 0 { Via::Seed } else { Via::Link };
    let mut one = Found { depth, via, priority: line.priority, ..Found::seed(url) };
    if let Some(identity) = &line.identity {
        match Identity::new(identity) {
            Ok(identity) => one.identity = Some(identity.to_buf()),
            Err(error) => return Judged::Wrong(format!("identity: {error}")),
        }
    }
    if let Some(queue) = &line.queue {
        match HostKey::of_queue(queue) {
            Ok(queue) => one.queue = Some(queue),
            Err(error) => return Judged::Wrong(format!("queue: {error}")),
        }
    }
    if let Some(payload) = line.payload {
        let bytes = payload.get().as_bytes();
        if let Err(error) = gate.fits(bytes) {
            return Judged::Wrong(format!("payload: {error}"));
        }
        one.metadata = bytes.into();
    }
    found.push(one);
    Judged::Asked
}

fn parse_url_line(line: &[u8]) -> Result<UrlLine<'_>, String> {
    if line.first() == Some(&b'"') {
        let url = serde_json::from_slice::<Text<'_>>(line).map_err(|error| said(&error))?.0;
        return Ok(UrlLine { url, identity: None, queue: None, priority: None, depth: None, payload: None });
    }
    serde_json::from_slice(line).map_err(|error| said(&error))
}

/// A text, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The parser's message without the position, which is of no use for a single line.
fn said(error: &serde_json::Error) -> String {
    let mut message = error.to_string();
    if let Some(place) = message.rfind(" at line 1") {
        message.truncate(place);
    }
    message
}

/// A line of `done`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DoneLine {
    token: Token,
    status: Option<u16>,
    failure: Option<String>,
    message: Option<String>,
    #[serde(default)]
    links: Vec<LinkLine>,
    location: Option<String>,
    retry_after: Option<f64>,
    base_href: Option<String>,
    #[serde(default)]
    nofollow: bool,
    body: Option<String>,
    etag: Option<String>,
    last_modified: Option<String>,
    latency: Option<f64>,
    #[serde(default)]
    bytes: u64,
}

/// A token, as a text.
#[derive(Clone, Copy)]
pub(super) struct Token(pub(super) LeaseToken);

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        text.parse().map(Self).map_err(|error| D::Error::custom(format!("token: {error}")))
    }
}

/// A link: its text alone, or with attributes.
#[derive(Deserialize)]
#[serde(untagged)]
enum LinkLine {
    Text(String),
    More(Box<LinkMore>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkMore {
    url: String,
    identity: Option<String>,
    queue: Option<String>,
    priority: Option<i64>,
    payload: Option<serde_json::Value>,
}

impl LinkLine {
    fn href(self) -> Result<OwnedHref, String> {
        let more = match self {
            Self::Text(url) => return Ok(OwnedHref { url, ..OwnedHref::default() }),
            Self::More(more) => *more,
        };
        if let Some(identity) = &more.identity {
            Identity::new(identity).map_err(|error| format!("identity: {error}"))?;
        }
        if let Some(queue) = &more.queue {
            HostKey::of_queue(queue).map_err(|error| format!("queue: {error}"))?;
        }
        let payload = more.payload.map(|payload| payload.to_string().into_bytes().into_boxed_slice());
        if payload.as_ref().is_some_and(|payload| payload.len() > Found::METADATA) {
            return Err(format!("payload: a link may have {} bytes of it", Found::METADATA));
        }
        let LinkMore { url, identity, queue, priority, .. } = more;
        Ok(OwnedHref { url, priority, identity, queue, payload })
    }
}

/// Reads a line of `done`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn done_line(line: &[u8]) -> Result<LeaseEnd, String> {
    let line: DoneLine = serde_json::from_slice(line).map_err(|error| said(&error))?;
    let token = line.token.0;
    let end = match (line.status, &line.failure) {
        (Some(status @ 100..=599), None) => {
            let links = line.links.into_iter().map(LinkLine::href).collect::<Result<_, _>>()?;
            let validators = (line.etag.is_some() || line.last_modified.is_some()).then(|| Validators {
                etag: line.etag.map(String::into_boxed_str),
                last_modified: line.last_modified.map(String::into_boxed_str),
            });
            PageEnd::Response {
                status,
                links,
                location: line.location,
                retry_after: line.retry_after.map(|rest| seconds("retry_after", rest)).transpose()?,
                base_href: line.base_href,
                nofollow: line.nofollow,
                body: line.body,
                validators,
                latency: line.latency.map(|took| seconds("latency", took)).transpose()?.unwrap_or_default(),
                bytes: line.bytes,
            }
        }
        (None, Some(name)) => {
            let failure = Failure::REPORTED.into_iter().find(|failure| failure.name() == name).ok_or_else(|| {
                let names = Failure::REPORTED.map(Failure::name);
                format!("failure: {name:?} is none of {}", names.join(", "))
            })?;
            PageEnd::Failed(Trouble::new(failure, line.message.as_deref().unwrap_or_default()))
        }
        (Some(status), None) => return Err(format!("status: {status} is no HTTP status")),
        _ => return Err("expected either a status or a failure".to_owned()),
    };
    Ok(LeaseEnd { token, end })
}

fn seconds(field: &str, number: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(number).map_err(|_| format!("{field}: expected a number of seconds, 0 or more"))
}

/// Reads a line of `extend` and `give_back`: a token alone, or in an object.
///
/// # Errors
/// What is wrong with it.
pub(super) fn token_line(line: &[u8]) -> Result<LeaseToken, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TokenLine {
        token: Token,
    }
    if line.first() == Some(&b'"') {
        return serde_json::from_slice::<Token>(line).map(|token| token.0).map_err(|error| said(&error));
    }
    serde_json::from_slice::<TokenLine>(line).map(|line| line.token.0).map_err(|error| said(&error))
}

/// The value of a parameter in a query; `None` if it is not there.
pub(super) fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| decode(value))
}

/// Undoes the escapes of a form.
fn decode(text: &str) -> String {
    let (mut bytes, mut decoded) = (text.bytes(), Vec::with_capacity(text.len()));
    let digit =
        |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high << 4 | low);
                bytes = ahead;
            }
            (b'+', ..) => decoded.push(b' '),
            _ => decoded.push(byte),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{Frontier, FrontierOptions};

    fn judged(line: &str) -> (String, Vec<Found>) {
        let frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        let mut found = Vec::new();
        let judged = match url_line(line.as_bytes(), frontier.gate(), &mut found) {
            Judged::Asked => "asked".to_owned(),
            Judged::Refused(refusal) => refusal.name().to_owned(),
            Judged::Wrong(reason) => reason,
        };
        (judged, found)
    }

    #[test]
    fn a_url_has_what_is_said_about_it() {
        let line = r#"{"url":"https://a.example/\u0062","identity":"i","queue":"q","priority":-3,"depth":2,"payload":{"a": [1]}}"#;
        let (answer, found) = judged(line);
        assert_eq!(answer, "asked");
        let [found] = &found[..] else { panic!("one") };
        assert_eq!((found.url.wire(), found.priority, found.depth), ("https://a.example/b", Some(-3), 2));
        assert_eq!(found.identity.as_ref().unwrap().borrow().bytes(), b"i");
        assert_eq!((found.queue.as_ref().unwrap().queue(), &*found.metadata), (Some("q"), &br#"{"a": [1]}"#[..]));
        assert_eq!(judged(r#""https://a.example/""#).0, "asked");
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong() {
        for (line, word) in [
            ("", "EOF"),
            ("https://a.example/", "expected value"),
            ("{}", "missing field `url`"),
            (r#"{"url":"https://a.example/","prio":1}"#, "unknown field `prio`"),
            (r#"{"url":"https://a.example/","identity":""}"#, "identity: "),
            (r#"{"url":"https://a.example/","queue":"*"}"#, "queue: "),
            (r#"{"url":"https://a.example/","depth":-1}"#, "invalid value"),
            (r#""mailto:a@a.example""#, "unsupported_scheme"),
        ] {
            let (answer, found) = judged(line);
            assert!(answer.contains(word) && found.is_empty(), "{line}: {answer}");
        }
        let long = format!(r#"{{"url":"https://a.example/","payload":"{}"}}"#, "x".repeat(5000));
        assert!(judged(&long).0.starts_with("payload: "));
    }

    #[test]
    fn an_end_is_a_response_or_a_failure() {
        let end =
            done_line(br#"{"token":"a-1","status":200,"links":["/a",{"url":"/b","priority":1}],"retry_after":1.5}"#);
        let PageEnd::Response { status: 200, links, retry_after, .. } = end.unwrap().end else { panic!("a response") };
        assert_eq!((links[0].url.as_str(), links[1].priority), ("/a", Some(1)));
        assert_eq!(retry_after, Some(Duration::from_millis(1500)));
        let end = done_line(br#"{"token":"a-1","failure":"timeout","message":"head"}"#).unwrap().end;
        assert_eq!(end, PageEnd::Failed(Trouble::new(Failure::Timeout, "head")));
        for (line, word) in [
            (r#"{"token":"a-1"}"#, "either"),
            (r#"{"token":"a-1","status":200,"failure":"timeout"}"#, "either"),
            (r#"{"token":"a-1","status":99}"#, "status: 99"),
            (r#"{"token":"a-1","failure":"tired"}"#, "private_address"),
            // The frontier itself finds this one.
            (r#"{"token":"a-1","failure":"robots_unreachable"}"#, "private_address"),
            (r#"{"token":"x","status":200}"#, "token: "),
            (r#"{"status":200}"#, "missing field `token`"),
            (r#"{"token":"a-1","status":200,"retry_after":-1}"#, "retry_after: "),
            (r#"{"token":"a-1","status":200,"links":[{"url":"/","queue":""}]}"#, "queue: "),
        ] {
            let error = done_line(line.as_bytes()).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }

    #[test]
    fn the_description_lists_the_failures() {
        let description: serde_json::Value = serde_json::from_str(include_str!("../../../docs/openapi.json")).unwrap();
        let listed = &description["components"]["schemas"]["Done"]["properties"]["failure"]["enum"];
        assert_eq!(listed, &serde_json::json!(Failure::REPORTED.map(Failure::name)));
    }

    #[test]
    fn queries_are_forms() {
        let query = "n=3&url=https%3A%2F%2Fa.example%2F%C3%A4+b&x";
        assert_eq!(parameter(query, "url").unwrap(), "https://a.example/\u{e4} b");
        assert_eq!(parameter(query, "x").as_deref(), Some(""));
        assert_eq!(parameter(query, "wait"), None);
        assert_eq!(parameter("a=%4", "a").as_deref(), Some("%4"));
    }
}
