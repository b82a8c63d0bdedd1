//! Random options and lists of actions.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler_frontier::frontier::{Failure, FrontierOptions, HostGroup, HostRule, Hours, QueueOrder};
use crawler_frontier::gate::{ScopeKind, SeenTest};
use proptest::prelude::*;

use super::{Action, DROPS, End, HOSTS, Own, PLACES, ROOM};

const HOUR: u64 = 3_600_000;

const STATUSES: [u16; 13] = [200, 200, 200, 200, 301, 404, 404, 408, 425, 429, 500, 502, 503];

fn ends() -> impl Strategy<Value = End> {
    let failure = prop::sample::select(vec![
        Failure::Address,
        Failure::BadResponse,
        Failure::Connect,
        Failure::Dns,
        Failure::Incomplete,
        Failure::Lost,
        Failure::NoAuthorities,
        Failure::NoSuchHost,
        Failure::Port,
        Failure::Timeout,
        Failure::Tls,
    ]);
    let status = prop::sample::select(STATUSES.to_vec());
    prop_oneof![
        12 => (status, prop::option::weighted(0.2, 0..100u64), any::<bool>())
            .prop_map(|(status, retry_after, crawl_delay)| End::Status { status, retry_after, crawl_delay }),
        3 => failure.prop_map(End::Failed),
        2 => Just(End::Moved),
        1 => Just(End::Released),
        1 => Just(End::GivenUp),
    ]
}

fn own() -> impl Strategy<Value = Own> {
    let seen_test = || prop::sample::select(vec![SeenTest::Asked, SeenTest::Asked, SeenTest::Told, SeenTest::Skipped]);
    prop_oneof![
        4 => Just(Own::Nothing),
        1 => (0..6u8, seen_test()).prop_map(|(identity, seen_test)| Own::Identity(identity, seen_test)),
        1 => seen_test().prop_map(Own::Url),
    ]
}

/// Within the numbers of front queues and beyond.
fn priority() -> impl Strategy<Value = Option<i64>> {
    let far = prop::sample::select(vec![i64::MIN, -5, -1, 2, 255, 256, 1 << 40, i64::MAX]);
    prop::option::weighted(0.4, prop_oneof![far, -20..20i64, any::<i64>()])
}

/// Near that of other pages, or one of few.
fn score() -> impl Strategy<Value = i64> {
    prop_oneof![3 => 0..4i64, 1 => priority().prop_map(Option::unwrap_or_default)]
}

/// At a host, or at one in a queue.
fn place() -> impl Strategy<Value = usize> {
    prop_oneof![2 => 0..HOSTS, 1 => HOSTS..PLACES]
}

pub(super) fn actions() -> impl Strategy<Value = Vec<Action>> {
    let page = (place(), (0..4u32, priority()), prop::bool::weighted(0.3), own());
    let took = prop::option::of(prop::sample::select(vec![0, 1, 30, 700, 9000]));
    let action = prop_oneof![
        6 => (place(), 0..4u32, priority(), prop::bool::weighted(0.3), own()).prop_map(
            |(host, depth, priority, is_disallowed, own)| Action::Submit { host, depth, priority, is_disallowed, own }
        ),
        2 => (place(), 0..20_000u64, prop::bool::weighted(0.3))
            .prop_map(|(host, ahead, is_disallowed)| Action::Schedule { host, ahead, is_disallowed }),
        1 => prop::collection::vec(page, 0..8).prop_map(|pages| Action::SubmitMany { pages }),
        6 => Just(Action::Next),
        2 => (0..8usize).prop_map(|most| Action::NextMany { most }),
        1 => Just(Action::AskAgain),
        1 => (place(), prop::sample::select(vec![0, 0, 700, 9000]))
            .prop_map(|(host, ago)| Action::HostWasAsked { host, ago }),
        1 => (0..DROPS.len(), prop::bool::weighted(0.6)).prop_map(|(rule, is_undone)| Action::Drop { rule, is_undone }),
        3 => (any::<prop::sample::Index>(), 0..2u8).prop_map(|(lease, address)| Action::Resolve { lease, address }),
        5 => (any::<prop::sample::Index>(), ends(), took, prop::sample::select(vec![0, 1, 399, 1000]))
            .prop_map(|(lease, end, took, bytes)| Action::Complete { lease, end, took, bytes }),
        3 => (
            any::<prop::sample::Index>(),
            prop::sample::select(STATUSES.to_vec()),
            prop::option::weighted(0.2, 0..100u64),
            prop::sample::select(vec![0, 30, 700, 9000]),
            prop::sample::select(vec![0, 1, 399, 1000]),
        )
            .prop_map(|(lease, status, retry_after, took, bytes)| {
                Action::Answered { lease, status, retry_after, took, bytes }
            }),
        1 => any::<prop::sample::Index>().prop_map(|lease| Action::Extend { lease }),
        1 => any::<prop::sample::Index>().prop_map(|lease| Action::Late { lease }),
        2 => prop::collection::vec((any::<prop::sample::Index>(), score(), any::<bool>()), 0..8)
            .prop_map(Action::Reprioritize),
        2 => prop_oneof![
            5 => prop::sample::select(vec![1, 500, 1000, 7000, 60_000]),
            1 => prop::sample::select(vec![3 * HOUR, 11 * HOUR]),
        ].prop_map(|millis| Action::Pass { millis }),
    ];
    prop::collection::vec(action, 0..300)
}

