//! The journal under a crawl's load: admissions of 85-byte URLs over 200,000 skewed hosts, in batches of 512. For every fourth admission,
//! the oldest entry of some host is read back.
//!
//! `cargo bench --no-default-features --bench journal` admits two million, or as many as `JOURNAL_BENCH_URLS=2e7` says. URLs, the order of
//! reading and the hosts' queues are made outside the measured time. The speed over the last tenth is printed beside that over the first:
//! the journal must not slow down as it grows. A crawl stands still for at most the longest batch. A journal on disk is opened again at the
//! end, and replayed.
//!
//! `RUSTFLAGS='--cfg journal_peers'` adds fjall, redb and `SQLite`, up to four million URLs, and the journal's speed as a multiple of
//! theirs. They compile for minutes, so no other build has them. `taskset -c 0` before the command keeps all threads on one core.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes that a machine can hold")]

mod bare;
#[cfg(journal_peers)]
mod peers;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use self::bare::BareJournal;
use crawler::frontier::Timestamp;
use crawler::gate::Position;
use crawler::job::journal::{JournalOptions, SyncPolicy};

const HOSTS: usize = 200_000;
const BATCH: usize = 512;
const URL_BYTES: usize = 85;

/// What keeps URLs until their host's turn comes.
trait Store {
    /// Admits a batch of hosts and URLs, as one act, and adds what each is found by.
    fn admit(&mut self, batch: &[(usize, String)], now: Timestamp, tickets: &mut Vec<u64>);

    /// Takes URLs out, by host and ticket; their bytes together.
    fn take(&mut self, wanted: &[(usize, u64)]) -> usize;

    /// Bytes of memory held, where it tells.
    fn memory(&self) -> Option<usize> {
        None
    }
}

/// The queues hold positions, so what was taken just stays.
impl Store for BareJournal {
    fn admit(&mut self, batch: &[(usize, String)], now: Timestamp, tickets: &mut Vec<u64>) {
        tickets.extend(batch.iter().map(|(_, wire)| self.append(wire).to_u64()));
        self.flush(now);
    }

    fn take(&mut self, wanted: &[(usize, u64)]) -> usize {
        let read = wanted.iter().map(|(_, ticket)| Position::from_u64(*ticket));
        read.map(|position| self.read(position).len()).sum()
    }

    fn memory(&self) -> Option<usize> {
        Some(self.memory())
    }
}

fn main() {
    let urls = std::env::var("JOURNAL_BENCH_URLS").unwrap_or_else(|_| "2e6".to_owned());
    let urls = urls.parse::<f64>().expect("JOURNAL_BENCH_URLS is a number") as usize;
    run("memory", urls, &mut BareJournal::in_memory());
    let mut ours = 0.0;
    for (name, sync) in [
        ("disk, never synced", SyncPolicy::Never),
        ("disk, synced each second", SyncPolicy::Interval(Duration::from_secs(1))),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let mut options = JournalOptions::default();
        options.sync = sync;
        ours = run(name, urls, &mut BareJournal::on_disk(directory.path(), &options).0);
        let clock = Instant::now();
        let (_, records) = BareJournal::on_disk(directory.path(), &options);
        let seconds = clock.elapsed().as_secs_f64();
        println!("{:<28}{:>10.0} records/s replayed", "", records as f64 / seconds);
    }
    compare(urls, ours);
}

#[cfg(not(journal_peers))]
fn compare(_urls: usize, _ours: f64) {}

