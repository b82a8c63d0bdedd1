//! Settings of the job, of what the command prints, and of the simulated web.

use std::time::Duration;

use crate::cli::field::{Bytes, Choice, One};
use crate::cli::setting::{Setting, row, switch, value};
use crate::cli::settings::Pages;
use crate::job::journal::SyncPolicy;

const SYNC: &[(&str, SyncPolicy)] = &[
    ("interval", SyncPolicy::Interval(Duration::from_secs(1))),
    ("always", SyncPolicy::Always),
    ("never", SyncPolicy::Never),
];

const PAGES: &[(&str, Pages)] = &[("job", Pages::Job), ("-", Pages::StandardOutput)];

pub(super) static ROWS: &[Setting] = &[
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
