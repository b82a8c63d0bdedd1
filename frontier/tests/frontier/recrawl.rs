//! The same URL again: scheduled for a time, in memory and on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crawler_frontier::address::{AddressError, FingerprintKey};
use crawler_frontier::driver::Receipt;
use crawler_frontier::frontier::{
    Failure, Frontier, FrontierError, FrontierOptions, Journal, LeaseKind, Next, Outcome, Timestamp,
};
use crawler_frontier::gate::{Found, Refusal, ScopeKind, Via};
use crawler_frontier::job::{JobJournal, OpenOptions};
use crawler_frontier::seen::{Layout, OnFull, Removal, SeenError};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.robots = false;
    options
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Fetches until nothing is left, and says what was asked for when.
fn drain(frontier: &mut Frontier<impl Journal>, mut now: Timestamp) -> Vec<(String, Timestamp)> {
    let mut asked = Vec::new();
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                asked.push((lease.url().to_owned(), now));
                let outcome = Outcome::response(&lease, 200, b"");
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::GiveUp(lease) => _ = frontier.complete(lease, Outcome::GivenUp, now).unwrap(),
            Next::Wait(until) => now = now.max(until),
            Next::Busy => panic!("nothing is lent out"),
            Next::Drained => return asked,
        }
    }
}

/// Answers nothing until a host is retired, and says when that was.
fn fail(frontier: &mut Frontier<impl Journal>) -> Timestamp {
    let mut now = NOW;
    while frontier.statistics().retired_hosts == 0 {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => _ = frontier.complete(lease, Outcome::Failed(Failure::Connect.into()), now).unwrap(),
            Next::Wait(until) => now = until,
            next => panic!("{next:?}"),
        }
    }
    now
}

#[test]
fn none_goes_early_and_none_a_second_late() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let mut times = BTreeMap::new();
    for number in 0..500 {
        // A host of its own each: none waits for another.
        let (url, at) = (format!("http://h{number}.example/"), NOW + Duration::from_micros(number * number * 977));
        assert_eq!(frontier.schedule(&url, at).unwrap(), None);
        times.insert(url, at);
    }
    assert_eq!((frontier.statistics().scheduled, frontier.statistics().queued), (500, 0));
    assert_eq!((frontier.gate().admitted(), frontier.statistics().hosts), (500, 0));
    let asked = drain(&mut frontier, NOW);
    assert_eq!(asked.len(), 500);
    for (url, asked) in asked {
        let late = asked.as_micros().checked_sub(times[&url].as_micros()).expect("not before its time");
        assert!(late < 1_000_000, "{late} µs late");
    }
    assert_eq!((frontier.statistics().scheduled, frontier.statistics().completed), (0, 500));
}

#[test]
fn it_is_drained_when_nothing_is_scheduled() {
    let mut frontier = Frontier::new(&options()).unwrap();
    frontier.schedule("http://a.example/", NOW + DAY).unwrap();
    frontier.seed("http://b.example/", NOW).unwrap();
    let Next::Fetch(lease) = frontier.next(NOW).unwrap() else { panic!("the seed") };
    assert!(matches!(frontier.next(NOW).unwrap(), Next::Wait(until) if until == NOW + DAY), "with a lease out");
    let outcome = Outcome::response(&lease, 404, b"");
    frontier.complete(lease, outcome, NOW).unwrap();
    assert!(matches!(frontier.next(NOW).unwrap(), Next::Wait(until) if until == NOW + DAY), "with none");
    assert_eq!(drain(&mut frontier, NOW), [("http://a.example/".to_owned(), NOW + DAY)]);
}

#[test]
fn the_seen_test_is_told_and_not_asked() {
    for layout in [Layout::Blocked, Layout::Counting, Layout::Exact, Layout::Partitioned, Layout::Standard] {
        let mut options = options();
        options.seen.layout = layout;
        let mut frontier = Frontier::new(&options).unwrap();
        frontier.seed("http://a.example/", NOW).unwrap();
        for _ in 0..2 {
            assert_eq!(frontier.schedule("http://a.example/", NOW + DAY).unwrap(), None);
        }
        assert_eq!(frontier.schedule("http://b.example/", NOW + DAY).unwrap(), None);
        assert_eq!(frontier.seed("http://b.example/", NOW).unwrap(), Some(Refusal::Seen));
        assert_eq!(drain(&mut frontier, NOW).len(), 4, "{layout}");
        assert_eq!((frontier.gate().admitted(), frontier.gate().found()), (4, 5));
    }
}

