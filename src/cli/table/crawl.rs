//! Settings of the crawl itself: its seeds and limits, scope, traps, politeness and rate; the keys of its URLs, and the URL-seen filter;
//! fetching, sitemaps, and reading pages.

use super::{Setting, positional, row, setting, switch, value};
use crate::cli::field::{Bytes, Capacity, Choice, Many, Maybe, MaybeBytes, One};
use crate::crawl::ClientChoice;
use crate::frontier::Purpose;
use crate::gate::ScopeKind;
use crate::seen::{Layout, OnFull};

/// The word for no limit.
const UNLIMITED: &str = "unlimited";

const SCOPES: &[(&str, ScopeKind)] = &[
    (ScopeKind::Page.name(), ScopeKind::Page),
    (ScopeKind::Prefix.name(), ScopeKind::Prefix),
    (ScopeKind::Host.name(), ScopeKind::Host),
    (ScopeKind::Domain.name(), ScopeKind::Domain),
    (ScopeKind::Any.name(), ScopeKind::Any),
];

const PURPOSES: &[(&str, Option<Purpose>)] = &[
    ("any", None),
    (Purpose::Search.name(), Some(Purpose::Search)),
    (Purpose::AiInput.name(), Some(Purpose::AiInput)),
    (Purpose::TrainAi.name(), Some(Purpose::TrainAi)),
];

/// All layouts by name, and `bloom`, which is a common name for the default.
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

