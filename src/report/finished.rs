//! Makes the report of a crawl from its counters, at its end or so far.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::format::{
    DuplicateFigures, OtherSets, PolitenessFigures, RecrawlFigures, Report, Settings, Simulated, Sources, TooEarly,
    Urls,
};
use super::hosts::{HostBucket, HostFigures, HostRow, TOP};
use crate::crawl::{Cost, CrawlOptions, DuplicateCounts, Finished, NameCounts, RecrawlCounts, Violation, micros};
use crate::driver::HostStatistics;
use crate::frontier::Trouble;
use crate::seen::{SeenSet, ShardStatistics};

impl Report {
    /// Makes the report of a crawl. `simulated` has the counts of the simulated web, if there is one.
    pub fn of(finished: &Finished, options: &CrawlOptions, cost: Cost, simulated: Option<Simulated>) -> Self {
        let Finished { tally, frontier, gate, .. } = finished;
        Self {
            version: Self::VERSION,
            crawler: env!("CARGO_PKG_VERSION").to_owned(),
            finish: finished.reason,
            started: finished.started.to_string(),
            finished: finished.ended.to_string(),
            elapsed_us: micros(finished.elapsed),
            resumes: finished.resumes,
            settings: Settings::from(options),
            seeds: finished.seeds,
            urls: Urls {
                found: gate.found(),
                refused: gate.refusals().iter().map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
                admitted: gate.admitted(),
                counts: tally.urls.clone(),
                statuses: tally.done.statuses.clone(),
                errors: tally.done.errors.clone(),
                failed_pages: tally.failed_pages.pages().to_vec(),
                queued: frontier.queued + frontier.scheduled + frontier.leased,
                in_flight: frontier.leased,
                sources: Sources { seeds: finished.seeds.taken, found: tally.sources },
                userinfo: tally.links.userinfo,
                refused_shapes: top(&tally.refused_shapes),
                left_out: finished.spent_hosts.iter().map(|host| (host.host.to_string(), host.left_out)).collect(),
            },
            pages: tally.pages.clone(),
            asked_again: tally.asked_again.clone(),
            guesses: tally.guesses.clone(),
            robots: tally.robots.clone(),
            breakdown: tally.breakdown.clone(),
            connections: tally.connections.clone(),
            waits: tally.waits.clone(),
            sitemaps: tally.sitemaps,
            duplicates: DuplicateFigures::of(tally.duplicates, gate.contents()),
            challenges: tally.challenges.clone(),
            preferences: tally.preferences.iter().map(|(said, pages)| (said.clone(), *pages)).collect(),
            signed: Some(tally.signed.clone()).filter(|signed| signed.requests > 0),
            recrawl: RecrawlFigures::of(finished),
            hosts: HostFigures {
                known: frontier.hosts,
                in_memory: frontier.hosts_in_memory,
                active: frontier.active_hosts,
                resting: frontier.resting_hosts,
                failing: frontier.failing_hosts,
                unreachable: frontier.retired_hosts,
                refusing: tally.answers.refusing(),
                refusing_hosts: tally.answers.top(TOP),
                in_trouble: finished.failing_hosts.iter().map(HostRow::from).collect(),
                fairness: finished.fairness,
                longest_due_us: finished.longest_due.map(micros),
                top: finished.top_hosts.iter().map(HostRow::from).collect(),
                by_requests: finished.hosts_by_requests.iter().cloned().map(HostBucket::from).collect(),
            },
            politeness: PolitenessFigures {
                counts: finished.politeness,
                worst: finished.worst_violation.as_ref().map(TooEarly::from),
            },
            seen: gate.seen().statistics(),
            other_sets: OtherSets::of(gate.seen(), tally),
            timeline: finished.timeline.clone(),
            outputs: finished.outputs.clone(),
            checkpoints: finished.checkpoints,
            cost,
            simulated,
        }
    }
}

impl DuplicateFigures {
    fn of(counts: DuplicateCounts, contents: &SeenSet) -> Self {
        let ShardStatistics { bytes, false_positive_rate_estimated, expected_lost, .. } = contents.statistics().merged;
        Self { counts, bytes, false_positive_rate_estimated, expected_lost }
    }
}

impl RecrawlFigures {
    fn of(finished: &Finished) -> Option<Self> {
        let (known, counts) = (finished.known, finished.tally.recrawl);
        let unmet = known.map(|known| known.saturating_sub(counts.met()));
        (known.is_some() || counts != RecrawlCounts::default()).then_some(Self { known, unmet, counts })
    }
}

impl From<&CrawlOptions> for Settings {
    fn from(options: &CrawlOptions) -> Self {
        let frontier = &options.frontier;
        Self {
            robots: frontier.politeness.robots,
            private_addresses: options.fetch.allow_private_addresses,
            insecure: options.fetch.insecure,
            insecure_hosts: options.fetch.access.insecure(),
            ca_files: options.fetch.ca_files.iter().map(|file| file.display().to_string()).collect(),
            scope: frontier.scope.kind.name().to_owned(),
            max_depth: frontier.scope.max_depth,
            max_pages: options.max_pages,
            max_duration_us: options.max_duration.map(micros),
            workers: options.workers.unwrap_or_default() as u64,
            host_delay_us: micros(frontier.politeness.host_delay),
            connections_per_host: frontier.politeness.connections_per_host,
            address_delay_us: frontier.politeness.address_delay.map(micros),
            connections_per_address: frontier.politeness.connections_per_address,
            seen_layout: frontier.seen.layout.to_string(),
            user_agent: options.fetch.user_agent.clone(),
        }
    }
}

