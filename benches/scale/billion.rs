//! A billion URLs that are known, a tenth of which wait, over a kill: memory, disk, leases, and the way back.
//!
//! `SCALE_BILLION=1e9` is the number of URLs. Nine in ten are known from before: the seen set was shown them. The others are found now, are
//! canonicalized, go through the gate and the journal, and wait: 38 in 100 on one host, the others on a host for each thousand URLs. A
//! checkpoint is written, and a hundredth of those that wait, at most a million, are leased and completed. The robots rules are off, since
//! they would only be leased in between.
//!
//! A child process does that, and goes on with leases until this one kills it with SIGKILL. A second child opens the directory, and checks
//! that each URL that was admitted waits or is completed, and that the seen set has all that it was shown, by samples. It goes on with
//! leases.
//!
//! The directory is in `TMPDIR`, and is removed at the end. At 1e9 this takes 13 GB of disk, 4 GB of memory and
//! three minutes of CPU.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crawler::address::{Fingerprint, FingerprintKey};
use crawler::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
use crawler::gate::{Admission, Found};
use crawler::job::JobJournal;

use crate::hot::disk;
use crate::meter::{Span, resident};

/// The directory of the child that fills, and of the one that resumes.
const FILL: &str = "SCALE_BILLION_FILL";
const RESUME: &str = "SCALE_BILLION_RESUME";
/// The line with which a child says that all is measured: URLs admitted and completed so far.
const READY: &str = "ready ";
/// The line that it prints from time to time while it goes on.
const GOES_ON: &str = "goes on";

/// URLs of a batch, as the links of a page.
const LINKS: u64 = 64;
const TICK: Duration = Duration::from_micros(100);

pub(crate) fn measure(urls: u64) {
    if let Some(directory) = std::env::var_os(FILL) {
        return fill(urls, directory.as_ref());
    }
    if let Some(directory) = std::env::var_os(RESUME) {
        return resume(urls, directory.as_ref());
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mut filling = Running::start(FILL, directory.path());
    let counts = filling.until(READY);
    // It is amid leases: some were completed since, and some are out.
    for _ in 0..3 {
        filling.until(GOES_ON);
    }
    filling.child.kill().expect("a child");
    filling.child.wait().expect("a child");
    println!("killed by SIGKILL; on disk: {} MB", disk(directory.path()) / 1_000_000);
    let mut resuming = Running::start(RESUME, directory.path());
    let counts_after = resuming.until(READY);
    assert!(resuming.child.wait().expect("a child").success());
    let [admitted, completed] = numbers(&counts);
    let [admitted_after, completed_after] = numbers(&counts_after);
    assert_eq!(admitted_after, admitted, "of those admitted");
    assert!(completed_after > completed, "{completed_after} completed, {completed} before the kill");
    println!("all {admitted} that were admitted are there");
}

/// A child, and what it prints.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn start(stage: &str, directory: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("a program"));
        let mut child = command.env(stage, directory).stdout(Stdio::piped()).spawn().expect("a child");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    /// Prints its lines until one that begins so, and returns the rest of that one.
    fn until(&mut self, begins: &str) -> String {
        for line in self.lines.by_ref() {
            let line = line.expect("a text");
            if let Some(rest) = line.strip_prefix(begins) {
                return rest.to_owned();
            }
            println!("{line}");
        }
        panic!("the child ended before it said {begins:?}");
    }
}

fn numbers(text: &str) -> [u64; 2] {
    let mut numbers = text.split(' ').map(|number| number.parse().expect("a number"));
    [(); 2].map(|()| numbers.next().expect("two numbers"))
}

fn options(urls: u64) -> FrontierOptions {
    let mut options = crate::crawl::options(urls);
    options.seen.capacity = urls;
    options.politeness.robots = false;
    options.fingerprint_key = Some(FingerprintKey::from_u64(7));
    options
}

/// What was known before, by its number.
fn known(number: u64) -> Fingerprint {
    FingerprintKey::from_u64(77).fingerprint_bytes(&number.to_le_bytes())
}

/// One that is found now.
fn found(number: u64, urls: u64) -> String {
    let host =
        if number % 100 < 38 { 0 } else { 1 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (urls / 1000).max(1) };
    format!("https://www.host-{host:07}.example/catalogue/books/fiction/page-{number:010}.html?lang=en")
}

