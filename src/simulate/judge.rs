//! The witness of a crawl: every request, every answer, and the rests between them.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::find::Asked;
use super::world::{PageId, World};
use crate::frontier::Timestamp;

/// Sees each request and each answer of a crawl, and remembers all that the judgment needs.
///
/// Takes two bytes a page and 64 a host, whatever is requested. Time is an argument: it reads no clock.
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

/// What the judge remembers of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct HostLog {
    pub(super) robots_requests: u32,
    /// One of them got a final answer.
    robots_known: bool,
    /// A page was requested before that.
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

/// Unknown URLs that are kept, at most.
const SAMPLES: usize = 20;
/// Bytes that are kept of each, at most.
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

    /// A request arrives. Returns which attempt it is, from 1. `url` gives the requested URL, which is kept if it is unknown.
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

    /// The answer to a request leaves, or its client has left: then it is `None`. Neither that nor a `passing` answer counts as a fetch.
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

    /// How often a page was fetched, counted up to 255: answered with anything but a passing error or another spelling of itself.
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

#[cfg(test)]
mod tests {
    use super::{HostLog, Mutex};

    #[test]
    fn a_host_costs_what_the_page_says() {
        assert!(size_of::<Mutex<HostLog>>() <= 64);
    }
}
