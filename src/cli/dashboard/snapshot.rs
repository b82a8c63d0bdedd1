//! The numbers of a moment, and their texts, each made once for all who ask.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::subject::{Look, Subject};
use crate::cli::progress::{PageRate, left, waits};
use crate::crawl::{FinishReason, Finished, Progress, Stop};
use crate::gate::Refusal;
use crate::report::{Report, metrics};

/// The numbers of a moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    report: Report,
    /// What the page is told.
    pub(super) event: String,
    html: OnceLock<String>,
    json: OnceLock<String>,
    metrics: OnceLock<String>,
}

/// Parts of a report that the page does not show.
const LEFT_OUT: [&str; 5] = ["outputs", "robots", "settings", "sitemaps", "timeline"];

impl Snapshot {
    /// Looks at the subject.
    pub(super) fn take(subject: &dyn Subject, rate: &mut PageRate) -> Result<Self, String> {
        let Look { report, progress, limit } = subject.look()?;
        let rates = rate.after(&progress);
        let event = json!({
            "job": subject.name(),
            "state": state(subject.stop(), report.finish),
            "is_steered": subject.stop().is_some(),
            "waits": waits(&progress).collect::<Vec<_>>(),
            "pages_per_second": rates[0],
            "wire_bytes_per_second": rates[1],
            "left_us": left(rates[0], limit, progress.pages).map(micros),
            "report": shown(&report),
        });
        let event = event.to_string();
        Ok(Self { report, event, html: OnceLock::new(), json: OnceLock::new(), metrics: OnceLock::new() })
    }

    /// The report as a page.
    pub(super) fn html(&self) -> &str {
        self.html.get_or_init(|| self.report.html())
    }

    /// The report for programs.
    pub(super) fn json(&self) -> &str {
        self.json.get_or_init(|| {
            let mut json = Vec::new();
            // Writing to memory does not fail, and JSON is UTF-8.
            let _ = self.report.write_json(&mut json);
            String::from_utf8(json).unwrap_or_default()
        })
    }

    /// The report as metrics.
    pub(super) fn metrics(&self) -> &str {
        self.metrics.get_or_init(|| metrics(&self.report))
    }
}

/// How a crawl stands, in a word.
pub(super) fn state(stop: Option<&Stop>, finish: FinishReason) -> String {
    match stop {
        Some(stop) if stop.is_stopping() => "stopping".to_owned(),
        Some(stop) if stop.is_paused() => "paused".to_owned(),
        Some(_) => "running".to_owned(),
        None => serde_json::to_value(finish).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default(),
    }
}

/// The parts of a report that the page shows.
fn shown(report: &Report) -> Value {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    if let Some(parts) = value.as_object_mut() {
        for part in LEFT_OUT {
            parts.remove(part);
        }
    }
    for (section, part) in [("seen", "shards"), ("hosts", "top"), ("hosts", "by_requests"), ("pages", "content_types")]
    {
        value[section].as_object_mut().map(|parts| parts.remove(part));
    }
    value
}

/// Progress, from numbers that know more.
pub(super) fn progress_of(finished: &Finished) -> Progress {
    let Finished { tally, frontier, gate, .. } = finished;
    Progress {
        pages: tally.fetched + tally.failed,
        errors: tally.failed,
        wire_bytes: tally.pages.wire_bytes + tally.robots.wire_bytes,
        duplicates: gate.refusals().of(Refusal::Seen),
        elapsed: finished.elapsed,
        now: finished.ended,
        is_filter_full: gate.seen().is_full(),
        frontier: *frontier,
        is_paused: false,
    }
}

pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
