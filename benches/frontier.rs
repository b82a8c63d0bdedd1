//! The cost of passing a URL through the frontier, and of keeping one waiting.
//!
//! | `cargo bench --bench frontier` with | measures |
//! |---|---|
//! | nothing | the time to submit one URL, lease it and complete it, with 256 leases out and 256 hosts that have a URL waiting |
//! | `-- --memory` | bytes, at ten million URLs waiting; without the bytes of the journal, which are a gigabyte |
//! | `-- --journal` | the time and the journal's bytes of 200,000 pages in a job, with and without timeouts of leases |
//! | `-- --moves` | the time to give ten million waiting URLs other priorities, all at once |
//! | `-- --pages 100000` | nothing: it passes this many pages through, for a tool that counts instructions |
//!
//! Each page has one new link. As on real pages, four of five lead to the page's own host; in the worst case, each leads to any host. The
//! rows with addresses tell the frontier IP addresses: each host has its own, or a hundred share one. The rows "tokens" have leases with
//! timeouts: once each lease is completed itself, once by its token.
//!
//! With each of these, `--queues` names a queue for each host, `--move-up` lets URLs that are found again move up, and `--tokens` gives
//! leases timeouts.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use crawler::frontier::{Frontier, FrontierOptions, Lease, Next, Outcome, Resolved, Timestamp};
use crawler::gate::{Admission, Admitted, Found, Gate, Position, ScopeKind, Via};
use criterion::{Criterion, Throughput};
use random::Random;

#[path = "../tests/random/mod.rs"]
mod random;

fn main() {
    if has("--memory") {
        return memory();
    }
    if has("--journal") {
        return journal();
    }
    if has("--moves") {
        return moves();
    }
    if has("--pages") {
        let pages = std::env::args().skip_while(|argument| argument != "--pages").nth(1);
        let pages = pages.and_then(|pages| pages.parse().ok()).expect("a number");
        Cycle::new(10_000, Duration::from_secs(1), 4, None).run(pages);
        return;
    }
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("submit+complete+next");
    group.throughput(Throughput::Elements(1)).sample_size(20);
    for (links, own) in [("links mostly home", 4), ("links anywhere", 0)] {
        for (rest, delay) in [("no delay", Duration::ZERO), ("one second", Duration::from_secs(1))] {
            for hosts in [1, 10_000, 1_000_000] {
                let mut cycle = None;
                group.bench_function(format!("{links}/{rest}/{hosts} hosts"), |bencher| {
                    let cycle = cycle.get_or_insert_with(|| Cycle::new(hosts, delay, own, None));
                    bencher.iter_custom(|urls| cycle.run(urls));
                });
            }
        }
    }
    for (addresses, shared_by) in [("told", 1), ("shared", 100)] {
        for hosts in [10_000, 1_000_000] {
            let mut cycle = None;
            group.bench_function(format!("addresses {addresses}/one second/{hosts} hosts"), |bencher| {
                let cycle = cycle.get_or_insert_with(|| Cycle::new(hosts, Duration::from_secs(1), 4, Some(shared_by)));
                bencher.iter_custom(|urls| cycle.run(urls));
            });
        }
    }
    for (ends, by_token) in [("tokens", false), ("tokens redeemed", true)] {
        for hosts in [10_000, 1_000_000] {
            let mut cycle = None;
            group.bench_function(format!("{ends}/one second/{hosts} hosts"), |bencher| {
                let cycle = cycle.get_or_insert_with(|| {
                    let options = ending(options(20_000_000, Duration::from_secs(1)));
                    Cycle { by_token, ..Cycle::with(&options, hosts, 4, None) }
                });
                bencher.iter_custom(|urls| cycle.run(urls));
            });
        }
    }
    group.finish();
    criterion.final_summary();
}

/// What this thread has had of the processor, or else the time: others may work beside it.
fn spent_since(began: (Instant, Option<Duration>)) -> f64 {
    let cpu = cpu().zip(began.1).map(|(now, before)| now.saturating_sub(before));
    cpu.unwrap_or_else(|| began.0.elapsed()).as_secs_f64()
}

fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

fn has(flag: &str) -> bool {
    std::env::args().any(|argument| argument == flag)
}

fn options(urls: u64, delay: Duration) -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.seen.capacity = urls;
    options.politeness.robots = false;
    options.politeness.host_delay = delay;
    options.move_up = has("--move-up");
    if has("--tokens") { ending(options) } else { options }
}

thread_local! {
    static HAS_QUEUES: bool = has("--queues");
}

/// 83 bytes.
fn admit(gate: &Gate, host: u64, number: u64, depth: u32) -> Option<Admitted> {
    let text = format!("https://www.host-{host:07}.example/catalogue/books/fiction/page-{number:08}.html?lang=en");
    let url = gate.canonicalizer().canonicalize(&text).expect("a URL");
    let mut found = Found::seed(url);
    (found.depth, found.via) = (depth, Via::Link);
    if HAS_QUEUES.with(|has| *has) {
        found = found.with_queue(&format!("{host:07}")).expect("a name");
    }
    match gate.admit(found) {
        Admission::Admitted(admitted) => Some(admitted),
        Admission::Refused(_) => None,
    }
}

/// A frontier in the middle of a crawl: each host has a URL waiting, each page has one new link.
struct Cycle {
    frontier: Frontier,
    hosts: u64,
    number: u64,
    random: Random,
    now: Timestamp,
    /// As much time as a URL takes when each host is asked as often as it may be.
    tick: Duration,
    /// Of five links, those to the page's own host.
    own: u64,
    /// Hosts that share an IP address, in the rows with addresses.
    shared_by: Option<u64>,
    leases: Vec<Lease>,
    /// Leases are completed by their tokens.
    by_token: bool,
}

impl Cycle {
    fn new(hosts: u64, delay: Duration, own: u64, shared_by: Option<u64>) -> Self {
        Self::with(&options(20_000_000, delay), hosts, own, shared_by)
    }

    fn with(options: &FrontierOptions, hosts: u64, own: u64, shared_by: Option<u64>) -> Self {
        let delay = options.politeness.host_delay;
        let mut frontier = Frontier::new(options).expect("options");
        let now = Timestamp::from_micros(1 << 50);
        for host in 0..hosts {
            let url = admit(frontier.gate(), host, host, 1).expect("new");
            frontier.submit(url, now).expect("memory");
        }
        let tick = delay / u32::try_from(hosts).expect("few");
        Self {
            frontier,
            hosts,
            number: hosts,
            random: Random(88_172_645_463_325_252),
            now,
            tick,
            own,
            shared_by,
            leases: Vec::new(),
            by_token: false,
        }
    }

    /// The time for this many URLs, with one lease out for each worker.
    fn run(&mut self, urls: u64) -> Duration {
        let mut spent = Duration::ZERO;
        let mut left = urls;
        while left > 0 {
            if self.leases.is_empty() {
                self.leases = (0..256).map_while(|_| self.lease()).collect();
            }
            let out = self.leases.len().min(usize::try_from(left).expect("fits"));
            let leases: Vec<Lease> = self.leases.drain(..out).collect();
            left -= leases.len() as u64;
            // Admission is the gate's cost, and not measured here.
            let links: Vec<_> = leases.iter().map(|lease| self.link_on(lease)).collect();
            let start = Instant::now();
            for (lease, link) in leases.into_iter().zip(links) {
                if let Some(link) = link {
                    self.frontier.submit(link, self.now).expect("memory");
                }
                let outcome = Outcome::response(&lease, 200, b"");
                match lease.token().filter(|_| self.by_token) {
                    Some(token) => self.frontier.complete_token(token, outcome, self.now).expect("memory"),
                    None => self.frontier.complete(lease, outcome, self.now).expect("memory"),
                };
                let next = self.lease();
                self.leases.extend(next);
            }
            spent += start.elapsed();
        }
        spent
    }

