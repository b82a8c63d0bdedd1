//! Hosts that were evicted from memory.
//!
//! A host that has nothing queued or lent needs no place in memory. It is evicted once the journal's owner has it safe, and
//! comes back with its clock, its failures and its robots.txt.
//!
//! It is evicted as the bytes that a slice of a checkpoint has it as, its *image*, and only while it is exactly that. While it
//! is evicted, nothing happens to it: whatever is to happen brings it back first. So the newest image of an evicted host
//! is the host.

use super::{Host, HostSpread, HostStatistics, PolitenessTable};
use crate::frontier::Timestamp;

/// The length of the list of hosts with the most requests, which is exact whichever of them are evicted.
const TOP: usize = 100;

/// What is known of the evicted hosts without a look at the disk.
#[derive(Debug, Default)]
pub(crate) struct Evicted {
    /// How many they are.
    hosts: u64,
    /// The hosts with the most requests when they were evicted, most first. When a host was left out of this list, a hundred others
    /// had more requests. These have as many now, or more, and are still in the list or in memory. So the first hundred
    /// of the list and of the memory together are the first hundred of all.
    top: Vec<HostStatistics>,
    /// The first of those that failed when they were evicted.
    failing: Vec<HostStatistics>,
    /// Those with most URLs that are set aside because a budget is spent, most first: a hundred as exact as those of `top`.
    left_out: Vec<HostStatistics>,
    spread: HostSpread,
    /// When this process began, where the one before died: nobody knows which hosts that asked last, so none is asked within its
    /// rest of this.
    pub(crate) since: Option<Timestamp>,
    /// The clock was ahead before this process began.
    pub(crate) was_ahead: bool,
}

impl Evicted {
    /// Takes a host in.
    pub(crate) fn add(&mut self, row: HostStatistics) {
        self.hosts += 1;
        self.spread.add(row.requests);
        if row.trouble.is_some() && self.failing.len() < TOP {
            self.failing.push(row.clone());
        }
        if row.left_out > 0 {
            let place = self.left_out.partition_point(|other| other.most_left_out_first(&row).is_lt());
            self.left_out.truncate(TOP - usize::from(place < TOP));
            if place < TOP {
                self.left_out.insert(place, row.clone());
            }
        }
        let place = self.top.partition_point(|other| other.most_first(&row).is_lt());
        if place < TOP {
            self.top.truncate(TOP - 1);
            self.top.insert(place, row);
        }
    }

    /// A host came back.
    pub(crate) fn remove(&mut self, host: &Host) {
        self.hosts -= 1;
        self.spread.remove(host.requests.into());
        self.top.retain(|row| row.host != host.key);
        self.failing.retain(|row| row.host != host.key);
        self.left_out.retain(|row| row.host != host.key);
    }

    /// Evicted hosts that fail, at most a hundred: the first that were evicted.
    #[cfg(feature = "crawl")]
    pub(crate) fn failing(&self) -> &[HostStatistics] {
        &self.failing
    }

    /// Evicted hosts with URLs that are set aside because a budget is spent, at most a hundred, most first.
    #[cfg(feature = "crawl")]
    pub(crate) fn left_out(&self) -> &[HostStatistics] {
        &self.left_out
    }

    /// How many they are.
    pub(crate) fn len(&self) -> u64 {
        self.hosts
    }

    /// The evicted hosts with the most requests, at most a hundred.
    pub(crate) fn top(&self) -> &[HostStatistics] {
        &self.top
    }

    /// How their requests are spread.
    #[cfg(any(feature = "crawl", test))]
    pub(crate) fn spread(&self) -> &HostSpread {
        &self.spread
    }

    /// Sets the clock of a host that comes back.
    pub(crate) fn set_clock(&self, host: &mut Host, politeness_table: &PolitenessTable, now: Timestamp) {
        host.set_clock(politeness_table, now, self.was_ahead);
        if let Some(since) = self.since {
            host.due = host.due.max(since + host.delay(politeness_table));
        }
    }
}
