//! Requests of others: `Frontier::host_was_asked`.

use std::time::Duration;

use crawler_frontier::address::HostKey;
use crawler_frontier::frontier::{
    Frontier, FrontierError, FrontierOptions, HostAnswer, HostGroup, Lease, LeaseKind, Next, Outcome, Timestamp,
};
use crawler_frontier::gate::ScopeKind;

pub(crate) fn millis(millis: u64) -> Timestamp {
    Timestamp::from_micros(millis * 1000)
}

/// No robots.txt, and a second between two requests.
fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    (options.politeness.robots, options.scope.kind) = (false, ScopeKind::Any);
    options
}

pub(crate) fn lease(frontier: &mut Frontier, at: u64) -> Lease {
    match frontier.next(millis(at)).unwrap() {
        Next::Fetch(lease) => lease,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn waits_until(frontier: &mut Frontier, at: u64) -> u64 {
    match frontier.next(millis(at)).unwrap() {
        Next::Wait(until) => until.as_micros() / 1000,
        other => panic!("{other:?}"),
    }
}

fn done(frontier: &mut Frontier, lease: Lease, at: u64) {
    frontier.complete(lease, Outcome::Response { status: 200, retry_after: None }, millis(at)).unwrap();
}

#[test]
fn a_host_rests_after_the_requests_of_others_wherever_it_is() {
    let mut frontier = Frontier::new(&options()).unwrap();
    let asked = |frontier: &mut Frontier, at| frontier.host_was_asked("https://a.example/logo", millis(at)).unwrap();
    // It is not known yet.
    asked(&mut frontier, 500);
    for page in ["/1", "/2", "/3"] {
        frontier.seed(&format!("https://a.example{page}"), millis(600)).unwrap();
    }
    assert_eq!(waits_until(&mut frontier, 600), 1500);
    // It rests: it may be looked at when its rest was to be over, and rests on.
    asked(&mut frontier, 900);
    assert_eq!(waits_until(&mut frontier, 1500), 1900);
    // It is due.
    frontier.seed("https://b.example/", millis(1900)).unwrap();
    asked(&mut frontier, 1900);
    assert_eq!(lease(&mut frontier, 1900).url(), "https://b.example/");
    assert_eq!(waits_until(&mut frontier, 1900), 2900);
    // It is out, and had answered before the other request.
    let mut one = lease(&mut frontier, 2900);
    one.answered(millis(3000), Duration::from_millis(100), 1);
    asked(&mut frontier, 3500);
    done(&mut frontier, one, 3600);
    assert_eq!(waits_until(&mut frontier, 3600), 4500);
    // What is earlier than what is known says nothing.
    asked(&mut frontier, 3400);
    let mut two = lease(&mut frontier, 4500);
    assert_eq!(two.url(), "https://a.example/2");
    assert_eq!(frontier.statistics().completed, 1);
    // Its own answer comes after the other request, and its page stays in hand: the later rest is what everybody is told.
    asked(&mut frontier, 4600);
    frontier.answered(&mut two, HostAnswer::new(200, millis(4700)), millis(4700)).unwrap();
    assert_eq!(waits_until(&mut frontier, 4700), 5700);
    let queue = frontier.queue_statistics(&HostKey::of_origin("https://a.example"), millis(4700)).unwrap().unwrap();
    assert_eq!(queue.due, millis(5700));
}

#[test]
fn the_other_hosts_of_its_group_rest_too() {
    let mut options = options();
    let hosts = vec!["*.cdn.test".to_owned()];
    let group = HostGroup { hosts, delay: Some(Duration::from_secs(3)), connections: Some(1), ..HostGroup::default() };
    options.rules.groups.insert("cdn".to_owned(), group);
    let mut frontier = Frontier::new(&options).unwrap();
    frontier.seed("https://a.cdn.test/1", millis(0)).unwrap();
    frontier.seed("https://b.cdn.test/1", millis(0)).unwrap();
    frontier.host_was_asked("https://c.cdn.test/", millis(0)).unwrap();
    assert_eq!(waits_until(&mut frontier, 0), 3000);
    // Hosts wait in the queue of the group, which is asked for the third time, and once more while a request is out.
    frontier.host_was_asked("https://a.cdn.test/", millis(2500)).unwrap();
    assert_eq!(waits_until(&mut frontier, 3000), 5500);
    let mut first = lease(&mut frontier, 5500);
    first.answered(millis(5600), Duration::from_millis(100), 1);
    frontier.host_was_asked("https://c.cdn.test/", millis(7000)).unwrap();
    done(&mut frontier, first, 7100);
    assert_eq!(waits_until(&mut frontier, 8600), 10_000);
    assert_eq!(lease(&mut frontier, 10_000).kind(), LeaseKind::Page);
}

/// A robots.txt that is out is the frontier's own request: its token still holds.
#[test]
fn a_lease_that_is_out_stays_out() {
    let mut options = options();
    (options.politeness.robots, options.lease_timeout) = (true, Some(Duration::from_secs(60)));
    let mut frontier = Frontier::new(&options).unwrap();
    frontier.seed("https://a.example/", millis(0)).unwrap();
    let robots = lease(&mut frontier, 0);
    frontier.host_was_asked("https://a.example/", millis(500)).unwrap();
    let outcome = Outcome::response(&robots, 404, b"");
    frontier.complete_token(robots.token().unwrap(), outcome, millis(100)).unwrap();
    assert_eq!(waits_until(&mut frontier, 1100), 1500);
}

#[test]
fn what_is_no_url_names_no_host() {
    let error = Frontier::new(&options()).unwrap().host_was_asked("a.example", millis(0)).unwrap_err();
    assert!(matches!(error, FrontierError::Address(_)), "{error}");
}
