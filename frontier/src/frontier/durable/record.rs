//! The records of a journal, with the receipts of what each page wrote; rounds of rules; and the counts of one moment, for a checkpoint.
//!
//! # Bytes of receipts
//!
//! ```text
//! for each output:  length    u8, of its name
//!                   name      UTF-8
//!                   end       u64, where the page's bytes end in the output
//!                   length    u32, how many they are
//!                   checksum  u32, of them
//! ```
//!
//! Numbers are little-endian. After a crash the outputs are checked for the bytes that the receipts describe. If any output lacks them, the
//! page is queued again.

use std::fmt;
use std::time::Duration;

use super::{Entry, Moves, Scores};
use crate::address::{Fingerprint, host_of};
use crate::bytes::varint::walk;
use crate::bytes::{Fields, half_checksum};
use crate::frontier::hosts::HostCost;
use crate::frontier::hosts::HostStatus;
use crate::frontier::{LeaseToken, Timestamp};
use crate::gate::{PageYield, Position, Refusal, ScopeKind};

/// What a journal keeps, in the order in which it happened: enough to rebuild a frontier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A URL passed the gate and was queued, or scheduled.
    Admitted(Entry<'a>),
    /// A page's lease came back, and the page has a new entry. It waits for a time: it was scheduled again, or its next try is later, or it
    /// was given up and waits to be asked for in another run. Or it moved to another spelling of its key, and is queued in its old place.
    Again {
        /// How the lease came back.
        settled: Settled<'a>,
        /// The new entry.
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
    /// A front queue without URLs stands for another priority from now on.
    Priority {
        /// Its number.
        front: u8,
        /// The priority.
        priority: i64,
    },
    /// URLs that wait at a host got other priorities.
    Moved(MovedRecord<'a>),
    /// URLs that are in no host's queue got other priorities.
    Rescored(Scores<'a>),
    /// Something was learned of a host without a page.
    Host(HostRecord<'a>),
    /// A lease went out, under a token.
    Lent(LentRecord<'a>),
    /// The host of a page that is out under a token has answered, and the page is in hand.
    Answered(AnsweredRecord<'a>),
    /// A lease that is out has another deadline.
    Extended {
        /// Its token.
        token: LeaseToken,
        /// When it ends.
        deadline: Timestamp,
    },
    /// A lease came back, and nothing else changed.
    Returned {
        /// Its token.
        token: LeaseToken,
        /// Whether it was taken back because its deadline had passed; if not, it was given back.
        is_overdue: bool,
    },
    /// The journal was opened again. Earlier receipts that reach beyond `output` are void: their pages were queued again.
    Resumed {
        /// Bytes that were left of the first output.
        output: u64,
    },
}

/// A URL that went from the schedule to its host's queue. It may have been given up, or set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueRecord<'a> {
    /// The text of its host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// Its entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Where it was set aside, if it was, in which case today's rules let it pass; `None` if its time had come or it was asked for again.
    pub from: Option<Aside>,
    /// Its place in the queue, as in [`Entry::after`].
    pub after: Option<u16>,
}

/// URLs of a host that got other priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedRecord<'a> {
    /// The text of their host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// Which, and where they went.
    pub moves: Moves<'a>,
}

/// A lease that went out under a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LentRecord<'a> {
    /// Its token.
    pub token: LeaseToken,
    /// When it ends, in whole milliseconds.
    pub deadline: Timestamp,
    /// The page's entry; `None` for a robots.txt. The texts are those of a robots.txt, and empty for a page.
    pub page: Option<Position>,
    /// The text of the [`HostKey`](crate::address::HostKey) of the host that is asked.
    pub host: &'a str,
    /// The same of the host that waits for it, if it is another.
    pub for_other: &'a str,
    /// The URL.
    pub url: &'a str,
    /// How often the host was asked for a robots.txt in a row, this time included; 0 for a page, whose entry knows.
    pub attempt: u8,
}

/// An answer to the request for a page that is out under a token: the host was judged, and the page is in hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredRecord<'a> {
    /// The text of the host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// The status of the host afterwards.
    pub status: HostStatus,
    /// The token of the page's lease.
    pub token: LeaseToken,
    /// Bytes of the response.
    pub bytes: u64,
    /// Whether the answer asked for fewer requests, and takes no try from the page.
    pub keeps_tries: bool,
}

impl LentRecord<'_> {
    /// The deadline that is this [step](crate::bytes::varint::step) of milliseconds from the time in the lease's number.
    pub(crate) fn deadline_of(token: LeaseToken, step: u64) -> Timestamp {
        let millis = walk(LeaseToken::millis_in(token.number()), step);
        Timestamp::from_micros(millis.saturating_mul(1000))
    }
}

/// URLs that were dropped, because robots.txt disallows them or a budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisallowedRecord<'a> {
    /// The text of their host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// Their front queue.
    pub priority: u8,
    /// The entry of the first of them.
    pub first: Position,
    /// The number of URLs: the first, and the next ones in the queue of its host.
    pub urls: u32,
    /// Why.
    pub refusal: Refusal,
}

