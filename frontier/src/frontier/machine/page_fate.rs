//! What becomes of a page whose lease came back, as a [`PageFate`].
//!
//! | fate | the page |
//! |---|---|
//! | done | leaves its queue, with its record |
//! | again | as done, and is scheduled for a later visit |
//! | later | leaves its queue for the schedule, until its next try |
//! | moved | is queued in its old place at another spelling of its key |
//! | parked | was given up: has a record, and waits until it is asked for again |
//! | tried, untried | stays its host's next page, with one try less, or with all its tries |

use crate::frontier::durable::Entry;
use crate::frontier::hosts::{HostStatus, Politeness};
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::{Lease, Timestamp};
use crate::gate::Position;

/// The fate of a page whose lease came back.
#[derive(Clone, Copy, Debug)]
pub(super) enum PageFate<'a> {
    /// Its record is its last.
    Done,
    /// Its record is its last until it is fetched again, at this time.
    Again(Timestamp),
    /// Its next try is not before this time; other pages of its host go first.
    Later(Timestamp),
    /// It takes its place in the queue at this spelling of its key, with all its tries.
    Moved(&'a str),
    /// Given up: it has a record, and waits until it is asked for again.
    Parked,
    /// It stays its host's next page, with one try less.
    Tried,
    /// It stays its host's next page, with all its tries.
    Untried,
}

impl<'a> PageFate<'a> {
    /// After a failed try; `done` if it was the last. `update` is the host's status after it.
    pub(super) fn failed(
        lease: &Lease,
        setback: &Setback,
        done: Self,
        update: &HostStatus,
        politeness: &Politeness,
        now: Timestamp,
    ) -> Self {
        let is_last = setback.trouble.failure.is_final() || lease.is_last_try();
        match setback.blame {
            _ if is_last => done,
            // It is given up together with its host's other pages.
            _ if update.is_retired() => Self::Tried,
            Blame::Fetcher | Blame::Host => Self::Tried,
            // The host rests for its Retry-After in any case, so the page may stay first.
            Blame::Load if setback.retry_after.is_some() => Self::Tried,
            Blame::Load | Blame::Rate => Self::Later(update.due),
            Blame::Page => Self::Later(now + politeness.backoff_of(lease.attempt.into())),
        }
    }

    /// The page leaves the queue with a record.
    pub(super) const fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::Again(_) | Self::Parked)
    }

    /// The page gets a new entry: it waits for a time, or has moved.
    pub(super) const fn has_entry(self) -> bool {
        !matches!(self, Self::Done | Self::Tried | Self::Untried)
    }

    /// The new entry, with the referrer of the previous one; `None` if the page keeps its entry.
    pub(super) fn entry(self, lease: &'a Lease, referrer: Option<Position>) -> Option<Entry<'a>> {
        let blank = || Entry { referrer, ..lease.entry(lease.url()) };
        Some(match self {
            Self::Done | Self::Tried | Self::Untried => return None,
            // Redirects are counted anew: otherwise a page that is reached by a redirect each time would be refused after some visits.
            Self::Again(at) => Entry { not_before: Some(at), redirects: 0, replaces: None, ..blank() },
            Self::Later(at) => Entry { not_before: Some(at), attempts: lease.attempt, ..blank() },
            Self::Moved(to) => Entry { not_before: None, wire: to, redirects: lease.redirects + 1, ..blank() },
            Self::Parked => Entry { not_before: Some(Entry::NEVER), ..blank() },
        })
    }
}
