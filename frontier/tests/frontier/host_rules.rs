//! Rules for single hosts and for groups of them.

mod groups;
mod one_server;

use std::collections::BTreeMap;
use std::time::Duration;

use crawler_frontier::driver::{LinkUrl, Links};
use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, HostGroup, HostRule, HostRules, Hours, Lease, LeaseKind, Next,
    Outcome, Reply, Timestamp,
};
use crawler_frontier::gate::{Refusal, ScopeKind};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

/// A frontier with pages of hosts by name.
fn frontier(options: &FrontierOptions, hosts: &[&str], pages: usize) -> Frontier {
    let mut frontier = Frontier::new(options).unwrap();
    for host in hosts {
        for page in 0..pages {
            frontier.seed(&*format!("http://{host}/{page}"), Timestamp::default()).unwrap();
        }
    }
    frontier
}

fn options() -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options
}

#[test]
fn a_host_is_treated_by_the_rule_that_names_it() {
    let mut options = options();
    let rule = |seconds: u32| HostRule { host_delay: Some(seconds * SECOND), ..HostRule::default() };
    options.rules.hosts.insert("*.slow.test".to_owned(), rule(10));
    options.rules.hosts.insert("quick.slow.test".to_owned(), HostRule { robots: Some(false), ..rule(2) });
    options.rules.hosts.insert(
        "wide.test".to_owned(),
        HostRule {
            connections_per_host: Some(3),
            robots: Some(false),
            host_delay: Some(Duration::ZERO),
            ..HostRule::default()
        },
    );
    let mut frontier = frontier(&options, &["plain.test", "a.slow.test", "quick.slow.test", "wide.test:8080"], 6);
    let (mut now, mut starts) = (Timestamp::default(), BTreeMap::<String, Vec<u64>>::new());
    let (mut robots, mut beside) = (Vec::new(), 0);
    let mut out = Vec::new();
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let second = now.as_micros() / 1_000_000;
                if lease.kind() == LeaseKind::Robots {
                    robots.push(lease.origin().to_owned());
                }
                starts.entry(lease.origin().to_owned()).or_default().push(second);
                out.push(lease);
                let wide = out.iter().filter(|lease| lease.origin() == "http://wide.test:8080").count();
                beside = beside.max(wide);
            }
            Next::Wait(until) if out.is_empty() => now = until,
            Next::Wait(_) | Next::Busy => {
                let lease = out.swap_remove(0);
                let outcome = Outcome::response(&lease, 404, b"");
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::GiveUp(_) => unreachable!("they all answer"),
            Next::Drained => break,
        }
    }
    robots.sort();
    assert_eq!(robots, ["http://a.slow.test", "http://plain.test"]);
    assert_eq!(starts["http://plain.test"], [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(starts["http://a.slow.test"], [0, 10, 20, 30, 40, 50, 60]);
    assert_eq!(starts["http://quick.slow.test"], [0, 2, 4, 6, 8, 10]);
    assert_eq!(starts["http://wide.test:8080"], [0; 6]);
    assert_eq!(beside, 3);
}

/// Each link is judged by the depth of its own host, in whatever order the depths come: answers that are known must not be taken for
/// those at another depth.
#[test]
fn a_host_has_a_depth_of_its_own() {
    let deep = |most: u32| HostRule { max_depth: Some(most), ..HostRule::default() };
    let mut options = options();
    options.scope.max_depth = Some(3);
    options.rules.hosts.insert("*.shallow.test".to_owned(), deep(1));
    options
        .rules
        .hosts
        .insert("quiet.shallow.test".to_owned(), HostRule { robots: Some(false), ..HostRule::default() });
    options.rules.hosts.insert("deep.test".to_owned(), deep(u32::MAX));
    let hosts = vec!["*.two.test".to_owned(), "x.shallow.test".to_owned()];
    options.rules.groups.insert("two".to_owned(), HostGroup { hosts, each: deep(2), ..HostGroup::default() });
    let hosts = [
        ("plain.test", 3),
        ("shallow.test", 1),
        ("a.shallow.test.", 1),
        ("quiet.shallow.test", 1),
        ("x.shallow.test", 1),
        ("a.two.test:8080", 2),
        ("deep.test", u32::MAX),
    ];
    for order in [[1, 2, 3, 4, 9], [9, 4, 3, 2, 1], [4, 1, 9, 2, 3]] {
        let frontier = Frontier::new(&options).unwrap();
        let gate = frontier.gate();
        let (_, base) = gate.canonicalizer().page("http://plain.test/").unwrap();
        for depth in order.iter().chain(&order) {
            let mut links = Links::new(*depth, None);
            for (host, most) in hosts {
                let href = format!("//{host}/page");
                let judged = links.add(gate, &mut LinkUrl::new(&base, &href), false);
                assert_eq!(judged == Err(Refusal::TooDeep), *depth > most, "{host} at {depth}: {judged:?}");
            }
            gate.admit_links(links);
        }
        assert_eq!(gate.admitted(), hosts.len() as u64);
    }
    let mut frontier = Frontier::new(&options).unwrap();
    for (url, rule) in [("http://a.shallow.test/", "max_depth = 1"), ("http://plain.test/", "max_depth = 3")] {
        let url = frontier.gate().canonicalizer().canonicalize(url).unwrap();
        let verdict = frontier.explain(&url, Timestamp::default()).unwrap().verdict().to_string();
        assert!(verdict.ends_with(&format!("or deeper than {rule}")), "{verdict}");
    }
    // Seeds alone, but of one host.
    options.scope.max_depth = Some(0);
    assert!(Frontier::new(&options).unwrap().gate().takes_sitemaps());
    options.rules = HostRules::default();
    assert!(!Frontier::new(&options).unwrap().gate().takes_sitemaps());
}

const HOUR: Duration = Duration::from_secs(3600);

/// So many hours after the epoch, which began at midnight.
fn at(hour: u32) -> Timestamp {
    Timestamp::default() + hour * HOUR
}

fn by_night(hours: &str) -> FrontierOptions {
    let mut options = options();
    let rule = HostRule { hours: Some(hours.parse().unwrap()), ..HostRule::default() };
    options.rules.hosts.insert("night.test".to_owned(), rule);
    options.politeness.robots_ttl = 1000 * HOUR;
    options
}

#[test]
fn a_host_is_asked_within_its_hours_alone_for_its_robots_txt_too() {
    for (hours, expected) in [
        ("22:00-06:00", vec![22, 23, 24, 25, 26, 27, 28, 29, 46, 47]),
        ("22:00-06:00 +02:00", vec![20, 21, 22, 23, 24, 25, 26, 27, 44, 45]),
        ("09:00-11:00", vec![33, 34, 57, 58, 81, 82, 105, 106, 129, 130]),
        ("always", vec![12, 13, 14, 15, 16, 17, 18, 19, 20, 21]),
    ] {
        let mut options = by_night(hours);
        options.politeness.host_delay = HOUR;
        let mut frontier = frontier(&options, &["night.test"], 9);
        let (mut now, mut asked) = (at(12), Vec::new());
        loop {
            match frontier.next(now).unwrap() {
                Next::Fetch(lease) => {
                    asked.push(now.since(Timestamp::default()).as_secs() / 3600);
                    let outcome = Outcome::response(&lease, 404, b"");
                    frontier.complete(lease, outcome, now).unwrap();
                }
                Next::Wait(until) => {
                    assert!(until > now);
                    let is_asleep = until.since(now) > HOUR;
                    assert_eq!(frontier.statistics().sleeping_hosts, u64::from(is_asleep), "{hours} at {now}");
                    now = until;
                }
                Next::Drained => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(asked, expected, "{hours}");
        assert_eq!(frontier.statistics().sleeping_hosts, 0);
    }
}

#[test]
fn a_host_that_sleeps_says_until_when_and_is_neither_given_up_nor_in_the_way() {
    // Less than it sleeps. Without any, it is asked all the same when it wakes: it could not be asked before.
    for patience in [10 * SECOND, Duration::ZERO] {
        sleeps_and_is_asked(patience);
    }
}

fn sleeps_and_is_asked(patience: Duration) {
    let mut options = by_night("22:00-06:00");
    options.politeness.patience = patience;
    options.politeness.backoff = SECOND;
    let mut frontier = frontier(&options, &["night.test", "day.test"], 2);
    let mut now = at(28) + 59 * Duration::from_secs(60) + 59 * SECOND;
    // It fails a moment before its hours are over, and rests into the day.
    now = now + HOUR;
    let mut asked = BTreeMap::<String, u32>::new();
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                *asked.entry(lease.origin().to_owned()).or_default() += 1;
                let outcome = if lease.origin() == "http://night.test" && now < at(40) {
                    Outcome::Failed(Failure::Connect.into())
                } else {
                    Outcome::response(&lease, 404, b"")
                };
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::Wait(until) => {
                if until == at(46) && now < at(40) {
                    assert_eq!(asked, [("http://day.test".to_owned(), 3), ("http://night.test".to_owned(), 1)].into());
                    let url = frontier.gate().canonicalizer().canonicalize("http://night.test/1").unwrap();
                    let verdict = frontier.explain(&url, now).unwrap().to_string();
                    assert!(verdict.contains("is asked at 22:00-06:00, from 1970-01-02T22:00:00.000Z on"), "{verdict}");
                }
                now = until;
            }
            Next::Drained => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(asked["http://night.test"], 4);
    assert_eq!(frontier.statistics().completed, 4);
}

/// A host that has its own rest, and shares a clock with one that may always be asked.
#[test]
fn hours_and_a_group_hold_at_once() {
    let mut options = by_night("22:00-06:00");
    let hosts = vec!["night.test".to_owned(), "day.test".to_owned()];
    options.rules.groups.insert("both".to_owned(), HostGroup { hosts, delay: Some(HOUR), ..HostGroup::default() });
    let mut frontier = frontier(&options, &["night.test", "day.test"], 12);
    let (mut now, mut asked) = (at(12), BTreeMap::<String, u32>::new());
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let hour = now.since(Timestamp::default()).as_secs() / 3600 % 24;
                assert!(lease.origin() != "http://night.test" || !(6..22).contains(&hour), "{} at {now}", lease.url());
                *asked.entry(lease.origin().to_owned()).or_default() += 1;
                let outcome = Outcome::response(&lease, 404, b"");
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::Wait(until) => now = until,
            Next::Drained => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(asked.into_values().collect::<Vec<_>>(), [13, 13]);
}

/// Of several that may be out at once, no more go out than are left; what else comes back than a page with its record counts for none.
#[test]
fn a_budget_is_met_exactly_by_an_embedder_too() {
    let mut options = options();
    options.politeness.host_delay = Duration::ZERO;
    options.politeness.backoff = Duration::ZERO;
    options.politeness.connections_per_host = 4;
    options.politeness.host_pages = Some(5);
    let mut frontier = frontier(&options, &["a.test", "b.test"], 12);
    let (mut now, mut out) = (Timestamp::default(), Vec::new());
    let mut done = BTreeMap::<String, u32>::new();
    let mut tries = 0;
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                out.push(lease);
                for host in ["http://a.test", "http://b.test"] {
                    let beside = out.iter().filter(|lease| lease.origin() == host && lease.kind() == LeaseKind::Page);
                    let had = done.get(host).copied().unwrap_or_default();
                    assert!(had as usize + beside.count() <= 5, "{host} has had {had}");
                }
            }
            Next::Drained => break,
            waits if out.is_empty() => {
                let Next::Wait(until) = waits else { panic!("{waits:?}") };
                now = until;
            }
            _ => {
                let lease = out.swap_remove(out.len() / 2);
                tries += 1;
                // Each page breaks once before it answers.
                let is_first = lease.kind() == LeaseKind::Page && lease.attempt() == 1;
                let (host, kind) = (lease.origin().to_owned(), lease.kind());
                let reply = Reply::from(if is_first { 500 } else { 200 });
                frontier.answer(lease, &reply, now).unwrap();
                if kind == LeaseKind::Page && !is_first {
                    *done.entry(host).or_default() += 1;
                }
            }
        }
    }
    assert_eq!(done.into_values().collect::<Vec<_>>(), [5, 5]);
    assert!(tries >= 20);
    assert_eq!(frontier.gate().refusals().of(Refusal::HostPages), 14);
    let hosts = frontier.top_hosts(2);
    assert!(hosts.iter().all(|host| (host.pages, host.left_out) == (5, 7)), "{hosts:?}");
}

