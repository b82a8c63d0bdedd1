//! Named queues on disk: over restarts, checkpoints and evictions, with leases out, and after a repair.

use std::path::Path;
use std::time::Duration;

use crawler_frontier::address::HostKey;
use crawler_frontier::driver::Receipt;
use crawler_frontier::driver::repair::{LineFormat, PageLine, look};
use crawler_frontier::frontier::{
    Failure, Frontier, FrontierOptions, HostRule, Href, Lease, LeaseKind, LeaseToken, Next, Outcome, Timestamp,
};
use crawler_frontier::gate::{Refusal, ScopeKind, Via};
use crawler_frontier::job::{Job, JobJournal, OpenOptions, explain};

const SECOND: Duration = Duration::from_secs(1);
const NOW: Timestamp = Timestamp::from_micros(1_126_000_000_000_000);

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    let slow = HostRule { host_delay: Some(5 * SECOND), ..HostRule::default() };
    options.rules.hosts.insert("@slow".to_owned(), slow);
    options
}

fn open(directory: &Path, options: &FrontierOptions, now: Timestamp) -> Frontier<JobJournal> {
    let mut open = OpenOptions::default();
    open.hosts_in_memory = 0;
    Frontier::open_with(directory, options, &open, |_, _| true, now).unwrap()
}

fn seed(frontier: &mut Frontier<JobJournal>, queue: &str, url: &str, now: Timestamp) {
    assert_eq!(frontier.seed(Href::from(url).queue(queue).unwrap(), now).unwrap(), None);
}

fn lease(frontier: &mut Frontier<JobJournal>, now: &mut Timestamp) -> Lease {
    loop {
        match frontier.next(*now).unwrap() {
            Next::Fetch(lease) => return lease,
            Next::Wait(until) => *now = (*now).max(until),
            next => panic!("a lease, not {next:?}"),
        }
    }
}

fn named(lease: &Lease) -> String {
    format!("{} {}", lease.queue().unwrap_or("-"), lease.url().trim_start_matches("https://"))
}

const RULES: &[u8] = b"User-agent: *\nDisallow: /no\n";

/// Fetches the next page, or robots.txt, and says which it was.
fn fetch(frontier: &mut Frontier<JobJournal>, now: &mut Timestamp) -> String {
    let lease = lease(frontier, now);
    let name = named(&lease);
    let outcome = Outcome::response(&lease, 200, if lease.kind() == LeaseKind::Robots { RULES } else { b"" });
    frontier.complete(lease, outcome, *now).unwrap();
    name
}

#[test]
fn a_queue_goes_on_after_a_kill() {
    for has_checkpoint in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let mut now = NOW;
        let mut frontier = open(directory.path(), &options(), now);
        for url in ["https://a.example/1", "https://b.example/2", "https://a.example/no", "https://a.example/3"] {
            seed(&mut frontier, "slow", url, now);
        }
        frontier.schedule(Href::from("https://c.example/4").queue("other").unwrap(), now + 100 * SECOND).unwrap();
        assert_eq!(fetch(&mut frontier, &mut now), "slow a.example/robots.txt");
        assert_eq!(fetch(&mut frontier, &mut now), "slow a.example/1");
        frontier.flush(now).unwrap();
        if has_checkpoint {
            frontier.checkpoint().unwrap();
        }
        drop(frontier);

        let mut frontier = open(directory.path(), &options(), now);
        let slow = HostKey::of_queue("slow").unwrap();
        let queue = frontier.queue_statistics(&slow, now).unwrap().expect("it is known");
        assert_eq!((queue.due, queue.waiting, queue.requests), (now + 5 * SECOND, 3, 2));
        let mut asked = Vec::new();
        while frontier.statistics().queued + frontier.statistics().scheduled > 0 {
            asked.push(fetch(&mut frontier, &mut now));
        }
        let expected = ["slow b.example/robots.txt", "slow b.example/2", "slow a.example/3"];
        assert_eq!(asked[..3], expected, "the rules of a are known still");
        assert_eq!(asked[3..], ["other c.example/robots.txt", "other c.example/4"]);
        assert_eq!(frontier.gate().refusals().of(Refusal::Robots), 1);
    }
}

