//! Checkpoints and the journal together, over a storage that fails, tears and forgets: a small crawl that is cut short anywhere
//! goes on, and has each page once in the end.

mod damage;
#[path = "../../../tests/storage/mod.rs"]
mod storage;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;

use crawler_frontier::address::{Canonicalizer, Fingerprint, FingerprintKey};
use crawler_frontier::driver::Receipt;
use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, Href, Lease, LeaseKind, Next, Outcome, Timestamp,
};
use crawler_frontier::gate::ScopeKind;
use crawler_frontier::job::checkpoint::{self, CheckpointError, Owner};
use crawler_frontier::job::journal::{Storage, SyncPolicy};
use crawler_frontier::job::{JobJournal, OpenOptions};
use storage::{Fault, Faulty, World};

use crate::random::{self, Random};

const JOB: u64 = 77;
const KEY: FingerprintKey = FingerprintKey::from_u64(7);
/// Pages of the web that is crawled; as many more are linked to by none, and some of them scheduled.
const PAGES: u64 = 40;
/// What the numbers of the dead host's pages begin at in the records: each is given up, with a record.
const DEAD: u64 = 1000;
static FINGERPRINTS: LazyLock<Vec<Fingerprint>> = LazyLock::new(|| {
    let canonicalizer = Canonicalizer::new(&options().keys);
    (0..2 * PAGES).map(|page| canonicalizer.canonicalize(&url(page)).unwrap().fingerprint(KEY)).collect()
});

fn url(page: u64) -> String {
    let folder = if is_disallowed(page) { "private/" } else { "" };
    format!("https://h{}.example/{folder}{page}", page % 4)
}

fn is_disallowed(page: u64) -> bool {
    page % 10 == 9
}

fn links(page: u64) -> Vec<u64> {
    [page + 1, page * 3 + 1, page * 7 + 2].map(|link| link % PAGES).to_vec()
}

/// What travels with a page: nothing, or enough that a few pages fill a segment.
fn body(page: u64) -> Vec<u8> {
    let times = match page % 3 {
        0 => 0,
        1 => 110,
        _ => 40,
    };
    page.to_le_bytes().repeat(times)
}

/// The page that is scheduled where this one is fetched, and how long it waits.
fn later(page: u64) -> Option<(u64, Duration)> {
    let seconds = if page % 4 == 1 { 4000 } else { 7 };
    (page < PAGES && page % 6 == 1).then(|| (PAGES + page, Duration::from_secs(seconds)))
}

/// Which pages there are to be had, from the first one.
fn pages() -> BTreeSet<u64> {
    let (mut found, mut queue) = (BTreeSet::from([0]), vec![0]);
    while let Some(page) = queue.pop() {
        for link in [page + 1, page * 3 + 1, page * 7 + 2].map(|link| link % PAGES) {
            if !is_disallowed(link) && found.insert(link) {
                queue.push(link);
            }
        }
    }
    let later = found.iter().filter_map(|page| later(*page)).map(|(page, _)| page);
    let later: Vec<_> = later.filter(|page| !is_disallowed(*page)).collect();
    found.extend(later);
    found.extend((0..3).map(|page| DEAD + page));
    found
}

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.fingerprint_key = Some(KEY);
    (options.seen.capacity, options.seen.shards, options.seen.audit) = (200, 2, 0);
    options.seen.false_positive_rate = 1e-9;
    options.politeness.host_failures = 2;
    options
}

fn open_options(sync: SyncPolicy, keep_journal: bool, hosts_in_memory: u64) -> OpenOptions {
    let mut options = OpenOptions::default();
    (options.journal.sync, options.journal.segment_bytes) = (sync, 2000);
    (options.keep_journal, options.hosts_in_memory) = (keep_journal, hosts_in_memory);
    options
}

/// The records of the pages, a line each.
#[derive(Clone, Debug, Default)]
struct Output {
    bytes: Vec<u8>,
    /// Bytes that a power cut leaves.
    durable: usize,
}

