use std::io;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::budget::Budget;
use super::worker::{Crew, Worker, lock};
use super::{
    Clock, CrawlOptions, Fetcher, FetcherError, FinishReason, PolitenessWatch, SharedFrontier, Sink, Stop, Tally,
};
use crate::address::CanonicalUrl;
use crate::frontier::{
    Admission, Found, Frontier, FrontierError, FrontierStatistics, Gate, HostStatistics, Refusal, Timestamp,
};

/// One run from seeds to drained: a frontier, its workers, and where their records go.
#[derive(Debug)]
pub struct Crawl {
    crew: Arc<Crew>,
    options: CrawlOptions,
}

/// A crawl in numbers that change: what a progress bar shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Page records so far.
    pub pages: u64,
    /// URLs waiting.
    pub queued: u64,
    /// URLs lent to workers.
    pub in_flight: u64,
    /// Hosts with URLs queued.
    pub hosts: u64,
    /// Records without a whole response.
    pub errors: u64,
    /// Links seen before.
    pub duplicates: u64,
    /// Since the crawl was made.
    pub elapsed: Duration,
}

/// A crawl that has ended, in all its numbers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// Why it ended.
    pub reason: FinishReason,
    /// What the responses were.
    pub tally: Tally,
    /// What is left in the frontier.
    pub frontier: FrontierStatistics,
    /// The hosts with the most requests.
    pub top_hosts: Vec<HostStatistics>,
    /// The judge of the delays, from the send times.
    pub politeness: PolitenessWatch,
    /// The gate, with its counts and its seen set.
    pub gate: Arc<Gate>,
    /// When it was made.
    pub started: Timestamp,
    /// From then on to its end.
    pub elapsed: Duration,
    /// The storage's own words, where the reason is [`FinishReason::StorageFailed`].
    pub storage_error: Option<io::Error>,
}

/// Why a crawl cannot begin, or could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// An option of the frontier.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The HTTP client cannot be made.
    #[error(transparent)]
    Fetcher(#[from] FetcherError),
    /// The journal's storage failed.
    #[error("the frontier's storage failed")]
    Storage(#[source] io::Error),
}

/// Hosts in [`Finished::top_hosts`].
const TOP_HOSTS: usize = 10;

impl Crawl {
    /// Checks the options and prepares everything; nothing is sent before [`run`](Self::run).
    ///
    /// # Errors
    /// Where an option is out of its range, or the HTTP client cannot be made.
    pub fn new(options: &CrawlOptions) -> Result<Self, CrawlError> {
        let frontier = SharedFrontier::new(Frontier::new(&options.frontier)?, Clock::start());
        let crew = Crew {
            frontier,
            fetcher: Fetcher::new(&options.fetch)?,
            parse: options.parse.clone(),
            pages: Budget::new(options.max_pages),
            politeness: Mutex::default(),
            stop: Stop::new(),
            tally: Mutex::default(),
            warned_full: Once::new(),
        };
        Ok(Self { crew: Arc::new(crew), options: options.clone() })
    }

    /// Takes a seed; where it is refused, says why.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn seed(&self, url: CanonicalUrl) -> Result<Option<Refusal>, CrawlError> {
        match self.gate().admit(Found::seed(url)) {
            Admission::Refused(refusal) => Ok(Some(refusal)),
            Admission::Admitted(admitted) => {
                self.crew.frontier.submit([admitted]).map_err(CrawlError::Storage)?;
                Ok(None)
            }
        }
    }

    /// The gate, with its rules, its counts and its seen set.
    pub fn gate(&self) -> &Arc<Gate> {
        self.crew.frontier.gate()
    }

    /// A handle that stops this crawl.
    pub fn stop(&self) -> Stop {
        self.crew.stop.clone()
    }

    /// Numbers to look at while it runs, from any thread.
    pub fn watch(&self) -> impl Fn() -> Progress + Send + Sync + 'static {
        let crew = Arc::clone(&self.crew);
        move || crew.progress()
    }

    /// Crawls until the frontier is drained, a limit is reached, or somebody stops it.
    ///
    /// There is a report even of a crawl that failed: its reason is in [`Finished`].
    pub async fn run(self, sink: Sink) -> Finished {
        let mut workers = JoinSet::new();
        for _ in 0..self.options.workers.max(1) {
            workers.spawn(Worker { crew: Arc::clone(&self.crew), sink: sink.clone() }.work());
        }
        drop(sink);
        let deadline = self.options.max_duration.map(|longest| {
            let stop = self.stop();
            tokio::spawn(async move {
                sleep(longest).await;
                stop.drain_because(FinishReason::MaxDuration);
            })
        });
        let mut storage_error = None;
        while let Some(worker) = workers.join_next().await {
            match worker {
                Ok(Ok(())) => {}
                Ok(Err(error)) => storage_error = storage_error.or(Some(error)),
                // Its lease went back when it unwound; the others carry on.
                Err(panic) => tracing::error!(%panic, "a worker ended"),
            }
        }
        if let Some(deadline) = deadline {
            deadline.abort();
        }
        self.finished(storage_error)
    }

    fn finished(&self, storage_error: Option<io::Error>) -> Finished {
        let crew = &self.crew;
        let clock = crew.frontier.clock();
        let (frontier, top_hosts) =
            crew.frontier.with(|frontier| (frontier.statistics(), frontier.top_hosts(TOP_HOSTS)));
        let is_drained = frontier.queued == 0 && frontier.leased == 0;
        let end = if is_drained { FinishReason::Drained } else { FinishReason::MaxPages };
        Finished {
            reason: crew.stop.reason().unwrap_or(end),
            tally: std::mem::take(&mut *lock(&crew.tally)),
            frontier,
            top_hosts,
            politeness: std::mem::take(&mut *lock(&crew.politeness)),
            gate: Arc::clone(crew.frontier.gate()),
            started: clock.epoch(),
            elapsed: clock.elapsed(),
            storage_error,
        }
    }
}
