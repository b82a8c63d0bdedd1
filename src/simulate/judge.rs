//! The judge of a crawl sees every request and every answer, and the rests between them. Its judgment compares them with the truth.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::request::Asked;
use super::truth::{Reach, Truth, TruthOptions};
use super::world::{PageId, World};
use crate::frontier::Timestamp;

/// Sees each request and each answer of a crawl, and remembers what the judgment needs.
///
/// It takes two bytes a page and 64 a host, however many requests come. Time is an argument: it reads no clock.
#[derive(Debug)]
pub struct Judge {
    /// Requests for each page, counted up to 255.
    requests: Box<[AtomicU8]>,
    /// Final answers for each page, counted up to 255.
    answers: Box<[AtomicU8]>,
    hosts: Box<[Mutex<HostLog>]>,
    all_requests: AtomicU64,
    trapped: AtomicU64,
    unknown: AtomicU64,
    unknown_samples: Mutex<Vec<String>>,
}

/// The judge's memory of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct HostLog {
    pub(super) robots_requests: u32,
    /// A request for robots.txt got a final answer.
    robots_known: bool,
    /// A page or sitemap was requested before that.
    pub(super) asked_before_robots: bool,
    in_flight: u16,
    /// The most requests that were under way at once.
    pub(super) most_in_flight: u16,
    last_answer: Option<Timestamp>,
    /// The shortest time between an answer and the next request.
    pub(super) smallest_rest: Option<Duration>,
    not_before: Timestamp,
    pub(super) before_retry_after: u32,
}

/// At most this many unknown URLs are kept.
const SAMPLES: usize = 20;
/// At most this many characters of each are kept.
const SAMPLE_BYTES: usize = 300;

impl Judge {
    /// A judge of a crawl that has requested nothing yet.
    pub fn new(world: &World) -> Self {
        let zeros = || (0..world.pages()).map(|_| AtomicU8::new(0)).collect();
        Self {
            requests: zeros(),
            answers: zeros(),
            hosts: (0..world.hosts()).map(|_| Mutex::default()).collect(),
            all_requests: AtomicU64::new(0),
            trapped: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
            unknown_samples: Mutex::default(),
        }
    }

    /// Call this when a request arrives. Returns the number of the attempt, from 1. `url` returns the requested URL, which is kept if no page
    /// has it.
    pub fn arrived(&self, world: &World, asked: &Asked, url: impl FnOnce() -> String, now: Timestamp) -> u32 {
        self.all_requests.fetch_add(1, Ordering::Relaxed);
        match *asked {
            Asked::Page { id, .. } => {
                let mut host = self.host(id.host);
                host.request(now);
                host.asked_before_robots |= !host.robots_known;
                u32::from(count(&self.requests[world.place(id)])) + 1
            }
            Asked::Robots { host, .. } => {
                let mut host = self.host(host);
                host.request(now);
                host.robots_requests = host.robots_requests.saturating_add(1);
                host.robots_requests
            }
            Asked::Sitemap { host, .. } => {
                let mut host = self.host(host);
                host.request(now);
                host.asked_before_robots |= !host.robots_known;
                1
            }
            Asked::Trap { .. } => {
                self.trapped.fetch_add(1, Ordering::Relaxed);
                1
            }
            Asked::Unknown => {
                self.unknown.fetch_add(1, Ordering::Relaxed);
                let mut samples = lock(&self.unknown_samples);
                if samples.len() < SAMPLES {
                    let url = url();
                    samples.push(url.chars().take(SAMPLE_BYTES).collect());
                }
                1
            }
        }
    }

    /// Call this when an answer is sent, or with `None` if the client has left. Neither `None` nor a `passing` answer counts as a fetch.
    pub fn answered(&self, world: &World, asked: &Asked, answer: Option<&super::Answer>, now: Timestamp) {
        let (Asked::Page { id: PageId { host, .. }, .. } | Asked::Robots { host, .. } | Asked::Sitemap { host, .. }) =
            *asked
        else {
            return;
        };
        let last = answer.is_some_and(|answer| !answer.passing);
        let mut log = self.host(host);
        log.in_flight = log.in_flight.saturating_sub(1);
        log.last_answer = Some(now);
        if let Some(seconds) = answer.and_then(|answer| answer.header("retry-after")?.parse().ok()) {
            log.not_before = now + Duration::from_secs(seconds);
        }
        match *asked {
            Asked::Page { id, .. } if last => _ = count(&self.answers[world.place(id)]),
            Asked::Robots { .. } if last => log.robots_known = true,
            _ => {}
        }
    }

    /// How often a page was fetched, counted up to 255. A temporary error, or a redirect to another spelling, does not count.
    ///
    /// # Panics
    /// If the page belongs to another world.
    pub fn fetches(&self, world: &World, id: PageId) -> u8 {
        self.answers[world.place(id)].load(Ordering::Relaxed)
    }

    /// How often a page was requested, counted up to 255.
    ///
    /// # Panics
    /// If the page belongs to another world.
    pub fn requests(&self, world: &World, id: PageId) -> u8 {
        self.requests[world.place(id)].load(Ordering::Relaxed)
    }

    /// Requests to a host that are under way.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn in_flight(&self, host: u32) -> u32 {
        self.host(host).in_flight.into()
    }

    pub(super) fn host(&self, index: u32) -> MutexGuard<'_, HostLog> {
        lock(&self.hosts[index as usize])
    }

    pub(super) fn all_requests(&self) -> u64 {
        self.all_requests.load(Ordering::Relaxed)
    }

    pub(super) fn trapped(&self) -> u64 {
        self.trapped.load(Ordering::Relaxed)
    }

    pub(super) fn unknown(&self) -> (u64, Vec<String>) {
        (self.unknown.load(Ordering::Relaxed), lock(&self.unknown_samples).clone())
    }
}

