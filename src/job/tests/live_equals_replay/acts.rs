//! The random acts of a crawl, and the options that differ from case to case.

use std::time::Duration;

use proptest::prelude::*;

use crate::address::FingerprintKey;
use crate::frontier::{FrontierOptions, HostGroup, HostRule};
use crate::gate::ScopeKind;
use crate::seen::Layout;

/// An act on a frontier, or on its checkpoint.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Seed {
        host: u8,
        page: u8,
    },
    Schedule {
        host: u8,
        page: u8,
        seconds: u16,
    },
    Forget {
        host: u8,
        page: u8,
    },
    AskAgain,
    /// A host is dropped, or the drop is undone.
    Drop {
        host: u8,
        is_undone: bool,
    },
    /// Some pages are dropped, or the drop is undone.
    DropPages {
        digit: u8,
        is_undone: bool,
    },
    Lease,
    Complete {
        which: prop::sample::Index,
        how: How,
        links: Vec<(u8, u8)>,
    },
    /// The host of a lease resolves to this address.
    Resolve {
        which: prop::sample::Index,
        address: u8,
    },
    Rest {
        seconds: u8,
    },
    /// A leased page is scheduled again.
    Again {
        which: prop::sample::Index,
        seconds: u16,
    },
    /// Some idle hosts are evicted, unless a checkpoint is under way.
    Evict {
        host: u8,
    },
    /// The next piece of a checkpoint is written.
    Save,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    Fine,
    Redirect,
    Broken,
    Slow,
    Down,
    Busy,
    /// The fetcher is gone; the page goes next, with one attempt less.
    Lost,
    Same,
    Gone,
    Released,
}

pub(super) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let how = prop_oneof![
        6 => Just(How::Fine), 1 => Just(How::Redirect), 1 => Just(How::Broken), 1 => Just(How::Slow),
        3 => Just(How::Down), 1 => Just(How::Busy), 1 => Just(How::Lost), 1 => Just(How::Same), 1 => Just(How::Gone), 1 => Just(How::Released),
    ];
    let links = prop::collection::vec((0..6u8, any::<u8>()), 0..6);
    let act = prop_oneof![
        2 => (0..6u8, any::<u8>()).prop_map(|(host, page)| Act::Seed { host, page }),
        2 => (0..6u8, any::<u8>(), prop_oneof![0..250u16, 0..9000u16])
            .prop_map(|(host, page, seconds)| Act::Schedule { host, page, seconds }),
        2 => (0..6u8, any::<u8>()).prop_map(|(host, page)| Act::Forget { host, page }),
        3 => Just(Act::AskAgain),
        1 => (0..6u8, any::<bool>()).prop_map(|(host, is_undone)| Act::Drop { host, is_undone }),
        1 => (0..3u8, any::<bool>()).prop_map(|(digit, is_undone)| Act::DropPages { digit, is_undone }),
        6 => Just(Act::Lease),
        6 => (any::<prop::sample::Index>(), how, links).prop_map(|(which, how, links)| Act::Complete { which, how, links }),
        3 => (any::<prop::sample::Index>(), 0..2u8).prop_map(|(which, address)| Act::Resolve { which, address }),
        2 => (0..90u8).prop_map(|seconds| Act::Rest { seconds }),
        1 => (any::<prop::sample::Index>(), 0..250u16).prop_map(|(which, seconds)| Act::Again { which, seconds }),
        1 => (0..6u8).prop_map(|host| Act::Evict { host }),
        3 => Just(Act::Save),
    ];
    prop::collection::vec(act, 0..120)
}

/// A host that cannot be reached, whose pages are given up. Everything that was given up is asked for again while a checkpoint is
/// under way.
pub(super) fn given_up_and_asked_for() -> impl Strategy<Value = Vec<Act>> {
    let pages =
        (0..6u8, 1..5u8).prop_map(|(host, count)| (0..count).map(|page| Act::Seed { host, page: 3 * page }).collect());
    let complete = any::<prop::sample::Index>().prop_map(|which| {
        vec![Act::Lease, Act::Complete { which, how: How::Down, links: Vec::new() }, Act::Rest { seconds: 200 }]
    });
    let failures = prop::collection::vec(complete, 8..12).prop_map(|failures| failures.concat());
    let (before, after) = (prop::collection::vec(Just(Act::Save), 1..4), prop::collection::vec(Just(Act::Save), 8..12));
    let all = (pages, failures, before, Just(vec![Act::AskAgain]), after, acts());
    all.prop_map(|(pages, failures, before, again, after, rest): (Vec<_>, Vec<_>, Vec<_>, Vec<_>, Vec<_>, Vec<_>)| {
        let mut acts = [pages, failures, before, again, after, rest].concat();
        // With an even number of acts, patience ends at once.
        if acts.len() % 2 == 1 {
            acts.push(Act::Lease);
        }
        acts
    })
}

