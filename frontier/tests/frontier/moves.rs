//! URLs that wait get other priorities.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler_frontier::driver::Receipt;
use crawler_frontier::driver::repair::{LineFormat, PageLine, look};
use crawler_frontier::frontier::{
    Frontier, FrontierOptions, Href, Journal, Next, Outcome, QueueOrder, Reprioritized, Timestamp,
};
use crawler_frontier::gate::{DropRule, Position, ScopeKind};
use crawler_frontier::job::{Job, JobJournal};

pub(crate) const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);
pub(crate) const HOST: &str = "https://a.example";

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
    options
}

/// Gives pages of the host priorities, by their names.
fn score(frontier: &mut Frontier<impl Journal>, scores: &[(&str, i64)]) -> Reprioritized {
    let key = frontier.gate().fingerprint_key();
    let canonicalizer = frontier.gate().canonicalizer().clone();
    let named = scores.iter().map(|(page, score)| {
        let url = canonicalizer.canonicalize(&format!("{HOST}/{page}")).unwrap();
        (url.fingerprint(key), *score)
    });
    frontier.reprioritize(named, NOW).unwrap()
}

fn seed(frontier: &mut Frontier<impl Journal>, pages: &str) {
    for page in pages.split(' ') {
        assert_eq!(frontier.seed(&format!("{HOST}/{page}"), NOW).unwrap(), None);
    }
}

/// Fetches all that is queued or due until then: the pages with their priorities.
pub(crate) fn drain(frontier: &mut Frontier<impl Journal>, until: Timestamp) -> Vec<(String, i64)> {
    let mut asked = Vec::new();
    while let Next::Fetch(lease) = frontier.next(until).unwrap() {
        asked.push((lease.url()[HOST.len() + 1..].to_owned(), lease.priority()));
        let outcome = Outcome::response(&lease, 200, b"");
        frontier.complete(lease, outcome, until).unwrap();
    }
    asked
}

/// Pages with their priorities, as [`drain`] returns them.
pub(crate) fn pages(expected: &[(&str, i64)]) -> Vec<(String, i64)> {
    expected.iter().map(|(page, score)| ((*page).to_owned(), *score)).collect()
}

#[test]
fn moved_pages_keep_their_order_among_themselves_and_come_last() {
    let mut frontier = Frontier::new(&options()).unwrap();
    seed(&mut frontier, "a b c d");
    let done = score(&mut frontier, &[("d", 5), ("b", 5), ("a", 0), ("none", 1)]);
    assert_eq!((done.moved, done.unchanged, done.out, done.unknown), (2, 1, 0, 1));
    assert_eq!(drain(&mut frontier, NOW), pages(&[("a", 0), ("c", 0), ("b", 5), ("d", 5)]));
    assert_eq!(score(&mut frontier, &[("a", 9)]).unknown, 1, "it is done");
}

#[test]
fn where_the_last_goes_first_moved_pages_come_last() {
    let mut options = options();
    options.order = QueueOrder::Lifo;
    let mut frontier = Frontier::new(&options).unwrap();
    seed(&mut frontier, "a b c d");
    let Next::Fetch(d) = frontier.next(NOW).unwrap() else { panic!("it is due") };
    // It is out, and stays where it is.
    let done = score(&mut frontier, &[("d", -1), ("a", -1), ("b", -1)]);
    assert_eq!((done.moved, done.out), (2, 1));
    frontier.complete(d, Outcome::Released, NOW).unwrap();
    assert_eq!(drain(&mut frontier, NOW), pages(&[("a", -1), ("b", -1), ("d", 0), ("c", 0)]));
}