impl Output {
    fn has(&self, receipt: Receipt) -> bool {
        let end = usize::try_from(receipt.end).unwrap();
        let before = end - receipt.length as usize;
        self.bytes.get(before..end).is_some_and(|record| Receipt::of(record, before as u64) == receipt)
    }

    fn after_power_cut(&self, random: &mut Random) -> Self {
        let later = self.bytes.len() - self.durable;
        let mut bytes = self.bytes.clone();
        bytes.truncate(self.durable + usize::try_from(random.below(later as u64 + 1)).unwrap());
        // What is behind a hole is there, and of no use.
        if random.below(3) == 0 {
            let hole = self.durable..self.durable.max(bytes.len() / 2);
            bytes[hole].fill(0);
        }
        Self { bytes, durable: self.durable }
    }

    fn pages(&self) -> Vec<u64> {
        let text = str::from_utf8(&self.bytes).expect("whole records");
        let mut pages: Vec<u64> = text.lines().map(|line| line.parse().expect("a page")).collect();
        pages.sort_unstable();
        pages
    }
}

/// What the web was asked, whatever became of who asked.
#[derive(Clone, Debug, Default)]
struct Asked {
    /// When each host may be asked again, as it may know.
    due: BTreeMap<String, Timestamp>,
    /// Robots.txts that were answered, where none may be forgotten.
    robots: BTreeSet<String>,
    /// How often the dead host was found dead.
    failures: u32,
}

impl Asked {
    fn ask(&mut self, lease: &Lease, delay: Duration, now: Timestamp) {
        let host = lease.origin().to_string();
        let due = self.due.get(&host).copied().unwrap_or_default();
        assert!(due <= now, "{} is asked at {now:?}, and not from {due:?} on", lease.url());
        assert!(lease.kind() == LeaseKind::Page || !self.robots.contains(&host), "{} again", lease.url());
        assert!(!is_dead(lease) || self.failures < 2, "{} is retired", lease.url());
        self.due.insert(host, now + delay);
    }

    /// It was completed, and the journal has it.
    fn answer(&mut self, (host, kind): (String, LeaseKind), keep_journal: bool, now: Timestamp) {
        if host.ends_with("dead.example") {
            self.failures += 1;
            self.due.insert(host, now + Duration::from_secs(10));
        } else if kind == LeaseKind::Robots && keep_journal {
            self.robots.insert(host);
        }
    }
}

fn is_dead(lease: &Lease) -> bool {
    lease.origin() == "https://dead.example"
}

/// A crawl, without its checkpoints.
struct Crawl {
    frontier: Frontier<JobJournal<Faulty>>,
    now: Timestamp,
    asked: Rc<RefCell<Asked>>,
    /// What no checkpoint needs of the journal stays.
    keep_journal: bool,
}

/// A crawl that goes on while a checkpoint of it is written.
struct GoingOn<'a> {
    crawl: &'a mut Crawl,
    output: &'a mut Output,
    /// Why it could not.
    broken: Option<io::Error>,
}

impl GoingOn<'_> {
    fn step(&mut self) {
        if self.broken.is_none() {
            self.broken = self.crawl.step(self.output).err();
        }
    }
}

impl Owner<Faulty> for GoingOn<'_> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal<Faulty>>) -> T) -> T {
        act(&mut self.crawl.frontier)
    }

    fn quiesce<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal<Faulty>>) -> T) -> T {
        self.step();
        let done = self.with(act);
        self.step();
        done
    }

    fn confirm(&mut self, output: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        self.output.durable = self.output.bytes.len();
        assert!(output <= self.output.durable as u64);
        Ok(self.broken.is_none().then(|| b"mine".to_vec()))
    }
}

