//! The rate of the whole crawl: `rate.requests` and `rate.bytes`.

use std::collections::VecDeque;
use std::time::Duration;

use crawler_frontier::frontier::{Failure, Frontier, FrontierOptions, Lease, Next, Outcome, Timestamp};
use crawler_frontier::gate::{OptionError, ScopeKind};

const SECOND: Duration = Duration::from_secs(1);
const START: Timestamp = Timestamp::from_micros(1 << 50);

fn options(requests: Option<f64>, bytes: Option<u64>) -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.host_delay = Duration::ZERO;
    options.request_rate = requests;
    options.byte_rate = bytes;
    options
}

fn frontier(options: &FrontierOptions, hosts: usize) -> Frontier {
    let mut frontier = Frontier::new(options).unwrap();
    for host in 0..hosts {
        frontier.seed(&*format!("http://h{host}.test/"), START).unwrap();
    }
    frontier
}

fn lease(frontier: &mut Frontier, at: Timestamp) -> Lease {
    match frontier.next(at).unwrap() {
        Next::Fetch(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn waits(frontier: &mut Frontier, at: Timestamp) -> Duration {
    match frontier.next(at).unwrap() {
        Next::Wait(until) => until.since(START),
        other => panic!("{other:?}"),
    }
}

/// Crawls to the end a web that takes 300 ms for an answer of so many bytes; says when each request started.
fn crawl(frontier: &mut Frontier, bytes: impl Fn(usize) -> u64) -> Vec<Duration> {
    let (mut starts, mut now, mut out) = (Vec::new(), START, VecDeque::<(Timestamp, u64, Lease)>::new());
    loop {
        let until = match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                out.push_back((now + 3 * SECOND / 10, bytes(starts.len()), lease));
                starts.push(now.since(START));
                continue;
            }
            Next::GiveUp(lease) => {
                frontier.complete(lease, Outcome::GivenUp, now).unwrap();
                continue;
            }
            Next::Wait(until) => Some(until),
            Next::Busy => None,
            Next::Drained => return starts,
        };
        match out.front() {
            Some((end, ..)) if until.is_none_or(|until| *end <= until) => {
                let (end, bytes, mut lease) = out.pop_front().unwrap();
                lease.answered(end, Duration::ZERO, bytes);
                let outcome = Outcome::response(&lease, 404, b"");
                frontier.complete(lease, outcome, end).unwrap();
                now = end;
            }
            _ => {
                assert!(until.unwrap() > now, "waiting helps");
                now = until.unwrap();
            }
        }
    }
}

#[test]
fn all_hosts_together_are_asked_so_often() {
    let starts = crawl(&mut frontier(&options(Some(10.0), None), 50), |_| 1 << 20);
    let expected: Vec<Duration> = (0..100).map(|number| number * SECOND / 10).collect();
    assert_eq!(starts, expected, "robots.txt counts, and bytes do not");
    let starts = crawl(&mut frontier(&options(Some(0.5), None), 2), |_| 0);
    assert_eq!(starts, [0, 2, 4, 6].map(Duration::from_secs));
}

#[test]
fn bytes_are_kept_to_their_rate_whatever_a_page_weighs() {
    // From pages that weigh as much as the others to those of which one in ten weighs nearly all.
    for (small, large) in [(50_000, 50_000), (1000, 500_000), (0, 1_000_000)] {
        let weight = |number: usize| if number % 10 == 9 { large } else { small };
        let starts = crawl(&mut frontier(&options(None, Some(1_000_000)), 200), weight);
        assert_eq!(starts.len(), 400);
        let mut sum = 0;
        for (number, start) in starts.iter().enumerate() {
            // What has come back by then, which was asked for 300 ms before.
            let back = starts.iter().take_while(|other| **other + 3 * SECOND / 10 <= *start).count();
            let known: u64 = (0..back).map(weight).sum();
            assert!(Duration::from_micros(known) <= *start + SECOND / 20, "{number}: {known} bytes at {start:?}");
            sum += weight(number);
        }
        let (took, sum) = (starts.last().unwrap().as_secs_f64(), Duration::from_micros(sum).as_secs_f64());
        assert!((0.9 * sum..1.2 * sum).contains(&took), "{small} and {large}: {took} for {sum}");
    }
}

#[test]
fn a_large_page_holds_up_those_behind_it() {
    let mut options = options(None, Some(1_000_000));
    options.politeness.robots = false;
    let mut frontier = frontier(&options, 3);
    let mut first = lease(&mut frontier, START);
    assert_eq!(waits(&mut frontier, START).as_micros(), 32 << 10, "what a page is taken for");
    first.answered(START, Duration::ZERO, 5_000_000);
    let outcome = Outcome::response(&first, 200, b"");
    frontier.complete(first, outcome, START).unwrap();
    assert_eq!(waits(&mut frontier, START), 5 * SECOND);
    drop(lease(&mut frontier, START + 5 * SECOND));
}

#[test]
fn time_in_which_nothing_was_asked_is_not_saved_up() {
    let mut options = options(Some(1.0), Some(32 << 10));
    options.politeness.robots = false;
    let mut frontier = frontier(&options, 3);
    drop(lease(&mut frontier, START));
    let later = START + 100 * SECOND;
    drop(lease(&mut frontier, later));
    assert_eq!(waits(&mut frontier, later), 101 * SECOND);
    // A timer that was late is caught up.
    drop(lease(&mut frontier, later + SECOND + SECOND / 200));
    frontier.seed("http://h3.test/", later).unwrap();
    assert_eq!(waits(&mut frontier, later + SECOND + SECOND / 100), 102 * SECOND);
}

#[test]
fn what_was_not_sent_costs_nothing() {
    let mut options = options(Some(1.0), Some(1000));
    options.politeness.robots = false;
    let mut frontier = frontier(&options, 2);
    let first = lease(&mut frontier, START);
    assert!(waits(&mut frontier, START) > SECOND);
    frontier.complete(first, Outcome::Released, START).unwrap();
    drop(lease(&mut frontier, START));
}

#[test]
fn what_is_given_up_waits_for_no_rate() {
    let mut options = options(Some(1.0), None);
    options.politeness.robots = false;
    options.politeness.host_failures = 1;
    let mut frontier = frontier(&options, 1);
    for page in 0..20 {
        frontier.seed(&*format!("http://h0.test/{page}"), START).unwrap();
    }
    let first = lease(&mut frontier, START);
    frontier.complete(first, Outcome::Failed(Failure::NoSuchHost.into()), START).unwrap();
    assert_eq!(waits(&mut frontier, START), SECOND);
    for _ in 0..21 {
        let Next::GiveUp(lease) = frontier.next(START + SECOND).unwrap() else { panic!("all of it at once") };
        frontier.complete(lease, Outcome::GivenUp, START + SECOND).unwrap();
    }
    assert!(matches!(frontier.next(START + SECOND).unwrap(), Next::Drained));
}

#[test]
fn the_numbers_tell_how_many_hosts_wait_for_the_rate() {
    let mut limited = frontier(&options(Some(1.0), None), 5);
    drop(lease(&mut limited, START));
    waits(&mut limited, START);
    assert_eq!(limited.statistics().held_by_rate, 4);
    assert_eq!(frontier(&options(None, None), 5).statistics().held_by_rate, 0);
}

#[test]
fn a_rate_that_lets_nothing_through_is_refused() {
    for (requests, bytes, named) in [
        (Some(0.0), None, "rate.requests"),
        (Some(-1.0), None, "rate.requests"),
        (Some(f64::NAN), None, "rate.requests"),
        (Some(f64::INFINITY), None, "rate.requests"),
        (None, Some(0), "rate.bytes"),
    ] {
        let Err(OptionError::Option { option, .. }) = Frontier::new(&options(requests, bytes)).map(drop) else {
            panic!("{requests:?} {bytes:?}");
        };
        assert_eq!(option, named);
    }
}

#[test]
fn a_response_of_any_size_is_taken() {
    let options = options(None, Some(1));
    for bytes in [u64::MAX, 1 << 63, 1 << 50] {
        let mut frontier = frontier(&options, 3);
        let mut first = lease(&mut frontier, START);
        first.answered(START, Duration::ZERO, bytes);
        let outcome = Outcome::response(&first, 404, b"");
        frontier.complete(first, outcome, START).unwrap();
        // Nobody is asked again within the lifetime of this crawl.
        assert!(waits(&mut frontier, START) > Duration::from_secs(1 << 30), "{bytes}");
    }
}
