//! The page of a report, which fits a terminal of 80 columns and 40 lines. Its sections: what was crawled, with the first pages that failed;
//! the filter in three lines; the cost; the hosts that refuse us or fail, with their reasons. The verdict comes last: how the crawl ended,
//! what it lost, and what is wrong.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::page::TextPage;
use crate::crawl::{FailedPage, FinishReason, RefusingHost, is_asked_again};
use crate::frontier::Failure;
use crate::gate::Refusal;
use crate::report::figures::{about, bytes, counted, duration, measured, one_in, percent, shard_names, thousands};
use crate::report::{HostRow, Report, Settings};

/// This many hosts are shown.
const HOSTS: usize = 3;
/// This many pages that failed are shown.
const FAILED: usize = 3;
/// A line has this many names with their counts; the last one sums up the rest.
const NAMES: usize = 4;

impl Report {
    pub(super) fn summarize(&self, page: &mut TextPage) {
        self.site_in_brief(page);
        self.filter_in_brief(page);
        self.cost_in_brief(page);
        self.hosts_in_brief(page);
    }

    fn site_in_brief(&self, page: &mut TextPage) {
        page.heading("What was crawled?");
        let statuses = match self.urls.statuses.len() {
            0 => String::new(),
            _ => format!("; status {}", most(&self.urls.statuses)),
        };
        page.entry("fetched", &format!("{}{statuses}", counted(self.urls.counts.fetched, "page", "pages")));
        page.entry("failed", &self.failed_in_brief().unwrap_or_else(|| "no page".to_owned()));
        for failed in self.urls.failed_pages.iter().take(FAILED) {
            page.named(&format!("  {:<4} {}", how(failed), failed.url), &found_on(failed));
        }
        self.recrawled_in_brief(page);
        if self.urls.counts.unwanted > 0 {
            let text =
                format!("{}: {}", counted(self.urls.counts.unwanted, "page", "pages"), most(&self.pages.unwanted));
            page.entry("not wanted", &text);
        }
        if !self.urls.counts.unreachable.is_empty() {
            let urls = self.urls.counts.unreachable.total();
            let urls =
                format!("{} on {}", counted(urls, "URL", "URLs"), counted(self.hosts.unreachable, "host", "hosts"));
            page.entry("unreachable", &format!("{urls}: {}", most(&self.urls.counts.unreachable)));
        }
        if self.pages.truncated > 0 {
            page.entry("cut at the limit", &counted(self.pages.truncated, "page", "pages"));
        }
        page.entry("still queued", &counted(self.urls.queued, "URL", "URLs"));
        let refused = self.urls.found.saturating_sub(self.urls.admitted);
        let [found, refused] = [self.urls.found, refused].map(thousands);
        let reasons = most_and(&self.urls.refused, is_of_budget);
        page.entry("refused", &format!("{refused} of {found} found: {reasons}"));
        let lists = self.sitemaps.read + self.sitemaps.feeds;
        if lists > 0 {
            let listed = counted(self.sitemaps.listed, "URL", "URLs");
            page.entry("sitemaps, feeds", &format!("{} read, with {listed}", thousands(lists)));
        }
        if let Some(truth) = &self.simulated {
            let [missed, reachable, by_filter] = [truth.missed, truth.reachable, truth.missed_by_filter].map(thousands);
            page.entry(
                "in truth",
                &format!("{missed} of {reachable} simulated pages missed, {by_filter} by the filter"),
            );
        }
    }