#[test]
fn a_queue_that_was_evicted_comes_back_with_its_clock_and_its_failures() {
    let directory = tempfile::tempdir().unwrap();
    let (mut options, mut now) = (options(), NOW);
    options.politeness.host_failures = 1;
    let mut frontier = open(directory.path(), &options, now);
    seed(&mut frontier, "slow", "https://a.example/1", now);
    seed(&mut frontier, "gone", "https://a.example/2", now);
    for _ in 0..2 {
        let robots = lease(&mut frontier, &mut now);
        let outcome = match robots.queue() {
            Some("gone") => Outcome::Failed(Failure::Connect.into()),
            _ => Outcome::response(&robots, 200, RULES),
        };
        frontier.complete(robots, outcome, now).unwrap();
    }
    let Next::GiveUp(page) = frontier.next(now).unwrap() else { panic!("its queue is retired") };
    assert_eq!(named(&page), "gone a.example/2");
    frontier.complete(page, Outcome::GivenUp, now).unwrap();
    assert_eq!(fetch(&mut frontier, &mut now), "slow a.example/1");
    frontier.checkpoint().unwrap();
    assert_eq!((frontier.statistics().hosts, frontier.statistics().hosts_in_memory), (3, 0), "all are evicted");
    for is_again in [false, true] {
        if is_again {
            drop(frontier);
            frontier = open(directory.path(), &options, now);
            assert_eq!(frontier.statistics().retired_hosts, 1);
        }
        let [slow, gone] = ["slow", "gone"].map(|name| {
            frontier.queue_statistics(&HostKey::of_queue(name).unwrap(), now).unwrap().expect("it is known")
        });
        assert_eq!((slow.due, slow.delay, slow.is_retired), (now + 5 * SECOND, 5 * SECOND, false));
        assert!(gone.is_retired && gone.failures == 1);
    }
    // The queue and the rules of its page's origin come back from the disk.
    seed(&mut frontier, "slow", "https://a.example/no", now);
    seed(&mut frontier, "slow", "https://a.example/3", now);
    let Next::Wait(until) = frontier.next(now).unwrap() else { panic!("the queue rests") };
    assert_eq!(until, now + 5 * SECOND);
    assert_eq!(fetch(&mut frontier, &mut now), "slow a.example/3");
    assert_eq!(frontier.ask_again(now).unwrap(), 1);
    assert_eq!(fetch(&mut frontier, &mut now), "gone a.example/2");
}

#[test]
fn leases_of_queues_survive_a_kill_by_their_tokens() {
    for has_checkpoint in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (mut options, mut now) = (options(), NOW);
        options.lease_timeout = Some(60 * SECOND);
        let mut frontier = open(directory.path(), &options, now);
        seed(&mut frontier, "q", "https://a.example/1", now);
        seed(&mut frontier, "r", "https://b.example/2", now);
        assert_eq!(fetch(&mut frontier, &mut now), "q a.example/robots.txt");
        now = now + SECOND;
        let out: Vec<LeaseToken> =
            (0..2).map(|_| lease(&mut frontier, &mut now).token().expect("leases end")).collect();
        frontier.flush(now).unwrap();
        if has_checkpoint {
            frontier.checkpoint().unwrap();
        }
        drop(frontier);

        let mut frontier = open(directory.path(), &options, now);
        assert_eq!(frontier.statistics().leased, 2);
        let leases: Vec<Lease> = out.iter().map(|token| frontier.redeem(*token).unwrap()).collect();
        let mut names: Vec<_> = leases.iter().map(|lease| (named(lease), lease.origin().to_owned())).collect();
        names.sort();
        let expected = [("q a.example/1", "https://a.example"), ("r b.example/robots.txt", "https://b.example")];
        assert_eq!(names, expected.map(|(name, origin)| (name.to_owned(), origin.to_owned())));
        for lease in leases {
            let body = if lease.kind() == LeaseKind::Robots { RULES } else { b"" };
            let outcome = Outcome::response(&lease, 200, body);
            frontier.complete(lease, outcome, now).unwrap();
        }
        assert_eq!(frontier.statistics().leased, 0);
        assert_eq!(fetch(&mut frontier, &mut now), "r b.example/2");
        assert!(matches!(frontier.next(now).unwrap(), Next::Drained));
    }
}

