//! Says why there is no response, or not a whole one, in few plain words.

use std::error::Error;
use std::io;
use std::time::Instant;

use super::causes::causes;
use super::client::NoHead;
use super::resolve::ResolveError;
use super::shortage::is_shortage;
use super::tls;
use crate::crawl::records::legible;
use crate::frontier::Failure;

/// Why there is no response, or not a whole one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct FetchError {
    /// The kind, for the frontier and the record.
    pub failure: Failure,
    /// What happened: which clock, which address, the innermost cause's own words. At most 1 kB, control characters escaped.
    pub message: String,
    /// When the request was sent; `None` where nothing was.
    pub sent_at: Option<Instant>,
    /// The machine itself was short of descriptors, buffers, ports or memory: the host is not to blame, and nothing was asked.
    pub is_local: bool,
    pub(super) source: Option<Box<dyn Error + Send + Sync>>,
}

impl FetchError {
    pub(super) fn new(failure: Failure, message: impl AsRef<str>) -> Self {
        Self { failure, message: legible(message.as_ref()), sent_at: None, is_local: false, source: None }
    }

    pub(super) fn caused(failure: Failure, error: impl Error + Send + Sync + 'static) -> Self {
        let message = causes(&error).last().map_or_else(String::new, ToString::to_string);
        Self { is_local: is_shortage(&error), source: Some(error.into()), ..Self::new(failure, message) }
    }

    /// Of a request without a head; `connect_clock` is the error of the one clock that the client keeps.
    pub(super) fn without_head(error: NoHead, sent_at: Option<Instant>, connect_clock: impl FnOnce() -> Self) -> Self {
        let resolve = causes(&error).find_map(|cause| cause.downcast_ref::<ResolveError>());
        let hyper = causes(&error).find_map(|cause| cause.downcast_ref::<hyper::Error>());
        let has = |kind| {
            let mut causes = causes(&error).filter_map(|cause| cause.downcast_ref::<io::Error>());
            causes.any(|error| error.kind() == kind)
        };
        let is_connect = matches!(&error, NoHead::Client(error) if error.is_connect());
        let failure = match resolve {
            Some(ResolveError::Private(_)) => Failure::Address,
            Some(ResolveError::NoSuchName(_)) => Failure::NoSuchHost,
            Some(ResolveError::Failed(_) | ResolveError::Local(_) | ResolveError::TimedOut) => Failure::Dns,
            None if matches!(error, NoHead::Interim) => Failure::BadResponse,
            None if causes(&error).any(tls::is_tls) => Failure::Tls,
            None if is_connect && has(io::ErrorKind::TimedOut) => {
                return Self { failure: Failure::Connect, ..connect_clock() };
            }
            None if has(io::ErrorKind::TimedOut) => Failure::Timeout,
            // Of connecting, only the TLS handshake reads.
            None if is_connect && has(io::ErrorKind::UnexpectedEof) => Failure::Tls,
            None if hyper.is_some_and(hyper::Error::is_parse) => Failure::BadResponse,
            None if sent_at.is_some() && !is_connect => Failure::Incomplete,
            None => Failure::Connect,
        };
        let is_local = matches!(resolve, Some(ResolveError::Local(_)));
        // The client's own words for it name no cause; the system's do.
        let is_named = causes(&error).any(<dyn Error>::is::<io::Error>);
        let mut without_head = Self::caused(failure, error);
        without_head.is_local |= is_local;
        if failure == Failure::Incomplete && !is_named {
            "the connection closed before its response".clone_into(&mut without_head.message);
        }
        without_head
    }
}
