//! The parts of a report's text that are shown on demand: all counts, in tables. Also the changes of pages since their last visit.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::page::TextPage;
use crate::crawl::{DuplicateCounts, Example, Percentiles, RecrawlCounts, SignedCounts, SitemapCounts, StatusClasses};
use crate::report::figures::{
    bytes, chance, counted, duration, expected, percent, shard_names, short, thousands, whole,
};
use crate::report::hosts::TOP;
use crate::report::{DuplicateFigures, HostBucket, HostFigures, HostRow, OtherSets, RecrawlFigures, Report, Simulated};
use crate::seen::ShardStatistics;

/// At most this many shards have a row of their own: the fullest.
const SHARDS: usize = 16;

/// Each function writes one part, or a section of one.
impl Report {
    pub(super) fn losses(&self, page: &mut TextPage) {
        page.heading("Was anything lost?");
        let filter = &self.seen.merged;
        let new = format!("expected, of {} new URLs", short(filter.inserted));
        page.fact("URLs taken for seen by the filter", &expected(filter.expected_lost), &new);
        if let Some(audit) = &filter.audit {
            let [low, high] = [audit.lost_low, audit.lost_high].map(expected);
            let [errors, sample] = [audit.false_positives, audit.shown].map(short);
            let interval = match audit.sample {
                1 => "measured: all were audited".to_owned(),
                _ => format!("measured, 95 %: {low} to {high}; {errors} of {sample} sampled"),
            };
            page.fact("", &expected(audit.lost), &interval);
        }
        let retries = format!("after {} retries", thousands(self.pages.retries));
        page.fact("URLs without a response", &thousands(self.urls.counts.failed), &retries);
        if self.urls.counts.unwanted > 0 {
            page.fact("pages refused by their headers", &thousands(self.urls.counts.unwanted), "");
        }
        let hosts = format!("on {} hosts", thousands(self.hosts.unreachable));
        let urls = thousands(self.urls.counts.unreachable.total());
        page.fact(
            "URLs of unreachable hosts",
            &urls,
            if self.urls.counts.unreachable.is_empty() { "" } else { &hosts },
        );
        for (error, count) in self.urls.counts.unreachable.iter() {
            page.fact(&format!("  {error}"), &thousands(*count), "");
        }
        page.fact("URLs still queued", &thousands(self.urls.queued), "");
        page.fact("pages cut at the size limit", &thousands(self.pages.truncated), "");
        if let Some(truth) = &self.simulated {
            truth.facts(page);
        }
    }

    pub(super) fn filter(&self, page: &mut TextPage) {
        page.heading("How full is the filter?");
        let filter = &self.seen.merged;
        let of_capacity = percent(filter.inserted as f64, filter.capacity as f64);
        let capacity = format!("of {} that it was sized for", thousands(filter.capacity));
        page.fact("URLs", &thousands(filter.inserted), &format!("{of_capacity} {capacity}"));
        let bits = format!("of {} bits; each URL sets {}", short(filter.bits), filter.probes);
        page.fact("filled", &percent(filter.fill_ratio, 1.0), &bits);
        let layers = format!("{} layout, {} layers", self.settings.seen_layout, thousands(filter.layers));
        page.fact("shards", &thousands(self.seen.shards.len() as u64), &layers);
        let mean = chance(filter.false_positive_rate_mean);
        let target = chance(filter.false_positive_rate_target);
        let rates = format!("mean so far {mean}, target at capacity {target}");
        page.fact("false-positive rate now", &chance(filter.false_positive_rate_estimated), &rates);
        let per_url = filter.bytes as f64 * 8.0 / filter.capacity.max(1) as f64;
        page.fact("memory", &bytes(filter.bytes), &format!("{per_url:.1} bits for each URL that it was sized for"));
        let OtherSets { urls_bytes, md5_bytes, sha1_bytes } = self.other_sets;
        let [urls, md5, sha1] = [urls_bytes, md5_bytes, sha1_bytes].map(bytes);
        page.fact("a hash set instead", &urls, &format!("of the URLs; of MD5 digests {md5}, of SHA-1 {sha1}"));
        if let Some(verified) = &filter.verified {
            let read = format!("{} pages of them read", thousands(verified.pages_read));
            page.fact("fingerprints on disk", &bytes(verified.disk_bytes), &read);
            let [from_memory, rescued] = [verified.from_memory, verified.rescued].map(thousands);
            let answers = format!("{from_memory} from memory; {rescued} new after all");
            page.fact("URLs looked up there", &thousands(verified.lookups), &answers);
        }
    }