#[test]
fn what_is_not_for_this_crawl_is_refused_and_not_remembered() {
    let mut options = options();
    options.scope.kind = ScopeKind::Host;
    options.scope.exclude = vec!["/no".to_owned()];
    let mut frontier = Frontier::new(&options).unwrap();
    assert_eq!(frontier.schedule("http://a.example/no", NOW).unwrap(), Some(Refusal::Excluded));
    assert_eq!((frontier.gate().refusals().of(Refusal::Excluded), frontier.gate().found()), (1, 1));
    let url = frontier.gate().canonicalizer().canonicalize("http://a.example/no").unwrap();
    assert!(!frontier.gate().seen().contains(url.fingerprint(frontier.gate().fingerprint_key())));
    let error = frontier.schedule("mailto:a@a.example", NOW).unwrap_err();
    assert!(matches!(error, FrontierError::Address(AddressError::UnsupportedScheme(_))), "{error}");
    // As a seed, it opens its host.
    frontier.schedule("http://b.example/", NOW).unwrap();
    frontier.seed("http://a.example/", NOW).unwrap();
    let Next::Fetch(lease) = frontier.next(NOW).unwrap() else { panic!("two are due") };
    let links = ["http://b.example/1", "http://c.example/1"];
    assert_eq!(frontier.links(&lease, links, NOW).unwrap(), 1);
    frontier.complete(lease, Outcome::Released, NOW).unwrap();
    assert_eq!(frontier.statistics().scheduled + frontier.statistics().queued, 3);
}

#[test]
fn what_is_scheduled_for_a_retired_host_is_given_up_when_its_time_comes() {
    let mut frontier = Frontier::new(&options()).unwrap();
    frontier.seed("http://a.example/", NOW).unwrap();
    frontier.schedule("http://a.example/1", NOW + DAY).unwrap();
    let now = fail(&mut frontier);
    assert_eq!(frontier.schedule("http://a.example/2", now).unwrap(), None);
    assert_eq!((frontier.statistics().scheduled, frontier.gate().admitted()), (2, 3));
    assert_eq!(drain(&mut frontier, now), []);
    let statistics = frontier.statistics();
    assert_eq!((statistics.scheduled, statistics.unreachable, statistics.completed), (0, 3, 3));
    assert_eq!((frontier.gate().admitted(), frontier.gate().refusals().total()), (3, 0));
    // Asked again, it answers.
    assert_eq!(frontier.ask_again(now + 2 * DAY).unwrap(), 3);
    assert_eq!(drain(&mut frontier, now + 2 * DAY).len(), 3);
    let statistics = frontier.statistics();
    assert_eq!((statistics.unreachable, statistics.retired_hosts, statistics.completed), (0, 0, 3));
}

#[test]
fn a_page_comes_again_at_its_depth_and_as_it_was_found() {
    let mut options = options();
    options.politeness.robots = true;
    options.scope.max_depth = Some(1);
    let mut frontier = Frontier::new(&options).unwrap();
    frontier.seed("http://a.example/", NOW).unwrap();
    let (mut now, mut rounds) = (NOW, 0);
    while rounds < 3 {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let mut outcome = Outcome::response(&lease, 200, b"");
                if lease.url().ends_with("/b") {
                    outcome = frontier.redirect(&lease, 301, "/b?utm_source=x", now).unwrap();
                } else {
                    assert_eq!(frontier.schedule_again(&lease, now + DAY).unwrap(), None);
                    frontier.links(&lease, ["/b"], now).unwrap();
                }
                if lease.url().ends_with("=x") {
                    assert_eq!(lease.depth(), 1);
                    assert!(format!("{lease:?}").contains("via: Link"), "{lease:?}");
                    assert_eq!(lease.referrer(), Some("http://a.example/"));
                    assert_eq!(frontier.links(&lease, ["/too-deep"], now).unwrap(), 0);
                    // The redirect that led to it was one of the first day.
                    let redirects = format!("redirects: {},", u8::from(rounds == 0));
                    assert!(format!("{lease:?}").contains(&redirects), "{lease:?}");
                    rounds += 1;
                }
                let is_again = lease.kind() == LeaseKind::Page && !lease.url().ends_with("/b");
                let before = frontier.statistics().scheduled;
                frontier.complete(lease, outcome, now).unwrap();
                assert_eq!(frontier.statistics().scheduled, before + u64::from(is_again), "no robots.txt");
            }
            Next::Wait(until) => now = until,
            next => panic!("{next:?}"),
        }
    }
}

