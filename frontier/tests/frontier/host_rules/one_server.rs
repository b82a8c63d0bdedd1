//! Ports of a name that are one server, or several.

use std::time::Duration;

use crawler_frontier::frontier::{
    Failure, Frontier, FrontierOptions, HostAnswer, HostRule, Lease, LeaseKind, Next, Outcome, Timestamp,
};

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

/// The pages of the port that answers are worked on for as long as the other port is asked.
#[test]
fn a_port_that_never_answers_does_not_end_one_with_pages_in_hand() {
    for (silent, good) in [("http://x.example", "https://x.example"), ("https://x.example", "http://x.example")] {
        let mut frontier = Frontier::new(&FrontierOptions::default()).unwrap();
        for page in 0..10 {
            let origin = if page % 2 == 0 { silent } else { good };
            assert_eq!(frontier.seed(&format!("{origin}/{page}"), Timestamp::from_micros(0)).unwrap(), None);
        }
        let (mut now, mut in_hand, mut asked) = (Timestamp::from_micros(0), Vec::new(), Vec::new());
        loop {
            match frontier.next(now).unwrap() {
                Next::Fetch(mut lease) if lease.origin() == good && lease.kind() == LeaseKind::Page => {
                    asked.push((now, lease.url().to_owned()));
                    frontier.answered(&mut lease, HostAnswer::new(200, now), now).unwrap();
                    in_hand.push(lease);
                }
                Next::Fetch(lease) if lease.origin() == good => {
                    let outcome = Outcome::response(&lease, 404, b"");
                    frontier.complete(lease, outcome, now).unwrap();
                }
                Next::Fetch(lease) => {
                    asked.push((now, lease.url().to_owned()));
                    frontier.complete(lease, Outcome::Failed(Failure::Timeout.into()), now).unwrap();
                }
                Next::GiveUp(lease) => _ = frontier.complete(lease, Outcome::GivenUp, now).unwrap(),
                Next::Wait(until) => now = until,
                Next::Busy | Next::Drained => break,
            }
        }
        assert_eq!(in_hand.len(), 5, "{silent}: {asked:?}");
    }
}
