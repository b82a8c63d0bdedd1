//! Robots rules of more hosts than there is memory for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crawler_frontier::frontier::{Frontier, FrontierOptions, LeaseKind, Next, Outcome, Timestamp};
use crawler_frontier::gate::{Refusal, ScopeKind};
use crawler_frontier::job::journal::SyncPolicy;
use crawler_frontier::job::{JobJournal, OpenOptions};

const HOSTS: u64 = 3000;
/// A hundredth of what their rules take.
const BOUND: usize = 32 << 10;
/// A host's share that stays: where its rules are, and its delay.
const STUB: u64 = 64;

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.seen.capacity = 100_000;
    options.seen.false_positive_rate = 1e-9;
    options.politeness.robots_memory = BOUND;
    options
}

fn open(directory: &Path, now: Timestamp) -> Frontier<JobJournal> {
    let mut open = OpenOptions::default();
    open.journal.sync = SyncPolicy::Never;
    Frontier::open_with(directory, &options(), &open, |_, _| true, now).unwrap()
}

/// Each host keeps another folder to itself, and asks for another rest.
fn robots_of(host: u64) -> String {
    format!("User-agent: *\nDisallow: /private-{host}\nAllow: /\nCrawl-delay: {}", 2 + host % 3)
}

/// Two pages of each host that it allows and, between them, one that it does not.
fn seed(frontier: &mut Frontier<JobJournal>, round: u64, now: Timestamp) {
    for host in 0..HOSTS {
        let other = (host + 1) % HOSTS;
        for path in ["first".to_owned(), format!("private-{host}"), format!("private-{other}")] {
            frontier.seed(&format!("https://h{host}.example/{path}/{round}"), now).unwrap();
        }
    }
    frontier.flush(now).unwrap();
}

/// Crawls, asserting the bound and each delay, and says what was asked for; each of them once.
fn crawl(frontier: &mut Frontier<JobJournal>, now: &mut Timestamp, most: usize) -> BTreeSet<String> {
    let mut asked = BTreeSet::new();
    let mut last: BTreeMap<u64, Timestamp> = BTreeMap::new();
    while asked.len() < most {
        match frontier.next(*now).unwrap() {
            Next::Fetch(lease) => {
                let name = lease.origin().trim_start_matches("https://h");
                let host: u64 = name.trim_end_matches(".example").parse().unwrap();
                if lease.kind() == LeaseKind::Page {
                    let rest = last.get(&host).map(|last| now.since(*last));
                    assert!(rest.is_none_or(|rest| rest >= Duration::from_secs(2 + host % 3)), "{rest:?}");
                }
                last.insert(host, *now);
                let outcome = Outcome::response(&lease, 200, robots_of(host).as_bytes());
                assert!(asked.insert(lease.url().to_owned()), "{} was asked for twice", lease.url());
                frontier.complete(lease, outcome, *now).unwrap();
                let robots = frontier.statistics().robots_memory;
                assert!(robots < BOUND as u64 + 2000 + HOSTS * STUB, "{robots} bytes of robots rules");
            }
            Next::Wait(until) => *now = (*now).max(until),
            Next::GiveUp(_) | Next::Busy | Next::Drained => break,
        }
    }
    frontier.flush(*now).unwrap();
    asked
}

#[test]
fn rules_wait_in_the_journal_and_are_neither_forgotten_nor_fetched_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut now = Timestamp::from_micros(1 << 50);
    let mut frontier = open(directory.path(), now);
    seed(&mut frontier, 0, now);
    let mut asked = crawl(&mut frontier, &mut now, usize::MAX);
    assert_eq!(asked.iter().filter(|url| url.ends_with("/robots.txt")).count() as u64, HOSTS);
    seed(&mut frontier, 1, now);
    asked.extend(crawl(&mut frontier, &mut now, 1000));
    drop(frontier);

    // Killed in the second round.
    let mut frontier = open(directory.path(), now);
    assert!(frontier.statistics().robots_memory <= HOSTS * STUB, "nothing is read before it is needed");
    let rest = crawl(&mut frontier, &mut now, usize::MAX);
    assert!(asked.is_disjoint(&rest));
    asked.extend(rest);

    let expected = |host: u64| {
        let pages = ["first".to_owned(), format!("private-{}", (host + 1) % HOSTS)];
        let pages = pages.into_iter().flat_map(|path| [0, 1].map(|round| format!("{path}/{round}")));
        pages.chain(["robots.txt".to_owned()]).map(move |path| format!("https://h{host}.example/{path}"))
    };
    assert!(asked == (0..HOSTS).flat_map(expected).collect());
    let refused: BTreeMap<_, _> = frontier.gate().refusals().iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(refused, BTreeMap::from([(Refusal::Robots, 2 * HOSTS)]));
}

#[test]
fn a_journal_that_keeps_no_rules_lets_none_go() {
    let mut options = options();
    options.politeness.robots_memory = 0;
    let mut frontier = Frontier::new(&options).unwrap();
    let now = Timestamp::from_micros(1 << 50);
    for path in ["private-7", "open"] {
        frontier.seed(&format!("https://h7.example/{path}"), now).unwrap();
    }
    let (mut now, mut asked) = (now, Vec::new());
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                asked.push(lease.url().to_owned());
                let outcome = Outcome::response(&lease, 200, robots_of(7).as_bytes());
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::Wait(until) => now = now.max(until),
            Next::GiveUp(_) | Next::Busy | Next::Drained => break,
        }
    }
    assert_eq!(asked, ["https://h7.example/robots.txt", "https://h7.example/open"]);
}