    pub(super) fn cost(&self, page: &mut TextPage) {
        page.heading("What did it cost?");
        let [pages, robots] = [&self.pages, &self.robots];
        let retries = format!("{} of them to be tried again", thousands(pages.retries + robots.retries));
        page.fact("requests", &thousands(pages.requests + robots.requests), &retries);
        let decoded = format!("{} decoded", bytes(pages.decoded_bytes + robots.decoded_bytes));
        page.fact("bytes on the wire", &bytes(pages.wire_bytes + robots.wire_bytes), &decoded);
        if let Some(cpu_us) = self.cost.cpu_us {
            let each = cpu_us as f64 / 1e3 / self.urls.counts.fetched.max(1) as f64;
            let server = if self.simulated.is_some() { ", the simulated web included" } else { "" };
            let per_page = format!("{each:.2} s per 1,000 pages{server}");
            page.fact("CPU time", &duration(Duration::from_micros(cpu_us)), &per_page);
        }
        for (name, end) in &self.outputs {
            page.fact(name, &bytes(end.bytes), &format!("in the job, of {} pages", thousands(end.pages)));
        }
        if let Some(kept) = &self.checkpoints {
            let pause =
                format!("the crawl waited at most {} for one", duration(Duration::from_micros(kept.longest_pause_us)));
            page.fact("checkpoints", &thousands(kept.written), &pause);
        }
        let [tests, recent] = [self.seen.merged.tests, self.seen.recent_hits].map(thousands);
        let tests = format!("in {tests} tests; {recent} recent links needed no test");
        page.fact("waits for a shard of the filter", &thousands(self.seen.merged.lock_waits), &tests);
        if let Some(peak) = self.cost.peak_memory_bytes {
            page.fact("peak memory", &bytes(peak), "");
        }
    }

    pub(super) fn urls(&self, page: &mut TextPage) {
        page.heading("URLs");
        let seeds = format!("seeds: {} taken, {} refused", thousands(self.seeds.taken), thousands(self.seeds.refused));
        page.fact("found", &thousands(self.urls.found), &seeds);
        let mut refused: Vec<_> = self.urls.refused.iter().filter(|&(_, &count)| count > 0).collect();
        refused.sort_by_key(|&(_, &count)| Reverse(count));
        for (reason, &count) in refused {
            let share = format!("{} of the found", percent(count as f64, self.urls.found as f64));
            page.fact(&format!("refused: {reason}"), &thousands(count), &share);
        }
        let mut shapes: Vec<_> = self.urls.refused_shapes.iter().collect();
        shapes.sort_by_key(|&(_, &count)| Reverse(count));
        for (shape, &count) in shapes {
            page.named(shape, &format!("{} URLs refused: its budget is spent", thousands(count)));
        }
        for (host, &count) in self.left_out_most_first() {
            page.named(host, &format!("{} left out: its budget is spent", counted(count, "URL", "URLs")));
        }
        if self.urls.userinfo > 0 {
            page.fact("with a user or password", &thousands(self.urls.userinfo), "links; they are never sent");
        }
        page.fact("admitted", &thousands(self.urls.admitted), "");
        for (source, count) in
            [("in sitemaps", self.urls.sources.found.sitemaps), ("in feeds", self.urls.sources.found.feeds)]
        {
            if count > 0 {
                page.fact(&format!("found first {source}"), &thousands(count), "");
            }
        }
        let SitemapCounts { read, feeds, listed, faulty, unknown, .. } = self.sitemaps;
        if read + feeds + unknown > 0 {
            let wrong = format!("{} faulty; {} were something else", thousands(faulty), thousands(unknown));
            page.fact("sitemaps and feeds read", &thousands(read + feeds), &wrong);
            page.fact("URLs that they list", &thousands(listed), "");
        }
        page.fact("fetched", &thousands(self.urls.counts.fetched), "");
        let DuplicateFigures { counts: DuplicateCounts { same, near, .. }, expected_lost, .. } = self.duplicates;
        if same + near > 0 {
            let alike =
                format!("{} byte by byte; {} expected to be no copies", thousands(same), expected(expected_lost));
            page.fact("pages like another one", &thousands(same + near), &alike);
        }
        if let Some(SignedCounts { requests, refused, refused_by, .. }) = &self.signed {
            page.fact("signed requests", &thousands(*requests), "");
            let hosts: Vec<_> = refused_by.most_first().into_iter().take(TOP).map(|(host, _)| host).collect();
            page.fact("signed, but refused", &thousands(*refused), &hosts.join(", "));
        }
        for (by, answers) in self.challenges.most_first() {
            page.fact(&format!("challenges of {by}"), &thousands(answers), "");
        }
        for (said, pages) in &self.preferences {
            page.fact(&format!("pages with the preference {said}"), &thousands(*pages), "");
        }
        self.recrawled(page);
    }