/// A URL that was set aside, from its host's queue or from an earlier round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsideRecord<'a> {
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled<'a> {
    /// The text of its host's [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// The status of its host afterwards.
    pub status: HostStatus,
    /// The page's entry.
    pub position: Position,
    /// Its front queue.
    pub priority: u8,
    /// Tries used up.
    pub attempts: u8,
    /// Whether the page leaves the queue; if not, it stays in its place.
    pub done: bool,
    /// Where its bytes are in the outputs; empty if it wrote none, or none that can be read again.
    pub receipts: Receipts<'a>,
    /// What it yielded, if it is done and that was looked at; and the name of its host, if `host` is a named queue, else an empty text.
    pub yielded: Option<(PageYield, &'a str)>,
    /// What it used of its host's budget.
    pub cost: HostCost,
    /// Whether it was taken back because its deadline had passed.
    pub is_overdue: bool,
}

impl<'a> Settled<'a> {
    /// What the page yielded, with the name of its host.
    pub(crate) fn yielded_at(&self) -> Option<(PageYield, &'a str)> {
        self.yielded.map(|(yielded, at)| (yielded, if at.is_empty() { host_of(self.host) } else { at }))
    }
}

/// What was learned of a host, and the host's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRecord<'a> {
    /// The text of its [`HostKey`](crate::address::HostKey).
    pub host: &'a str,
    /// The status of the host afterwards.
    pub status: HostStatus,
    /// What was learned of its robots.txt, if anything.
    pub robots: Option<RobotsRecord<'a>>,
    /// Whether it was asked; if not, the frontier concluded this by itself.
    pub was_asked: bool,
    /// Whether it will be asked for its robots.txt again.
    pub is_retry: bool,
}

/// What is known of a host's robots.txt from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RobotsRecord<'a> {
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

/// The round of rules by which URLs were last judged.
///
/// Each change of the rules begins a *round*. A URL that was admitted before the round is judged again when its turn comes. If it is
/// refused then, it is set aside: it keeps its entry, and the next round judges it once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleRound {
    /// A digest that distinguishes these rules from others; 0 if none are known yet.
    pub digest: u64,
    /// The rules judged each URL whose entry is at or after this position.
    pub since: Position,
    /// The number of rounds before this one.
    pub number: u32,
}

/// The place of a URL that is set aside: the round and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aside {
    /// The number of the round.
    pub round: u32,
    /// The reason.
    pub refusal: Refusal,
}

impl RuleRound {
    /// The next round, with other rules that hold from this position on. In a journal that keeps no such records there is no position: then
    /// all queued URLs are judged again, whenever they were admitted.
    pub(crate) fn next(self, digest: u64, at: Option<Position>) -> Self {
        let since = at.unwrap_or(Position::from_u64(u64::MAX));
        Self { digest, since, number: self.number.saturating_add(1) }
    }
}

/// The counts of a frontier and its gate, and the scope that the seeds opened: small, and all of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The journal's end at that moment.
    pub position: Position,
    /// URLs admitted, without those refused later.
    pub admitted: u64,
    /// URLs refused, by reason.
    pub refused: Vec<(Refusal, u64)>,
    /// Page leases completed for good.
    pub completed: u64,
    /// Leases that were tried again.
    pub retries: u64,
    /// Bytes of the first output.
    pub output: u64,
    /// Leases that were out.
    pub leased: u64,
    /// The round of rules by which URLs are judged.
    pub rules: RuleRound,
    /// The kind of the roots.
    pub scope: ScopeKind,
    /// The hosts, domains or directories that the seeds opened.
    pub roots: Vec<String>,
    /// The origins of the seeds: `https://a.example`.
    pub originals: Vec<String>,
    /// The evidence of shapes, hosts and domains for the budgets, by slot number.
    pub evidence: Vec<(u32, u64)>,
    /// The leases that are out under a token, as bytes.
    pub leases: Vec<u8>,
}