/// A page whose record is lost with the power is asked for once more, and so was not scheduled again; that holds, too, where
/// another record came to stand in its place that looks like it.
#[test]
fn a_page_that_was_not_kept_was_not_scheduled_again() {
    for is_kept in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let open = |has: bool| {
            let open_options = OpenOptions::default();
            Frontier::open_with(directory.path(), &options(), &open_options, |_, _| has, NOW).unwrap()
        };
        let mut frontier = open(true);
        for (before, page) in [(0, "http://a.example/"), (6, "http://b.example/")] {
            frontier.seed(page, NOW).unwrap();
            let Next::Fetch(lease) = frontier.next(NOW).unwrap() else { panic!("it is due") };
            assert_eq!(frontier.schedule_again(&lease, NOW + DAY).unwrap(), None);
            let outcome = Outcome::response(&lease, 200, b"");
            frontier.complete_with(lease, outcome, &[("output", Receipt::of(b"record", before))], NOW).unwrap();
        }
        frontier.flush(NOW).unwrap();
        for has in [is_kept, true, true] {
            drop(frontier);
            frontier = open(has);
            let (statistics, admitted) = (frontier.statistics(), frontier.gate().admitted());
            let told = (statistics.scheduled, statistics.queued, statistics.completed, admitted);
            assert_eq!(told, if is_kept { (2, 0, 2, 4) } else { (0, 2, 0, 2) });
        }
        let again = NOW + if is_kept { DAY } else { seconds(1) };
        let asked = drain(&mut frontier, NOW);
        assert_eq!(asked, ["http://a.example/", "http://b.example/"].map(|page| (page.to_owned(), again)));
    }
}

#[test]
fn it_is_scheduled_again_only_where_it_is_done() {
    let mut frontier = Frontier::new(&options()).unwrap();
    frontier.seed("http://a.example/", NOW).unwrap();
    let mut now = NOW;
    for (status, scheduled) in [(503, 0), (200, 1)] {
        let lease = loop {
            match frontier.next(now).unwrap() {
                Next::Fetch(lease) => break lease,
                Next::Wait(until) => now = until,
                next => panic!("{next:?}"),
            }
        };
        // What is said last holds.
        for wait in [DAY, 2 * DAY] {
            assert_eq!(frontier.schedule_again(&lease, now + wait).unwrap(), None);
        }
        let error = Frontier::new(&options()).unwrap().schedule_again(&lease, now).unwrap_err();
        assert!(matches!(error, FrontierError::ForeignLease), "{error}");
        let outcome = Outcome::Response { status, retry_after: Some(seconds(10)) };
        frontier.complete(lease, outcome, now).unwrap();
        let statistics = frontier.statistics();
        assert_eq!((statistics.scheduled, statistics.queued), (scheduled, 1 - scheduled));
    }
    assert_eq!(frontier.gate().admitted(), 2);
    let asked = drain(&mut frontier, now);
    assert_eq!((asked.len(), asked[0].1.since(now)), (1, 2 * DAY));
}

#[test]
fn a_host_rests_between_those_that_are_due_together() {
    let mut options = options();
    options.politeness.host_delay = seconds(5);
    let mut frontier = Frontier::new(&options).unwrap();
    for page in 0..4 {
        frontier.schedule(&format!("http://a.example/{page}"), NOW + seconds(3)).unwrap();
    }
    let asked = drain(&mut frontier, NOW);
    let expected = (0..4).map(|page| (format!("http://a.example/{page}"), NOW + seconds(3 + 5 * page)));
    assert!(asked.into_iter().eq(expected));
}

