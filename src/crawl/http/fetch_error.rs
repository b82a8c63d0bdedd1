//! Says in a few plain words why there is no response, or only part of one.

use std::error::Error;
use std::io;
use std::time::Instant;

use super::causes::causes;
use super::deadline::Deadline;
use super::no_head::{Broken, MAX_HEAD, MAX_HEADERS, NoHead};
use super::proxy::{ProxyError, ProxyFault};
use super::resolve::ResolveError;
use super::shortage::is_shortage;
use super::tls;
use crate::crawl::records::legible;
use crate::frontier::Failure;

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
    /// characters escaped.
    pub message: String,
    /// When the request was sent; `None` if it was not.
    pub sent_at: Option<Instant>,
    /// This machine was short of open files, buffers, ports or memory. The host is not to blame, and nothing was sent.
    pub is_local: bool,
    pub(super) source: Option<Box<dyn Error + Send + Sync>>,
}

impl FetchError {
    /// An error of a client, which names the kind of failure. Control characters are escaped, and the message is cut at 1 kB.
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
        Self { is_local: true, ..Self::new(Failure::Lost, "this machine may not ask any more") }
    }

    /// The error of something that went wrong at a proxy.
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
            None if causes(&error).any(tls::is_tls) => Failure::Tls,
            None if !is_connect && has(io::ErrorKind::TimedOut) => Failure::Timeout,
            // While connecting, only the TLS handshake reads.
            None if is_connect && has(io::ErrorKind::UnexpectedEof) => Failure::Tls,
            None if error.is_nonsense() => Failure::BadResponse,
            None if is_connect => Failure::Connect,
            None => Failure::Incomplete,
        };
        let is_local = matches!(resolve, Some(ResolveError::Local(_)));
        // The system's messages name a cause. The client's do not.
        let is_named =
            causes(&error).any(<dyn Error>::is::<io::Error>) || matches!(error, NoHead::Broken(Broken::Http2(_)));
        let is_too_large = error.is_too_large();
        let in_words = causes(&error).find_map(|cause| tls::in_words(cause.downcast_ref()?));
        let mut without_head = Self::caused(failure, error);
        without_head.is_local |= is_local;
        if let Some(words) = in_words.filter(|_| failure == Failure::Tls) {
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

    /// The error of a request that was sent, from a client that knows no more than `error`. `is_nonsense`: the response is not HTTP.
    #[cfg(feature = "reqwest")]
    pub(super) fn unanswered(error: impl Error + Send + Sync + 'static, is_nonsense: bool) -> Self {
        let failure = match () {
            () if causes(&error).any(tls::is_tls) => Failure::Tls,
            () if has(&error, io::ErrorKind::TimedOut) => Failure::Timeout,
            () if is_nonsense => Failure::BadResponse,
            () => Failure::Incomplete,
        };
        let is_named = causes(&error).any(<dyn Error>::is::<io::Error>);
        let unanswered = Self::caused(failure, error);
        if failure == Failure::Incomplete && !is_named {
            return Self { message: CLOSED.to_owned(), ..unanswered };
        }
        unanswered
    }

    /// The message for a head that is over a limit. The client does not say which limit.
    pub(super) fn too_large() -> String {
        let head = MAX_HEAD >> 10;
        format!(
            "more than {MAX_HEADERS} headers, a head of more than {head} KiB, or a Content-Length that is too large"
        )
    }
}

impl Deadline {
    pub(super) fn ran_out(self) -> FetchError {
        FetchError::new(Failure::Timeout, format!("the {} clock ran out after {:?}", self.name, self.length))
    }

    /// Waits no longer than this.
    pub(super) async fn limit<T>(self, answer: impl Future<Output = Result<T, NoHead>>) -> Result<T, NoHead> {
        tokio::time::timeout_at(self.until().into(), answer).await.unwrap_or(Err(NoHead::RanOut(self)))
    }
}

/// Whether something went wrong at a proxy.
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
