//! The fields of a report: the format of `report.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::times::{ConnectionFigures, Histograms, Percentiles, WaitFigures};
use crate::crawl::{
    Breakdown, CheckpointCosts, Cost, Example, FailedPage, FinishReason, OutputEnd, RecrawlCounts, RefusingHost,
    SeedCounts, SitemapCounts, SourceCounts, Tally, Timeline, is_zero,
};
use crate::seen::{SeenSet, SeenStatistics};

/// A list of the most frequent names, and a table of counts, has at most this many rows.
pub(super) const TOP: usize = 10;

/// A crawl in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The format's version.
    pub version: u32,
    /// The version of the crate that crawled.
    pub crawler: String,
    /// Why the crawl ended: `drained`, `disk_low`, `max_pages`, `max_duration`, `seen_full`, `stopped`,
    /// `sink_failed` or `storage_failed`.
    pub finish: FinishReason,
    /// When it began: RFC 3339, UTC, milliseconds.
    pub started: String,
    /// When it ended, likewise.
    pub finished: String,
    /// Microseconds that all runs took together, by a clock that is never set.
    pub elapsed_us: u64,
    /// Runs but the first: how often the job was resumed.
    #[serde(default)]
    pub resumes: u64,
    /// The settings that change how the numbers are to be read.
    pub settings: Settings,
    /// The seeds that the user gave.
    pub seeds: SeedCounts,
    /// What became of the URLs.
    pub urls: Urls,
    /// All requests for pages and sitemaps: tries after which a URL was done, tries after which it was asked for again, and guesses of
    /// sitemaps.
    pub pages: Requests,
    /// Of these requests, the ones after which the URL was asked for again: a try that failed, or a redirect to another spelling of it.
    #[serde(default)]
    pub asked_again: AnswerFigures,
    /// Of these requests, the ones for guessed sitemaps that were none. Such a URL has no record.
    #[serde(default)]
    pub guesses: AnswerFigures,
    /// Requests for robots.txt.
    pub robots: Requests,
    /// What came back for pages and sitemaps that are done, by depth and type.
    #[serde(default)]
    pub breakdown: Breakdown,
    /// How long it took to reach servers.
    #[serde(default)]
    pub connections: ConnectionFigures,
    /// How long URLs and hosts waited.
    #[serde(default)]
    pub waits: WaitFigures,
    /// Sitemaps and feeds.
    #[serde(default)]
    pub sitemaps: SitemapCounts,
    /// Pages that say what another one said.
    #[serde(default)]
    pub duplicates: DuplicateFigures,
    /// What has become of pages since their last visit. Left out where none was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recrawl: Option<RecrawlFigures>,
    /// The hosts.
    pub hosts: HostFigures,
    /// Whether requests came too early.
    pub politeness: PolitenessFigures,
    /// The seen filter: all shards as one, then each.
    pub seen: SeenStatistics,
    /// What other sets of the same URLs would take in memory.
    #[serde(default)]
    pub other_sets: OtherSets,
    /// The numbers over time.
    #[serde(default)]
    pub timeline: Timeline,
    /// What the job's outputs hold, by their names. Left out where the crawl was not kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, OutputEnd>,
    /// What the last run's checkpoints have cost; `null` where the crawl was not kept.
    #[serde(default)]
    pub checkpoints: Option<CheckpointCosts>,
    /// The time and memory that the last run took.
    pub cost: Cost,
    /// What the simulated web knows of the crawl; `null` for the real web.
    pub simulated: Option<Simulated>,
    /// The times behind the percentiles, by their names, as `1200*3 +5`: microseconds, or how many more, and how often. Reports are merged by
    /// them.
    #[serde(default, skip_serializing_if = "Histograms::is_empty")]
    #[cfg_attr(feature = "cli", schemars(with = "BTreeMap<String, String>"))]
    pub(super) histograms: Histograms,
}

impl Report {
    /// The format that is written, and the latest that can be read.
    pub const VERSION: u32 = 1;
}

