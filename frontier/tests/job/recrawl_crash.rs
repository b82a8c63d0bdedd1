//! Scheduled URLs and a real `SIGKILL`: a process that schedules, fetches again and forgets is killed at any moment, and the
//! next one goes on. The process is this test itself, called again; what it did stands in a file that outlives it.
//!
//! `CRASH_ROUNDS=1000 cargo test --release -p crawler-frontier --test job recrawl_crash:: -- --nocapture` kills so often.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Lease, LeaseKind, Next, Outcome, Timestamp};
use crawler_frontier::gate::{Refusal, ScopeKind};
use crawler_frontier::job::journal::SyncPolicy;
use crawler_frontier::job::{JobJournal, OpenOptions};
use crawler_frontier::seen::{Layout, Removal};

use crate::random::Random;

const PAGES: u64 = 60;
/// Where the process that is killed finds its directory.
const DIRECTORY: &str = "RECRAWL_DIRECTORY";
/// Set for the process that is not killed: it fetches what waits, and ends.
const LAST: &str = "RECRAWL_LAST";
/// Set for one whose seen set is not of counters.
const EXACT: &str = "RECRAWL_EXACT";

fn url(page: u64) -> String {
    format!("https://h{}.example/{page}", page % 7)
}

/// What travels with a page: nothing, or enough that a few pages fill a segment.
fn body(page: u64) -> Vec<u8> {
    page.to_le_bytes().repeat(usize::try_from(page % 4).unwrap() * 60)
}

fn page_of(lease: &Lease) -> u64 {
    lease.url().rsplit('/').next().and_then(|page| page.parse().ok()).expect("a page")
}

/// The process that is killed.
struct Life {
    frontier: Frontier<JobJournal>,
    told: File,
    now: Timestamp,
    random: Random,
    out: Vec<Lease>,
}

impl Life {
    fn begin(directory: &Path) -> Self {
        let before = fs::read_to_string(directory.join("told")).unwrap_or_default();
        let told = File::options().append(true).create(true).open(directory.join("told")).unwrap();
        let now = before.lines().last().and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(1 << 40);
        let (now, mut random) = (Timestamp::from_micros(now), Random(0x9e37_79b9_7f4a_7c15 ^ before.len() as u64));
        let mut options = FrontierOptions::default();
        options.scope.kind = ScopeKind::Any;
        options.seen.layout = env::var_os(EXACT).map_or(Layout::Counting, |_| Layout::Exact);
        (options.seen.capacity, options.seen.false_positive_rate, options.seen.audit) = (1000, 1e-9, 0);
        let mut open = OpenOptions::default();
        (open.hosts_in_memory, open.journal.segment_bytes) = (2, 4000);
        open.keep_journal = random.below(3) == 0;
        if random.below(2) == 0 {
            open.journal.sync = SyncPolicy::Always;
        }
        let frontier = Frontier::open_with(&directory.join("job"), &options, &open, |_, _| true, now).unwrap();
        let mut life = Self { frontier, told, now, random, out: Vec::new() };
        let statistics = life.frontier.statistics();
        let gate = life.frontier.gate();
        let seen = (0..PAGES).filter(|page| {
            let url = gate.canonicalizer().canonicalize(&url(*page)).unwrap();
            gate.seen().contains(url.fingerprint(gate.fingerprint_key()))
        });
        let seen: Vec<_> = seen.map(|page| page.to_string()).collect();
        life.tell(&format!("open {} {}", statistics.queued + statistics.scheduled, seen.join(" ")));
        life
    }

    /// Outlives this process, once it returns.
    fn tell(&mut self, what: &str) {
        self.told.write_all(format!("{} {what}\n", self.now.as_micros()).as_bytes()).unwrap();
    }

    /// Tells what is to be done, and then that it was done and kept.
    fn act(&mut self, what: &str, act: impl FnOnce(&mut Self) -> bool) {
        self.tell(what);
        let answer = act(self);
        self.frontier.flush(self.now).unwrap();
        self.tell(&format!("kept {answer}"));
    }

