//! The one table of settings: key, flags, reason, place. A new setting is a new row; `crawler.toml`, the flags, the environment
//! variables, `crawler config` and `--help` follow from it.

use std::time::Duration;

use super::field::{Bytes, Capacity, Choice, Many, Maybe, One};
use super::setting::{Setting, positional, row, switch, value};
use super::settings::Pages;
use super::toml_file::Entry;
use crate::gate::ScopeKind;
use crate::job::journal::SyncPolicy;
use crate::seen::{Layout, OnFull};

/// The settings that a simulated web is crawled with, over those of the file: it is this machine, and it is small.
/// Its audit is of every URL, so that what the filter lost is known and not estimated.
pub(super) const SIMULATE: &[(&str, &str)] =
    &[("politeness.host_delay", "20ms"), ("scope.kind", "any"), ("seen.audit", "1")];

/// The word for a limit that is none.
const UNLIMITED: &str = "unlimited";

const SCOPES: &[(&str, ScopeKind)] = &[
    (ScopeKind::Page.name(), ScopeKind::Page),
    (ScopeKind::Prefix.name(), ScopeKind::Prefix),
    (ScopeKind::Host.name(), ScopeKind::Host),
    (ScopeKind::Domain.name(), ScopeKind::Domain),
    (ScopeKind::Any.name(), ScopeKind::Any),
];

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

const SYNC: &[(&str, SyncPolicy)] = &[
    ("interval", SyncPolicy::Interval(Duration::from_secs(1))),
    ("always", SyncPolicy::Always),
    ("never", SyncPolicy::Never),
];

const PAGES: &[(&str, Pages)] = &[("job", Pages::Job), ("-", Pages::StandardOutput)];