impl Crawl {
    /// Does the next thing; `false` where there is none.
    fn step(&mut self, output: &mut Output) -> io::Result<bool> {
        match self.frontier.next(self.now)? {
            Next::Fetch(lease) | Next::GiveUp(lease) => self.visit(lease, output)?,
            Next::Wait(until) => self.now = self.now.max(until),
            Next::Busy => panic!("nothing is lent out"),
            Next::Drained => return Ok(false),
        }
        Ok(true)
    }

    fn visit(&mut self, lease: Lease, output: &mut Output) -> io::Result<()> {
        let robots = b"User-agent: *\nDisallow: /private/\nCrawl-delay: 2";
        if lease.trouble().is_none() {
            let hosts = self.frontier.top_hosts(usize::MAX);
            let host = hosts.iter().find(|row| row.host.as_str() == lease.origin()).expect("it is known");
            self.asked.borrow_mut().ask(&lease, host.delay, self.now);
        }
        let path = lease.url().rsplit('/').next().unwrap_or_default();
        let page = path.split('?').next().and_then(|page| page.parse().ok());
        let mut record = None;
        let outcome = match page {
            Some(page) if lease.trouble().is_some() => {
                record = Some(format!("{}\n", DEAD + page));
                Outcome::GivenUp
            }
            _ if is_dead(&lease) => Outcome::Failed(Failure::Timeout.into()),
            Some(page) if lease.kind() == LeaseKind::Page => {
                assert_eq!(lease.metadata(), body(page), "{}", lease.url());
                if page % 13 == 5 && lease.attempt() == 1 {
                    Outcome::response(&lease, 503, b"")
                } else if page % 17 == 6 && !lease.url().contains('?') {
                    self.frontier.redirect(&lease, 301, "?utm_source=x", self.now)?
                } else {
                    let links = if page < PAGES { links(page) } else { Vec::new() };
                    let links: Vec<_> = links.iter().map(|page| (url(*page), body(*page))).collect();
                    let hrefs = links.iter().map(|(url, body)| Href::from(url).metadata(body).expect("it is short"));
                    let dead = format!("https://dead.example/{}", page % 3);
                    let dead = (page < PAGES).then(|| Href::from(&dead));
                    self.frontier.links(&lease, hrefs.chain(dead), self.now)?;
                    if let Some((page, wait)) = later(page)
                        && !self.frontier.gate().seen().contains(FINGERPRINTS[usize::try_from(page).unwrap()])
                    {
                        let (url, body) = (url(page), body(page));
                        let href = Href::from(&url).metadata(&body).expect("it is short");
                        self.frontier.schedule(href, self.now + wait)?;
                    }
                    record = Some(format!("{page}\n"));
                    Outcome::response(&lease, 200, b"")
                }
            }
            _ => Outcome::response(&lease, 200, robots),
        };
        let record = record.as_ref().map(String::as_bytes);
        let asked = (lease.origin().to_string(), lease.kind());
        let is_given_up = lease.trouble().is_some();
        let receipt = |record| ("output", Receipt::of(record, output.bytes.len() as u64));
        let receipts: Vec<_> = record.into_iter().map(receipt).collect();
        let completion = self.frontier.complete_with(lease, outcome, &receipts, self.now)?;
        if let (Completion::Done, Some(record)) = (completion, record) {
            output.bytes.extend_from_slice(record);
        }
        self.frontier.flush(self.now)?;
        if !is_given_up {
            self.asked.borrow_mut().answer(asked, self.keep_journal, self.now);
        }
        Ok(())
    }

    /// Writes a checkpoint, while the crawl goes on. Where the storage fails there is none, and no harm.
    fn checkpoint(&mut self, output: &mut Output) -> io::Result<bool> {
        let mut owner = GoingOn { crawl: self, output, broken: None };
        let written = checkpoint::write(&mut owner);
        owner.broken.map_or(Ok(written.is_ok_and(|cost| cost.is_some())), Err)
    }

