//! The two ends of a lease: its host is done, by `Frontier::answered`, and its page later.

use std::time::Duration;

use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierError, FrontierOptions, HostAnswer, HostGroup, Lease, LeaseKind, Next,
    Outcome,
};
use crawler_frontier::gate::ScopeKind;

use crate::asked::{lease, millis, waits_until};

/// No robots.txt, and a quarter of a second between two requests.
fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    (options.politeness.robots, options.scope.kind) = (false, ScopeKind::Any);
    options.politeness.host_delay = Duration::from_millis(250);
    options
}

/// A frontier with this many pages of one host.
fn site(options: &FrontierOptions, pages: usize) -> Frontier {
    let mut frontier = Frontier::new(options).unwrap();
    (0..pages).for_each(|page| _ = frontier.seed(&format!("https://a.example/{page}"), millis(0)).unwrap());
    frontier
}

fn answered(frontier: &mut Frontier, lease: &mut Lease, status: u16, at: u64) {
    frontier.answered(lease, HostAnswer::new(status, millis(at)), millis(at)).unwrap();
}

fn response(status: u16) -> Outcome {
    Outcome::Response { status, retry_after: None }
}

fn failures(frontier: &Frontier) -> u32 {
    frontier.failing_hosts(9).iter().map(|host| host.failures).sum()
}

/// Each response comes after 50 ms, and each page is worked on for two seconds.
#[test]
fn a_page_that_is_worked_on_slows_its_host_no_more() {
    let mut ends = Vec::new();
    for says_it in [false, true] {
        let mut frontier = site(&options(), 9);
        let (mut now, mut working) = (0, Vec::new());
        let mut asked = Vec::new();
        while frontier.statistics().completed < 9 {
            // Its host may be done at 50 ms, and its page after two seconds.
            working.retain_mut(|(began, lease): &mut (u64, Option<Lease>)| {
                if now == *began + 50 && says_it {
                    answered(&mut frontier, lease.as_mut().unwrap(), 200, now);
                }
                let is_over = now == *began + 2050;
                if is_over {
                    let mut lease = lease.take().unwrap();
                    lease.answered(millis(*began + 50), Duration::from_millis(50), 1);
                    frontier.complete(lease, response(200), millis(now)).unwrap();
                }
                !is_over
            });
            if let Next::Fetch(lease) = frontier.next(millis(now)).unwrap() {
                asked.push(now);
                working.push((now, Some(lease)));
            }
            now += 50;
        }
        assert!(asked.windows(2).all(|pair| pair[1] - pair[0] >= 300), "{asked:?}");
        ends.push(*asked.last().unwrap());
    }
    // Eight times from one request to the next: two seconds and 50 ms, or 300 ms.
    assert_eq!(ends, [8 * 2050, 8 * 300]);
}

#[test]
fn what_a_host_answered_counts_once() {
    for (status, then, counts, retries) in [
        (503, response(503), 1, 1),
        (503, response(200), 1, 0),
        (503, Outcome::Failed(Failure::Timeout.into()), 1, 1),
        (503, Outcome::Released, 1, 0),
        (429, response(429), 1, 1),
        (200, response(503), 0, 1),
        (200, Outcome::Failed(Failure::Connect.into()), 0, 1),
        (200, response(200), 0, 0),
        (404, response(404), 0, 0),
    ] {
        for timeout in [None, Some(Duration::from_secs(3600))] {
            let mut options = options();
            options.lease_timeout = timeout;
            let mut frontier = site(&options, 2);
            let mut one = lease(&mut frontier, 0);
            answered(&mut frontier, &mut one, status, 50);
            answered(&mut frontier, &mut one, 500, 60);
            assert!(one.is_in_hand());
            assert_eq!(failures(&frontier), counts, "{status}");
            let completion = frontier.complete(one, then.clone(), millis(2000)).unwrap();
            assert_eq!(failures(&frontier), counts, "{status}, {then:?}");
            let statistics = frontier.statistics();
            assert_eq!((statistics.retries, statistics.in_hand), (retries, 0), "{status}, {then:?}");
            let is_done = retries == 0 && !matches!(then, Outcome::Released);
            assert_eq!(completion == Completion::Done, is_done, "{status}, {then:?}");
            assert_eq!(statistics.queued + statistics.scheduled, 2 - u64::from(is_done));
        }
    }
}