/// Pages that say what another one said, as the second seen set tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DuplicateFigures {
    /// Pages with the body of another one.
    pub same: u64,
    /// Pages with the words of another one, numbers apart.
    pub near: u64,
    /// Memory of the second seen set, of what pages say, in bytes.
    pub bytes: u64,
    /// The share of what is new that the set takes for said before, now, 0 to 1.
    pub false_positive_rate_estimated: f64,
    /// How many bodies and texts it took for said before, though they were new. An expectation, not a count.
    pub expected_lost: f64,
}

/// What has become of pages since their last visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RecrawlFigures {
    /// Pages that the job had that was crawled again; `null` where there is none.
    pub known: Option<u64>,
    /// How many of these were not met: nothing leads to them any more, or the crawl ended before. `crawler unmet` lists them.
    pub unmet: Option<u64>,
    /// The pages that were met.
    #[serde(flatten)]
    pub counts: RecrawlCounts,
}

/// Settings that change how the numbers are to be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Settings {
    /// robots.txt was honored.
    pub robots: bool,
    /// Private, loopback and link-local addresses were allowed.
    pub private_addresses: bool,
    /// The certificates of no host were checked.
    #[serde(default)]
    pub insecure: bool,
    /// Names of the rules by whose hosts certificates were not checked: of hosts, and of groups. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub insecure_hosts: Vec<String>,
    /// Files of authorities that were trusted beside the system's. Left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ca_files: Vec<String>,
    /// How far it went from the seeds: `page`, `prefix`, `host`, `domain` or `any`.
    pub scope: String,
    /// Links from a seed at most; `null` is no limit.
    pub max_depth: Option<u32>,
    /// Page records at most; `null` is no limit.
    pub max_pages: Option<u64>,
    /// Microseconds at most; `null` is no limit.
    pub max_duration_us: Option<u64>,
    /// Fetches under way at once, at most.
    pub workers: u64,
    /// Microseconds between two requests to a host, unless its robots.txt asks for a longer one.
    pub host_delay_us: u64,
    /// Requests of one host that may be out at the same time.
    pub connections_per_host: u8,
    /// Microseconds between two requests to an IP address; `null` for 100 ms where hosts are not asked more quickly, and none on loopback.
    pub address_delay_us: Option<u64>,
    /// Requests to one IP address that may be out at the same time.
    pub connections_per_address: u8,
    /// The layout of the seen filter: `blocked`, `exact`, and so on.
    pub seen_layout: String,
    /// The User-Agent header.
    pub user_agent: String,
}

/// What became of the URLs. `found` is the sum of `admitted` and all of `refused`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Urls {
    /// Found on pages, in redirects and as seeds. A URL counts each time it is found.
    pub found: u64,
    /// Refused, by the name of the [`Refusal`](crate::gate::Refusal).
    pub refused: BTreeMap<String, u64>,
    /// New and in scope, without those that robots.txt refused later.
    pub admitted: u64,
    /// Fetched, whatever the status: records without an error.
    pub fetched: u64,
    /// Tried without getting a whole response.
    pub failed: u64,
    /// What was `fetched`, by HTTP status: each URL once, and its last answer. Pages with 400 and more have failed: `crawler broken` lists them.
    #[serde(default)]
    pub statuses: BTreeMap<u16, u64>,
    /// What has `failed`, by the kind of error: each URL once, and its last try.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// The first pages that failed, by an error or a status of 400 or more, each with the page that links there. `crawler broken` lists all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_pages: Vec<FailedPage>,
    /// Refused by type or size once their heads had come: `fetch.types` and `fetch.max_bytes`.
    #[serde(default)]
    pub unwanted: u64,
    /// Given up because their hosts could not be reached, by the kind of error. A resume asks for them again.
    pub unreachable: BTreeMap<String, u64>,
    /// Waiting or in flight when the crawl ended.
    pub queued: u64,
    /// Those of them that were in flight.
    #[serde(default)]
    pub in_flight: u64,
    /// Those admitted, by where they were found first. robots.txt may have turned some of them away later.
    #[serde(default)]
    pub sources: Sources,
    /// Links with a user name or a password, which are not sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub userinfo: u64,
    /// URLs refused because a budget was spent, by what it was a budget of, with numbers and ids taken out: `a.example/calendar/#`. The ten
    /// with most URLs. Where there are more than 64, a count may be too high.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused_shapes: BTreeMap<String, u64>,
    /// URLs that are refused as `host_pages` or `host_bytes`, by their hosts: the ten with most. They wait for a run that allows more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
}

