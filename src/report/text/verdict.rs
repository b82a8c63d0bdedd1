//! The last lines of a report: how the crawl ended, what it lost, and what is wrong.

use std::cmp::Reverse;
use std::time::Duration;

use super::page::TextPage;
use crate::crawl::FinishReason;
use crate::frontier::Failure;
use crate::gate::Refusal;
use crate::report::figures::{about, counted, duration, measured, thousands};
use crate::report::{Report, Settings};

impl Report {
    pub(super) fn conclude(&self, page: &mut TextPage) {
        page.paragraph(&self.headline());
        self.judge(page);
    }

    /// How the crawl ended, in a line.
    pub(crate) fn headline(&self) -> String {
        let took = Duration::from_micros(self.elapsed_us);
        let rate = self.urls.fetched as f64 / took.as_secs_f64().max(1e-3);
        let pages = counted(self.urls.fetched, "page", "pages");
        format!("{} {pages} in {}, {rate:.1} a second.", self.ending(), duration(took))
    }

    /// What it lost, and what is wrong.
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

    /// What budgets refused: how many URLs, by which option, where most of them are, and how to fetch them after all.
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
        page.entry("after all by", &command);
    }

    /// What the budgets of hosts left out: how many URLs, of which hosts, by which option, and how to fetch them after all.
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
        page.entry("after all by", "a greater budget, and crawler resume JOB");
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
            FinishReason::Drained if self.hosts.refusing > 0 => "Drained but for what hosts refuse us.",
            FinishReason::Drained if self.urls.unreachable.is_empty() => "Drained.",
            FinishReason::Drained => "Drained but for unreachable hosts.",
            FinishReason::MaxDuration => "Ended: the time is over.",
            FinishReason::MaxPages => "Ended: the pages allowed are fetched.",
            FinishReason::ProxyFailed => "Stopped: the proxy has failed.",
            FinishReason::ReaderLeft => "Ended: whoever read the records has left.",
            FinishReason::SeenFull => "Ended: the seen filter is full.",
            FinishReason::SinkFailed => "FAILED: records could not be written.",
            FinishReason::Stopped => "Stopped on request.",
            FinishReason::StorageFailed => "FAILED: what was found could not be kept.",
            FinishReason::Unfinished => "Not finished: under way, or cut off.",
        }
    }

    /// What could not be reached, and whether a resume can help; `None` if everything could.
    pub fn unreachable(&self) -> Option<String> {
        let urls: u64 = self.urls.unreachable.values().sum();
        let (hosts, urls) = (counted(self.hosts.unreachable, "host", "hosts"), (urls, counted(urls, "URL", "URLs")));
        let is_all_of = |failures: &[Failure]| {
            let is_of = |name: &str| failures.iter().any(|failure| failure.name() == name);
            self.urls.unreachable.iter().all(|(name, count)| *count == 0 || is_of(name))
        };
        let then = if is_all_of(&[Failure::Port]) {
            "their ports are never asked"
        } else if is_all_of(&[Failure::Address, Failure::Port]) {
            "a resume with other settings can ask them"
        } else {
            "a resume asks them again"
        };
        (urls.0 > 0).then(|| format!("{hosts}, {}; {then}", urls.1))
    }

    /// What must not happen, and what changes the meaning of the numbers. Each line begins with two exclamation marks.
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
            (self.politeness.violations, "TOO EARLY"),
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

/// Places to show, of those where budgets refused most.
const PLACES: usize = 3;
/// Names to show.
const NAMES: usize = 2;

/// The first of some names, and how many more there are.
fn some(names: &[String]) -> String {
    let told = names[..names.len().min(NAMES)].join(", ");
    match names.len().saturating_sub(NAMES) {
        0 => told,
        further => format!("{told} and {further} more"),
    }
}