pub(super) fn options() -> impl Strategy<Value = FrontierOptions> {
    let connections = (prop::sample::select(vec![1, 1, 2, 3, 8]), prop::sample::select(vec![1, 1, 2, 8]));
    let plain = (any::<bool>(), 0..2u64, 1..4u8, 1..6u32, 0..20u64, 1..100u64, 1..4u8, 0..100u64, connections)
        .prop_map(|(robots, delay, attempts, host_failures, backoff, robots_ttl, redirects, patience, connections)| {
            let mut options = FrontierOptions::default();
            options.scope.kind = ScopeKind::Any;
            options.traps.redirects = redirects;
            (options.metadata.bytes, options.metadata.memory) = (ROOM.len(), ROOM.len() as u64 - 1);
            options.politeness.robots = robots;
            (options.politeness.connections_per_host, options.politeness.first_contacts_per_host) = connections;
            options.politeness.host_delay = Duration::from_secs(delay);
            options.politeness.max_retry_after = Duration::from_secs(50);
            options.politeness.max_crawl_delay = Duration::from_secs(delay * 10);
            options.politeness.attempts = attempts;
            options.politeness.host_failures = host_failures;
            options.politeness.backoff = Duration::from_secs(backoff);
            options.politeness.max_backoff = Duration::from_secs(40);
            options.politeness.patience = Duration::from_secs(patience);
            options.politeness.robots_ttl = Duration::from_secs(robots_ttl);
            options
        });
    let by_address = (prop::sample::select(vec![None, Some(0), Some(1), Some(3)]), prop::sample::select(vec![1, 2, 8]));
    let adaptive = (prop::sample::select(vec![None, None, Some(0.5), Some(0.2)]), prop::sample::select(vec![1, 5]));
    let rules = prop::collection::vec(prop::option::weighted(0.3, rule()), 3);
    let of_queues = prop::option::of(any::<bool>());
    let of_all = prop::option::weighted(0.5, (budgets(), hours()));
    let lease_ends = prop::option::weighted(0.5, (prop::sample::select(vec![1, 900, 5_500, 70_000]), any::<bool>()));
    let in_hand = prop::sample::select(vec![1, 2, 4, 1024]);
    (plain, rules, groups(), by_address, adaptive, of_all, lease_ends, (order(), in_hand, of_queues, any::<bool>()))
        .prop_map(
            |(
                mut options,
                rules,
                groups,
                by_address,
                adaptive,
                of_all,
                lease_ends,
                (order, in_hand, of_queues, move_up),
            )| {
                (options.order, options.move_up) = (order, move_up);
                options.pages_in_hand = in_hand;
                if let Some((millis, counts)) = lease_ends {
                    options.lease_timeout = Some(Duration::from_millis(millis));
                    options.counts_expired = counts;
                }
                if let Some((budgets, hours)) = of_all {
                    (options.politeness.host_pages, options.politeness.host_bytes) = budgets;
                    options.politeness.hours = hours;
                }
                options.politeness.adaptive_share = adaptive.0;
                options.politeness.max_adaptive_delay = Duration::from_secs(adaptive.1);
                options.politeness.address_delay = by_address.0.map(Duration::from_secs);
                options.politeness.connections_per_address = by_address.1;
                for (name, rule) in ["h1.example", "h2.example", "@q0"].into_iter().zip(rules) {
                    let one_server = |rule: HostRule| rule.one_server.filter(|_| !name.starts_with('@'));
                    let rule = rule.map(|rule| HostRule { one_server: one_server(rule), ..rule });
                    options.rules.hosts.extend(rule.map(|rule| (name.to_owned(), rule)));
                }
                let no_robots = HostRule { robots: of_queues, ..HostRule::default() };
                options.rules.hosts.insert("@*".to_owned(), no_robots);
                options.rules.groups = groups;
                options
            },
        )
}

