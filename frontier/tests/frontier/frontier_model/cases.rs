//! Lists of actions that the random ones have met, once each: what happened there, and what is right.

use std::time::Duration;

use crawler_frontier::frontier::{Failure, FrontierOptions, HostGroup, HostRule, Timestamp};
use crawler_frontier::gate::ScopeKind;

use super::{Answer, Both, End, HOSTS, key, key_of, origin};

/// A port is called while the other one's answer retires both: nothing waits for the server's longer rest then.
#[test]
fn a_server_that_is_given_up_keeps_no_time() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.connections_per_host = 2;
    (options.politeness.attempts, options.politeness.host_failures) = (1, 1);
    (options.politeness.backoff, options.politeness.patience) = (Duration::from_secs(3), Duration::ZERO);
    let mut both = Both::new(&options, Timestamp::from_micros(1 << 50));
    let end = |status| End::Status { status, retry_after: None, crawl_delay: false };
    // A page of another host is out all the while.
    both.submit(0, 0, false);
    both.next();
    both.complete(0, end(200), (None, 0));
    both.now = both.now + Duration::from_secs(1);
    assert!(matches!(both.next(), Answer::Fetch { .. }));
    (2..4).for_each(|port| both.submit(port, 0, false));
    both.next();
    assert_eq!(both.next(), Answer::Wait(both.now + Duration::from_secs(1)));
    both.now = both.now + Duration::from_secs(1);
    both.complete(1, end(408), (None, 0));
    assert!((0..2).all(|_| matches!(both.next(), Answer::GiveUp { .. })));
    assert_eq!(both.next(), Answer::Busy);
}

/// A page is out to be given up while its host is asked again and the other port of its server comes: nothing was asked, so the server
/// is free, and both ports are asked to the end.
#[test]
fn a_page_that_is_given_up_takes_no_place_of_its_server() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.politeness.robots, options.politeness.host_failures) = (false, 1);
    let now = Timestamp::from_micros(1 << 50);
    let mut both = Both::new(&options, now);
    both.submit(2, 0, false);
    both.next();
    both.complete(0, End::Failed(Failure::Connect), (None, 0));
    assert!(matches!(both.next(), Answer::GiveUp { .. }));
    assert_eq!(both.frontier.ask_again(now).unwrap(), both.model.ask_again(now));
    both.submit(3, 0, false);
    both.complete(0, End::Released, (None, 0));
    let mut asked = 0;
    loop {
        match both.next() {
            Answer::Fetch { .. } => asked += 1,
            Answer::Wait(until) => both.now = until,
            Answer::Busy => {
                both.complete(0, End::Status { status: 200, retry_after: None, crawl_delay: false }, (None, 0));
            }
            Answer::GiveUp { .. } | Answer::Drained => break,
        }
    }
    assert_eq!(asked, 2);
}

/// A host answers so slowly that it rests longer, while its page is in hand: hosts that were due before its rest is over go first.
#[test]
fn a_host_stands_for_its_turn_only_after_the_rest_that_its_page_in_hand_knows_of() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.robots = false;
    (options.politeness.connections_per_host, options.politeness.first_contacts_per_host) = (2, 2);
    (options.politeness.host_delay, options.politeness.adaptive_share) = (Duration::from_secs(1), Some(0.5));
    let mut both = Both::new(&options, Timestamp::from_micros(1 << 50));
    (0..3).for_each(|_| both.submit(0, 0, false));
    both.next();
    both.complete(0, End::Status { status: 200, retry_after: None, crawl_delay: false }, (None, 0));
    both.now = both.now + Duration::from_secs(1);
    both.next();
    both.answered(0, (200, None), (700, 0));
    both.now = both.now + Duration::from_secs(1);
    both.submit(1, 0, false);
    both.now = both.now + Duration::from_millis(500);
    for host in [1, 0] {
        let next = both.next();
        assert!(matches!(&next, Answer::Fetch { url, .. } if url.starts_with(origin(host))), "{next:?}");
    }
}