/// Every setting, in the order of `crawler.toml`.
pub(super) static TABLE: &[Setting] = &[
    row("crawl.seeds", "Lists of seeds, one URL a line; - is standard input", &Many(|s| &mut s.seeds.files))
        .flags(&[value("seeds", "FILE").short('s')]),
    row("crawl.urls", "Seeds given one by one", &Many(|s| &mut s.seeds.urls)).flags(&[positional("urls", "URL")]),
    row(
        "crawl.max_pages",
        "Pages of a job after which it ends, all its runs together",
        &Maybe(|s| &mut s.crawl.max_pages, UNLIMITED),
    )
    .flags(&[value("max-pages", "N")]),
    row(
        "crawl.max_duration",
        "Time after which a run ends; the next one has it anew",
        &Maybe(|s| &mut s.crawl.max_duration, UNLIMITED),
    )
    .flags(&[value("max-duration", "TIME")]),
    row(
        "crawl.workers",
        "Fetches under way at once; auto takes as many as open files allow, up to 2,048",
        &Maybe(|s| &mut s.crawl.workers, "auto"),
    )
    .flags(&[value("workers", "N").short('j')]),
    row(
        "crawl.memory",
        "Memory for bodies, texts and links of pages in flight; beyond it they wait",
        &Bytes(|s| &mut s.crawl.memory),
    ),
    row(
        "scope.kind",
        "How far from the seeds: page, prefix, host, domain or any",
        &Choice(|s| &mut s.crawl.frontier.scope.kind, SCOPES),
    )
    .flags(&[value("scope", "KIND")]),
    row(
        "scope.include",
        "Where there are any, a URL must match one of these; seeds are exempt",
        &Many(|s| &mut s.crawl.frontier.scope.include),
    )
    .flags(&[value("include", "REGEX")]),
    row("scope.exclude", "A URL must match none of these", &Many(|s| &mut s.crawl.frontier.scope.exclude))
        .flags(&[value("exclude", "REGEX")]),
    row(
        "scope.max_depth",
        "Links from a seed at most; 0 is the seeds alone",
        &Maybe(|s| &mut s.crawl.frontier.scope.max_depth, UNLIMITED),
    )
    .flags(&[value("depth", "N").short('d')]),
    row("traps.url_bytes", "A longer URL is a trap", &Bytes(|s| &mut s.crawl.frontier.traps.url_bytes)),
    row(
        "traps.path_segments",
        "A path with more segments is a trap",
        &One(|s| &mut s.crawl.frontier.traps.path_segments),
    ),
    row(
        "traps.segment_repeats",
        "A path that repeats one segment more often is a trap",
        &One(|s| &mut s.crawl.frontier.traps.segment_repeats),
    ),
    row("traps.redirects", "Redirects in a row that are followed", &One(|s| &mut s.crawl.frontier.traps.redirects)),
    row(
        "politeness.agent",
        "Name that robots rules know us by; empty takes it from fetch.user_agent",
        &Maybe(|s| &mut s.agent, ""),
    ),
    row("politeness.robots", "Honor robots.txt", &One(|s| &mut s.crawl.frontier.politeness.robots)).flags(&[switch(
        "no-robots",
        &["false"],
    )
    .says("Ignore robots.txt: only for hosts that are yours")
    .rare()]),
    row(
        "politeness.host_delay",
        "Rest between a response of a host and the next request to it",
        &One(|s| &mut s.crawl.frontier.politeness.host_delay),
    )
    .flags(&[value("host-delay", "TIME")]),
    row(
        "politeness.max_crawl_delay",
        "Longest rest that a Crawl-delay in robots.txt can ask for",
        &One(|s| &mut s.crawl.frontier.politeness.max_crawl_delay),
    ),
    row(
        "politeness.max_retry_after",
        "Longest rest that a Retry-After header can ask for",
        &One(|s| &mut s.crawl.frontier.politeness.max_retry_after),
    ),
    row("politeness.attempts", "Tries of one URL in all", &One(|s| &mut s.crawl.frontier.politeness.attempts)),
    row(
        "politeness.backoff",
        "Rest after the first failure, of a page or of its host; doubles with each in a row",
        &One(|s| &mut s.crawl.frontier.politeness.backoff),
    ),
    row(
        "politeness.max_backoff",
        "Longest rest that failures lead to",
        &One(|s| &mut s.crawl.frontier.politeness.max_backoff),
    ),
    row(
        "politeness.host_failures",
        "Failures in a row after which a host counts as unreachable; a resume asks it again",
        &One(|s| &mut s.crawl.frontier.politeness.host_failures),
    ),
    row(
        "politeness.patience",
        "How long to wait for hosts that fail once no others are left",
        &One(|s| &mut s.crawl.frontier.politeness.patience),
    ),
    row(
        "politeness.robots_ttl",
        "How long a robots.txt is good for (RFC 9309: up to a day)",
        &One(|s| &mut s.crawl.frontier.politeness.robots_ttl),
    ),
    row(
        "politeness.robots_memory",
        "Memory for robots rules; those not used for longest wait on disk",
        &Bytes(|s| &mut s.crawl.frontier.politeness.robots_memory),
    ),
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
    row("fetch.user_agent", "The User-Agent header", &One(|s| &mut s.crawl.fetch.user_agent)).flags(&[value(
        "user-agent",
        "TEXT",
    )
    .short('A')]),
    row("fetch.contact", "Whom a host can write to: a mail address or URL", &Maybe(|s| &mut s.crawl.fetch.contact, ""))
        .flags(&[value("contact", "ADDRESS")]),
    row("fetch.connect_timeout", "For TCP and TLS together", &One(|s| &mut s.crawl.fetch.connect_timeout)),
    row(
        "fetch.first_byte_timeout",
        "From the request sent to the response's head",
        &One(|s| &mut s.crawl.fetch.first_byte_timeout),
    ),
    row(
        "fetch.first_contact_timeout",
        "Both together, until a host has answered once",
        &One(|s| &mut s.crawl.fetch.first_contact_timeout),
    ),
    row("fetch.idle_timeout", "Between two pieces of a body", &One(|s| &mut s.crawl.fetch.idle_timeout)),
    row(
        "fetch.min_bytes_per_second",
        "A body that comes slower, on the average, is given up",
        &One(|s| &mut s.crawl.fetch.min_bytes_per_second),
    ),
    row("fetch.rate_grace", "How long a body may be slower than that", &One(|s| &mut s.crawl.fetch.rate_grace)),
    row("fetch.total_timeout", "For a whole fetch", &One(|s| &mut s.crawl.fetch.total_timeout)),
    row(
        "fetch.max_body_bytes",
        "A longer body is cut, and its record says so",
        &Bytes(|s| &mut s.crawl.fetch.max_body_bytes),
    ),
    row(
        "fetch.allow_private_addresses",
        "Connect to private, loopback and link-local addresses too",
        &One(|s| &mut s.crawl.fetch.allow_private_addresses),
    )
    .flags(&[switch("allow-private-addresses", &["true"]).rare()]),
    row(
        "fetch.resolve_all_to",
        "Every name resolves to this address and port: a test web",
        &Maybe(|s| &mut s.crawl.fetch.resolve_all_to, "none"),
    ),
    row("parse.nofollow", "Honor nofollow of links, pages and headers", &One(|s| &mut s.crawl.parse.nofollow)),
    row("parse.max_links", "Links taken from one page", &One(|s| &mut s.crawl.parse.max_links)),
    row(
        "parse.max_nesting",
        "Elements open at once; a page that nests deeper is parsed so far",
        &One(|s| &mut s.crawl.parse.max_nesting),
    ),
    row("job.dir", "Directory of the crawl; one that is there goes on", &One(|s| &mut s.job.dir))
        .flags(&[value("job", "DIR")]),
    row(
        "job.add",
        "Seeds that a job in the directory does not have yet join it; else they are refused",
        &One(|s| &mut s.job.add),
    )
    .flags(&[switch("add", &["true"]).rare()]),
    row("job.overwrite", "Start afresh: what the directory holds of a crawl is lost", &One(|s| &mut s.job.overwrite))
        .flags(&[switch("overwrite", &["true"])]),
    row(
        "job.sync",
        "What a power cut may cost: interval (a second), always (nothing; waits for the disk) or never (a segment)",
        &Choice(|s| &mut s.crawl.job.open.journal.sync, SYNC),
    ),
    row(
        "job.checkpoint_interval",
        "Time between two checkpoints: a resume replays what came after",
        &One(|s| &mut s.crawl.job.checkpoint_interval),
    ),
    row(
        "job.keep_journal",
        "Keep what the journal has of URLs long fetched; false for a crawl without end",
        &One(|s| &mut s.crawl.job.open.keep_journal),
    ),
    row(
        "job.hosts_in_memory",
        "Hosts beyond these that have nothing queued wait on disk, those that have rested for longest",
        &One(|s| &mut s.crawl.job.open.hosts_in_memory),
    ),
    row(
        "job.min_free_disk",
        "The crawl stops, to be resumed, when less is free on its disk",
        &Bytes(|s| &mut s.crawl.job.min_free_disk),
    ),
    row(
        "output.pages",
        "Where page records go: job (its pages.jsonl) or - (standard output)",
        &Choice(|s| &mut s.output.pages, PAGES),
    )
    .flags(&[value("output", "WHERE").short('o')]),
    row("output.json", "The final report as JSON", &One(|s| &mut s.output.json)).flags(&[switch("json", &["true"])]),
    row("output.log", "What is logged, as crate=level: error, warn, info, debug, trace", &One(|s| &mut s.output.log))
        .flags(&[
            switch("verbose", &["warn,crawler=info", "warn,crawler=debug", "debug,crawler=trace"])
                .short('v')
                .says("Say more; -vv and -vvv even more"),
            switch("quiet", &["error", "off"]).short('q').says("Log errors only; -qq not even those"),
        ]),
    row("output.progress", "Say how far the crawl is while it runs", &One(|s| &mut s.output.progress))
        .flags(&[switch("no-progress", &["false"]).says("Do not say how far the crawl is").rare()]),
    row(
        "output.skipped",
        "List refused links, with reason and referrer, in the job's skipped.jsonl; beyond 32 MiB a sample",
        &One(|s| &mut s.output.skipped),
    )
    .flags(&[switch("skipped", &["true"])]),
    row("simulate.enabled", "Crawl a simulated web, served on this machine", &One(|s| &mut s.simulate.enabled))
        .flags(&[switch("simulate", &["true"])]),
    row("simulate.seed", "The number that everything else about it follows from", &One(|s| &mut s.simulate.web.seed)),
    row("simulate.hosts", "Its hosts", &One(|s| &mut s.simulate.web.hosts)),
    row("simulate.pages", "Its addresses: pages, files, redirects and dead ones", &One(|s| &mut s.simulate.web.pages)),
    row(
        "simulate.largest_host_percent",
        "Share of the pages on the largest host",
        &One(|s| &mut s.simulate.web.largest_host_percent),
    ),
    row(
        "simulate.duplicate_percent",
        "Share of the links that lead where another one leads already",
        &One(|s| &mut s.simulate.web.duplicate_percent),
    ),
    row(
        "simulate.slow_host_percent",
        "Share of the hosts that answer slowly",
        &One(|s| &mut s.simulate.web.slow_host_percent),
    ),
    row("simulate.latency", "How long a slow host takes", &One(|s| &mut s.simulate.web.latency)),
    row(
        "simulate.crawl_delay",
        "The Crawl-delay of the few hosts that have one",
        &One(|s| &mut s.simulate.web.crawl_delay),
    ),
    row(
        "simulate.retry_after",
        "Seconds that each 503 asks for in Retry-After",
        &One(|s| &mut s.simulate.web.retry_after),
    ),
    row("simulate.trap", "One more host, with a calendar that never ends", &One(|s| &mut s.simulate.web.trap)),
];