/// Where URLs were found that were new and in scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Sources {
    /// Seeds, which the user gave.
    pub seeds: u64,
    /// On pages, in sitemaps and feeds, and where responses point to.
    #[serde(flatten)]
    pub found: SourceCounts,
}

/// Requests, by what came of them: each is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AnswerFigures {
    /// Whole answers, by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a whole answer, by the kind of error.
    pub errors: BTreeMap<String, u64>,
}

/// Requests of one kind, and what came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Requests {
    /// Requests. Retries count, and so do requests that reached no server.
    pub requests: u64,
    /// Requests after which the URL was to be tried again. Many of them are a network or a host that is not well: see `errors`.
    pub retries: u64,
    /// Responses that pointed elsewhere.
    pub redirects: u64,
    /// Bodies cut at `fetch.max_body_bytes`.
    pub truncated: u64,
    /// Responses that were not framed as RFC 9112 has it, or not in the coding that they name, and were read as browsers read them.
    #[serde(default)]
    pub lenient: u64,
    /// Bytes of bodies on the wire.
    pub wire_bytes: u64,
    /// Bytes of bodies, decoded.
    pub decoded_bytes: u64,
    /// Responses by HTTP status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without a whole response, by the kind of error.
    pub errors: BTreeMap<String, u64>,
    /// Responses refused by type or size: `unwanted_type` and `too_large`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unwanted: BTreeMap<String, u64>,
    /// The first of them, by the same names: three of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<String, Vec<Example>>,
    /// Responses by media type. `missing` and `invalid` are no types. `other` counts the rare types together where there are too many of
    /// them; the count of a type is a lower bound then.
    pub content_types: BTreeMap<String, u64>,
    /// From the request sent to the response's head.
    pub first_byte: Percentiles,
    /// From the request sent to the end of a whole body.
    pub whole: Percentiles,
}

/// The hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HostFigures {
    /// Hosts known.
    pub known: u64,
    /// Hosts in memory when the crawl ended. The others were evicted to disk.
    pub in_memory: u64,
    /// Hosts with URLs waiting when the crawl ended.
    pub active: u64,
    /// Those of them whose rest was not over.
    #[serde(default)]
    pub resting: u64,
    /// Of the hosts that rest, the ones that failed and are to be tried again.
    #[serde(default)]
    pub failing: u64,
    /// Hosts that could not be reached, and were not asked again. `crawler resume` asks them anew.
    pub unreachable: u64,
    /// Hosts that refuse us: most of their answers to requests for pages were 401, 403, 407, 429, 451 or a challenge. A crawl that is drained
    /// has not all of what they have.
    #[serde(default)]
    pub refusing: u64,
    /// The hosts with most refusals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refusing_hosts: Vec<RefusingHost>,
    /// Hosts that fail or cannot be reached, with their reasons: the worst ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_trouble: Vec<HostRow>,
    /// How fairly hosts with URLs waiting were asked: Jain's index of their requests, 1 where all had as many, and 1/n where one of n had them
    /// all. `null` where fewer than two wait.
    #[serde(default)]
    pub fairness: Option<f64>,
    /// How long a host that might be asked had waited for its turn when the crawl ended, the longest of a sample; `null` where none was due.
    #[serde(default)]
    pub longest_due_us: Option<u64>,
    /// The hosts with the most requests, most first.
    pub top: Vec<HostRow>,
    /// How many hosts had how many requests, fewest first.
    pub by_requests: Vec<HostBucket>,
}