    /// What the seen set holds of the web.
    fn seen(&self) -> BTreeSet<u64> {
        let seen = self.frontier.gate().seen();
        (0..)
            .zip(&*FINGERPRINTS)
            .filter(|(_, fingerprint)| seen.contains(**fingerprint))
            .map(|(page, _)| page)
            .collect()
    }
}

/// A storage, and what it was given to keep.
#[derive(Clone)]
struct Sitting {
    storage: Faulty,
    asked: Rc<RefCell<Asked>>,
    keep_journal: bool,
    hosts_in_memory: u64,
    sync: SyncPolicy,
    output: Output,
    now: Timestamp,
    /// Pages that were in the seen set at the last flush.
    seen: BTreeSet<u64>,
    /// Bytes of output at the last flush.
    flushed: usize,
}

impl Sitting {
    fn new(world: World, sync: SyncPolicy, hosts_in_memory: u64) -> Self {
        Self {
            storage: Faulty::of(world),
            asked: Rc::default(),
            keep_journal: false,
            hosts_in_memory,
            sync,
            output: Output::default(),
            now: Timestamp::from_micros(1_000_000_000),
            seen: BTreeSet::new(),
            flushed: 0,
        }
    }

    fn restore(&mut self, options: &FrontierOptions) -> Result<Frontier<JobJournal<Faulty>>, CheckpointError> {
        // The process before took its sync with it.
        self.storage.0.borrow_mut().syncing = None;
        let storage = [self.storage.clone(), self.storage.clone()];
        let open = open_options(self.sync, self.keep_journal, self.hosts_in_memory);
        Frontier::open_on(storage, JOB, options, &open, |_, receipt| self.output.has(receipt), self.now)
    }

    fn crawl_of(&self, frontier: Frontier<JobJournal<Faulty>>) -> Crawl {
        let Self { now, keep_journal, .. } = *self;
        Crawl { frontier, now, asked: Rc::clone(&self.asked), keep_journal }
    }

    /// Finds what was kept, and goes on; the seed is given each time.
    fn open(&mut self) -> io::Result<Crawl> {
        let crawl = self.restore(&options()).map_err(io::Error::other)?;
        let mut crawl = self.crawl_of(crawl);
        let opening = crawl.frontier.opening();
        self.is_sound(&crawl, opening.output);
        self.output.bytes.truncate(usize::try_from(opening.output).unwrap());
        self.output.durable = self.output.durable.min(self.output.bytes.len());
        assert_eq!(opening.extra, if opening.checkpoint.is_some() { &b"mine"[..] } else { b"" });
        crawl.frontier.seed(&url(0), self.now)?;
        crawl.frontier.flush(self.now)?;
        (self.seen, self.flushed) = (crawl.seen(), self.output.bytes.len());
        Ok(crawl)
    }

    /// Each thing that is queued is counted, and nothing that was kept is missing.
    fn is_sound(&self, crawl: &Crawl, output: u64) {
        let statistics = crawl.frontier.statistics();
        let waiting = statistics.queued + statistics.scheduled;
        assert_eq!(crawl.frontier.gate().admitted(), statistics.completed + waiting, "each is counted once");
        let (seen, kept) = (crawl.seen(), &self.seen);
        assert!(seen.is_superset(kept), "{seen:?}, and not all of {kept:?}");
        assert!(output >= self.flushed as u64, "{output} of {} bytes are confirmed", self.flushed);
    }

