//! The fields of a report: the format of `report.json`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hosts::{HostFigures, TOP};
use crate::crawl::{
    AnswerCounts, Breakdown, CheckpointCosts, ConnectionTimes, Cost, Counter, DuplicateCounts, FailedPage,
    FinishReason, NameCounts, OutputEnd, PolitenessCounts, RecrawlCounts, SeedCounts, SignedCounts, SitemapCounts,
    SourceCounts, Tally, Timeline, Traffic, UrlCounts, WaitTimes, counters, greatest, is_zero,
};
use crate::seen::{SeenSet, SeenStatistics};

/// A crawl in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The format's version.
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub version: u32,
    /// The version of the crate that crawled.
    pub crawler: String,
    /// Why the crawl ended: `drained`, `disk_low`, `max_pages`, `max_duration`, `proxy_failed`, `reader_left`, `seen_full`, `stopped`,
    /// `sink_failed` or `storage_failed`; `unfinished` if it still runs, or was killed.
    pub finish: FinishReason,
    /// When it began: RFC 3339, UTC, milliseconds.
    pub started: String,
    /// When it ended, likewise.
    pub finished: String,
    /// The time that all runs took together, in microseconds, by a monotonic clock.
    pub elapsed_us: u64,
    /// How often the job was resumed.
    #[serde(default)]
    pub resumes: u64,
    /// The settings that a reader of the numbers must know.
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub settings: Settings,
    /// The seeds that the user gave.
    pub seeds: SeedCounts,
    /// What became of the URLs.
    pub urls: Urls,
    /// All requests for pages and sitemaps: the last try of each URL, its earlier tries, and guesses of sitemaps.
    pub pages: Traffic,
    /// Of these requests, the ones after which the URL was tried again: the try failed, or was redirected to another spelling of the URL.
    #[serde(default)]
    pub asked_again: AnswerCounts,
    /// Of these requests, the ones for guessed sitemaps that do not exist. Such a URL has no record.
    #[serde(default)]
    pub guesses: AnswerCounts,
    /// Requests for robots.txt.
    pub robots: Traffic,
    /// Responses for pages and sitemaps that are done, by depth and type.
    #[serde(default)]
    pub breakdown: Breakdown,
    /// How long it took to reach servers.
    #[serde(default)]
    pub connections: ConnectionTimes,
    /// How long URLs and hosts waited.
    #[serde(default)]
    pub waits: WaitTimes,
    /// Sitemaps and feeds.
    #[serde(default)]
    pub sitemaps: SitemapCounts,
    /// Pages that repeat another page.
    #[serde(default)]
    pub duplicates: DuplicateFigures,
    /// Challenges that came in place of a page or a robots.txt, by the product that sent them: `cloudflare`, `anubis` and so on. Left out
    /// if none came.
    #[serde(default, skip_serializing_if = "NameCounts::is_empty")]
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub challenges: NameCounts,
    /// Pages that are done, by the preferences that their sites state: `train-ai=n` counts the pages that must not be used for training. A
    /// page counts once for each purpose that its site mentions. URLs that were refused before they were fetched are in `urls.refused`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub preferences: BTreeMap<String, u64>,
    /// Signed requests. Left out if no request was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub signed: Option<SignedCounts>,
    /// How pages have changed since their last visit. Left out if none was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recrawl: Option<RecrawlFigures>,
    /// The hosts.
    pub hosts: HostFigures,
    /// Whether requests came too early.
    pub politeness: PolitenessFigures,
    /// The seen filter: all shards as one, then each.
    pub seen: SeenStatistics,
    /// The memory that hash sets of the same URLs would take.
    #[serde(default)]
    pub other_sets: OtherSets,
    /// The numbers over time.
    #[serde(default)]
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub timeline: Timeline,
    /// The contents of the job's outputs, by name. Left out if the crawl was not kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub outputs: BTreeMap<String, OutputEnd>,
    /// The cost of the last run's checkpoints; `null` if the crawl was not kept.
    #[serde(default)]
    pub checkpoints: Option<CheckpointCosts>,
    /// The time and memory that the last run took.
    pub cost: Cost,
    /// The simulated web's judgment of the crawl; `null` for the real web.
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub simulated: Option<Simulated>,
}