#[test]
fn a_budget_of_bytes_lets_what_is_out_come_to_its_end() {
    let mut options = options();
    options.politeness.host_delay = Duration::ZERO;
    options.politeness.host_bytes = Some(1000);
    let mut frontier = frontier(&options, &["a.test"], 12);
    let (mut now, mut asked) = (Timestamp::default(), 0);
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                asked += u32::from(lease.kind() == LeaseKind::Page);
                let mut reply = Reply::from(200);
                reply.body = &[b' '; 300];
                frontier.answer(lease, &reply, now).unwrap();
            }
            Next::Wait(until) => now = until,
            Next::Drained => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((asked, frontier.gate().refusals().of(Refusal::HostBytes)), (4, 8));
    assert_eq!(frontier.top_hosts(1)[0].bytes, 1200, "but for robots.txt");
}

#[test]
fn a_budget_of_bytes_counts_a_page_that_moves_to_another_spelling() {
    let mut options = options();
    options.politeness.host_delay = Duration::ZERO;
    let mut frontier = frontier(&options, &["a.test"], 1);
    let mut now = Timestamp::default();
    let mut bytes = 0;
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) if lease.kind() == LeaseKind::Robots => {
                frontier.answer(lease, &Reply::from(404), now).unwrap();
            }
            Next::Fetch(lease) => {
                let moves = bytes == 0;
                let to = format!("{}?utm_source=x", lease.url());
                let mut reply = Reply::from(if moves { 301 } else { 200 });
                (reply.location, reply.body) = (moves.then_some(&*to), &[b' '; 300]);
                frontier.answer(lease, &reply, now).unwrap();
                bytes += 300;
                assert_eq!(frontier.top_hosts(1)[0].bytes, bytes);
            }
            Next::Wait(until) => now = until,
            Next::Drained => break,
            other => panic!("{other:?}"),
        }
    }
    let [host] = &frontier.top_hosts(1)[..] else { panic!("one host") };
    assert_eq!((host.pages, host.bytes, frontier.statistics().retries), (1, 600, 0));
}