/// What waits for a time, and what is set aside, has its new priority once it is queued, whatever comes between.
#[test]
fn priorities_outlive_the_process_wherever_a_page_waits() {
    let directory = tempfile::tempdir().unwrap();
    let open = || Frontier::open(directory.path(), &options(), NOW).unwrap();
    let mut frontier = open();
    seed(&mut frontier, "a b aside/c");
    frontier.schedule(&format!("{HOST}/later"), NOW + Duration::from_secs(60)).unwrap();
    let done = score(&mut frontier, &[("b", -3), ("aside/c", -7), ("later", -5)]);
    assert_eq!((done.moved, done.unknown), (3, 0));
    let rule = DropRule::Urls("/aside/".to_owned());
    frontier.drop_by(rule.clone(), NOW).unwrap();
    let Next::Fetch(b) = frontier.next(NOW).unwrap() else { panic!("it is due") };
    assert_eq!(b.url(), format!("{HOST}/b"), "what is dropped was set aside");
    frontier.complete(b, Outcome::Released, NOW).unwrap();
    frontier.checkpoint().unwrap();
    assert_eq!(score(&mut frontier, &[("a", 2), ("later", -5), ("aside/c", -6)]).moved, 2);
    frontier.flush(NOW).unwrap();
    drop(frontier);
    let mut frontier = open();
    frontier.undo_drop(&rule, NOW).unwrap();
    let later = NOW + Duration::from_secs(60);
    assert_eq!(drain(&mut frontier, later), pages(&[("aside/c", -6), ("later", -5), ("b", -3), ("a", 2)]));
}

#[test]
fn as_many_priorities_as_there_are_front_queues_are_exact_whatever_was_in_use() {
    let mut frontier = Frontier::new(&options()).unwrap();
    for page in 0..600 {
        let url = format!("{HOST}/{page}");
        let mut href = Href::from(&url);
        href.priority = Some(page % 200 - 5000);
        frontier.seed(href, NOW).unwrap();
    }
    let positions: Vec<Position> = frontier.positions().collect();
    // Others by far, and as many: the front queues of the old ones are used again.
    let score = |place: usize| i64::try_from(place * 7919 % 250).unwrap() * 1000;
    let named = || positions.iter().enumerate().map(|(place, position)| (*position, score(place)));
    assert_eq!(frontier.reprioritize(named(), NOW).unwrap().moved, 600);
    assert_eq!(frontier.statistics().shared_priorities, 0);
    assert_eq!(frontier.reprioritize(named(), NOW).unwrap().unchanged, 600);
    // As many as there are URLs: each goes with a close one, and all in order.
    let spread = positions.iter().zip(0..).map(|(position, place): (_, i64)| (*position, -place * 10));
    frontier.reprioritize(spread, NOW).unwrap();
    let shared = frontier.statistics().shared_priorities;
    assert!((300..=600).contains(&shared), "{shared}");
    let asked = drain(&mut frontier, NOW);
    assert_eq!(asked.len(), 600);
    assert!(asked.is_sorted_by_key(|(_, score)| *score));
    let mut distinct: Vec<i64> = asked.iter().map(|(_, score)| *score).collect();
    distinct.dedup();
    assert!(distinct.len() > 200, "{} front queues", distinct.len());
}

/// There are no page records.
struct NoLines;

impl LineFormat for NoLines {
    fn read(&self, _: &[u8]) -> Option<PageLine> {
        None
    }

    fn moved(&self, _: &[u8], _: &[(String, Receipt)]) -> Option<Vec<u8>> {
        None
    }

    fn files(&self, _: &Path, _: &str) -> io::Result<Vec<(u64, PathBuf)>> {
        Ok(Vec::new())
    }
}

#[test]
fn a_repair_keeps_the_priorities() {
    let directory = tempfile::tempdir().unwrap();
    let open = || -> Frontier<JobJournal> { Frontier::open(directory.path(), &options(), NOW).unwrap() };
    let mut frontier = open();
    seed(&mut frontier, "a b c");
    frontier.schedule(&format!("{HOST}/later"), NOW + Duration::from_secs(60)).unwrap();
    let mut href = Href::from("https://a.example/own");
    href.priority = Some(-1 << 40);
    frontier.seed(href, NOW).unwrap();
    score(&mut frontier, &[("c", -9), ("b", 1 << 50), ("later", 7), ("a", 3), ("a", 5)]);
    frontier.flush(NOW).unwrap();
    drop(frontier);
    let job = Job::resume(directory.path()).unwrap();
    look(&job, &options(), true, &NoLines, &[]).unwrap().carry_out(&job, &NoLines).unwrap();
    drop(job);
    let later = NOW + Duration::from_secs(60);
    let expected = [("own", -1 << 40), ("c", -9), ("a", 5), ("later", 7), ("b", 1 << 50)];
    assert_eq!(drain(&mut open(), later), pages(&expected));
}
