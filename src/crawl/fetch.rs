use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Uri;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper_util::client::legacy;
use jiff::Timestamp;

use super::client::{Client, Head};
use super::decode::{Decoder, Stop};
use super::dial::{self, Dial};
use super::guard::{is_bad_port, is_global};
use super::keep::Keeper;
use super::local::is_shortage;
use super::resolve::ResolveError;
use super::response::retry_after;
use super::{FetchOptions, Response, RobotsTag, tls};
use crate::address::{CanonicalUrl, Canonicalizer, KeyRules};
use crate::frontier::Failure;

/// Bytes of an error's words.
const MAX_MESSAGE: usize = 200;
/// The longest clock, so that any option can be added to any time.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The HTTP client: one GET at a time for a URL, no redirects followed, no cookies, no proxies (those of the environment
/// neither), every limit of [`FetchOptions`] held. Cheap to clone; clones share connections and the name cache.
///
/// Its cryptography is its own: whatever provider the process has installed for rustls, or none, is left as it is.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: Client,
    /// Sent with each request.
    headers: HeaderMap,
    canonicalizer: Canonicalizer,
    keeper: Arc<Keeper>,
    options: Arc<FetchOptions>,
}

/// Why a [`Fetcher`] cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetcherError {
    /// An option's text cannot stand in a header.
    #[error("{option} = {value:?} cannot be sent in a header")]
    Header {
        /// The option, by its path.
        option: &'static str,
        /// What was given.
        value: String,
    },
    /// The client or its TLS cannot be set up.
    #[error("cannot set up the HTTP client")]
    Setup(#[source] Box<dyn Error + Send + Sync>),
}