fn fill(urls: u64, directory: &Path) {
    let (clock, mut now) = (Instant::now(), Timestamp::from_micros(1 << 50));
    let mut frontier = Frontier::open(directory, &options(urls), now).expect("a new job");
    let (of_known, waiting) = (urls / 10 * 9, urls / 10);

    let began = Span::begin();
    let (mut batch, mut sightings, mut taken) = (Vec::new(), Vec::new(), 0);
    for start in (0..of_known).step_by(4096) {
        batch.clear();
        batch.extend((start..of_known.min(start + 4096)).map(known));
        frontier.gate().seen().insert_batch(&batch, &mut sightings);
        taken += sightings.iter().filter(|&&sighting| sighting == crawler::seen::Sighting::Seen).count();
    }
    let took = began.end();
    println!("{of_known} known: {:.0} ns of CPU each, hashed; {taken} were taken for seen", each(took.cpu, of_known));

    let (base, began) = (resident(), Span::begin());
    for start in (0..waiting).step_by(fits(LINKS)) {
        let url = |number| frontier.gate().canonicalizer().canonicalize(&found(number, urls)).expect("a URL");
        let batch = (start..waiting.min(start + LINKS)).map(|number| Found::seed(url(number))).collect();
        for admission in frontier.gate().admit_batch(batch) {
            if let Admission::Admitted(admitted) = admission {
                frontier.submit(admitted, now).expect("room");
            }
        }
        if (start / LINKS).is_multiple_of(64) {
            frontier.flush(Timestamp::default() + clock.elapsed()).expect("room");
        }
    }
    let took = began.end();
    println!("{waiting} found: {:.0} ns of CPU each, from text to queue and journal", each(took.cpu, waiting));
    tell_memory(&frontier, base);

    let began = Span::begin();
    let bytes = frontier.checkpoint().expect("room").bytes;
    let took = began.end();
    let seen = frontier.gate().seen().bytes();
    println!(
        "checkpoint: {:.1} s [{:.1}], {} MB and {} MB of seen set",
        took.cpu.as_secs_f64(),
        took.wall.as_secs_f64(),
        bytes / 1_000_000,
        seen / 1_000_000
    );
    lease(&mut frontier, (waiting / 100).clamp(1, 1_000_000), &mut now, clock);
    say_ready(&frontier);
    loop {
        lease_some(&mut frontier, (waiting / 10_000).max(100), &mut now, clock, &mut Vec::new());
        println!("{GOES_ON}");
    }
}

fn resume(urls: u64, directory: &Path) {
    let (clock, mut now) = (Instant::now(), Timestamp::from_micros(1 << 51));
    let mut frontier = Frontier::open(directory, &options(urls), now).expect("what was written is there");
    let opened = clock.elapsed();
    let records = frontier.opening().recovery.records;
    lease_some(&mut frontier, 1, &mut now, clock, &mut Vec::new());
    println!(
        "opened in {:.1} s, {records} records of the journal replayed; first lease after {:.1} s",
        opened.as_secs_f64(),
        clock.elapsed().as_secs_f64()
    );
    let statistics = frontier.statistics();
    let admitted = frontier.gate().admitted();
    assert_eq!(statistics.completed + statistics.queued, admitted, "each is completed, or waits");
    let seen = frontier.gate().seen();
    let samples = |all: u64| (0..all).step_by(fits((all / 1_000_000).max(1)));
    assert!(samples(urls / 10 * 9).all(|number| seen.contains(known(number))), "one that was known is not");
    for number in samples(urls / 10) {
        let url = frontier.gate().canonicalizer().canonicalize(&found(number, urls)).expect("a URL");
        assert!(seen.contains(seen.options().key.fingerprint(url.key())), "one that was found is not known");
    }
    tell_memory(&frontier, 0);
    lease(&mut frontier, (urls / 1000).clamp(1, 1_000_000), &mut now, clock);
    say_ready(&frontier);
}

fn say_ready(frontier: &Frontier<JobJournal>) {
    println!("{READY}{} {}", frontier.gate().admitted(), frontier.statistics().completed);
}

/// The memory of the process, and, beyond that of `base`, of a URL that waits.
fn tell_memory(frontier: &Frontier<JobJournal>, base: u64) {
    let (statistics, memory) = (frontier.statistics(), resident());
    println!(
        "memory: {:.2} GiB, of which {:.2} are the seen set's; {} wait on {} hosts, at {:.2} bytes each",
        memory as f64 / f64::from(1 << 30),
        frontier.gate().seen().bytes() as f64 / f64::from(1 << 30),
        statistics.queued,
        statistics.hosts,
        if base > 0 { memory.saturating_sub(base) } else { statistics.memory } as f64 / statistics.queued as f64,
    );
}

/// Leases this many and completes them, and says how long each lease took.
fn lease(frontier: &mut Frontier<JobJournal>, count: u64, now: &mut Timestamp, clock: Instant) {
    let mut took = Vec::with_capacity(fits(count));
    lease_some(frontier, count, now, clock, &mut took);
    took.sort_unstable();
    let micros = |share: f64| took[share_of(took.len(), share)].as_nanos() as f64 / 1000.0;
    println!(
        "{count} leased: median {:.1} µs, p99 {:.1}, p99.9 {:.1}, longest {:.0}",
        micros(0.5),
        micros(0.99),
        micros(0.999),
        micros(1.0)
    );
}

fn lease_some(
    frontier: &mut Frontier<JobJournal>,
    count: u64,
    now: &mut Timestamp,
    clock: Instant,
    took: &mut Vec<Duration>,
) {
    let mut leased = 0;
    while leased < count {
        *now = *now + TICK;
        let began = Instant::now();
        match frontier.next(*now).expect("a journal") {
            Next::Fetch(lease) => {
                took.push(began.elapsed());
                let outcome = Outcome::response(&lease, 200, b"");
                frontier.complete(lease, outcome, *now).expect("room");
                leased += 1;
                if leased.is_multiple_of(256) {
                    frontier.flush(Timestamp::default() + clock.elapsed()).expect("room");
                }
            }
            Next::Wait(until) => *now = (*now).max(until),
            Next::GiveUp(_) | Next::Busy | Next::Drained => panic!("one waits"),
        }
    }
}

fn each(time: Duration, count: u64) -> f64 {
    time.as_nanos() as f64 / count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the length")]
fn share_of(length: usize, share: f64) -> usize {
    ((length - 1) as f64 * share) as usize
}

fn fits(number: u64) -> usize {
    usize::try_from(number).expect("fits in memory")
}
