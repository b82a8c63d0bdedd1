use std::time::Duration;

use super::{Lease, LeaseKind, Timestamp, robots};

/// How a lease ended, as far as the frontier must know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// No response, or not a whole one.
    Failed(Failure),
    /// The response points elsewhere. A page: to the same key under another spelling, so that it is fetched there and the seen
    /// test is not asked again. A robots.txt: anywhere; it is fetched there (RFC 9309 section 2.3.1.2), as this host's.
    Moved {
        /// The wire URL to request instead.
        to: String,
    },
    /// Nothing was sent; the URL goes back to the head of its queue, and its host's clock stays as it was.
    Released,
    /// A response, whatever its status.
    Response {
        /// The HTTP status.
        status: u16,
        /// Its Retry-After, as a rest from now.
        retry_after: Option<Duration>,
    },
    /// The response to a robots lease; a redirect is [`Outcome::Moved`].
    Robots {
        /// The HTTP status.
        status: u16,
        /// Its Retry-After, as a rest from now.
        retry_after: Option<Duration>,
        /// The body, cut at [`robots::MAX_BYTES`] or later.
        body: Vec<u8>,
    },
}

/// Why there was no response, or not a whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Failure {
    /// The address is private and not allowed; final.
    Address,
    /// Not HTTP, or beyond its limits; final.
    BadResponse,
    /// Refused, reset, unreachable.
    Connect,
    /// The name does not resolve.
    Dns,
    /// The connection closed mid-body.
    Incomplete,
    /// The fetcher panicked or vanished.
    Lost,
    /// The port belongs to another protocol and is never asked; final.
    Port,
    /// A clock ran out.
    Timeout,
    /// The TLS handshake or certificate; final.
    Tls,
}

impl Outcome {
    /// A whole response: to a page, or to a robots.txt, as the lease asked for. For a robots.txt the body is copied, up to
    /// [`robots::MAX_BYTES`] and a line.
    pub fn response(lease: &Lease, status: u16, body: &[u8]) -> Self {
        match lease.kind() {
            LeaseKind::Page => Self::Response { status, retry_after: None },
            LeaseKind::Robots => {
                let body = body[..body.len().min(robots::MAX_BYTES + 1)].to_vec();
                Self::Robots { status, retry_after: None, body }
            }
        }
    }

    /// The same response with its Retry-After, as a rest from now.
    #[must_use]
    pub fn retry_after(mut self, rest: Duration) -> Self {
        if let Self::Response { retry_after, .. } | Self::Robots { retry_after, .. } = &mut self {
            *retry_after = Some(rest);
        }
        self
    }
}

/// Whom a try that came to nothing speaks against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blame {
    /// Nobody outside: the host is neither spared nor counted against.
    Fetcher,
    /// The host: every such try counts towards its retirement.
    Host,
    /// The URL, perhaps: all its tries count once, so that three broken pages in a row are not taken for a dead host.
    Url,
}

impl Blame {
    /// `None` for an answer that is final.
    pub(super) const fn of_status(status: u16) -> Option<Self> {
        match status {
            // "Not now", whatever was asked for.
            429 | 503 => Some(Self::Host),
            500.. => Some(Self::Url),
            _ => None,
        }
    }

    pub(super) const fn of_failure(failure: Failure) -> Self {
        match failure {
            Failure::Lost => Self::Fetcher,
            Failure::Address | Failure::Connect | Failure::Dns | Failure::Port | Failure::Tls => Self::Host,
            Failure::BadResponse | Failure::Incomplete | Failure::Timeout => Self::Url,
        }
    }
}

impl Failure {
    /// The failure's name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "private_address",
            Self::BadResponse => "bad_response",
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::Incomplete => "incomplete",
            Self::Lost => "lost",
            Self::Port => "blocked_port",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
        }
    }

    /// Whether another try may end otherwise.
    pub const fn is_transient(self) -> bool {
        !matches!(self, Self::Address | Self::BadResponse | Self::Port | Self::Tls)
    }
}

/// What became of a completed lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Final: this is the URL's record.
    Done,
    /// It will be leased again, not before this time.
    Retry(Timestamp),
}
