//! Rules for single hosts and for groups of them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::frontier::{
    Completion, Failure, Frontier, FrontierOptions, HostGroup, HostRule, HostRules, Hours, Href, Lease, LeaseKind,
    Next, Outcome, Reply, Timestamp,
};
use crawler_frontier::gate::{LinkUrl, Links, Refusal, ScopeKind};
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

/// So many hosts, `h0.cdn.test` and so on, in one group.
fn group(hosts: usize, pages: usize, delay: Duration, connections: u8, options: &mut FrontierOptions) -> Frontier {
    let group = HostGroup {
        hosts: vec!["*.cdn.test".to_owned()],
        delay: Some(delay),
        connections: Some(connections),
        ..HostGroup::default()
    };
    options.rules.groups.insert("cdn".to_owned(), group);
    let names: Vec<_> = (0..hosts).map(|host| format!("h{host}.cdn.test")).collect();
    frontier(options, &names.iter().map(String::as_str).collect::<Vec<_>>(), pages)
}

/// What a server of all these hosts would see.
struct Log {
    /// When each request went out, and to which host.
    starts: Vec<(Timestamp, String)>,
    /// When each came back, in the order in which they did.
    ends: Vec<Timestamp>,
    /// The most that were out at once.
    most: usize,
    /// Calls of `next`.
    calls: usize,
}