/// Where a key's row is.
pub(super) fn row_of(key: &str) -> Option<usize> {
    TABLE.iter().position(|setting| setting.key == key)
}

/// A key that a file lacks which should have all of them.
pub(super) fn missing(file: &[Entry]) -> Option<&'static str> {
    TABLE.iter().map(|setting| setting.key).find(|key| file.iter().all(|entry| entry.key != *key))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::layers::untyped;
    use crate::cli::settings::Settings;

    #[test]
    fn each_key_variable_and_flag_is_there_once() {
        let count = |names: Vec<String>| (names.len(), names.into_iter().collect::<BTreeSet<_>>().len());
        let flags = || TABLE.iter().flat_map(|setting| setting.flags);
        for (all, distinct) in [
            count(TABLE.iter().map(|setting| setting.key.to_owned()).collect()),
            // As variables: `a.b_c` and `a_b.c` would be one.
            count(TABLE.iter().map(|setting| setting.key.replace('.', "_")).collect()),
            count(flags().map(|flag| flag.long.to_owned()).collect()),
            count(flags().filter_map(|flag| flag.short).map(String::from).collect()),
        ] {
            assert_eq!(all, distinct);
        }
    }

    #[test]
    fn keys_that_the_code_names_are_in_the_table() {
        let named = ["crawl.seeds", "fetch.user_agent", "output.json", "output.log", "scope.kind"];
        for key in SIMULATE.iter().map(|(key, _)| *key).chain(named) {
            assert!(row_of(key).is_some(), "{key}");
        }
    }

    /// Sets every row to something else and looks at every field of every options struct, as `Debug` writes them a line each: one
    /// that nothing changed has no row.
    #[test]
    fn each_field_of_the_options_has_a_row() {
        let before = Settings::default();
        let mut after = Settings::default();
        for setting in TABLE {
            let was = setting.field.literal(&mut after);
            let candidates = ["true", "false", "page", "stop", "exact", "never", "-", "7", "7s", "0.5", "127.0.0.1:7"];
            let changed = candidates.iter().any(|text| {
                let taken = setting.field.set(&mut after, &untyped(vec![text.into()]));
                taken.is_ok() && setting.field.literal(&mut after) != was
            });
            assert!(changed, "{} takes none of the candidates", setting.key);
        }
        after.finish().unwrap();
        let (before, after) = (format!("{before:#?}"), format!("{after:#?}"));
        let value = |line: &str| line.split_once(": ").map(|(name, value)| (name.trim().to_owned(), value.to_owned()));
        // A structure's opening line is no value; what a list or an option gains stands on lines of its own.
        let leaves: BTreeSet<_> = before.lines().filter(|line| !line.ends_with(['{', '('])).filter_map(value).collect();
        let kept: Vec<_> = after.lines().filter_map(value).filter(|leaf| leaves.contains(leaf)).collect();
        // The first follows from the word `auto` of the capacity, the second from the job's directory; the third is for embedders.
        let derived = ["open_ended", "directory", "segment_bytes"];
        let kept: Vec<_> = kept.into_iter().filter(|(name, _)| !derived.contains(&name.as_str())).collect();
        assert_eq!(kept, [], "no row changes these");
    }
}
