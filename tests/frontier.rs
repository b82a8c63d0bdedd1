//! The frontier as a user meets it: invented webs, crawled in no time.

use std::time::Duration;

use crawler::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};

const fn secs(seconds: u64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// No robots.txt, one second between two requests to a host.
fn plain() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.politeness.robots = false;
    options
}

#[test]
fn a_host_rests_between_two_requests() {
    let mut frontier = Frontier::new(&plain()).unwrap();
    frontier.seed("https://a.example/1", secs(0)).unwrap();
    frontier.seed("https://a.example/2", secs(0)).unwrap();
    let Next::Fetch(first) = frontier.next(secs(0)).unwrap() else { panic!() };
    assert_eq!(first.url(), "https://a.example/1");
    assert!(matches!(frontier.next(secs(0)).unwrap(), Next::Busy));
    let outcome = Outcome::response(&first, 200, b"");
    frontier.complete(first, outcome, secs(5)).unwrap();
    let Next::Wait(until) = frontier.next(secs(5)).unwrap() else { panic!() };
    assert_eq!(until, secs(5) + Duration::from_secs(1));
    let Next::Fetch(second) = frontier.next(until).unwrap() else { panic!() };
    assert_eq!(second.url(), "https://a.example/2");
    let outcome = Outcome::response(&second, 200, b"");
    frontier.complete(second, outcome, until).unwrap();
    assert!(matches!(frontier.next(until).unwrap(), Next::Drained));
}
