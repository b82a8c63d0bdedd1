//! What lets others watch a crawl while it runs: the live page, and the socket in the job's directory.

use std::sync::Arc;

use super::dashboard::{LivePage, Serving};
#[cfg(unix)]
use super::live::LiveSocket;
use super::live::{LiveAnswers, RunningCrawl};
use super::output;
use crate::crawl::{Crawl, CrawlOptions};
use crate::job::{Job, JobJournal};

/// The page and the socket of a crawl, until this is dropped.
#[must_use = "it is watched until this is dropped"]
pub(super) struct Watched {
    _page: Option<Serving>,
    #[cfg(unix)]
    _socket: Option<LiveSocket>,
}

impl Watched {
    /// Lets others watch a crawl whose job this process holds. Call this inside the runtime. If the socket cannot be
    /// created, that is only a warning: the crawl continues without it.
    pub(super) fn begin(
        page: Option<LivePage>,
        has_socket: bool,
        crawl: &Crawl<JobJournal>,
        options: &CrawlOptions,
        job: &Job,
    ) -> Self {
        let answers = Arc::new(LiveAnswers::new(Arc::new(RunningCrawl::new(crawl, options, job.directory()))));
        Self {
            #[cfg(unix)]
            _socket: has_socket.then(|| socket(job, Arc::clone(&answers))).flatten(),
            _page: page.map(|page| page.show(answers)),
        }
    }
}

#[cfg(unix)]
fn socket(job: &Job, answers: Arc<LiveAnswers>) -> Option<LiveSocket> {
    let path = job.socket_path();
    let warn = |error| {
        let (path, length) = (path.display(), path.as_os_str().len());
        let what = "crawler top cannot look in while it runs; to do without: dashboard.socket = false";
        output::warn(&format!("cannot listen at {path} ({length} bytes): {error}; {what}"));
    };
    LiveSocket::serve(&path, answers).map_err(warn).ok()
}
