//! What a journal keeps of a crawl.

use std::time::Duration;

use super::{Aside, Entry, HostStatus, Receipts};
use crate::address::Fingerprint;
use crate::frontier::Timestamp;
use crate::frontier::hosts::HostCost;
use crate::gate::{PageYield, Position, Refusal};

/// What a journal keeps, in the order in which it happened: enough to make a frontier again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
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
    /// The time of a URL that was scheduled had come, or today's rules let it pass: it was queued.
    Due(DueRecord<'a>),
    /// A URL was taken from the seen set.
    Forgotten {
        /// What that had of it.
        fingerprint: Fingerprint,
    },
    /// robots.txt disallowed URLs of a host when their turn came, or a budget was spent: they were dropped.
    Disallowed(DisallowedRecord<'a>),
    /// Today's rules refuse a URL that was admitted by others: it was set aside.
    Aside(AsideRecord<'a>),
    /// The rules of the gate are others from here on: what was admitted before is judged again.
    Rules {
        /// Tells them from others.
        digest: u64,
    },
    /// Something was learned of a host without a page.
    Host(HostRecord<'a>),
    /// The journal was opened again. Receipts before this that reach further are void: their pages were queued again.
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
    /// Where it was set aside, if it was: today's rules let it pass.
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
    /// How many they are: the first, and those that follow it in its host's queue.
    pub urls: u32,
    /// Why.
    pub refusal: Refusal,
}

/// A URL that was set aside, out of its host's queue or since an earlier round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsideRecord<'a> {
    /// The text of its host's [`HostKey`](crate::address::HostKey); empty where no queue had it, unless a budget of that host is a reason.
    pub host: &'a str,
    /// Its entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Where it is now.
    pub to: Aside,
    /// Where it was, if it was set aside before; else its host's queue had it.
    pub from: Option<Aside>,
}

/// How a lease of a page came back, and where that left its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled<'a> {
    /// Its host, afterwards.
    pub host: HostStatus<'a>,
    /// The page's entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Tries used up.
    pub attempts: u8,
    /// The page leaves the queue. Else it stays where it is.
    pub done: bool,
    /// Where its bytes are in the outputs; none where it has none, or none that could be read again.
    pub receipts: Receipts<'a>,
    /// What it yielded, where it is done and that was looked at.
    pub yielded: Option<PageYield>,
    /// What it took of its host's budget.
    pub cost: HostCost,
}

/// What was learned of a host, and where that left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostRecord<'a> {
    /// The host, afterwards.
    pub host: HostStatus<'a>,
    /// What was learned of its robots.txt; `None` where nothing was.
    pub robots: Option<RobotsRecord<'a>>,
    /// It was asked; else the frontier came to this by itself.
    pub was_asked: bool,
    /// It will be asked for its robots.txt again.
    pub is_retry: bool,
}

/// What is known of a host's robots.txt from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RobotsRecord<'a> {
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
        /// The rest that it asks for, in whole milliseconds.
        crawl_delay: Duration,
        /// The lines that concern us; `None` allows everything.
        rules: Option<&'a [u8]>,
    },
    /// It is not to be had, and what was known before holds no more.
    Unknown,
    /// It is as it was: it has not changed, or is not to be had just now.
    Renewed {
        /// When it should be fetched again.
        stale_at: Timestamp,
        /// How long it holds where it is not to be had.
        good_until: Timestamp,
    },
}
