//! The options of a world.

use std::time::Duration;

/// What a simulated web is made from; plain data, checked once in [`World::new`](super::World::new).
///
/// Equal options make equal worlds, byte for byte, on each machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulateOptions {
    /// The number that everything else follows from.
    pub seed: u64,
    /// Hosts, each with at least one page.
    pub hosts: u32,
    /// Addresses in all: pages, files, redirects and dead ones.
    pub pages: u32,
    /// Share of the pages on the largest host, 1 to 100; more if there are so few hosts that another would be larger.
    /// The others follow Zipf's law: half, a third, a quarter.
    pub largest_host_percent: u8,
    /// Share of the links that lead to a page to which another link leads already, 0 to 98.
    pub duplicate_percent: u8,
    /// Share of the hosts that answer slowly, 0 to 100. Hosts with more than 1,000 pages never do: they would decide how long the whole
    /// crawl takes.
    pub slow_host_percent: u8,
    /// How long a slow host takes to answer, give or take a half.
    pub latency: Duration,
    /// The `Crawl-delay` of the few hosts that have one (up to 100 pages each), in milliseconds on the wire.
    pub crawl_delay: Duration,
    /// Seconds that each 503 asks for in `Retry-After`.
    pub retry_after: u32,
    /// Of the hosts with a robots.txt, the share whose robots.txt names a sitemap, 0 to 100. A sitemap also lists pages that nothing else
    /// leads to.
    pub sitemap_percent: u8,
    /// Whether there are sites without end, too, to which the portal links: a calendar, sessions, filters, a maze, a mirror, and a domain
    /// on which each name is a host. They are not part of the truth.
    pub trap: bool,
}

impl Default for SimulateOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            hosts: 50,
            pages: 2_000,
            largest_host_percent: 15,
            duplicate_percent: 70,
            slow_host_percent: 10,
            latency: Duration::from_millis(30),
            crawl_delay: Duration::from_millis(200),
            retry_after: 1,
            sitemap_percent: 0,
            trap: false,
        }
    }
}

/// Why no world can be made from its options.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option} = {value}: {reason}")]
pub struct SimulateError {
    /// The option's name.
    pub option: &'static str,
    /// The value that was given.
    pub value: String,
    /// What is wrong with the value.
    pub reason: &'static str,
}

impl SimulateOptions {
    pub(super) fn check(&self) -> Result<(), SimulateError> {
        let refuse =
            |option, value: &dyn ToString, reason| Err(SimulateError { option, value: value.to_string(), reason });
        if self.hosts == 0 {
            return refuse("hosts", &self.hosts, "at least 1");
        }
        if self.pages < self.hosts {
            return refuse("pages", &self.pages, "at least one for each host");
        }
        if self.pages > MOST_PAGES {
            return refuse("pages", &self.pages, "at most 2^30");
        }
        if !(1..=100).contains(&self.largest_host_percent) {
            return refuse("largest_host_percent", &self.largest_host_percent, "from 1 to 100");
        }
        if self.duplicate_percent > 98 {
            return refuse("duplicate_percent", &self.duplicate_percent, "from 0 to 98");
        }
        if self.slow_host_percent > 100 {
            return refuse("slow_host_percent", &self.slow_host_percent, "from 0 to 100");
        }
        if self.sitemap_percent > 100 {
            return refuse("sitemap_percent", &self.sitemap_percent, "from 0 to 100");
        }
        if self.latency > LONGEST {
            return refuse("latency", &format_args!("{:?}", self.latency), "at most 60s");
        }
        if self.crawl_delay > LONGEST {
            return refuse("crawl_delay", &format_args!("{:?}", self.crawl_delay), "at most 60s");
        }
        Ok(())
    }
}

/// Bounds: a page's number times the widest tree stays below 2^64, and a host's number below 2^32.
const MOST_PAGES: u32 = 1 << 30;
const LONGEST: Duration = Duration::from_secs(60);