#[test]
fn a_crowd_that_is_due_at_once_stops_nobody() {
    let mut frontier = Frontier::new(&options()).unwrap();
    for page in 0..10_000 {
        frontier.schedule(&format!("http://a.example/{page}"), NOW).unwrap();
    }
    frontier.seed("http://b.example/", NOW).unwrap();
    let mut leases = Vec::new();
    let mut calls = 0;
    while frontier.statistics().scheduled > 0 {
        let before = frontier.statistics().scheduled;
        match frontier.next(NOW).unwrap() {
            Next::Fetch(lease) => leases.push(lease.url().to_owned()),
            Next::Wait(until) => assert!(until <= NOW, "enough was done in one call"),
            Next::Busy => assert_eq!(frontier.statistics().scheduled, 0, "no lease comes back here"),
            Next::GiveUp(_) | Next::Drained => panic!("two are lent out"),
        }
        assert!(before - frontier.statistics().scheduled <= 128);
        calls += 1;
    }
    assert_eq!(leases, ["http://b.example/", "http://a.example/0"]);
    assert!(calls < 100, "{calls} calls");
}

#[test]
fn who_can_forget_finds_it_again_and_who_cannot_says_so() {
    for layout in [Layout::Counting, Layout::Exact] {
        let mut options = options();
        options.seen.layout = layout;
        let mut frontier = Frontier::new(&options).unwrap();
        assert_eq!(frontier.forget("http://a.example/").unwrap(), Removal::Absent, "{layout}");
        frontier.seed("http://a.example/", NOW).unwrap();
        assert_eq!(frontier.forget("http://a.example/").unwrap(), Removal::Removed);
        assert_eq!(frontier.statistics().queued, 1, "what is queued stays");
        assert_eq!(frontier.seed("http://a.example/", NOW).unwrap(), None);
        assert_eq!(frontier.seed("http://a.example/", NOW).unwrap(), Some(Refusal::Seen));
        assert_eq!(drain(&mut frontier, NOW).len(), 2);
        assert!(matches!(frontier.forget("a.example"), Err(FrontierError::Address(AddressError::Malformed(_)))));
    }
    for layout in [Layout::Blocked, Layout::Partitioned, Layout::Standard] {
        let mut options = options();
        options.seen.layout = layout;
        let mut frontier = Frontier::new(&options).unwrap();
        frontier.seed("http://a.example/", NOW).unwrap();
        let error = frontier.forget("http://a.example/").unwrap_err();
        let FrontierError::Unsupported(error) = error else { panic!("{error}") };
        assert!(matches!(error, SeenError::Unsupported { layout: named, .. } if named == layout), "{error}");
        assert_eq!(frontier.seed("http://a.example/", NOW).unwrap(), Some(Refusal::Seen));
    }
}

#[test]
fn what_is_forgotten_is_forgotten_once_however_often_it_is_opened() {
    let url = |number: u32| format!("http://h{number}.example/");
    for checkpoints in 0..8 {
        let root = tempfile::tempdir().unwrap();
        let mut options = options();
        (options.seen.layout, options.seen.capacity, options.seen.shards) = (Layout::Counting, 100, 1);
        options.seen.false_positive_rate = 0.1;
        let open = || Frontier::open(root.path(), &options, NOW).unwrap();
        let (mut frontier, mut kept) = (open(), Vec::new());
        for step in 0..3 {
            for number in step * 40..step * 40 + 40 {
                frontier.seed(&url(number), NOW).unwrap();
            }
            for number in (0..step * 40 + 40).step_by(3) {
                frontier.forget(&url(number)).unwrap();
            }
            if checkpoints & 1 << step != 0 {
                frontier.checkpoint().unwrap();
            }
            let held = |frontier: &Frontier<JobJournal>| -> Vec<u32> {
                let gate = frontier.gate();
                let fingerprint = |number| {
                    let url = gate.canonicalizer().canonicalize(&url(number)).unwrap();
                    url.fingerprint(gate.fingerprint_key())
                };
                (0..5000).filter(|number| gate.seen().contains(fingerprint(*number))).collect()
            };
            frontier.flush(NOW).unwrap();
            kept = held(&frontier);
            drop(frontier);
            frontier = open();
            assert_eq!(held(&frontier), kept, "step {step} of {checkpoints:b}");
        }
        assert!(kept.iter().filter(|number| **number < 120).count() < 100, "most of what was forgotten is");
    }
}