/// A completion says nothing of the host: it neither clears failures nor ends a rest.
#[test]
fn a_completion_leaves_its_host_as_it_is() {
    let mut frontier = site(&options(), 3);
    let mut one = lease(&mut frontier, 0);
    answered(&mut frontier, &mut one, 200, 0);
    let mut two = lease(&mut frontier, 250);
    answered(&mut frontier, &mut two, 503, 300);
    frontier.complete(one, response(200), millis(400)).unwrap();
    assert_eq!((failures(&frontier), waits_until(&mut frontier, 400)), (1, 10_300));
    // What is given back goes first again, and nothing was asked anew.
    frontier.complete(two, Outcome::Released, millis(500)).unwrap();
    assert_eq!((failures(&frontier), waits_until(&mut frontier, 500)), (1, 10_300));
    assert_eq!(lease(&mut frontier, 10_300).url(), "https://a.example/1");
}

#[test]
fn a_rest_outlasts_a_page_that_is_given_back() {
    let mut frontier = site(&options(), 1);
    let mut one = lease(&mut frontier, 0);
    answered(&mut frontier, &mut one, 200, 50);
    frontier.complete(one, Outcome::Released, millis(60)).unwrap();
    assert_eq!(waits_until(&mut frontier, 60), 300);
    assert_eq!(lease(&mut frontier, 300).attempt(), 1);
}

#[test]
fn nothing_more_is_lent_while_hands_are_full() {
    let mut options = options();
    options.pages_in_hand = 2;
    options.politeness.host_delay = Duration::ZERO;
    let mut frontier = site(&options, 9);
    frontier.seed("https://b.example/", millis(0)).unwrap();
    let mut leases: Vec<Lease> = (0..2).map(|_| lease(&mut frontier, 0)).collect();
    answered(&mut frontier, &mut leases[0], 200, 0);
    leases.push(lease(&mut frontier, 0));
    // The requests that are out by then may be answered all the same.
    for lease in &mut leases {
        answered(&mut frontier, lease, 200, 0);
    }
    assert!(matches!(frontier.next(millis(0)).unwrap(), Next::Busy));
    let statistics = frontier.statistics();
    assert_eq!((statistics.leased, statistics.in_hand, statistics.queued), (3, 3, 7));
    for (completed, lends) in [(1, false), (2, true)] {
        frontier.complete(leases.remove(0), response(200), millis(0)).unwrap();
        assert_eq!(matches!(frontier.next(millis(0)).unwrap(), Next::Fetch(_)), lends, "{completed}");
    }
    options.pages_in_hand = 0;
    assert_eq!(Frontier::new(&options).unwrap_err().to_string(), "pages_in_hand = 0: is at least 1");
}

/// One host does not get all hands: a page that is out must be found near the front of its queue.
#[test]
fn one_host_has_128_pages_in_hand() {
    let mut options = options();
    options.politeness.host_delay = Duration::ZERO;
    let mut frontier = site(&options, 200);
    frontier.seed("https://b.example/", millis(0)).unwrap();
    let mut leases = Vec::new();
    while let Next::Fetch(mut lease) = frontier.next(millis(0)).unwrap() {
        answered(&mut frontier, &mut lease, 200, 0);
        leases.push(lease);
    }
    let of_host = leases.iter().filter(|lease| lease.origin() == "https://a.example").count();
    assert_eq!((of_host, leases.len()), (128, 129));
    frontier.complete(leases.remove(0), response(200), millis(0)).unwrap();
    assert_eq!(lease(&mut frontier, 0).url(), "https://a.example/128");
}

#[test]
fn pages_in_hand_count_for_budgets() {
    let mut options = options();
    options.politeness.host_delay = Duration::ZERO;
    options.politeness.host_pages = Some(2);
    let hosts = vec!["b.example".to_owned(), "c.example".to_owned()];
    let group = HostGroup { hosts, max_pages: Some(1), ..HostGroup::default() };
    options.rules.groups.insert("two".to_owned(), group);
    let mut frontier = site(&options, 5);
    _ = ["b", "c"].map(|host| frontier.seed(&format!("https://{host}.example/"), millis(0)).unwrap());
    let mut leases = Vec::new();
    while let Next::Fetch(mut lease) = frontier.next(millis(0)).unwrap() {
        answered(&mut frontier, &mut lease, 200, 0);
        leases.push(lease);
    }
    assert_eq!(leases.len(), 3, "two of the first host, and one of the group");
    // A page that is not done leaves room.
    let at = leases.iter().position(|lease| lease.origin() == "https://b.example").unwrap();
    frontier.complete(leases.remove(at), Outcome::Released, millis(0)).unwrap();
    let again = lease(&mut frontier, 0);
    assert!(["https://b.example", "https://c.example"].contains(&again.origin()));
    leases.push(again);
    for lease in leases {
        frontier.complete(lease, response(200), millis(0)).unwrap();
    }
    assert!(matches!(frontier.next(millis(0)).unwrap(), Next::Drained));
    assert_eq!(frontier.statistics().completed, 3);
}

