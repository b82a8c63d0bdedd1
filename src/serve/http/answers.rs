//! The answers to clients: JSON, lines of JSON, and problem details (RFC 9457).

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

use super::door::Unadmitted;
use super::given::Judged;
use crate::address::HostKey;
use crate::frontier::{Explanation, Lease, LeaseKind, QueueStatistics, Timestamp};
use crate::gate::Refusal;
use crate::serve::core::{CallError, CrawlState, CrawlsError, EndAnswer, Waiting};

pub(super) type HttpAnswer = Response<Full<Bytes>>;

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const LINES: HeaderValue = HeaderValue::from_static("application/x-ndjson");
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A whole answer.
pub(super) fn answer(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> HttpAnswer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, content_type);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

pub(super) fn json_answer(status: StatusCode, body: &Value) -> HttpAnswer {
    answer(status, JSON, body.to_string())
}

/// Why a request was refused or failed (RFC 9457). Nothing has changed, and `detail` says what to do.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    retry_after: bool,
    /// The client is a browser, which asks its user for the token.
    is_of_browser: bool,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: false, is_of_browser: false }
    }

    /// A problem that may be gone in a second.
    pub(super) fn busy(detail: String) -> Self {
        Self { retry_after: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// The refusal of a browser.
    pub(super) fn to_browser(reason: Unadmitted) -> Self {
        Self { is_of_browser: true, ..Self::from(reason) }
    }

    pub(super) fn answer(&self) -> HttpAnswer {
        let Self { status, detail, retry_after, is_of_browser } = self;
        let title = status.canonical_reason().unwrap_or("problem");
        let body = json!({ "title": title, "status": status.as_u16(), "detail": detail });
        let mut answer = answer(*status, PROBLEM, body.to_string());
        if *retry_after {
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if *status == StatusCode::UNAUTHORIZED {
            answer.headers_mut().insert(
                WWW_AUTHENTICATE,
                HeaderValue::from_static(if *is_of_browser { "Basic realm=\"crawler\"" } else { "Bearer" }),
            );
        }
        answer
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        Self::busy(error.to_string())
    }
}

impl From<CrawlsError> for Problem {
    fn from(error: CrawlsError) -> Self {
        let status = match &error {
            CrawlsError::None => StatusCode::NOT_FOUND,
            CrawlsError::Rules(_) => StatusCode::BAD_REQUEST,
            CrawlsError::Many(_) | CrawlsError::Opening(_) => StatusCode::CONFLICT,
            _ => return Self::busy(error.to_string()),
        };
        Self::new(status, error.to_string())
    }
}

impl From<Unadmitted> for Problem {
    fn from(reason: Unadmitted) -> Self {
        match reason {
            Unadmitted::OtherName => {
                Self::new(StatusCode::MISDIRECTED_REQUEST, "ask for localhost or an address of this machine")
            }
            Unadmitted::Page => Self::new(StatusCode::FORBIDDEN, "a web page may not ask without a token"),
            Unadmitted::Stranger => {
                Self::new(StatusCode::UNAUTHORIZED, "send the server's token: Authorization: Bearer TOKEN")
            }
        }
    }
}

/// Milliseconds since 1970: all times in answers have this form.
pub(super) fn millis(at: Timestamp) -> u64 {
    at.as_micros() / 1000
}

/// The same, rounded up: a client that waits until then does not come too early.
fn millis_up(at: Timestamp) -> u64 {
    at.as_micros().div_ceil(1000)
}

/// Appends a line with the verdict on a URL.
pub(super) fn write_verdict(judged: &Judged, refused: Option<Refusal>, to: &mut Vec<u8>) {
    let refused = if let Judged::Refused(refusal) = judged { Some(*refusal) } else { refused };
    match (judged, refused) {
        (Judged::Wrong(reason), _) => {
            to.extend_from_slice(json!({ "verdict": "error", "reason": reason }).to_string().as_bytes());
        }
        (_, None) => to.extend_from_slice(br#"{"verdict":"new"}"#),
        (_, Some(Refusal::Seen)) => to.extend_from_slice(br#"{"verdict":"seen"}"#),
        (_, Some(refusal)) => {
            to.extend_from_slice(br#"{"verdict":"refused","reason":""#);
            to.extend_from_slice(refusal.name().as_bytes());
            to.extend_from_slice(br#""}"#);
        }
    }
    to.push(b'\n');
}

/// Appends a line that says what became of a lease, or what is wrong with the client's line.
pub(super) fn write_end(end: &Result<EndAnswer, String>, to: &mut Vec<u8>) {
    let line = match end {
        Ok(EndAnswer::Done) => json!({ "result": "done" }),
        Ok(EndAnswer::Retry(at)) => json!({ "result": "retry", "retry_at": millis_up(*at) }),
        Ok(EndAnswer::Extended(until)) => json!({ "result": "extended", "deadline": millis(*until) }),
        Ok(EndAnswer::GivenBack) => json!({ "result": "given_back" }),
        Ok(EndAnswer::Late) => json!({ "result": "late" }),
        Ok(EndAnswer::Unknown) => json!({ "result": "error", "reason": "this crawl never lent it" }),
        Ok(EndAnswer::TooLong) => {
            json!({ "result": "error", "reason": "a link has more payload than metadata.bytes allows; the URL will be lent again" })
        }
        Err(reason) => json!({ "result": "error", "reason": reason }),
    };
    to.extend_from_slice(line.to_string().as_bytes());
    to.push(b'\n');
}

/// The answer to a call for leases.
pub(super) fn leases(leases: &[Lease], waiting: Waiting, lasts: std::time::Duration) -> HttpAnswer {
    let mut body = Vec::with_capacity(64 + leases.len() * 256);
    body.extend_from_slice(br#"{"leases":["#);
    for (number, lease) in leases.iter().enumerate() {
        if number > 0 {
            body.push(b',');
        }
        write_lease(lease, lasts, &mut body);
    }
    let (state, retry_at) = match waiting {
        Waiting::No => ("due", None),
        Waiting::Until(at) => ("waiting", Some(millis_up(at))),
        Waiting::Busy => ("busy", None),
        Waiting::Drained => ("drained", None),
        Waiting::Paused => ("paused", None),
    };
    let rest =
        format!("],\"state\":\"{state}\",\"retry_at\":{}}}", retry_at.map_or("null".to_owned(), |at| at.to_string()));
    body.extend_from_slice(rest.as_bytes());
    answer(StatusCode::OK, JSON, body)
}

/// The name of a lease's kind.
fn kind(lease: &Lease) -> &'static str {
    match lease.kind() {
        LeaseKind::Robots => "robots",
        LeaseKind::Sitemap => "sitemap",
        LeaseKind::Page => "page",
    }
}

fn write_lease(lease: &Lease, lasts: std::time::Duration, to: &mut Vec<u8>) {
    let text = |name: &str, value: &str, to: &mut Vec<u8>| {
        to.extend_from_slice(b",\"");
        to.extend_from_slice(name.as_bytes());
        to.extend_from_slice(b"\":");
        // Writing to memory does not fail.
        _ = serde_json::to_writer(to, value);
    };
    let token = lease.token().map(|token| token.to_string()).unwrap_or_default();
    let deadline = millis(lease.lent_at() + lasts);
    let head = format!("{{\"token\":\"{token}\",\"kind\":\"{}\",\"deadline\":{deadline}", kind(lease));
    to.extend_from_slice(head.as_bytes());
    text("url", lease.url(), to);
    let numbers =
        format!(",\"priority\":{},\"depth\":{},\"attempt\":{}", lease.priority(), lease.depth(), lease.attempt());
    to.extend_from_slice(numbers.as_bytes());
    if let Some(queue) = lease.queue() {
        text("queue", queue, to);
    }
    if let Some(identity) = lease.identity() {
        text("identity", &String::from_utf8_lossy(identity.bytes()), to);
    }
    if let Some(referrer) = lease.referrer() {
        text("referrer", referrer, to);
    }
    if let Some(validators) = lease.validators() {
        if let Some(etag) = &validators.etag {
            text("etag", etag, to);
        }
        if let Some(modified) = &validators.last_modified {
            text("last_modified", modified, to);
        }
    }
    if !lease.metadata().is_empty() {
        // This server stores JSON, but another program may have written anything into the job.
        let is_json = serde_json::from_slice::<&serde_json::value::RawValue>(lease.metadata()).is_ok();
        if is_json {
            to.extend_from_slice(b",\"payload\":");
            to.extend_from_slice(lease.metadata());
        } else {
            text("payload", &String::from_utf8_lossy(lease.metadata()), to);
        }
    }
    to.push(b'}');
}

/// Why a URL was lent or not.
pub(super) fn explanation(explanation: &Explanation) -> Value {
    let verdict = explanation.verdict();
    json!({
        "url": explanation.wire,
        "key": explanation.key,
        "verdict": verdict.name(),
        "reason": verdict.to_string(),
        "explanation": explanation.to_string(),
    })
}

/// A crawl in numbers.
pub(super) fn statistics(state: &CrawlState) -> Value {
    let of = &state.frontier;
    let refused: serde_json::Map<String, Value> =
        state.refusals.iter().map(|(refusal, count)| (refusal.name().to_owned(), (*count).into())).collect();
    json!({
        "queued": of.queued,
        "scheduled": of.scheduled,
        "leased": of.leased,
        "leased_robots": of.leased_robots,
        "completed": of.completed,
        "retries": of.retries,
        "expired": of.expired,
        "unreachable": of.unreachable,
        "hosts": of.hosts,
        "active_hosts": of.active_hosts,
        "resting_hosts": of.resting_hosts,
        "failing_hosts": of.failing_hosts,
        "retired_hosts": of.retired_hosts,
        "next_due": of.next_due.map(millis_up),
        "found": state.found,
        "refused": refused,
        "waiting_calls": state.waiting,
        "paused": state.is_paused,
        "drained": of.is_drained(),
        "dropped": state.dropped.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "memory": of.memory,
    })
}

/// The queues, and how many there are in all.
pub(super) fn queues(queues: &[(HostKey, QueueStatistics)], all: usize) -> Value {
    let one = |(host, of): &(HostKey, QueueStatistics)| {
        json!({
            "queue": host.as_str(),
            "due": millis_up(of.due),
            "waiting": of.waiting,
            "leased": of.lent,
            "failures": of.failures,
            "retired": of.is_retired,
            "requests": of.requests,
            "delay": of.delay.as_secs_f64(),
        })
    };
    json!({ "queues": queues.iter().map(one).collect::<Vec<_>>(), "all": all })
}
