//! This process's crawl, as the subject of watchers.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::snapshot::progress_of;
use super::subject::{HOSTS, Look, Subject, not_a_url, safe};
use crate::cli::progress::Limits;
use crate::crawl::{Crawl, CrawlOptions, Observer, Progress, Stop};
use crate::frontier::{HostList, HostOrder, Timestamp};
use crate::gate::DropRule;
use crate::job::JobJournal;
use crate::report::Report;

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
        let report = Report::so_far(&finished, &self.options, finished.cost, None);
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
