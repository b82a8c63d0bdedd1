//! Several requests of one host out at once: `politeness.connections_per_host`.

use std::time::Duration;

use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, Lease, LeaseKind, Next, Outcome, Timestamp,
};
use crawler_frontier::gate::OptionError;

fn secs(seconds: u64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// One host with this many pages, whose first was answered; so many connections, and a delay in seconds.
fn site(pages: u32, connections: u8, delay: u64) -> Frontier {
    let mut options = FrontierOptions::default();
    options.politeness.connections_per_host = connections;
    options.politeness.host_delay = Duration::from_secs(delay);
    options.politeness.robots = false;
    options.politeness.host_failures = 2;
    let mut frontier = Frontier::new(&options).unwrap();
    frontier.seed("https://a.example/", secs(0)).unwrap();
    let first = lease(&mut frontier, 0);
    frontier
        .links(&first, (0..pages).map(|page| page.to_string()).collect::<Vec<_>>().iter().map(|page| &**page), secs(0))
        .unwrap();
    answer(&mut frontier, first, 200, None, 0);
    frontier
}

fn lease(frontier: &mut Frontier, at: u64) -> Lease {
    match frontier.next(secs(at)).unwrap() {
        Next::Fetch(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn waits(frontier: &mut Frontier, at: u64) -> Option<u64> {
    match frontier.next(secs(at)).unwrap() {
        Next::Wait(until) => Some(until.as_micros() / 1_000_000),
        Next::Busy => None,
        other => panic!("{other:?}"),
    }
}

fn answer(frontier: &mut Frontier, lease: Lease, status: u16, retry_after: Option<u64>, at: u64) -> Completion {
    let mut outcome = Outcome::response(&lease, status, b"");
    if let Outcome::Response { retry_after: told, .. } = &mut outcome {
        *told = retry_after.map(Duration::from_secs);
    }
    frontier.complete(lease, outcome, secs(at)).unwrap()
}

#[test]
fn as_many_pages_are_out_as_may_be_and_come_back_in_any_order() {
    let mut frontier = site(6, 3, 0);
    let mut out: Vec<Lease> = (0..3).map(|_| lease(&mut frontier, 0)).collect();
    let names =
        |out: &[Lease]| out.iter().map(|lease| lease.url().rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&out), ["0", "1", "2"]);
    assert_eq!((waits(&mut frontier, 0), frontier.statistics().leased, frontier.statistics().queued), (None, 3, 3));
    answer(&mut frontier, out.remove(1), 200, None, 0);
    out.push(lease(&mut frontier, 0));
    answer(&mut frontier, out.remove(2), 200, None, 0);
    out.push(lease(&mut frontier, 0));
    assert_eq!(names(&out), ["0", "2", "4"]);
    // What comes back as it went goes first again.
    frontier.complete(out.remove(0), Outcome::Released, secs(0)).unwrap();
    out.push(lease(&mut frontier, 0));
    assert_eq!(names(&out), ["2", "4", "0"]);
    while let Some(back) = out.pop() {
        answer(&mut frontier, back, 200, None, 0);
    }
    let last = lease(&mut frontier, 0);
    assert_eq!(waits(&mut frontier, 0), None, "it is the last");
    answer(&mut frontier, last, 200, None, 0);
    assert!(matches!(frontier.next(secs(0)).unwrap(), Next::Drained));
    assert_eq!(frontier.statistics().completed, 7);
}

#[test]
fn a_page_that_is_found_meanwhile_takes_a_free_connection() {
    let mut frontier = site(1, 2, 0);
    let only = lease(&mut frontier, 0);
    assert_eq!(waits(&mut frontier, 0), None);
    frontier.links(&only, ["found"], secs(0)).unwrap();
    assert_eq!(lease(&mut frontier, 0).url(), "https://a.example/found");
}

#[test]
fn a_delay_is_kept_between_the_starts_of_two_requests() {
    let mut frontier = site(5, 3, 2);
    // The first page was sent at once, and answered at once.
    assert_eq!(waits(&mut frontier, 0), Some(2));
    let first = lease(&mut frontier, 2);
    assert_eq!(waits(&mut frontier, 2), Some(4));
    let _second = lease(&mut frontier, 5);
    assert_eq!(waits(&mut frontier, 6), Some(7));
    let _third = lease(&mut frontier, 7);
    assert_eq!(waits(&mut frontier, 30), None, "three are out");
    answer(&mut frontier, first, 200, None, 30);
    let fourth = lease(&mut frontier, 30);
    answer(&mut frontier, fourth, 200, None, 31);
    assert_eq!(waits(&mut frontier, 31), Some(32), "by its start, not by its end");
}

#[test]
fn a_retry_after_holds_for_all_connections() {
    let mut frontier = site(9, 4, 0);
    let mut out: Vec<Lease> = (0..3).map(|_| lease(&mut frontier, 0)).collect();
    // It is in its place for a fourth already.
    answer(&mut frontier, out.remove(0), 429, Some(60), 1);
    assert_eq!(waits(&mut frontier, 1), Some(61), "the page waits for as long as its host was told");
    // These were sent before: they make it neither well nor due.
    answer(&mut frontier, out.remove(0), 200, None, 2);
    answer(&mut frontier, out.remove(0), 200, None, 3);
    assert_eq!(waits(&mut frontier, 3), Some(61));
    let probe = lease(&mut frontier, 61);
    assert_eq!((probe.url(), waits(&mut frontier, 61)), ("https://a.example/3", None), "one, until it answers");
    answer(&mut frontier, probe, 200, None, 61);
    let out: Vec<Lease> = (0..4).map(|_| lease(&mut frontier, 61)).collect();
    assert_eq!((out.len(), waits(&mut frontier, 61)), (4, None));
}

#[test]
fn failures_with_one_cause_count_once() {
    let mut frontier = site(9, 8, 0);
    let out: Vec<Lease> = (0..8).map(|_| lease(&mut frontier, 0)).collect();
    for lease in out {
        frontier.complete(lease, Outcome::Failed(Failure::Connect.into()), secs(1)).unwrap();
    }
    let host = &frontier.top_hosts(1)[0];
    assert_eq!((host.failures, host.retired), (1, false));
    assert_eq!(waits(&mut frontier, 1), Some(11));
    let probe = lease(&mut frontier, 11);
    frontier.complete(probe, Outcome::Failed(Failure::Connect.into()), secs(11)).unwrap();
    assert!(frontier.top_hosts(1)[0].retired, "the second failure is another");
}

#[test]
fn a_host_that_is_retired_gives_up_only_when_all_are_back() {
    let mut frontier = site(4, 2, 0);
    let (one, other) = (lease(&mut frontier, 0), lease(&mut frontier, 0));
    frontier.complete(one, Outcome::Failed(Failure::Address.into()), secs(0)).unwrap();
    assert_eq!(waits(&mut frontier, 0), None);
    assert_eq!(answer(&mut frontier, other, 200, None, 1), Completion::Done);
    let mut given_up = 0;
    while let Next::GiveUp(lease) = frontier.next(secs(1)).unwrap() {
        frontier.complete(lease, Outcome::GivenUp, secs(1)).unwrap();
        given_up += 1;
    }
    assert_eq!((given_up, frontier.statistics().unreachable), (3, 3));
}

#[test]
fn robots_are_fetched_alone() {
    let mut options = FrontierOptions::default();
    options.politeness.connections_per_host = 3;
    options.politeness.host_delay = Duration::ZERO;
    options.politeness.robots_ttl = Duration::from_secs(100);
    let mut frontier = Frontier::new(&options).unwrap();
    (0..9).for_each(|page| _ = frontier.seed(&*format!("https://a.example/{page}"), secs(0)).unwrap());
    let robots = lease(&mut frontier, 0);
    assert_eq!(
        (robots.kind(), waits(&mut frontier, 0)),
        (LeaseKind::Robots, None),
        "nothing before its rules are known"
    );
    let rules = Outcome::response(&robots, 200, b"User-agent: *\nDisallow: /3");
    frontier.complete(robots, rules, secs(0)).unwrap();
    let mut out: Vec<Lease> = (0..3).map(|_| lease(&mut frontier, 0)).collect();
    answer(&mut frontier, out.remove(1), 200, None, 0);
    // The fourth is disallowed, and two are out around it.
    let next = lease(&mut frontier, 0);
    assert_eq!((next.url(), frontier.gate().refusals().total()), ("https://a.example/4", 1));
    answer(&mut frontier, next, 200, None, 0);
    // The file is stale, and two pages are out.
    assert_eq!(waits(&mut frontier, 200), None);
    answer(&mut frontier, out.remove(0), 200, None, 200);
    assert_eq!(waits(&mut frontier, 200), None);
    answer(&mut frontier, out.remove(0), 200, None, 200);
    assert_eq!(lease(&mut frontier, 200).kind(), LeaseKind::Robots);
    assert_eq!(waits(&mut frontier, 200), None);
}

#[test]
fn a_number_out_of_range_is_refused_by_its_key() {
    for connections in [0, 65, 255] {
        let mut options = FrontierOptions::default();
        options.politeness.connections_per_host = connections;
        let error: OptionError = Frontier::new(&options).unwrap_err();
        assert_eq!(error.to_string(), format!("politeness.connections_per_host = {connections}: is from 1 to 64"));
        let mut options = FrontierOptions::default();
        options.politeness.first_contacts_per_host = connections;
        let error: OptionError = Frontier::new(&options).unwrap_err();
        assert_eq!(error.to_string(), format!("politeness.first_contacts_per_host = {connections}: is from 1 to 64"));
    }
}

#[test]
fn a_host_that_never_answered_has_as_many_requests_out_as_first_contacts_may_be() {
    for (connections, first_contacts, out) in [(8, 1, 1), (8, 3, 3), (2, 3, 2), (1, 64, 1)] {
        let mut options = FrontierOptions::default();
        (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
        options.politeness.connections_per_host = connections;
        options.politeness.first_contacts_per_host = first_contacts;
        let mut frontier = Frontier::new(&options).unwrap();
        (0..9).for_each(|page| _ = frontier.seed(&format!("https://a.example/{page}"), secs(0)).unwrap());
        let mut leases: Vec<Lease> = (0..out).map(|_| lease(&mut frontier, 0)).collect();
        assert_eq!(waits(&mut frontier, 0), None, "{connections} and {first_contacts}");
        // From its first answer on, its connections count.
        answer(&mut frontier, leases.remove(0), 200, None, 0);
        leases.extend((out - 1..connections.into()).map(|_| lease(&mut frontier, 0)));
        assert_eq!(waits(&mut frontier, 0), None, "{connections} and {first_contacts}");
        assert!(leases.iter().skip(out - 1).all(|lease| !lease.is_first_contact()));
    }
}

#[test]
fn a_host_that_fails_before_it_answers_is_asked_once_at_a_time() {
    let mut options = FrontierOptions::default();
    (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
    (options.politeness.connections_per_host, options.politeness.first_contacts_per_host) = (3, 3);
    let mut frontier = Frontier::new(&options).unwrap();
    (0..9).for_each(|page| _ = frontier.seed(&format!("https://a.example/{page}"), secs(0)).unwrap());
    let leases: Vec<Lease> = (0..3).map(|_| lease(&mut frontier, 0)).collect();
    // One outage is one failure.
    for lease in leases {
        frontier.complete(lease, Outcome::Failed(Failure::Connect.into()), secs(1)).unwrap();
    }
    assert_eq!(frontier.failing_hosts(1)[0].failures, 1);
    assert_eq!(waits(&mut frontier, 1), Some(11));
    let _one = lease(&mut frontier, 11);
    assert_eq!(waits(&mut frontier, 11), Some(61), "the crawl's patience, and nothing before that");
}
