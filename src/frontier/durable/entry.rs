//! One admission, as the journal keeps it.

use crate::frontier::Timestamp;
use crate::gate::{Found, Position, Via};

/// One admission, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// The wire URL.
    pub wire: &'a str,
    /// Links from a seed.
    pub depth: u32,
    /// Its front queue.
    pub priority: u8,
    /// How it was found.
    pub via: Via,
    /// Redirects in a row that led here.
    pub redirects: u8,
    /// Tries used before.
    pub attempts: u8,
    /// The entry of the page it was found on.
    pub referrer: Option<Position>,
    /// The entry whose place in the queue it takes: the same page, at another spelling.
    pub replaces: Option<Position>,
    /// It waits in the schedule, and is queued after this time; `None` to queue it at once.
    pub not_before: Option<Timestamp>,
    /// Its finder's own bytes; may be empty.
    pub metadata: &'a [u8],
}

impl<'a> Entry<'a> {
    /// A seed with nothing else.
    pub(crate) const fn seed(wire: &'a str) -> Self {
        Self {
            wire,
            depth: 0,
            priority: 0,
            via: Via::Seed,
            redirects: 0,
            attempts: 0,
            referrer: None,
            replaces: None,
            not_before: None,
            metadata: &[],
        }
    }

    /// A found URL, with the front queue that it goes to.
    pub(crate) fn of(found: &'a Found, priority: u8) -> Self {
        let Found { ref url, depth, via, redirects, referrer, ref metadata, .. } = *found;
        Self { depth, priority, via, redirects, referrer, metadata, ..Self::seed(url.wire()) }
    }

    /// The `not_before` of a page that was given up: never, unless it is asked for again.
    pub(crate) const NEVER: Timestamp = Timestamp::from_micros(u64::MAX);

    /// Whether it is a page that was given up.
    pub(crate) fn is_parked(&self) -> bool {
        self.replaces.is_some() && self.not_before == Some(Self::NEVER)
    }
}
