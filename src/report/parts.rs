use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    Cost, HostRow, Hosts, Percentiles, Politeness, Report, Requests, Seeds, Settings, Simulated, TooEarly, Urls,
};
use crate::crawl::{
    CrawlOptions, FinishReason, Latencies, NameCounts, PolitenessWatch, Tally, Traffic, Violation, rfc3339,
};
use crate::frontier::{FrontierStatistics, HostStatistics, RefusalCounts, ScopeKind, Timestamp};
use crate::seen::SeenStatistics;

/// What a report is made from: each floor's own counters.
#[derive(Debug)]
pub struct Parts<'a> {
    /// Why the crawl ended.
    pub finish: FinishReason,
    /// When it began.
    pub started: Timestamp,
    /// How long it took.
    pub elapsed: Duration,
    /// What it was told.
    pub options: &'a CrawlOptions,
    /// What it started from.
    pub seeds: Seeds,
    /// URLs found.
    pub found: u64,
    /// URLs admitted.
    pub admitted: u64,
    /// URLs refused, by reason.
    pub refused: &'a RefusalCounts,
    /// Requests and responses.
    pub tally: &'a Tally,
    /// What is left in the frontier.
    pub frontier: FrontierStatistics,
    /// Hosts to show, most requests first.
    pub top_hosts: &'a [HostStatistics],
    /// The judge of the delays.
    pub politeness: &'a PolitenessWatch,
    /// The seen set.
    pub seen: SeenStatistics,
    /// What the crawl took of its machine.
    pub cost: Cost,
    /// What the simulated web knows.
    pub simulated: Option<Simulated>,
}

impl Report {
    /// Puts the parts together.
    pub fn new(parts: Parts<'_>) -> Self {
        let Parts { finish, started, elapsed, options, seeds, tally, frontier, seen, cost, simulated, .. } = parts;
        Self {
            version: Self::VERSION,
            crawler: env!("CARGO_PKG_VERSION").to_owned(),
            finish,
            started: rfc3339(started),
            finished: rfc3339(started + elapsed),
            elapsed_ms: millis(elapsed),
            settings: Settings::from(options),
            seeds,
            urls: Urls {
                found: parts.found,
                refused: parts.refused.iter().map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
                admitted: parts.admitted,
                fetched: tally.fetched,
                failed: tally.failed,
                queued: frontier.queued + frontier.leased,
            },
            pages: Requests::from(&tally.pages),
            robots: Requests::from(&tally.robots),
            hosts: Hosts {
                known: frontier.hosts,
                active: frontier.active_hosts,
                retired: frontier.retired_hosts,
                top: parts.top_hosts.iter().map(HostRow::from).collect(),
            },
            politeness: Politeness::from(parts.politeness),
            seen,
            cost,
            simulated,
        }
    }
}

impl From<&CrawlOptions> for Settings {
    fn from(options: &CrawlOptions) -> Self {
        let frontier = &options.frontier;
        Self {
            robots: frontier.politeness.robots,
            private_addresses: options.fetch.allow_private_addresses,
            scope: match frontier.scope.kind {
                ScopeKind::Any => "any",
                ScopeKind::Domain => "domain",
                ScopeKind::Host => "host",
                ScopeKind::Page => "page",
                ScopeKind::Prefix => "prefix",
            }
            .to_owned(),
            max_depth: frontier.scope.max_depth,
            max_pages: options.max_pages,
            max_duration_ms: options.max_duration.map(millis),
            workers: options.workers as u64,
            host_delay_ms: millis(frontier.politeness.host_delay),
            seen_layout: frontier.seen.layout.to_string(),
            user_agent: options.fetch.user_agent.clone(),
        }
    }
}

impl From<&Traffic> for Requests {
    fn from(traffic: &Traffic) -> Self {
        Self {
            requests: traffic.requests,
            retries: traffic.retries,
            redirects: traffic.redirects,
            truncated: traffic.truncated,
            wire_bytes: traffic.wire_bytes,
            decoded_bytes: traffic.decoded_bytes,
            statuses: traffic.statuses.clone(),
            errors: by_name(&traffic.errors),
            content_types: by_name(&traffic.content_types),
            first_byte: Percentiles::from(&traffic.first_byte),
            total: Percentiles::from(&traffic.total),
        }
    }
}

impl From<&Latencies> for Percentiles {
    fn from(latencies: &Latencies) -> Self {
        let quantile_us = |share| micros(latencies.quantile(share));
        Self {
            count: latencies.count(),
            p50_us: quantile_us(0.5),
            p90_us: quantile_us(0.9),
            p99_us: quantile_us(0.99),
            max_us: micros(latencies.longest()),
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
            delay_ms: millis(host.delay),
            retired: host.retired,
        }
    }
}

impl From<&PolitenessWatch> for Politeness {
    fn from(watch: &PolitenessWatch) -> Self {
        let worst = |Violation { host, waited, delay }: &Violation| TooEarly {
            host: host.to_string(),
            waited_us: micros(*waited),
            delay_us: micros(*delay),
        };
        Self { requests: watch.sends(), violations: watch.violations(), worst: watch.worst().map(worst) }
    }
}

/// No name of ours or of a media type is `other`: it is free for the folded ones.
fn by_name(counts: &NameCounts) -> BTreeMap<String, u64> {
    let other = Some(("other", counts.other())).filter(|&(_, count)| count > 0);
    counts.most_first().into_iter().chain(other).map(|(name, count)| (name.to_owned(), count)).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
