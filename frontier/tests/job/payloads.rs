//! Requests with a body: how long one may be, and how long the disk has it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crawler_frontier::frontier::{
    Frontier, FrontierError, FrontierOptions, Href, Journal, Lease, Next, Outcome, Reply, Timestamp,
};
use crawler_frontier::gate::{MetadataError, ScopeKind};
use crawler_frontier::job::{JobJournal, OpenOptions};

use crate::random::Random;

const NOW: Timestamp = Timestamp::from_micros(1 << 40);
const URL: &str = "https://api.example/search";

/// Hosts that need neither a robots.txt nor a rest.
fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.robots = false;
    options.politeness.host_delay = Duration::ZERO;
    options.metadata.bytes = 1 << 20;
    options
}

/// The body of a request: that of another one differs.
fn body(number: u64, bytes: usize) -> Vec<u8> {
    let mut body = number.to_le_bytes().repeat(bytes.div_ceil(8));
    body.truncate(bytes);
    body
}

/// Queues a request of its own.
fn send<J: Journal>(frontier: &mut Frontier<J>, number: u64, bytes: usize, priority: i64) {
    let (url, body) = (format!("{URL}/{}", number % 5), body(number, bytes));
    let mut href = Href::from(&url).metadata(&body).unwrap().identity(body[..8].as_ref()).unwrap();
    // Some front queues stand for other numbers than their own.
    href.priority = Some(priority - 7);
    assert_eq!(frontier.seed(href, NOW).unwrap(), None);
}

fn next<J: Journal>(frontier: &mut Frontier<J>) -> Option<Lease> {
    match frontier.next(NOW).unwrap() {
        Next::Fetch(lease) => Some(lease),
        _ => None,
    }
}

/// The number of a lease's request; its body is whole.
fn number(lease: &Lease) -> u64 {
    let number = u64::from_le_bytes(lease.metadata()[..8].try_into().unwrap());
    assert_eq!(lease.metadata(), body(number, lease.metadata().len()));
    number
}

fn done<J: Journal>(frontier: &mut Frontier<J>, lease: Lease) {
    let outcome = Outcome::response(&lease, 404, b"");
    frontier.complete(lease, outcome, NOW).unwrap();
}

/// Bytes of the journal's files.
fn on_disk(directory: &Path) -> u64 {
    let files = fs::read_dir(directory.join("frontier")).unwrap().map(Result::unwrap);
    let journal = files.filter(|file| file.file_name().to_str().unwrap().starts_with("journal-"));
    journal.map(|file| file.metadata().unwrap().len()).sum()
}

fn open(directory: &Path, segment: u64) -> Frontier<JobJournal> {
    let mut open = OpenOptions::default();
    (open.keep_journal, open.journal.segment_bytes) = (false, segment);
    Frontier::open_with(directory, &options(), &open, |_, _| true, NOW).unwrap()
}