pub(super) fn url(host: u8, page: u8) -> String {
    // Some pages are disallowed, and some deep.
    let folder = ["", "private/", "a/b/"][usize::from(page) % 3];
    // And some combine parameters.
    let query = if page % 4 == 3 { ["?a&b&c", "?a&b&d", "?a&c&d", "?a=1&a=2"][usize::from(page / 4) % 4] } else { "" };
    // One has the same name as another, over http.
    let (scheme, name) = if host == 5 { ("http", 0) } else { ("https", host) };
    format!("{scheme}://h{name}.example/{folder}{page}{query}")
}

/// What differs from case to case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) layout: Layout,
    pub(super) connections: u8,
    pub(super) host_delay: Duration,
    pub(super) patience: Duration,
    /// Some hosts have their own rules, and share a clock.
    pub(super) grouped: bool,
    /// Hosts have budgets, and the group too.
    pub(super) has_budgets: bool,
}

impl Rules {
    pub(super) fn of(layout: Layout) -> Self {
        Self {
            layout,
            connections: 1,
            host_delay: Duration::from_secs(1),
            patience: Duration::ZERO,
            grouped: false,
            has_budgets: false,
        }
    }
}

pub(super) fn rules() -> impl Strategy<Value = Rules> {
    let layout = prop_oneof![2 => Just(Layout::Blocked), 3 => Just(Layout::Counting), 1 => Just(Layout::Exact)];
    let connections = prop::sample::select(vec![1, 2, 3, 8]);
    let host_delay = prop::sample::select(vec![Duration::ZERO, Duration::from_secs(1)]);
    let all = (layout, connections, host_delay, any::<bool>(), any::<bool>());
    all.prop_map(|(layout, connections, host_delay, grouped, has_budgets)| Rules {
        connections,
        host_delay,
        grouped,
        has_budgets,
        ..Rules::of(layout)
    })
}

pub(super) fn options(rules: Rules) -> FrontierOptions {
    let Rules { layout, connections, host_delay, patience, grouped, has_budgets } = rules;
    let mut options = FrontierOptions::default();
    (options.politeness.connections_per_host, options.politeness.host_delay) = (connections, host_delay);
    if has_budgets {
        (options.politeness.host_pages, options.politeness.host_bytes) = (Some(5), Some(40_000));
    }
    if grouped {
        let hosts = ["h0.example", "h1.example", "*.h2.example", "h3.example"].map(str::to_owned).to_vec();
        let mut group =
            HostGroup { hosts, delay: Some(Duration::from_secs(3)), connections: Some(2), ..HostGroup::default() };
        group.max_pages = has_budgets.then_some(7);
        options.rules.groups.insert("four".to_owned(), group);
        let mut rule = HostRule { connections_per_host: Some(2), robots: Some(false), ..HostRule::default() };
        (rule.host_delay, rule.max_depth) = (Some(Duration::from_secs(5)), Some(2));
        options.rules.hosts.insert("h4.example".to_owned(), rule);
    }
    options.scope.kind = ScopeKind::Host;
    options.fingerprint_key = Some(FingerprintKey::from_u64(7));
    options.seen.layout = layout;
    (options.seen.capacity, options.seen.audit) = (1000, 0);
    options.seen.false_positive_rate = 1e-9;
    if layout == Layout::Counting {
        // So that mistaken forgetting shows.
        (options.seen.capacity, options.seen.shards, options.seen.bits_per_url) = (100, 2, Some(3.0));
    }
    (options.politeness.host_failures, options.politeness.adaptive_share) = (3, Some(0.5));
    let traps = &mut options.traps;
    (traps.shape_budget, traps.section_budget, traps.host_budget, traps.budget_growth) = (2, 3, 4, 1);
    traps.parameter_sets = 2;
    options.politeness.patience = patience;
    options
}