    pub(super) fn responses(&self, page: &mut TextPage) {
        page.heading("Requests and responses");
        let [pages, robots] = [&self.pages, &self.robots];
        self.answers(page);
        let mut rows = vec![["", "pages and sitemaps", "robots.txt"].map(str::to_owned)];
        for ((name, pages), (_, robots)) in pages.numbers().zip(robots.numbers()) {
            let shown = if name.ends_with("_bytes") { bytes } else { thousands };
            if pages > 0 || robots > 0 {
                rows.push([name.replace('_', " "), shown(pages), shown(robots)]);
            }
        }
        for (name, [pages, robots]) in top([&*pages.content_types, &*robots.content_types]) {
            rows.push([name, thousands(pages), thousands(robots)]);
        }
        page.table(&rows);
        self.breakdown(page);
        let examples = || [pages, robots].into_iter().flat_map(|of| &of.examples);
        if examples().next().is_some() {
            page.heading("What failed, three of each at most");
        }
        for (error, examples) in examples() {
            for Example { url, message, .. } in examples {
                page.named(url, &format!("{error} {message}"));
            }
        }
    }

    /// The answers: each request is in one column. The first column has URLs that are done, each once.
    fn answers(&self, page: &mut TextPage) {
        let Self { urls, asked_again, guesses, robots, .. } = self;
        let columns = ["", "pages", "asked again", "guessed sitemaps", "robots.txt"];
        let mut rows = vec![columns.map(str::to_owned)];
        let statuses = [&urls.statuses, &asked_again.statuses, &guesses.statuses, &robots.statuses];
        let errors = [&*urls.errors, &*asked_again.errors, &*guesses.errors, &*robots.errors];
        for (kind, top) in [("status ", top(statuses)), ("error: ", top(errors))] {
            for (name, [pages, again, guessed, robots]) in top {
                let [pages, again, guessed, robots] = [pages, again, guessed, robots].map(thousands);
                rows.push([format!("{kind}{name}"), pages, again, guessed, robots]);
            }
        }
        if rows.len() > 1 {
            page.table(&rows);
        }
    }

    fn breakdown(&self, page: &mut TextPage) {
        let by_depth = self.breakdown.by_depth.iter().map(|(depth, classes)| (format!("depth {depth}"), classes));
        let by_type = self.breakdown.by_type.iter().map(|(kind, classes)| (kind.clone(), classes));
        let mut rows = vec![["pages", "2xx", "3xx", "4xx", "5xx", "failed"].map(str::to_owned)];
        rows.extend(by_depth.chain(by_type).map(|(name, classes)| {
            let StatusClasses { ok, redirects, client_errors, server_errors, failed, .. } = *classes;
            let [ok, redirects, client, server, failed] =
                [ok, redirects, client_errors, server_errors, failed].map(thousands);
            [name, ok, redirects, client, server, failed]
        }));
        if rows.len() > 1 {
            page.table(&rows);
        }
    }

