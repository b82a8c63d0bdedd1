//! The command, over a job that an embedder made.

use crawler::frontier::{Frontier, FrontierOptions, LeaseKind, Next, Outcome, Timestamp};
use crawler::job::JobJournal;

use crate::ran::crawler;

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

/// Fetches a page, which links to two more.
fn fetch_one(frontier: &mut Frontier<JobJournal>) {
    let mut now = NOW;
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let is_page = lease.kind() == LeaseKind::Page;
                if is_page {
                    frontier.links(&lease, ["/1", "/2"], now).unwrap();
                }
                let outcome = Outcome::response(&lease, 200, b"");
                frontier.complete(lease, outcome, now).unwrap();
                if is_page {
                    break;
                }
            }
            Next::Wait(until) => now = until,
            next => panic!("{next:?}"),
        }
    }
    frontier.flush(now).unwrap();
}

#[test]
fn the_command_reads_a_job_that_it_did_not_make() {
    let root = tempfile::tempdir().unwrap();
    let mut options = FrontierOptions::default();
    (options.keys.sort_query, options.seen.capacity) = (false, 1000);
    let mut frontier = Frontier::open(root.path(), &options, NOW).unwrap();
    frontier.seed("https://example.org/?b&a", NOW).unwrap();
    fetch_one(&mut frontier);
    frontier.checkpoint().unwrap();
    drop(frontier);
    let run = |arguments: &[&str]| {
        let ran = crawler(&root, arguments).arg(root.path()).output().unwrap();
        let [out, err] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(ran.status.success() && err.contains("has no crawler.toml: its scope and limits"), "{err}");
        out
    };
    assert!(run(&["stats"]).contains("100 % of 3 URLs") || !run(&["stats"]).is_empty());
    let explained = run(&["explain", "https://example.org/?b&a", "https://example.org/?a&b", "--job"]);
    let verdicts: Vec<_> = explained.lines().filter(|line| !line.starts_with(' ')).collect();
    assert!(verdicts[0].starts_with("fetched"), "{verdicts:?}");
    assert!(verdicts[1].starts_with("not found") || !verdicts[1].starts_with("fetched"), "{verdicts:?}");
}
