//! What is watched: a crawl, or a job's files; and the snapshots of its numbers, which all watchers share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::address::{AddressError, Canonicalizer};
use crate::cli::arguments::CommandLine;
use crate::cli::command_error::CommandError;
use crate::cli::config::of_job_read;
use crate::cli::layers::refused;
use crate::cli::output::Safe;
use crate::cli::progress::{Limits, PageRate, left, waits};
use crate::crawl::{
    Crawl, CrawlOptions, FinishReason, Finished, Moment, Observer, Progress, Stop, Underway, look, look_up,
    look_up_refused, micros, used,
};
use crate::driver::{HostList, HostOrder};
use crate::frontier::Timestamp;
use crate::gate::{DropRule, Refusal};
use crate::job::{Job, JobJournal, explain as explain_from};
use crate::lending::Clock;
use crate::report::{self, Report, ReportError, metrics};

/// A crawl or a job's files, as its watchers see it. Its methods block; their errors are sentences for people.
pub(in crate::cli) trait Subject: Send + Sync {
    /// Its name: the job's directory.
    fn name(&self) -> String;

    /// Its numbers now.
    fn look(&self) -> Result<Look, String>;

    /// Its hosts in memory whose names or states contain this text, and its time now.
    fn hosts(&self, find: &str, order: HostOrder) -> Result<(HostList, Timestamp), String>;

    /// Why this URL was not fetched, or not yet; or that it is not a URL.
    fn explain(&self, url: &str) -> Result<String, String>;

    /// The drop rules.
    fn dropped(&self) -> Result<Vec<DropRule>, String>;

    /// Stops fetching what this rule names, or undoes that; returns the drop rules after the change.
    fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Vec<DropRule>, String>;

    /// The handle that pauses and stops it; `None` if no crawl runs in this process.
    fn stop(&self) -> Option<&Stop>;
}

/// The numbers of one moment.
#[derive(Debug)]
pub(in crate::cli) struct Look {
    pub(in crate::cli) report: Report,
    pub(in crate::cli) progress: Progress,
    /// The limits at which the crawl ends.
    pub(in crate::cli) limits: Limits,
}

/// A text of several lines, escaped so that it cannot command a terminal or change the writing direction.
pub(in crate::cli) fn safe(text: &str) -> String {
    text.lines().flat_map(|line| [Safe(line).to_string(), "\n".to_owned()]).collect()
}

/// The answer for a text that is not a URL.
pub(in crate::cli) fn not_a_url(error: &AddressError) -> String {
    format!("not a URL: {error}\n")
}

/// The error for an action on a job's files: only a running crawl can act.
pub(in crate::cli) const ONLY_FILES: &str = "no crawl runs in this process: only the job's files are shown";

/// Maximum hosts in a list.
pub(in crate::cli) const HOSTS: usize = 100;

/// This process's crawl.
#[derive(Debug)]
pub(in crate::cli) struct RunningCrawl {
    observer: Observer<JobJournal>,
    stop: Stop,
    options: CrawlOptions,
    directory: PathBuf,
    began: Instant,
}

impl RunningCrawl {
    pub(in crate::cli) fn new(crawl: &Crawl<JobJournal>, options: &CrawlOptions, directory: &Path) -> Self {
        Self {
            observer: crawl.observer(),
            stop: crawl.stop(),
            options: options.clone(),
            directory: directory.to_owned(),
            began: Instant::now(),
        }
    }
}

impl Subject for RunningCrawl {
    fn name(&self) -> String {
        self.directory.display().to_string()
    }

    fn look(&self) -> Result<Look, String> {
        let finished = self.observer.so_far();
        let progress = Progress { is_paused: self.stop.is_paused(), ..progress_of(&finished) };
        let report = Report::of(&finished, &self.options, finished.cost, None);
        let limits = Limits::of(&self.options, self.began.elapsed());
        Ok(Look { report, progress, limits })
    }

    fn hosts(&self, find: &str, order: HostOrder) -> Result<(HostList, Timestamp), String> {
        Ok((self.observer.hosts(find, order, HOSTS), self.observer.now()))
    }

    fn explain(&self, url: &str) -> Result<String, String> {
        let explanation = match self.observer.explain(url) {
            Ok(explanation) => explanation.map_err(|error| error.to_string())?,
            Err(error) => return Ok(not_a_url(&error)),
        };
        let directory = self.directory.display();
        Ok(safe(&format!("{explanation}  history      is in the files: crawler explain URL --job {directory}")))
    }

    fn dropped(&self) -> Result<Vec<DropRule>, String> {
        Ok(self.observer.dropped())
    }

    fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Vec<DropRule>, String> {
        self.observer.drop_by(rule, is_undone).map_err(|error| error.to_string())
    }

    fn stop(&self) -> Option<&Stop> {
        Some(&self.stop)
    }
}

/// A job's files.
#[derive(Debug)]
pub(in crate::cli) struct JobFiles {
    job: Job,
    options: CrawlOptions,
    clock: Clock,
    /// The last reading.
    read: Mutex<Option<Reading>>,
}

/// The result of reading the files.
#[derive(Debug)]
struct Reading {
    underway: Underway,
    /// When it was read, and how long that took.
    at: Instant,
    took: Duration,
}

impl JobFiles {
    pub(in crate::cli) fn open(line: &CommandLine, directory: &Path) -> Result<Self, CommandError> {
        let job = Job::open_for_reading(directory).map_err(|error| refused(&error))?;
        let options = of_job_read(line, directory)?.settings.crawl;
        Ok(Self { job, options, clock: Clock::start(), read: Mutex::default() })
    }

    /// The content of the files, read anew if the last reading is too old.
    fn read(&self) -> Result<MutexGuard<'_, Option<Reading>>, String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |reading: &Reading| reading.at.elapsed() < (reading.took * REST).max(Duration::from_secs(1));
        if !read.as_ref().is_some_and(is_fresh) {
            let began = Instant::now();
            let underway = look(&self.job, &self.options).map_err(|error| CommandError::text_of(&error))?;
            *read = Some(Reading { underway, at: Instant::now(), took: began.elapsed() });
        }
        Ok(read)
    }
}

impl Subject for JobFiles {
    fn name(&self) -> String {
        self.job.directory().display().to_string()
    }

    fn look(&self) -> Result<Look, String> {
        match report::read(&self.job.report_path()) {
            Ok(report) => {
                let elapsed = Duration::from_micros(report.elapsed_us);
                let pages = report.urls.counts.fetched + report.urls.counts.failed;
                let progress = Progress { pages, elapsed, ..Progress::default() };
                Ok(Look { report, progress, limits: Limits::default() })
            }
            Err(ReportError::Missing { .. }) => {
                let read = self.read()?;
                let Some(Reading { underway: Underway { finished, .. }, .. }) = &*read else {
                    return Err("nothing was read".to_owned());
                };
                let report = Report::of(finished, &self.options, finished.cost, None);
                Ok(Look { report, progress: progress_of(finished), limits: Limits::default() })
            }
            Err(error) => Err(CommandError::text_of(&error)),
        }
    }

    fn hosts(&self, find: &str, order: HostOrder) -> Result<(HostList, Timestamp), String> {
        let mut list = HostList::by(order, find, HOSTS);
        let read = self.read()?;
        if let Some(reading) = &*read {
            reading.underway.frontier.list_hosts(&mut list, 0, u32::MAX, self.clock.now());
        }
        Ok((list, self.clock.now()))
    }

    fn explain(&self, url: &str) -> Result<String, String> {
        let mut options = self.options.frontier.clone();
        options.scope.blocklists.retain(|list: &PathBuf| list.exists());
        let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(options.traps.url_bytes);
        let url = match canonicalizer.canonicalize(url) {
            Ok(url) => url,
            Err(error) => return Ok(not_a_url(&error)),
        };
        let explained = explain_from(&self.job, &options, &[url], self.clock.now());
        let mut explanations = explained.map_err(|error| CommandError::text_of(&error))?.explanations;
        look_up(&self.job.pages_path(), &mut explanations).map_err(|error| CommandError::text_of(&error))?;
        look_up_refused(&self.job.skipped_path(), &mut explanations).map_err(|error| CommandError::text_of(&error))?;
        let text: String = explanations.iter().map(ToString::to_string).collect();
        Ok(safe(&text))
    }

    fn dropped(&self) -> Result<Vec<DropRule>, String> {
        self.job.dropped().map_err(|error| CommandError::text_of(&error))
    }

    fn drop_by(&self, _: DropRule, _: bool) -> Result<Vec<DropRule>, String> {
        Err(ONLY_FILES.to_owned())
    }

    fn stop(&self) -> Option<&Stop> {
        None
    }
}

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
            "rates": recent(report.timeline.moments()),
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

/// How far back the chart of the rate goes.
const CHART_US: u64 = 300_000_000;

