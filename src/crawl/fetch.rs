use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Request, Url};

use super::decode::{Decoder, Stop};
use super::guard::{is_bad_port, is_global};
use super::resolve::{ResolveError, Resolver};
use super::response::retry_after;
use super::{FetchOptions, Response, RobotsTag, tls};
use crate::frontier::Failure;

/// Headers in a response (HOSTILE.md H7).
const MAX_HEADERS: usize = 256;
/// Bytes of headers that HTTP/2 may send; HTTP/1.1 has hyper's bound of about 400 KiB.
const MAX_HEADER_LIST: u32 = 128 * 1024;
/// Connections kept open to one host: politeness asks one thing at a time of it.
const IDLE_CONNECTIONS: usize = 1;
/// How long one is kept.
const IDLE_CONNECTION_TTL: Duration = Duration::from_secs(60);

/// The HTTP client: one GET at a time for a URL, no redirects followed, no cookies, no proxies (those of the environment
/// neither), every limit of [`FetchOptions`] held. Cheap to clone; clones share connections and the name cache.
#[derive(Clone, Debug)]
pub struct Fetcher {
    client: Client,
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
    /// What happened: which clock, which address, the innermost cause.
    pub message: String,
    /// When the request was sent; `None` where nothing was.
    pub sent_at: Option<Instant>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fetcher {
    /// Prepares connections by these options.
    ///
    /// # Errors
    /// Where `user_agent` or `contact` cannot stand in a header, or the client cannot be set up.
    pub fn new(options: &FetchOptions) -> Result<Self, FetcherError> {
        let setup = |error: Box<dyn Error + Send + Sync>| FetcherError::Setup(error);
        let client = Client::builder()
            .default_headers(request_headers(options)?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(options.connect_timeout)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .pool_idle_timeout(IDLE_CONNECTION_TTL)
            // Servers that browsers bear with (HOSTILE.md H10). Not HTTP/0.9: any line a port says would be a page.
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .http1_max_headers(MAX_HEADERS)
            .http2_max_header_list_size(MAX_HEADER_LIST)
            .dns_resolver(Names::new(options))
            .tls_backend_preconfigured(tls::config().map_err(|error| setup(error.into()))?)
            .build()
            .map_err(|error| setup(error.into()))?;
        Ok(Self { client, options: Arc::new(options.clone()) })
    }

    /// Gets one URL. Takes at most the total clock; holds the body and little else.
    ///
    /// # Errors
    /// Where there is no response, or one that is not HTTP. Once there is a head, what came of the body is kept:
    /// [`Response::incomplete`].
    pub async fn fetch(&self, url: &str) -> Result<Response, FetchError> {
        let url = self.check(url)?;
        let sent_at = Instant::now();
        let head = self.client.execute(Request::new(Method::GET, url));
        let clock = self.options.total_timeout.min(self.options.connect_timeout + self.options.first_byte_timeout);
        let head = match tokio::time::timeout(clock, head).await {
            Ok(head) => head.map_err(|error| no_head(error, sent_at))?,
            Err(_) => return Err(FetchError::timeout("first byte", clock).sent(sent_at)),
        };
        let first_byte = sent_at.elapsed();
        let mut response = self.read_head(&head, sent_at, first_byte).map_err(|error| error.sent(sent_at))?;
        self.read_body(head, &mut response).await;
        response.total = sent_at.elapsed();
        Ok(response)
    }

    /// Refuses what must not be asked at all: for a name, the resolver does it, on the addresses that are dialed.
    fn check(&self, url: &str) -> Result<Url, FetchError> {
        let url = Url::parse(url).map_err(|error| FetchError::new(Failure::BadResponse, error.to_string()))?;
        if let Some(port) = url.port_or_known_default().filter(|port| is_bad_port(*port)) {
            return Err(FetchError::new(Failure::Address, format!("port {port} belongs to another protocol")));
        }
        let literal = url.host_str().and_then(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().ok());
        match literal {
            Some(address) if !self.options.allow_private_addresses && !is_global(address) => {
                Err(FetchError::new(Failure::Address, format!("{address} is not public")))
            }
            _ => Ok(url),
        }
    }

    fn read_head(
        &self,
        head: &reqwest::Response,
        sent_at: Instant,
        first_byte: Duration,
    ) -> Result<Response, FetchError> {
        let status = head.status().as_u16();
        let bad = |message: &str| Err(FetchError::new(Failure::BadResponse, message.to_owned()));
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
            first_byte,
            total: first_byte,
            remote_addr: head.remote_addr(),
        })
    }

