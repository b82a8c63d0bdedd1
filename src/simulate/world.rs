//! The world itself: its hosts and pages, all determined by a seed; its options, and the portal's lists of all hosts.

use std::time::Duration;

use super::dice::{Dice, WORDS};
use super::host::{Service, WorldHost, WorldPage, WorldRobots};

/// A web that is determined by a seed. Hosts, pages, links and robots rules are computed when they are needed, never stored.
///
/// It takes four bytes a host and 64 KiB, however many pages it has.
#[derive(Debug)]
pub struct World {
    options: SimulateOptions,
    pub(super) dice: Dice,
    /// The index of each host's first page among all pages, and at the end the number of all pages.
    first: Vec<u32>,
    pub(super) lists: Lists,
    /// Running text, ASCII, to cut paragraphs from.
    pub(super) filler: String,
}

/// A page of the world. All spellings of its address have the same id, and different pages have different ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId {
    /// 0 is the portal.
    pub host: u32,
    /// 0 is the host's front page.
    pub number: u32,
}

impl PageId {
    /// The front page of the portal. All pages can be reached from it, as far as the rules allow.
    pub const PORTAL: Self = Self { host: 0, number: 0 };
}

impl World {
    /// Checks the options, and divides the pages among the hosts.
    ///
    /// # Errors
    /// If an option is out of its range, or leaves the portal too few pages to link to all hosts.
    pub fn new(options: &SimulateOptions) -> Result<Self, SimulateError> {
        options.check()?;
        let dice = Dice::new(options.seed);
        let first = share_out(options);
        let portal = WorldHost::new(dice, 0, first[1], 0);
        let lists = Lists::new(options.hosts, &portal).ok_or_else(|| SimulateError {
            option: "pages",
            value: options.pages.to_string(),
            reason: "too few on the portal to link to all hosts",
        })?;
        Ok(Self { options: options.clone(), dice, first, lists, filler: filler(dice) })
    }

    /// The options that the world was made from.
    pub fn options(&self) -> &SimulateOptions {
        &self.options
    }

    /// The URLs to start from: the portal, the same in each world.
    pub fn seeds(&self) -> Vec<String> {
        vec![self.url(PageId::PORTAL)]
    }

    /// The number of hosts, without those of traps.
    pub fn hosts(&self) -> u32 {
        self.options.hosts
    }

    /// The number of addresses.
    pub fn pages(&self) -> u32 {
        self.options.pages
    }

    /// How many pages are on this host.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn pages_of(&self, host: u32) -> u32 {
        self.first[host as usize + 1] - self.first[host as usize]
    }

    /// A host's name as it is resolved.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn host_name(&self, host: u32) -> String {
        self.host(host).name()
    }

    /// The plainest spelling of a page's address.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn url(&self, id: PageId) -> String {
        let page = self.page(id);
        format!("http://{}{}", page.host.name(), page.path())
    }

    /// All pages, host by host.
    pub fn page_ids(&self) -> impl Iterator<Item = PageId> + '_ {
        (0..self.hosts()).flat_map(|host| (0..self.pages_of(host)).map(move |number| PageId { host, number }))
    }

    pub(super) fn host(&self, index: u32) -> WorldHost {
        let lists = if index == 0 { self.lists.pages } else { 0 };
        WorldHost::new(self.dice, index, self.pages_of(index), lists)
    }

    pub(super) fn page(&self, id: PageId) -> WorldPage {
        assert!(id.number < self.pages_of(id.host), "{id:?} is of another world");
        WorldPage::new(self.host(id.host), id.number)
    }

    /// The place of a page among all pages.
    pub(super) fn place(&self, id: PageId) -> usize {
        (self.first[id.host as usize] + id.number) as usize
    }

    /// The page at a place.
    pub(super) fn at(&self, place: u32) -> PageId {
        let host = self.first.partition_point(|&first| first <= place) - 1;
        #[expect(clippy::cast_possible_truncation, reason = "hosts are counted by a u32")]
        PageId { host: host as u32, number: place - self.first[host] }
    }

    pub(super) fn robots(&self, host: &WorldHost) -> WorldRobots {
        WorldRobots::of(host, self.options.hosts)
    }

    /// Whether robots.txt allows a page.
    ///
    /// # Panics
    /// If there is no such page.
    pub fn allowed(&self, id: PageId) -> bool {
        let page = self.page(id);
        self.robots(&page.host).allow(&page)
    }

    /// The Crawl-delay of a host's robots.txt.
    pub(super) fn crawl_delay(&self, host: u32) -> Option<std::time::Duration> {
        let robots = self.robots(&self.host(host));
        (robots.delayed && robots.service != Service::Missing).then_some(self.options.crawl_delay)
    }
}

