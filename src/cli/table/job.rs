//! Settings of recrawls, of the job, of outputs and the log, of the live page, of the simulated web, and of a crawl on many machines.

use std::time::Duration;

use super::{Setting, setting, switch, value};
use crate::cli::field::{Bytes, Choice, Many, Maybe, One};
use crate::cli::log::LogFormat;
use crate::cli::record_file::RecordFormat;
use crate::crawl::WarcCompression;
use crate::job::journal::SyncPolicy;

const SYNC: &[(&str, SyncPolicy)] = &[
    ("interval", SyncPolicy::Interval(Duration::from_secs(1))),
    ("always", SyncPolicy::Always),
    ("never", SyncPolicy::Never),
];

const WARC_COMPRESSIONS: &[(&str, WarcCompression)] =
    &[("gzip", WarcCompression::Gzip), ("zstd", WarcCompression::Zstd)];

const LOG_FORMATS: &[(&str, LogFormat)] = &[("json", LogFormat::Json), ("text", LogFormat::Text)];

/// Whether a URL's partition is chosen by its registrable domain.
const PARTITION_BY: &[(&str, bool)] = &[("host", false), ("domain", true)];

/// The rows of these settings, in the order of `crawler.toml`.
pub(super) static ROWS: &[Setting] = &[
    setting!(Maybe, "recrawl.job" => recrawl,
        "Fetch the pages of this job again if they have changed; the job needs its pages.visits (--visits)", "none")
    .flags(&[value("recrawl", "OLD_JOB").rare()]),
    setting!(Maybe, crawl: recrawl.every,
        "Visit each page again after this time, which halves when the page has changed and doubles when not", "never")
    .flags(&[value("recrawl-every", "TIME").rare()]),
    setting!(One, crawl: recrawl.shortest, "No page waits for less, unless recrawl.every is less"),
    setting!(One, crawl: recrawl.longest, "No page waits for longer, unless recrawl.every is longer"),
    setting!(One, "job.dir" => job.dir, "Directory of the job; the crawl of an existing one is continued")
        .flags(&[value("job", "DIR")]),
    setting!(One, "job.add" => job.add,
        "Add new seeds to the job that is in the directory; otherwise they are refused")
    .flags(&[switch("add", &["true"]).rare()]),
    setting!(One, "job.overwrite" => job.overwrite, "Start again: the job that is in the directory is deleted")
        .flags(&[switch("overwrite", &["true"]).rare()]),
    setting!(Choice, "job.sync" => crawl.job.open.journal.sync,
        "What a power cut may cost: interval (a second), always (10 ms; waits for the disk) or never (all since a checkpoint)", SYNC),
    setting!(One, crawl: job.checkpoint_interval, "Time between two checkpoints: a resume replays what came after"),
    setting!(One, "job.keep_journal" => crawl.job.open.keep_journal,
        "Keep the journal's entries of URLs fetched long ago; false for a crawl without end"),
    setting!(One, "job.hosts_in_memory" => crawl.job.open.hosts_in_memory,
        "Hosts kept in memory; further hosts with nothing queued wait on disk, the longest idle first"),
    setting!(Bytes, crawl: job.min_free_disk, "The crawl stops when its disk has less free space; it can be resumed"),
    setting!(Maybe, "output.bodies" => output.bodies,
        "Write each distinct body, decoded, into this directory by its SHA-256: DIR/ab/cdef...", "none")
    .flags(&[value("bodies", "DIR").rare()]),
    setting!(Maybe, "output.pages" => output.pages,
        "Where page records go: job (its pages.jsonl), or also, at the end, a file (.jsonl, .csv, .parquet; .gz, .zst) or - (standard output)", "job")
    .flags(&[value("output", "FILE").short('o').says("Write page records to this file, too (.jsonl, .csv, .parquet), or to -")]),
    setting!(Choice, "output.format" => output.format,
        "How that file is written: auto (by its ending), jsonl, csv or parquet", &RecordFormat::NAMED)
    .flags(&[value("format", "FORMAT").rare()]),
    setting!(One, "output.formulas" => output.formulas,
        "In a table, leave texts that begin with =, +, -, @ as they are; otherwise a ' in front keeps them from being formulas")
    .flags(&[switch("formulas", &["true"]).rare()]),
    setting!(Many, "output.status" => output.status, "Write only pages with these statuses to that file: 404, 2xx")
        .flags(&[value("keep-status", "STATUS").rare()]),
    setting!(Many, "output.types" => output.types, "Write only pages of these types: html, pdf, image/*")
        .flags(&[value("keep-types", "TYPES").rare()]),
    setting!(Many, "output.urls" => output.urls, "Write only pages whose URLs match one of these")
        .flags(&[value("keep-urls", "REGEX").rare()]),
    setting!(One, "output.json" => output.json, "Print the final report as JSON").flags(&[switch("json", &["true"])]),
    setting!(One, "output.links" => output.links,
        "Write each page's links (from, to, kind, text, rel) to the job's links.jsonl")
    .flags(&[switch("links", &["true"]).rare()]),
    setting!(One, "output.log" => output.log, "What is logged, as crate=level: error (and no report is printed), warn, info, debug, trace").flags(
        &[
            switch("verbose", &["warn,crawler=info", "warn,crawler=debug", "debug,crawler=trace"])
                .short('v')
                .says("Log each page and each refused link; -vv and -vvv even more"),
            switch("quiet", &["error", "off"]).short('q').says("Log errors only, and print no report; -qq no notes and warnings either"),
        ],
    ),
    setting!(Maybe, "output.log_file" => output.log_file,
        "Append the log to this file, too, with times; the crawler does not rotate it", "none")
    .flags(&[value("log-file", "FILE").rare()]),
    setting!(Choice, "output.log_format" => output.log_format, "How that file is written: text or json", LOG_FORMATS)
        .flags(&[value("log-format", "FORMAT").rare()]),
    setting!(One, "output.progress" => output.progress, "Show progress while the crawl runs").flags(&[
        switch("progress", &["true"]).says("Show progress, even if crawler.toml turns it off").rare(),
        switch("no-progress", &["false"]).says("Show no progress").rare(),
    ]),
    setting!(One, "output.skipped" => output.skipped,
        "List refused links, with reason and referrer, in the job's skipped.jsonl; beyond 32 MiB a sample")
    .flags(&[switch("skipped", &["true"]).rare()]),
    setting!(One, "output.visits" => output.visits,
        "Keep what --recrawl needs in the job's pages.visits: validators, digest and links of each page")
    .flags(&[switch("visits", &["true"]).rare()]),
    setting!(One, "output.warc" => output.warc,
        "Keep each response and its request in the job's pages-*.warc.gz or .zst: a web archive (WARC 1.1)")
    .flags(&[switch("warc", &["true"]).says("Keep responses as a web archive (WARC 1.1) in the job")]),
    setting!(Bytes, "output.warc_bytes" => output.warc_bytes,
        "Maximum size of a WARC file; then the next one begins"),
    setting!(Choice, "output.warc_compression" => output.warc_compression,
        "How each of its records is compressed: gzip (all tools read it) or zstd (less work; few do yet)", WARC_COMPRESSIONS)
    .flags(&[value("warc-compression", "COMPRESSION").rare()]),
    setting!(Maybe, "dashboard.listen" => dashboard.listen,
        "Serve a live page here, such as 127.0.0.1:8080, to watch, pause and stop the crawl", "none")
    .flags(&[value("dashboard", "ADDRESS").rare()]),
    setting!(One, "dashboard.socket" => dashboard.socket,
        "Let crawler top show, pause and stop the crawl, through the socket live.sock in the job's directory"),
    setting!(Maybe, "dashboard.token" => dashboard.token,
        "Token that visitors of the live page must give: env:VARIABLE or file:PATH; needed if other machines can reach the page", "none")
    .flags(&[value("dashboard-token", "SECRET").rare()]),
    setting!(One, "simulate.enabled" => simulate.enabled, "Crawl a simulated web, served on this machine")
        .flags(&[switch("simulate", &["true"])]),
    setting!(One, "simulate.seed" => simulate.web.seed, "Seed of its random numbers; the same number makes the same web")
        .flags(&[value("simulate-seed", "N").says("Seed of the simulated web; the same number makes the same web").rare()]),
    setting!(One, "simulate.hosts" => simulate.web.hosts, "Its hosts")
        .flags(&[value("simulate-hosts", "N").says("Hosts of the simulated web").rare()]),
    setting!(One, "simulate.pages" => simulate.web.pages, "Its addresses: pages, files, redirects and dead ones")
        .flags(&[value("simulate-pages", "N").says("Addresses of the simulated web").rare()]),
    setting!(One, "simulate.largest_host_percent" => simulate.web.largest_host_percent,
        "Share of the pages on the largest host"),
    setting!(One, "simulate.duplicate_percent" => simulate.web.duplicate_percent,
        "Share of the links whose target another link has already"),
    setting!(One, "simulate.slow_host_percent" => simulate.web.slow_host_percent,
        "Share of the hosts that answer slowly"),
    setting!(One, "simulate.latency" => simulate.web.latency, "How long a slow host takes"),
    setting!(One, "simulate.crawl_delay" => simulate.web.crawl_delay, "The Crawl-delay of the few hosts that have one"),
    setting!(One, "simulate.retry_after" => simulate.web.retry_after, "Seconds that each 503 asks for in Retry-After"),
    setting!(One, "simulate.sitemap_percent" => simulate.web.sitemap_percent,
        "Share of the hosts with a robots.txt that names a sitemap"),
    setting!(One, "simulate.trap" => simulate.web.trap, "Add endless sites: a calendar, sessions, filters, a maze, a mirror, a wildcard domain"),
    setting!(Many, "cluster.servers" => cluster.servers,
        "NATS servers that carry one crawl on many machines: nats://HOST:PORT, tls:// for TLS; all of one cluster")
    .flags(&[value("cluster", "URL[,URL...]")
        .says("Crawl together with other machines, over these NATS servers")
        .rare()]),
    setting!(Maybe, "cluster.dev" => cluster.dev,
        "Try a crawl on many machines: run N nodes and three nats-server on this machine", "none")
    .flags(&[value("dev-cluster", "N").rare()]),
    setting!(One, "cluster.name" => cluster.name, "The name of that crawl: letters, digits, - and _").flags(&[value(
        "cluster-name",
        "NAME",
    )
    .rare()]),
    setting!(One, "cluster.partitions" => cluster.partitions,
        "Partitions that hosts are divided into, up to 1,024; fixed when the crawl begins"),
    setting!(Choice, "cluster.partition_by" => cluster.by_domain,
        "How URLs are divided into partitions: by host, or by domain (all hosts of a site together)", PARTITION_BY)
    .flags(&[value("partition-by", "WHAT").rare()]),
    setting!(One, "cluster.lease" => cluster.lease,
        "A machine that is silent for this long counts as dead; must exceed the time that the servers need to elect a leader"),
    setting!(Maybe, "cluster.sign_in" => cluster.sign_in,
        "Credentials for the servers, env:VARIABLE or file:PATH: user:password, a token, an nkey's seed, or a credentials file",
        "none"),
    setting!(Maybe, "cluster.ca_file" => cluster.ca_file,
        "Certificates (PEM) to trust the servers by, in addition to the system's", "none"),
    setting!(Maybe, "cluster.certificate" => cluster.certificate, "Client certificate for the servers, as PEM", "none"),
    setting!(Maybe, "cluster.key" => cluster.key, "The key of that certificate, as PEM", "none"),
];