impl Report {
    /// The format that is written, and the latest that can be read.
    pub const VERSION: u32 = 1;
}

counters! {
    /// Pages that repeat another page. A second seen set, of page contents, finds them.
    #[derive(Copy)]
    #[non_exhaustive]
    pub struct DuplicateFigures {
        /// The pages.
        #[serde(flatten)]
        pub counts: DuplicateCounts,
        /// Memory of the seen set of page contents, in bytes.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub bytes: u64,
        /// The share of new contents that the set now takes for seen, 0 to 1.
        pub false_positive_rate_estimated: f64 => greatest,
        /// The expected number of new bodies and texts that the set took for seen.
        pub expected_lost: f64,
    }
}

counters! {
    /// How pages have changed since their last visit.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct RecrawlFigures {
        /// Pages of the earlier job that is crawled again; `null` if there is none.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub known: Option<u64>,
        /// How many of these were not met: nothing links to them any more, or the crawl ended first. `crawler unmet` lists them.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub unmet: Option<u64>,
        /// The pages that were met.
        #[serde(flatten)]
        pub counts: RecrawlCounts,
    }
}

/// Settings that a reader of the numbers must know.
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
    /// Names of the hosts and groups by whose rules certificates were not checked. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub insecure_hosts: Vec<String>,
    /// Files of certificates that were trusted in addition to the system's. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ca_files: Vec<String>,
    /// How far the crawl went from its seeds: `page`, `prefix`, `host`, `domain` or `any`.
    pub scope: String,
    /// Maximum number of links from a seed; `null` is no limit.
    pub max_depth: Option<u32>,
    /// Maximum number of page records; `null` is no limit.
    pub max_pages: Option<u64>,
    /// Maximum time of a run, in microseconds; `null` is no limit.
    pub max_duration_us: Option<u64>,
    /// Maximum number of fetches at once.
    pub workers: u64,
    /// Microseconds between two requests to a host, unless its robots.txt asks for more.
    pub host_delay_us: u64,
    /// Maximum number of requests to one host at once.
    pub connections_per_host: u8,
    /// Microseconds between two requests to an IP address; `null` is 100 ms, except for loopback addresses and for hosts with a shorter
    /// delay.
    pub address_delay_us: Option<u64>,
    /// Maximum number of requests to one IP address at once.
    pub connections_per_address: u8,
    /// The layout of the seen filter: `blocked`, `exact`, and so on.
    pub seen_layout: String,
    /// The User-Agent header.
    pub user_agent: String,
}

counters! {
    /// What became of the URLs. `found` is the sum of `admitted` and of all counts in `refused`.
    #[derive(Eq)]
    #[non_exhaustive]
    pub struct Urls {
        /// Found on pages, in redirects and as seeds. A URL counts each time it is found.
        pub found: u64,
        /// Refused, by the name of the [`Refusal`](crate::gate::Refusal).
        pub refused: BTreeMap<String, u64>,
        /// URLs that were new and in scope. URLs that robots.txt refused later are in `refused`.
        pub admitted: u64,
        /// What became of the admitted URLs.
        #[serde(flatten)]
        pub counts: UrlCounts,
        /// The URLs of `fetched`, by HTTP status: each once, by its last answer. Pages with 400 and more have failed: `crawler broken` lists them.
        pub statuses: BTreeMap<u16, u64>,
        /// The URLs of `failed`, by the kind of error: each once, by its last try.
        pub errors: NameCounts,
        /// The first pages that failed, by an error or a status of 400 or more, each with the page that links there. `crawler broken` lists all.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub failed_pages: Vec<FailedPage> => first_by_url,
        /// Waiting or in flight when the crawl ended.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub queued: u64,
        /// The URLs of `queued` that were in flight.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub in_flight: u64,
        /// The admitted URLs, by where they were found first. robots.txt may have refused some of them later.
        pub sources: Sources,
        /// Links with a user name or a password. Neither is ever sent.
        #[serde(skip_serializing_if = "is_zero")]
        pub userinfo: u64,
        /// URLs refused because a budget was spent, by the subject of the budget, with numbers and ids taken out: `a.example/calendar/#`. The ten
        /// with most URLs. If there are more than 64 subjects, a count may be too high.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
        pub refused_shapes: BTreeMap<String, u64> => most,
        /// URLs that are refused as `host_pages` or `host_bytes`, by their hosts: the ten with most. They wait for a run that allows more.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
        pub left_out: BTreeMap<String, u64> => most,
    }
}

