//! Batches and a real `SIGKILL`: a process that admits batches is killed at any moment, and afterwards each batch is there as a whole or not
//! at all. The process is this test itself, called again.
//!
//! `CRASH_ROUNDS=500 cargo test -p crawler-frontier --test job batches::` kills so often.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::{self, sleep};
use std::time::Duration;

use crawler_frontier::frontier::{Frontier, FrontierOptions, Timestamp};
use crawler_frontier::gate::{Found, Refusal, ScopeKind};
use crawler_frontier::job::checkpoint::JobJournal;
use crawler_frontier::seen::Layout;

use crate::random::Random;

/// Where the process that is killed finds its directory, and the number of its first batch.
const DIRECTORY: &str = "BATCHES_DIRECTORY";
const FIRST: &str = "BATCHES_FIRST";
const NOW: Timestamp = Timestamp::from_micros(1_126_000_000_000_000);

/// The seen set is exact: a filter takes a URL for seen once in a while.
fn open(directory: &Path) -> Frontier<JobJournal> {
    let mut options = FrontierOptions::default();
    (options.politeness.robots, options.scope.kind) = (false, ScopeKind::Any);
    options.seen.layout = Layout::Exact;
    Frontier::open(directory, &options, NOW).expect("a job")
}

/// The requests of a batch: more than the journal gathers before it writes, and less than 1 MiB.
fn batch(frontier: &Frontier<JobJournal>, number: u64) -> Vec<Found> {
    let canonicalizer = frontier.gate().canonicalizer();
    let url = |url| format!("https://h{}.example/batches/{number}/{url}/{}", url % 5, "x".repeat(40));
    (0..4000 + number * 997 % 4000)
        .map(|number| Found::seed(canonicalizer.canonicalize(&url(number)).unwrap()))
        .collect()
}

/// Admits batches, and prints how many are written, until it is killed.
fn admit(directory: &Path, first: u64) {
    let mut frontier = open(directory);
    for number in first.. {
        let found = batch(&frontier, number);
        assert!(frontier.admit_batch(found, NOW).unwrap().iter().all(Option::is_none));
        frontier.flush(NOW).unwrap();
        println!("\n{}", number + 1);
        std::io::stdout().flush().unwrap();
    }
}

fn start(directory: &Path, first: u64) -> (Child, BufReader<ChildStdout>) {
    let name = thread::current().name().expect("the test's").to_owned();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", &name, "--nocapture", "--test-threads=1"]);
    command.env(DIRECTORY, directory).env(FIRST, first.to_string()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

/// The last of the first `most` numbers in these lines.
fn last_number(lines: &mut BufReader<ChildStdout>, most: usize) -> Option<u64> {
    lines.lines().map_while(Result::ok).filter_map(|line| line.parse().ok()).take(most).last()
}

#[test]
fn a_batch_is_whole_or_absent_after_a_kill() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        return admit(Path::new(&directory), env::var(FIRST).unwrap().parse().unwrap());
    }
    let rounds: u64 = env::var("CRASH_ROUNDS").map_or(12, |rounds| rounds.parse().unwrap());
    let mut random = Random(0xba7c);
    let (mut directory, mut written, mut cuts) = (tempfile::tempdir().unwrap(), 0, 0);
    for round in 0..rounds {
        if round % 4 == 0 {
            (directory, written) = (tempfile::tempdir().unwrap(), 0);
        }
        let (mut child, mut lines) = start(directory.path(), written);
        let first = last_number(&mut lines, 1).expect("it admits until it is killed");
        sleep(Duration::from_micros(random.below(30_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        written = last_number(&mut lines, usize::MAX).unwrap_or(first);

        let mut frontier = open(directory.path());
        cuts += u64::from(frontier.opening().recovery.cut.is_some());
        // The last batch that was written; the one that may have been, if its number was not printed; and one that was not begun.
        let mut is_there = [true, false, false];
        for (is_there, number) in is_there.iter_mut().zip(written - 1..) {
            let found = batch(&frontier, number);
            let seen = |refusal: &Option<Refusal>| *refusal == Some(Refusal::Seen);
            let answers = frontier.admit_batch(found, NOW).unwrap();
            let there = answers.iter().filter(|answer| seen(answer)).count();
            assert!(there == 0 || there == answers.len(), "{there} of {} in batch {number}", answers.len());
            assert!(there > 0 || !*is_there, "batch {number} was flushed");
            *is_there = there > 0;
        }
        assert!(!is_there[2]);
        // Batches of this process are written when it ends or before: the next one goes on after them.
        frontier.flush(NOW).unwrap();
        written += 2;
    }
    eprintln!("{rounds} kills, {cuts} torn ends: no batch was torn");
}
