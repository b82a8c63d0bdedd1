//! The rate limits of the whole crawl.
//!
//! Each limit is a clock. The start of a request moves it on by the request's cost, and no request starts before it. With a limit of n
//! requests a second, a request costs 1/n second; with a limit of n bytes a second, so does a byte. The size of a response is not known
//! before it is back. So a request is charged with about as many bytes as the last responses had, and the difference is settled when the
//! response is back. No body is read more slowly than its host sends it, so the limit makes no deadline run out. A large page delays the
//! requests after it.
//!
//! None of this is state. A restart begins with both clocks at its own start.

use std::fmt;
use std::time::Duration;

use crate::frontier::Timestamp;
use crate::gate::OptionError;

/// What the whole crawl may ask for in a second, as its [options](super::FrontierOptions::request_rate) say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RateLimits {
    pub(crate) requests: Option<f64>,
    pub(crate) bytes: Option<u64>,
}

/// The two clocks of the whole crawl.
#[derive(Debug)]
pub(crate) struct Rate {
    limits: RateLimits,
    /// When the next request may start, by the limit of requests.
    requests_due: Timestamp,
    /// The same, by the limit of bytes.
    bytes_due: Timestamp,
    /// The expected bytes of a response.
    expected: u64,
}

/// A timer may be late by up to this; a delay of this length is made up for.
const LATE: Duration = Duration::from_millis(10);
/// The expected bytes of a response before any is known.
const FIRST: u64 = 32 << 10;
/// The most bytes that one response adds to the mean.
const MOST: u64 = 1 << 50;
/// The expected size is about the mean of this many responses.
const LAST: u64 = 8;

impl RateLimits {
    /// Checks that each limit lets anything through.
    ///
    /// # Errors
    /// Names the first limit that does not, by its path in the settings.
    pub(crate) fn check(&self) -> Result<(), OptionError> {
        let refused = |option, value: &dyn fmt::Display, reason: &str| {
            Err(OptionError::Option { option, value: value.to_string(), reason: reason.to_owned() })
        };
        match *self {
            Self { requests: Some(requests), .. } if !(requests > 0.0 && requests.is_finite()) => {
                refused("rate.requests", &requests, "is more than 0")
            }
            Self { bytes: Some(0), .. } => refused("rate.bytes", &0, "is at least 1"),
            _ => Ok(()),
        }
    }
}

impl Rate {
    pub(crate) fn new(limits: RateLimits) -> Self {
        Self { limits, requests_due: Timestamp::default(), bytes_due: Timestamp::default(), expected: FIRST }
    }

    /// Whether there is any limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.limits != RateLimits::default()
    }

    /// No request starts before this.
    #[inline]
    pub(crate) fn due(&self) -> Timestamp {
        self.requests_due.max(self.bytes_due)
    }

    /// A request starts now. Returns the bytes that it is charged with.
    pub(crate) fn begin(&mut self, now: Timestamp) -> u64 {
        if !self.is_limited() {
            return 0;
        }
        // Idle time is not saved up.
        let from = |due: Timestamp| if now.since(due) <= LATE { due } else { now };
        self.requests_due = from(self.requests_due) + self.request();
        self.bytes_due = from(self.bytes_due) + self.bytes(self.expected);
        self.expected
    }

    /// A request is back, with the bytes of its response; `None` if it was not sent.
    pub(crate) fn end(&mut self, charged: u64, bytes: Option<u64>) {
        if !self.is_limited() {
            return;
        }
        match bytes {
            Some(bytes) => self.expected = (self.expected * (LAST - 1) + bytes.min(MOST)).div_ceil(LAST),
            None => self.requests_due = self.requests_due.before(self.request()),
        }
        let bytes = bytes.unwrap_or_default();
        self.bytes_due = if bytes > charged {
            self.bytes_due + self.bytes(bytes - charged)
        } else {
            self.bytes_due.before(self.bytes(charged - bytes))
        };
    }

    /// What one request costs.
    fn request(&self) -> Duration {
        self.limits.requests.map_or(Duration::ZERO, |requests| seconds(1.0 / requests))
    }

    /// What this many bytes cost.
    fn bytes(&self, bytes: u64) -> Duration {
        self.limits.bytes.map_or(Duration::ZERO, |limit| seconds(bytes as f64 / limit as f64))
    }
}

/// A duration of these seconds, or the longest one if they are too many.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