    fn go_on(&mut self) {
        self.now = self.now + Duration::from_millis(self.random.below(400));
        let (page, now) = (self.random.below(PAGES), self.now);
        let at = now + Duration::from_millis(self.random.below(3_000_000));
        match self.random.below(16) {
            0 => self.act(&format!("schedule {page} {}", at.as_micros()), |life| {
                let (url, body) = (url(page), body(page));
                life.frontier.schedule(Href::from(&url).metadata(&body).unwrap(), at).unwrap().is_none()
            }),
            1 => self.act(&format!("seed {page} {}", now.as_micros()), |life| {
                let (url, body) = (url(page), body(page));
                let refusal = life.frontier.seed(Href::from(&url).metadata(&body).unwrap(), now).unwrap();
                assert!(refusal.is_none_or(|refusal| refusal == Refusal::Seen));
                refusal.is_none()
            }),
            2 => self.act(&format!("forget {page}"), |life| match life.frontier.forget(&url(page)).unwrap() {
                Removal::Removed => true,
                Removal::Absent => false,
                Removal::Kept => panic!("there is one layer, and no retired host"),
            }),
            3 if self.random.below(4) == 0 => drop(self.frontier.checkpoint().unwrap()),
            4..=9 => {
                self.lend();
            }
            _ => self.take_back(Some(at).filter(|_| page % 3 == 0)),
        }
    }

    /// Whether there is anything to be had, or will be.
    fn lend(&mut self) -> bool {
        // Or the next process would begin at a time before what this one has done by then.
        self.tell("next");
        match self.frontier.next(self.now).unwrap() {
            Next::Fetch(lease) if lease.kind() == LeaseKind::Page => {
                let page = page_of(&lease);
                assert_eq!(lease.metadata(), body(page));
                self.tell(&format!("lease {page}"));
                self.out.push(lease);
            }
            Next::Fetch(robots) => {
                let outcome = Outcome::response(&robots, 404, b"");
                self.frontier.complete(robots, outcome, self.now).unwrap();
            }
            Next::Wait(until) => self.now = self.now.max(until),
            Next::GiveUp(lease) => panic!("{} is there", lease.url()),
            Next::Busy => {}
            Next::Drained => return false,
        }
        true
    }

    fn take_back(&mut self, again: Option<Timestamp>) {
        if self.out.is_empty() {
            return;
        }
        let lease = self.out.swap_remove(usize::try_from(self.random.below(self.out.len() as u64)).unwrap());
        let page = page_of(&lease);
        let what = again.map_or(format!("done {page}"), |at| format!("again {page} {}", at.as_micros()));
        self.act(&what, |life| {
            let refusal = again.and_then(|at| life.frontier.schedule_again(&lease, at).unwrap());
            let outcome = Outcome::response(&lease, 200, b"");
            life.frontier.complete(lease, outcome, life.now).unwrap();
            refusal.is_none()
        });
    }

    fn end(&mut self) {
        while !self.out.is_empty() || self.lend() {
            self.take_back(None);
        }
        self.tell("end");
    }
}

/// What there is, as one who watches must think.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct World {
    /// By page, the times before which it may not be fetched: as often as it waits.
    waiting: BTreeMap<u64, Vec<u64>>,
    lent: Vec<(u64, u64)>,
    seen: BTreeSet<u64>,
}

impl World {
    /// After this was done, and what it was answered; `None` where it cannot be done.
    fn after(&self, act: &str, now: u64) -> Option<(Self, bool)> {
        let mut world = self.clone();
        let mut words = act.split(' ');
        let name = words.next()?;
        let [page, at] =
            [words.next(), words.next()].map(|word| word.map_or(0, |word| word.parse().expect("a number")));
        let answer = match name {
            "seed" if self.seen.contains(&page) => false,
            "schedule" | "seed" => {
                world.waits(page, at);
                true
            }
            "forget" => world.seen.remove(&page),
            "lease" => {
                let times = world.waiting.get_mut(&page)?;
                // Of those whose time has come, any: none will be early that would not be otherwise.
                let first = times.iter().enumerate().min_by_key(|(_, at)| **at)?.0;
                let at = times.remove(first);
                world.lent.push((page, at));
                at <= now
            }
            "done" | "again" => {
                let lent = world.lent.iter().position(|(lent, _)| *lent == page)?;
                world.lent.remove(lent);
                if name == "again" {
                    world.waits(page, at);
                }
                true
            }
            _ => panic!("{act}"),
        };
        Some((world, answer))
    }

    fn waits(&mut self, page: u64, at: u64) {
        self.waiting.entry(page).or_default().push(at);
        self.seen.insert(page);
    }

    /// What was lent to a process that died waits again.
    fn after_kill(mut self) -> Self {
        for (page, at) in std::mem::take(&mut self.lent) {
            self.waiting.entry(page).or_default().push(at);
        }
        self
    }

    fn len(&self) -> usize {
        self.waiting.values().map(Vec::len).sum()
    }
}

