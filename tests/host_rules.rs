//! Rules for single hosts and for groups of them.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler::frontier::{Frontier, FrontierOptions, HostRule, LeaseKind, Next, Outcome, Timestamp};
use crawler::gate::ScopeKind;

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
        HostRule { connections_per_host: Some(3), robots: Some(false), host_delay: Some(Duration::ZERO) },
    );
    let mut frontier =
        frontier(&options, &["plain.test", "a.slow.test", "quick.slow.test", "wide.test:8080"], 6);
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
