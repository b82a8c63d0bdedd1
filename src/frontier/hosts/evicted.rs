//! Hosts that were evicted from memory.
//!
//! A host that has nothing queued or lent need not be in memory. It is evicted once the journal's owner has stored it safely, and comes
//! back with its clock, its failures and its robots.txt.
//!
//! It is evicted to its *image*, its bytes in a chunk of a checkpoint, and only if it still equals that image. An evicted host cannot
//! change: any change brings it back first. So the newest image of an evicted host is the host.

use super::{Host, HostSpread, HostStatistics, PolitenessTable};
use crate::frontier::Timestamp;

/// The length of the list of hosts with the most requests, which is exact whichever hosts are evicted.
const TOP: usize = 100;

/// What is known of the evicted hosts without reading from disk.
#[derive(Debug, Default)]
pub(crate) struct Evicted {
    /// The number of evicted hosts.
    hosts: u64,
    /// The hosts with the most requests when they were evicted, most first. When a host was left out of this list, a hundred others had
    /// more requests. These have at least as many now, and are still in the list or in memory. So the first hundred of the list and the
    /// hosts in memory together are the first hundred of all.
    top: Vec<HostStatistics>,
    /// The first hosts that were evicted while they failed.
    failing: Vec<HostStatistics>,
    /// The hosts with the most URLs set aside because a budget is spent, most first: at most a hundred, exact as in `top`.
    left_out: Vec<HostStatistics>,
    spread: HostSpread,
    /// When this process began, if the one before died. Which hosts that asked last is not known, so each host first rests from this time
    /// on.
    pub(crate) since: Option<Timestamp>,
    /// Whether the clock was ahead before this process began.
    pub(crate) was_ahead: bool,
}

impl Evicted {
    /// Counts a host that is evicted.
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

    /// The number of evicted hosts.
    pub(crate) fn len(&self) -> u64 {
        self.hosts
    }

    /// The evicted hosts with the most requests, at most a hundred.
    pub(crate) fn top(&self) -> &[HostStatistics] {
        &self.top
    }

    /// The histogram of their requests.
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
