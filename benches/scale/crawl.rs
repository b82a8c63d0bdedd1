//! A crawl of the generated web by the frontier that a real one has: gate, seen set, journal on disk, checkpoints. What it
//! must hold to is asserted at each step.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crawler::frontier::{Frontier, FrontierOptions, Lease, LeaseKind, Next, Outcome, Resolved, Timestamp};
use crawler::gate::{Admission, Found, ScopeKind};
use crawler::job::checkpoint::{self, CheckpointError, Owner};
use crawler::job::journal::Disk;
use crawler::job::{JobJournal, OpenOptions};

use crate::meter::{Meter, Span};
use crate::web::{LINKS, Page, Web, host_of, rest_of, robots_of};

/// Leases that are out at once.
const OUT: usize = 256;
/// Between two leases, where a host is due: a thousand a second.
const TICK: Duration = Duration::from_millis(1);
/// URLs that are parsed again and again.
const CONTROLS: usize = 10_000;
/// Divides no number of hosts.
const STRIDE: u64 = 1_000_003;

pub(crate) struct Crawl {
    pub(crate) web: Web,
    pub(crate) frontier: Frontier<JobJournal>,
    directory: PathBuf,
    options: FrontierOptions,
    pub(crate) open: OpenOptions,
    now: Timestamp,
    began: Instant,
    out: Vec<Lease>,
    /// The control's texts.
    texts: Vec<String>,
    /// One bit a page, that is set until it is lent.
    unlent: Vec<u64>,
    /// For each host, when it may be asked again; never, while it is.
    due: Vec<u64>,
    pub(crate) costs: Costs,
    pub(crate) robots: u64,
}

/// What the parts took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Costs {
    /// From text to URL.
    pub(crate) parse: Meter,
    /// The same texts to the same URLs each time: what the machine itself takes longer for.
    pub(crate) control: Meter,
    /// URLs of that.
    pub(crate) controls: u64,
    /// Gate, journal, queues, leases.
    pub(crate) frontier: Meter,
    pub(crate) checkpoints: Meter,
    pub(crate) written: u32,
    /// To let hosts go, of the checkpoints' time, and how many went.
    pub(crate) leaving: Meter,
    pub(crate) left: u64,
    /// The longest time for which the frontier was locked.
    pub(crate) pause: Meter,
    /// Bytes of the last one: hosts with their queues, and the seen set.
    pub(crate) bytes: [u64; 2],
}

pub(crate) fn options(links: u64) -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.seen.capacity = links * 3 / 10;
    options.politeness.robots_memory = 16 << 20;
    options
}

impl Crawl {
    /// A crawl of a web this large, in an empty `directory`. If more hosts than this are in memory, idle ones leave.
    pub(crate) fn new(links: u64, hosts: u64, hosts_in_memory: u64, directory: &Path) -> Self {
        let web = Web::new(links, hosts);
        let unlent = vec![u64::MAX; fits(web.pages() / 64 + 1)];
        let due = (0..hosts).map(|_| 0).collect();
        let options = options(links);
        let mut open = OpenOptions::default();
        open.hosts_in_memory = hosts_in_memory;
        let (now, began) = (Timestamp::from_micros(1 << 50), Instant::now());
        let mut other = Web::new(links, hosts);
        let texts = (0..CONTROLS).map(|_| other.link().text()).collect();
        let frontier = frontier(directory, &options, &open, now);
        let mut crawl = Self {
            web,
            frontier,
            directory: directory.to_owned(),
            options,
            open,
            now,
            began,
            out: Vec::new(),
            texts,
            unlent,
            due,
            costs: Costs::default(),
            robots: 0,
        };
        for _ in 0..=hosts / 1000 {
            let text = crawl.web.link().text();
            crawl.frontier.seed(&text, crawl.now).expect("room");
        }
        crawl
    }

    /// Links found so far.
    pub(crate) fn found(&self) -> u64 {
        self.frontier.gate().found()
    }

