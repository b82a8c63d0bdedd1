//! Merges reports: of the parts of one crawl on many machines, or of several jobs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::format::{
    AnswerFigures, DuplicateFigures, HostBucket, HostFigures, HostRow, OtherSets, PolitenessFigures, RecrawlFigures,
    Report, Requests, Simulated, TOP, TooEarly, Urls,
};
#[cfg(feature = "cluster")]
use super::times::Histograms;
use super::times::{NAMES, Percentiles};
#[cfg(feature = "cluster")]
use crate::crawl::{Carried, Timeline};
use crate::crawl::{CheckpointCosts, Cost, FinishReason, NameCounts, merge_examples, micros};
use crate::frontier::Timestamp;
use crate::seen::{SeenStatistics, ShardStatistics};

impl Report {
    /// Adds the report of another part of the crawl, which another machine, partition or job crawled. The parts should have no host in
    /// common: a host of both counts twice, but has one row among the hosts with the most requests.
    ///
    /// Counts and memory are summed. Percentiles are computed from the times of both. The crawl begins with the first part, and lasts until
    /// the end of the last one. Where a sum makes no sense, the worse value counts: the reason for the end, the fairness, the longest wait.
    /// The seen set has the shards of both, and its other numbers are computed anew from them. Settings are those of this part, with three
    /// exceptions: robots.txt was honored if both honored it, private addresses were allowed if either allowed them, and workers are
    /// summed.
    ///
    /// The order of merging does not matter, except for the settings and the three examples of each error, which come from the first parts.
    /// The sums of names are always exact; beyond [`NameCounts::MOST`] names of one kind, the rare names are counted together.
    pub fn merge(&mut self, mut other: Self) {
        let (began, others_began) = (began(&self.started), began(&other.started));
        let first = began.min(others_began);
        let [late, others_late] = [began, others_began].map(|began| micros(began.since(first)));
        self.timeline.merge(late, &other.timeline, others_late);
        let ends = [self.elapsed_us.saturating_add(late), other.elapsed_us.saturating_add(others_late)];
        self.elapsed_us = ends[0].max(ends[1]);
        if others_began < began {
            self.started.clone_from(&other.started);
        }
        self.finished = std::mem::take(&mut self.finished).max(other.finished.clone());
        self.crawler = std::mem::take(&mut self.crawler).max(other.crawler.clone());
        self.finish =
            [self.finish, other.finish].into_iter().max_by_key(|reason| gravity(*reason)).unwrap_or(self.finish);
        self.resumes += other.resumes;
        self.settings.robots &= other.settings.robots;
        self.settings.private_addresses |= other.settings.private_addresses;
        self.settings.workers += other.settings.workers;
        self.seeds.taken += other.seeds.taken;
        self.seeds.refused += other.seeds.refused;
        self.urls.merge(&other.urls);
        self.pages.merge(&other.pages);
        self.asked_again.merge(&other.asked_again);
        self.guesses.merge(&other.guesses);
        self.robots.merge(&other.robots);
        self.breakdown.merge(&other.breakdown);
        self.sitemaps.merge(other.sitemaps);
        self.duplicates.merge(other.duplicates);
        self.recrawl = both(self.recrawl, other.recrawl, RecrawlFigures::beside);
        self.hosts.merge(&other.hosts);
        self.politeness.merge(&other.politeness);
        merge_seen(&mut self.seen, &other.seen);
        self.other_sets.merge(other.other_sets);
        for (name, end) in &other.outputs {
            let sum = self.outputs.entry(name.clone()).or_default();
            (sum.bytes, sum.pages) = (sum.bytes + end.bytes, sum.pages + end.pages);
        }
        self.checkpoints = both(self.checkpoints, other.checkpoints, CheckpointCosts::beside);
        self.cost = self.cost.beside(other.cost);
        self.simulated = both(self.simulated, other.simulated, Simulated::beside);
        let mut histograms = std::mem::take(&mut self.histograms);
        let others = std::mem::take(&mut other.histograms);
        histograms.merge(self.percentiles(), (&others, other.percentiles()));
        self.histograms = histograms;
    }

    /// Removes the long parts that the crawl also carries to its next owner.
    #[cfg(feature = "cluster")]
    pub(crate) fn shorten(&mut self) {
        (self.timeline, self.histograms) = (Timeline::default(), Histograms::default());
    }

    /// Restores the parts that were removed, from those that the crawl has carried.
    #[cfg(feature = "cluster")]
    pub(crate) fn complete(&mut self, carried: Carried) {
        (self.timeline, self.histograms) = (carried.timeline, Histograms::of(&carried.tally));
    }

