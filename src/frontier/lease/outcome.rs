//! How a lease ended, and what that says about the page and its host.

use std::time::Duration;

use super::{Lease, LeaseKind, Trouble, Validators};
use crate::frontier::{Robots, Timestamp};

/// How a lease ended, as far as the frontier must know. [`Frontier::answer`](crate::frontier::Frontier::answer) derives it from a whole
/// reply; [`Frontier::complete`](crate::frontier::Frontier::complete) takes it from callers that have no reply, or decide for themselves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// No response, or not a whole one.
    Failed(Trouble),
    /// The page of a lease from [`Next::GiveUp`](super::Next::GiveUp) has its record.
    GivenUp,
    /// The response redirects. A page: to another spelling of the same key, where it is fetched next without a seen test. A robots.txt:
    /// anywhere; it is fetched there (RFC 9309 section 2.3.1.2), as this host's.
    Moved {
        /// The wire URL to request instead.
        to: String,
    },
    /// Nothing was sent. The URL goes back to the head of its queue with all its tries, and its host may be asked at once.
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
        /// The body, cut at 500 KiB or later; empty for a 304.
        body: Vec<u8>,
        /// The validators by which it can be asked for conditionally next time.
        validators: Option<Box<Validators>>,
    },
}

impl Outcome {
    /// A whole response, to a page or a robots.txt, as the lease asked for. For a robots.txt the body is copied, up to one byte more than
    /// the 500 KiB that are read of it.
    pub fn response(lease: &Lease, status: u16, body: &[u8]) -> Self {
        if lease.kind() != LeaseKind::Robots {
            return Self::Response { status, retry_after: None };
        }
        let body = body[..body.len().min(Robots::MAX_BYTES + 1)].to_vec();
        Self::Robots { status, retry_after: None, body, validators: None }
    }

    /// The rest that a response asks for, if its status says "not now".
    pub(crate) fn asks_for(&self) -> Option<Duration> {
        match self {
            Self::Response { status: 408 | 425 | 429 | 503, retry_after }
            | Self::Robots { status: 408 | 425 | 429 | 503, retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The same response with its Retry-After, as a rest from now.
    #[must_use]
    pub(crate) fn retry_after(mut self, rest: Duration) -> Self {
        if let Self::Response { retry_after, .. } | Self::Robots { retry_after, .. } = &mut self {
            *retry_after = Some(rest);
        }
        self
    }
}

/// The fate of a completed lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Completion {
    /// Final: this is the URL's record.
    Done,
    /// It will be leased again, not before this time.
    Retry(Timestamp),
}
