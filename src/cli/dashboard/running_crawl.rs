//! The crawl of this process, as the live page sees it.

use std::path::{Path, PathBuf};

use super::snapshot::progress_of;
use super::subject::{HOSTS, Look, Subject, not_a_url, safe};
use crate::crawl::{Crawl, CrawlOptions, Observer, Progress, Stop};
use crate::frontier::{HostList, Timestamp};
use crate::job::JobJournal;
use crate::report::{Cost, Report};

/// The crawl of this process.
#[derive(Debug)]
pub(super) struct RunningCrawl {
    observer: Observer<JobJournal>,
    stop: Stop,
    options: CrawlOptions,
    directory: PathBuf,
}

impl RunningCrawl {
    pub(super) fn new(crawl: &Crawl<JobJournal>, options: &CrawlOptions, directory: &Path) -> Self {
        Self {
            observer: crawl.observer(),
            stop: crawl.stop(),
            options: options.clone(),
            directory: directory.to_owned(),
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
        let report = Report::of(&finished, &self.options, Cost::of_this_process(), None);
        Ok(Look { report, progress, limit: self.options.max_pages })
    }

    fn hosts(&self, find: &str) -> Result<(HostList, Timestamp), String> {
        Ok((self.observer.hosts(find, HOSTS), self.observer.now()))
    }

    fn explain(&self, url: &str) -> Result<String, String> {
        let explanation = match self.observer.explain(url) {
            Ok(explanation) => explanation.map_err(|error| error.to_string())?,
            Err(error) => return Ok(not_a_url(&error)),
        };
        let directory = self.directory.display();
        Ok(safe(&format!("{explanation}  history      is in the files: crawler explain URL --job {directory}")))
    }

    fn stop(&self) -> Option<&Stop> {
        Some(&self.stop)
    }
}