fn rule() -> impl Strategy<Value = HostRule> {
    let connections = prop::sample::select(vec![1, 2, 3]);
    let flag = || prop::option::of(any::<bool>());
    (prop::option::of(0..4u64), prop::option::of(connections), flag(), flag(), limits()).prop_map(
        |(delay, connections_per_host, robots, one_server, limits)| HostRule {
            host_delay: delay.map(Duration::from_secs),
            connections_per_host,
            robots,
            one_server,
            ..limits
        },
    )
}

fn order() -> impl Strategy<Value = QueueOrder> {
    prop::sample::select(vec![QueueOrder::Fifo, QueueOrder::Lifo])
}

/// A rule of budgets, hours and order alone.
fn limits() -> impl Strategy<Value = HostRule> {
    (budgets(), hours(), prop::option::weighted(0.3, order())).prop_map(|((max_pages, max_bytes), hours, order)| {
        HostRule { max_pages, max_bytes, hours, order, ..HostRule::default() }
    })
}

/// Pages and bytes; the most is no bound.
fn budgets() -> impl Strategy<Value = (Option<u64>, Option<u64>)> {
    let pages = prop::sample::select(vec![1, 2, 3, 5, 9, u64::MAX]);
    let bytes = prop::sample::select(vec![1, 400, 2_000, u64::MAX]);
    (prop::option::weighted(0.4, pages), prop::option::weighted(0.3, bytes))
}

fn hours() -> impl Strategy<Value = Option<Hours>> {
    let windows = [
        "22:00-06:00",
        "06:00-22:00",
        "05:59-06:01",
        "00:00-12:00 +05:45",
        "18:30-24:00 -03:30",
        "23:59-00:00",
        "always",
    ];
    prop::option::weighted(0.4, prop::sample::select(windows.to_vec()))
        .prop_map(|text| text.map(|text| text.parse().expect("it is a window")))
}

/// Which names share a clock: none, two of them, or all, in one group or two; the fourth and the fifth are queues.
fn groups() -> impl Strategy<Value = BTreeMap<String, HostGroup>> {
    let members = prop::sample::select(vec![
        vec![],
        vec![vec![0, 2]],
        vec![vec![0, 1], vec![2]],
        vec![vec![0, 1, 2]],
        vec![vec![0, 3], vec![2, 4]],
        vec![vec![3, 4]],
    ]);
    let said = (0..5u64, prop::sample::select(vec![1, 1, 2, 3]), budgets(), prop::option::weighted(0.3, limits()));
    (members, prop::collection::vec(said, 2)).prop_map(|(members, said)| {
        let group = |(hosts, (delay, connections, (max_pages, max_bytes), each)): (Vec<usize>, _)| HostGroup {
            hosts: hosts
                .iter()
                .map(|host| if *host < 3 { format!("h{host}.example") } else { format!("@q{}", host - 3) })
                .collect(),
            delay: Some(Duration::from_secs(delay)),
            connections: Some(connections),
            max_pages,
            max_bytes,
            each: Option::unwrap_or_default(each),
        };
        (0..)
            .zip(members.into_iter().zip(said).map(group))
            .map(|(n, group): (usize, _)| (n.to_string(), group))
            .collect()
    })
}