/// All that the world may be, by what was told: what a process was about to do when it died may have been done or not.
#[derive(Debug)]
struct Watch {
    worlds: Vec<World>,
    /// Told, and not yet kept.
    doubt: Option<String>,
    lines: usize,
}

impl Watch {
    fn follow(&mut self, told: &str) {
        assert!(told.is_empty() || told.ends_with('\n'));
        for line in told.lines().skip(self.lines) {
            let (now, what) = line.split_once(' ').expect("a time");
            let now = now.parse().expect("a time");
            let (was, doubt) = (self.worlds.clone(), self.doubt.clone());
            self.take(what, now);
            assert!(!self.worlds.is_empty(), "{line}: not after {doubt:?} in {was:?}");
            self.lines += 1;
        }
    }

    fn take(&mut self, what: &str, now: u64) {
        let (name, rest) = what.split_once(' ').unwrap_or((what, ""));
        match name {
            "open" => {
                let doubt = self.doubt.take();
                let done = |world: &World| Some(world.after(doubt.as_ref()?, now)?.0);
                let done: Vec<_> = self.worlds.iter().filter_map(done).collect();
                self.worlds.extend(done);
                let mut words =
                    rest.split(' ').filter(|word| !word.is_empty()).map(|word| word.parse().expect("a number"));
                let (waiting, seen): (Option<u64>, BTreeSet<u64>) = (words.next(), words.collect());
                self.worlds = std::mem::take(&mut self.worlds).into_iter().map(World::after_kill).collect();
                self.worlds.retain(|world| Some(world.len() as u64) == waiting && world.seen == seen);
                self.worlds.dedup();
            }
            "kept" => {
                let act = self.doubt.take().expect("something was to be done");
                let answer = rest.parse().expect("yes or no");
                self.step(&act, now, answer);
            }
            "lease" => self.step(what, now, true),
            "next" => {}
            "end" => self.worlds.retain(|world| world.len() == 0 && world.lent.is_empty()),
            _ => self.doubt = Some(what.to_owned()),
        }
    }

    fn step(&mut self, act: &str, now: u64, answer: bool) {
        let worlds = self.worlds.iter().filter_map(|world| world.after(act, now));
        self.worlds = worlds.filter(|(_, answered)| *answered == answer).map(|(world, _)| world).collect();
    }
}

#[test]
fn whenever_it_is_killed_what_is_scheduled_is_fetched_once_in_its_time_and_what_is_forgotten_stays_so() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        let mut life = Life::begin(Path::new(&directory));
        if env::var_os(LAST).is_some() {
            return life.end();
        }
        // Bounded, should nobody be there to end it.
        return (0..1_000_000).for_each(|_| life.go_on());
    }
    let rounds: u64 = env::var("CRASH_ROUNDS").map_or(25, |rounds| rounds.parse().unwrap());
    let mut random = Random(0x5ced);
    let (mut kills, mut lines, mut doubts) = (0, 0, 0);
    while kills < rounds {
        let directory = tempfile::tempdir().unwrap();
        let mut watch = Watch { worlds: vec![World::default()], doubt: None, lines: 0 };
        let (mut left, is_exact) = (1 + random.below(12), random.below(2) == 0);
        loop {
            let mut command = Command::new(env::current_exe().unwrap());
            let name = std::thread::current().name().expect("the test's").to_owned();
            command.args(["--exact", &name, "--nocapture"]).env(DIRECTORY, directory.path()).stdout(Stdio::null());
            command.envs(is_exact.then_some((EXACT, "")));
            if left == 0 {
                assert!(command.env(LAST, "").status().unwrap().success());
            } else {
                let mut child = command.spawn().unwrap();
                // When a crash comes is what it is about: in the middle of a recovery, too.
                sleep(Duration::from_millis(if left % 4 == 0 { random.below(30) } else { random.below(300) }));
                assert!(child.try_wait().unwrap().is_none_or(|ended| ended.success()));
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
            let told = fs::read_to_string(directory.path().join("told")).unwrap_or_default();
            watch.follow(&told);
            doubts += u64::from(watch.doubt.is_some());
            if left == 0 {
                assert!(told.ends_with(" end\n"));
                break;
            }
            left -= 1;
        }
        lines += watch.lines;
    }
    println!("{kills} kills, {doubts} in the middle of an act, {lines} lines: none lost, none early, none twice");
    assert!(lines as u64 > kills * 20 && doubts > 0, "{lines} lines, {doubts} in doubt, {kills} kills");
}