/// Why there is no response, or not a whole one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct FetchError {
    /// The kind, for the frontier and the record.
    pub failure: Failure,
    /// What happened: which clock, which address, the innermost cause's own words. At most 200 bytes, no control characters.
    pub message: String,
    /// When the request was sent; `None` where nothing was.
    pub sent_at: Option<Instant>,
    /// The machine itself was short of descriptors, buffers, ports or memory: the host is not to blame, and nothing was asked.
    pub is_local: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fetcher {
    /// Prepares connections by these options.
    ///
    /// # Errors
    /// Where `user_agent` or `contact` cannot stand in a header, or the client cannot be set up.
    pub fn new(options: &FetchOptions) -> Result<Self, FetcherError> {
        let headers = request_headers(options)?;
        let client = Client::new(options).map_err(FetcherError::Setup)?;
        Ok(Self {
            client,
            headers,
            // The length of URLs is the frontier's to bound.
            canonicalizer: Canonicalizer::new(&KeyRules::default()).with_max_bytes(usize::MAX),
            keeper: Arc::default(),
            options: Arc::new(options.clone()),
        })
    }

    /// Gets one URL. Takes at most the total clock; holds the body and little else.
    ///
    /// # Errors
    /// Where there is no response, or one that is not HTTP. Once there is a head, what came of the body is kept:
    /// [`Response::incomplete`].
    pub async fn fetch(&self, url: &str) -> Result<Response, FetchError> {
        let url = self.check(url)?;
        let total = Clock { name: "total", length: self.options.total_timeout, from: Instant::now() };
        let mut dial = Dial::new();
        let mut head = self.head(&url, &dial, total).await;
        if dial.is_reused() && matches!(&head, Err(error) if error.failure == Failure::Incomplete) {
            // The server closed a kept connection just as it was used again: RFC 9110 section 9.2.2 lets the request be
            // repeated, and it is, once.
            dial = Dial::new();
            head = self.head(&url, &dial, total).await;
        }
        let sent_at = dial.sent_at();
        let head = head.map_err(|error| FetchError { sent_at, ..error })?;
        let mut response = self.read_head(&head, sent_at.unwrap_or(total.from))?;
        response.incomplete = self.read_body(head, &mut response, total).await.err();
        response.total = response.sent_at.elapsed();
        Ok(response)
    }

    /// One request, up to its response's head.
    async fn head(&self, url: &CanonicalUrl, dial: &Arc<Dial>, total: Clock) -> Result<Head, FetchError> {
        let uri: Uri =
            url.wire().parse().map_err(|error| FetchError::new(Failure::BadResponse, format!("not sent: {error}")))?;
        let mut headers = self.headers.clone();
        if !self.keeper.keeps(url.origin(), Instant::now()) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let mut head = pin!(dial::watched(dial, self.client.get(uri, headers)));
        let connecting = Clock { name: "connect", length: self.options.connect_timeout, from: Instant::now() };
        let mut clock = Clock { name: "first byte", length: self.options.first_byte_timeout, from: Instant::now() };
        loop {
            let first = clock.sooner(total);
            if let Ok(result) = tokio::time::timeout_at(first.until().into(), &mut head).await {
                return result.map_err(|error| no_head(error, connecting, dial.sent_at()));
            }
            // The clock runs from when the request was sent; connecting has its own, which the client keeps.
            clock.from = dial.sent_at().unwrap_or_else(Instant::now);
            if clock.sooner(total).until() <= first.until() {
                return Err(first.ran_out());
            }
        }
    }

    /// Refuses what must not be asked at all: for a name, the resolver does it, on the addresses that are dialed.
    fn check(&self, url: &str) -> Result<CanonicalUrl, FetchError> {
        let url = self.canonicalizer.canonicalize(url);
        let url = url.map_err(|error| FetchError::new(Failure::BadResponse, error.to_string()))?;
        let port = url.host_key().port();
        if is_bad_port(port) {
            return Err(FetchError::new(Failure::Port, format!("port {port} belongs to another protocol")));
        }
        let literal = url.host().trim_matches(['[', ']']).parse::<IpAddr>().ok();
        match literal {
            Some(address) if !self.options.allow_private_addresses && !is_global(address) => {
                Err(FetchError::new(Failure::Address, format!("{address} is not public")))
            }
            _ => Ok(url),
        }
    }

    fn read_head(&self, head: &Head, sent_at: Instant) -> Result<Response, FetchError> {
        let status = head.status().as_u16();
        let bad =
            |message| Err(FetchError { sent_at: Some(sent_at), ..FetchError::new(Failure::BadResponse, message) });
        if status == 304 {
            return bad("304 to a request without conditions");
        }
        let headers = head.headers();
        let mut locations = headers.get_all(header::LOCATION).iter();
        let location = locations.next();
        if locations.any(|other| Some(other) != location) {
            return bad("two different Location headers");
        }
        let mut robots = RobotsTag::default();
        for value in texts(headers, &HeaderName::from_static("x-robots-tag")) {
            robots.add_header(value, &self.options.agent);
        }
        let lossy = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Ok(Response {
            status,
            content_type: headers.get(header::CONTENT_TYPE).map(lossy),
            location: location.map(lossy),
            retry_after: texts(headers, &header::RETRY_AFTER)
                .next()
                .and_then(|value| retry_after(value, Timestamp::now())),
            robots,
            body: Vec::new(),
            raw: false,
            wire_bytes: 0,
            truncated: false,
            incomplete: None,
            sent_at,
            first_byte: sent_at.elapsed(),
            total: Duration::ZERO,
            remote_addr: head.remote_addr(),
        })
    }

    /// Reads until the end, a cap, a clock or an error; the connection is dropped unless it was the end.
    async fn read_body(&self, mut head: Head, response: &mut Response, total: Clock) -> Result<(), FetchError> {
        let max_bytes = self.options.max_body_bytes;
        let mut decoder = Decoder::new(texts(head.headers(), &header::CONTENT_ENCODING), max_bytes);
        let begun = Instant::now();
        let result = loop {
            let clock = self.body_clock(response.wire_bytes, begun).sooner(total);
            let piece = match tokio::time::timeout_at(clock.until().into(), head.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) if decoder.is_whole() => break Ok(()),
                Ok(Ok(None)) => break Err(FetchError::new(Failure::Incomplete, "the content coding ends early")),
                Ok(Err(error)) => break Err(FetchError::caused(Failure::Incomplete, error)),
                Err(_) => break Err(clock.ran_out()),
            };
            response.wire_bytes += piece.len() as u64;
            match decoder.push(&piece, response.wire_bytes) {
                Ok(()) if response.wire_bytes <= max_bytes as u64 => {}
                Ok(()) | Err(Stop::Full) => {
                    response.truncated = true;
                    break Ok(());
                }
                Err(stop @ Stop::Corrupt(_)) => break Err(FetchError::new(Failure::BadResponse, stop.to_string())),
            }
        };
        response.raw = decoder.is_raw();
        response.body = decoder.into_bytes();
        result.map_err(|error| FetchError { sent_at: Some(response.sent_at), ..error })
    }

    /// The clock that runs out first while the next piece of a body is awaited: the idle one, or the least rate's, by which
    /// the bytes so far may have taken only so long.
    fn body_clock(&self, wire_bytes: u64, begun: Instant) -> Clock {
        let options = &self.options;
        let earned = Duration::from_secs(wire_bytes / u64::from(options.min_bytes_per_second.max(1)));
        let rate = Clock { name: "rate", length: options.rate_grace.max(earned), from: begun };
        Clock { name: "idle", length: options.idle_timeout, from: Instant::now() }.sooner(rate)
    }
}

