//! What a journal keeps of a crawl.

use std::time::Duration;

use super::{Aside, Entry, HostStatus, Receipts};
use crate::address::Fingerprint;
use crate::frontier::Timestamp;
use crate::frontier::hosts::HostCost;
use crate::gate::{PageYield, Position, Refusal};

/// What a journal keeps, in the order in which it happened: enough to rebuild a frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// A URL passed the gate and was queued, or scheduled.
    Admitted(Entry<'a>),
    /// A page's lease came back, and the page waits for a time: it was scheduled again, or its next try is later, or it was given up and
    /// waits to be asked for in another run.
    Again {
        /// How the lease came back.
        settled: Settled<'a>,
        /// The scheduled entry.
        entry: Entry<'a>,
    },
    /// A page's lease came back.
    Settled(Settled<'a>),
    /// A URL was queued: its scheduled time had come, it was asked for again, or it was set aside and today's rules let it pass.
    Due(DueRecord<'a>),
    /// A URL was taken from the seen set.
    Forgotten {
        /// Its fingerprint.
        fingerprint: Fingerprint,
    },
    /// URLs of a host were dropped when their turn came: robots.txt disallowed them, or a budget was spent.
    Disallowed(DisallowedRecord<'a>),
    /// Today's rules refuse a URL that earlier rules admitted: it was set aside.
    Aside(AsideRecord<'a>),
    /// The rules of the gate changed here: URLs admitted before are judged again.
    Rules {
        /// Distinguishes them from other rules.
        digest: u64,
    },
    /// Something was learned of a host without a page.
    Host(HostRecord<'a>),
    /// The journal was opened again. Earlier receipts that reach beyond `output` are void: their pages were queued again.
    Resumed {
        /// Bytes that were left of the first output.
        output: u64,
    },
}

/// A URL that went from the schedule to its host's queue. It may have been given up, or set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueRecord<'a> {
    /// The text of its host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// Its entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Where it was set aside, if it was; today's rules let it pass.
    pub from: Option<Aside>,
}

/// URLs that were dropped, because robots.txt disallows them or a budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DisallowedRecord<'a> {
    /// The text of their host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// Their front queue.
    pub priority: u8,
    /// The entry of the first of them.
    pub first: Position,
    /// The number of URLs: the first, and those that follow it in its host's queue.
    pub urls: u32,
    /// Why.
    pub refusal: Refusal,
}

/// A URL that was set aside, from its host's queue or from an earlier round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsideRecord<'a> {
    /// The text of its host's [`HostKey`](crate::address::HostKey); empty if it was in no queue, unless the host's budget is a reason.
    pub host: &'a str,
    /// Its entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Where it is now.
    pub to: Aside,
    /// Where it was set aside before; `None` if it was in its host's queue.
    pub from: Option<Aside>,
}

/// How a lease of a page came back, and the status of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled<'a> {
    /// The status of its host afterwards.
    pub host: HostStatus<'a>,
    /// The page's entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Tries used up.
    pub attempts: u8,
    /// Whether the page leaves the queue; if not, it stays in its place.
    pub done: bool,
    /// Where its bytes are in the outputs; empty if it has none, or none that could be read again.
    pub receipts: Receipts<'a>,
    /// What it yielded, if it is done and that was looked at.
    pub yielded: Option<PageYield>,
    /// What it used of its host's budget.
    pub cost: HostCost,
}

/// What was learned of a host, and the host's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostRecord<'a> {
    /// The status of the host afterwards.
    pub host: HostStatus<'a>,
    /// What was learned of its robots.txt, if anything.
    pub robots: Option<RobotsRecord<'a>>,
    /// Whether it was asked; if not, the frontier concluded this by itself.
    pub was_asked: bool,
    /// Whether it will be asked for its robots.txt again.
    pub is_retry: bool,
}

/// What is known of a host's robots.txt from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RobotsRecord<'a> {
    /// It redirects elsewhere.
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
        /// The rest that it asks for, in whole milliseconds.
        crawl_delay: Duration,
        /// The lines that concern us; `None` allows everything.
        rules: Option<&'a [u8]>,
    },
    /// It cannot be had, and what was known before no longer holds.
    Unknown,
    /// It is as it was: it has not changed, or cannot be had now.
    Renewed {
        /// When it should be fetched again.
        stale_at: Timestamp,
        /// How long it holds while it cannot be had.
        good_until: Timestamp,
    },
}
