//! A web in little memory: for each host, the number of its pages that were linked to.

use std::fmt::Write;

use random::Random;

#[path = "../../tests/random/mod.rs"]
mod random;

/// Hosts, the first of which is a calendar: it has as many pages as are asked for, and nearly a third of all links to other
/// hosts lead there. The others share the rest as the square of an even share: one in a hundred has a tenth of all pages.
pub(crate) struct Web {
    hosts: u64,
    /// Pages of the calendar, and of all others.
    calendar: u64,
    others: u64,
    /// For each host, its pages that something links to: those below.
    linked: Vec<u32>,
    random: Random,
}

/// A page: its host's number, and its own there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) host: u64,
    pub(crate) number: u64,
}

/// Links on a page.
pub(crate) const LINKS: u64 = 40;

impl Web {
    /// So large that a crawl finds this many links in it, three in ten of them to pages that were not linked to before.
    pub(crate) fn new(links: u64, hosts: u64) -> Self {
        Self {
            hosts,
            calendar: links / 10,
            others: 2 * links,
            linked: (0..hosts).map(|_| 0).collect(),
            random: Random(88_172_645_463_325_252),
        }
    }

    /// Pages that there are, which [`index`](Self::index) numbers.
    pub(crate) fn pages(&self) -> u64 {
        self.calendar + self.others
    }

    /// Pages that something links to.
    pub(crate) fn linked(&self) -> u64 {
        self.linked.iter().map(|&pages| u64::from(pages)).sum()
    }

    /// A link on a page of this host: four of five stay there.
    pub(crate) fn link_on(&mut self, host: u64) -> Page {
        if self.random.below(5) < 4 { self.link_to(host) } else { self.link() }
    }

    /// A link to any host.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the hosts")]
    pub(crate) fn link(&mut self) -> Page {
        if self.random.below(10) < 3 {
            return self.link_to(0);
        }
        let share = self.random.below(1 << 32) as f64 / (1u64 << 32) as f64;
        self.link_to(1 + (share * share * (self.hosts - 1) as f64) as u64)
    }

    /// A page of this host that nothing linked to yet.
    pub(crate) fn new_page(&mut self, host: u64) -> Page {
        let pages = self.first(host + 1) - self.first(host);
        let linked = &mut self.linked[usize::try_from(host).expect("fits")];
        let number = u64::from(*linked);
        assert!(number < pages, "host {host} has {pages}");
        *linked += 1;
        Page { host, number }
    }

    /// To the calendar, always a new page; to others, one in four, until all are known.
    fn link_to(&mut self, host: u64) -> Page {
        let pages = self.first(host + 1) - self.first(host);
        let linked = &mut self.linked[usize::try_from(host).expect("fits")];
        let known = u64::from(*linked);
        let is_new = host == 0 || known == 0 || self.random.below(1000) < 265;
        if is_new && known < pages {
            *linked += 1;
            return Page { host, number: known };
        }
        Page { host, number: self.random.below(known) }
    }

    /// A page's number among all.
    pub(crate) fn index(&self, page: Page) -> u64 {
        self.first(page.host) + page.number
    }

    /// The index of a host's first page; each has at least one.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the pages")]
    fn first(&self, host: u64) -> u64 {
        if host == 0 {
            return 0;
        }
        let share = ((host - 1) as f64 / (self.hosts - 1) as f64).sqrt();
        self.calendar + (share * (self.others - self.hosts) as f64) as u64 + host - 1
    }
}

impl Page {
    /// Its URL.
    pub(crate) fn text(self) -> String {
        let mut text = String::with_capacity(96);
        self.url(&mut text);
        text
    }

    /// 83 bytes, or 75 in a folder that robots.txt may disallow.
    fn url(self, to: &mut String) {
        let Self { host, number } = self;
        let folder = if number % 64 == 7 { "private" } else { "catalogue/books" };
        to.clear();
        write!(to, "https://www.host-{host:07}.example/{folder}/page-{number:09}.html?lang=en").expect("memory");
    }

    /// The page that has this URL.
    pub(crate) fn of(url: &str) -> Self {
        let number = url.rfind("page-").expect("a page's URL") + 5;
        Self { host: host_of(url), number: url[number..number + 9].parse().expect("nine digits") }
    }

    /// Its host's robots.txt has a rule against it.
    pub(crate) fn is_private(self) -> bool {
        self.number % 64 == 7 && robots_of(self.host).is_some()
    }
}

/// The number of the host of a URL or key.
pub(crate) fn host_of(url: &str) -> u64 {
    url["https://www.host-".len()..][..7].parse().expect("seven digits")
}

/// The robots.txt that every second host has.
pub(crate) fn robots_of(host: u64) -> Option<String> {
    let delay = rest_of(host);
    host.is_multiple_of(2).then(|| {
        format!("User-agent: *\nCrawl-delay: {delay}\nDisallow: /private/\nDisallow: /cart\nDisallow: /*?sort=\n")
    })
}

/// The seconds that a host must rest: some ask for two.
pub(crate) fn rest_of(host: u64) -> u64 {
    if host.is_multiple_of(6) { 2 } else { 1 }
}
