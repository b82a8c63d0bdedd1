//! Politeness by IP address: hosts on one address are asked like one server.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use crawler_frontier::address::{Canonicalizer, FingerprintKey};
use crawler_frontier::frontier::{
    Frontier, FrontierOptions, HostGroup, HostRule, Journal, Lease, LeaseKind, Next, Outcome, Resolved, Timestamp,
};
use crawler_frontier::gate::ScopeKind;
use crawler_frontier::job::{Job, explain};

const SECOND: Duration = Duration::from_secs(1);
const START: Timestamp = Timestamp::from_micros(1 << 50);
const SHARED: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

fn options(delay: Option<Duration>, connections: u8) -> FrontierOptions {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.address_delay = delay;
    options.politeness.connections_per_address = connections;
    options
}

fn frontier(options: &FrontierOptions, hosts: usize) -> Frontier {
    let mut frontier = Frontier::new(options).unwrap();
    for host in 0..hosts {
        frontier.seed(&*format!("http://h{host}.test/"), START).unwrap();
    }
    frontier
}

/// A request as the servers see it.
#[derive(Debug)]
struct Request {
    host: String,
    address: IpAddr,
    start: Timestamp,
    end: Timestamp,
}

/// What came of a crawl.
struct Log {
    /// In the order of their ends.
    requests: Vec<Request>,
    /// Leases that went back without a connection.
    released: usize,
}

impl Log {
    /// The most requests to an address that were under way at once.
    fn most(&self, address: IpAddr) -> usize {
        let here = || self.requests.iter().filter(|request| request.address == address);
        let beside = |at: Timestamp| here().filter(|request| request.start <= at && at < request.end).count();
        here().map(|request| beside(request.start)).max().unwrap_or_default()
    }

    /// The most hosts that at any time had answered for their robots.txt, and not yet for a page.
    fn most_without_page(&self) -> usize {
        let mut without = BTreeSet::new();
        let after = |Request { host, .. }: &Request| {
            if !without.remove(host) {
                without.insert(host.clone());
            }
            without.len()
        };
        self.requests.iter().map(after).max().unwrap_or_default()
    }

    /// The shortest time between two moments of an address's requests, from `end` or else from the start of the one before.
    fn shortest(&self, address: IpAddr, from_end: bool) -> Duration {
        let mut here: Vec<_> = self.requests.iter().filter(|request| request.address == address).collect();
        here.sort_by_key(|request| request.start);
        let rest = |pair: &[&Request]| pair[1].start.since(if from_end { pair[0].end } else { pair[0].start });
        here.windows(2).map(rest).min().unwrap_or(Duration::MAX)
    }
}