#[test]
fn a_robots_txt_has_one_end() {
    let mut options = options();
    (options.politeness.robots, options.lease_timeout) = (true, Some(Duration::from_secs(60)));
    let mut frontier = site(&options, 1);
    let mut robots = lease(&mut frontier, 0);
    answered(&mut frontier, &mut robots, 200, 50);
    frontier.answered_token(robots.token().unwrap(), HostAnswer::new(200, millis(50)), millis(50)).unwrap();
    assert!(!robots.is_in_hand());
    assert_eq!(waits_until(&mut frontier, 1000), 60_000, "nothing is lent before its rules are known");
    let outcome = Outcome::response(&robots, 200, b"");
    frontier.complete(robots, outcome, millis(2000)).unwrap();
    // Its host rests from its answer on, as with `Lease::answered`.
    assert_eq!(lease(&mut frontier, 2000).kind(), LeaseKind::Page);
}

#[test]
fn a_page_in_hand_ends_at_its_deadline() {
    let mut options = options();
    options.lease_timeout = Some(Duration::from_secs(60));
    let mut frontier = site(&options, 1);
    let one = lease(&mut frontier, 0);
    let token = one.token().unwrap();
    frontier.answered_token(token, HostAnswer::new(503, millis(50)), millis(50)).unwrap();
    frontier.extend_token(token, millis(1000)).unwrap();
    assert_eq!(frontier.expire(millis(60_000)).unwrap(), 0);
    assert_eq!(frontier.expire(millis(61_000)).unwrap(), 1);
    assert_eq!((failures(&frontier), frontier.statistics().in_hand), (1, 0));
    let late = frontier.answered_token(token, HostAnswer::new(503, millis(50)), millis(61_000));
    assert!(matches!(late, Err(FrontierError::LeaseOver(_))));
    // Its host has rested: it was not asked meanwhile. The lease that is held elsewhere is over too.
    assert_eq!(lease(&mut frontier, 61_000).attempt(), 1);
    assert!(frontier.complete(one, response(200), millis(61_000)).is_err());
}

/// A page in hand may bring more, and it may come back.
#[test]
fn a_frontier_drains_only_when_no_page_is_in_hand() {
    let mut frontier = site(&options(), 1);
    let mut one = lease(&mut frontier, 0);
    answered(&mut frontier, &mut one, 200, 50);
    assert!(matches!(frontier.next(millis(9000)).unwrap(), Next::Busy));
    let url = frontier.gate().canonicalizer().canonicalize(one.url()).unwrap();
    let explained = frontier.explain(&url, millis(9000)).unwrap().to_string();
    assert!(explained.contains("0 queued") && explained.contains("1 of its pages in hand"), "{explained}");
    frontier.links(&one, ["/more"], millis(9000)).unwrap();
    let more = lease(&mut frontier, 9000);
    frontier.complete(one, response(200), millis(9000)).unwrap();
    frontier.complete(more, response(200), millis(9000)).unwrap();
    assert!(matches!(frontier.next(millis(9000)).unwrap(), Next::Drained));
}

/// Two refusals retire the host, the second without a record of its own. Whoever asks again waits for neither.
#[test]
fn a_host_that_is_asked_again_forgets_what_its_pages_in_hand_knew() {
    let mut options = options();
    (options.politeness.host_failures, options.politeness.patience) = (1, Duration::ZERO);
    options.politeness.connections_per_host = 2;
    let mut frontier = site(&options, 3);
    let mut first = lease(&mut frontier, 0);
    answered(&mut frontier, &mut first, 200, 0);
    let (mut second, mut third) = (lease(&mut frontier, 250), lease(&mut frontier, 500));
    answered(&mut frontier, &mut second, 429, 600);
    answered(&mut frontier, &mut third, 429, 700);
    frontier.complete(first, response(200), millis(700)).unwrap();
    assert_eq!(frontier.ask_again(millis(700)).unwrap(), 0);
    let moved = Outcome::Moved { to: "https://a.example/2?".to_owned() };
    assert_eq!(frontier.complete(third, moved, millis(700)).unwrap(), Completion::Retry(millis(950)));
    frontier.complete(second, response(200), millis(700)).unwrap();
}
