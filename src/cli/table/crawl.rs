//! Settings of the crawl itself: its seeds and limits, its scope, its traps, its politeness.

use crate::cli::field::{Bytes, Choice, Many, Maybe, MaybeBytes, One};
use crate::cli::setting::{Setting, positional, setting, switch, value};
use crate::gate::ScopeKind;

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

const SCOPES: &[(&str, ScopeKind)] = &[
    (ScopeKind::Page.name(), ScopeKind::Page),
    (ScopeKind::Prefix.name(), ScopeKind::Prefix),
    (ScopeKind::Host.name(), ScopeKind::Host),
    (ScopeKind::Domain.name(), ScopeKind::Domain),
    (ScopeKind::Any.name(), ScopeKind::Any),
];

pub(super) static ROWS: &[Setting] = &[
    setting!(Many, "crawl.seeds" => seeds.files, "Lists of seeds, one URL a line; - is standard input")
        .flags(&[value("seeds", "FILE").short('s')]),
    setting!(Many, "crawl.urls" => seeds.urls, "Seeds given one by one").flags(&[positional("urls", "URL")]),
    setting!(Maybe, "crawl.max_pages" => crawl.max_pages,
        "Pages of a job after which it ends, all its runs together", UNLIMITED)
    .flags(&[value("max-pages", "N")]),
    setting!(Maybe, "crawl.max_duration" => crawl.max_duration,
        "Time after which a run ends; a flag is of that run alone", UNLIMITED)
    .flags(&[value("max-duration", "TIME")]),
    setting!(Maybe, "crawl.workers" => crawl.workers,
        "Fetches under way at once; auto takes as many as open files allow, up to 2,048", "auto")
    .flags(&[value("workers", "N").short('j').says("Fetches under way at once; auto takes up to 2,048").rare()]),
    setting!(Bytes, "crawl.memory" => crawl.memory,
        "Memory for bodies, texts and links of pages in flight; beyond it they wait"),
    setting!(Choice, crawl.frontier: scope.kind, "How far from the seeds: page, prefix, host, domain or any", SCOPES)
        .flags(&[value("scope", "KIND")]),
    setting!(Many, crawl.frontier: scope.include,
        "Where there are any, a URL must match one of these; seeds are exempt")
    .flags(&[value("include", "REGEX")]),
    setting!(Many, crawl.frontier: scope.exclude, "A URL must match none of these").flags(&[value("exclude", "REGEX")]),
    setting!(Many, crawl.frontier: scope.blocklists, "Lists of hosts and URLs that are never asked for; hosts files too")
        .flags(&[value("blocklist", "FILE").rare()]),
    setting!(Many, crawl.frontier: scope.reject_extensions,
        "URLs whose paths end so are never asked for: zip, tar.gz")
    .flags(&[value("reject-ext", "EXT").rare()]),
    setting!(Maybe, crawl.frontier: scope.max_depth, "Links from a seed at most; 0 is the seeds alone", UNLIMITED)
        .flags(&[value("depth", "N").short('d')]),
    setting!(Bytes, crawl.frontier: traps.url_bytes, "A longer URL is a trap"),
    setting!(One, crawl.frontier: traps.path_segments, "A path with more segments is a trap"),
    setting!(One, crawl.frontier: traps.segment_repeats, "A path that repeats one segment more often is a trap"),
    setting!(One, crawl.frontier: traps.redirects, "Redirects in a row that are followed"),
    setting!(One, crawl.frontier: traps.parameters, "A query with more parameters is a trap"),
    setting!(One, crawl.frontier: traps.parameter_sets,
        "Sets of 3 or more parameter names of one path, before these share one shape_budget; 0 is no bound, here and below"),
    setting!(One, crawl.frontier: traps.shape_budget,
        "Pages of one shape (URLs but for numbers and ids) that may bring nothing new"),
    setting!(One, crawl.frontier: traps.section_budget, "Pages in one first directory that may bring nothing new"),
    setting!(One, crawl.frontier: traps.host_budget, "Pages of one host that may bring nothing new"),
    setting!(One, crawl.frontier: traps.domain_budget,
        "Hosts of one registrable domain whose first page may bring nothing new"),
    setting!(One, crawl.frontier: traps.domain_lead,
        "Turns that a registrable domain may have beyond the average of all, before its new hosts wait"),
    setting!(One, crawl.frontier: traps.session_budget,
        "Pages of one host that may be like another but for an id in the URL, before ids are taken for sessions"),
    setting!(One, crawl.frontier: traps.mirror_budget,
        "Pages of one host that may be like the page at the same path of a seed's host, before it is taken for a mirror"),
    setting!(One, crawl.frontier: traps.copies,
        "Directories beside each other that may hold the same pages (versions, translations) at no cost to the budgets"),
    setting!(One, crawl.frontier: traps.budget_growth, "How much each budget grows with each page that brings something new"),
    setting!(Maybe, "politeness.agent" => agent,
        "Name that robots rules know us by; empty takes it from fetch.user_agent", ""),
    setting!(One, crawl.frontier: politeness.robots, "Honor robots.txt")
        .flags(&[switch("no-robots", &["false"]).says("Ignore robots.txt: only for hosts that are yours").rare()]),
    setting!(One, crawl.frontier: politeness.host_delay,
        "Rest between a response of a host and the next request to it")
    .flags(&[value("host-delay", "TIME")]),
    setting!(One, crawl.frontier: politeness.connections_per_host,
        "Requests of one host out at once, for hosts that are yours or agreed; the rest is then between their starts")
    .flags(&[value("connections-per-host", "N").rare()]),
    setting!(Maybe, crawl.frontier: politeness.address_delay,
        "Rest between two requests to one IP address, whatever hosts are there; auto is 100ms, but for loopback and quicker hosts; 0s is none",
        "auto")
    .flags(&[value("address-delay", "TIME").says("Rest between two requests to one IP address, whatever hosts are there").rare()]),
    setting!(One, crawl.frontier: politeness.connections_per_address,
        "Requests to one IP address out at once; with more than 1 the rest is between their starts")
    .flags(&[value("connections-per-address", "N").rare()]),
    setting!(Maybe, crawl.frontier: politeness.host_pages,
        "Pages of one host, over all runs of a job; robots.txt and sitemaps do not count, and other URLs wait for a run that allows more", UNLIMITED)
    .flags(&[value("host-pages", "N").says("Pages of one host, over all runs of a job").rare()]),
    setting!(MaybeBytes, crawl.frontier: politeness.host_bytes,
        "Bytes of bodies of one host, as they come over the wire, over all runs of a job; what is under way comes to its end", UNLIMITED)
    .flags(&[value("host-bytes", "SIZE").says("Bytes of bodies of one host, over all runs of a job").rare()]),
    setting!(Maybe, crawl.frontier: politeness.hours,
        "Times of day in which hosts may be asked, UTC unless an offset follows: 22:00-06:00 +02:00; outside them the crawl waits", "always")
    .flags(&[value("hours", "TIMES").says("Times of day in which hosts may be asked: 22:00-06:00, or 22:00-06:00 +02:00").rare()]),
    setting!(Maybe, crawl.frontier: politeness.adaptive_share,
        "Share of a host's time that requests may take: with 0.1 one that took 1 s to answer rests 9; an error never shortens the rest",
        "none")
    .flags(&[value("adaptive-share", "SHARE").says("Share of a host's time that requests may take: with 0.1 one that took 1 s rests 9").rare()]),
    setting!(One, crawl.frontier: politeness.max_adaptive_delay, "Longest rest that adaptive_share leads to"),
    setting!(One, crawl.frontier: politeness.max_crawl_delay,
        "Longest rest that a Crawl-delay in robots.txt can ask for"),
    setting!(One, crawl.frontier: politeness.max_retry_after, "Longest rest that a Retry-After header can ask for"),
    setting!(One, crawl.frontier: politeness.attempts, "Tries of one URL in all"),
    setting!(One, crawl.frontier: politeness.backoff,
        "Rest after the first failure, of a page or of its host; doubles with each in a row"),
    setting!(One, crawl.frontier: politeness.max_backoff, "Longest rest that failures lead to"),
    setting!(One, crawl.frontier: politeness.host_failures,
        "Failures in a row after which a host counts as unreachable; a resume asks it again"),
    setting!(One, crawl.frontier: politeness.patience, "How long to wait for hosts that fail once no others are left"),
    setting!(One, crawl.frontier: politeness.robots_ttl, "How long a robots.txt is good for (RFC 9309: up to a day)"),
    setting!(Bytes, crawl.frontier: politeness.robots_memory,
        "Memory for robots rules; those not used for longest wait on disk"),
    setting!(Maybe, "rate.requests" => crawl.frontier.request_rate,
        "Requests a second of the whole crawl, robots.txt and sitemaps included", UNLIMITED)
    .flags(&[value("rate", "N").rare()]),
    setting!(MaybeBytes, "rate.bytes" => crawl.frontier.byte_rate,
        "Bytes of responses a second of the whole crawl, on the average", UNLIMITED)
    .flags(&[value("byte-rate", "SIZE").rare()]),
];