    fn filter_in_brief(&self, page: &mut TextPage) {
        page.heading("What did the filter lose, and how full is it?");
        let filter = &self.seen.merged;
        let lost = match &filter.audit {
            Some(audit) => measured(audit.lost, audit.lost_low, audit.lost_high),
            None => format!("{} expected", about(filter.expected_lost)),
        };
        let now = match filter.false_positive_rate_estimated {
            0.0 => "none".to_owned(),
            rate => one_in(rate),
        };
        let new = counted(filter.inserted, "new URL", "new URLs");
        page.entry("lost", &format!("{lost}, of {new}; now {now}"));
        let share = percent(filter.inserted as f64, filter.capacity as f64);
        let [urls, capacity] = [filter.inserted, filter.capacity].map(thousands);
        page.entry("filled", &format!("{urls} URLs, {share} of its capacity of {capacity}; {}", bytes(filter.bytes)));
        let shards = self.seen.shards.iter().zip(shard_names(&self.seen.shards));
        if let Some((worst, name)) = shards.max_by(|(a, _), (b, _)| a.fill_ratio.total_cmp(&b.fill_ratio)) {
            let (filled, lost) = (percent(worst.fill_ratio, 1.0), about(worst.expected_lost));
            let of = thousands(self.seen.shards.len() as u64);
            page.entry("fullest shard", &format!("number {name} of {of}: {filled} of its bits set, {lost} URLs lost"));
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
            let each = duration(
                Duration::from_micros(cpu_us) / u32::try_from(self.urls.counts.fetched.max(1)).unwrap_or(u32::MAX),
            );
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
        if pages.whole.count() == 0 {
            return;
        }
        let [half, most] = [0.5, 0.99].map(|share| duration(pages.whole.quantile(share)));
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
            let mut facts = vec![counted(*requests, "request", "requests")];
            if *queued > 0 {
                facts.push(format!("{} queued", thousands(*queued)));
            }
            if *failures > 0 {
                facts.push(counted((*failures).into(), "failure in a row", "failures in a row"));
            }
            facts.push(format!("delay {}", duration(Duration::from_micros(*delay_us))));
            if *unreachable {
                facts.push("unreachable".to_owned());
            }
            page.named(host, &facts.join(", "));
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

/// Like [`most`], but the names for which `is_shown` is true are always shown.
fn most_and<K: Ord + ToString>(counts: &BTreeMap<K, u64>, is_shown: fn(&str) -> bool) -> String {
    let mut counts: Vec<_> = counts.iter().filter(|&(_, &count)| count > 0).collect();
    counts.sort_by_key(|&(_, &count)| Reverse(count));
    let rest = if counts.len() > NAMES { counts.split_off(NAMES - 1) } else { Vec::new() };
    let (shown, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(name, _)| is_shown(&name.to_string()));
    counts.extend(shown);
    let mut texts: Vec<_> =
        counts.iter().map(|(name, count)| format!("{}: {}", name.to_string(), thousands(**count))).collect();
    if !rest.is_empty() {
        texts.push(format!("others: {}", thousands(rest.iter().fold(0, |sum, (_, count)| count.saturating_add(sum)))));
    }
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

/// How a page failed, in a word: its status or its error.
pub(in crate::report) fn how(page: &FailedPage) -> String {
    page.status.map_or_else(|| page.error.clone().unwrap_or_default(), |status| status.to_string())
}

/// Where a page that failed was found.
fn found_on(page: &FailedPage) -> String {
    page.referrer.as_deref().map_or_else(|| "a seed".to_owned(), |page| format!("on {page}"))
}

/// How a host refuses us, in a few words.
pub(in crate::report) fn refuses(host: &RefusingHost) -> String {
    format!("refuses us: {}", refusals(host))
}

fn refusals(host: &RefusingHost) -> String {
    let RefusingHost { answers, refused, by, .. } = host;
    format!("{by}, {} of {}", thousands(*refused), counted(*answers, "answer", "answers"))
}

impl Report {
    /// How many pages failed, by status (400 and more) and by error.
    pub(in crate::report) fn failures(&self) -> BTreeMap<String, u64> {
        let statuses = self.urls.statuses.iter().filter(|&(status, _)| *status >= 400);
        let statuses = statuses.map(|(status, count)| (status.to_string(), *count));
        statuses.chain(self.urls.errors.iter().map(|(error, count)| (error.clone(), *count))).collect()
    }

    /// How many pages failed, and how; `None` if none did.
    pub(super) fn failed_in_brief(&self) -> Option<String> {
        let failures = self.failures();
        let all: u64 = failures.values().sum();
        (all > 0).then(|| format!("{} ({})", counted(all, "page", "pages"), most(&failures)))
    }

    /// Says in the last lines how many pages failed, and what can be done about them.
    pub(super) fn conclude_failed(&self, page: &mut TextPage) {
        let all: u64 = self.failures().values().sum();
        if all == 0 {
            return;
        }
        let again = self.urls.statuses.iter().filter(|&(status, _)| is_asked_again(*status));
        let again: u64 = again.map(|(_, count)| count).chain(self.urls.errors.values()).sum();
        let failed = format!("Failed: {};", counted(all, "page", "pages"));
        page.words(&match again {
            0 => format!("{failed} crawler broken lists them, with the pages that link there."),
            _ => format!("{failed} crawler retry asks again for {}, crawler broken lists all.", thousands(again)),
        });
    }

    /// Says in the last lines how many hosts refuse us.
    pub(super) fn conclude_refused(&self, page: &mut TextPage) {
        let [first, others @ ..] = &self.hosts.refusing_hosts[..] else { return };
        let beside = if others.is_empty() { "" } else { "most by " };
        let hosts = counted(self.hosts.refusing, "host", "hosts");
        page.words(&format!("Refused by {hosts}: {beside}{} ({}).", first.host, refusals(first)));
    }

    /// The first pages that failed, each with the page that links there.
    pub(super) fn failed_pages(&self, page: &mut TextPage) {
        let Some(failed) = self.failed_in_brief() else { return };
        page.heading(&format!("Pages that failed: {failed}"));
        for one in &self.urls.failed_pages {
            page.line(&format!("{:<4} {}", how(one), one.url));
            page.line(&format!("     {}", found_on(one)));
        }
        page.line("all of them, with each page that links there: crawler broken JOB");
    }

    /// Hosts that refuse us, then hosts that fail, each once and with its reason.
    pub(in crate::report) fn hosts_in_trouble(&self) -> Vec<(&str, String)> {
        let refusing = self.hosts.refusing_hosts.iter().map(|host| (&*host.host, refuses(host)));
        let failing = self.hosts.in_trouble.iter().map(|host| (&*host.host, trouble(host)));
        let mut shown = BTreeSet::new();
        refusing.chain(failing).filter(|(host, _)| shown.insert(*host)).collect()
    }
}

/// Why a host fails.
fn trouble(host: &HostRow) -> String {
    let state = if host.unreachable { "unreachable" } else { "fails" };
    let failures = match host.failures {
        0 => String::new(),
        failures => format!(" after {}", counted(failures.into(), "failure", "failures in a row")),
    };
    format!("{state}{failures}: {}", host.reason)
}

impl Report {
    pub(super) fn conclude(&self, page: &mut TextPage) {
        page.paragraph(&self.headline());
        self.judge(page);
    }

    /// How the crawl ended, in a line.
    pub(crate) fn headline(&self) -> String {
        let took = Duration::from_micros(self.elapsed_us);
        let rate = self.urls.counts.fetched as f64 / took.as_secs_f64().max(1e-3);
        let pages = counted(self.urls.counts.fetched, "page", "pages");
        format!("{} {pages} in {}, {rate:.1} a second.", self.ending(), duration(took))
    }

    /// Writes the verdict without its first line: what the crawl lost, and what is wrong.
    pub(super) fn judge(&self, page: &mut TextPage) {
        let filter = &self.seen.merged;
        let expects = about(filter.expected_lost);
        page.push(&match &filter.audit {
            Some(audit) => {
                let lost = measured(audit.lost, audit.lost_low, audit.lost_high);
                format!("Lost to the filter: {lost}, {expects} expected.")
            }
            None => format!("Lost to the filter: {expects} expected."),
        });
        self.conclude_failed(page);
        self.conclude_refused(page);
        if let Some(unreachable) = self.unreachable() {
            page.push(&format!("Unreachable: {unreachable}."));
        }
        self.refused_by_budgets(page);
        self.left_out_by_hosts(page);
        match self.resumes {
            0 => {}
            1 => page.push("Resumed once: the numbers are of both runs together."),
            times => page.push(&format!("Resumed {times} times: the numbers are of all runs together.")),
        }
        self.alarms(page);
    }

    /// Says how many URLs budgets refused: by which option, where most of them are, and how to fetch them after all.
    fn refused_by_budgets(&self, page: &mut TextPage) {
        let mut command = String::new();
        let mut reasons = Vec::new();
        for (refusal, budget) in Refusal::ALL.into_iter().filter_map(|refusal| Some((refusal, refusal.budget()?))) {
            let urls = self.urls.refused.get(refusal.name()).copied().unwrap_or_default();
            if urls > 0 {
                reasons.push((urls, format!("  {refusal}: {}, by traps.{budget}", thousands(urls))));
                command = format!("{command}CRAWLER_TRAPS_{}=0 ", budget.to_uppercase());
            }
        }
        if reasons.is_empty() {
            return;
        }
        let urls = reasons.iter().map(|(urls, _)| urls).sum();
        page.push(&format!("Refused by budgets, as more of the same: {}.", counted(urls, "URL", "URLs")));
        for (_, line) in &reasons {
            page.push(line);
        }
        let mut places: Vec<_> = self.urls.refused_shapes.iter().collect();
        places.sort_by_key(|&(_, &urls)| Reverse(urls));
        for (place, &urls) in places.into_iter().take(PLACES) {
            page.named(place, &counted(urls, "URL", "URLs"));
        }
        command.push_str("crawler --seeds JOB/seeds.txt --job NEW");
        page.entry("to fetch them", &command);
    }

    /// Says how many URLs the budgets of hosts left out: of which hosts, by which option, and how to fetch them after all.
    fn left_out_by_hosts(&self, page: &mut TextPage) {
        let of = |refusal: Refusal| self.urls.refused.get(refusal.name()).copied().unwrap_or_default();
        let reasons =
            [(Refusal::HostPages, "pages"), (Refusal::HostBytes, "bytes")].map(|(refusal, key)| (of(refusal), key));
        let urls = reasons.iter().map(|(urls, _)| urls).sum();
        if urls == 0 {
            return;
        }
        page.push(&format!("Left out, since budgets of hosts are spent: {}.", counted(urls, "URL", "URLs")));
        for (urls, key) in reasons.into_iter().filter(|(urls, _)| *urls > 0) {
            let urls = thousands(urls);
            page.push(&format!("  host_{key}: {urls}, by politeness.host_{key}, or max_{key} in [hosts] and [groups]"));
        }
        for (host, &urls) in self.left_out_most_first().into_iter().take(PLACES) {
            page.named(host, &counted(urls, "URL", "URLs"));
        }
        page.entry("to fetch them", "raise the budget, then crawler resume JOB");
    }

    /// Hosts with URLs that are left out, most first.
    pub(super) fn left_out_most_first(&self) -> Vec<(&String, &u64)> {
        let mut hosts: Vec<_> = self.urls.left_out.iter().collect();
        hosts.sort_by_key(|&(_, &urls)| Reverse(urls));
        hosts
    }

    fn ending(&self) -> &'static str {
        match self.finish {
            FinishReason::DiskLow => "Stopped: the disk is nearly full.",
            FinishReason::Drained if self.hosts.refusing > 0 => "Drained but for hosts that refuse us.",
            FinishReason::Drained if self.urls.counts.unreachable.is_empty() => "Drained.",
            FinishReason::Drained => "Drained but for unreachable hosts.",
            FinishReason::MaxDuration => "Ended: the time is over.",
            FinishReason::MaxPages => "Ended: the pages allowed are fetched.",
            FinishReason::ProxyFailed => "Stopped: the proxy has failed.",
            FinishReason::ReaderLeft => "Ended: the reader of the records has left.",
            FinishReason::SeenFull => "Ended: the seen filter is full.",
            FinishReason::SinkFailed => "FAILED: records could not be written.",
            FinishReason::Stopped => "Stopped on request.",
            FinishReason::StorageFailed => "FAILED: the crawl could not be kept.",
            FinishReason::Unfinished => "Not finished: under way, or cut off.",
        }
    }

    /// The hosts and URLs that could not be reached, and whether a resume can help; `None` if all could be reached.
    pub fn unreachable(&self) -> Option<String> {
        let urls: u64 = self.urls.counts.unreachable.total();
        let (hosts, urls) = (counted(self.hosts.unreachable, "host", "hosts"), (urls, counted(urls, "URL", "URLs")));
        let is_all_of = |failures: &[Failure]| {
            let is_of = |name: &str| failures.iter().any(|failure| failure.name() == name);
            self.urls.counts.unreachable.iter().all(|(name, count)| *count == 0 || is_of(name))
        };
        let then = if is_all_of(&[Failure::Port]) {
            "their ports are never asked"
        } else if is_all_of(&[Failure::Address, Failure::NoAuthorities, Failure::Port]) {
            "a resume with other settings can ask them"
        } else {
            "a resume asks them again"
        };
        (urls.0 > 0).then(|| format!("{hosts}, {}; {then}", urls.1))
    }

    /// Writes alarms: faults that must not happen, and settings that change the meaning of the numbers. Each begins with two exclamation
    /// marks.
    fn alarms(&self, page: &mut TextPage) {
        if !self.settings.robots {
            page.push("!! robots.txt was NOT honored");
        }
        if self.settings.private_addresses {
            page.push("!! private addresses were allowed");
        }
        let Settings { insecure, insecure_hosts, .. } = &self.settings;
        if *insecure {
            page.push("!! certificates were NOT checked");
        } else if !insecure_hosts.is_empty() {
            page.push(&format!("!! certificates were NOT checked: {}", some(insecure_hosts)));
        }
        if self.seen.merged.full > 0 {
            let full = counted(self.seen.merged.full, "shard", "shards");
            page.push(&format!("!! {full} of the seen filter are full: more is lost than promised"));
        }
        let truth = self.simulated.unwrap_or_default();
        for (count, what) in [
            (truth.fetched_twice, "fetched TWICE, by the simulated servers"),
            (truth.against_robots, "AGAINST robots.txt, by the simulated servers"),
            (truth.interval_violations, "TOO EARLY, by the simulated servers' clock"),
            (self.politeness.counts.violations, "TOO EARLY"),
        ] {
            if count > 0 {
                page.push(&format!("!! {} came {what}", counted(count, "request", "requests")));
            }
        }
        if let Some(worst) = &self.politeness.worst {
            let [waited, delay] = [worst.waited_us, worst.delay_us].map(|us| duration(Duration::from_micros(us)));
            page.push(&match worst.taken {
                0 => format!("   at worst after {waited} of {delay}: {}", worst.host),
                taken => format!("   at worst with {} connections: {}", thousands(taken.into()), worst.host),
            });
        }
    }
}

/// The places where budgets refused the most URLs: this many are shown.
const PLACES: usize = 3;
/// [`some`] shows this many names.
const FIRST_NAMES: usize = 2;

/// The first of some names, and how many more there are.
fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(FIRST_NAMES)].join(", ");
    match names.len().saturating_sub(FIRST_NAMES) {
        0 => shown,
        further => format!("{shown} and {further} more"),
    }
}
