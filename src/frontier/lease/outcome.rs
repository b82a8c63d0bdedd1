//! How a lease ended, and what that says of the page and of its host.

use std::time::Duration;

use super::{Lease, LeaseKind, Trouble, Validators};
use crate::frontier::{Robots, Timestamp};

/// How a lease ended, as far as the frontier must know. [`Frontier::answer`](crate::frontier::Frontier::answer) makes it of a whole
/// reply; [`Frontier::complete`](crate::frontier::Frontier::complete) takes it from whoever knows better, or has no reply.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// No response, or not a whole one.
    Failed(Trouble),
    /// The page of a lease from [`Next::GiveUp`](super::Next::GiveUp) has its record.
    GivenUp,
    /// The response points elsewhere. A page: to the same key under another spelling, so that it is fetched there and the seen
    /// test is not asked again. A robots.txt: anywhere; it is fetched there (RFC 9309 section 2.3.1.2), as this host's.
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
        /// The body, cut at 500 KiB or later; none of a 304.
        body: Vec<u8>,
        /// The headers by which it can be asked for again on the condition that it has changed.
        validators: Option<Box<Validators>>,
    },
}

impl Outcome {
    /// A whole response: to a page, or to a robots.txt, as the lease asked for. For a robots.txt the body is copied, up to
    /// 500 KiB, which is what of it is read, and a byte.
    pub fn response(lease: &Lease, status: u16, body: &[u8]) -> Self {
        if lease.kind() != LeaseKind::Robots {
            return Self::Response { status, retry_after: None };
        }
        let body = body[..body.len().min(Robots::MAX_BYTES + 1)].to_vec();
        Self::Robots { status, retry_after: None, body, validators: None }
    }

    /// The rest that a response asks for which says "not now".
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
