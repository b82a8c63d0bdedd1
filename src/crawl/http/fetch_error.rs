//! Why there is no response, or only part of one: [`FetchError`], the connection errors that cause it, and the deadlines and limits that
//! may end a fetch.

use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

use h2::Reason;

use super::dns::ResolveError;
use super::proxy::{ProxyError, ProxyFault};
use super::shortage::{causes, is_shortage};
use super::tls;
use crate::crawl::records::legible;
use crate::frontier::Failure;

/// At most this many headers in a response.
pub(super) const MAX_HEADERS: usize = 256;
/// At most this many bytes in a response's head.
pub(super) const MAX_HEAD: u32 = 128 * 1024;
/// At most this many interim responses before the final one.
pub(super) const MAX_INTERIM: u32 = 10;
/// The error kind that marks a flood. h2 passes on the kind of an I/O error. Neither h2 nor the system nor TLS makes errors of this kind.
pub(super) const FLOOD: io::ErrorKind = io::ErrorKind::QuotaExceeded;
/// The message for a closed connection when the system has no words for it.
const CLOSED: &str = "the connection closed before its response";

/// Why there is no response, or only part of one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct FetchError {
    /// The kind of failure, for the frontier and the record.
    pub failure: Failure,
    /// What happened: which clock ran out, which address was refused, or the innermost cause's own message. At most 1 kB, with control
    /// characters escaped. A command that fetches one page shows all of it; a record has its first
    /// [`Trouble::WORDS`](crate::frontier::Trouble::WORDS) bytes, since the journal keeps the message of a host's failure.
    pub message: String,
    /// When the request was sent; `None` if it was not.
    pub sent_at: Option<Instant>,
    /// This machine was short of open files, buffers, ports or memory, or it may no longer send the request. The host is not to blame.
    pub is_local: bool,
    pub(super) source: Option<Box<dyn Error + Send + Sync>>,
}

impl FetchError {
    /// The error of a client that knows the kind of failure. Control characters are escaped, and the message is cut at 1 kB.
    pub fn new(failure: Failure, message: impl AsRef<str>) -> Self {
        Self { failure, message: legible(message.as_ref()), sent_at: None, is_local: false, source: None }
    }

    /// An error of a client, by its cause: the innermost cause's own message becomes the message. A shortage of this machine is recognized,
    /// and no host is to blame for it.
    pub fn caused(failure: Failure, error: impl Error + Send + Sync + 'static) -> Self {
        let message = causes(&error).last().map_or_else(String::new, ToString::to_string);
        Self { is_local: is_shortage(&error), source: Some(error.into()), ..Self::new(failure, message) }
    }

    /// The error of a request that may no longer be sent.
    pub(super) fn not_allowed() -> Self {
        Self { is_local: true, ..Self::new(Failure::Lost, "this machine may no longer send requests") }
    }

    /// The error of a request that failed at a proxy.
    pub(super) fn of_proxy(error: ProxyError) -> Self {
        let failure = match error.fault {
            ProxyFault::Own => Failure::Proxy,
            ProxyFault::Host => Failure::Connect,
            ProxyFault::Refusal => Failure::ProxyRefusal,
        };
        let message = legible(&error.to_string());
        Self { message, ..Self::caused(failure, error) }
    }

    /// The error of a body that broke off.
    pub(super) fn in_body(error: Broken) -> Self {
        Self::caused(if error.is_misframed() { Failure::BadResponse } else { Failure::Incomplete }, error)
    }