    /// All times that were measured, with their names.
    pub(in crate::report) fn times(&self) -> impl Iterator<Item = (&'static str, Percentiles)> {
        let Self { pages, robots, connections, waits, .. } = self;
        let all = [
            ("pages: first byte", &pages.first_byte),
            ("pages: whole", &pages.whole),
            ("robots.txt: first byte", &robots.first_byte),
            ("robots.txt: whole", &robots.whole),
            ("name lookup", &connections.lookup),
            ("TCP connection", &connections.connect),
            ("TLS handshake", &connections.tls),
            ("URL in the queue", &waits.queued),
            ("host rests", &waits.rested),
            ("host due, not asked", &waits.due),
        ];
        all.into_iter().filter(|(_, times)| times.count() > 0).map(|(name, times)| (name, times.percentiles()))
    }

    pub(super) fn latency(&self, page: &mut TextPage) {
        page.heading("Latency");
        let mut rows = vec![["", "count", "p50", "p90", "p99", "max"].map(str::to_owned)];
        for (name, times) in self.times() {
            let Percentiles { count, p50_us, p90_us, p99_us, max_us, .. } = times;
            let [p50, p90, p99, max] = [p50_us, p90_us, p99_us, max_us].map(|us| duration(Duration::from_micros(us)));
            rows.push([name.to_owned(), thousands(count), p50, p90, p99, max]);
        }
        page.table(&rows);
        if self.waits.rested.count() > 0 {
            page.line("host rests: politeness; host due, not asked: no worker is free, or a limit");
        }
    }

    pub(super) fn hosts(&self, page: &mut TextPage) {
        let HostFigures { known, in_memory, active, resting, failing, unreachable, ref top, ref by_requests, .. } =
            self.hosts;
        let trouble = self.hosts_in_trouble();
        let [all, in_memory, active, resting, failing, unreachable] =
            [known, in_memory, active, resting, failing, unreachable].map(thousands);
        page.heading(&format!(
            "Hosts: {all} known, {in_memory} of them in memory, {active} with URLs queued, {unreachable} unreachable"
        ));
        page.line(&format!("{resting} hosts with URLs rest, {failing} fail and are tried again"));
        if let Some(fairness) = self.hosts.fairness {
            page.line(&format!("fairness among hosts with URLs: {fairness:.3} (1: all had equally many requests)"));
        }
        if let Some(us) = self.hosts.longest_due_us {
            page.line(&format!("the host due for longest had waited {}", duration(Duration::from_micros(us))));
        }
        for (host, reason) in trouble {
            page.named(host, &reason);
        }
        let mut rows = vec![["most requests", "requests", "queued", "failures", "delay", ""].map(str::to_owned)];
        for HostRow { host, requests, queued, failures, delay_us, unreachable, .. } in top {
            rows.push([
                host.clone(),
                thousands(*requests),
                thousands(*queued),
                thousands(u64::from(*failures)),
                duration(Duration::from_micros(*delay_us)),
                if *unreachable { "unreachable" } else { "" }.to_owned(),
            ]);
        }
        page.table(&rows);
        for HostBucket { from, to, hosts } in by_requests {
            let times = match from {
                0 => "never".to_owned(),
                1 => "once".to_owned(),
                _ => format!("{} to {} times", thousands(*from), thousands(*to)),
            };
            let share = format!("{} of the known", percent(*hosts as f64, known as f64));
            page.fact(&format!("hosts asked {times}"), &thousands(*hosts), &share);
        }
        let judged = format!("of {} requests", thousands(self.politeness.counts.requests));
        page.fact("requests that came too early", &thousands(self.politeness.counts.violations), &judged);
        if self.politeness.counts.by_address > 0 {
            page.fact("requests judged by IP address too", &thousands(self.politeness.counts.by_address), "");
        }
    }

    pub(super) fn shards(&self, page: &mut TextPage) {
        let shards = &self.seen.shards;
        page.heading("The seen filter, by shard");
        let names = shard_names(shards);
        let mut fullest: Vec<_> = shards.iter().enumerate().collect();
        fullest.sort_by(|(_, a), (_, b)| b.fill_ratio.total_cmp(&a.fill_ratio));
        fullest.truncate(SHARDS);
        fullest.sort_by_key(|&(number, _)| number);
        let header = ["shard", "capacity", "URLs", "tests", "layers", "fill", "shown", "rate", "mean", "lost"];
        let mut rows = vec![header.map(str::to_owned), shard_row("all", &self.seen.merged)];
        rows.extend(fullest.iter().map(|&(number, shard)| shard_row(&names[number], shard)));
        page.table(&rows);
        page.line("shown: URLs, by the bits that are set; rate: new URLs taken for seen, now;");
        page.line("mean: the same over the whole crawl; a full shard adds a layer");
        if shards.len() > SHARDS {
            page.line(&format!(
                "the {SHARDS} fullest of {} shards; report.json has all",
                thousands(shards.len() as u64)
            ));
        }
    }
}

