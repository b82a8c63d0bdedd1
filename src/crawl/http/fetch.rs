//! Fetches one URL: the head, then the body, within the limits of [`FetchOptions`].

use std::borrow::Cow;
use std::error::Error;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Uri;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;

use super::ask::Ask;
use super::client::{Client, Head};
use super::connections::Connections;
use super::deadline::{Deadline, LONGEST};
use super::decoder::{DecodeError, Decoder};
use super::dial::{self, Dial};
use super::exchange::Exchange;
use super::fetch_error::FetchError;
use super::guard::{is_bad_port, is_global};
use super::response::{Response, header_text, location_text, retry_after};
use crate::address::{CanonicalUrl, Canonicalizer, KeyRules};
use crate::crawl::FetchOptions;
use crate::crawl::bounds::Places;
use crate::crawl::html::{RobotsTag, SNIFFED, is_html};
use crate::frontier::{Failure, Validators};

/// Bytes that are taken of the body of a redirect or an error, so that its connection may be kept.
const MAX_ASIDE: usize = 64 * 1024;
/// How long such a body may take.
const ASIDE_TIME: Duration = Duration::from_secs(1);
/// Bytes of a validator that is sent back, at most.
const MAX_VALIDATOR: usize = 256;
/// From so many pieces of a body on, their size counts.
const MANY_PIECES: u64 = 16 * 1024;
/// Bytes that each of many pieces must have on average: a piece costs as much as a kilobyte.
const MIN_PIECE: u64 = 32;

/// Fetches URLs with GET, within every limit of [`FetchOptions`]. It follows no redirects, and knows neither cookies nor proxies, not
/// even those of the environment. Cheap to clone; clones share connections and the name cache.
///
/// It brings its own cryptography, and leaves alone whatever provider the process has installed for rustls.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: Client,
    /// Sent with each request.
    headers: HeaderMap,
    canonicalizer: Canonicalizer,
    connections: Arc<Connections>,
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

impl Fetcher {
    /// Prepares the client.
    ///
    /// # Errors
    /// Where `user_agent` or `contact` cannot stand in a header, or the client cannot be set up.
    pub fn new(options: &FetchOptions) -> Result<Self, FetcherError> {
        Self::within(options, Places::fit(None, u64::MAX))
    }

    /// As [`new`](Self::new), with as many idle connections and lookups as there are places for.
    pub(in crate::crawl) fn within(options: &FetchOptions, places: Places) -> Result<Self, FetcherError> {
        let headers = request_headers(options)?;
        let client = Client::new(options, places.lookups).map_err(FetcherError::Setup)?;
        Ok(Self {
            client,
            headers,
            // The gate bounds the length of URLs.
            canonicalizer: Canonicalizer::new(&KeyRules::default()).with_max_bytes(usize::MAX),
            connections: Arc::new(Connections::new(places.idle_connections)),
            options: Arc::new(options.clone()),
        })
    }

    /// Fetches one URL, within the total timeout. Holds the body and little else.
    ///
    /// # Errors
    /// Where there is no response, or one that is not HTTP. Once there is a head, what came of the body is kept: see
    /// [`Response::incomplete`].
    pub async fn fetch(&self, url: &str) -> Result<Response, FetchError> {
        let url = self.canonicalizer.canonicalize(url);
        let url = url.map_err(|error| FetchError::new(Failure::BadResponse, error.to_string()))?;
        self.ask(Ask::whole(&url)).await
    }

    /// As [`fetch`](Self::fetch), with a say in how.
    pub(in crate::crawl) async fn ask(&self, mut ask: Ask<'_>) -> Result<Response, FetchError> {
        let url = ask.url;
        self.check(url)?;
        // This comes before any deadline: to wait for a turn to look a name up is no fault of the host's.
        self.client.look_up_ahead(url.host(), ask.is_first_contact).await;
        let total = Deadline { name: "total", length: self.options.total_timeout, from: Instant::now() };
        // Held until the body is read: the connection is in use until then.
        let permit = self.connections.permit(url.origin());
        let recall = || permit.as_ref().map(|permit| Arc::clone(&permit.recall));
        let mut dial = Dial::new(recall());
        let patience = if ask.is_first_contact { self.options.first_contact_timeout } else { LONGEST };
        let contact = Deadline { name: "first contact", length: patience, from: Instant::now() }.sooner(total);
        let mut head = self.head(url, ask.changed, permit.is_some(), &dial, contact).await;
        if dial.is_reused() && matches!(&head, Err(error) if error.failure == Failure::Incomplete) {
            // The server closed a kept connection just as it was used again. RFC 9110 section 9.2.2 allows to repeat the
            // request, and it is repeated once.
            dial = Dial::new(recall());
            head = self.head(url, ask.changed, permit.is_some(), &dial, contact).await;
        }
        let sent_at = dial.sent_at();
        let head = head.map_err(|error| FetchError { sent_at, ..error })?;
        let mut response = self.read_head(&head, ask.changed.is_some(), sent_at.unwrap_or(total.from))?;
        response.exchange = ask.keeps_exchange.then(|| Box::new(Exchange::of(&head)));
        response.incomplete = self.read_body(head, &mut response, total, &mut ask).await.err();
        response.total = response.sent_at.elapsed();
        Ok(response)
    }

