//! A watched job's files: of a crawl that has ended, was killed, or runs in another process.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::latest::REST;
use super::snapshot::progress_of;
use super::subject::{HOSTS, Look, ONLY_FILES, Subject, not_a_url, safe};
use crate::address::Canonicalizer;
use crate::cli::arguments::CommandLine;
use crate::cli::command_error::CommandError;
use crate::cli::effective::of_job_read;
use crate::cli::progress::Limits;
use crate::cli::unfit::refused;
use crate::crawl::{CrawlOptions, Progress, Stop, Underway, look, look_up, look_up_refused};
use crate::frontier::{HostList, HostOrder, Timestamp};
use crate::gate::DropRule;
use crate::job::{Job, explain as explain_from};
use crate::lending::Clock;
use crate::report::{self, Report, ReportError};

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
            let underway = look(&self.job, &self.options).map_err(|error| CommandError::told(&error))?;
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
                let pages = report.urls.fetched + report.urls.failed;
                let progress = Progress { pages, elapsed, ..Progress::default() };
                Ok(Look { report, progress, limits: Limits::default() })
            }
            Err(ReportError::Missing { .. }) => {
                let read = self.read()?;
                let Some(Reading { underway: Underway { finished, .. }, .. }) = &*read else {
                    return Err("nothing was read".to_owned());
                };
                let report = Report::so_far(finished, &self.options, finished.cost, None);
                Ok(Look { report, progress: progress_of(finished), limits: Limits::default() })
            }
            Err(error) => Err(CommandError::told(&error)),
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
        let mut explanations = explained.map_err(|error| CommandError::told(&error))?.explanations;
        look_up(&self.job.pages_path(), &mut explanations).map_err(|error| CommandError::told(&error))?;
        look_up_refused(&self.job.skipped_path(), &mut explanations).map_err(|error| CommandError::told(&error))?;
        let text: String = explanations.iter().map(ToString::to_string).collect();
        Ok(safe(&text))
    }

    fn dropped(&self) -> Result<Vec<DropRule>, String> {
        self.job.dropped().map_err(|error| CommandError::told(&error))
    }

    fn drop_by(&self, _: DropRule, _: bool) -> Result<Vec<DropRule>, String> {
        Err(ONLY_FILES.to_owned())
    }

    fn stop(&self) -> Option<&Stop> {
        None
    }
}