    /// Crawls for so many steps, or to the end: `true`. A checkpoint now and then.
    fn crawl(&mut self, crawl: &mut Crawl, steps: usize) -> io::Result<bool> {
        for step in 1..=steps {
            let goes_on = crawl.step(&mut self.output);
            let goes_on = goes_on.and_then(|goes_on| {
                let is_time = step % 12 == 0;
                if is_time { crawl.checkpoint(&mut self.output).map(|_| goes_on) } else { Ok(goes_on) }
            });
            self.now = crawl.now;
            let goes_on = goes_on?;
            (self.seen, self.flushed) = (crawl.seen(), self.output.bytes.len());
            if !goes_on {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The process was killed.
    fn after_kill(&self) -> Self {
        let asked = Rc::new(RefCell::new(self.asked.borrow().clone()));
        Self { storage: Faulty::of(self.storage.world().after_kill()), asked, ..self.clone() }
    }

    /// The power went: what was only flushed may be lost, but where each flush waits for the disk.
    fn after_power_cut(&self, random: &mut Random) -> Self {
        let storage = Faulty::of(self.storage.world().after_power_cut(random));
        let output = self.output.after_power_cut(random);
        let is_all_there = self.sync == SyncPolicy::Always;
        let seen = if is_all_there { self.seen.clone() } else { BTreeSet::new() };
        let asked = if is_all_there { self.asked.borrow().clone() } else { Asked::default() };
        let asked = Rc::new(RefCell::new(asked));
        Self { storage, asked, flushed: output.durable, output, seen, ..self.clone() }
    }

    /// Goes on to the end, and has each page once.
    fn ends_well(mut self) {
        let mut crawl = self.open().unwrap_or_else(|error| panic!("{error}"));
        assert!(self.crawl(&mut crawl, 2000).unwrap());
        let statistics = crawl.frontier.statistics();
        assert_eq!((statistics.hosts, statistics.retired_hosts), (5, 1));
        let top = crawl.frontier.top_hosts(10);
        assert_eq!(top.iter().filter(|row| row.retired).count(), 1);
        assert_eq!(top.iter().map(|row| &row.host).collect::<BTreeSet<_>>().len(), 5);
        assert_eq!(self.output.pages(), Vec::from_iter(pages()), "each page once");
    }
}

/// A whole crawl in some sittings: each ends as if it was killed, or at its first failure.
fn live(sitting: &mut Sitting, mut after_failure: impl FnMut(&Sitting)) {
    for steps in [40, 50, 2000, 2000, 2000] {
        let end = sitting.open().and_then(|mut crawl| {
            if sitting.crawl(&mut crawl, steps)? {
                // What a failure has left behind goes with the last.
                sitting.storage.0.borrow_mut().fault = None;
                for _ in 0..2 {
                    crawl.checkpoint(&mut sitting.output)?;
                }
                return Ok(true);
            }
            Ok(false)
        });
        match end {
            Ok(true) => return,
            Ok(false) => {}
            Err(_) => after_failure(sitting),
        }
    }
    panic!("it does not end");
}

#[test]
fn each_operation_fails_once_and_each_page_is_had_once() {
    let mut random = Random(0xc4ec);
    let (mut images, mut compacted) = (0, 0);
    let mut fewest = u64::MAX;
    // The floors under test are the same with every feature: each once is enough.
    let every = if cfg!(feature = "lending") { 1 } else { 9 };
    for (sync, faults) in [
        (SyncPolicy::Always, [(Fault::Io, 0), (Fault::ShortWrite, 3)]),
        (SyncPolicy::Never, [(Fault::NoSpace, u64::MAX), (Fault::TornSector, 0)]),
    ] {
        for (fault, hosts_in_memory) in faults {
            for number in (1..).step_by(every) {
                let world = World { fault: Some((number, fault)), ..World::default() };
                let mut sitting = Sitting::new(world, sync, hosts_in_memory);
                live(&mut sitting, |failed| {
                    let files = failed.storage.world().files;
                    compacted += files.values().filter(|file| file.content.starts_with(b"kept\n")).count();
                    failed.after_power_cut(&mut random).ends_well();
                    failed.after_kill().ends_well();
                    images += 1;
                });
                assert_eq!(sitting.output.pages(), Vec::from_iter(pages()), "{fault:?} at {number}");
                let world = sitting.storage.world();
                let files = |name: &str| world.files.keys().filter(|file| file.starts_with(name)).count();
                assert_eq!(world.files.len(), 8 + files("journal-") + files("evicted-"), "{:?}", world.files.keys());
                let runs = if hosts_in_memory > 5 { 0..=0 } else { 1..=4 };
                assert!(runs.contains(&files("evicted-")), "{fault:?} at {number}: {:?}", world.files.keys());
                assert!(!world.files.contains_key("journal-000000000000"), "what nobody needs is gone");
                if world.operations < number {
                    fewest = fewest.min(number);
                    break;
                }
            }
        }
    }
    assert!(fewest > 200, "{fewest} operations failed");
    assert!(images > 300 / every, "{images} failures ended a sitting");
    assert!(compacted > images / 10, "{compacted} segments were compacted in {images} images");
}

#[test]
fn thousands_of_power_cuts_and_each_page_is_had_once() {
    let mut random = Random(0xcafe);
    let (mut images, mut damaged) = (0, 0);
    let policies = [SyncPolicy::Always, SyncPolicy::Interval(Duration::from_secs(5)), SyncPolicy::Never];
    // The floors under test are the same with every feature: once is enough.
    let rounds = if cfg!(feature = "lending") { 80 } else { 4 };
    for (sync, hosts_in_memory) in policies.repeat(rounds).into_iter().zip([0, 3, u64::MAX, 1].into_iter().cycle()) {
        let mut sitting = Sitting::new(World { sync_lasts: 1, ..World::default() }, sync, hosts_in_memory);
        sitting.keep_journal = random.below(2) == 0;
        loop {
            let mut crawl = sitting.open().unwrap_or_else(|error| panic!("{error}"));
            let mut is_over = false;
            while !is_over && random.below(20) > 0 {
                let steps = 1 + usize::try_from(random.below(12)).unwrap();
                is_over = sitting.crawl(&mut crawl, steps).unwrap();
                // In the middle of a checkpoint, too.
                if random.below(3) == 0 {
                    let fails_at = sitting.storage.world().operations + 1 + random.below(12);
                    sitting.storage.0.borrow_mut().fault = Some((fails_at, Fault::ShortWrite));
                    let is_running = crawl.checkpoint(&mut sitting.output).is_ok();
                    sitting.storage.0.borrow_mut().fault = None;
                    sitting.now = crawl.now;
                    damaged += usize::from(!is_running);
                    if !is_running || sitting.storage.world().has_sync_failed {
                        break;
                    }
                }
                sitting.after_power_cut(&mut random).ends_well();
                images += 1;
            }
            if is_over {
                break;
            }
            sitting = if random.below(2) == 0 { sitting.after_kill() } else { sitting.after_power_cut(&mut random) };
            images += 1;
        }
        assert_eq!(sitting.output.pages(), Vec::from_iter(pages()));
    }
    assert!(images > 30 * rounds && damaged > rounds / 2, "{images} images, {damaged} sittings ended in a checkpoint");
}

/// The system says nothing of it at the next sync.
#[test]
fn what_a_failed_sync_dropped_is_taken_for_safe_by_no_later_checkpoint() {
    let mut random = Random(0xd209);
    for number in 1.. {
        let mut sitting = Sitting::new(World::default(), SyncPolicy::Never, u64::MAX);
        let mut crawl = sitting.open().unwrap();
        sitting.crawl(&mut crawl, 11).unwrap();
        let fails_at = sitting.storage.world().operations + number;
        sitting.storage.0.borrow_mut().fault = Some((fails_at, Fault::Io));
        let first = crawl.checkpoint(&mut sitting.output);
        let has_failed = sitting.storage.world().operations >= fails_at;
        sitting.storage.0.borrow_mut().fault = None;
        let second = crawl.checkpoint(&mut sitting.output);
        sitting.now = crawl.now;
        sitting.after_power_cut(&mut random).ends_well();
        if !has_failed {
            assert!(first.unwrap() && second.unwrap() && number > 10);
            break;
        }
    }
}