    /// All percentiles, in the order of their names.
    fn percentiles(&mut self) -> [&mut Percentiles; NAMES.len()] {
        let Self { pages, robots, connections, waits, .. } = self;
        [
            &mut pages.first_byte,
            &mut pages.whole,
            &mut robots.first_byte,
            &mut robots.whole,
            &mut connections.lookup,
            &mut connections.connect,
            &mut connections.tls,
            &mut waits.queued,
            &mut waits.rested,
            &mut waits.due,
        ]
    }
}

/// How bad the end of a crawl is.
fn gravity(reason: FinishReason) -> u8 {
    match reason {
        FinishReason::Drained => 0,
        FinishReason::MaxPages => 1,
        FinishReason::MaxDuration => 2,
        FinishReason::ReaderLeft => 3,
        FinishReason::Stopped => 4,
        FinishReason::Unfinished => 5,
        FinishReason::SeenFull => 6,
        FinishReason::ProxyFailed => 7,
        FinishReason::DiskLow => 8,
        FinishReason::SinkFailed => 9,
        FinishReason::StorageFailed => 10,
    }
}

fn began(started: &str) -> Timestamp {
    Timestamp::read(started).unwrap_or_default()
}

/// Merges two values; a value that only one has stays as it is.
fn both<T>(one: Option<T>, other: Option<T>, merge: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(merge(one, other)),
        (one, other) => one.or(other),
    }
}

fn sum<K: Ord + Clone>(counts: &mut BTreeMap<K, u64>, others: &BTreeMap<K, u64>) {
    for (name, count) in others {
        let sum = counts.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*count);
    }
}

/// Sums counts by names from the web, and bounds how many names there are.
fn sum_bounded(counts: &mut BTreeMap<String, u64>, others: &BTreeMap<String, u64>) {
    sum(counts, others);
    if counts.len() > NameCounts::MOST {
        let rare = most_first(counts).split_off(NameCounts::MOST / 2);
        for name in rare.into_iter().filter(|name| name != "other") {
            let count = counts.remove(&name).unwrap_or_default();
            *counts.entry("other".to_owned()).or_default() += count;
        }
    }
}

/// The names, highest count first, then in their order.
fn most_first(counts: &BTreeMap<String, u64>) -> Vec<String> {
    let mut names: Vec<_> = counts.iter().collect();
    names.sort_by_key(|&(_, &count)| Reverse(count));
    names.into_iter().map(|(name, _)| name.clone()).collect()
}

impl Urls {
    fn merge(&mut self, other: &Self) {
        for (ours, others) in [
            (&mut self.found, other.found),
            (&mut self.admitted, other.admitted),
            (&mut self.fetched, other.fetched),
            (&mut self.failed, other.failed),
            (&mut self.unwanted, other.unwanted),
            (&mut self.queued, other.queued),
            (&mut self.in_flight, other.in_flight),
            (&mut self.sources.seeds, other.sources.seeds),
            (&mut self.userinfo, other.userinfo),
        ] {
            *ours += others;
        }
        self.sources.found.merge(other.sources.found);
        sum(&mut self.refused, &other.refused);
        sum(&mut self.unreachable, &other.unreachable);
        sum(&mut self.statuses, &other.statuses);
        sum(&mut self.errors, &other.errors);
        self.failed_pages.extend(other.failed_pages.iter().cloned());
        // Sorted by URL, so that it does not matter which part comes first.
        self.failed_pages.sort_by(|one, other| one.url.cmp(&other.url));
        self.failed_pages.truncate(TOP);
        for (ours, others) in [(&mut self.refused_shapes, &other.refused_shapes), (&mut self.left_out, &other.left_out)]
        {
            sum(ours, others);
            // A shape begins with its host, so it belongs to one part alone.
            for rare in most_first(ours).into_iter().skip(TOP) {
                ours.remove(&rare);
            }
        }
    }
}

impl AnswerFigures {
    fn merge(&mut self, other: &Self) {
        sum(&mut self.statuses, &other.statuses);
        sum(&mut self.errors, &other.errors);
    }
}

impl Requests {
    /// Percentiles are merged separately.
    fn merge(&mut self, other: &Self) {
        for (ours, others) in [
            (&mut self.requests, other.requests),
            (&mut self.retries, other.retries),
            (&mut self.redirects, other.redirects),
            (&mut self.truncated, other.truncated),
            (&mut self.lenient, other.lenient),
            (&mut self.wire_bytes, other.wire_bytes),
            (&mut self.decoded_bytes, other.decoded_bytes),
        ] {
            *ours += others;
        }
        sum(&mut self.statuses, &other.statuses);
        sum(&mut self.errors, &other.errors);
        sum(&mut self.unwanted, &other.unwanted);
        sum_bounded(&mut self.content_types, &other.content_types);
        merge_examples(&mut self.examples, &other.examples);
    }
}