/// How many hosts had a number of requests in this range. Requests for robots.txt count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HostBucket {
    /// The least requests of a host in this row.
    pub from: u64,
    /// The most requests of a host in this row.
    pub to: u64,
    /// Hosts that had so many.
    pub hosts: u64,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HostRow {
    /// Scheme, host and port: `https://example.org`.
    pub host: String,
    /// Requests. Those for robots.txt count.
    pub requests: u64,
    /// URLs waiting when the crawl ended.
    pub queued: u64,
    /// Its failures in a row when the crawl ended.
    pub failures: u32,
    /// Microseconds of the rest in force when the crawl ended.
    pub delay_us: u64,
    /// It could not be reached, and was not asked again.
    pub unreachable: bool,
    /// Why it fails: the last failure. Left out where it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Whether requests came too early, judged from the times at which they were really sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PolitenessFigures {
    /// Requests that were sent and judged.
    pub requests: u64,
    /// Those that were judged by their IP address too.
    pub by_address: u64,
    /// Requests that came too early, or while as many were out as may be. Anything but zero is a fault of this program.
    pub violations: u64,
    /// The worst of them.
    pub worst: Option<TooEarly>,
}

/// A request that was sent before its host's rest was over, or while its host's connections were taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TooEarly {
    /// Scheme, host and port; or `group NAME`, or `address IP`.
    pub host: String,
    /// Microseconds that the host rested.
    pub waited_us: u64,
    /// Microseconds that it should have rested.
    pub delay_us: u64,
    /// Connections of the host that were taken at once, where these were more than it may have.
    pub taken: u32,
}

/// What a simulated web knows of the crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Simulated {
    /// Pages that can be reached from the seeds, and are allowed.
    pub reachable: u64,
    /// How many of these were fetched.
    pub fetched: u64,
    /// How many of these were not fetched.
    pub missed: u64,
    /// How many of the missed pages the filter lost: it took them for seen, or they can be reached only through such pages.
    pub missed_by_filter: u64,
    /// Pages fetched more than once.
    pub fetched_twice: u64,
    /// Requests that a robots.txt forbids.
    pub against_robots: u64,
    /// Requests to sites without end, where there are some.
    #[serde(default)]
    pub trapped: u64,
    /// Requests in all.
    #[serde(default)]
    pub requests: u64,
    /// Requests for URLs that no page links to.
    pub unknown_urls: u64,
    /// Requests that came before their host's rest was over, by the server's clock.
    pub interval_violations: u64,
}

/// What other sets of the same URLs would take in memory. None of them could lose one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct OtherSets {
    /// The URLs themselves, as long as those of the records are on the average, in a hash set of the standard library.
    pub urls_bytes: u64,
    /// Their MD5 digests, in the same.
    pub md5_bytes: u64,
    /// Their SHA-1 digests, in the same.
    pub sha1_bytes: u64,
}

impl OtherSets {
    pub(super) fn of(seen: &SeenSet, tally: &Tally) -> Self {
        let urls = seen.statistics().merged.inserted;
        let records = tally.records();
        // Allocators round up to a multiple of sixteen bytes.
        let text = tally.key_bytes.checked_div(records).unwrap_or_default().next_multiple_of(16);
        Self {
            urls_bytes: table_bytes(urls, size_of::<String>() as u64) + urls * text,
            md5_bytes: table_bytes(urls, 16),
            sha1_bytes: table_bytes(urls, 20),
        }
    }
}

/// Bytes of a hash table of the standard library. The number of slots is a power of two, at most seven in eight are taken, and each slot
/// has one byte besides its entry.
fn table_bytes(entries: u64, bytes: u64) -> u64 {
    if entries == 0 { 0 } else { (entries * 8).div_ceil(7).next_power_of_two().max(4) * (bytes + 1) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_table_has_as_many_places_as_the_standard_library_gives_it() {
        for entries in [1, 3, 7, 28, 448, 449, 14_336, 14_337, 100_000] {
            let set: HashSet<u64> = (0..entries).collect();
            let places = (set.capacity() as u64 * 8).div_ceil(7).next_power_of_two();
            assert_eq!(table_bytes(entries, 8), places * 9, "{entries}");
        }
        assert_eq!(table_bytes(0, 8), 0);
    }
}