/// A limit on how long something may take.
#[derive(Clone, Copy, Debug)]
struct Clock {
    name: &'static str,
    length: Duration,
    from: Instant,
}

impl Clock {
    fn until(self) -> Instant {
        self.from + self.length.min(LONGEST)
    }

    fn sooner(self, other: Self) -> Self {
        if other.until() < self.until() { other } else { self }
    }

    fn ran_out(self) -> FetchError {
        FetchError::new(Failure::Timeout, format!("the {} clock ran out after {:?}", self.name, self.length))
    }
}

impl FetchError {
    fn new(failure: Failure, message: impl AsRef<str>) -> Self {
        Self { failure, message: words(message.as_ref()), sent_at: None, is_local: false, source: None }
    }

    fn caused(failure: Failure, error: impl Error + Send + Sync + 'static) -> Self {
        let message = chain(&error).last().map_or_else(String::new, ToString::to_string);
        Self { is_local: is_shortage(&error), source: Some(error.into()), ..Self::new(failure, message) }
    }
}

/// The start of a text that may come from anywhere, for a line of ours.
fn words(text: &str) -> String {
    let mut words = String::new();
    for letter in text.chars().map(|letter| if is_plain(letter) { letter } else { ' ' }) {
        if words.len() + letter.len_utf8() > MAX_MESSAGE {
            break;
        }
        words.push(letter);
    }
    words
}

/// Neither a control character nor one that turns the direction of a line or ends it.
fn is_plain(letter: char) -> bool {
    !letter.is_control() && !matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Why no head came; `connecting` is the one clock that the client keeps.
fn no_head(error: legacy::Error, connecting: Clock, sent_at: Option<Instant>) -> FetchError {
    let resolve = chain(&error).find_map(|cause| cause.downcast_ref::<ResolveError>());
    let hyper = chain(&error).find_map(|cause| cause.downcast_ref::<hyper::Error>());
    let is = |cause: &(dyn Error + 'static), kind| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == kind)
    };
    let is_eof = |cause: &(dyn Error + 'static)| is(cause, io::ErrorKind::UnexpectedEof);
    let is_late = |cause: &(dyn Error + 'static)| is(cause, io::ErrorKind::TimedOut);
    let failure = match resolve {
        Some(ResolveError::Private(_)) => Failure::Address,
        Some(ResolveError::Failed(_) | ResolveError::Local(_) | ResolveError::TimedOut) => Failure::Dns,
        None if chain(&error).any(tls::is_tls) => Failure::Tls,
        None if error.is_connect() && chain(&error).any(is_late) => {
            return FetchError { failure: Failure::Connect, ..connecting.ran_out() };
        }
        None if chain(&error).any(is_late) => Failure::Timeout,
        // Of connecting, only the TLS handshake reads.
        None if error.is_connect() && chain(&error).any(is_eof) => Failure::Tls,
        None if hyper.is_some_and(hyper::Error::is_parse) => Failure::BadResponse,
        None if sent_at.is_some() && !error.is_connect() => Failure::Incomplete,
        None => Failure::Connect,
    };
    let is_local = matches!(resolve, Some(ResolveError::Local(_)));
    // The client's own words for it name no cause; the system's do.
    let is_named = chain(&error).any(<dyn Error>::is::<io::Error>);
    let mut no_head = FetchError::caused(failure, error);
    no_head.is_local |= is_local;
    if failure == Failure::Incomplete && !is_named {
        "the connection closed before its response".clone_into(&mut no_head.message);
    }
    no_head
}

/// An error, its cause, the cause's cause; an I/O error that only carries another error counts as its cause.
pub(super) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        carried.map(|error| error as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
}

fn request_headers(options: &FetchOptions) -> Result<HeaderMap, FetcherError> {
    let mut headers = HeaderMap::new();
    headers.insert(
        header::ACCEPT,
        HeaderValue::from_static("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    );
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, br, zstd, deflate"));
    headers.insert(header::ACCEPT_LANGUAGE, HeaderValue::from_static("*"));
    let value = |option, text: &str| {
        HeaderValue::from_str(text).map_err(|_| FetcherError::Header { option, value: text.to_owned() })
    };
    let mut agent = options.user_agent.clone();
    match &options.contact {
        Some(contact) if contact.contains('@') && !contact.contains('/') => {
            headers.insert(header::FROM, value("fetch.contact", contact)?);
        }
        Some(contact) => agent.extend([" (+", contact, ")"]),
        None => {}
    }
    headers.insert(header::USER_AGENT, value("fetch.user_agent", &agent)?);
    Ok(headers)
}
