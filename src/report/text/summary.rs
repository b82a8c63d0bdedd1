//! The page of a report, which fits a terminal of 80 columns and 40 lines.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use super::page::TextPage;
use crate::gate::Refusal;
use crate::report::figures::{about, bytes, counted, duration, measured, one_in, percent, shard_names, thousands};
use crate::report::{HostRow, Report};

/// Hosts with a line of their own.
const HOSTS: usize = 3;
/// Names with their counts on a line; the rest is summed up.
const NAMES: usize = 4;

impl Report {
    pub(super) fn summarize(&self, page: &mut TextPage) {
        self.lost_in_brief(page);
        self.filter_in_brief(page);
        self.urls_in_brief(page);
        self.cost_in_brief(page);
        self.hosts_in_brief(page);
    }

    fn lost_in_brief(&self, page: &mut TextPage) {
        page.heading("Was anything lost?");
        let filter = &self.seen.merged;
        let lost = match &filter.audit {
            Some(audit) => measured(audit.lost, audit.lost_low, audit.lost_high),
            None => format!("{} expected", about(filter.expected_lost)),
        };
        page.entry("to the filter", &format!("{lost}, of {}", counted(filter.inserted, "new URL", "new URLs")));
        page.entry("failed", &self.failed_in_brief().unwrap_or_else(|| "no page".to_owned()));
        if self.urls.unwanted > 0 {
            let said = format!("{}: {}", counted(self.urls.unwanted, "page", "pages"), most(&self.pages.unwanted));
            page.entry("not wanted", &said);
        }
        if !self.urls.unreachable.is_empty() {
            let urls = self.urls.unreachable.values().sum();
            let urls =
                format!("{} on {}", counted(urls, "URL", "URLs"), counted(self.hosts.unreachable, "host", "hosts"));
            page.entry("unreachable", &format!("{urls}: {}", most(&self.urls.unreachable)));
        }
        if self.pages.truncated > 0 {
            page.entry("cut at the limit", &counted(self.pages.truncated, "page", "pages"));
        }
        page.entry("still queued", &counted(self.urls.queued, "URL", "URLs"));
        if let Some(truth) = &self.simulated {
            let [missed, reachable, by_filter] = [truth.missed, truth.reachable, truth.missed_by_filter].map(thousands);
            page.entry(
                "in truth",
                &format!("{missed} of {reachable} simulated pages missed, {by_filter} by the filter"),
            );
        }
    }

    fn filter_in_brief(&self, page: &mut TextPage) {
        page.heading("How full is the filter?");
        let filter = &self.seen.merged;
        let share = percent(filter.inserted as f64, filter.capacity as f64);
        let [urls, capacity] = [filter.inserted, filter.capacity].map(thousands);
        page.entry("filled", &format!("{urls} URLs, {share} of its capacity of {capacity}; {}", bytes(filter.bytes)));
        let [now, target] = [filter.false_positive_rate_estimated, filter.false_positive_rate_target].map(one_in);
        page.entry("takes for seen", &format!("{now} new URLs now, {target} at capacity"));
        let shards = self.seen.shards.iter().zip(shard_names(&self.seen.shards));
        if let Some((worst, name)) = shards.max_by(|(a, _), (b, _)| a.fill_ratio.total_cmp(&b.fill_ratio)) {
            let (filled, lost) = (percent(worst.fill_ratio, 1.0), about(worst.expected_lost));
            let of = thousands(self.seen.shards.len() as u64);
            page.entry("fullest shard", &format!("number {name} of {of}: {filled} of its bits set, {lost} URLs lost"));
        }
    }

    fn urls_in_brief(&self, page: &mut TextPage) {
        page.heading("What became of the URLs?");
        let refused = self.urls.found.saturating_sub(self.urls.admitted);
        let [found, refused, admitted] = [self.urls.found, refused, self.urls.admitted].map(thousands);
        page.entry("found", &format!("{found}: {refused} refused, {admitted} admitted"));
        page.entry("refused", &most_and(&self.urls.refused, is_of_budget));
        let statuses = match self.urls.statuses.len() {
            0 => String::new(),
            _ => format!("; status {}", most(&self.urls.statuses)),
        };
        page.entry("fetched", &format!("{}{statuses}", thousands(self.urls.fetched)));
        self.recrawled_in_brief(page);
        let lists = self.sitemaps.read + self.sitemaps.feeds;
        if lists > 0 {
            let listed = counted(self.sitemaps.listed, "URL", "URLs");
            page.entry("sitemaps, feeds", &format!("{} read, with {listed}", thousands(lists)));
        }
    }