/// A batch shows its seeds to the filter first, and the journal has them in their places. A filter as full as this one hides others then.
#[test]
fn what_was_admitted_counts_as_new_after_a_restart_whatever_the_filter_says() {
    for with_checkpoint in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let mut options = options();
        options.fingerprint_key = Some(FingerprintKey::from_u64(7));
        (options.seen.layout, options.seen.capacity, options.seen.shards) = (Layout::Counting, 1000, 1);
        // With one counter a URL, no order hides another.
        (options.seen.bits_per_url, options.seen.probes, options.seen.on_full) = (Some(1.0), Some(3), OnFull::Warn);
        let open = || Frontier::open(root.path(), &options, NOW).unwrap();
        let mut frontier = open();
        let url = |frontier: &Frontier<JobJournal>, number: u32| {
            frontier.gate().canonicalizer().canonicalize(&format!("http://h{number}.example/")).unwrap()
        };
        let mut refused = 0;
        for batch in 0..8 {
            let seed = |number| Found::seed(url(&frontier, number));
            let link = |number| Found { depth: 1, via: Via::Link, ..seed(number) };
            let all = batch * 100..batch * 100 + 100;
            let found = all.map(|number| if number % 2 == 0 { link(number) } else { seed(number) }).collect();
            refused += frontier.admit_batch(found, NOW).unwrap().into_iter().flatten().count();
            if with_checkpoint && batch == 3 {
                frontier.flush(NOW).unwrap();
                frontier.checkpoint().unwrap();
            }
        }
        assert!(refused > 100, "{refused}");
        frontier.flush(NOW).unwrap();
        let known = |frontier: &Frontier<JobJournal>| {
            let seen = frontier.gate().seen();
            let counts = seen.statistics().merged;
            let has =
                |number: &u32| seen.contains(url(frontier, *number).fingerprint(frontier.gate().fingerprint_key()));
            (seen.remembered(), counts.inserted, counts.bits_set, (0..2000).filter(has).collect::<Vec<_>>())
        };
        let was = known(&frontier);
        assert_eq!(was.0, 800 - refused as u64);
        drop(frontier);
        assert_eq!(known(&open()), was);
    }
}

fn open(directory: &Path, keep_journal: bool) -> Frontier<JobJournal> {
    let mut open = OpenOptions::default();
    (open.journal.segment_bytes, open.keep_journal) = (1000, keep_journal);
    Frontier::open_with(directory, &options(), &open, |_, _| true, NOW).unwrap_or_else(|error| panic!("{error}"))
}

fn segments(directory: &Path) -> usize {
    let names = fs::read_dir(directory.join("frontier")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with("journal-")).count()
}

#[test]
fn it_is_there_again_and_so_is_what_it_needs_of_the_journal() {
    let root = tempfile::tempdir().unwrap();
    let at = |day: u32| NOW + DAY * day;
    let url = |number: u32| format!("http://h{number}.example/a-long-way-to-it/{}", "x".repeat(100));
    // Reopened each day, with a checkpoint each other day, and one URL that waits from the first to the last.
    let mut frontier = open(root.path(), false);
    frontier.schedule(&url(0), at(9)).unwrap();
    for day in 1..=8 {
        for number in 0..20 {
            frontier.schedule(&url(100 * day + number), at(day)).unwrap();
        }
        frontier.flush(at(day)).unwrap();
        if day % 2 == 0 {
            frontier.checkpoint().unwrap();
        }
        drop(frontier);
        frontier = open(root.path(), false);
        assert_eq!((frontier.statistics().scheduled, frontier.statistics().queued), (21, 0));
        let mut asked = 0;
        while let Next::Fetch(lease) = frontier.next(at(day)).unwrap() {
            asked += 1;
            let outcome = Outcome::response(&lease, 404, b"");
            frontier.complete(lease, outcome, at(day)).unwrap();
        }
        assert_eq!(asked, 20);
    }
    assert_eq!(drain(&mut frontier, at(8)), [(url(0), at(9))]);
    assert_eq!(frontier.statistics().completed, 161);
    // Now nothing waits for the oldest part.
    let before = segments(root.path());
    for _ in 0..2 {
        frontier.checkpoint().unwrap();
    }
    assert!(before > 10 && segments(root.path()) < 3, "{before} segments, and then {}", segments(root.path()));
    drop(frontier);
    assert_eq!(drain(&mut open(root.path(), false), at(10)), []);
}