    /// One request, up to its response's head.
    async fn head(
        &self,
        url: &CanonicalUrl,
        changed: Option<&Validators>,
        is_kept: bool,
        dial: &Arc<Dial>,
        total: Deadline,
    ) -> Result<Head, FetchError> {
        let uri: Uri =
            url.wire().parse().map_err(|error| FetchError::new(Failure::BadResponse, format!("not sent: {error}")))?;
        let mut headers = self.headers.clone();
        if let Some(Validators { etag, last_modified }) = changed {
            for (name, text) in [(header::IF_NONE_MATCH, etag), (header::IF_MODIFIED_SINCE, last_modified)] {
                if let Some(value) = text.as_deref().and_then(|text| HeaderValue::from_str(text).ok()) {
                    headers.insert(name, value);
                }
            }
        }
        if !is_kept {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        let mut head = pin!(dial::watched(dial, self.client.get(uri, headers)));
        let connecting = Deadline { name: "connect", length: self.options.connect_timeout, from: Instant::now() };
        let mut clock = Deadline { name: "first byte", length: self.options.first_byte_timeout, from: Instant::now() };
        loop {
            let first = clock.sooner(total);
            if let Ok(result) = tokio::time::timeout_at(first.until().into(), &mut head).await {
                let clock = || connecting.ran_out();
                return result.map_err(|error| FetchError::without_head(error, dial.sent_at(), clock));
            }
            // The deadline runs from when the request was sent. The client bounds connecting.
            clock.from = dial.sent_at().unwrap_or_else(Instant::now);
            if clock.sooner(total).until() <= first.until() {
                let failure = if dial.sent_at().is_some() { Failure::Timeout } else { Failure::Connect };
                return Err(FetchError { failure, ..first.ran_out() });
            }
        }
    }

    /// Refuses ports and addresses that must not be asked. The addresses of a name are checked when they are dialed.
    fn check(&self, url: &CanonicalUrl) -> Result<(), FetchError> {
        let port = url.host_key().port();
        if is_bad_port(port) {
            return Err(FetchError::new(Failure::Port, format!("port {port} belongs to another protocol")));
        }
        let literal = url.host().trim_matches(['[', ']']).parse::<IpAddr>().ok();
        match literal {
            Some(address) if !self.options.allow_private_addresses && !is_global(address) => {
                Err(FetchError::new(Failure::Address, format!("{address} is not public")))
            }
            _ => Ok(()),
        }
    }

    fn read_head(&self, head: &Head, is_conditional: bool, sent_at: Instant) -> Result<Response, FetchError> {
        let status = head.status().as_u16();
        let bad =
            |message| Err(FetchError { sent_at: Some(sent_at), ..FetchError::new(Failure::BadResponse, message) });
        match status {
            // The client passes over other interim responses. Nobody asked for a switch.
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
            robots.add_header(&value, &self.options.agent);
        }
        Ok(Response {
            status,
            content_type: texts(headers, &header::CONTENT_TYPE).next().map(Cow::into_owned),
            location: location.map(|value| location_text(value.as_bytes())),
            retry_after: texts(headers, &header::RETRY_AFTER)
                .next()
                .and_then(|value| retry_after(&value, Timestamp::now())),
            robots,
            validators: validators(headers),
            body: Vec::new(),
            body_bytes: 0,
            raw: false,
            wire_bytes: 0,
            truncated: false,
            incomplete: None,
            sent_at,
            first_byte: sent_at.elapsed(),
            total: Duration::ZERO,
            exchange: None,
        })
    }

    /// Reads until the end, a limit or an error. The connection is dropped unless it was the end. A little is taken of a redirect or an
    /// error, and it does not matter how that ends.
    async fn read_body(
        &self,
        head: Head,
        response: &mut Response,
        total: Deadline,
        ask: &mut Ask<'_>,
    ) -> Result<(), FetchError> {
        let max_bytes = self.options.max_body_bytes;
        if response.is_success() {
            return self.read_page(head, response, total, max_bytes, ask).await;
        }
        let aside = Deadline { name: "aside", length: ASIDE_TIME, from: Instant::now() };
        // Whatever came is enough.
        let _ = self.read_page(head, response, aside.sooner(total), max_bytes.min(MAX_ASIDE), ask).await;
        response.truncated = false;
        Ok(())
    }

    async fn read_page(
        &self,
        mut head: Head,
        response: &mut Response,
        mut total: Deadline,
        max_bytes: usize,
        ask: &mut Ask<'_>,
    ) -> Result<(), FetchError> {
        let transfer_codings = transfer_codings(codings(head.headers(), &header::TRANSFER_ENCODING));
        if Decoder::new(transfer_codings.iter().copied(), 0).is_raw() {
            let message = format!("the transfer coding {:?} is not known", transfer_codings.join(", "));
            let error = FetchError::new(Failure::BadResponse, message);
            return Err(FetchError { sent_at: Some(response.sent_at), ..error });
        }
        let codings = codings(head.headers(), &header::CONTENT_ENCODING).chain(transfer_codings);
        let mut decoder = Decoder::new(codings, max_bytes);
        let mut begun = Instant::now();
        let mut pieces = 0;
        let mut is_decided = !ask.only_html;
        let result = loop {
            let clock = self.body_clock(response.wire_bytes, begun).sooner(total);
            let piece = match tokio::time::timeout_at(clock.until().into(), head.chunk()).await {
                Ok(Ok(Some(piece))) => piece,
                Ok(Ok(None)) if decoder.is_whole() => break Ok(()),
                Ok(Ok(None)) => break Err(FetchError::new(Failure::Incomplete, "the coding of the body ends early")),
                Ok(Err(error)) => break Err(FetchError::caused(Failure::Incomplete, error)),
                Err(_) => break Err(clock.ran_out()),
            };
            let mut pushed = Ok(());
            for part in decoder.parts(&piece) {
                // To wait for room is no fault of the host's, so the deadlines move.
                let wire = response.exchange.as_ref().map_or(0, |exchange| exchange.body.len() + part.len());
                let waited = ask.make_room(decoder.held() + decoder.growth(part) + wire).await;
                (begun, total.from) = (begun + waited, total.from + waited);
                response.wire_bytes += part.len() as u64;
                if let Some(exchange) = &mut response.exchange {
                    exchange.body.extend_from_slice(part);
                }
                pushed = decoder.push(part, response.wire_bytes);
                if !is_decided && decoder.bytes().len() >= SNIFFED {
                    is_decided = true;
                    let is_page = response.is_success() && !decoder.is_raw();
                    if !is_page || !is_html(response.content_type.as_deref(), decoder.bytes()) {
                        decoder.only_count(SNIFFED);
                    }
                }
                if pushed.is_err() || response.wire_bytes > max_bytes as u64 {
                    break;
                }
            }
            let wire = response.exchange.as_ref().map_or(0, |exchange| exchange.body.len());
            ask.make_room(decoder.held() + wire).await;
            pieces += 1;
            if pieces > MANY_PIECES && response.wire_bytes < pieces * MIN_PIECE {
                break Err(FetchError::new(Failure::BadResponse, "the body comes in crumbs"));
            }
            match pushed {
                Ok(()) if response.wire_bytes <= max_bytes as u64 => {}
                Ok(()) | Err(DecodeError::TooLong) => {
                    response.truncated = true;
                    break Ok(());
                }
                Err(error @ DecodeError::Corrupt(_)) => {
                    break Err(FetchError::new(Failure::BadResponse, error.to_string()));
                }
            }
        };
        response.raw = decoder.is_raw();
        response.body_bytes = decoder.produced() as u64;
        response.body = decoder.into_bytes();
        result.map_err(|error| FetchError { sent_at: Some(response.sent_at), ..error })
    }

    /// The deadline for the next piece of a body: that of the idle timeout, or that of the least rate, by which the bytes so far may have
    /// taken only so long.
    fn body_clock(&self, wire_bytes: u64, begun: Instant) -> Deadline {
        let options = &self.options;
        let earned = Duration::from_secs(wire_bytes / u64::from(options.min_bytes_per_second.max(1)));
        let rate = Deadline { name: "rate", length: options.rate_grace.max(earned), from: begun };
        Deadline { name: "idle", length: options.idle_timeout, from: Instant::now() }.sooner(rate)
    }
}

impl Deadline {
    fn ran_out(self) -> FetchError {
        FetchError::new(Failure::Timeout, format!("the {} clock ran out after {:?}", self.name, self.length))
    }
}

/// The validators of a response. Texts that are too long are passed over.
fn validators(headers: &HeaderMap) -> Option<Box<Validators>> {
    let text = |name: &HeaderName| {
        let text = headers.get(name).and_then(|value| value.to_str().ok());
        text.filter(|text| text.len() <= MAX_VALIDATOR).map(Into::into)
    };
    let found = Validators { etag: text(&header::ETAG), last_modified: text(&header::LAST_MODIFIED) };
    (found != Validators::default()).then(|| Box::new(found))
}

fn texts<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = Cow<'a, str>> {
    headers.get_all(name).iter().map(|value| header_text(value.as_bytes()))
}

/// The codings of a header, in the order in which they were applied. One that is no text counts as unknown.
fn codings<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("no text"));
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// The transfer codings of a body, in the order in which they were applied (RFC 9112 section 6.1), without a last "chunked", which the
/// client undoes.
fn transfer_codings<'a>(codings: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut codings: Vec<_> = codings.filter(|coding| !coding.is_empty()).collect();
    codings.pop_if(|last| last.eq_ignore_ascii_case("chunked"));
    codings
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
