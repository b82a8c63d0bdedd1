//! What is done to a scripted crawl, at random.

use proptest::prelude::*;

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
    /// Seeds and links come in at once.
    Batch(Vec<(u8, u8)>),
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
    /// The host of a lease is done.
    Answered {
        which: prop::sample::Index,
        status: u16,
    },
    /// The host of a lease resolves to this address.
    Resolve {
        which: prop::sample::Index,
        address: u8,
    },
    Rest {
        seconds: u8,
    },
    /// Somebody else asked this host.
    HostWasAsked {
        host: u8,
    },
    /// A leased page is scheduled again.
    Again {
        which: prop::sample::Index,
        seconds: u16,
    },
    /// A lease gets more time, if it ends.
    Extend {
        which: prop::sample::Index,
    },
    /// One in `one_in` of the positions that wait gets a new priority, and so do these URLs.
    Reprioritize {
        one_in: u8,
        score: i64,
        urls: Vec<(u8, u8)>,
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
        1 => links.clone().prop_map(Act::Batch),
        2 => (0..6u8, any::<u8>(), prop_oneof![0..250u16, 0..9000u16])
            .prop_map(|(host, page, seconds)| Act::Schedule { host, page, seconds }),
        2 => (0..6u8, any::<u8>()).prop_map(|(host, page)| Act::Forget { host, page }),
        3 => Just(Act::AskAgain),
        1 => (0..6u8, any::<bool>()).prop_map(|(host, is_undone)| Act::Drop { host, is_undone }),
        1 => (0..3u8, any::<bool>()).prop_map(|(digit, is_undone)| Act::DropPages { digit, is_undone }),
        6 => Just(Act::Lease),
        6 => (any::<prop::sample::Index>(), how, links.clone()).prop_map(|(which, how, links)| Act::Complete { which, how, links }),
        4 => (any::<prop::sample::Index>(), prop::sample::select(vec![200, 200, 200, 404, 429, 500, 503]))
            .prop_map(|(which, status)| Act::Answered { which, status }),
        3 => (any::<prop::sample::Index>(), 0..2u8).prop_map(|(which, address)| Act::Resolve { which, address }),
        2 => (0..90u8).prop_map(|seconds| Act::Rest { seconds }),
        1 => (0..6u8).prop_map(|host| Act::HostWasAsked { host }),
        1 => (any::<prop::sample::Index>(), 0..250u16).prop_map(|(which, seconds)| Act::Again { which, seconds }),
        1 => (0..6u8).prop_map(|host| Act::Evict { host }),
        1 => any::<prop::sample::Index>().prop_map(|which| Act::Extend { which }),
        2 => (1..9u8, prop_oneof![3 => 0..4i64, 1 => any::<i64>()], links).prop_map(|(one_in, score, urls)| {
            Act::Reprioritize { one_in, score, urls }
        }),
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
