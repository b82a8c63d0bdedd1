use std::time::Duration;

use super::Timestamp;

/// How a lease ended, as far as the frontier must know.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// No response, or not a whole one.
    Failed(Failure),
    /// The response points to the same key under another spelling: the page is fetched there, the seen test is not asked again.
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
        /// The body, cut at [`robots::MAX_BYTES`](super::robots::MAX_BYTES) or later.
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
    /// A clock ran out.
    Timeout,
    /// The TLS handshake or certificate; final.
    Tls,
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
            Self::Timeout => "timeout",
            Self::Tls => "tls",
        }
    }

    /// Whether another try may end otherwise.
    pub const fn is_transient(self) -> bool {
        !matches!(self, Self::Address | Self::BadResponse | Self::Tls)
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