    fn cost_in_brief(&self, page: &mut TextPage) {
        page.heading("What did it cost?");
        let [pages, robots] = [&self.pages, &self.robots];
        let requests = counted(pages.requests + robots.requests, "request", "requests");
        let retries = counted(pages.retries + robots.retries, "retry", "retries");
        page.entry("asked", &format!("{requests} to {}, {retries}", counted(self.hosts.known, "host", "hosts")));
        let [wire, decoded] =
            [pages.wire_bytes + robots.wire_bytes, pages.decoded_bytes + robots.decoded_bytes].map(bytes);
        page.entry("traffic", &format!("{wire}, {decoded} decoded"));
        if let Some(cpu_us) = self.cost.cpu_us {
            let each =
                duration(Duration::from_micros(cpu_us) / u32::try_from(self.urls.fetched.max(1)).unwrap_or(u32::MAX));
            let server = if self.simulated.is_some() { ", with the simulated web" } else { "" };
            page.entry("CPU time", &format!("{}, {each} a page{server}", duration(Duration::from_micros(cpu_us))));
        }
        if let Some(peak) = self.cost.peak_memory_bytes {
            page.entry("memory", &format!("{} at most", bytes(peak)));
        }
        if !self.outputs.is_empty() {
            let outputs = self.outputs.iter().map(|(name, end)| format!("{name} {}", bytes(end.bytes)));
            page.entry("disk", &outputs.collect::<Vec<_>>().join(", "));
        }
        if pages.whole.count == 0 {
            return;
        }
        let [half, most] = [pages.whole.p50_us, pages.whole.p99_us].map(|us| duration(Duration::from_micros(us)));
        page.entry("a response took", &format!("{half} (half of them), {most} (99 of 100)"));
    }

    /// Hosts that refuse us or fail come first, then the hosts with the most left to do or, if nothing is left, with the most requests.
    fn hosts_in_brief(&self, page: &mut TextPage) {
        let mut hosts: Vec<_> = self.hosts.top.iter().collect();
        let is_left = hosts.iter().any(|host| host.queued > 0);
        let trouble = self.hosts_in_trouble();
        let is_held_up = is_left || !trouble.is_empty();
        page.heading(if is_held_up { "Which hosts held it up?" } else { "Which hosts were asked most?" });
        for (host, reason) in trouble.iter().take(HOSTS) {
            page.named(host, reason);
        }
        hosts.retain(|row| trouble.iter().all(|(host, _)| *host != row.host));
        hosts.sort_by_key(|host| Reverse((host.queued, host.requests)));
        for HostRow { host, requests, queued, failures, delay_us, unreachable, .. } in
            hosts.into_iter().take(HOSTS.saturating_sub(trouble.len()))
        {
            let mut said = vec![counted(*requests, "request", "requests")];
            if *queued > 0 {
                said.push(format!("{} queued", thousands(*queued)));
            }
            if *failures > 0 {
                said.push(counted((*failures).into(), "failure in a row", "failures in a row"));
            }
            said.push(format!("delay {}", duration(Duration::from_micros(*delay_us))));
            if *unreachable {
                said.push("unreachable".to_owned());
            }
            page.named(host, &said.join(", "));
        }
    }
}

/// Whether a refusal is by one of the user's budgets.
fn is_of_budget(reason: &str) -> bool {
    Refusal::ALL.iter().any(|refusal| refusal.is_of_budget() && refusal.name() == reason)
}

/// The most frequent names with their counts: `seen: 11,302, nofollow: 290, others: 12`.
pub(super) fn most<K: Ord + ToString>(counts: &BTreeMap<K, u64>) -> String {
    most_and(counts, |_| false)
}

/// As [`most`], but some names are always shown.
fn most_and<K: Ord + ToString>(counts: &BTreeMap<K, u64>, is_told: fn(&str) -> bool) -> String {
    let mut counts: Vec<_> = counts.iter().filter(|&(_, &count)| count > 0).collect();
    counts.sort_by_key(|&(_, &count)| Reverse(count));
    let rest = if counts.len() > NAMES { counts.split_off(NAMES - 1) } else { Vec::new() };
    let (told, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(name, _)| is_told(&name.to_string()));
    counts.extend(told);
    let mut texts: Vec<_> =
        counts.iter().map(|(name, count)| format!("{}: {}", name.to_string(), thousands(**count))).collect();
    if !rest.is_empty() {
        texts.push(format!("others: {}", thousands(rest.iter().fold(0, |sum, (_, count)| count.saturating_add(sum)))));
    }
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}
