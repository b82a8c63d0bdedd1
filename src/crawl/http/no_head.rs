//! Why no head, or not the whole body, came; and the limits of a head.

use std::error::Error;
use std::io;

use h2::Reason;

use super::causes::causes;
use super::deadline::Deadline;
use super::frame_guard::FLOOD;
use super::tls;

/// At most this many headers in a response.
pub(super) const MAX_HEADERS: usize = 256;
/// At most this many bytes in a response's head.
pub(super) const MAX_HEAD: u32 = 128 * 1024;
/// At most this many interim responses before the final one.
pub(super) const MAX_INTERIM: u32 = 10;

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
    /// The server floods the connection with frames that bring nothing.
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

/// The same for an HTTP/1.1 error. Only hyper's own decoder makes errors of these kinds without a number: the system's have one, and those
/// of TLS are excluded.
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
    /// Whether the server has said that it did not process the request. It may then be repeated, whichever connection it was on.
    pub(super) fn is_refused(&self) -> bool {
        self.reset().is_some_and(|reason| reason == Reason::REFUSED_STREAM || reason == Reason::HTTP_1_1_REQUIRED)
    }

    /// Whether the server asks for HTTP/1.1.
    pub(super) fn wants_http1(&self) -> bool {
        let Self::Broken(Broken::Http2(error)) = self else { return false };
        error.reason() == Some(Reason::HTTP_1_1_REQUIRED)
    }

    /// Whether the connection ended, and not this request alone. A server may close a connection just as it is reused.
    pub(super) fn is_of_connection(&self) -> bool {
        matches!(self, Self::Broken(_)) && self.reset().is_none()
    }

    /// Whether the response is not HTTP.
    pub(super) fn is_nonsense(&self) -> bool {
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
