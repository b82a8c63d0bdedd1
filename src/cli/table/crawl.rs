//! Settings of the crawl itself: its seeds and limits, its scope, its traps, its politeness.

use crate::cli::field::{Bytes, Choice, Many, Maybe, One};
use crate::cli::setting::{Setting, positional, row, switch, value};
use crate::gate::ScopeKind;

/// The word for a limit that is none.
const UNLIMITED: &str = "unlimited";

const SCOPES: &[(&str, ScopeKind)] = &[
    (ScopeKind::Page.name(), ScopeKind::Page),
    (ScopeKind::Prefix.name(), ScopeKind::Prefix),
    (ScopeKind::Host.name(), ScopeKind::Host),
    (ScopeKind::Domain.name(), ScopeKind::Domain),
    (ScopeKind::Any.name(), ScopeKind::Any),
];

pub(super) static ROWS: &[Setting] =
    &[
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
        row("politeness.robots", "Honor robots.txt", &One(|s| &mut s.crawl.frontier.politeness.robots))
            .flags(&[switch("no-robots", &["false"]).says("Ignore robots.txt: only for hosts that are yours").rare()]),
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
    ];
