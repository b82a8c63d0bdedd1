//! One run of a crawl, from seeds to drained.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once, RwLock};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::bounds::{Budget, Memory, Places};
use super::checkpointer::{CheckpointCosts, Checkpointer};
use super::dispatch::Dispatcher;
use super::error::CrawlError;
use super::finish::FinishReason;
use super::finished::Finished;
use super::http::Fetcher;
use super::lock::lock;
use super::numbers::{Carried, Progress};
use super::options::CrawlOptions;
use super::records::{Outputs, SkipList, Writer, WriterThread};
use super::shared::Crew;
use super::stop::Stop;
use super::worker::Worker;
use crate::address::CanonicalUrl;
use crate::frontier::{Arena, Frontier, FrontierStatistics, Journal, Timestamp};
use crate::gate::{Admission, Found, Gate, Refusal};
use crate::lending::Clock;
use crate::lending::SharedFrontier;

/// One run from seeds to drained: a frontier, the tasks that fetch for it, and where their records go.
///
/// [`new`](Self::new) makes one in memory; [`open`](Self::open) one that is kept in a job, and can be resumed.
#[derive(Debug)]
pub struct Crawl<J: Journal = Arena> {
    pub(super) crew: Arc<Crew<J>>,
    pub(super) checkpointer: Option<Checkpointer>,
    /// What is written of each page beside its record.
    pub(super) outputs: Outputs,
    pub(super) output_writers: Vec<WriterThread>,
    skipped: Option<SkipList>,
    options: CrawlOptions,
    places: Places,
}

/// One fetch in so many may be a first contact with its host.
const FIRST_CONTACTS: usize = 2;
impl Crawl {
    /// A crawl in memory. Checks the options and prepares everything; nothing is sent before [`run`](Self::run).
    ///
    /// # Errors
    /// Where an option is out of its range, or the HTTP client cannot be made.
    pub fn new(options: &CrawlOptions) -> Result<Self, CrawlError> {
        Self::over(Frontier::new(&options.frontier)?, Clock::start(), options, false, None)
    }
}