#[test]
fn a_robots_txt_of_a_queue_that_is_overdue_is_asked_for_again() {
    let directory = tempfile::tempdir().unwrap();
    let (mut options, mut now) = (options(), NOW);
    options.lease_timeout = Some(60 * SECOND);
    let mut frontier = open(directory.path(), &options, now);
    seed(&mut frontier, "q", "https://a.example/1", now);
    let robots = lease(&mut frontier, &mut now);
    let token = robots.token().expect("leases end");
    now = now + 60 * SECOND;
    assert_eq!(frontier.expire(now).unwrap(), 1);
    assert!(frontier.complete_token(token, Outcome::GivenUp, now).is_err());
    assert_eq!(fetch(&mut frontier, &mut now), "q a.example/robots.txt");
    assert_eq!(fetch(&mut frontier, &mut now), "q a.example/1");
}

#[test]
fn a_job_is_asked_about_a_page_of_a_queue() {
    let directory = tempfile::tempdir().unwrap();
    let mut now = NOW;
    let mut frontier = open(directory.path(), &options(), now);
    for url in ["https://a.example/1", "https://a.example/2", "https://b.example/3"] {
        seed(&mut frontier, "slow", url, now);
    }
    assert_eq!(fetch(&mut frontier, &mut now), "slow a.example/robots.txt");
    frontier.flush(now).unwrap();
    let url = frontier.gate().canonicalizer().canonicalize("https://a.example/2").unwrap();
    let job = Job::open_for_reading(directory.path()).unwrap();
    let explained = explain(&job, &options(), [url], now).unwrap().explanations[0].to_string();
    for line in [
        "waiting: 1 more of its host go first; its host may be asked at 2005-09-06T09:46:45",
        "\n  queue        slow\n",
        "\n  robots.txt   allows it: no line matches",
        "\n  host         @slow: due 2005-09-06T09:46:45",
    ] {
        assert!(explained.contains(line), "{line}: {explained}");
    }
}

/// A record is the URL.
struct Lines;

impl LineFormat for Lines {
    fn read(&self, line: &[u8]) -> Option<PageLine> {
        let url = std::str::from_utf8(line).ok()?.trim().to_owned();
        let (outputs, revisit_of) = (Vec::new(), None);
        Some(PageLine { url, depth: 0, via: Via::Seed, admitted: 0, outputs, revisit_of, bytes: 0, given_up: false })
    }

    fn moved(&self, _: &[u8], _: &[(String, Receipt)]) -> Option<Vec<u8>> {
        None
    }

    fn files(&self, _: &Path, _: &str) -> std::io::Result<Vec<(u64, std::path::PathBuf)>> {
        Ok(Vec::new())
    }
}

#[test]
fn a_repair_keeps_each_page_in_its_queue() {
    let directory = tempfile::tempdir().unwrap();
    let (mut options, mut now) = (options(), NOW);
    options.politeness.robots = false;
    let mut frontier = open(directory.path(), &options, now);
    for page in ["1", "2", "3"] {
        seed(&mut frontier, "slow", &format!("https://a.example/{page}"), now);
    }
    // Two pages are done, and the record of the second is lost.
    let mut output = Vec::new();
    for _ in 0..2 {
        let page = lease(&mut frontier, &mut now);
        let record = format!("{}\n", page.url());
        let receipt = Receipt::of(record.as_bytes(), output.len() as u64);
        let outcome = Outcome::response(&page, 200, b"");
        frontier.complete_with(page, outcome, &[("pages.jsonl", receipt)], now).unwrap();
        output.extend_from_slice(record.as_bytes());
    }
    frontier.flush(now).unwrap();
    drop(frontier);
    let job = Job::resume(directory.path()).unwrap();
    let second = output.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(job.pages_path(), &output[..second]).unwrap();
    let findings = look(&job, &options, true, &Lines, &[]).unwrap();
    assert_eq!((findings.again, findings.from_records), (1, 0));
    findings.carry_out(&job, &Lines).unwrap();
    drop(job);
    let mut frontier = open(directory.path(), &options, now);
    assert_eq!(frontier.queues(now).map(|(host, _)| host.to_string()).collect::<Vec<_>>(), ["@slow"]);
    let (one, at) = (fetch(&mut frontier, &mut now), now);
    let two = fetch(&mut frontier, &mut now);
    assert_eq!(([&*one, &*two], now), (["slow a.example/2", "slow a.example/3"], at + 5 * SECOND));
}
