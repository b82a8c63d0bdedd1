//! What a journal keeps of a crawl.

use std::fmt;
use std::time::Duration;

use super::{Failure, Position, Timestamp, Via};
use crate::address::{Fingerprint, FingerprintKey};

/// What a journal keeps, in the order in which it happened: enough to make a frontier again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// A URL passed the gate and was queued, or scheduled.
    Admitted(Entry<'a>),
    /// A page's lease came back, and the page waits for a time: it was scheduled again, or its next try is to come later, or it
    /// was given up and waits to be asked for in another run.
    Again {
        /// How it came back.
        settled: Settled<'a>,
        /// What was scheduled.
        entry: Entry<'a>,
    },
    /// A page's lease came back.
    Settled(Settled<'a>),
    /// The time of a URL that was scheduled had come: it was queued.
    Due(DueRecord<'a>),
    /// A URL was taken from the seen set.
    Forgotten {
        /// What that had of it.
        fingerprint: Fingerprint,
    },
    /// Something was learned of a host without a page.
    Host(HostRecord<'a>),
    /// A run of the crawl ended at one of its limits, whatever waits. Void once the journal is opened again: the next run has
    /// limits of its own.
    Limited {
        /// Which one, and how much it allowed.
        limit: Limit,
    },
    /// The journal was opened again. Receipts before this that reach further are void: their pages were queued again.
    Resumed {
        /// Bytes that were left of the output.
        output: u64,
    },
}

/// Where a run of a crawl ends before all is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// So many pages.
    Pages(u64),
    /// So much time.
    Time(Duration),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pages(1) => f.write_str("1 page"),
            Self::Pages(pages) => write!(f, "{pages} pages"),
            Self::Time(time) => write!(f, "{time:?}"),
        }
    }
}

/// One admission, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
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
    /// Tries that were used up before.
    pub attempts: u8,
    /// The entry of the page it was found on.
    pub referrer: Option<Position>,
    /// The entry whose place in the queue it takes: the same page, asked for at another spelling.
    pub replaces: Option<Position>,
    /// It waits in the schedule, and is queued after this time; `None` for at once.
    pub not_before: Option<Timestamp>,
}

impl Entry<'_> {
    /// The time before which a page is not fetched that was given up: never, or until somebody asks for it again.
    pub const NEVER: Timestamp = Timestamp::from_micros(u64::MAX);

    /// Whether it is a page that was given up.
    pub fn is_parked(&self) -> bool {
        self.replaces.is_some() && self.not_before == Some(Self::NEVER)
    }
}

/// A URL that went from the schedule to its host's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueRecord<'a> {
    /// The text of its host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// Its entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
}

/// How a lease of a page came back, and where that left its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled<'a> {
    /// Its host, afterwards.
    pub host: Standing<'a>,
    /// The page's entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Tries used up.
    pub attempts: u8,
    /// The page leaves the queue. Else it is queued again, at the head.
    pub done: bool,
    /// Where its record is in the output; `None` where there is none, or none that could be read again.
    pub receipt: Option<Receipt>,
}

/// A page's record in the output: what must be found there for the page to count as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Bytes of the output up to the record's end.
    pub end: u64,
    /// Bytes of the record.
    pub length: u32,
    /// The lower half of the record's XXH3-64, seeded with 0.
    pub checksum: u32,
}

impl Receipt {
    /// For a record that follows `before` bytes of output.
    pub fn of(record: &[u8], before: u64) -> Self {
        // A record is cut long before 4 GiB.
        let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
        Self { end: before + u64::from(length), length, checksum: Self::checksum(record) }
    }

    /// What [`checksum`](Self::checksum) should be.
    #[expect(clippy::cast_possible_truncation, reason = "its lower half is meant")]
    pub fn checksum(record: &[u8]) -> u32 {
        FingerprintKey::from_u64(0).fingerprint_bytes(record).bits() as u32
    }
}

/// What was learned of a host, and where that left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRecord<'a> {
    /// The host, afterwards.
    pub host: Standing<'a>,
    /// Of its robots.txt; `None` where nothing was.
    pub robots: Option<RobotsRecord<'a>>,
    /// It was asked; else the frontier came to this by itself.
    pub was_asked: bool,
    /// It will be asked for its robots.txt again.
    pub is_retry: bool,
}

/// How a host stands: its clock, and how it has behaved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing<'a> {
    /// The text of its [`HostKey`](crate::address::HostKey).
    pub key: &'a str,
    /// Not asked before.
    pub due: Timestamp,
    /// Failures in a row.
    pub failures: u16,
    /// It has answered at least once.
    pub has_answered: bool,
    /// What is wrong with it, if anything is.
    pub ill: Option<Ill<'a>>,
}

/// What is wrong with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ill<'a> {
    /// Its last failure.
    pub failure: Failure,
    /// The failure's own words.
    pub words: &'a str,
    /// Different pages in a row that broke.
    pub broken: u16,
    /// It said itself when it may be asked again.
    pub is_patient: bool,
    /// It is not asked again in this run.
    pub is_retired: bool,
}

/// What is known of a host's robots.txt from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsRecord<'a> {
    /// It is elsewhere.
    Moved {
        /// Redirects so far.
        hops: u8,
        /// Where to ask next.
        url: &'a str,
    },
    /// It was fetched, or is known to be missing.
    Known {
        /// When it should be fetched again.
        stale_at: Timestamp,
        /// The lines that concern us; `None` allows everything.
        rules: Option<&'a [u8]>,
    },
    /// It is as it was: it has not changed, or is not to be had just now.
    Renewed {
        /// When it should be fetched again.
        stale_at: Timestamp,
        /// How long it holds where it is not to be had.
        good_until: Timestamp,
    },
}
