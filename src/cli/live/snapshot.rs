//! The numbers of one moment, and their texts, each made once for all watchers.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::subject::{Look, Subject};
use crate::cli::progress::{PageRate, left, waits};
use crate::crawl::{FinishReason, Finished, Progress, Stop, used};
use crate::gate::Refusal;
use crate::report::{Report, metrics};

/// The numbers of one moment.
#[derive(Debug)]
pub(in crate::cli) struct Snapshot {
    report: Report,
    /// The event that watchers are sent.
    pub(in crate::cli) event: String,
    html: OnceLock<String>,
    json: OnceLock<String>,
    metrics: OnceLock<String>,
}

impl Snapshot {
    /// Takes the subject's numbers.
    pub(in crate::cli) fn take(subject: &dyn Subject, rate: &mut PageRate) -> Result<Self, String> {
        let Look { report, progress, limits } = subject.look()?;
        let rates = rate.after(&progress);
        let event = json!({
            "job": subject.name(),
            "state": state(subject.stop(), report.finish),
            "is_steered": subject.stop().is_some(),
            "waits": waits(&progress).collect::<Vec<_>>(),
            "pages_per_second": rates[0],
            "wire_bytes_per_second": rates[1],
            "left_us": left(rates[0], limits, progress.pages).map(micros),
            "report": shown(&report),
        });
        let event = event.to_string();
        Ok(Self { report, event, html: OnceLock::new(), json: OnceLock::new(), metrics: OnceLock::new() })
    }

    /// The report as a page.
    pub(in crate::cli) fn html(&self) -> &str {
        self.html.get_or_init(|| self.report.html())
    }

    /// The report for programs.
    pub(in crate::cli) fn json(&self) -> &str {
        self.json.get_or_init(|| {
            let mut json = Vec::new();
            // Writing to memory does not fail, and JSON is UTF-8.
            let _ = self.report.write_json(&mut json);
            String::from_utf8(json).unwrap_or_default()
        })
    }

    /// The report as metrics.
    pub(in crate::cli) fn metrics(&self) -> &str {
        self.metrics.get_or_init(|| metrics(&self.report))
    }
}

/// The state of a crawl, in a word.
pub(in crate::cli) fn state(stop: Option<&Stop>, finish: FinishReason) -> String {
    match stop {
        Some(stop) if stop.is_stopping() => "stopping".to_owned(),
        Some(stop) if stop.is_paused() => "paused".to_owned(),
        Some(_) => "running".to_owned(),
        None => serde_json::to_value(finish).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default(),
    }
}

/// The parts of a report that are shown live. Large parts that are not shown are not even looked at.
fn shown(report: &Report) -> Value {
    let Report { elapsed_us, cost, duplicates, hosts, pages, politeness, resumes, robots, seen, urls, .. } = report;
    let mut value = json!({
        "elapsed_us": elapsed_us,
        "cost": cost,
        "duplicates": duplicates,
        "hosts": hosts,
        "pages": pages,
        "politeness": politeness,
        "resumes": resumes,
        "robots": robots,
        "seen": { "merged": seen.merged },
        "urls": urls,
    });
    for (section, part) in
        [("hosts", "top"), ("hosts", "by_requests"), ("pages", "content_types"), ("robots", "content_types")]
    {
        value[section].as_object_mut().map(|parts| parts.remove(part));
    }
    value
}

/// Progress, from a finished run's fuller numbers.
pub(in crate::cli) fn progress_of(finished: &Finished) -> Progress {
    let Finished { tally, frontier, gate, .. } = finished;
    Progress {
        pages: tally.fetched + tally.failed,
        errors: tally.failed,
        wire_bytes: tally.pages.wire_bytes + tally.robots.wire_bytes,
        duplicates: gate.refusals().of(Refusal::Seen),
        // Pages and time are those of all runs.
        earlier_pages: 0,
        earlier_wire_bytes: 0,
        elapsed: finished.elapsed,
        now: finished.ended,
        filter_used: used(gate.seen()),
        is_filter_full: gate.seen().is_full(),
        frontier: *frontier,
        is_paused: false,
        is_cut_off: false,
    }
}

pub(in crate::cli) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