    fn lease(&mut self) -> Option<Lease> {
        self.now = self.now + self.tick;
        loop {
            match self.frontier.next(self.now).expect("memory") {
                Next::Fetch(mut lease) => {
                    let address = self.shared_by.map(|hosts| address_of(host_of(&lease) / hosts));
                    let addresses = address.as_slice();
                    if self.frontier.resolved(&mut lease, addresses, self.now).expect("its own") == Resolved::Connect {
                        return Some(lease);
                    }
                    self.frontier.complete(lease, Outcome::Released, self.now).expect("memory");
                }
                Next::Wait(until) => self.now = until,
                Next::GiveUp(_) | Next::Busy | Next::Drained => return None,
            }
        }
    }

    fn link_on(&mut self, lease: &Lease) -> Option<Admitted> {
        self.number += 1;
        let is_own = self.random.below(5) < self.own;
        let host = if is_own { host_of(lease) } else { self.random.below(self.hosts) };
        let depth = 1 + u32::from(self.number.is_multiple_of(4));
        admit(self.frontier.gate(), host, self.number, depth)
    }
}

fn host_of(lease: &Lease) -> u64 {
    lease.url()["https://www.host-".len()..][..7].parse().expect("seven digits")
}

fn address_of(number: u64) -> IpAddr {
    Ipv4Addr::from_bits(0x0a00_0000 + u32::try_from(number).expect("few")).into()
}

/// The same, with leases that end after a minute.
fn ending(mut options: FrontierOptions) -> FrontierOptions {
    options.lease_timeout = Some(Duration::from_secs(60));
    options
}

/// A crawl in a job. Its pages have no links, no receipts and no yield, so a lease's record is the largest part of the cost.
fn journal() {
    const PAGES: u64 = 200_000;
    for _ in 0..3 {
        for is_ending in [false, true] {
            let plain = options(PAGES, Duration::ZERO);
            let options = if is_ending { ending(plain) } else { plain };
            let directory = tempfile::tempdir().expect("a directory");
            let mut now = Timestamp::from_micros(1 << 50);
            let mut frontier = Frontier::open(directory.path(), &options, now).expect("a job");
            let start = Instant::now();
            for number in 0..PAGES {
                // The filter mistakes a few for seen.
                if let Some(url) = admit(frontier.gate(), number % 10_000, number, 1) {
                    frontier.submit(url, now).expect("room");
                }
            }
            let mut out = VecDeque::new();
            loop {
                match frontier.next(now).expect("room") {
                    Next::Fetch(lease) => out.push_back(lease),
                    Next::Wait(until) if out.is_empty() => now = until,
                    Next::Drained => break,
                    _ => {}
                }
                now = now + Duration::from_micros(1);
                if out.len() >= 256 || frontier.statistics().queued == 0 {
                    let Some(mut lease) = out.pop_front() else { break };
                    lease.answered(now, Duration::from_millis(20), 30_000);
                    frontier.complete(lease, Outcome::Response { status: 200, retry_after: None }, now).expect("room");
                    frontier.flush_due(now).expect("room");
                }
            }
            frontier.flush(now).expect("room");
            let (spent, completed) = (start.elapsed(), frontier.statistics().completed);
            let bytes: u64 = std::fs::read_dir(directory.path().join("frontier"))
                .expect("a job")
                .map(|file| file.and_then(|file| file.metadata()).expect("a file").len())
                .sum();
            let (nanos, bytes) = (spent.as_nanos() as f64 / completed as f64, bytes as f64 / completed as f64);
            println!("leases end: {is_ending:5}  {completed} pages, {nanos:6.0} ns and {bytes:6.1} bytes each");
        }
    }
}