/// Keeps the first pages by URL, so that the order of merging does not matter.
fn first_by_url(pages: &mut Vec<FailedPage>, others: &[FailedPage]) {
    pages.extend(others.iter().cloned());
    pages.sort_by(|one, other| one.url.cmp(&other.url));
    pages.truncate(TOP);
}

/// Keeps the names with the most URLs. A name begins with its host, so only one part has it.
fn most(counts: &mut BTreeMap<String, u64>, others: &BTreeMap<String, u64>) {
    counts.merge_with(others);
    let mut names: Vec<_> = counts.iter().map(|(name, &count)| (Reverse(count), name.clone())).collect();
    names.sort_unstable();
    for (_, rare) in names.iter().skip(TOP) {
        counts.remove(rare);
    }
}

counters! {
    /// Where the URLs that were new and in scope were found first.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct Sources {
        /// Seeds, which the user gave.
        pub seeds: u64,
        /// On pages, in sitemaps and feeds, and in the headers of responses.
        #[serde(flatten)]
        pub found: SourceCounts,
    }
}

counters! {
    /// Whether requests came too early, judged from the times at which they were really sent.
    #[derive(Eq)]
    #[non_exhaustive]
    pub struct PolitenessFigures {
        /// The requests.
        #[serde(flatten)]
        pub counts: PolitenessCounts,
        /// The worst request that came too early.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
        pub worst: Option<TooEarly>,
    }
}

/// A request that was sent before its host's rest was over, or while all connections that its host may have were in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TooEarly {
    /// Scheme, host and port; or `group NAME`, or `address IP`.
    pub host: String,
    /// Microseconds for which the host had rested.
    pub waited_us: u64,
    /// Microseconds for which it should have rested.
    pub delay_us: u64,
    /// Connections of the host that were open at once, if there were more than it may have; else 0.
    pub taken: u32,
}

/// Keeps the worse one.
impl Counter for TooEarly {
    fn merge_with(&mut self, other: &Self) {
        let badness = |it: &Self| (it.taken, it.delay_us.saturating_sub(it.waited_us), Reverse(it.host.clone()));
        if badness(other) > badness(self) {
            self.clone_from(other);
        }
    }
}

counters! {
    /// A simulated web's judgment of the crawl.
    #[derive(Copy, Eq)]
    pub struct Simulated {
        /// Pages that can be reached from the seeds, and are allowed.
        pub reachable: u64,
        /// How many of these were fetched.
        pub fetched: u64,
        /// How many of these were not fetched.
        pub missed: u64,
        /// How many of the missed pages the filter lost: it took them for seen, or they can be reached only through pages that it took for
        /// seen.
        pub missed_by_filter: u64,
        /// Pages fetched more than once.
        pub fetched_twice: u64,
        /// Requests that a robots.txt forbids.
        pub against_robots: u64,
        /// Requests to endless sites, if there are any.
        pub trapped: u64,
        /// Requests in all.
        pub requests: u64,
        /// Requests for URLs that no page links to.
        pub unknown_urls: u64,
        /// Requests that came before their host's rest was over, by the server's clock.
        pub interval_violations: u64,
    }
}

counters! {
    /// The memory that hash sets of the same URLs would take. A hash set loses no URL.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
    pub struct OtherSets {
        /// A hash set of the URLs themselves (`std::collections::HashSet`). Their average length is that of the recorded URLs.
        pub urls_bytes: u64,
        /// A hash set of their MD5 digests.
        pub md5_bytes: u64,
        /// A hash set of their SHA-1 digests.
        pub sha1_bytes: u64,
    }
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
