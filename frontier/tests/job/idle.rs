//! Hosts that are evicted while a checkpoint is written, and come back: a crawl cannot tell whether any were.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::frontier::{Frontier, FrontierOptions, Lease, Next, Outcome, Timestamp};
use crawler_frontier::gate::ScopeKind;
use crawler_frontier::job::checkpoint::{self, CheckpointError, Owner};
use crawler_frontier::job::journal::Disk;
use crawler_frontier::job::{JobJournal, OpenOptions};
use tempfile::TempDir;

use crate::random::Random;

/// A crawl that is kept on disk, of a web of many hosts.
struct Kept {
    directory: TempDir,
    frontier: Frontier<JobJournal>,
    now: Timestamp,
    random: Random,
    web: Web,
    /// URLs that were new.
    admitted: u64,
}

/// What was asked for, whoever asked.
#[derive(Default)]
struct Web {
    /// How often, by URL.
    fetched: BTreeMap<String, u32>,
    /// When last, by host.
    asked: HashMap<String, Timestamp>,
}

impl Web {
    fn ask(&mut self, lease: &Lease, now: Timestamp) {
        *self.fetched.entry(lease.url().to_owned()).or_default() += 1;
        if let Some(before) = self.asked.insert(lease.origin().to_string(), now) {
            assert!(before + Duration::from_secs(1) <= now, "{} is asked at {now:?} and {before:?}", lease.origin());
        }
    }
}

/// Some slices of them.
const HOSTS: u64 = 5000;

impl Kept {
    /// Beyond so many, idle hosts leave.
    fn open(directory: TempDir, hosts: u64, now: Timestamp, random: Random, web: Web, admitted: u64) -> Self {
        let disk = || Disk::at(directory.path()).unwrap();
        let mut options = FrontierOptions::default();
        options.scope.kind = ScopeKind::Any;
        options.fingerprint_key = Some(FingerprintKey::from_u64(7));
        (options.seen.capacity, options.seen.false_positive_rate) = (100_000, 1e-9);
        options.politeness.robots_ttl = Duration::from_secs(24 * 3600);
        let mut open = OpenOptions::default();
        open.hosts_in_memory = hosts;
        let frontier = Frontier::open_on([disk(), disk()], 1, &options, &open, |_, _| true, now).unwrap();
        Self { directory, frontier, now, random, web, admitted }
    }

    /// The process is killed, and another goes on.
    fn again(self, hosts_in_memory: u64) -> Self {
        let Self { directory, frontier, now, random, web, admitted } = self;
        let was = frontier.statistics();
        drop(frontier);
        let again = Self::open(directory, hosts_in_memory, now, random, web, admitted);
        let is = again.frontier.statistics();
        assert_eq!((is.hosts, is.completed, is.queued), (was.hosts, was.completed, was.queued));
        again
    }

    fn act(&mut self, acts: usize) {
        for _ in 0..acts {
            if self.random.below(5) < 2 {
                let url = format!("https://h{}.example/{}", self.random.below(HOSTS), self.random.below(40));
                self.admitted += u64::from(self.frontier.seed(&url, self.now).unwrap().is_none());
            } else {
                self.fetch();
            }
        }
        self.frontier.flush(self.now).unwrap();
    }

    /// Whether there is anything left.
    fn fetch(&mut self) -> bool {
        self.now = self.now + Duration::from_micros(300);
        match self.frontier.next(self.now).unwrap() {
            Next::Fetch(lease) => {
                self.web.ask(&lease, self.now);
                let outcome = Outcome::response(&lease, 404, b"");
                self.frontier.complete(lease, outcome, self.now).unwrap();
            }
            Next::Wait(until) => self.now = self.now.max(until),
            Next::GiveUp(_) | Next::Busy | Next::Drained => return false,
        }
        true
    }

    fn checkpoint(&mut self) {
        checkpoint::write(self).unwrap().unwrap();
    }
}

/// The crawl goes on while a checkpoint is written.
impl Owner for Kept {
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        self.act(25);
        act(&mut self.frontier)
    }

    fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(Some(Vec::new()))
    }
}

#[test]
fn hosts_that_come_and_go_while_slices_are_saved_are_all_there_after_a_kill() {
    let now = Timestamp::from_micros(1_000_000_000);
    let mut crawl = Kept::open(tempfile::tempdir().unwrap(), 0, now, Random(0x0051_1ce5), Web::default(), 0);
    crawl.act(15_000);
    let mut fewest = u64::MAX;
    for hosts_in_memory in [0, 2000, 0, 3000, 0, 0] {
        crawl = crawl.again(hosts_in_memory);
        crawl.act(500);
        crawl.checkpoint();
        fewest = fewest.min(crawl.frontier.statistics().hosts_in_memory);
        crawl.act(3000);
        // Behind the checkpoint, or in the middle of the next.
        crawl = crawl.again(1000);
        crawl.act(2000);
        crawl.checkpoint();
        crawl.act(1000);
    }
    while crawl.fetch() {}
    let (robots, pages): (Vec<_>, Vec<_>) = crawl.web.fetched.iter().partition(|(url, _)| url.ends_with("/robots.txt"));
    assert!(robots.len() > 4000 && fewest < 2500, "{} hosts, {fewest} in memory", robots.len());
    assert_eq!(robots.iter().find(|(_, times)| **times > 1), None, "each is had once");
    assert_eq!(pages.iter().find(|(_, times)| **times > 1), None, "each is had once");
    assert_eq!((pages.len() as u64, crawl.frontier.statistics().completed), (crawl.admitted, crawl.admitted));
}
