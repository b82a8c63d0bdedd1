//! The hosts of a report.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::crawl::{RefusingHost, counters, greatest};

/// A list of the most frequent names, and a table of counts, has at most this many rows.
pub(super) const TOP: usize = 10;

counters! {
    /// The hosts.
    #[non_exhaustive]
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
    pub struct HostFigures {
        /// Hosts known.
        pub known: u64,
        /// Hosts in memory when the crawl ended. The others were evicted to disk.
        pub in_memory: u64,
        /// Hosts with URLs waiting when the crawl ended.
        pub active: u64,
        /// Active hosts that still had to rest.
        pub resting: u64,
        /// Resting hosts that failed and will be tried again.
        pub failing: u64,
        /// Hosts that could not be reached, and were given up. `crawler resume` tries them again.
        pub unreachable: u64,
        /// Hosts that refuse us: most of their answers to requests for pages were 401, 403, 407, 429, 451 or a challenge. A drained crawl
        /// lacks some of their pages.
        pub refusing: u64,
        /// The hosts with most refusals.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub refusing_hosts: Vec<RefusingHost> => most_refusals,
        /// Hosts that fail or cannot be reached, with their reasons: the worst ten.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub in_trouble: Vec<HostRow> => worst,
        /// How evenly requests went to hosts with waiting URLs: Jain's index, 1 if all had equally many, and 1/n if one of n had them
        /// all. `null` if fewer than two wait.
        pub fairness: Option<f64> => least,
        /// When the crawl ended: the longest time that a host of a sample had waited for its turn after it was due; `null` if no host was
        /// due.
        pub longest_due_us: Option<u64> => greatest,
        /// The hosts with the most requests, most first.
        pub top: Vec<HostRow> => most_requests,
        /// The number of hosts for each range of requests, fewest requests first.
        pub by_requests: Vec<HostBucket> => by_range,
    }
}

/// Keeps the hosts with the most refusals.
fn most_refusals(hosts: &mut Vec<RefusingHost>, others: &[RefusingHost]) {
    hosts.extend(others.iter().cloned());
    hosts.sort_by(|one, other| (other.refused, &one.host).cmp(&(one.refused, &other.host)));
    hosts.truncate(TOP);
}

fn worst(rows: &mut Vec<HostRow>, others: &[HostRow]) {
    rows.extend(others.iter().cloned());
    let badness = |row: &HostRow| Reverse((row.unreachable, row.queued, row.requests));
    rows.sort_by(|one, other| (badness(one), &one.host).cmp(&(badness(other), &other.host)));
    rows.truncate(TOP);
}

#[expect(clippy::ref_option, reason = "a rule gets the field")]
fn least(fairness: &mut Option<f64>, other: &Option<f64>) {
    *fairness = [*fairness, *other].into_iter().flatten().reduce(f64::min);
}

/// Keeps the hosts with the most requests. A host that both parts have gets one row.
fn most_requests(rows: &mut Vec<HostRow>, others: &[HostRow]) {
    let mut all: BTreeMap<String, HostRow> = BTreeMap::new();
    for row in rows.drain(..).chain(others.iter().cloned()) {
        match all.get_mut(&row.host) {
            Some(known) => known.add(&row),
            None => _ = all.insert(row.host.clone(), row),
        }
    }
    rows.extend(all.into_values());
    rows.sort_by_key(|row| Reverse(row.requests));
    rows.truncate(TOP);
}

fn by_range(buckets: &mut Vec<HostBucket>, others: &[HostBucket]) {
    let mut all: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for HostBucket { from, to, hosts } in buckets.drain(..).chain(others.iter().cloned()) {
        *all.entry((from, to)).or_default() += hosts;
    }
    buckets.extend(all.into_iter().map(|((from, to), hosts)| HostBucket { from, to, hosts }));
}

/// How many hosts had a number of requests in this range, requests for robots.txt included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HostBucket {
    /// The fewest requests of a host in this row.
    pub from: u64,
    /// The most requests of a host in this row.
    pub to: u64,
    /// The number of hosts in this range.
    pub hosts: u64,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HostRow {
    /// Scheme, host and port: `https://example.org`.
    pub host: String,
    /// Requests, those for robots.txt included.
    pub requests: u64,
    /// URLs waiting when the crawl ended.
    pub queued: u64,
    /// Its failures in a row when the crawl ended.
    pub failures: u32,
    /// The rest in force when the crawl ended, in microseconds.
    pub delay_us: u64,
    /// It could not be reached, and was given up.
    pub unreachable: bool,
    /// The last failure. Left out if the host does not fail.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl HostRow {
    /// Adds the row of the same host in another job.
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.queued += other.queued;
        self.failures = self.failures.max(other.failures);
        self.delay_us = self.delay_us.max(other.delay_us);
        self.unreachable |= other.unreachable;
    }
}