impl HostLog {
    fn request(&mut self, now: Timestamp) {
        self.in_flight = self.in_flight.saturating_add(1);
        self.most_in_flight = self.most_in_flight.max(self.in_flight);
        if let Some(last) = self.last_answer {
            let rest = now.since(last);
            self.smallest_rest = Some(self.smallest_rest.map_or(rest, |smallest| smallest.min(rest)));
        }
        if now < self.not_before {
            self.before_retry_after = self.before_retry_after.saturating_add(1);
        }
    }
}

/// Adds one, and returns the count before.
fn count(counter: &AtomicU8) -> u8 {
    let add = |count: u8| Some(count.saturating_add(1));
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).unwrap_or(u8::MAX)
}

/// The counts stay valid after a request panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A crawl compared with the truth: the pages that an ideal crawl of the simulated web fetches, and the pages that this crawl fetched.
///
/// A page is one address, in any spelling and with any answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgment {
    /// The seed of the world's random numbers.
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
    /// How many of the missed pages the filter lost: it wrongly took them for seen, or only such pages lead to them. `None` until
    /// [`Judgment::explain`] has counted them.
    pub missed_by_filter: Option<u64>,
    /// Pages fetched more than once. A temporary error, or a redirect to another spelling, does not count as a fetch.
    pub fetched_twice: u64,
    /// Pages requested although robots.txt forbids them.
    pub fetched_against_robots: u64,
    /// Pages requested that an ideal crawl does not reach: only nofollow links lead there, or they are out of scope.
    pub fetched_beyond: u64,
    /// Requests for pages that the world does not have. The crawler resolved links wrongly.
    pub unknown_urls: u64,
    /// Examples of these URLs.
    pub unknown_samples: Vec<String>,
    /// Requests to endless sites.
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
    /// Requests to a host during the rest that its last Retry-After asked for. Judged only where a host has one connection: with more
    /// connections, requests may already be on their way.
    pub before_retry_after: u64,
    /// The shortest rest of any host, from an answer to the next request; `None` if no host got a second request.
    pub smallest_rest_us: Option<u64>,
}

impl Judge {
    /// Compares the requests with the truth. Each host should get a rest of `delay`, and at most `connections` requests at once.
    pub fn judgment(&self, world: &World, truth: &Truth, delay: Duration, connections: u8) -> Judgment {
        let is_alone = connections == 1;
        let (unknown_urls, unknown_samples) = self.unknown();
        let mut judgment = Judgment {
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
            judgment.fetched_twice += u64::from(fetches > 1);
            match truth.reach(world, id) {
                Reach::Reachable => {
                    judgment.reachable += 1;
                    if fetches > 0 { judgment.fetched += 1 } else { judgment.missed += 1 }
                }
                _ if truth.options().robots && !world.allowed(id) => judgment.fetched_against_robots += requested,
                _ => judgment.fetched_beyond += requested,
            }
        }
        let mut smallest: Option<Duration> = None;
        for index in 0..world.hosts() {
            let host = self.host(index);
            // A crawl that ignores robots.txt does not know the Crawl-delay.
            let own = if truth.options().robots { world.crawl_delay(index) } else { None };
            let due = delay.max(own.unwrap_or_default());
            judgment.robots_requests += u64::from(host.robots_requests);
            judgment.hosts_before_robots += u64::from(host.asked_before_robots && truth.options().robots);
            judgment.hosts_concurrent += u64::from(host.most_in_flight > connections.into());
            judgment.hosts_hurried += u64::from(is_alone && host.smallest_rest.is_some_and(|rest| rest < due));
            judgment.before_retry_after += if is_alone { host.before_retry_after.into() } else { 0 };
            smallest = smallest.into_iter().chain(host.smallest_rest).min();
        }
        judgment.smallest_rest_us = smallest.map(|rest| u64::try_from(rest.as_micros()).unwrap_or(u64::MAX));
        judgment
    }

    /// The reachable pages that were not fetched; [`World::url`] spells them.
    pub fn missed<'a>(&'a self, world: &'a World, truth: &'a Truth) -> impl Iterator<Item = PageId> + 'a {
        world.page_ids().filter(|&id| truth.reach(world, id) == Reach::Reachable && self.fetches(world, id) == 0)
    }
}

impl Judgment {
    /// Counts how many of the missed pages the filter lost. `claimed` says whether the filter takes a missed page's URL for seen. Pages to
    /// which only such pages lead are lost, too.
    pub fn explain(&mut self, world: &World, judge: &Judge, truth: &Truth, mut claimed: impl FnMut(&str) -> bool) {
        let missed: Vec<PageId> = judge.missed(world, truth).collect();
        let without: HashSet<PageId> = missed.iter().copied().filter(|&id| claimed(&world.url(id))).collect();
        let lost = without.len() as u64;
        let rest = world.truth(&TruthOptions { without: without.clone(), ..truth.options().clone() });
        let cut_off =
            missed.iter().filter(|&&id| !without.contains(&id) && rest.reach(world, id) != Reach::Reachable).count()
                as u64;
        self.missed_by_filter = Some(lost + cut_off);
    }

    /// Whether there are no [faults](Self::faults).
    pub fn is_clean(&self) -> bool {
        self.faults().next().is_none()
    }

    /// The faults of the crawl, each with its count. A good crawl has none: the filter's losses are not among them.
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

#[cfg(test)]
mod tests {
    use super::{HostLog, Mutex};

    #[test]
    fn a_host_costs_what_the_page_says() {
        assert!(size_of::<Mutex<HostLog>>() <= 64);
    }
}