/// Crawls to the end a web that takes 300 ms for an answer; `resolve` looks a name up.
fn crawl<J: Journal>(frontier: &mut Frontier<J>, mut resolve: impl FnMut(&Lease, Timestamp) -> Vec<IpAddr>) -> Log {
    let mut log = Log { requests: Vec::new(), released: 0 };
    let (mut now, mut out) = (START, VecDeque::new());
    loop {
        let until = match frontier.next(now).unwrap() {
            Next::Fetch(mut lease) => {
                let addresses = resolve(&lease, now);
                if frontier.resolved(&mut lease, &addresses, now).unwrap() == Resolved::Release {
                    frontier.complete(lease, Outcome::Released, now).unwrap();
                    log.released += 1;
                } else {
                    out.push_back((now, now + Duration::from_millis(300), addresses[0], lease));
                }
                continue;
            }
            Next::GiveUp(_) => unreachable!("they all answer"),
            Next::Wait(until) => Some(until),
            Next::Busy => None,
            Next::Drained => return log,
        };
        match out.front() {
            Some((_, end, ..)) if until.is_none_or(|until| *end <= until) => {
                let (start, end, address, lease) = out.pop_front().unwrap();
                log.requests.push(Request { host: lease.origin().to_owned(), address, start, end });
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
fn a_thousand_names_on_one_address_are_asked_one_at_a_time_with_the_rest_between() {
    let mut frontier = frontier(&options(Some(SECOND), 1), 1000);
    let log = crawl(&mut frontier, |_, _| vec![SHARED]);
    assert_eq!((log.requests.len(), frontier.statistics().completed), (2000, 1000), "robots.txt and a page of each");
    assert_eq!((log.most(SHARED), log.shortest(SHARED, true)), (1, SECOND));
    assert_eq!(log.released, 999, "each host but the first learned its address in vain");
    assert_eq!(log.most_without_page(), 2, "a host that is known goes before those that nobody knows");
    // 1.3 s for each, one behind the other, and nothing in vain.
    assert_eq!(
        log.requests.last().unwrap().end,
        START + 1999 * Duration::from_millis(1300) + Duration::from_millis(300)
    );
}

#[test]
fn several_connections_of_an_address_rest_between_starts() {
    let mut frontier = frontier(&options(Some(SECOND / 10), 4), 200);
    let log = crawl(&mut frontier, |_, _| vec![SHARED]);
    assert_eq!(log.requests.len(), 400);
    assert_eq!((log.most(SHARED), log.shortest(SHARED, false)), (3, SECOND / 10), "three in 300 ms");
    let mut frontier = self::frontier(&options(Some(SECOND / 100), 4), 200);
    assert_eq!(crawl(&mut frontier, |_, _| vec![SHARED]).most(SHARED), 4);
}

#[test]
fn a_host_its_group_and_its_address_all_rest() {
    let mut options = options(Some(SECOND), 1);
    options.politeness.host_delay = 5 * SECOND;
    // The even ones are a group; of these and of the others, half each are on either address.
    let hosts = (0..40).step_by(2).map(|host| format!("h{host}.test")).collect();
    let group = HostGroup { hosts, delay: Some(2 * SECOND), ..HostGroup::default() };
    options.rules.groups.insert("even".to_owned(), group);
    let number = |origin: &str| origin["http://h".len()..].trim_end_matches(".test").parse::<u8>().unwrap();
    let mut frontier = frontier(&options, 40);
    let log = crawl(&mut frontier, |lease, _| vec![IpAddr::from([192, 0, 2, number(lease.origin()) / 2 % 2])]);
    assert_eq!(log.requests.len(), 80);
    for address in [0, 1].map(|last| IpAddr::from([192, 0, 2, last])) {
        assert_eq!((log.most(address), log.shortest(address, true)), (1, SECOND));
    }
    let mut even: Vec<_> = log.requests.iter().filter(|request| number(&request.host) % 2 == 0).collect();
    even.sort_by_key(|request| request.start);
    assert!(even.windows(2).all(|pair| pair[1].start >= pair[0].end + 2 * SECOND), "the group rests");
    let mut last = BTreeMap::new();
    for Request { host, start, end, .. } in &log.requests {
        assert!(last.insert(host, *end).is_none_or(|before| before + 5 * SECOND <= *start), "{host} rests");
    }
}

/// A name that moves is asked at its new address from the next request on, in that one's turn.
#[test]
fn a_host_that_moves_stands_in_the_line_of_its_new_address() {
    let mut options = options(Some(2 * SECOND), 1);
    options.politeness.robots_ttl = SECOND;
    let mut frontier = frontier(&options, 30);
    for host in 0..30 {
        frontier.seed(&*format!("http://h{host}.test/2"), START).unwrap();
    }
    let address = |now: Timestamp, origin: &str| {
        let is_second = now.since(START).as_secs() / 7 % 2 == 1 || origin.ends_with("3.test");
        IpAddr::from([192, 0, 2, if is_second { 2 } else { 1 }])
    };
    let log = crawl(&mut frontier, |lease, now| vec![address(now, lease.origin())]);
    assert_eq!(frontier.statistics().completed, 60);
    for Request { host, address: at, start, .. } in &log.requests {
        assert_eq!(*at, address(*start, host), "where it is when it is asked");
    }
    for address in [1, 2].map(|last| IpAddr::from([192, 0, 2, last])) {
        assert_eq!(log.most(address), 1);
        assert!(log.shortest(address, true) >= 2 * SECOND);
    }
}

/// Nobody has called the hosts in line yet when a further one turns out to be at their address, which has just rested.
#[test]
fn a_host_that_comes_later_does_not_pass_those_in_line() {
    let mut frontier = frontier(&options(Some(SECOND), 8), 3);
    let mut leases: Vec<Lease> = (0..3)
        .map(|_| match frontier.next(START).unwrap() {
            Next::Fetch(lease) => lease,
            other => panic!("{other:?}"),
        })
        .collect();
    let (mut third, mut second) = (leases.pop().unwrap(), leases.pop().unwrap());
    assert_eq!(frontier.resolved(&mut leases[0], &[SHARED], START).unwrap(), Resolved::Connect);
    assert_eq!(frontier.resolved(&mut second, &[SHARED], START).unwrap(), Resolved::Release);
    frontier.complete(second, Outcome::Released, START).unwrap();
    assert!(matches!(frontier.next(START).unwrap(), Next::Wait(until) if until == START + SECOND));
    assert_eq!(frontier.resolved(&mut third, &[SHARED], START + SECOND).unwrap(), Resolved::Release);
    frontier.complete(third, Outcome::Released, START + SECOND).unwrap();
    let Next::Fetch(lease) = frontier.next(START + SECOND).unwrap() else { panic!("the address has rested") };
    assert_eq!(lease.origin(), "http://h1.test");
}

/// Where nothing is said, those are left alone that are asked more quickly by what was said of them, and this machine's own.
#[test]
fn by_itself_an_address_rests_for_hosts_that_nobody_hurries() {
    let most = |frontier: &mut Frontier, address: IpAddr| {
        let log = crawl(frontier, |_, _| vec![address]);
        (log.most(address), log.shortest(address, false))
    };
    assert_eq!(most(&mut frontier(&options(None, 8), 50), SHARED), (3, SECOND / 10));
    for own in ["127.0.0.1", "127.8.8.8", "::1"] {
        assert_eq!(most(&mut frontier(&options(None, 8), 50), own.parse().unwrap()), (50, Duration::ZERO));
    }
    let mut options = options(None, 8);
    options.politeness.host_delay = Duration::ZERO;
    assert_eq!(most(&mut frontier(&options, 50), SHARED), (50, Duration::ZERO));
    options.politeness.address_delay = Some(SECOND);
    assert_eq!(most(&mut frontier(&options, 50), SHARED), (1, SECOND), "it was said");
    assert_eq!(most(&mut frontier(&options, 50), "127.0.0.1".parse().unwrap()), (1, SECOND));
    options = self::options(Some(Duration::ZERO), 1);
    assert_eq!(most(&mut frontier(&options, 50), SHARED), (50, Duration::ZERO));
    options = self::options(None, 8);
    let rule = HostRule { connections_per_host: Some(9), ..HostRule::default() };
    options.rules.hosts.insert("*.test".to_owned(), rule);
    assert_eq!(most(&mut frontier(&options, 50), SHARED), (50, Duration::ZERO));
    options = self::options(None, 8);
    let hosts = vec!["*.test".to_owned()];
    let group = HostGroup { hosts, delay: Some(SECOND / 20), connections: Some(64), ..HostGroup::default() };
    options.rules.groups.insert("quick".to_owned(), group);
    assert_eq!(most(&mut frontier(&options, 50), SHARED), (6, SECOND / 20), "as its group");
}

#[test]
fn of_several_addresses_the_least_counts_in_whatever_order() {
    let of = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
    let same = [
        of(&["2001:db8::1", "203.0.113.9", "203.0.113.7"]),
        of(&["203.0.113.7", "203.0.113.9"]),
        of(&["203.0.113.9", "203.0.113.7", "2001:db8:1::"]),
    ];
    let network = [of(&["2001:db8::1"]), of(&["2001:db8::ffff:0:1"]), of(&["2001:db8:0:1::1", "2001:db8::9"])];
    for lists in [same, network] {
        let mut turn = 0;
        let log = crawl(&mut frontier(&options(Some(SECOND), 1), 30), |_, _| {
            turn += 1;
            lists[turn % 3].clone()
        });
        assert_eq!(log.requests.len(), 60);
        let mut all: Vec<_> = log.requests.iter().map(|request| (request.start, request.end)).collect();
        all.sort();
        assert!(all.windows(2).all(|pair| pair[0].1 + SECOND <= pair[1].0), "like one server");
    }
}

#[test]
fn who_tells_no_address_waits_for_none() {
    let mut frontier = frontier(&options(Some(SECOND), 1), 9);
    let mut out = Vec::new();
    while let Next::Fetch(mut lease) = frontier.next(START).unwrap() {
        assert_eq!(frontier.resolved(&mut lease, &[], START).unwrap(), Resolved::Connect);
        out.push(lease);
    }
    assert_eq!((out.len(), frontier.statistics().addresses), (9, 0));
}

#[test]
fn explain_and_the_statistics_tell_of_the_address_that_hosts_wait_for() {
    let mut options = options(Some(9 * SECOND), 1);
    options.politeness.robots = false;
    let mut frontier = frontier(&options, 3);
    let mut told = 0;
    let mut first = None;
    while let Next::Fetch(mut lease) = frontier.next(START).unwrap() {
        told += 1;
        match frontier.resolved(&mut lease, &[SHARED], START).unwrap() {
            Resolved::Connect => first = Some(lease),
            _ => drop(frontier.complete(lease, Outcome::Released, START).unwrap()),
        }
    }
    let statistics = frontier.statistics();
    assert_eq!((told, statistics.hosts_in_line, statistics.addresses, statistics.active_hosts), (3, 2, 1, 2));
    frontier.complete(first.unwrap(), Outcome::Response { status: 200, retry_after: None }, START + SECOND).unwrap();
    let url = frontier.gate().canonicalizer().canonicalize("http://h1.test/").unwrap();
    let explained = frontier.explain(&url, START + SECOND).unwrap().to_string();
    let due = START + 10 * SECOND;
    assert!(explained.contains(&format!("shares the clock of address 192.0.2.1, due {due}")), "{explained}");
    let Next::Wait(until) = frontier.next(START + SECOND).unwrap() else { panic!("the address rests") };
    assert_eq!(until, due);
}

/// A Retry-After is for all that are said to be one server; of an address nobody has said so.
#[test]
fn a_rest_that_one_host_asks_for_is_its_groups_and_not_its_addresses() {
    for is_group in [true, false] {
        let mut options = options(Some(SECOND), 1);
        options.politeness.robots = false;
        let hosts = if is_group { vec!["*.test".to_owned()] } else { Vec::new() };
        let group = HostGroup { hosts, delay: Some(SECOND), ..HostGroup::default() };
        options.rules.groups.insert("all".to_owned(), group);
        let mut frontier = frontier(&options, 2);
        let Next::Fetch(mut lease) = frontier.next(START).unwrap() else { panic!("it is due") };
        assert_eq!(frontier.resolved(&mut lease, &[SHARED], START).unwrap(), Resolved::Connect);
        let busy = Outcome::Response { status: 503, retry_after: Some(60 * SECOND) };
        frontier.complete(lease, busy, START).unwrap();
        let next = frontier.next(START).unwrap();
        if is_group {
            assert!(matches!(next, Next::Wait(until) if until == START + 60 * SECOND), "{next:?}");
        } else {
            let Next::Fetch(mut lease) = next else { panic!("{next:?}") };
            assert_eq!(frontier.resolved(&mut lease, &[SHARED], START).unwrap(), Resolved::Release);
            frontier.complete(lease, Outcome::Released, START).unwrap();
            let next = frontier.next(START).unwrap();
            assert!(matches!(next, Next::Wait(until) if until == START + SECOND), "{next:?}");
        }
    }
}

/// Nobody knows after a restart who was asked last, nor where anybody is: each host tells it again before it is connected to.
#[test]
fn an_address_rests_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(Some(7 * SECOND), 1);
    options.politeness.robots = false;
    options.fingerprint_key = Some(FingerprintKey::from_u64(1));
    let mut frontier = Frontier::open(directory.path(), &options, START).unwrap();
    for page in ["http://a.test/", "http://a.test/2", "http://b.test/"] {
        frontier.seed(page, START).unwrap();
    }
    let Next::Fetch(mut lease) = frontier.next(START).unwrap() else { panic!("it is due") };
    assert_eq!(frontier.resolved(&mut lease, &[SHARED], START).unwrap(), Resolved::Connect);
    frontier.complete(lease, Outcome::Response { status: 200, retry_after: None }, START).unwrap();
    frontier.flush(START).unwrap();
    drop(frontier);
    let later = START + SECOND;
    let mut frontier = Frontier::open(directory.path(), &options, later).unwrap();
    let Next::Wait(rested) = frontier.next(later).unwrap() else { panic!("the hosts rest") };
    for _ in 0..2 {
        let Next::Fetch(mut lease) = frontier.next(rested).unwrap() else { panic!("they have rested") };
        assert_eq!(frontier.resolved(&mut lease, &[SHARED], rested).unwrap(), Resolved::Release);
        frontier.complete(lease, Outcome::Released, rested).unwrap();
    }
    let Next::Wait(until) = frontier.next(rested).unwrap() else { panic!("the address rests") };
    assert_eq!(until, later + 7 * SECOND);
    let Next::Fetch(mut lease) = frontier.next(until).unwrap() else { panic!("it is free") };
    assert_eq!(lease.kind(), LeaseKind::Page);
    assert_eq!(frontier.resolved(&mut lease, &[SHARED], until).unwrap(), Resolved::Connect);
}

/// Hosts that need no rest of their own, so that nothing but their address keeps them apart.
#[test]
fn five_hundred_names_on_one_address_rest_from_the_first_request_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(Some(SECOND), 1);
    options.politeness.host_delay = Duration::ZERO;
    options.fingerprint_key = Some(FingerprintKey::from_u64(1));
    let mut frontier = Frontier::open(directory.path(), &options, START).unwrap();
    for host in 0..500 {
        frontier.seed(&*format!("http://h{host}.test/"), START).unwrap();
    }
    let Next::Fetch(mut lease) = frontier.next(START).unwrap() else { panic!("it is due") };
    assert_eq!(frontier.resolved(&mut lease, &[SHARED], START).unwrap(), Resolved::Connect);
    let outcome = Outcome::response(&lease, 404, b"");
    frontier.complete(lease, outcome, START).unwrap();
    frontier.flush(START).unwrap();
    drop(frontier);
    let mut frontier = Frontier::open(directory.path(), &options, START).unwrap();
    let log = crawl(&mut frontier, |_, _| vec![SHARED]);
    assert_eq!(log.requests.len(), 999);
    assert_eq!(log.requests[0].start, START + SECOND);
    assert_eq!((log.most(SHARED), log.shortest(SHARED, true)), (1, SECOND));
}

/// A running crawl knows them, and its checkpoints have them for whoever looks at the job.
#[test]
fn a_job_at_rest_names_the_addresses_of_its_last_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(Some(9 * SECOND), 1);
    options.politeness.robots = false;
    options.fingerprint_key = Some(FingerprintKey::from_u64(1));
    let mut frontier = Frontier::open(directory.path(), &options, START).unwrap();
    let told = || {
        let job = Job::open_for_reading(directory.path()).unwrap();
        let canonicalizer = Canonicalizer::new(&options.keys);
        let urls = ["none", "a", "b", "six", "late"].map(|host| format!("http://{host}.test/"));
        let urls = urls.map(|url| canonicalizer.canonicalize(&url).unwrap());
        let explained = explain(&job, &options, &urls, START).unwrap().explanations;
        explained.into_iter().map(|explanation| explanation.to_string()).collect::<Vec<_>>()
    };
    for host in ["none", "a", "b", "six"] {
        frontier.seed(&*format!("http://{host}.test/"), START).unwrap();
    }
    frontier.checkpoint().unwrap();
    let unnamed = told();
    assert!(unnamed[..4].iter().all(|text| text.contains("shares the clock of its IP address")), "{unnamed:?}");
    while let Next::Fetch(mut lease) = frontier.next(START).unwrap() {
        let addresses: &[IpAddr] = match lease.origin() {
            "http://none.test" => &[],
            "http://six.test" => &["2001:db8::7".parse().unwrap()],
            _ => &[SHARED],
        };
        let resolved = frontier.resolved(&mut lease, addresses, START).unwrap();
        let outcome = match resolved {
            Resolved::Connect => Outcome::response(&lease, 404, b""),
            _ => Outcome::Released,
        };
        frontier.complete(lease, outcome, START).unwrap();
    }
    frontier.checkpoint().unwrap();
    frontier.seed("http://late.test/", START).unwrap();
    frontier.flush(START).unwrap();
    let names = ["its IP address", "address 192.0.2.1", "address 192.0.2.1", "address 2001:db8::/64", "its IP address"];
    let are_named = || {
        for (text, name) in told().iter().zip(names) {
            assert!(text.contains(&format!(", shares the clock of {name}\n")), "{text}");
        }
    };
    are_named();
    drop(frontier);
    let _resumed = Frontier::open(directory.path(), &options, START).unwrap();
    are_named();
}