impl<J: Journal + Send + 'static> Crawl<J> {
    pub(super) fn over(
        mut frontier: Frontier<J>,
        clock: Clock,
        options: &CrawlOptions,
        receipts: bool,
        carried: Option<Carried>,
    ) -> Result<Self, CrawlError> {
        Places::check(options.workers, options.memory)?;
        let places = Places::fit(options.workers, options.memory);
        frontier.limit_first_contacts(places.fetches / FIRST_CONTACTS);
        let carried = carried.unwrap_or_else(|| Carried::begin(clock.now()));
        let crew = Crew {
            frontier: SharedFrontier::new(frontier, clock),
            fetcher: Fetcher::within(&options.fetch, places)?,
            memory: Memory::new(options.memory),
            parse: options.parse.clone(),
            pages: Budget::new(options.max_pages, carried.pages()),
            politeness: Mutex::default(),
            stop: Stop::new(),
            tally: Mutex::default(),
            output_ends: Mutex::new(carried.outputs.clone()),
            carried: Mutex::new(carried),
            crossing: RwLock::default(),
            broken: AtomicBool::new(false),
            receipts,
            warned_full: Once::new(),
        };
        Ok(Self {
            crew: Arc::new(crew),
            checkpointer: None,
            outputs: Outputs::default(),
            output_writers: Vec::new(),
            skipped: None,
            options: options.clone(),
            places,
        })
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

    /// Takes a seed that may have been refused in an earlier run; where it still is, or was taken then, says so. Counted is only
    /// what is taken.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn seed_again(&self, url: CanonicalUrl) -> Result<Option<Refusal>, CrawlError> {
        let gate = self.gate();
        if gate.seen().contains(url.fingerprint(gate.fingerprint_key())) {
            return Ok(Some(Refusal::Seen));
        }
        match gate.check(&Found::seed(url.clone())) {
            Err(refusal) => Ok(Some(refusal)),
            Ok(()) => self.seed(url),
        }
    }

    /// Has a URL fetched that was admitted before, and dropped; where it is refused, says why.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn ask_again(&self, url: &CanonicalUrl) -> Result<Option<Refusal>, CrawlError> {
        let now = self.now();
        self.crew
            .frontier
            .with(|frontier| frontier.schedule(url.wire(), now))
            .map_err(|error| CrawlError::Storage(error.into()))
    }

    /// The crawl's time.
    pub fn now(&self) -> Timestamp {
        self.crew.frontier.clock().now()
    }

    /// Tells how many seeds were taken and refused, for the report.
    pub fn count_seeds(&self, taken: u64, refused: u64) {
        let seeds = &mut lock(&self.crew.carried).seeds;
        (seeds.taken, seeds.refused) = (seeds.taken + taken, seeds.refused + refused);
    }

    /// Lists each link that is refused in a file, a [`SkippedLink`](super::SkippedLink) a line; beyond 32 MiB, a sample that grows
    /// ever rarer. What is there already stays. The thread ends with the crawl.
    ///
    /// # Errors
    /// Where the file cannot be opened, or the thread cannot be started.
    pub fn list_skipped(&mut self, path: &Path) -> io::Result<WriterThread> {
        let (list, thread) = SkipList::open(path)?;
        self.crew.frontier.with(Frontier::keep_dropped);
        self.skipped = Some(list);
        Ok(thread)
    }

    /// The gate, with its rules, its counts and its seen set.
    pub fn gate(&self) -> &Arc<Gate> {
        self.crew.frontier.gate()
    }

    /// How many fetches, connections and lookups it will have at once.
    pub fn places(&self) -> Places {
        self.places
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
    pub async fn run(mut self, pages: Writer) -> Finished {
        let checkpointer = self.checkpointer.take().map(|checkpointer| checkpointer.start(pages.written()));
        let (checkpointer, mut storage_error) = match checkpointer.transpose() {
            Ok(checkpointer) => (checkpointer, None),
            Err(error) => {
                self.crew.break_off(FinishReason::StorageFailed);
                (None, Some(error))
            }
        };
        let (outputs, skipped) = (std::mem::take(&mut self.outputs), self.skipped.take());
        let worker = Worker { crew: Arc::clone(&self.crew), pages, outputs, skipped };
        let deadline = self.options.max_duration.map(|longest| {
            let stop = self.stop();
            tokio::spawn(async move {
                sleep(longest).await;
                stop.drain_because(FinishReason::MaxDuration);
            })
        });
        // On a task of its own, which a thread of the runtime's pool wakes cheaply; it ends with this future.
        let mut dispatching = JoinSet::new();
        dispatching.spawn(Dispatcher::new(worker, self.places.fetches).run());
        while let Some(ended) = dispatching.join_next().await {
            match ended {
                Ok(Ok(())) => {}
                Ok(Err(error)) => storage_error = storage_error.or(Some(error)),
                Err(panic) => storage_error = storage_error.or(Some(io::Error::other(panic))),
            }
        }
        if let Some(deadline) = deadline {
            deadline.abort();
        }
        let ending = checkpointer.map(|checkpointer| tokio::task::spawn_blocking(|| checkpointer.end()));
        let mut checkpoints = None;
        if let Some(ending) = ending {
            match ending.await {
                Ok(Ok(costs)) => checkpoints = Some(costs),
                Ok(Err(error)) => storage_error = storage_error.or(Some(io::Error::other(error))),
                Err(panic) => storage_error = storage_error.or(Some(io::Error::other(panic))),
            }
        }
        for writer in std::mem::take(&mut self.output_writers) {
            let written = tokio::task::spawn_blocking(|| writer.join()).await;
            if let Err(error) = written.unwrap_or_else(|panic| Err(io::Error::other(panic))) {
                storage_error = storage_error.or(Some(error));
            }
        }
        self.finished(checkpoints, storage_error)
    }

    fn reason(&self, frontier: &FrontierStatistics) -> FinishReason {
        let is_drained = frontier.queued == 0 && frontier.scheduled == 0 && frontier.leased == 0;
        let end = if is_drained { FinishReason::Drained } else { FinishReason::MaxPages };
        self.crew.stop.reason().unwrap_or(end)
    }

    fn finished(&self, checkpoints: Option<CheckpointCosts>, storage_error: Option<io::Error>) -> Finished {
        let crew = &self.crew;
        let (carried, ended) = (crew.carried(), self.now());
        let finished = crew.frontier.with(|frontier| Finished::of(frontier, carried.tally.clone(), ended));
        Finished {
            reason: self.reason(&finished.frontier),
            worst_violation: lock(&crew.politeness).worst().cloned(),
            checkpoints,
            storage_error,
            ..finished.with(&carried)
        }
    }
}