    /// The error of a request that got no head.
    pub(super) fn without_head(error: NoHead) -> Self {
        let error = match error {
            NoHead::RanOut(clock) => return clock.ran_out(),
            NoHead::Connect(error) => match error.downcast::<ProxyError>() {
                Ok(error) => return Self::of_proxy(*error),
                Err(error) => NoHead::Connect(error),
            },
            error => error,
        };
        let resolve = causes(&error).find_map(|cause| cause.downcast_ref::<ResolveError>());
        let has = |kind| has(&error, kind);
        let is_connect = matches!(&error, NoHead::Connect(_));
        let failure = match resolve {
            Some(ResolveError::Refused(..)) => Failure::Address,
            Some(ResolveError::NoSuchName(_)) => Failure::NoSuchHost,
            Some(ResolveError::Failed(_) | ResolveError::Local(_) | ResolveError::TimedOut) => Failure::Dns,
            None if matches!(error, NoHead::Headers | NoHead::Interim) => Failure::BadResponse,
            None if causes(&error).any(tls::lacks_roots) => Failure::NoAuthorities,
            None if causes(&error).any(tls::is_tls) => Failure::Tls,
            None if !is_connect && has(io::ErrorKind::TimedOut) => Failure::Timeout,
            // While connecting, only the TLS handshake reads.
            None if is_connect && has(io::ErrorKind::UnexpectedEof) => Failure::Tls,
            None if error.is_not_http() => Failure::BadResponse,
            None if is_connect => Failure::Connect,
            None => Failure::Incomplete,
        };
        let is_local = matches!(resolve, Some(ResolveError::Local(_)));
        // The system's messages name a cause. The messages of hyper do not.
        let is_named =
            causes(&error).any(<dyn Error>::is::<io::Error>) || matches!(error, NoHead::Broken(Broken::Http2(_)));
        let is_too_large = error.is_too_large();
        let in_words = causes(&error).find_map(|cause| tls::in_words(cause.downcast_ref()?));
        let mut without_head = Self::caused(failure, error);
        without_head.is_local |= is_local;
        if let Some(words) = in_words.filter(|_| matches!(failure, Failure::NoAuthorities | Failure::Tls)) {
            without_head.message = legible(&words);
        }
        if failure == Failure::Incomplete && !is_named {
            CLOSED.clone_into(&mut without_head.message);
        }
        if is_too_large {
            without_head.message = Self::too_large();
        }
        without_head
    }

    /// The error of a request that was sent, if the client knows only `error`. `is_not_http`: the response is not HTTP.
    #[cfg(feature = "reqwest")]
    pub(super) fn unanswered(error: impl Error + Send + Sync + 'static, is_not_http: bool) -> Self {
        let failure = match () {
            () if causes(&error).any(tls::is_tls) => Failure::Tls,
            () if has(&error, io::ErrorKind::TimedOut) => Failure::Timeout,
            () if is_not_http => Failure::BadResponse,
            () => Failure::Incomplete,
        };
        let is_named = causes(&error).any(<dyn Error>::is::<io::Error>);
        let unanswered = Self::caused(failure, error);
        if failure == Failure::Incomplete && !is_named {
            return Self { message: CLOSED.to_owned(), ..unanswered };
        }
        unanswered
    }

    /// The message for a head that is over a limit. hyper does not say which limit.
    pub(super) fn too_large() -> String {
        let head = MAX_HEAD >> 10;
        format!(
            "more than {MAX_HEADERS} headers, a head of more than {head} KiB, or a Content-Length that is too large"
        )
    }
}

/// Whether an error comes from a proxy.
pub(super) fn is_of_proxy(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    error.is::<ProxyError>()
}

/// Whether the system or a connector timed out.
pub(super) fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    has(error, io::ErrorKind::TimedOut)
}