impl DuplicateFigures {
    fn merge(&mut self, other: Self) {
        (self.same, self.near, self.bytes) = (self.same + other.same, self.near + other.near, self.bytes + other.bytes);
        let rate = &mut self.false_positive_rate_estimated;
        *rate = rate.max(other.false_positive_rate_estimated);
        self.expected_lost += other.expected_lost;
    }
}

impl RecrawlFigures {
    fn beside(self, other: Self) -> Self {
        let mut counts = self.counts;
        counts.merge(other.counts);
        let sum = |one: u64, other: u64| one + other;
        Self { known: both(self.known, other.known, sum), unmet: both(self.unmet, other.unmet, sum), counts }
    }
}

impl HostFigures {
    fn merge(&mut self, other: &Self) {
        for (ours, others) in [
            (&mut self.known, other.known),
            (&mut self.in_memory, other.in_memory),
            (&mut self.active, other.active),
            (&mut self.resting, other.resting),
            (&mut self.failing, other.failing),
            (&mut self.unreachable, other.unreachable),
            (&mut self.refusing, other.refusing),
        ] {
            *ours += others;
        }
        self.refusing_hosts.extend(other.refusing_hosts.iter().cloned());
        self.refusing_hosts.sort_by(|one, other| (other.refused, &one.host).cmp(&(one.refused, &other.host)));
        self.refusing_hosts.truncate(TOP);
        self.in_trouble.extend(other.in_trouble.iter().cloned());
        let worst = |row: &HostRow| Reverse((row.unreachable, row.queued, row.requests));
        self.in_trouble.sort_by(|one, other| (worst(one), &one.host).cmp(&(worst(other), &other.host)));
        self.in_trouble.truncate(TOP);
        self.fairness = both(self.fairness, other.fairness, f64::min);
        self.longest_due_us = self.longest_due_us.max(other.longest_due_us);
        let mut rows: BTreeMap<String, HostRow> = BTreeMap::new();
        for row in self.top.drain(..).chain(other.top.iter().cloned()) {
            match rows.get_mut(&row.host) {
                Some(known) => known.add(&row),
                None => _ = rows.insert(row.host.clone(), row),
            }
        }
        self.top = rows.into_values().collect();
        self.top.sort_by_key(|row| Reverse(row.requests));
        self.top.truncate(TOP);
        let mut buckets: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for HostBucket { from, to, hosts } in self.by_requests.drain(..).chain(other.by_requests.iter().cloned()) {
            *buckets.entry((from, to)).or_default() += hosts;
        }
        self.by_requests = buckets.into_iter().map(|((from, to), hosts)| HostBucket { from, to, hosts }).collect();
    }
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

impl PolitenessFigures {
    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.by_address += other.by_address;
        self.violations += other.violations;
        let badness = |worst: &TooEarly| {
            (worst.taken, worst.delay_us.saturating_sub(worst.waited_us), Reverse(worst.host.clone()))
        };
        self.worst = [self.worst.take(), other.worst.clone()].into_iter().flatten().max_by_key(badness);
    }
}

/// Takes the shards of both; the other numbers are computed anew from them.
fn merge_seen(seen: &mut SeenStatistics, other: &SeenStatistics) {
    let shards: Vec<ShardStatistics> = seen.shards.drain(..).chain(other.shards.iter().cloned()).collect();
    *seen = SeenStatistics::new(shards, seen.recent_hits + other.recent_hits);
}

impl OtherSets {
    fn merge(&mut self, other: Self) {
        self.urls_bytes += other.urls_bytes;
        self.md5_bytes += other.md5_bytes;
        self.sha1_bytes += other.sha1_bytes;
    }
}

impl Cost {
    fn beside(self, other: Self) -> Self {
        let sum = |one: u64, other: u64| one + other;
        Self {
            cpu_us: both(self.cpu_us, other.cpu_us, sum),
            peak_memory_bytes: both(self.peak_memory_bytes, other.peak_memory_bytes, sum),
        }
    }
}

impl Simulated {
    fn beside(self, other: Self) -> Self {
        Self {
            reachable: self.reachable + other.reachable,
            fetched: self.fetched + other.fetched,
            missed: self.missed + other.missed,
            missed_by_filter: self.missed_by_filter + other.missed_by_filter,
            fetched_twice: self.fetched_twice + other.fetched_twice,
            against_robots: self.against_robots + other.against_robots,
            trapped: self.trapped + other.trapped,
            requests: self.requests + other.requests,
            unknown_urls: self.unknown_urls + other.unknown_urls,
            interval_violations: self.interval_violations + other.interval_violations,
        }
    }
}