/// Pages a second between the moments of the last five minutes, each with its time in seconds.
fn recent(moments: &[Moment]) -> Vec<[f64; 2]> {
    let begin = moments.last().map_or(0, |last| last.elapsed_us.saturating_sub(CHART_US));
    let rounded = |number: f64| (number * 1e3).round() / 1e3;
    let rate = |two: &[Moment]| {
        let seconds = two[1].elapsed_us.saturating_sub(two[0].elapsed_us) as f64 / 1e6;
        let pages = two[1].fetched.saturating_sub(two[0].fetched) as f64;
        [rounded(two[1].elapsed_us as f64 / 1e6), rounded(pages / seconds.max(1e-3))]
    };
    moments.windows(2).filter(|two| two[1].elapsed_us >= begin).map(rate).collect()
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
    for (section, part) in [
        ("/hosts", "top"),
        ("/hosts", "by_requests"),
        ("/pages", "content_types"),
        ("/pages/first_byte", "times"),
        ("/pages/whole", "times"),
        ("/robots", "content_types"),
        ("/robots/first_byte", "times"),
        ("/robots/whole", "times"),
    ] {
        value.pointer_mut(section).and_then(Value::as_object_mut).map(|parts| parts.remove(part));
    }
    value
}

/// Progress, from the fuller numbers of a crawl.
fn progress_of(finished: &Finished) -> Progress {
    let Finished { tally, frontier, gate, .. } = finished;
    Progress {
        pages: tally.urls.fetched + tally.urls.failed,
        errors: tally.urls.failed,
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

/// A snapshot is kept for 50 times as long as it took to make, so making them takes at most 2 % of the time. What was read from files is kept
/// for 50 times as long as reading took.
const REST: u32 = 50;
/// A snapshot is kept for at least this long.
const SHORTEST: Duration = Duration::from_secs(1);
/// A snapshot is kept for at most this long, even if making them then takes more of the time. Otherwise one that had to wait for a processor
/// would stop the page for minutes.
const LONGEST: Duration = Duration::from_secs(10);

/// How long a snapshot is kept that took this long to make.
fn kept_for(took: Duration) -> Duration {
    (took * REST).clamp(SHORTEST, LONGEST)
}

/// The newest snapshot.
pub(in crate::cli) struct Latest {
    subject: Arc<dyn Subject>,
    rate: Arc<Mutex<PageRate>>,
    made: tokio::sync::Mutex<Option<Made>>,
}

/// A snapshot, or why there is none; and until when it is the newest.
#[derive(Clone)]
pub(in crate::cli) struct Made {
    pub(in crate::cli) snapshot: Result<Arc<Snapshot>, String>,
    pub(in crate::cli) until: Instant,
}

impl Latest {
    pub(in crate::cli) fn new(subject: Arc<dyn Subject>) -> Self {
        Self { subject, rate: Arc::default(), made: tokio::sync::Mutex::default() }
    }

    /// The newest snapshot. A caller that asks while one is being made waits for that one.
    pub(in crate::cli) async fn get(&self) -> Made {
        let mut made = self.made.lock().await;
        if let Some(made) = made.as_ref().filter(|made| Instant::now() < made.until) {
            return made.clone();
        }
        let (subject, rate) = (Arc::clone(&self.subject), Arc::clone(&self.rate));
        let began = Instant::now();
        let taken = spawn_blocking(move || {
            Snapshot::take(&*subject, &mut rate.lock().unwrap_or_else(PoisonError::into_inner)).map(Arc::new)
        });
        let snapshot = taken.await.unwrap_or_else(|panic| Err(panic.to_string()));
        let until = Instant::now() + kept_for(began.elapsed());
        made.insert(Made { snapshot, until }).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_was_slow_to_make_is_replaced_soon() {
        let millis = [0, 10, 100, 150, 4000].map(|took| kept_for(Duration::from_millis(took)).as_millis());
        assert_eq!(millis, [1000, 1000, 5000, 7500, 10_000]);
    }

    #[test]
    fn rates_are_those_of_the_last_five_minutes_and_always_one() {
        let at = |second: u64, fetched| {
            let mut moment = Moment::default();
            (moment.elapsed_us, moment.fetched) = (second * 1_000_000, fetched);
            moment
        };
        assert!(recent(&[]).is_empty() && recent(&[at(0, 0)]).is_empty());
        assert_eq!(recent(&[at(0, 0), at(1, 3), at(3, 4)]), [[1.0, 3.0], [3.0, 0.5]]);
        assert_eq!(recent(&[at(0, 0), at(100, 0), at(401, 301)]), [[401.0, 1.0]]);
        assert_eq!(recent(&[at(0, 0), at(4096, 8192)]), [[4096.0, 2.0]]);
    }
}
