//! Settings of keys and of the URL-seen filter.

use crate::cli::field::{Capacity, Choice, Many, Maybe, One};
use crate::cli::setting::{Setting, row, value};
use crate::seen::{Layout, OnFull};

/// All layouts by their names, and `bloom`, which is what everybody else calls the default.
const LAYOUTS: &[(&str, Layout)] = &{
    let mut layouts = [("bloom", Layout::Blocked); Layout::ALL.len() + 1];
    let mut at = 0;
    while at < Layout::ALL.len() {
        // It stands behind the default.
        layouts[if at == 0 { 0 } else { at + 1 }] = (Layout::ALL[at].name(), Layout::ALL[at]);
        at += 1;
    }
    layouts
};

const ON_FULL: &[(&str, OnFull)] = &[("grow", OnFull::Grow), ("stop", OnFull::Stop), ("warn", OnFull::Warn)];

pub(super) static ROWS: &[Setting] = &[
    row(
        "keys.normalize_escapes",
        "Escapes in another case, and needless ones, make no other URL",
        &One(|s| &mut s.crawl.frontier.keys.normalize_escapes),
    ),
    row(
        "keys.unescape_brackets",
        "Escaped brackets, braces, bars and the like are the same as bare ones",
        &One(|s| &mut s.crawl.frontier.keys.unescape_brackets),
    ),
    row(
        "keys.collapse_slashes",
        "Slashes in a row are one; some servers keep them apart",
        &One(|s| &mut s.crawl.frontier.keys.collapse_slashes),
    ),
    row(
        "keys.sort_query",
        "Parameters in another order are the same URL",
        &One(|s| &mut s.crawl.frontier.keys.sort_query),
    ),
    row(
        "keys.drop_empty_query",
        "A query without parameters makes no other URL",
        &One(|s| &mut s.crawl.frontier.keys.drop_empty_query),
    ),
    row(
        "keys.drop_tracking",
        "Parameters that only track visitors make no other URL",
        &One(|s| &mut s.crawl.frontier.keys.drop_tracking),
    ),
    row(
        "keys.drop_sessions",
        "Parameters that only name a visitor's session make no other URL",
        &One(|s| &mut s.crawl.frontier.keys.drop_sessions),
    ),
    row(
        "keys.drop_parameters",
        "More parameters that make no other URL; ref_* is all that start with ref_",
        &Many(|s| &mut s.crawl.frontier.keys.drop_parameters),
    ),
    row(
        "seen.layout",
        "How seen URLs are remembered: blocked, standard, partitioned, counting, exact or verified",
        &Choice(|s| &mut s.crawl.frontier.seen.layout, LAYOUTS),
    )
    .flags(&[value("seen", "LAYOUT").rare()]),
    row("seen.capacity", "URLs that the filter is sized for; auto where nobody knows", &Capacity)
        .flags(&[value("seen-capacity", "N")]),
    row(
        "seen.false_positive_rate",
        "Share of new URLs that may be lost to the filter at capacity",
        &One(|s| &mut s.crawl.frontier.seen.false_positive_rate),
    )
    .flags(&[value("seen-rate", "RATE")]),
    row(
        "seen.shards",
        "Parts of the filter, each with its lock; a power of two",
        &One(|s| &mut s.crawl.frontier.seen.shards),
    )
    .flags(&[value("shards", "N").rare()]),
    row(
        "seen.on_full",
        "At capacity: grow, stop (the crawl) or warn (and lose more)",
        &Choice(|s| &mut s.crawl.frontier.seen.on_full, ON_FULL),
    ),
    row(
        "seen.audit",
        "One URL in so many is kept exactly, to count the filter's true errors; 0 is none",
        &One(|s| &mut s.crawl.frontier.seen.audit),
    ),
    row(
        "seen.bits_per_url",
        "Bits a URL, instead of those that the rate asks for",
        &Maybe(|s| &mut s.crawl.frontier.seen.bits_per_url, "auto"),
    ),
    row("seen.probes", "Probes a URL, with bits_per_url", &Maybe(|s| &mut s.crawl.frontier.seen.probes, "auto")),
    row(
        "seen.fingerprint_key",
        "Keys the fingerprints: a guessed key lets a site hide pages from us",
        &Maybe(|s| &mut s.crawl.frontier.fingerprint_key, "random"),
    ),
];
