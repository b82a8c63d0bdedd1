//! Settings of keys and of the URL-seen filter.

use crate::cli::field::{Capacity, Choice, Many, Maybe, One};
use crate::cli::setting::{Setting, row, setting, value};
use crate::seen::{Layout, OnFull};

/// All layouts by name, and `bloom`, others' name for the default.
const LAYOUTS: &[(&str, Layout)] = &{
    let mut layouts = [("bloom", Layout::Blocked); Layout::ALL.len() + 1];
    let mut at = 0;
    while at < Layout::ALL.len() {
        // `bloom` comes after the default's own name.
        layouts[if at == 0 { 0 } else { at + 1 }] = (Layout::ALL[at].name(), Layout::ALL[at]);
        at += 1;
    }
    layouts
};

const ON_FULL: &[(&str, OnFull)] = &[("grow", OnFull::Grow), ("stop", OnFull::Stop), ("warn", OnFull::Warn)];

pub(super) static ROWS: &[Setting] = &[
    setting!(One, crawl.frontier: keys.normalize_escapes,
        "Escapes in another case, and needless ones, make no other URL"),
    setting!(One, crawl.frontier: keys.unescape_brackets,
        "Escaped brackets, braces, bars and the like are the same as bare ones"),
    setting!(One, crawl.frontier: keys.collapse_slashes, "Slashes in a row are one; some servers keep them apart"),
    setting!(One, crawl.frontier: keys.sort_query, "Parameters in another order are the same URL"),
    setting!(One, crawl.frontier: keys.drop_empty_query, "A query without parameters makes no other URL"),
    setting!(One, crawl.frontier: keys.drop_tracking, "Parameters that only track visitors make no other URL"),
    setting!(One, crawl.frontier: keys.drop_sessions,
        "Parameters that only name a visitor's session make no other URL"),
    setting!(Many, crawl.frontier: keys.drop_parameters,
        "More parameters that make no other URL; ref_* is all that start with ref_"),
    setting!(Choice, crawl.frontier: seen.layout,
        "How seen URLs are remembered: blocked, standard, partitioned, counting, exact or verified", LAYOUTS)
    .flags(&[value("seen", "LAYOUT").rare()]),
    row("seen.capacity", "URLs that the filter is sized for; auto where nobody knows", &Capacity).flags(&[value(
        "seen-capacity",
        "N",
    )
    .rare()]),
    setting!(One, crawl.frontier: seen.false_positive_rate,
        "Share of new URLs that may be lost to the filter at capacity")
    .flags(&[value("seen-rate", "RATE").rare()]),
    setting!(One, crawl.frontier: seen.shards, "Parts of the filter, each with its lock; a power of two")
        .flags(&[value("shards", "N").rare()]),
    setting!(Choice, crawl.frontier: seen.on_full,
        "At capacity: grow, stop (the crawl) or warn (and lose more)", ON_FULL),
    setting!(One, crawl.frontier: seen.audit,
        "All URLs up to 57,344, then fewer, down to one in N, are kept exactly, to count what the filter loses; 0 is none"),
    setting!(Maybe, crawl.frontier: seen.bits_per_url, "Bits a URL, instead of those that the rate asks for", "auto"),
    setting!(Maybe, crawl.frontier: seen.probes, "Probes a URL, with bits_per_url", "auto"),
    setting!(One, crawl.frontier: seen.identity_bits, "Bits of a fingerprint in the exact layout: 16 to 56"),
    setting!(Maybe, "seen.fingerprint_key" => crawl.frontier.fingerprint_key,
        "Keys the fingerprints: a guessed key lets a site hide pages from us", "random"),
];