/// All URLs get one of some priorities that are not theirs, in no order.
fn moves() {
    const URLS: u64 = 10_000_000;
    println!("{URLS} URLs waiting: millions a second that get other priorities, by their positions");
    for hosts in [1, 1_000, 1_000_000] {
        let mut frontier = Frontier::new(&options(URLS, Duration::from_secs(1))).expect("options");
        let mut random = Random(88_172_645_463_325_252);
        let now = Timestamp::default();
        let (mut queued, mut number, mut names) = (0, 0, Vec::new());
        // Without a table, each fingerprint costs as much as all.
        let one_in = if has("--move-up") { 1 } else { 10_000 };
        while queued < URLS {
            number += 1;
            let depth = 1 + u32::try_from(random.below(3)).expect("small");
            let Some(url) = admit(frontier.gate(), random.below(hosts), number, depth) else { continue };
            if queued % one_in == 0 {
                names.push(url.fingerprint());
            }
            frontier.submit(url, now).expect("memory");
            queued += 1;
        }
        let before = frontier.statistics();
        let positions: Vec<Position> = frontier.positions().collect();
        assert_eq!(positions.len() as u64, URLS);
        for priorities in [8, 200] {
            let mut score = || 1000 + i64::try_from(random.below(priorities)).expect("few");
            let scores: Vec<(Position, i64)> = positions.iter().map(|position| (*position, score())).collect();
            let start = (Instant::now(), cpu());
            let done = frontier.reprioritize(scores, now).expect("memory");
            let spent = spent_since(start);
            assert_eq!(done.moved + done.unchanged, URLS);
            let (moved, statistics) = (done.moved as f64 / 1e6 / spent, frontier.statistics());
            let a_url = statistics.queue_memory as f64 / URLS as f64;
            println!("{hosts:>9} hosts, {priorities:3} priorities: {moved:5.2} M/s, then {a_url:5.2} bytes a URL");
            assert_eq!((statistics.queued, statistics.shared_priorities), (before.queued, 0));
        }
        let names: Vec<_> =
            names.into_iter().map(|name| (name, 500 + i64::try_from(random.below(8)).expect("few"))).collect();
        let start = (Instant::now(), cpu());
        let done = frontier.reprioritize(names, now).expect("memory");
        let spent = spent_since(start);
        println!(
            "{hosts:>9} hosts: {} by fingerprint, {spent:.1} s, {:.2} M/s",
            done.moved,
            done.moved as f64 / 1e6 / spent
        );
    }
}

fn memory() {
    const URLS: u64 = 10_000_000;
    println!(
        "{URLS} URLs waiting: bytes a URL in the back queues, and bytes a host in all tables, then with an address each"
    );
    for hosts in [1, 1_000, 200_000, 1_000_000] {
        let mut frontier = Frontier::new(&options(URLS, Duration::from_secs(1))).expect("options");
        let mut random = Random(88_172_645_463_325_252);
        let (mut queued, mut number) = (0, 0);
        while queued < URLS {
            number += 1;
            // The square of an even share: one host in a hundred has a tenth of all URLs.
            let share = random.below(1 << 20).pow(2) >> 20;
            let depth = 1 + u32::try_from(random.below(3)).expect("small");
            let Some(url) = admit(frontier.gate(), (share * hosts) >> 20, number, depth) else { continue };
            frontier.submit(url, Timestamp::default()).expect("memory");
            queued += 1;
        }
        let a_url = frontier.statistics().queue_memory as f64 / URLS as f64;
        let a_host = a_host(&frontier);
        tell_all(&mut frontier);
        let (with_address, hosts) = (self::a_host(&frontier), frontier.statistics().hosts);
        println!("{hosts:>9} hosts: {a_url:5.2} bytes a URL, {a_host:8.1} bytes a host, {with_address:8.1}");
    }
}

fn a_host(frontier: &Frontier) -> f64 {
    let statistics = frontier.statistics();
    let hosts = statistics.memory - statistics.queue_memory - statistics.journal_memory;
    hosts as f64 / statistics.hosts as f64
}

/// Each host is leased once, and has its own address.
fn tell_all(frontier: &mut Frontier) {
    let now = Timestamp::default();
    let mut leases = Vec::new();
    while let Next::Fetch(mut lease) = frontier.next(now).expect("memory") {
        let address = address_of(host_of(&lease));
        assert_eq!(frontier.resolved(&mut lease, &[address], now).expect("its own"), Resolved::Connect);
        leases.push(lease);
    }
    for lease in leases {
        frontier.complete(lease, Outcome::Released, now).expect("memory");
    }
}