#[test]
fn hours_are_read_as_they_are_written() {
    assert_eq!("always".parse::<Hours>().unwrap(), Hours::ALWAYS);
    assert!("22:00-22:00".parse::<Hours>().unwrap_err().to_string().contains("begins and ends at the same time"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Beside the naive count: no host and no group has more pages with a record and more out than it may, and each URL that was given ends
    /// with a record or is left out, whatever the answers are and in whatever order they come.
    #[test]
    fn no_budget_is_passed_and_no_url_is_lost(
        of_host in 1..8u64, of_group in 1..12u64, connections in 1..5u8, delay in 0..2u64, hours in any::<bool>(),
        order in prop::collection::vec((any::<prop::sample::Index>(), 0..6u8), 1..40),
    ) {
        let mut options = options();
        let politeness = &mut options.politeness;
        (politeness.host_pages, politeness.connections_per_host) = (Some(of_host), connections);
        (politeness.host_delay, politeness.backoff) = (Duration::from_secs(delay), SECOND);
        politeness.hours = hours.then(|| "22:00-06:00".parse().unwrap());
        politeness.robots_ttl = 1000 * HOUR;
        let members = vec!["a.test".to_owned(), "b.test".to_owned()];
        let group = HostGroup { hosts: members, max_pages: Some(of_group), ..HostGroup::default() };
        options.rules.groups.insert("two".to_owned(), group);
        let mut frontier = frontier(&options, &["a.test", "b.test", "c.test"], 9);
        let (mut now, mut out, mut order) = (at(12), Vec::new(), order.iter().cycle());
        let (mut done, mut released) = (BTreeMap::<String, u64>::new(), 0);
        loop {
            match frontier.next(now).unwrap() {
                Next::Fetch(lease) => {
                    let hour = now.since(Timestamp::default()).as_secs() / 3600 % 24;
                    prop_assert!(!hours || !(6..22).contains(&hour), "{} at {now}", lease.url());
                    out.push(lease);
                    let had = |hosts: &[&str]| {
                        let of = |lease: &&Lease| {
                            lease.kind() == LeaseKind::Page && hosts.contains(&lease.origin())
                        };
                        let done = hosts.iter().filter_map(|host| done.get(*host)).sum::<u64>();
                        done + out.iter().filter(of).count() as u64
                    };
                    for host in ["http://a.test", "http://b.test", "http://c.test"] {
                        prop_assert!(had(&[host]) <= of_host, "{host}");
                    }
                    prop_assert!(had(&["http://a.test", "http://b.test"]) <= of_group);
                }
                Next::Drained => break,
                Next::Wait(until) if out.is_empty() => now = until,
                Next::GiveUp(lease) => drop(frontier.complete(lease, Outcome::GivenUp, now).unwrap()),
                _ => {
                    let (which, how) = order.next().unwrap();
                    let lease = out.swap_remove(which.index(out.len()));
                    let is_page = lease.kind() == LeaseKind::Page;
                    let host = lease.origin().to_owned();
                    let outcome = match how {
                        0 if is_page && lease.attempt() == 1 => Outcome::response(&lease, 500, b""),
                        1 if is_page && lease.attempt() == 1 => Outcome::Failed(Failure::Timeout.into()),
                        // Each that is given back goes out again, so there are a few.
                        2 if is_page && released < 20 => {
                            released += 1;
                            Outcome::Released
                        }
                        _ => Outcome::response(&lease, 404, b""),
                    };
                    let completion = frontier.complete(lease, outcome, now).unwrap();
                    if is_page && completion == Completion::Done {
                        *done.entry(host).or_default() += 1;
                    }
                    now = now + Duration::from_millis(300);
                }
            }
        }
        let all: u64 = done.values().sum();
        let left_out = frontier.gate().refusals().of(Refusal::HostPages);
        prop_assert_eq!(all + left_out + frontier.statistics().unreachable, 27);
        // A host that breaks again and again is given up before its budget is spent.
        if frontier.statistics().unreachable > 0 {
            return Ok(());
        }
        prop_assert_eq!(done["http://c.test"], of_host.min(9));
        let two: u64 = ["http://a.test", "http://b.test"].iter().filter_map(|host| done.get(*host)).sum();
        prop_assert_eq!(two, (2 * of_host.min(9)).min(of_group));
    }
}