impl From<&HostStatistics> for HostRow {
    fn from(host: &HostStatistics) -> Self {
        Self {
            host: host.host.to_string(),
            requests: host.requests,
            queued: host.queued,
            failures: host.failures,
            delay_us: micros(host.delay),
            unreachable: host.retired,
            reason: host.trouble.as_ref().map(trouble_text).unwrap_or_default(),
        }
    }
}

impl From<(RangeInclusive<u64>, u64)> for HostBucket {
    fn from((requests, hosts): (RangeInclusive<u64>, u64)) -> Self {
        Self { from: *requests.start(), to: *requests.end(), hosts }
    }
}

impl From<&Violation> for TooEarly {
    fn from(violation: &Violation) -> Self {
        Self {
            host: violation.host.to_string(),
            waited_us: micros(violation.waited),
            delay_us: micros(violation.delay),
            taken: violation.taken,
        }
    }
}

/// A failure's name, and its message.
fn trouble_text(trouble: &Trouble) -> String {
    let name = trouble.failure.name();
    if trouble.words.is_empty() { name.to_owned() } else { format!("{name}: {}", trouble.words) }
}

/// The most frequent names.
fn top(counts: &NameCounts) -> BTreeMap<String, u64> {
    counts.most_first().into_iter().take(TOP).map(|(name, count)| (name.to_owned(), count)).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::address::{Canonicalizer, HostKey, KeyRules};
    use crate::crawl::{FinishReason, PageRecord, Percentiles, PolitenessWatch, SeedCounts, Tally};
    use crate::frontier::{Frontier, FrontierStatistics, Timestamp};

    fn host() -> HostKey {
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize("http://a.test/");
        url.expect("an address").host_key()
    }

    #[test]
    fn each_part_is_where_the_format_says() {
        let mut tally = Tally::default();
        let mut page = PageRecord { status: Some(200), wire_bytes: 7, bytes: 9, ..PageRecord::default() };
        page.content_type = Some("text/html".to_owned());
        for ms in 1..=100 {
            page.timings.first_byte_us = ms * 1000;
            tally.record_page(true, &page);
        }
        let lost = PageRecord { error: Some("dns".to_owned()), ..PageRecord::default() };
        tally.record_page(true, &lost);
        tally.robots.record(true, &lost);

        let mut politeness = PolitenessWatch::default();
        politeness.sent(host().as_str(), Timestamp::from_micros(0), Duration::ZERO);
        politeness.sent(host().as_str(), Timestamp::from_micros(250), Duration::from_millis(1));
        let delay = Duration::from_millis(1500);
        let top = HostStatistics {
            host: host(),
            requests: 102,
            queued: 3,
            pages: 100,
            bytes: 9_000,
            left_out: 0,
            failures: 1,
            delay,
            retired: true,
            trouble: None,
        };
        let mut options = CrawlOptions::default();
        options.frontier.politeness.robots = false;

        let frontier = Frontier::new(&options.frontier).expect("the defaults");
        let mut statistics = FrontierStatistics::default();
        (statistics.queued, statistics.leased, statistics.hosts, statistics.retired_hosts) = (3, 2, 5, 1);
        let finished = Finished {
            reason: FinishReason::MaxPages,
            started: Timestamp::from_micros(1_794_304_800_000_000),
            elapsed: Duration::from_millis(90_500),
            seeds: SeedCounts { taken: 2, refused: 1 },
            frontier: statistics,
            top_hosts: vec![top],
            politeness: politeness.counts(),
            worst_violation: politeness.worst().cloned(),
            ..Finished::of(&frontier, tally, Timestamp::from_micros(1_794_304_890_500_000))
        };
        let report = Report::of(&finished, &options, Cost { cpu_us: Some(4000), peak_memory_bytes: None }, None);

        assert_eq!((report.version, report.finish), (1, FinishReason::MaxPages));
        assert_eq!([&*report.started, &report.finished], ["2026-11-10T10:00:00.000Z", "2026-11-10T10:01:30.500Z"]);
        assert_eq!((report.elapsed_us, report.settings.robots, &*report.settings.scope), (90_500_000, false, "host"));
        assert_eq!((report.urls.counts.fetched, report.urls.counts.failed, report.urls.queued), (100, 1, 5));
        assert_eq!((report.pages.requests, report.robots.requests), (101, 1));
        assert_eq!((report.pages.wire_bytes, report.pages.decoded_bytes), (700, 900));
        assert_eq!(report.pages.content_types, NameCounts::from_iter([("text/html".to_owned(), 100)]));
        assert_eq!(report.robots.errors, NameCounts::from_iter([("dns".to_owned(), 1)]));
        let Percentiles { count, p50_us, p90_us, p99_us, max_us, .. } = report.pages.first_byte.percentiles();
        assert_eq!(count, 100);
        for (ours, exact) in [(p50_us, 50_000), (p90_us, 90_000), (p99_us, 99_000), (max_us, 100_000)] {
            assert!(ours.abs_diff(exact) <= exact / 1000, "{ours} for {exact}");
        }
        let row = HostRow {
            host: "http://a.test".to_owned(),
            requests: 102,
            queued: 3,
            failures: 1,
            delay_us: 1_500_000,
            unreachable: true,
            reason: String::new(),
        };
        assert_eq!((report.hosts.known, report.hosts.unreachable, report.hosts.top), (5, 1, vec![row]));
        let worst = TooEarly { host: "http://a.test".to_owned(), waited_us: 250, delay_us: 1000, taken: 0 };
        assert_eq!((report.politeness.counts.violations, report.politeness.worst), (1, Some(worst)));
    }
}
