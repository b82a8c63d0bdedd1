//! Groups of hosts that share a clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crawler_frontier::address::FingerprintKey;
use crawler_frontier::frontier::{Frontier, FrontierOptions, HostGroup, Href, Next, Outcome, Timestamp};

use super::{SECOND, frontier, options};

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
