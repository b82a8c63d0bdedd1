//! What each queue waits for.

use std::time::Duration;

use crawler_frontier::address::HostKey;
use crawler_frontier::frontier::{Failure, Frontier, FrontierOptions, Next, Outcome, Timestamp};
use crawler_frontier::gate::ScopeKind;

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

#[test]
fn who_waits_for_what() {
    let mut options = FrontierOptions::default();
    options.scope.kind = ScopeKind::Any;
    options.politeness.robots = false;
    options.politeness.backoff = Duration::from_secs(9);
    let mut frontier = Frontier::new(&options).unwrap();
    let key = HostKey::of_origin("https://a.example");
    assert_eq!(frontier.queue_statistics(&key, NOW).unwrap(), None);
    for url in ["https://a.example/1", "https://a.example/2", "https://b.example/"] {
        assert_eq!(frontier.seed(url, NOW).unwrap(), None);
    }
    let Next::Fetch(lease) = frontier.next(NOW).unwrap() else { panic!("a host is due") };
    let there = frontier.queue_statistics(&key, NOW).unwrap().unwrap();
    assert_eq!((there.waiting, there.lent, there.failures, there.requests), (1, 1, 0, 0));
    frontier.complete(lease, Outcome::Failed(Failure::Connect.into()), NOW).unwrap();
    let there = frontier.queue_statistics(&key, NOW).unwrap().unwrap();
    assert_eq!((there.waiting, there.lent, there.failures, there.requests), (2, 0, 1, 1));
    assert_eq!((there.due, there.is_retired), (NOW + Duration::from_secs(9), false));
    let all: Vec<_> = frontier.queues(NOW).map(|(host, queue)| (host.host(), queue.waiting, queue.failures)).collect();
    assert_eq!(all, [("a.example", 2, 1), ("b.example", 1, 0)]);
}