fn refused(result: Result<impl std::fmt::Debug, FrontierError>) -> (usize, u64, &'static str) {
    match result {
        Err(FrontierError::Metadata(MetadataError { bytes, most, option, .. })) => (bytes, most, option),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_that_is_too_long_is_refused_with_its_size_and_the_option() {
    let mut frontier = Frontier::new(&FrontierOptions::default()).unwrap();
    let long = vec![7; 4097];
    let href = Href::from(URL).metadata(&long).unwrap();
    assert_eq!(refused(frontier.seed(href, NOW)), (4097, 4096, "metadata.bytes"));
    assert_eq!(refused(frontier.schedule(href, NOW)), (4097, 4096, "metadata.bytes"));
    let error = frontier.seed(href, NOW).unwrap_err().to_string();
    assert_eq!(error, "4097 bytes of metadata: metadata.bytes leaves room for 4096");
    // The seen set was not told.
    assert_eq!(frontier.seed(Href::from(URL).metadata(&long[1..]).unwrap(), NOW).unwrap(), None);

    let error = Href::from(URL).metadata(&vec![0; (1 << 20) + 1]).unwrap_err().to_string();
    assert_eq!(error, "1048577 bytes of metadata: metadata.bytes leaves room for 1048576");
    let mut options = options();
    options.metadata.bytes += 1;
    let error = Frontier::new(&options).unwrap_err().to_string();
    assert!(error.contains("metadata.bytes") && error.contains("1048577"), "{error}");
}

#[test]
fn no_link_of_a_reply_is_lost_if_one_of_them_is_too_long() {
    let mut options = options();
    options.metadata.bytes = 10;
    let mut frontier = Frontier::new(&options).unwrap();
    frontier.seed("https://a.example/", NOW).unwrap();
    let links = |body| ["/1", "/2", "/3"].map(|link| Href::from(link).metadata(body).unwrap());
    let lease = next(&mut frontier).unwrap();
    assert_eq!(refused(frontier.links(&lease, links("eleven bytes"), NOW)), (12, 10, "metadata.bytes"));
    let mut reply = Reply::from(200);
    reply.links = links("short").to_vec();
    reply.links[1] = Href::from("/2").metadata("eleven bytes").unwrap();
    assert_eq!(refused(frontier.answer(lease, &reply, NOW)), (12, 10, "metadata.bytes"));

    // The page is lent again, and all its links are new.
    let lease = next(&mut frontier).unwrap();
    assert_eq!(lease.url(), "https://a.example/");
    reply.links[1] = Href::from("/2").metadata("too short").unwrap();
    frontier.answer(lease, &reply, NOW).unwrap();
    assert_eq!(frontier.statistics().queued, 3);
}

#[test]
fn in_memory_the_sum_is_bounded_and_what_is_done_makes_room() {
    let mut options = options();
    options.metadata.memory = 10_000;
    let mut frontier = Frontier::new(&options).unwrap();
    for number in 0..10 {
        send(&mut frontier, number, 1000, 0);
    }
    let href = Href::from(URL).metadata("more").unwrap();
    assert_eq!(refused(frontier.seed(href, NOW)), (4, 0, "metadata.memory"));
    let lease = next(&mut frontier).unwrap();
    // Another try has it still.
    let outcome = Outcome::response(&lease, 500, b"");
    frontier.complete(lease, outcome, NOW).unwrap();
    assert_eq!(refused(frontier.seed(href, NOW)), (4, 0, "metadata.memory"));
    let lease = next(&mut frontier).unwrap();
    let memory = frontier.statistics().journal_memory;
    done(&mut frontier, lease);
    assert_eq!(memory - frontier.statistics().journal_memory, 1000);
    assert_eq!(frontier.seed(href, NOW).unwrap(), None);
    // Each of two links alone would fit.
    let links = ["/1", "/2"].map(|link| Href::from(link).metadata(&[0; 600]).unwrap());
    let lease = next(&mut frontier).unwrap();
    assert_eq!(refused(frontier.links(&lease, links, NOW)), (600, 396, "metadata.memory"));
    done(&mut frontier, lease);
    for number in 10..1010 {
        send(&mut frontier, number, 300, 0);
        let lease = next(&mut frontier).unwrap();
        done(&mut frontier, lease);
    }
}

/// The bound on memory is none of a job's, whose metadata is on disk.
#[test]
fn in_a_job_the_disk_alone_bounds_the_sum() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options();
    options.metadata.memory = 1000;
    let mut frontier = Frontier::open(directory.path(), &options, NOW).unwrap();
    (0..3).for_each(|number| send(&mut frontier, number, 900, 0));
    let lease = next(&mut frontier).unwrap();
    let mut reply = Reply::from(200);
    let body = body(9, 900);
    reply.links = ["/a", "/b"].map(|link| Href::from(link).metadata(&body).unwrap()).to_vec();
    frontier.answer(lease, &reply, NOW).unwrap();
    assert_eq!(frontier.statistics().queued, 4);
}

#[test]
fn a_body_of_a_mebibyte_is_read_with_its_lease() {
    let directory = tempfile::tempdir().unwrap();
    let mut frontier = open(directory.path(), 4 << 20);
    for number in 0..8 {
        send(&mut frontier, number, 1 << 20, 0);
    }
    frontier.flush(NOW).unwrap();
    assert!(frontier.statistics().memory < 6 << 20, "{}", frontier.statistics().memory);
    frontier.checkpoint().unwrap();
    drop(frontier);
    let mut frontier = open(directory.path(), 4 << 20);
    for _ in 0..8 {
        let lease = next(&mut frontier).unwrap();
        assert_eq!(lease.metadata().len(), 1 << 20);
        number(&lease);
        done(&mut frontier, lease);
    }
}

/// Sends so many requests and fetches them, with a few that wait all the time, all over the journal. Returns the bytes that wait, and the
/// most that the disk had beyond three times as many.
fn crawl(directory: &Path, requests: u64, one_waits_of: u64, each: u64, segment: u64) -> (u64, u64) {
    let mut frontier = open(directory, segment);
    let (mut random, mut waiting, mut most) = (Random(7), 0u64, 0);
    for sent in 1..=requests {
        let waits = sent % one_waits_of == 0;
        // Every tenth is long, so that bytes are another thing than numbers.
        let bytes = if random.below(10) == 0 { 4000 } else { 700 };
        send(&mut frontier, sent, bytes, if waits { 200 } else { 0 });
        waiting += if waits { bytes as u64 } else { 0 };
        while let Next::Fetch(lease) = frontier.next(NOW).unwrap() {
            if number(&lease).is_multiple_of(one_waits_of) {
                frontier.complete(lease, Outcome::Released, NOW).unwrap();
                break;
            }
            done(&mut frontier, lease);
        }
        if sent % each == 0 {
            frontier.checkpoint().unwrap();
            most = most.max(on_disk(directory).saturating_sub(3 * waiting));
        }
        if sent % (requests / 3) == 0 {
            drop(frontier);
            frontier = open(directory, segment);
        }
    }
    (waiting, most)
}

#[test]
fn the_disk_has_at_most_three_times_what_waits() {
    let directory = tempfile::tempdir().unwrap();
    let (mut waiting, most) = crawl(directory.path(), 6000, 61, 50, 32 << 10);
    // Beside three times what waits, there is what was written since the last checkpoint but one began, and a segment.
    assert!(most < 150_000, "{most}");
    let there = on_disk(directory.path());
    assert!(there < 3 * waiting + 150_000, "{there} bytes, and {waiting} wait");

    // All of it is there, once, and then nothing is.
    let mut frontier = open(directory.path(), 32 << 10);
    let mut had = BTreeSet::new();
    while let Some(lease) = next(&mut frontier) {
        assert!(had.insert(number(&lease)));
        waiting -= lease.metadata().len() as u64;
        done(&mut frontier, lease);
    }
    assert_eq!(waiting, 0);
    for _ in 0..4 {
        frontier.checkpoint().unwrap();
    }
    let left = on_disk(directory.path());
    assert!(left < 50_000, "{left}");
}

/// The opening writes the last segment anew. A job that was killed before its first checkpoint has only that.
#[test]
fn the_segment_of_a_job_without_a_checkpoint_is_compacted_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut frontier = open(directory.path(), 8 << 10);
    send(&mut frontier, 1, 2000, 0);
    frontier.flush(NOW).unwrap();
    drop(frontier);

    let mut frontier = open(directory.path(), 8 << 10);
    // The first segment grows, and others follow, before the first checkpoint.
    send(&mut frontier, 0, 100, 9);
    (2..20).for_each(|number| send(&mut frontier, number, 2000, 0));
    frontier.checkpoint().unwrap();
    for _ in 1..20 {
        let lease = next(&mut frontier).unwrap();
        assert_ne!(number(&lease), 0);
        done(&mut frontier, lease);
    }
    for _ in 0..3 {
        frontier.checkpoint().unwrap();
    }
    let first = fs::read(directory.path().join("frontier/journal-000000000000")).unwrap();
    assert!(first.starts_with(b"kept\n") && first.len() < 1000, "{} bytes", first.len());
    let lease = next(&mut frontier).unwrap();
    assert_eq!(number(&lease), 0);
}

#[test]
fn what_is_done_leaves_the_disk_whatever_the_priorities() {
    let directory = tempfile::tempdir().unwrap();
    let mut frontier = open(directory.path(), 8 << 10);
    send(&mut frontier, 0, 100, 9);
    for number in 1..=30 {
        send(&mut frontier, number, 4000, -i64::try_from(number).unwrap());
        let lease = next(&mut frontier).unwrap();
        done(&mut frontier, lease);
        frontier.checkpoint().unwrap();
    }
    assert!(on_disk(directory.path()) < 40_000, "{} bytes", on_disk(directory.path()));
    drop(frontier);
    let mut frontier = open(directory.path(), 8 << 10);
    assert_eq!(number(&next(&mut frontier).unwrap()), 0);
}
