//! One host with all URLs: the memory of each waiting URL, while its text is on disk.
//!
//! A page brings 64 new links, all to its own host. Links have three depths, so the host has three priorities. One page in ten is fetched.
//! Waiting URLs are first come, first served, and the journal's segments stay for as long. The seen set is sized for all of them before the
//! run, so all growth of the process is the frontier's.

use std::path::Path;
use std::time::Duration;

use crawler::frontier::{Frontier, Next, Outcome, Timestamp};
use crawler::gate::{Admission, Found, Via};
use crawler::job::JobJournal;

use crate::crawl::options;
use crate::meter::{Span, resident};

pub(crate) fn measure(urls: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut options = options(urls * 10 / 3);
    options.politeness.robots = false;
    options.politeness.host_delay = Duration::ZERO;
    options.politeness.connections_per_host = 8;
    let now = Timestamp::from_micros(1 << 50);
    let mut frontier = Frontier::open(directory.path(), &options, now).expect("a new job");
    let merged = frontier.gate().seen().statistics().merged;
    let seen = merged.bytes + merged.bytes_bookkeeping;
    println!(
        "{:>12} {:>10} {:>14} {:>14} {:>9} {:>10}",
        "waiting", "ns a URL", "queue B/URL", "journal MiB", "MiB", "B/URL"
    );
    let (base, mut number) = (resident(), 0);
    for tenth in 1..=10 {
        let began = Span::begin();
        let before = frontier.gate().admitted();
        while frontier.statistics().queued < urls / 10 * tenth {
            grow(&mut frontier, &mut number, now);
        }
        let spent = began.end().cpu.as_nanos() as f64 / (frontier.gate().admitted() - before) as f64;
        let statistics = frontier.statistics();
        let queued = statistics.queued as f64;
        let gained = resident().saturating_sub(base);
        println!(
            "{:>12} {spent:>10.0} {:>14.2} {:>14.1} {:>9} {:>10.2}",
            statistics.queued,
            statistics.queue_memory as f64 / queued,
            statistics.journal_memory as f64 / f64::from(1 << 20),
            gained >> 20,
            gained as f64 / queued,
        );
    }
    println!(
        "of the process's memory, up to {} MiB are the seen set's; on disk: {} MiB",
        seen >> 20,
        disk(directory.path()) >> 20
    );
}

/// Sixty-four URLs are found, and six are fetched. The filter may take some for seen: each has a number that was never used.
fn grow(frontier: &mut Frontier<JobJournal>, number: &mut u64, now: Timestamp) {
    for number in *number..*number + 64 {
        let text = format!("https://hot.example/catalogue/books/fiction/page-{number:010}.html?lang=en");
        let url = frontier.gate().canonicalizer().canonicalize(&text).expect("a URL");
        let mut found = Found::seed(url);
        (found.depth, found.via) = (1 + (number % 3) as u32, Via::Link);
        if let Admission::Admitted(admitted) = frontier.gate().admit(found) {
            frontier.submit(admitted, now).expect("room");
        }
    }
    *number += 64;
    for _ in 0..6 {
        let Next::Fetch(lease) = frontier.next(now).expect("room") else { panic!("a URL waits") };
        let outcome = Outcome::response(&lease, 200, b"");
        frontier.complete(lease, outcome, now).expect("room");
    }
    frontier.flush(now).expect("room");
}

/// Bytes of the files in a directory and below.
pub(crate) fn disk(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { disk(&path) } else { path.metadata().map_or(0, |meta| meta.len()) }).sum()
}