/// Crawls to the end a web that answers each request after 300 ms.
fn crawl(frontier: &mut Frontier) -> Log {
    let mut log = Log { starts: Vec::new(), ends: Vec::new(), most: 0, calls: 0 };
    let (mut now, mut out) = (Timestamp::default(), VecDeque::new());
    loop {
        log.calls += 1;
        let until = match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                log.starts.push((now, lease.origin().to_owned()));
                out.push_back((now + Duration::from_millis(300), lease));
                log.most = log.most.max(out.len());
                continue;
            }
            Next::GiveUp(_) => unreachable!("they all answer"),
            Next::Wait(until) => Some(until),
            Next::Busy => None,
            Next::Drained => return log,
        };
        match out.front() {
            Some((end, _)) if until.is_none_or(|until| *end <= until) => {
                let (end, lease) = out.pop_front().unwrap();
                let outcome = Outcome::response(&lease, 200, b"");
                frontier.complete(lease, outcome, end).unwrap();
                log.ends.push(end);
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
fn a_group_is_asked_like_one_server() {
    let mut frontier = group(2000, 1, SECOND, 1, &mut options());
    let log = crawl(&mut frontier);
    assert_eq!((log.starts.len(), log.most), (4000, 1), "each has its robots.txt and a page");
    for (start, end) in log.starts[1..].iter().zip(&log.ends) {
        assert_eq!(start.0, *end + SECOND, "the rest between, and not longer");
    }
    // A call for each lease, for each wait behind it, and for each time that somebody steps into line.
    assert!(log.calls < 4 * 4000, "{} calls", log.calls);
    assert_eq!(frontier.statistics().completed, 2000);
}

#[test]
fn a_host_and_its_group_rest_both() {
    let mut options = options();
    options.politeness.host_delay = 5 * SECOND;
    options.politeness.robots = false;
    let log = crawl(&mut group(3, 4, 2 * SECOND, 1, &mut options));
    let mut last = BTreeMap::new();
    for ((start, host), end) in log.starts.iter().zip(&log.ends) {
        if let Some(before) = last.insert(host, *end) {
            assert!(*start >= before + 5 * SECOND, "{host} rests");
        }
    }
    for (start, end) in log.starts[1..].iter().zip(&log.ends) {
        assert!(start.0 >= *end + 2 * SECOND, "the group rests");
    }
    // Three hosts take turns: 2.3 seconds between two requests are more than 5.3 seconds for each of them.
    assert_eq!(log.starts.last().unwrap().0.as_micros(), 11 * 2_300_000);
}

#[test]
fn a_group_with_several_connections_rests_between_starts() {
    let mut options = options();
    options.politeness.robots = false;
    let log = crawl(&mut group(40, 1, Duration::from_millis(100), 2, &mut options));
    assert_eq!((log.starts.len(), log.most), (40, 2));
    for (number, pair) in log.starts.windows(2).enumerate() {
        assert!(pair[1].0 >= pair[0].0 + Duration::from_millis(100));
        assert!(number == 0 || pair[1].0 >= log.ends[number - 1], "two are out");
    }
    let other = crawl(&mut group(40, 1, Duration::ZERO, 7, &mut options));
    assert_eq!((other.starts.len(), other.most), (40, 7));
}

#[test]
fn the_best_page_of_a_group_goes_first_and_no_host_is_passed_over() {
    let mut options = options();
    options.politeness.robots = false;
    options.politeness.host_delay = Duration::ZERO;
    let mut frontier = group(5, 3, SECOND, 1, &mut options);
    let mut href = Href::from("http://best.cdn.test/");
    href.priority = Some(0);
    let mut worst = Href::from("http://worst.cdn.test/");
    worst.priority = Some(200);
    frontier.seed(worst, Timestamp::default()).unwrap();
    let first = match frontier.next(Timestamp::default()).unwrap() {
        Next::Fetch(lease) => lease,
        other => panic!("{other:?}"),
    };
    assert!(matches!(frontier.next(Timestamp::default()).unwrap(), Next::Busy));
    frontier.seed(href, Timestamp::default()).unwrap();
    frontier.complete(first, Outcome::Response { status: 200, retry_after: None }, Timestamp::default()).unwrap();
    let names: Vec<_> = crawl(&mut frontier).starts.into_iter().map(|(_, host)| host[7..].to_owned()).collect();
    let turns = ["h1", "h2", "h3", "h4", "h0"].map(|host| format!("{host}.cdn.test"));
    assert_eq!(names.len(), 16);
    assert_eq!(names.last().unwrap(), "worst.cdn.test");
    let rest: Vec<_> = names.iter().filter(|name| !name.starts_with("best") && !name.starts_with("worst")).collect();
    assert_eq!(rest[..5], turns.iter().collect::<Vec<_>>());
    assert_eq!(rest[5..10], turns.iter().collect::<Vec<_>>());
}

#[test]
fn explain_tells_of_the_group_that_a_host_waits_for() {
    let mut options = options();
    options.politeness.robots = false;
    let mut frontier = group(2, 1, 9 * SECOND, 1, &mut options);
    let Next::Fetch(lease) = frontier.next(Timestamp::default()).unwrap() else { panic!("it is due") };
    let at = Timestamp::default() + SECOND;
    frontier.complete(lease, Outcome::Response { status: 200, retry_after: None }, at).unwrap();
    let url = frontier.gate().canonicalizer().canonicalize("http://h1.cdn.test/0").unwrap();
    let explained = frontier.explain(&url, at).unwrap().to_string();
    assert!(explained.contains(", shares the clock of group cdn, due 1970-01-01T00:00:10"), "{explained}");
    let Next::Wait(until) = frontier.next(at).unwrap() else { panic!("the group rests") };
    assert_eq!(until, at + 9 * SECOND);
}

/// Nobody knows after a restart which of a group was asked last.
#[test]
fn a_group_rests_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options();
    options.politeness.robots = false;
    options.fingerprint_key = Some(FingerprintKey::from_u64(1));
    group(0, 0, 7 * SECOND, 1, &mut options);
    let now = Timestamp::default() + SECOND;
    let mut frontier = Frontier::open(directory.path(), &options, now).unwrap();
    frontier.seed("http://a.cdn.test/", now).unwrap();
    frontier.seed("http://b.cdn.test/", now).unwrap();
    let Next::Fetch(lease) = frontier.next(now).unwrap() else { panic!("it is due") };
    frontier.complete(lease, Outcome::Response { status: 200, retry_after: None }, now).unwrap();
    frontier.flush(now).unwrap();
    drop(frontier);
    let later = now + SECOND;
    let mut frontier = Frontier::open(directory.path(), &options, later).unwrap();
    let Next::Wait(until) = frontier.next(later).unwrap() else { panic!("the group rests") };
    // The host itself rests for a second.
    let Next::Wait(group) = frontier.next(until).unwrap() else { panic!("the group rests") };
    assert_eq!((until, group), (later + SECOND, later + 7 * SECOND));
    assert!(matches!(frontier.next(group).unwrap(), Next::Fetch(_)));
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

/// Crawls the pages of these origins by one fetcher that answers at once as it is told; when each was asked, in milliseconds.
fn ask_origins(
    options: &FrontierOptions,
    origins: &[&str],
    pages: usize,
    answer: impl Fn(&Lease) -> Outcome,
) -> (Frontier, Vec<(u64, String)>) {
    let mut now = Timestamp::from_micros(1 << 50);
    let start = now;
    let mut frontier = Frontier::new(options).unwrap();
    for page in 0..pages {
        for origin in origins {
            frontier.seed(&*format!("{origin}/{page}"), now).unwrap();
        }
    }
    let mut asked = Vec::new();
    loop {
        match frontier.next(now).unwrap() {
            Next::Fetch(lease) => {
                let at = u64::try_from(now.since(start).as_millis()).unwrap();
                asked.push((at, lease.url().to_owned()));
                let outcome = answer(&lease);
                frontier.complete(lease, outcome, now).unwrap();
            }
            Next::GiveUp(lease) => _ = frontier.complete(lease, Outcome::GivenUp, now).unwrap(),
            Next::Wait(until) => now = until,
            Next::Busy => panic!("nothing is out"),
            Next::Drained => return (frontier, asked),
        }
    }
}

/// What a response may say beside its status.
trait Retry {
    fn retry(self, seconds: Option<u64>) -> Self;
}

impl Retry for Outcome {
    fn retry(mut self, seconds: Option<u64>) -> Self {
        if let Self::Response { retry_after, .. } = &mut self {
            *retry_after = seconds.map(Duration::from_secs);
        }
        self
    }
}

fn closest(asked: &[(u64, String)]) -> u64 {
    asked.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap()
}

#[test]
fn the_default_ports_of_a_name_are_one_server_with_the_slower_rest_of_both() {
    let both = ["http://x.example", "https://x.example"];
    // Whichever of the two asks for it.
    for slow in both {
        let robots = |lease: &Lease| match lease.kind() {
            LeaseKind::Robots if lease.origin() == slow => b"User-agent: *\nCrawl-delay: 3".as_slice(),
            _ => b"",
        };
        let answer = |lease: &Lease| Outcome::response(lease, 200, robots(lease));
        let (_, asked) = ask_origins(&FrontierOptions::default(), &both, 5, answer);
        assert_eq!(asked.len(), 12);
        assert!(closest(&asked) >= 1000, "{asked:?}");
        assert!(closest(&asked[3..]) >= 3000, "{asked:?}");
        let turns = asked.windows(2).filter(|pair| pair[0].1.split(':').next() != pair[1].1.split(':').next());
        assert!(turns.count() >= 9, "they take turns: {asked:?}");
    }
}

#[test]
fn other_ports_are_hosts_of_their_own_and_a_rule_parts_or_joins_them() {
    let ports = ["http://x.example", "https://x.example", "http://x.example:8080"];
    for (one_server, apart, takes) in [(None, 0, 11_000), (Some(false), 0, 5_000), (Some(true), 1000, 17_000)] {
        let mut options = FrontierOptions::default();
        let rule = HostRule { one_server, ..HostRule::default() };
        options.rules.hosts.insert("x.example".to_owned(), rule);
        let (_, asked) = ask_origins(&options, &ports, 5, |lease| Outcome::response(lease, 200, b""));
        assert_eq!(asked.len(), 18);
        assert_eq!((closest(&asked), asked.last().unwrap().0), (apart, takes), "{one_server:?}: {asked:?}");
    }
}

#[test]
fn the_ports_of_one_server_fail_together() {
    let both = ["http://x.example", "https://x.example"];
    let options = FrontierOptions::default();
    let (frontier, asked) = ask_origins(&options, &both, 5, |_| Outcome::Failed(Failure::Timeout.into()));
    assert!(asked.len() <= 8 && closest(&asked) >= 10_000, "one count of failures: {asked:?}");
    assert_eq!(frontier.statistics().unreachable, 10);

    // What one port asks for, both do; and after a failure of one, both rest.
    for status in [429, 503] {
        for rest in [Some(60), None] {
            let (_, asked) = ask_origins(&options, &both, 2, |lease| match lease.url() {
                "http://x.example/0" => Outcome::response(lease, status, b"").retry(rest),
                _ => Outcome::response(lease, 200, b""),
            });
            let at = asked.iter().position(|(_, url)| url == "http://x.example/0").unwrap();
            assert_eq!(asked[at + 1].0 - asked[at].0, rest.unwrap_or(10) * 1000, "{status} {rest:?}: {asked:?}");
        }
    }
}

#[test]
fn a_port_that_is_closed_or_never_answers_does_not_end_the_other() {
    let both = ["http://x.example", "https://x.example"];
    for (failure, most) in [(Failure::Connect, 12_000), (Failure::Tls, 12_000), (Failure::Timeout, 120_000)] {
        for closed in both {
            let (frontier, asked) = ask_origins(&FrontierOptions::default(), &both, 5, |lease| {
                if lease.origin() == closed {
                    Outcome::Failed(failure.into())
                } else {
                    Outcome::response(lease, 200, b"")
                }
            });
            let answered: Vec<_> = asked.iter().filter(|(_, url)| !url.starts_with(&format!("{closed}/"))).collect();
            assert_eq!((answered.len(), frontier.statistics().unreachable), (6, 5), "{failure} {closed}: {asked:?}");
            assert!(answered.iter().all(|(at, _)| *at < most), "{failure} {closed}: {asked:?}");
        }
    }
}