/// A port is retired by its twin while it is asked for its robots.txt. A queue learns the rules of that origin before the port fails once
/// more: they hold for the queue.
#[test]
fn a_port_that_fails_once_more_takes_no_rules_from_a_queue() {
    let end = |status| End::Status { status, retry_after: None, crawl_delay: false };
    for fails in [End::Failed(Failure::Connect), end(408)] {
        let mut options = FrontierOptions::default();
        options.scope.kind = ScopeKind::Any;
        (options.politeness.connections_per_host, options.politeness.host_failures) = (2, 1);
        (options.politeness.host_delay, options.politeness.robots_ttl) = (Duration::ZERO, Duration::from_secs(1));
        let mut both = Both::new(&options, Timestamp::from_micros(1 << 50));
        // The second port of a server, and a page of the queue there.
        let of_queue = HOSTS + 3;
        for place in [2, 3, of_queue] {
            both.submit(place, 0, false);
            assert!(matches!(both.next(), Answer::Fetch { page: None, .. }));
        }
        for (of, end) in [(key(2), end(408)), ("@q0", end(200)), (key(3), fails)] {
            let lease = both.leases.iter().position(|lease| key_of(lease) == of).unwrap();
            both.complete(lease, end, (None, 0));
        }
        both.now = both.now + Duration::from_secs(2);
        both.submit(of_queue, 0, false);
        let mut fetched = 0;
        while fetched < 2 {
            match both.next() {
                Answer::Fetch { page, .. } => fetched += usize::from(page.is_some()),
                Answer::GiveUp { .. } => {}
                answer => panic!("{answer:?} and {fetched} pages"),
            }
            (0..both.leases.len()).for_each(|_| both.complete(0, end(200), (None, 0)));
        }
    }
}

/// Nobody waits for a rate group any more that was to be free by now: all hosts sleep until the hours of one begin.
#[test]
fn hosts_sleep_until_their_hours_though_a_group_was_to_be_free() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    (options.politeness.robots, options.politeness.host_delay) = (false, Duration::ZERO);
    options.politeness.hours = Some("06:00-22:00".parse().unwrap());
    let all_day = HostRule { hours: Some("always".parse().unwrap()), ..HostRule::default() };
    options.rules.hosts.insert("h2.example".to_owned(), all_day);
    let (hosts, delay) = (vec!["h2.example".to_owned()], Some(Duration::from_secs(1)));
    let group = HostGroup { hosts, delay, connections: Some(2), ..HostGroup::default() };
    options.rules.groups.insert("h2".to_owned(), group);
    // Two minutes before six.
    let mut both = Both::new(&options, Timestamp::from_micros(1 << 50));
    for host in [0, 3, 2] {
        both.submit(host, 0, false);
    }
    both.next();
    both.complete(0, End::Moved, (None, 0));
    assert_eq!(both.next(), Answer::Wait(both.now + Duration::from_secs(1)));
    both.now = both.now + Duration::from_secs(1);
    both.drop(2, false);
    both.next_many(0);
    assert!(both.frontier.sleeps_until().is_some_and(|(until, hosts)| until > both.now && hosts == 1));
}

/// One page of a host was refused, and so is another that was out with it: the rest that this one asks for is in no record, since it says
/// nothing new. A third page is slow, and makes the rest of 8 s after the first two milliseconds longer, not the one that was asked for.
#[test]
fn a_rest_that_a_page_in_hand_asked_for_is_not_made_longer_by_a_slow_page() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    let politeness = &mut options.politeness;
    (politeness.robots, politeness.host_delay, politeness.adaptive_share) = (false, Duration::ZERO, Some(0.5));
    (politeness.connections_per_host, politeness.first_contacts_per_host) = (3, 3);
    (politeness.backoff, politeness.max_backoff) = (Duration::from_secs(8), Duration::from_secs(40));
    let now = Timestamp::from_micros(1 << 50);
    let mut both = Both::new(&options, now);
    let end = |status| End::Status { status, retry_after: None, crawl_delay: false };
    (0..4).for_each(|_| both.submit(1, 0, false));
    (0..3).for_each(|_| assert!(matches!(both.next(), Answer::Fetch { .. })));
    both.complete(0, end(429), (None, 0));
    both.now = now + Duration::from_millis(1);
    both.answered(0, (429, None), (0, 0));
    both.complete(1, end(200), (Some(1), 0));
    assert_eq!(both.next(), Answer::Wait(now + Duration::from_millis(8002)));
}
