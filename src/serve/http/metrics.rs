//! The server in numbers, in the text format of `OpenMetrics`.
//!
//! Names of crawls are letters, digits, `.`, `_` and `-`, so labels need no escapes.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use http::HeaderValue;

use crate::serve::core::Crawls;

pub(super) const TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// The metrics: name, type, help.
const METRICS: [(&str, &str, &str); 14] = [
    ("urls", "counter", "URLs that came in"),
    ("admitted", "counter", "URLs that were new and are queued"),
    ("leased", "counter", "Leases that went out"),
    ("done", "counter", "Leases that came back as done"),
    ("retries", "counter", "Leases that came back to be tried again"),
    ("late", "counter", "Completions of leases that were over"),
    ("waiting_calls", "gauge", "Calls that wait for a lease"),
    ("queued_urls", "gauge", "URLs that wait"),
    ("leased_urls", "gauge", "URLs that are lent out"),
    ("completed_urls", "gauge", "URLs that are done, in all runs"),
    ("active_hosts", "gauge", "Hosts with URLs that wait"),
    ("retired_hosts", "gauge", "Hosts that are not asked again"),
    ("expired_leases", "counter", "Leases that were taken back after their deadlines"),
    ("memory_bytes", "gauge", "Memory of the frontier"),
];

/// The metrics of all crawls. A crawl that cannot be opened has only its counts.
pub(super) async fn text(crawls: &Crawls) -> String {
    let mut rows = Vec::new();
    for (name, crawl, _) in crawls.all() {
        let counts = crawl.counts();
        let of = |count: &std::sync::atomic::AtomicU64| Some(count.load(Ordering::Relaxed));
        let state = crawl.state().await.ok().map(|state| state.frontier);
        let values = [
            of(&counts.urls),
            of(&counts.admitted),
            of(&counts.leased),
            of(&counts.done),
            of(&counts.retries),
            of(&counts.late),
            Some(counts.waiting.load(Ordering::Relaxed) as u64),
            state.map(|state| state.queued),
            state.map(|state| state.leased),
            state.map(|state| state.completed),
            state.map(|state| state.active_hosts),
            state.map(|state| state.retired_hosts),
            state.map(|state| state.expired),
            state.map(|state| state.memory),
        ];
        rows.push((name, values));
    }
    let mut text = String::new();
    for (number, (metric, kind, help)) in METRICS.into_iter().enumerate() {
        let end = if kind == "counter" { "_total" } else { "" };
        // Writing to memory does not fail.
        _ = writeln!(text, "# HELP crawler_serve_{metric} {help}.\n# TYPE crawler_serve_{metric} {kind}");
        for (name, values) in &rows {
            if let Some(value) = values[number] {
                _ = writeln!(text, "crawler_serve_{metric}{end}{{crawl=\"{}\"}} {value}", name.as_str());
            }
        }
    }
    text.push_str("# EOF\n");
    text
}