/// What a page wrote to the outputs: a [`Receipt`] for each output, under its name. All pages name the same output first: the order of its
/// records is the order in which pages were done.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipts<'a>(&'a [u8]);

/// The most bytes of a list. A record stores the length of the list and of its host's status, as one sum, in two bytes.
const MOST: usize = 63 << 10;

/// A list of receipts being built.
#[derive(Clone, Debug, Default)]
pub struct ReceiptsBuf(Vec<u8>);

impl ReceiptsBuf {
    /// The list of these receipts, each with its output's name.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub(crate) fn of(receipts: &[(&str, Receipt)]) -> Self {
        let mut made = Self::default();
        for (output, receipt) in receipts {
            made.push(output, *receipt);
        }
        made
    }

    /// Adds a receipt.
    ///
    /// # Panics
    /// If the name has more than 255 bytes, which no file name has; if the list takes more than 63 KiB, as 240 outputs with the longest
    /// names do.
    pub fn push(&mut self, output: &str, receipt: Receipt) {
        let Receipt { end, length, checksum } = receipt;
        self.0.reserve(1 + output.len() + size_of::<u64>() + 2 * size_of::<u32>());
        self.0.push(u8::try_from(output.len()).expect("a file's name"));
        self.0.extend(output.bytes());
        self.0.extend(end.to_le_bytes());
        self.0.extend([length, checksum].into_iter().flat_map(u32::to_le_bytes));
        assert!(self.0.len() <= MOST, "the journal keeps at most 63 KiB of receipts for a page");
    }

    /// The list.
    pub fn list(&self) -> Receipts<'_> {
        Receipts(&self.0)
    }
}

impl<'a> Receipts<'a> {
    /// Reads a list from its bytes in the journal.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut rest = bytes;
        while !rest.is_empty() {
            take(&mut rest)?;
        }
        Ok(Self(bytes))
    }

    /// The bytes that [`read`](Self::read) reads.
    pub(crate) fn to_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether nothing was written, or nothing that could be read again.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each receipt with its output's name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, Receipt)> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || take(&mut rest).ok())
    }

    /// The receipt of the first output.
    pub fn first(&self) -> Option<Receipt> {
        self.iter().next().map(|(_, receipt)| receipt)
    }
}

/// Takes one receipt off the front.
fn take<'a>(rest: &mut &'a [u8]) -> Result<(&'a str, Receipt), &'static str> {
    let mut fields = Fields::of(rest);
    let length = fields.u8()?;
    let output = fields.text(length.into())?;
    let receipt = Receipt { end: fields.u64()?, length: fields.u32()?, checksum: fields.u32()? };
    *rest = fields.bytes();
    Ok((output, receipt))
}

impl fmt::Debug for Receipts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Where a page's bytes are in one output. They must be there for the page to count as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The offset in the output at which they end.
    pub end: u64,
    /// The number of bytes.
    pub length: u32,
    /// The lower half of their XXH3-64, seeded with 0.
    pub checksum: u32,
}

impl Receipt {
    /// The receipt of bytes that follow `before` bytes of output. To check an output against a receipt, compare it with `Receipt::of` of
    /// the bytes found there.
    pub fn of(written: &[u8], before: u64) -> Self {
        // A page's record is cut long before 4 GiB.
        let length = u32::try_from(written.len()).unwrap_or(u32::MAX);
        Self { end: before + u64::from(length), length, checksum: Self::checksum(written) }
    }

    /// The [`checksum`](Self#structfield.checksum) of these bytes.
    pub fn checksum(written: &[u8]) -> u32 {
        u32::from_le_bytes(half_checksum(0, written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "at most 63 KiB")]
    fn a_list_that_the_journal_could_not_keep_is_refused() {
        let mut receipts = ReceiptsBuf::default();
        (0..5_000).for_each(|number| receipts.push("pages.jsonl", Receipt::of(b"{}", number * 2)));
    }
}