/// Divides the pages among the hosts by Zipf's law, in integers: the host of rank r has the weight 1/r, and the portal the weight that its
/// share needs. Returns the index of each host's first page.
fn share_out(options: &SimulateOptions) -> Vec<u32> {
    const ONE: u64 = 1 << 32;
    let others: u64 = (1..u64::from(options.hosts)).map(|index| ONE / (index + 1)).sum();
    let percent = u64::from(options.largest_host_percent);
    let portal = match 100 - percent {
        0 => others.saturating_mul(1000).max(1),
        rest => (others * percent / rest).max(ONE / 2),
    };
    let spare = u128::from(options.pages - options.hosts);
    let all = u128::from(others + portal);
    let mut weight = 0;
    let mut first = Vec::with_capacity(options.hosts as usize + 1);
    for index in 0..=options.hosts {
        // One page each, and a share of the rest. Since the running sum is rounded, nothing is left over.
        #[expect(clippy::cast_possible_truncation, reason = "at most `spare`, which was a u32")]
        first.push(index + (spare * u128::from(weight) / all) as u32);
        weight += if index == 0 { portal } else { ONE / (u64::from(index) + 1) };
    }
    first
}

const FILLER: u64 = 1;
pub(super) const FILLER_BYTES: usize = 64 * 1024;

fn filler(world: Dice) -> String {
    let dice = world.on(FILLER << 32);
    let mut text = String::with_capacity(FILLER_BYTES + 16);
    let mut capital = true;
    for word in 0.. {
        let dice = dice.on(word);
        let letters = dice.pick(&WORDS);
        if capital {
            text.push_str(&letters[..1].to_ascii_uppercase());
            text.push_str(&letters[1..]);
        } else {
            text.push_str(letters);
        }
        capital = dice.on(1).per_mille(90);
        text.push_str(if capital { ". " } else { " " });
        if text.len() >= FILLER_BYTES {
            break;
        }
    }
    text.truncate(FILLER_BYTES);
    text
}

/// The options of a simulated web: plain data, checked once in [`World::new`](super::World::new).
///
/// Equal options make equal worlds, byte for byte, on each machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulateOptions {
    /// The seed of all random numbers.
    pub seed: u64,
    /// Hosts, each with at least one page.
    pub hosts: u32,
    /// Addresses in all: pages, files, redirects and dead ones.
    pub pages: u32,
    /// Share of the pages on the largest host, the portal, 1 to 100. With few hosts it is larger, so that no other host exceeds it. The
    /// others follow Zipf's law: half, a third, a quarter.
    pub largest_host_percent: u8,
    /// Share of the links that lead to a page to which another link leads already, 0 to 98.
    pub duplicate_percent: u8,
    /// Share of the hosts that answer slowly, 0 to 100. Hosts with more than 1,000 pages are never slow: they would determine how long the
    /// whole crawl takes.
    pub slow_host_percent: u8,
    /// How long a slow host takes to answer; half less to half more.
    pub latency: Duration,
    /// The `Crawl-delay` of the few hosts that have one (of at most 100 pages each). On the wire it is in seconds.
    pub crawl_delay: Duration,
    /// Seconds that each 503 asks for in `Retry-After`.
    pub retry_after: u32,
    /// Of the hosts with a robots.txt, the share whose robots.txt names a sitemap, 0 to 100. A sitemap also lists pages that nothing else
    /// leads to.
    pub sitemap_percent: u8,
    /// Whether the portal also links to endless sites: a calendar, sessions, filters, a maze, a mirror, a forum, and a domain on which each
    /// name is a host. They are not part of the truth.
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

/// With at most this many pages, a page's number times the widest fan stays below 2^64, and a host's number below 2^32.
const MOST_PAGES: u32 = 1 << 30;
const LONGEST: Duration = Duration::from_secs(60);

/// How the portal links to each host: on its front page, or on list pages to which the front page links.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    /// List pages besides the front page.
    pub(super) pages: u32,
    hosts_per_list: u32,
}

/// A page has at most this many links: fewer than crawlers take from a page.
const MOST_LINKS: u32 = 5_000;

impl Lists {
    /// Divides the hosts among lists; `None` if the portal has too few pages.
    pub(super) fn new(hosts: u32, portal: &WorldHost) -> Option<Self> {
        let others = hosts - 1;
        let lists = others.div_ceil(others.isqrt().max(50)).clamp(1, portal.pages - portal.sections);
        let hosts_per_list = others.div_ceil(lists);
        (hosts_per_list <= MOST_LINKS && lists <= MOST_LINKS).then_some(Self { pages: lists - 1, hosts_per_list })
    }

    /// The hosts to which list number `list` links; 0 is the front page.
    pub(super) fn hosts(self, list: u32, hosts: u32) -> std::ops::Range<u32> {
        let first = 1 + list * self.hosts_per_list;
        first.min(hosts)..(first + self.hosts_per_list).min(hosts)
    }
}