    /// Reads until the end, a cap, a clock or an error; then the connection is dropped unless it was the end.
    async fn read_body(&self, mut head: reqwest::Response, response: &mut Response) {
        let max_bytes = self.options.max_body_bytes;
        let mut decoder = Decoder::new(texts(head.headers(), &header::CONTENT_ENCODING), max_bytes);
        let begun = Instant::now();
        let end = loop {
            let (clock, until) = self.body_clock(response, begun);
            let piece = match tokio::time::timeout_at(until.into(), head.chunk()).await {
                Err(_) => break Err(FetchError::timeout(clock.0, clock.1)),
                Ok(Err(error)) => break Err(FetchError::caused(Failure::Incomplete, error)),
                Ok(Ok(None)) if decoder.is_whole() => break Ok(()),
                Ok(Ok(None)) => {
                    break Err(FetchError::new(Failure::Incomplete, "the content coding ends early".to_owned()));
                }
                Ok(Ok(Some(piece))) => piece,
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
        response.incomplete = end.err().map(|error| error.sent(response.sent_at));
        response.raw = decoder.is_raw();
        response.body = decoder.into_bytes();
    }

    /// The clock that runs out first while the next piece is awaited: its name, its length, and when.
    fn body_clock(&self, response: &Response, begun: Instant) -> ((&'static str, Duration), Instant) {
        let options = &self.options;
        // At the least rate, this is how long the bytes so far may have taken.
        let earned = Duration::from_secs(response.wire_bytes / u64::from(options.min_bytes_per_second.max(1)));
        let rate = options.rate_grace.max(earned);
        let clocks = [
            (("idle", options.idle_timeout), Instant::now() + options.idle_timeout),
            (("rate", rate), begun + rate),
            (("total", options.total_timeout), response.sent_at + options.total_timeout),
        ];
        let [idle, rate, total] = clocks;
        [rate, total].into_iter().fold(idle, |first, other| if other.1 < first.1 { other } else { first })
    }
}

impl FetchError {
    fn new(failure: Failure, message: String) -> Self {
        Self { failure, message, sent_at: None, source: None }
    }

    fn timeout(clock: &str, after: Duration) -> Self {
        Self::new(Failure::Timeout, format!("{clock} clock ran out after {after:?}"))
    }

    fn caused(failure: Failure, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let innermost = chain(&error).last().map_or_else(String::new, ToString::to_string);
        Self { failure, message: innermost, sent_at: None, source: Some(error.into()) }
    }

    fn sent(self, sent_at: Instant) -> Self {
        Self { sent_at: Some(sent_at), ..self }
    }
}

/// Why no head came.
fn no_head(error: reqwest::Error, sent_at: Instant) -> FetchError {
    let resolve = chain(&error).find_map(|cause| cause.downcast_ref::<ResolveError>().copied());
    let hyper = chain(&error).find_map(|cause| cause.downcast_ref::<hyper::Error>());
    let io = chain(&error).find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    let (failure, was_sent) = match resolve {
        Some(ResolveError::Private(_)) => (Failure::Address, false),
        Some(ResolveError::Failed(_) | ResolveError::TimedOut) => (Failure::Dns, false),
        None if chain(&error).any(tls::is_tls) => (Failure::Tls, false),
        None if error.is_timeout() => (Failure::Timeout, !error.is_connect()),
        None if error.is_connect() && io == Some(io::ErrorKind::UnexpectedEof) => (Failure::Tls, false),
        None if error.is_connect() => (Failure::Connect, false),
        None if hyper.is_some_and(hyper::Error::is_parse) => (Failure::BadResponse, true),
        None => (Failure::Connect, true),
    };
    let error = FetchError::caused(failure, error);
    if was_sent { error.sent(sent_at) } else { error }
}

/// An error, its cause, the cause's cause; an I/O error that only carries another error counts as its cause.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
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

/// Names to addresses, as the client asks for them.
#[derive(Debug)]
enum Names {
    /// By the system, guarded.
    System(Arc<Resolver>),
    /// All to one address, whose port serves where the URL names none: the user asked for it, so it is not guarded.
    Fixed(SocketAddr),
}

impl Names {
    fn new(options: &FetchOptions) -> Self {
        match options.resolve_all_to {
            Some(address) => Self::Fixed(address),
            None => Self::System(Arc::new(Resolver::new(options.allow_private_addresses))),
        }
    }
}

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        match self {
            Self::Fixed(address) => {
                let address = *address;
                Box::pin(async move { Ok(Box::new(std::iter::once(address)) as Addrs) })
            }
            Self::System(resolver) => {
                let resolver = Arc::clone(resolver);
                Box::pin(async move {
                    let addresses = resolver.resolve(name.as_str()).await?;
                    Ok(Box::new(addresses.into_iter()) as Addrs)
                })
            }
        }
    }
}
