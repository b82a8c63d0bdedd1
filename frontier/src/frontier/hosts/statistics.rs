//! Statistics of hosts: of each host, hosts by their requests, and hosts evicted from memory.
//!
//! [`HostStatistics`] is a row for reports. It is made from a host in memory, and kept for some evicted hosts, such as those with the most
//! requests.
//!
//! [`HostSpread`] is a histogram of hosts by their requests. A crawl of the web has a few hosts with very many requests and very many hosts
//! with a few. Each bucket is twice as wide as the one before, so both ends fit in one short list.
//!
//! # Evicted hosts
//!
//! A host that has nothing queued or lent need not be in memory. It is evicted once its image is safe on disk, and comes back with its
//! clock, its failures and its robots.txt. [`Evicted`] has what is known of such hosts without reading from disk.
//!
//! A host is evicted to its *image*, which is its bytes in a chunk of a checkpoint, and only if it still equals that image. An evicted host
//! cannot change: it is brought back before any change. So the newest image of an evicted host is the host.

use std::cmp::Ordering;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::{Host, HostState, PolitenessTable, Usage};
use crate::address::HostKey;
use crate::frontier::{Timestamp, Trouble};

/// One host in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostStatistics {
    /// Scheme, host and port.
    pub host: HostKey,
    /// Requests that came back, including those for robots.txt.
    pub requests: u64,
    /// URLs waiting.
    pub queued: u64,
    /// Pages with a record, as [`Politeness::host_pages`](super::Politeness::host_pages) counts them.
    pub pages: u64,
    /// Bytes, as [`Politeness::host_bytes`](super::Politeness::host_bytes) counts them.
    pub bytes: u64,
    /// URLs set aside because its budget, or its group's, is spent.
    pub left_out: u64,
    /// Failures in a row.
    pub failures: u32,
    /// The rest in force.
    pub delay: Duration,
    /// Not asked again in this run.
    pub retired: bool,
    /// Its last failure, if it fails.
    pub trouble: Option<Trouble>,
}

impl HostStatistics {
    /// A host in memory.
    pub(crate) fn of(host: &Host, usage: Usage, politeness_table: &PolitenessTable) -> Self {
        Self {
            host: host.key.clone(),
            requests: host.status.requests.into(),
            queued: host.waiting(),
            pages: usage.pages.into(),
            bytes: usage.bytes,
            left_out: usage.left_out.into(),
            failures: host.status.failures.into(),
            delay: host.delay(politeness_table),
            retired: host.status.is_retired(),
            trouble: host.status.trouble().cloned(),
        }
    }

    /// The order of a list of failing hosts: retired hosts first, then those with the most URLs waiting, then with the most requests.
    pub(crate) fn worst_first(&self, other: &Self) -> Ordering {
        let order = |host: &Self| (host.retired, host.queued);
        order(other).cmp(&order(self)).then_with(|| self.most_first(other))
    }

    /// The order of a list of hosts whose budgets are spent: most URLs set aside first.
    pub(crate) fn most_left_out_first(&self, other: &Self) -> Ordering {
        other.left_out.cmp(&self.left_out).then_with(|| self.most_first(other))
    }

    /// The order of a list by requests, most first; equals go by name.
    pub(crate) fn most_first(&self, other: &Self) -> Ordering {
        other.requests.cmp(&self.requests).then_with(|| self.host.cmp(&other.host))
    }
}

/// What a queue waits for: the unit of politeness, a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatistics {
    /// The time before which it is not asked, by its own clock and hours.
    pub due: Timestamp,
    /// URLs waiting.
    pub waiting: u64,
    /// Requests that are out, that for a robots.txt included.
    pub lent: u32,
    /// Failures in a row.
    pub failures: u32,
    /// It failed too often, and is not asked again in this run.
    pub is_retired: bool,
    /// Requests that came back, that for a robots.txt included.
    pub requests: u64,
    /// The rest in force.
    pub delay: Duration,
}

