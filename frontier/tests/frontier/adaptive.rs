//! A host rests in proportion to its latency: `politeness.adaptive_share`.

use std::time::Duration;

use crawler_frontier::frontier::{Failure, Frontier, FrontierOptions, Lease, Next, Outcome, Timestamp};
use crawler_frontier::gate::OptionError;

const SECOND: Duration = Duration::from_secs(1);
const START: Timestamp = Timestamp::from_micros(1 << 50);

fn options(share: f64) -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.politeness.robots = false;
    options.politeness.host_delay = SECOND / 2;
    options.politeness.adaptive_share = Some(share);
    options.politeness.max_adaptive_delay = 30 * SECOND;
    // What fails is not tried again meanwhile.
    options.politeness.backoff = 3600 * SECOND;
    options
}

/// One host with some pages.
fn site(options: &FrontierOptions) -> Frontier {
    let mut frontier = Frontier::new(options).unwrap();
    for page in 0..20 {
        frontier.seed(&*format!("https://a.example/{page}"), START).unwrap();
    }
    frontier
}

fn lease(frontier: &mut Frontier, at: Timestamp) -> Lease {
    match frontier.next(at).unwrap() {
        Next::Fetch(lease) => lease,
        other => panic!("{other:?}"),
    }
}

/// How long the host rests after an answer that took so long.
fn rest(frontier: &mut Frontier, now: &mut Timestamp, took: Duration, outcome: Outcome) -> Duration {
    let mut lease = lease(frontier, *now);
    lease.answered(*now, took, 0);
    frontier.complete(lease, outcome, *now).unwrap();
    let Next::Wait(until) = frontier.next(*now).unwrap() else { panic!("it rests") };
    let rest = until.since(*now);
    *now = until;
    rest
}

fn status(status: u16) -> Outcome {
    Outcome::Response { status, retry_after: None }
}

#[test]
fn a_host_rests_so_long_that_requests_take_its_share() {
    let mut now = START;
    let mut frontier = site(&options(0.1));
    let mut after = |took: u64| rest(&mut frontier, &mut now, Duration::from_millis(took), status(200)).as_millis();
    assert_eq!(after(1000), 9000, "a tenth of ten seconds");
    assert_eq!(after(2000), 18_000, "at once");
    assert_eq!(after(1000), 13_500, "half the way");
    assert_eq!(after(60_000), 30_000, "no longer than it may");
    assert_eq!([after(0), after(0), after(0)], [15_000, 7500, 3750]);
    assert_eq!([after(0), after(0), after(0), after(0)], [1875, 937, 500, 500], "no shorter than host_delay");
}

#[test]
fn an_error_lengthens_the_rest_and_never_shortens_it() {
    let mut now = START;
    let mut frontier = site(&options(0.1));
    assert_eq!(rest(&mut frontier, &mut now, SECOND, status(200)), 9 * SECOND);
    for error in [404, 410, 500, 301] {
        assert_eq!(rest(&mut frontier, &mut now, SECOND / 100, status(error)), 9 * SECOND, "{error}");
    }
    assert_eq!(rest(&mut frontier, &mut now, 2 * SECOND, status(404)), 18 * SECOND);
    let incomplete = Outcome::Failed(Failure::Incomplete.into());
    assert_eq!(rest(&mut frontier, &mut now, SECOND / 100, incomplete), 18 * SECOND);
    let mut lease = lease(&mut frontier, now);
    lease.answered(now, 50 * SECOND, 0);
    frontier.complete(lease, Outcome::Released, now).unwrap();
    assert_eq!(rest(&mut frontier, &mut now, SECOND / 100, status(404)), 18 * SECOND, "nothing was sent");
}

#[test]
fn with_several_connections_the_rest_is_between_starts() {
    let mut options = options(0.5);
    options.politeness.connections_per_host = 4;
    let mut frontier = site(&options);
    let first = lease(&mut frontier, START);
    frontier.complete(first, status(200), START).unwrap();
    let next = |frontier: &mut Frontier, at: Timestamp| match frontier.next(at).unwrap() {
        Next::Wait(until) => until.since(START),
        other => panic!("{other:?}"),
    };
    assert_eq!(next(&mut frontier, START), SECOND / 2);
    let mut a = lease(&mut frontier, START + SECOND / 2);
    assert_eq!(next(&mut frontier, START + SECOND / 2), SECOND, "half a second behind the start");
    // It took two seconds: four behind the start, though it was half a second when it started.
    a.answered(START + SECOND, 2 * SECOND, 0);
    frontier.complete(a, status(200), START + SECOND).unwrap();
    assert_eq!(next(&mut frontier, START + SECOND), 9 * SECOND / 2);
}

#[test]
fn robots_txt_and_leases_that_tell_nothing_leave_the_rest_alone() {
    let mut options = options(0.1);
    options.politeness.robots = true;
    let mut frontier = site(&options);
    let mut robots = lease(&mut frontier, START);
    robots.answered(START, 3 * SECOND, 0);
    let outcome = Outcome::response(&robots, 404, b"");
    frontier.complete(robots, outcome, START).unwrap();
    let Next::Wait(now) = frontier.next(START).unwrap() else { panic!("it rests") };
    assert_eq!(now, START + SECOND / 2);
    let lease = lease(&mut frontier, now);
    frontier.complete(lease, status(200), now).unwrap();
    assert!(matches!(frontier.next(now).unwrap(), Next::Wait(until) if until == now + SECOND / 2));
}

#[test]
fn explain_and_the_numbers_of_hosts_tell_the_rest_and_why() {
    let mut frontier = site(&options(0.1));
    let mut now = START;
    rest(&mut frontier, &mut now, SECOND, status(200));
    assert_eq!(frontier.top_hosts(1)[0].delay, 9 * SECOND);
    let url = frontier.gate().canonicalizer().canonicalize("https://a.example/19").unwrap();
    let explained = frontier.explain(&url, now).unwrap().to_string();
    assert!(explained.contains("delay 9s for its latency, "), "{explained}");
}

#[test]
fn a_share_that_cannot_be_is_refused() {
    for share in [0.0, -0.5, 1.5, f64::NAN] {
        let Err(OptionError::Option { option, .. }) = Frontier::new(&options(share)).map(drop) else {
            panic!("{share}");
        };
        assert_eq!(option, "politeness.adaptive_share");
    }
    assert!(Frontier::new(&options(1.0)).is_ok());
}