/// Each peer syncs each second, too.
#[cfg(journal_peers)]
fn compare(urls: usize, ours: f64) {
    use peers::{Fjall, Order, Redb, Sqlite};

    type Open = fn(&std::path::Path, Order) -> Box<dyn Store>;
    let peers: [(&str, Open); 3] = [
        ("fjall", |path, order| Box::new(Fjall::open(path, order))),
        ("redb", |path, order| Box::new(Redb::open(path, order))),
        ("SQLite", |path, order| Box::new(Sqlite::open(path, order))),
    ];
    let urls = urls.min(4_000_000);
    println!("peers, to {urls} URLs:");
    for (name, open) in peers {
        for order in [Order::Host, Order::Admission] {
            let directory = tempfile::tempdir().expect("a directory");
            let name = format!("{name}, by {order:?}").to_lowercase();
            let theirs = run(&name, urls, &mut *open(directory.path(), order));
            println!(
                "{:<28}{:>10.1} times as fast with reads: the journal on disk, synced each second",
                "",
                ours / theirs
            );
        }
    }
}

/// Admissions a second, with reads.
fn run(name: &str, urls: usize, store: &mut dyn Store) -> f64 {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut queues = vec![VecDeque::new(); HOSTS];
    // For each batch: admitted in, taken from in.
    let mut times: Vec<(Duration, Duration)> = Vec::new();
    let mut reads = 0;
    let began = Instant::now();
    let mut batch: Vec<(usize, String)> = Vec::with_capacity(BATCH);
    let mut tickets = Vec::with_capacity(BATCH);
    let mut wanted: Vec<(usize, u64)> = Vec::with_capacity(BATCH / 4);
    for first in (0..urls).step_by(BATCH) {
        batch.clear();
        batch.extend((first..urls.min(first + BATCH)).map(|number| {
            let host = skewed(&mut random);
            let path = format!("https://www.host-{host:06}.example/catalogue/{number:09}/");
            (host, format!("{path:x<URL_BYTES$}"))
        }));
        tickets.clear();
        let now = Timestamp::from_micros(began.elapsed().as_micros() as u64);
        let clock = Instant::now();
        store.admit(&batch, now, &mut tickets);
        let admitted = clock.elapsed();

        for ((host, _), ticket) in batch.iter().zip(&tickets) {
            queues[*host].push_back(*ticket);
        }
        wanted.clear();
        while wanted.len() < batch.len() / 4 {
            let host = skewed(&mut random);
            wanted.extend(queues[host].pop_front().map(|ticket| (host, ticket)));
        }
        let clock = Instant::now();
        let bytes = store.take(&wanted);
        times.push((admitted, clock.elapsed()));
        assert_eq!(bytes, wanted.len() * URL_BYTES);
        reads += wanted.len();
    }
    let admitting = |times: &[(Duration, Duration)]| times.iter().map(|(admitted, _)| *admitted).sum::<Duration>();
    let taking = |times: &[(Duration, Duration)]| times.iter().map(|(_, taken)| *taken).sum::<Duration>();
    let both = |times: &[(Duration, Duration)]| admitting(times) + taking(times);
    let tenth = times.len().div_ceil(10);
    let (first, last) = (&times[..tenth], &times[times.len() - tenth..]);
    let longest = times.iter().map(|(admitted, _)| *admitted).max().unwrap_or_default();
    let rate = urls as f64 / both(&times).as_secs_f64();
    println!(
        "{name:<28}{:>10.0} admissions/s, last tenth {:.2} of the first; with reads {rate:>8.0}, {:.2}; {:>5.0} ns a read; longest \
         batch {:>3.0} ms{}",
        urls as f64 / admitting(&times).as_secs_f64(),
        admitting(first).as_secs_f64() / admitting(last).as_secs_f64(),
        both(first).as_secs_f64() / both(last).as_secs_f64(),
        taking(&times).as_nanos() as f64 / reads.max(1) as f64,
        longest.as_secs_f64() * 1e3,
        store.memory().map_or_else(String::new, |bytes| format!("; {:.1} MB held", bytes as f64 / 1e6)),
    );
    rate
}

/// A host; of rank r with a likelihood of about 1/r.
fn skewed(random: &mut u64) -> usize {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let unit = (*random >> 11) as f64 / (1_u64 << 53) as f64;
    ((HOSTS as f64).powf(unit) as usize).min(HOSTS - 1)
}
