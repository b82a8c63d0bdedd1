//! What failed, for people: pages with errors, and hosts that refuse us or fail, each with its reason.

use std::collections::{BTreeMap, BTreeSet};

use super::page::TextPage;
use super::summary::most;
use crate::crawl::{FailedPage, RefusingHost, is_asked_again};
use crate::report::figures::{counted, thousands};
use crate::report::{HostRow, Report};

/// How a page failed, in a word: its status or its error.
pub(in crate::report) fn how(page: &FailedPage) -> String {
    page.status.map_or_else(|| page.error.clone().unwrap_or_default(), |status| status.to_string())
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
    /// Pages that failed: how many by each status of 400 and more, and by each error.
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

    /// What can be done about pages that failed, in the last lines.
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

    /// The hosts that refuse us, in the last lines.
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
            let from = one.referrer.as_deref().map_or_else(|| "a seed".to_owned(), |page| format!("on {page}"));
            page.line(&format!("{:<4} {}", how(one), one.url));
            page.line(&format!("     {from}"));
        }
        page.line("all of them, with each page that links there: crawler broken JOB");
    }

    /// Hosts that refuse us or fail, and why, by what is left to do.
    pub(in crate::report) fn hosts_in_trouble(&self) -> Vec<(&str, String)> {
        let refusing = self.hosts.refusing_hosts.iter().map(|host| (&*host.host, refuses(host)));
        let failing = self.hosts.in_trouble.iter().map(|host| (&*host.host, trouble(host)));
        let mut told = BTreeSet::new();
        refusing.chain(failing).filter(|(host, _)| told.insert(*host)).collect()
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
