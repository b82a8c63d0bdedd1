//! The journal under a crawl's load: admissions of 85-byte URLs over 200,000 skewed hosts, batches of 512, and for every fourth
//! the oldest entry of some host read back.
//!
//! `cargo bench --no-default-features --bench journal` appends two million; `JOURNAL_BENCH_URLS=2e7` says otherwise. URLs and the
//! order of reading are made, and the hosts' queues kept, outside the clock. The speed over the last tenth stands beside
//! that over the first: it must not slow down as it grows. A journal on disk is opened again at the end, and replayed.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes that a machine can hold")]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crawler::frontier::{Arena, Entry, Journal, Position, Timestamp, Via};
use crawler::job::journal::{Disk, FileJournal, JournalOptions, SyncPolicy};

const HOSTS: usize = 200_000;
const BATCH: usize = 512;

fn main() {
    let urls = std::env::var("JOURNAL_BENCH_URLS").unwrap_or_else(|_| "2e6".to_owned());
    let urls = urls.parse::<f64>().expect("JOURNAL_BENCH_URLS is a number") as usize;
    run("memory", urls, Arena::default());
    for (name, sync) in [
        ("disk, never synced", SyncPolicy::Never),
        ("disk, synced each second", SyncPolicy::Interval(Duration::from_secs(1))),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut options = JournalOptions::default();
        options.sync = sync;
        let open = |options| {
            let disk = Disk::at(directory.path()).expect("a directory");
            FileJournal::open(disk, 1, options, Position::from_u64(0), |_, _| {}).expect("a journal")
        };
        let (journal, _) = open(&options);
        run(name, urls, journal);
        let clock = Instant::now();
        let (_, found) = open(&options);
        let seconds = clock.elapsed().as_secs_f64();
        println!("{:<28}{:>10.0} records/s replayed", "", found.records as f64 / seconds);
    }
}

fn run(name: &str, urls: usize, mut journal: impl Journal) {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut queues = vec![VecDeque::new(); HOSTS];
    let (mut appending, mut reading, mut reads) = (Vec::new(), Duration::ZERO, 0_u32);
    let began = Instant::now();
    let mut batch: Vec<(usize, String)> = Vec::with_capacity(BATCH);
    let mut wanted: Vec<Position> = Vec::with_capacity(BATCH / 4);
    for first in (0..urls).step_by(BATCH) {
        batch.clear();
        batch.extend((first..urls.min(first + BATCH)).map(|number| {
            let host = skewed(&mut random);
            let path = format!("https://www.host-{host:06}.example/catalogue/{number:09}/");
            (host, format!("{path:x<85}"))
        }));
        let mut positions = Vec::with_capacity(BATCH);
        let clock = Instant::now();
        for (_, wire) in &batch {
            let entry =
                Entry { wire, depth: 3, priority: 3, via: Via::Link, redirects: 0, referrer: None, replaces: None };
            positions.push(journal.append(entry).expect("room"));
        }
        let now = Timestamp::from_micros(began.elapsed().as_micros() as u64);
        journal.flush(now).expect("room");
        appending.push(clock.elapsed());

        queues_push(&mut queues, &batch, &positions);
        wanted.clear();
        while wanted.len() < batch.len() / 4 {
            wanted.extend(queues[skewed(&mut random)].pop_front());
        }
        let clock = Instant::now();
        for position in &wanted {
            assert_eq!(journal.read(*position).expect("an entry").wire.len(), 85);
        }
        reading += clock.elapsed();
        reads += wanted.len() as u32;
    }
    let total: Duration = appending.iter().sum();
    let tenth = appending.len().div_ceil(10);
    let first: Duration = appending[..tenth].iter().sum();
    let last: Duration = appending[appending.len() - tenth..].iter().sum();
    println!(
        "{name:<28}{:>10.0} admissions/s, with reads {:>8.0}; last tenth {:.2} of the first; {:>5.0} ns a read; {:.1} MB held",
        urls as f64 / total.as_secs_f64(),
        urls as f64 / (total + reading).as_secs_f64(),
        first.as_secs_f64() / last.as_secs_f64(),
        reading.as_nanos() as f64 / f64::from(reads.max(1)),
        journal.memory() as f64 / 1e6,
    );
}

fn queues_push(queues: &mut [VecDeque<Position>], batch: &[(usize, String)], positions: &[Position]) {
    for ((host, _), position) in batch.iter().zip(positions) {
        queues[*host].push_back(*position);
    }
}

/// A host; of rank r with a likelihood of about 1/r.
fn skewed(random: &mut u64) -> usize {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let unit = (*random >> 11) as f64 / (1_u64 << 53) as f64;
    ((HOSTS as f64).powf(unit) as usize).min(HOSTS - 1)
}