    /// Completes what is out and takes as many new leases; `false` where there are none. `has_links` says whether the pages
    /// have any.
    pub(crate) fn turn(&mut self, has_links: bool) -> bool {
        if self.out.is_empty() {
            self.out = (0..OUT).map_while(|_| self.lease()).collect();
        }
        let leases = std::mem::take(&mut self.out);
        let texts: Vec<_> = leases.iter().map(|lease| self.texts_on(lease, has_links)).collect();
        let began = Span::begin();
        let gate = self.frontier.gate();
        let links = |(lease, texts): (&Lease, &Vec<String>)| {
            let url = |text: &String| gate.canonicalizer().canonicalize(text).expect("a URL");
            texts.iter().map(|text| Found::link(url(text), lease)).collect()
        };
        let found: Vec<Vec<Found>> = leases.iter().zip(&texts).map(links).collect();
        self.costs.parse = self.costs.parse.plus(began.end());
        drop(texts);
        // The rest, which only drains in ever smaller turns, is not measured.
        if has_links {
            self.control();
        }

        let began = Span::begin();
        let any = !leases.is_empty();
        for (lease, found) in leases.into_iter().zip(found) {
            for admission in self.frontier.gate().admit_batch(found) {
                if let Admission::Admitted(admitted) = admission {
                    self.frontier.submit(admitted, self.now).expect("room");
                }
            }
            self.complete(lease);
            let next = self.lease();
            self.out.extend(next);
        }
        // The journal's clock is the real one, by which it waits for the disk.
        self.frontier.flush(Timestamp::default() + self.began.elapsed()).expect("room");
        self.costs.frontier = self.costs.frontier.plus(began.end());
        any
    }

    /// A part of the control's work, where a crawl has the rest of a turn's behind it.
    fn control(&mut self) {
        let first = fits(self.costs.controls) % self.texts.len();
        let texts = &self.texts[first..(first + CONTROLS / 16).min(self.texts.len())];
        let canonicalizer = self.frontier.gate().canonicalizer();
        let began = Span::begin();
        for text in texts {
            black_box(canonicalizer.canonicalize(text).expect("a URL"));
        }
        self.costs.control = self.costs.control.plus(began.end());
        self.costs.controls += texts.len() as u64;
    }

    fn texts_on(&mut self, lease: &Lease, has_links: bool) -> Vec<String> {
        if lease.kind() == LeaseKind::Robots || !has_links {
            return Vec::new();
        }
        let host = host_of(lease.url());
        (0..LINKS).map(|_| self.web.link_on(host).text()).collect()
    }

    fn lease(&mut self) -> Option<Lease> {
        self.now = self.now + TICK;
        loop {
            match self.frontier.next(self.now).expect("a journal") {
                Next::Fetch(mut lease) => {
                    self.check(&lease);
                    // Its own one, as for most hosts that are requested often.
                    let address = Ipv4Addr::from_bits(0x0a00_0000 + u32::try_from(host_of(lease.url())).expect("few"));
                    let resolved = self.frontier.resolved(&mut lease, &[address.into()], self.now);
                    assert_eq!(resolved.expect("its own"), Resolved::Connect);
                    return Some(lease);
                }
                Next::Wait(until) => self.now = self.now.max(until),
                Next::GiveUp(_) | Next::Busy | Next::Drained => return None,
            }
        }
    }

    /// No host is asked within its rest or while it is asked, and no page that was lent before or is disallowed.
    fn check(&mut self, lease: &Lease) {
        let host = host_of(lease.url());
        let due = std::mem::replace(&mut self.due[fits(host)], u64::MAX);
        assert!(due <= self.now.as_micros(), "{} is asked too early, at {:?}: {due}", lease.url(), self.now);
        if lease.kind() == LeaseKind::Robots {
            self.robots += 1;
            return;
        }
        let page = Page::of(lease.url());
        assert!(!page.is_private(), "{} is disallowed", lease.url());
        let (word, bit) = self.place(page);
        assert!(self.unlent[word] & bit != 0, "{} is lent twice", lease.url());
        self.unlent[word] &= !bit;
    }

    fn place(&self, page: Page) -> (usize, u64) {
        let index = self.web.index(page);
        (fits(index / 64), 1 << (index % 64))
    }

    fn complete(&mut self, lease: Lease) {
        let host = host_of(lease.url());
        let outcome = match (lease.kind(), robots_of(host)) {
            (LeaseKind::Robots, None) => Outcome::response(&lease, 404, b""),
            (LeaseKind::Robots, Some(text)) => Outcome::response(&lease, 200, text.as_bytes()),
            _ => Outcome::response(&lease, 200, b""),
        };
        let rest = Duration::from_secs(rest_of(host));
        self.due[fits(host)] = (self.now + rest).as_micros();
        self.frontier.complete(lease, outcome, self.now).expect("room");
    }

