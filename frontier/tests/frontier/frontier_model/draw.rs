//! Random options and lists of actions.

use std::collections::BTreeMap;
use std::time::Duration;

use crawler_frontier::frontier::{Failure, FrontierOptions, HostGroup, HostRule};
use crawler_frontier::gate::ScopeKind;
use proptest::prelude::*;

use super::{Action, End, HOSTS};

pub(super) fn ends() -> impl Strategy<Value = End> {
    let failure = prop::sample::select(vec![
        Failure::Address,
        Failure::BadResponse,
        Failure::Connect,
        Failure::Dns,
        Failure::Incomplete,
        Failure::Lost,
        Failure::NoSuchHost,
        Failure::Port,
        Failure::Timeout,
        Failure::Tls,
    ]);
    let status = prop::sample::select(vec![200, 200, 200, 200, 301, 404, 404, 408, 425, 429, 500, 502, 503]);
    prop_oneof![
        12 => (status, prop::option::weighted(0.2, 0..100u64), any::<bool>())
            .prop_map(|(status, retry_after, crawl_delay)| End::Status { status, retry_after, crawl_delay }),
        3 => failure.prop_map(End::Failed),
        2 => Just(End::Moved),
        1 => Just(End::Released),
        1 => Just(End::GivenUp),
    ]
}

pub(super) fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        6 => (0..HOSTS, 0..4u32, prop::bool::weighted(0.3))
            .prop_map(|(host, depth, is_disallowed)| Action::Submit { host, depth, is_disallowed }),
        2 => (0..HOSTS, 0..20_000u64, prop::bool::weighted(0.3))
            .prop_map(|(host, ahead, is_disallowed)| Action::Schedule { host, ahead, is_disallowed }),
        6 => Just(Action::Next),
        1 => Just(Action::AskAgain),
        3 => (any::<prop::sample::Index>(), 0..2u8).prop_map(|(lease, address)| Action::Resolve { lease, address }),
        5 => (any::<prop::sample::Index>(), ends(), prop::option::of(prop::sample::select(vec![0, 1, 30, 700, 9000])))
            .prop_map(|(lease, end, took)| Action::Complete { lease, end, took }),
        2 => prop::sample::select(vec![1, 500, 1000, 7000, 60_000]).prop_map(|millis| Action::Pass { millis }),
    ];
    prop::collection::vec(action, 0..300)
}

pub(super) fn options() -> impl Strategy<Value = FrontierOptions> {
    let connections = prop::sample::select(vec![1, 1, 2, 3, 8]);
    let plain = (any::<bool>(), 0..2u64, 1..4u8, 1..6u32, 0..20u64, 1..100u64, 1..4u8, 0..100u64, connections)
        .prop_map(|(robots, delay, attempts, host_failures, backoff, robots_ttl, redirects, patience, connections)| {
            let mut options = FrontierOptions::default();
            options.scope.kind = ScopeKind::Any;
            options.traps.redirects = redirects;
            options.politeness.robots = robots;
            options.politeness.connections_per_host = connections;
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
    let rules = prop::collection::vec(prop::option::weighted(0.3, rule()), 2);
    (plain, rules, groups(), by_address, adaptive).prop_map(|(mut options, rules, groups, by_address, adaptive)| {
        options.politeness.adaptive_share = adaptive.0;
        options.politeness.max_adaptive_delay = Duration::from_secs(adaptive.1);
        options.politeness.address_delay = by_address.0.map(Duration::from_secs);
        options.politeness.connections_per_address = by_address.1;
        for (name, rule) in ["h1.example", "h2.example"].into_iter().zip(rules) {
            options.rules.hosts.extend(rule.map(|rule| (name.to_owned(), rule)));
        }
        options.rules.groups = groups;
        options
    })
}

pub(super) fn rule() -> impl Strategy<Value = HostRule> {
    let connections = prop::sample::select(vec![1, 2, 3]);
    let flag = || prop::option::of(any::<bool>());
    (prop::option::of(0..4u64), prop::option::of(connections), flag(), flag()).prop_map(
        |(delay, connections_per_host, robots, one_server)| HostRule {
            host_delay: delay.map(Duration::from_secs),
            connections_per_host,
            robots,
            one_server,
            ..HostRule::default()
        },
    )
}

/// Which names share a clock: none, two of them, or all, in one group or two.
pub(super) fn groups() -> impl Strategy<Value = BTreeMap<String, HostGroup>> {
    let members = prop::sample::select(vec![vec![], vec![vec![0, 2]], vec![vec![0, 1], vec![2]], vec![vec![0, 1, 2]]]);
    (members, prop::collection::vec((0..5u64, prop::sample::select(vec![1, 1, 2, 3])), 2)).prop_map(
        |(members, said)| {
            let group = |(hosts, (delay, connections)): (Vec<usize>, (u64, u8))| HostGroup {
                hosts: hosts.iter().map(|host| format!("h{host}.example")).collect(),
                delay: Some(Duration::from_secs(delay)),
                connections: Some(connections),
                ..HostGroup::default()
            };
            (0..)
                .zip(members.into_iter().zip(said).map(group))
                .map(|(n, group): (usize, _)| (n.to_string(), group))
                .collect()
        },
    )
}