impl QueueStatistics {
    /// The statistics of a host whose rest is over at `rested`.
    pub(crate) fn of(host: &Host, rested: Timestamp, politeness_table: &PolitenessTable, now: Timestamp) -> Self {
        let is_asleep = host.scheduling.state == HostState::Asleep;
        Self {
            due: if is_asleep { politeness_table.opens(host.policy, rested, now) } else { rested },
            waiting: host.waiting(),
            lent: u32::from(host.scheduling.out) + u32::from(host.scheduling.state == HostState::LeasedRobots),
            failures: host.status.failures.into(),
            is_retired: host.status.is_retired(),
            requests: host.status.requests.into(),
            delay: host.delay(politeness_table),
        }
    }
}

/// A histogram of hosts by their requests, with the buckets 0, 1, 2 to 3, 4 to 7 and so on.
///
/// Of most evicted hosts, memory keeps nothing else. It is exact, and takes 520 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostSpread([u64; BUCKETS]);

/// One for each bit length of a count.
const BUCKETS: usize = u64::BITS as usize + 1;

impl Default for HostSpread {
    fn default() -> Self {
        Self([0; BUCKETS])
    }
}

impl HostSpread {
    /// The buckets that have hosts: the least and most requests of each, and the number of hosts; fewest requests first.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> {
        let filled = (0..).zip(self.0).filter(|&(_, hosts)| hosts > 0);
        filled.map(|(bits, hosts)| {
            let most = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
            (most.div_ceil(2)..=most, hosts)
        })
    }

    /// Counts a host with this many requests.
    pub(crate) fn add(&mut self, requests: u64) {
        self.0[bucket(requests)] += 1;
    }

    /// Removes a host that was counted with this many requests.
    pub(crate) fn remove(&mut self, requests: u64) {
        self.0[bucket(requests)] -= 1;
    }
}

/// The bucket of a number of requests: its bit length.
fn bucket(requests: u64) -> usize {
    (u64::BITS - requests.leading_zeros()) as usize
}

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
    /// The first hosts that were evicted while they failed: at most a hundred.
    failing: Vec<HostStatistics>,
    /// The hosts with the most URLs set aside because a budget is spent, most first: at most a hundred, exact as in `top`.
    left_out: Vec<HostStatistics>,
    spread: HostSpread,
    /// When this process began, if the one before it did not end cleanly. It is not known when that process last asked each host, so each
    /// host first rests from this time on.
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
        self.spread.remove(host.status.requests.into());
        self.top.retain(|row| row.host != host.key);
        self.failing.retain(|row| row.host != host.key);
        self.left_out.retain(|row| row.host != host.key);
    }

    /// Evicted hosts that fail, at most a hundred: the first that were evicted.
    pub(crate) fn failing(&self) -> &[HostStatistics] {
        &self.failing
    }

    /// Evicted hosts with URLs that are set aside because a budget is spent, at most a hundred, most first.
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
    pub(crate) fn spread(&self) -> &HostSpread {
        &self.spread
    }

    /// Sets the clock of a host that comes back.
    pub(crate) fn set_clock(&self, host: &mut Host, politeness_table: &PolitenessTable, now: Timestamp) {
        host.set_clock(politeness_table, now, self.was_ahead);
        if let Some(since) = self.since {
            host.status.due = host.status.due.max(since + host.delay(politeness_table));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_is_in_its_bucket_and_no_other() {
        for (requests, bucket) in [
            (0, 0..=0),
            (1, 1..=1),
            (2, 2..=3),
            (3, 2..=3),
            (4, 4..=7),
            (1 << 40, 1 << 40..=(1 << 41) - 1),
            (u64::MAX, 1 << 63..=u64::MAX),
        ] {
            let mut spread = HostSpread::default();
            spread.add(requests);
            assert_eq!(spread.buckets().collect::<Vec<_>>(), [(bucket, 1)], "{requests}");
            spread.add(requests);
            spread.remove(requests);
            spread.remove(requests);
            assert_eq!(spread, HostSpread::default());
        }
    }
}