fn has(error: &(dyn Error + 'static), kind: io::ErrorKind) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|error| error.kind() == kind)
}

/// Why no head came.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoHead {
    /// The connection broke, or the server does not speak HTTP.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// There is no connection.
    #[error("no connection")]
    Connect(#[source] Box<dyn Error + Send + Sync>),
    /// There are too many headers.
    #[error("more than {MAX_HEADERS} headers")]
    Headers,
    /// The server sends interim responses without end.
    #[error("more than {MAX_INTERIM} interim responses")]
    Interim,
    /// A clock ran out first.
    #[error("the {} clock ran out", .0.name)]
    RanOut(Deadline),
}

/// How a connection or a stream broke.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The server floods the connection with frames without content.
    #[error(transparent)]
    Flood(io::Error),
    #[error(transparent)]
    Http1(#[from] hyper::Error),
    #[error(transparent)]
    Http2(h2::Error),
    /// The connection under HTTP/2 broke.
    #[error("the connection broke")]
    Io(#[source] io::Error),
}

impl Broken {
    /// Whether a body's chunks or frames were framed wrongly, or went over a limit.
    pub(super) fn is_misframed(&self) -> bool {
        match self {
            Self::Flood(_) => true,
            Self::Http1(error) => is_misframed(error),
            Self::Http2(_) | Self::Io(_) => false,
        }
    }
}

/// Whether an HTTP/1.1 error is one of framing. hyper's own decoder makes errors of these kinds. Errors of the system have them too, but
/// with an error number; errors of TLS are excluded.
pub(super) fn is_misframed(error: &hyper::Error) -> bool {
    let Some(error) = error.source().and_then(<dyn Error>::downcast_ref::<io::Error>) else { return false };
    let is_decoders = matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    is_decoders && error.raw_os_error().is_none() && !causes(error).any(tls::is_tls)
}

/// Whether a limit on HTTP/1.1's head was exceeded. hyper has a method for that, but for servers only; its message is the same for clients.
pub(super) fn is_too_large(error: &hyper::Error) -> bool {
    error.is_parse() && error.to_string() == "message head is too large"
}

impl From<h2::Error> for Broken {
    fn from(error: h2::Error) -> Self {
        if !error.is_io() {
            return Self::Http2(error);
        }
        let error = error.into_io().unwrap_or_else(|| io::ErrorKind::Other.into());
        if error.kind() == FLOOD { Self::Flood(error) } else { Self::Io(error) }
    }
}

impl From<hyper::Error> for NoHead {
    fn from(error: hyper::Error) -> Self {
        Self::Broken(error.into())
    }
}

impl From<h2::Error> for NoHead {
    fn from(error: h2::Error) -> Self {
        Self::Broken(error.into())
    }
}

impl NoHead {
    /// Whether the server has said that it did not process the request. The request may then be repeated, whichever connection it was on.
    pub(super) fn is_refused(&self) -> bool {
        self.reset().is_some_and(|reason| reason == Reason::REFUSED_STREAM || reason == Reason::HTTP_1_1_REQUIRED)
    }

    /// Whether the server asks for HTTP/1.1.
    pub(super) fn wants_http1(&self) -> bool {
        let Self::Broken(Broken::Http2(error)) = self else { return false };
        error.reason() == Some(Reason::HTTP_1_1_REQUIRED)
    }

    /// Whether the whole connection broke, not only this request's stream. A server may close a connection just as it is reused.
    pub(super) fn is_of_connection(&self) -> bool {
        matches!(self, Self::Broken(_)) && self.reset().is_none()
    }

    /// Whether the response is not HTTP.
    pub(super) fn is_not_http(&self) -> bool {
        match self {
            Self::Broken(Broken::Http1(error)) => error.is_parse(),
            Self::Broken(Broken::Http2(error)) => !error.is_remote(),
            Self::Broken(Broken::Flood(_)) => true,
            _ => false,
        }
    }

    /// Whether a limit of the HTTP/1.1 client was exceeded.
    pub(super) fn is_too_large(&self) -> bool {
        matches!(self, Self::Broken(Broken::Http1(error)) if is_too_large(error))
    }

    /// Why the server reset this stream, if it did.
    fn reset(&self) -> Option<Reason> {
        match self {
            Self::Broken(Broken::Http2(error)) if error.is_reset() && error.is_remote() => error.reason(),
            _ => None,
        }
    }
}

/// The longest limit, so that any option can be added to any time.
pub(super) const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A limit on how long something may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) name: &'static str,
    pub(super) length: Duration,
    pub(super) from: Instant,
}

impl Deadline {
    /// When it runs out.
    pub(super) fn until(self) -> Instant {
        self.from + self.length.min(LONGEST)
    }

    /// The deadline that runs out first.
    pub(super) fn sooner(self, other: Self) -> Self {
        if other.until() < self.until() { other } else { self }
    }

    pub(super) fn ran_out(self) -> FetchError {
        FetchError::new(Failure::Timeout, format!("the {} clock ran out after {:?}", self.name, self.length))
    }

    /// Waits for an answer, but no longer than this.
    pub(super) async fn limit<T>(self, answer: impl Future<Output = Result<T, NoHead>>) -> Result<T, NoHead> {
        tokio::time::timeout_at(self.until().into(), answer).await.unwrap_or(Err(NoHead::RanOut(self)))
    }
}