    /// Writes one as a crawl does.
    pub(crate) fn checkpoint(&mut self) {
        let began = Span::begin();
        let cost = checkpoint::write(self).expect("room").expect("nobody calls it off");
        self.costs.bytes = [cost.bytes, self.frontier.gate().seen().statistics().merged.bytes];
        self.costs.written += 1;
        self.costs.checkpoints = self.costs.checkpoints.plus(began.end());
    }

    /// A new page of each host is found, in an order in which no two neighbors meet; says what that took.
    pub(crate) fn find_one_each(&mut self, hosts: u64) -> Meter {
        let texts: Vec<String> = (0..hosts).map(|host| self.web.new_page(host * STRIDE % hosts).text()).collect();
        let began = Span::begin();
        for text in texts {
            self.frontier.seed(&text, self.now).expect("room");
        }
        began.end()
    }

    /// Everything that was admitted was lent, or waits.
    pub(crate) fn check_all_is_there(&self) {
        let statistics = self.frontier.statistics();
        // A robots.txt that is out was not admitted.
        let out = self.out.iter().filter(|lease| lease.kind() == LeaseKind::Page).count() as u64;
        assert_eq!(statistics.completed + statistics.queued + out, self.frontier.gate().admitted());
        assert_eq!(statistics.completed + out, self.lent());
    }

    /// Pages lent so far.
    pub(crate) fn lent(&self) -> u64 {
        self.unlent.iter().map(|word| u64::from(word.count_zeros())).sum()
    }

    /// Forgets all, as a killed process does, and goes on from the disk. Says how many records were replayed.
    pub(crate) fn die_and_resume(mut self) -> (Self, u64, Meter) {
        for lease in std::mem::take(&mut self.out) {
            let host = host_of(lease.url());
            // That it asks for a longer rest is known once its robots.txt is there.
            let rest = if lease.kind() == LeaseKind::Robots { 1 } else { rest_of(host) };
            self.due[fits(host)] = (self.now + Duration::from_secs(rest)).as_micros();
            if lease.kind() == LeaseKind::Page {
                let (word, bit) = self.place(Page::of(lease.url()));
                self.unlent[word] |= bit;
            }
        }
        let before = self.frontier.statistics();
        let admitted = self.frontier.gate().admitted();
        let Self { web, frontier, directory, options, open, now, began, out, texts, unlent, due, costs, robots } = self;
        drop(frontier);
        let resuming = Span::begin();
        let frontier = self::frontier(&directory, &options, &open, now);
        let took = resuming.end();
        let opening = frontier.opening();
        assert_eq!(opening.checkpoint, Some(u64::from(costs.written)));
        let records = opening.recovery.records;
        let after = frontier.statistics();
        assert_eq!((after.hosts, after.completed), (before.hosts, before.completed));
        // What was dropped for its robots.txt, and nothing of its host lent since, is queued again, to be dropped again.
        assert!(frontier.gate().admitted() >= admitted);
        let crawl =
            Self { web, frontier, directory, options, open, now, began, out, texts, unlent, due, costs, robots };
        crawl.check_all_is_there();
        (crawl, records, took)
    }
}

/// The frontier is taken as a crawl's is, and how long for is measured.
impl Owner for Crawl {
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        let before = self.frontier.statistics().hosts_in_memory;
        let began = Span::begin();
        let done = act(&mut self.frontier);
        let took = began.end();
        let left = before - self.frontier.statistics().hosts_in_memory;
        if left > 0 {
            self.costs.leaving = self.costs.leaving.plus(took);
            self.costs.left += left;
        }
        self.costs.pause = self.costs.pause.longer(took);
        done
    }

    fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(Some(Vec::new()))
    }
}

fn frontier(directory: &Path, options: &FrontierOptions, open: &OpenOptions, now: Timestamp) -> Frontier<JobJournal> {
    let disk = || Disk::at(directory).expect("a directory");
    Frontier::open_on([disk(), disk()], 1, options, open, |_, _| true, now).expect("what was written is there")
}

fn fits(number: u64) -> usize {
    usize::try_from(number).expect("fits in memory")
}
