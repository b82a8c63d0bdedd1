//! A crawl, judged by the truth.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::judge::Judge;
use super::truth::{Reach, Truth, TruthOptions};
use super::world::{PageId, World};

/// A crawl against the truth: what an ideal crawl of the simulated web fetches, and what this one did.
///
/// A page is one address, in any spelling and with any answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgment {
    /// The number from which the world follows.
    pub seed: u64,
    /// Its hosts.
    pub hosts: u32,
    /// Its pages.
    pub pages: u32,
    /// Pages that an ideal crawl fetches.
    pub reachable: u64,
    /// How many of these were fetched.
    pub fetched: u64,
    /// How many of these were not fetched.
    pub missed: u64,
    /// How many of the missed pages the filter took for seen without having seen them, or are linked to only from such pages. `None` until
    /// [`Judgment::explain`] has counted them.
    pub missed_by_filter: Option<u64>,
    /// Pages fetched more than once. A passing error, or a redirect to another spelling, does not count as a fetch.
    pub fetched_twice: u64,
    /// Pages requested although robots.txt forbids them.
    pub fetched_against_robots: u64,
    /// Pages requested that an ideal crawl cannot reach: only nofollow leads there, or the scope ends before.
    pub fetched_beyond: u64,
    /// Requests for pages that the world does not have: links were resolved wrongly.
    pub unknown_urls: u64,
    /// Examples of these URLs.
    pub unknown_samples: Vec<String>,
    /// Requests to sites without end.
    pub trapped: u64,
    /// Requests in all.
    pub requests: u64,
    /// How many of them were for robots.txt.
    pub robots_requests: u64,
    /// Hosts that got a request for a page before they had answered for robots.txt.
    pub hosts_before_robots: u64,
    /// Hosts with more requests under way at once than the connections they may have.
    pub hosts_concurrent: u64,
    /// Hosts whose shortest rest was below the delay, or below their own Crawl-delay. Judged only where a host has one connection.
    pub hosts_hurried: u64,
    /// Requests to a host during the rest that its last Retry-After asked for. Judged only where a host has one connection: of several
    /// requests, some may be on their way already.
    pub before_retry_after: u64,
    /// The shortest rest of any host, from an answer to the next request; `None` if no host got a second request.
    pub smallest_rest_us: Option<u64>,
}

impl Judge {
    /// Compares the requests with the truth. `delay` is the rest that each host was to get, and `connections` is how many requests to it
    /// may be under way at once.
    pub fn judgment(&self, world: &World, truth: &Truth, delay: Duration, connections: u8) -> Judgment {
        let is_alone = connections == 1;
        let (unknown_urls, unknown_samples) = self.unknown();
        let mut verdict = Judgment {
            seed: world.options().seed,
            hosts: world.hosts(),
            pages: world.pages(),
            requests: self.all_requests(),
            trapped: self.trapped(),
            unknown_urls,
            unknown_samples,
            ..Judgment::default()
        };
        for id in world.page_ids() {
            let fetches = self.fetches(world, id);
            let requested = u64::from(self.requests(world, id) > 0);
            verdict.fetched_twice += u64::from(fetches > 1);
            match truth.reach(world, id) {
                Reach::Reachable => {
                    verdict.reachable += 1;
                    if fetches > 0 { verdict.fetched += 1 } else { verdict.missed += 1 }
                }
                _ if truth.options().robots && !world.allowed(id) => verdict.fetched_against_robots += requested,
                _ => verdict.fetched_beyond += requested,
            }
        }
        let mut smallest: Option<Duration> = None;
        for index in 0..world.hosts() {
            let host = self.host(index);
            // A crawl that ignores robots.txt cannot know it.
            let own = if truth.options().robots { world.crawl_delay(index) } else { None };
            let due = delay.max(own.unwrap_or_default());
            verdict.robots_requests += u64::from(host.robots_requests);
            verdict.hosts_before_robots += u64::from(host.asked_before_robots && truth.options().robots);
            verdict.hosts_concurrent += u64::from(host.most_in_flight > connections.into());
            verdict.hosts_hurried += u64::from(is_alone && host.smallest_rest.is_some_and(|rest| rest < due));
            verdict.before_retry_after += if is_alone { host.before_retry_after.into() } else { 0 };
            smallest = smallest.into_iter().chain(host.smallest_rest).min();
        }
        verdict.smallest_rest_us = smallest.map(|rest| u64::try_from(rest.as_micros()).unwrap_or(u64::MAX));
        verdict
    }

    /// The reachable pages that were not fetched; [`World::url`] spells them.
    pub fn missed<'a>(&'a self, world: &'a World, truth: &'a Truth) -> impl Iterator<Item = PageId> + 'a {
        world.page_ids().filter(|&id| truth.reach(world, id) == Reach::Reachable && self.fetches(world, id) == 0)
    }
}

impl Judgment {
    /// Counts how many of the missed pages were lost to the filter: `claimed` says whether the filter takes a missed page's URL for seen.
    /// Pages that only such pages lead to are lost with them.
    pub fn explain(&mut self, world: &World, judge: &Judge, truth: &Truth, mut claimed: impl FnMut(&str) -> bool) {
        let missed: Vec<PageId> = judge.missed(world, truth).collect();
        let without: HashSet<PageId> = missed.iter().copied().filter(|&id| claimed(&world.url(id))).collect();
        let lost = without.len() as u64;
        let rest = world.truth(&TruthOptions { without: without.clone(), ..truth.options().clone() });
        let behind =
            missed.iter().filter(|&&id| !without.contains(&id) && rest.reach(world, id) != Reach::Reachable).count()
                as u64;
        self.missed_by_filter = Some(lost + behind);
    }

    /// Whether there are no [faults](Self::faults): nothing missed except by the filter, nothing fetched twice, nothing forbidden, and no
    /// host hurried.
    pub fn is_clean(&self) -> bool {
        self.faults().next().is_none()
    }

    /// What a good crawl does not do, and how often this one did.
    pub fn faults(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let missed = self.missed.saturating_sub(self.missed_by_filter.unwrap_or(0));
        [
            ("missed", missed),
            ("fetched twice", self.fetched_twice),
            ("against robots", self.fetched_against_robots),
            ("beyond the rules", self.fetched_beyond),
            ("unknown URLs", self.unknown_urls),
            ("hosts before robots.txt", self.hosts_before_robots),
            ("hosts concurrent", self.hosts_concurrent),
            ("hosts hurried", self.hosts_hurried),
            ("before Retry-After", self.before_retry_after),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0)
    }
}

impl fmt::Display for Judgment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "simulated web {}: {} pages on {} hosts", self.seed, self.pages, self.hosts)?;
        write!(f, "  reachable {}, fetched {}, missed {}", self.reachable, self.fetched, self.missed)?;
        if let Some(lost) = self.missed_by_filter {
            write!(f, " (by the filter {lost})")?;
        }
        writeln!(
            f,
            "\n  fetched twice {}, against robots {}, beyond the rules {}, unknown URLs {}",
            self.fetched_twice, self.fetched_against_robots, self.fetched_beyond, self.unknown_urls
        )?;
        write!(
            f,
            "  hosts asked concurrently {}, hurried {}, before robots.txt {}; before Retry-After {}",
            self.hosts_concurrent, self.hosts_hurried, self.hosts_before_robots, self.before_retry_after
        )?;
        match self.smallest_rest_us {
            Some(rest) => write!(f, "; shortest rest {}.{:03} ms", rest / 1000, rest % 1000),
            None => Ok(()),
        }
    }
}