impl Simulated {
    fn facts(&self, page: &mut TextPage) {
        let reachable = format!("of {} that could be reached", thousands(self.reachable));
        page.fact("simulated pages missed", &thousands(self.missed), &reachable);
        page.fact("  by an error of the filter", &thousands(self.missed_by_filter), "");
        page.fact("simulated pages fetched twice", &thousands(self.fetched_twice), "");
        page.fact("requests for unlinked URLs", &thousands(self.unknown_urls), "no page links to them");
        if self.trapped > 0 {
            let of = format!("of {} requests", thousands(self.requests));
            page.fact("requests to endless sites", &thousands(self.trapped), &of);
        }
        page.fact("requests against robots.txt", &thousands(self.against_robots), "by the server's rules");
        page.fact("requests that came too early", &thousands(self.interval_violations), "by the server's clock");
    }
}

fn shard_row(name: &str, shard: &ShardStatistics) -> [String; 10] {
    [
        name.to_owned(),
        short(shard.capacity),
        short(shard.inserted),
        short(shard.tests),
        short(shard.layers),
        percent(shard.fill_ratio, 1.0),
        short(whole(shard.cardinality)),
        chance(shard.false_positive_rate_estimated),
        chance(shard.false_positive_rate_mean),
        expected(shard.expected_lost),
    ]
}

/// Names with their counts in all maps, most first. If there are more than [`TOP`], the last row sums up the rest.
fn top<K: Ord + ToString, const N: usize>(maps: [&BTreeMap<K, u64>; N]) -> Vec<(String, [u64; N])> {
    let mut all: BTreeMap<&K, [u64; N]> = BTreeMap::new();
    for (side, map) in maps.into_iter().enumerate() {
        for (name, count) in map {
            all.entry(name).or_insert([0; N])[side] += count;
        }
    }
    let mut rows: Vec<_> = all.into_iter().map(|(name, counts)| (name.to_string(), counts)).collect();
    rows.sort_by_key(|(_, counts)| Reverse(counts.iter().sum::<u64>()));
    if rows.len() > TOP {
        let rest = rows.split_off(TOP - 1);
        let sum = std::array::from_fn(|side| rest.iter().map(|(_, counts)| counts[side]).sum());
        rows.push((format!("{} others", rest.len()), sum));
    }
    rows
}

impl Report {
    pub(super) fn recrawled_in_brief(&self, page: &mut TextPage) {
        let Some(RecrawlFigures { unmet, counts, .. }) = self.recrawl else { return };
        let RecrawlCounts { new, changed, unchanged, gone, .. } = counts;
        let [new, changed, unchanged, gone] = [new, changed, unchanged, gone].map(thousands);
        let unmet = unmet.map_or_else(String::new, |unmet| format!("; {} not met", thousands(unmet)));
        page.entry(
            "since last visit",
            &format!("{new} new, {changed} changed, {unchanged} unchanged, {gone} gone{unmet}"),
        );
    }

    pub(super) fn recrawled(&self, page: &mut TextPage) {
        let Some(RecrawlFigures { known, unmet, counts }) = self.recrawl else { return };
        let RecrawlCounts { new, changed, unchanged, gone, failed, not_modified, .. } = counts;
        let known = known.map_or_else(String::new, |known| format!("of {} that were known", thousands(known)));
        let by_304 = format!("{} of them told by a 304", thousands(not_modified));
        for (name, count, note) in [
            ("new since the last visit", new, ""),
            ("changed", changed, &known),
            ("unchanged", unchanged, &by_304),
            ("gone", gone, "404 or 410"),
            ("known, change unknown", failed, "no page, or an error"),
        ] {
            page.fact(name, &thousands(count), note);
        }
        if let Some(unmet) = unmet {
            page.fact("known, and not met", &thousands(unmet), "crawler unmet lists them");
        }
    }
}