/// The rows of these settings, in the order of `crawler.toml`.
pub(super) static ROWS: &[Setting] = &[
    setting!(Many, "crawl.seeds" => seeds.files, "Lists of seeds, one URL a line; - is standard input")
        .flags(&[value("seeds", "FILE").short('s')]),
    setting!(Many, "crawl.urls" => seeds.urls, "Seeds given one by one").flags(&[positional("urls", "URL")]),
    setting!(Maybe, "crawl.max_pages" => crawl.max_pages,
        "Pages of a job after which it ends, all its runs together", UNLIMITED)
    .flags(&[value("max-pages", "N")]),
    setting!(Maybe, "crawl.max_duration" => crawl.max_duration,
        "Time after which a run ends; the flag holds for that run alone", UNLIMITED)
    .flags(&[value("max-duration", "TIME")]),
    setting!(Maybe, "crawl.workers" => crawl.workers,
        "Fetches under way at once; auto takes as many as open files allow, up to 2,048", "auto")
    .flags(&[value("workers", "N").short('j').says("Fetches under way at once; auto takes up to 2,048").rare()]),
    setting!(Bytes, "crawl.memory" => crawl.memory,
        "Memory for bodies, texts and links of pages in flight; further fetches wait"),
    setting!(Choice, crawl.frontier: scope.kind, "How far from the seeds: page, prefix, host, domain or any", SCOPES)
        .flags(&[value("scope", "KIND")]),
    setting!(Many, crawl.frontier: scope.include,
        "A URL must match one of these, if any are given; seeds are exempt")
    .flags(&[value("include", "REGEX")]),
    setting!(Many, crawl.frontier: scope.exclude, "A URL must match none of these").flags(&[value("exclude", "REGEX")]),
    setting!(Many, crawl.frontier: scope.blocklists, "Lists of hosts and URLs that are never requested; hosts files too")
        .flags(&[value("blocklist", "FILE").rare()]),
    setting!(Many, crawl.frontier: scope.reject_extensions,
        "URLs whose paths have these extensions are never requested: zip, tar.gz")
    .flags(&[value("reject-ext", "EXT").rare()]),
    setting!(Maybe, crawl.frontier: scope.max_depth, "At most N links away from a seed; 0 is the seeds alone", UNLIMITED)
        .flags(&[value("depth", "N").short('d')]),
    setting!(Bytes, crawl.frontier: traps.url_bytes, "A longer URL is a trap"),
    setting!(One, crawl.frontier: traps.path_segments, "A path with more segments is a trap"),
    setting!(One, crawl.frontier: traps.segment_repeats, "A path that repeats one segment more often is a trap"),
    setting!(One, crawl.frontier: traps.redirects, "Redirects in a row that are followed"),
    setting!(One, crawl.frontier: traps.parameters, "A query with more parameters is a trap"),
    setting!(One, crawl.frontier: traps.parameter_sets,
        "Sets of 3 or more parameter names that one path may have, before all share one shape_budget; 0 is no bound, here and below"),
    setting!(One, crawl.frontier: traps.shape_budget,
        "Pages of one shape (a URL without its numbers and ids) that may bring nothing new"),
    setting!(One, crawl.frontier: traps.section_budget, "Pages in one first directory that may bring nothing new"),
    setting!(One, crawl.frontier: traps.host_budget, "Pages of one host that may bring nothing new"),
    setting!(One, crawl.frontier: traps.domain_budget,
        "Hosts of one registrable domain whose first page may bring nothing new"),
    setting!(One, crawl.frontier: traps.domain_lead,
        "Turns that a registrable domain may be ahead of the average, before its new hosts wait"),
    setting!(One, crawl.frontier: traps.session_budget,
        "Pages of one host that may be like a page whose URL differs only in an id, before ids are taken for sessions"),
    setting!(One, crawl.frontier: traps.mirror_budget,
        "Pages of one host that may be like the page at the same path of a seed's host, before the host is taken for a mirror"),
    setting!(One, crawl.frontier: traps.copies,
        "Sibling directories that may hold the same pages (versions, translations) at no cost to the budgets"),
    setting!(One, crawl.frontier: traps.budget_growth, "How much each budget grows with each page that brings something new"),
    setting!(Maybe, "politeness.agent" => agent,
        "Product token to look for in robots.txt; empty takes it from fetch.user_agent", ""),
    setting!(One, crawl.frontier: politeness.robots, "Honor robots.txt")
        .flags(&[switch("no-robots", &["false"]).says("Ignore robots.txt: only for hosts that are yours").rare()]),
    setting!(Choice, crawl.frontier: politeness.purpose,
        "What the pages are for: search, ai-input or train-ai; pages whose site denies it are refused; any refuses none", PURPOSES)
    .flags(&[value("purpose", "PURPOSE").says("What the pages are for: search, ai-input or train-ai; pages whose site denies it are refused").rare()]),
    setting!(One, crawl.frontier: politeness.host_delay,
        "Delay between a host's response and the next request to it")
    .flags(&[value("host-delay", "TIME")]),
    setting!(One, crawl.frontier: politeness.connections_per_host,
        "Requests to one host at once, for hosts that are yours or agreed; the delay then counts from start to start")
    .flags(&[value("connections-per-host", "N").rare()]),
    setting!(One, crawl.frontier: politeness.first_contacts_per_host,
        "Requests at once to a host that has never answered, as far as its connections allow; matters where robots.txt is not honored"),
    setting!(Maybe, crawl.frontier: politeness.address_delay,
        "Delay between two requests to one IP address, whatever hosts are there; auto is 100ms, except for loopback and hosts with a shorter delay; 0s is none",
        "auto")
    .flags(&[value("address-delay", "TIME").says("Delay between two requests to one IP address, whatever hosts are there").rare()]),
    setting!(One, crawl.frontier: politeness.connections_per_address,
        "Requests to one IP address at once; with more than 1, the delay counts from start to start")
    .flags(&[value("connections-per-address", "N").rare()]),
    setting!(Maybe, crawl.frontier: politeness.host_pages,
        "At most N pages of one host, over all runs of a job; robots.txt and sitemaps do not count, and further URLs wait for a run that allows more", UNLIMITED)
    .flags(&[value("host-pages", "N").says("At most N pages of one host, over all runs of a job").rare()]),
    setting!(MaybeBytes, crawl.frontier: politeness.host_bytes,
        "At most this many bytes of one host's bodies, as sent over the wire, over all runs of a job; fetches under way are finished", UNLIMITED)
    .flags(&[value("host-bytes", "SIZE").says("At most this many bytes of one host's bodies, over all runs of a job").rare()]),
    setting!(Maybe, crawl.frontier: politeness.hours,
        "Times of day in which requests are sent, UTC unless an offset follows: 22:00-06:00 +02:00; outside them the crawl waits", "always")
    .flags(&[value("hours", "TIMES").says("Times of day in which requests are sent: 22:00-06:00, or 22:00-06:00 +02:00").rare()]),
    setting!(Maybe, crawl.frontier: politeness.adaptive_share,
        "Share of a host's time that requests may take: with 0.1, a host that took 1 s to answer rests 9 s; an error never shortens the delay",
        "none")
    .flags(&[value("adaptive-share", "SHARE").says("Share of a host's time that requests may take: with 0.1, a host that took 1 s rests 9 s").rare()]),
    setting!(One, crawl.frontier: politeness.max_adaptive_delay, "Longest delay that adaptive_share leads to"),
    setting!(One, crawl.frontier: politeness.max_crawl_delay,
        "Longest delay that a Crawl-delay in robots.txt can ask for"),
    setting!(One, crawl.frontier: politeness.max_retry_after, "Longest delay that a Retry-After header can ask for"),
    setting!(One, crawl.frontier: politeness.attempts, "Tries of one URL in all"),
    setting!(One, crawl.frontier: politeness.backoff,
        "Delay after the first failure of a page or of its host; it doubles with each further failure in a row"),
    setting!(One, crawl.frontier: politeness.max_backoff, "Longest delay that failures lead to"),
    setting!(One, crawl.frontier: politeness.host_failures,
        "Failures in a row after which a host counts as unreachable; a resume tries it again"),
    setting!(One, crawl.frontier: politeness.patience, "How long to wait for hosts that fail once no others are left"),
    setting!(One, crawl.frontier: politeness.robots_ttl, "How long a robots.txt stays valid (RFC 9309: up to a day)"),
    setting!(Bytes, crawl.frontier: politeness.robots_memory,
        "Memory for robots rules; the least recently used ones wait on disk"),
    setting!(One, "frontier.order" => crawl.frontier.order,
        "Order of a host's URLs that have the same priority: fifo, the oldest first, or lifo, the newest first"),
    setting!(One, "frontier.move_up" => crawl.frontier.move_up,
        "A waiting page that is found again nearer to a seed is queued by that depth; takes 14 bytes of memory a waiting page"),
    setting!(Maybe, "rate.requests" => crawl.frontier.request_rate,
        "Requests a second of the whole crawl, robots.txt and sitemaps included", UNLIMITED)
    .flags(&[value("rate", "N").rare()]),
    setting!(MaybeBytes, "rate.bytes" => crawl.frontier.byte_rate,
        "Bytes of responses a second of the whole crawl, on average", UNLIMITED)
    .flags(&[value("byte-rate", "SIZE").rare()]),
    setting!(One, crawl.frontier: keys.normalize_escapes,
        "URLs that differ in the case of escapes, or in needless escapes, are the same"),
    setting!(One, crawl.frontier: keys.unescape_brackets,
        "Escaped brackets, braces, bars and the like are the same as bare ones"),
    setting!(One, crawl.frontier: keys.collapse_slashes, "Slashes in a row count as one; some servers tell them apart"),
    setting!(One, crawl.frontier: keys.sort_query, "URLs that differ in the order of their parameters are the same"),
    setting!(One, crawl.frontier: keys.drop_empty_query, "A URL is the same with an empty query as without one"),
    setting!(One, crawl.frontier: keys.drop_tracking, "URLs that differ in parameters that only track visitors are the same"),
    setting!(One, crawl.frontier: keys.drop_sessions,
        "URLs that differ in parameters that only name a session are the same"),
    setting!(Many, crawl.frontier: keys.drop_parameters,
        "More parameters that do not count in a URL; ref_* stands for all names that start with ref_"),
    setting!(Choice, crawl.frontier: seen.layout,
        "How seen URLs are remembered: blocked, quotient, standard, partitioned, counting, exact or verified", LAYOUTS)
    .flags(&[value("seen", "LAYOUT").rare()]),
    row("seen.capacity", "URLs that the filter is sized for; auto if the number is unknown", &Capacity).flags(&[value(
        "seen-capacity",
        "N",
    )
    .rare()]),
    setting!(One, crawl.frontier: seen.false_positive_rate,
        "Share of new URLs that may be lost to the filter at capacity")
    .flags(&[value("seen-rate", "RATE").rare()]),
    setting!(One, crawl.frontier: seen.shards, "Parts of the filter, each with its own lock; a power of two")
        .flags(&[value("shards", "N").rare()]),
    setting!(Choice, crawl.frontier: seen.on_full,
        "At capacity: grow, stop (the crawl) or warn (and lose more)", ON_FULL),
    setting!(One, crawl.frontier: seen.audit,
        "All URLs up to 57,344, then fewer, down to one in N, are kept exactly, to count what the filter loses; 0 is none"),
    setting!(Maybe, crawl.frontier: seen.bits_per_url, "Bits per URL, instead of the number that the rate needs", "auto"),
    setting!(Maybe, crawl.frontier: seen.probes, "Probes per URL, with bits_per_url", "auto"),
    setting!(One, crawl.frontier: seen.identity_bits, "Bits of a fingerprint in the exact layout: 16 to 56"),
    setting!(Maybe, "seen.fingerprint_key" => crawl.frontier.fingerprint_key,
        "Key of the fingerprints; with a guessed key, a site can hide pages from the crawl", "random"),
    setting!(Choice, crawl: fetch.client,
        "The HTTP client: direct, or reqwest, which takes a tenth more CPU", ClientChoice::NAMED)
    .flags(&[value("client", "CLIENT").rare()]),
    setting!(One, crawl: fetch.user_agent, "The User-Agent header").flags(&[value("user-agent", "TEXT").short('A')]),
    setting!(Maybe, crawl: fetch.contact, "Where the owner of a host can reach you: a mail address or URL", "")
        .flags(&[value("contact", "ADDRESS")]),
    setting!(Many, crawl: fetch.headers,
        "Further headers to send, or to replace, as Name: value; kept in the job, so not for secrets")
    .flags(&[value("header", "LINE").rare()]),
    setting!(One, crawl: fetch.cookies, "Accept cookies and send them back; the job keeps them")
        .flags(&[switch("cookies", &["true"]).rare()]),
    setting!(Many, crawl: fetch.load_cookies, "Files of cookies to start with, as browsers export them: cookies.txt")
        .flags(&[value("load-cookies", "FILE").rare()]),
    setting!(Maybe, crawl: fetch.proxy,
        "Send all requests through this proxy: http://HOST:PORT, https://, socks5:// or socks5h://; env takes it from the environment",
        "none")
    .flags(&[value("proxy", "URL").rare()]),
    setting!(Maybe, crawl: fetch.proxy_sign_in,
        "Credentials for the proxy: env:VARIABLE or file:PATH, which holds user:password", "none"),
    setting!(Many, crawl: fetch.no_proxy,
        "Hosts to reach without the proxy: example.org and its subdomains, 10.0.0.0/8, * for all")
    .flags(&[value("no-proxy", "HOST").rare()]),
    setting!(One, crawl: fetch.proxy_patience, "How long a proxy may fail before the crawl stops; nothing is lost, and a resume continues"),
    setting!(One, crawl: fetch.proxy_connections, "Connections to a proxy at once; further requests wait"),
    setting!(Many, crawl: fetch.ca_files, "Files of certificates (PEM) to trust in addition to the system's")
        .flags(&[value("ca-file", "FILE").rare()]),
    setting!(One, crawl: fetch.insecure, "Accept every certificate: anybody on the network path can read and change the traffic")
        .flags(&[switch("insecure", &["true"]).rare()]),
    setting!(One, crawl: fetch.connect_timeout, "Time to connect: TCP and TLS together"),
    setting!(One, crawl: fetch.first_byte_timeout, "Time from the sent request to the head of the response"),
    setting!(One, crawl: fetch.first_contact_timeout, "Both of these together, until a host has answered once"),
    setting!(One, crawl: fetch.idle_timeout, "Time between two pieces of a body"),
    setting!(One, crawl: fetch.min_bytes_per_second, "A body that arrives slower than this, on average, is given up"),
    setting!(One, crawl: fetch.rate_grace, "How long a body may be slower than that"),
    setting!(One, crawl: fetch.total_timeout, "Time for a whole fetch"),
    setting!(Bytes, crawl: fetch.max_body_bytes, "A longer body is cut, and its record says so"),
    setting!(Many, crawl: fetch.types,
        "Fetch only pages of these types, by Content-Type before the body is read: html, pdf, image/*; links need html")
    .flags(&[value("types", "TYPES").rare()]),
    setting!(MaybeBytes, crawl: fetch.max_bytes,
        "A longer page is refused: by its Content-Length before the body is read, or as soon as it exceeds this", "unlimited")
    .flags(&[value("max-bytes", "SIZE").rare()]),
    setting!(One, crawl: fetch.allow_private_addresses, "Connect to private, loopback and link-local addresses too")
        .flags(&[switch("allow-private-addresses", &["true"]).rare()]),
    setting!(Many, crawl: fetch.allow_networks, "Blocks of non-public addresses to connect to: 10.1.0.0/16")
        .flags(&[value("allow-network", "CIDR").rare()]),
    setting!(Many, crawl: fetch.deny_networks, "Blocks of addresses never to connect to, even if another setting allows them")
        .flags(&[value("deny-network", "CIDR").rare()]),
    setting!(One, crawl: fetch.http1_only, "No HTTP/2, not even to hosts that may have several requests at once")
        .flags(&[switch("http1-only", &["true"]).rare()]),
    setting!(Maybe, crawl: fetch.resolve_all_to, "Every name resolves to this address and port: a test web", "none")
        .flags(&[value("resolve-all-to", "ADDRESS").rare()]),
    setting!(Maybe, "identity.key" => crawl.fetch.identity.key,
        "File of the keys that sign requests (crawler identity new makes one), or env:VARIABLE; read anew when it changes", "none")
    .flags(&[value("identity", "FILE").says("Sign requests with the keys of this file, or of env:VARIABLE: crawler identity new makes one").rare()]),
    setting!(Maybe, "identity.agent" => crawl.fetch.identity.agent,
        "Your site, where the directory of the keys is: https://bot.example; or the URL of the directory", "")
    .flags(&[value("identity-agent", "URL").rare()]),
    setting!(One, "identity.validity" => crawl.fetch.identity.validity,
        "How long a signature holds, for sites whose clocks are off by up to a minute"),
    setting!(Many, "identity.hosts" => crawl.fetch.identity.hosts,
        "Hosts whose requests are signed: example.org, *.example.org; none given is all"),
    setting!(One, crawl: sitemaps.enabled, "Look for sitemaps: in robots.txt, else at /sitemap.xml").flags(&[switch(
        "no-sitemaps",
        &["false"],
    )
    .says("Look for no sitemaps").rare()]),
    setting!(One, crawl: sitemaps.alternates, "Take the pages in other languages that a sitemap's entry names, too")
        .flags(&[switch("alternates", &["true"]).rare()]),
    setting!(One, crawl: sitemaps.any_host,
        "Take URLs of any host, not only the sitemap's own and the one whose robots.txt names it"),
    setting!(One, crawl: sitemaps.max_urls, "URLs taken from one sitemap; the others are counted"),
    setting!(Bytes, crawl: sitemaps.max_bytes, "A sitemap that unpacks to more is cut"),
    setting!(One, crawl: sitemaps.per_host, "Sitemaps of one host that are read because other sitemaps list them, in one run"),
    setting!(One, crawl: parse.nofollow, "Honor nofollow of links, pages and headers"),
    setting!(One, crawl: parse.json_ld, "Take URLs from structured data, too (JSON-LD: url, @id, sameAs and the like)")
        .flags(&[switch("json-ld", &["true"]).rare()]),
    setting!(One, crawl: parse.text_links, "Take URLs from plain texts (text/plain), too")
        .flags(&[switch("text-links", &["true"]).rare()]),
    setting!(One, crawl: parse.resources,
        "Take the parts of pages, too: images, styles, scripts and media in scope")
    .flags(&[switch("resources", &["true"]).rare()]),
    setting!(One, crawl: parse.prefer_canonical, "Fetch a page's rel=canonical before its links")
        .flags(&[switch("prefer-canonical", &["true"]).rare()]),
    setting!(One, crawl: parse.max_links, "Links taken from one page"),
    setting!(One, crawl: parse.max_nesting,
        "Elements open at once where fields are taken (extract); elements nested deeper yield none"),
];
