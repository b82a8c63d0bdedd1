//! One run of a crawl: how it is made, seeded, and run until it is drained.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Once, RwLock};
use std::time::Duration;
use std::{fmt, io};

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::sleep;

use super::bounds::{PageQuota, ResourceLimits};
use super::checkpointer::{CheckpointCosts, Checkpointer};
use super::dispatch::Dispatcher;
use super::error::CrawlError;
use super::finished::Finished;
use super::http::Client;
use super::lock::lock;
use super::numbers::{Carried, Cost, PolitenessWatch, Progress};
use super::observer::Observer;
use super::options::CrawlOptions;
use super::records::{Bodies, Outputs, SinkOutput, SkipList, Writer, WriterThread};
use super::recrawl::{KnownPages, Recrawl};
use super::shared::{FetchResources, Shared};
use super::source::ReadOptions;
use super::stop::{FinishReason, Stop};
use super::worker::Worker;
use crate::address::CanonicalUrl;
use crate::driver::Arena;
#[cfg(feature = "cli")]
use crate::driver::JudgedAgain;
use crate::frontier::{Frontier, FrontierStatistics, Journal, Timestamp};
use crate::gate::{Admission, Found, Gate, Refusal};
use crate::lending::{Clock, SharedFrontier};

/// One run of a crawl: a frontier, the tasks that fetch for it, and the outputs of their records.
///
/// [`new`](Self::new) makes a crawl in memory; [`open`](Self::open) makes one that is kept in a job and can be resumed.
pub struct Crawl<J: Journal = Arena> {
    pub(super) shared: Arc<Shared<J>>,
    pub(super) checkpointer: Option<Checkpointer>,
    /// The outputs to which each page adds bytes, besides the page records.
    pub(super) sinks: Vec<SinkOutput>,
    pub(super) sink_threads: Vec<WriterThread>,
    /// The outputs that a partition shares with others.
    #[cfg(feature = "cluster")]
    pub(super) common: Option<Arc<Outputs>>,
    pub(super) skipped: Option<SkipList>,
    pub(super) logs_all: bool,
    /// Where bodies are kept, if they are kept.
    pub(super) bodies: Option<Arc<Bodies>>,
    pub(super) recrawl: Recrawl,
    /// The number of pages in the job that this crawl visits again.
    known: Option<u64>,
    options: CrawlOptions,
    limits: ResourceLimits,
}

/// How often to check whether a sample of the counts is due for the report.
const MOMENT: Duration = Duration::from_secs(1);
/// At most one in this many fetches at once may be the first contact with its host.
const FIRST_CONTACTS: usize = 2;

impl<J: Journal> fmt::Debug for Crawl<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crawl").field("progress", &self.shared.progress()).finish_non_exhaustive()
    }
}

impl Crawl {
    /// A crawl in memory. Checks the options and prepares everything. Sends nothing before [`run`](Self::run).
    ///
    /// # Errors
    /// If an option is out of range, or the HTTP client cannot be built.
    pub fn new(options: &CrawlOptions) -> Result<Self, CrawlError> {
        Self::over(Frontier::new(&options.frontier)?, Clock::start(), options, false, None, None)
    }
}

impl<J: Journal + Send + 'static> Crawl<J> {
    pub(super) fn over(
        mut frontier: Frontier<J>,
        clock: Clock,
        options: &CrawlOptions,
        has_receipts: bool,
        carried: Option<Carried>,
        resources: Option<FetchResources>,
    ) -> Result<Self, CrawlError> {
        ResourceLimits::check(options.workers, options.memory)?;
        let limits = ResourceLimits::fit(options.workers, options.memory);
        frontier.limit_first_contacts(limits.fetches / FIRST_CONTACTS);
        let carried = carried.unwrap_or_else(|| Carried::begin(clock.now()));
        let recrawl = Recrawl::new(frontier.gate().fingerprint_key(), options.recrawl);
        let FetchResources { fetcher, memory } = resources.map_or_else(|| FetchResources::new(options), Ok)?;
        let shared = Shared {
            frontier: SharedFrontier::new(frontier, clock),
            fetcher,
            memory,
            read: ReadOptions::new(options)?,
            page_quota: PageQuota::new(options.max_pages, carried.tally.page_records()),
            is_leasing: AtomicBool::new(true),
            politeness: Mutex::new(PolitenessWatch::judging(&options.frontier.politeness)),
            stop: Stop::new(),
            tally: Mutex::default(),
            output_ends: Arc::new(Mutex::new(carried.outputs.clone())),
            carried: Mutex::new(carried),
            began: Cost::of_this_process(),
            quiesce: RwLock::default(),
            broken: AtomicBool::new(false),
            has_receipts,
            has_places: false,
            warned_full: Once::new(),
            remote: None,
        };
        Ok(Self {
            shared: Arc::new(shared),
            checkpointer: None,
            sinks: Vec::new(),
            sink_threads: Vec::new(),
            #[cfg(feature = "cluster")]
            common: None,
            skipped: None,
            logs_all: false,
            bodies: None,
            recrawl,
            known: None,
            options: options.clone(),
            limits,
        })
    }

    /// Fetches with this client instead of the one in the options: a browser, a recorded web, your own [`reqwest::Client`](super::Reqwest).
    /// It may take some URLs alone ([`Client::takes`]). Call it before the crawl runs.
    ///
    /// # Errors
    /// If the options ask for something that the client does not do, if it hides pages, or if another client was given before.
    pub fn client(&mut self, client: impl Client + 'static) -> Result<(), CrawlError> {
        Ok(self.shared.fetcher.use_client(client)?)
    }

    /// Adds a seed, or returns why it is refused.
    ///
    /// # Errors
    /// If the journal's storage fails.
    pub fn seed(&self, url: CanonicalUrl) -> Result<Option<Refusal>, CrawlError> {
        match self.gate().admit(Found::seed(url)) {
            Admission::Refused(refusal) => Ok(Some(refusal)),
            Admission::Admitted(admitted) => {
                self.shared.frontier.submit([admitted]).map_err(|error| CrawlError::Storage(error.into()))?;
                Ok(None)
            }
        }
    }

    /// As [`seed`](Self::seed), for a seed that an earlier run may have added or refused. A refusal is not counted again.
    ///
    /// # Errors
    /// If the journal's storage fails.
    pub fn seed_again(&self, url: CanonicalUrl) -> Result<Option<Refusal>, CrawlError> {
        let gate = self.gate();
        // This comes first: it opens the scope, which may be of another kind than in the last run.
        let verdict = gate.check(&Found::seed(url.clone()));
        if gate.seen().contains(url.fingerprint(gate.fingerprint_key())) {
            return Ok(Some(Refusal::Seen));
        }
        match verdict {
            Err(refusal) => Ok(Some(refusal)),
            Ok(()) => self.seed(url),
        }
    }

    /// Fetches a URL again that was admitted earlier and dropped, or returns why it is refused.
    ///
    /// # Errors
    /// If the journal's storage fails.
    pub fn ask_again(&self, url: &CanonicalUrl) -> Result<Option<Refusal>, CrawlError> {
        let now = self.now();
        self.shared
            .frontier
            .with(|frontier| frontier.schedule(url.wire(), now))
            .map_err(|error| CrawlError::Storage(error.into()))
    }

    /// How the current rules judge waiting URLs, and URLs that earlier rules refused. Call it once the seeds are added again.
    ///
    /// # Errors
    /// If the journal's storage fails.
    #[cfg(feature = "cli")]
    pub(crate) fn judged_again(&self) -> Result<JudgedAgain, CrawlError> {
        self.shared.frontier.with(Frontier::judged_again).map_err(CrawlError::Storage)
    }

    /// The crawl's time.
    pub fn now(&self) -> Timestamp {
        self.shared.frontier.clock().now()
    }

    /// Reports how many seeds were taken and refused.
    pub fn count_seeds(&self, taken: u64, refused: u64) {
        let seeds = &mut lock(&self.shared.carried).seeds;
        (seeds.taken, seeds.refused) = (seeds.taken + taken, seeds.refused + refused);
    }

    /// Lists every refused link in a file, one [`SkippedLink`](super::SkippedLink) a line. Beyond 32 MiB it lists an ever rarer sample.
    /// Appends to an existing file. The thread ends with the crawl.
    ///
    /// # Errors
    /// If the file cannot be opened, or the thread cannot be started.
    pub fn list_skipped(&mut self, path: &Path) -> io::Result<WriterThread> {
        let (list, thread) = SkipList::open(path)?;
        self.shared.frontier.with(Frontier::keep_dropped);
        self.skipped = Some(list);
        Ok(thread)
    }

    /// Logs a line for each finished request, and for each link refused for another reason than having been seen: `info` events of tracing.
    pub fn log_all(&mut self) {
        self.shared.frontier.with(Frontier::keep_dropped);
        self.logs_all = true;
    }

    /// Requests the pages that another job has visited only if they have changed, and says in each record how they have changed. A page
    /// that has not changed has the links that it had at that visit. This crawl's job should keep [`Visits`](super::Visits) too: then the
    /// next crawl needs only this job.
    pub fn recrawl(&mut self, old: KnownPages) {
        self.known = Some(old.pages());
        self.recrawl.old = Some(old);
    }

    /// The gate, with its rules, its counts and its seen set.
    pub fn gate(&self) -> &Arc<Gate> {
        self.shared.frontier.gate()
    }

    /// How many fetches, connections and lookups the crawl will have at once.
    pub fn limits(&self) -> ResourceLimits {
        self.limits
    }

    /// A handle that stops this crawl, or pauses it.
    pub fn stop(&self) -> Stop {
        self.shared.stop.clone()
    }

    /// Returns the crawl's numbers while it runs, from any thread.
    pub fn watch(&self) -> impl Fn() -> Progress + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.progress()
    }

    /// Looks into the crawl while it runs, from any thread: all its numbers, its hosts, and why a URL was not fetched.
    pub fn observer(&self) -> Observer<J> {
        Observer { shared: Arc::clone(&self.shared), known: self.known }
    }

    /// Crawls until the frontier is drained, a limit is reached, or the crawl is stopped.
    ///
    /// A failed crawl has numbers too: [`Finished`] says why it ended.
    pub async fn run(mut self, pages: Writer) -> Finished {
        let sinks = std::mem::take(&mut self.sinks);
        Box::pin(self.run_to(Arc::new(Outputs { pages, sinks }))).await
    }

    pub(super) async fn run_to(mut self, outputs: Arc<Outputs>) -> Finished {
        let mut storage_error = None;
        let mut failed = |error: io::Error| _ = storage_error.get_or_insert(error);
        let checkpointer =
            self.checkpointer.take().map(|checkpointer| checkpointer.start(&outputs.pages.written())).transpose();
        let checkpointer = checkpointer.unwrap_or_else(|error| {
            self.shared.abort(FinishReason::StorageFailed);
            failed(error);
            None
        });
        let blank = Recrawl::new(self.gate().fingerprint_key(), self.options.recrawl);
        let recrawl = std::mem::replace(&mut self.recrawl, blank);
        let worker = Worker {
            shared: Arc::clone(&self.shared),
            read: Arc::new(self.shared.read.clone().with_link_texts(outputs.need_links())),
            outputs,
            bodies: self.bodies.clone(),
            skipped: self.skipped.take(),
            logs_all: self.logs_all,
            recrawl,
        };
        let deadline = self.options.max_duration.map(|longest| {
            let stop = self.stop();
            tokio::spawn(async move {
                sleep(longest).await;
                stop.drain_because(FinishReason::MaxDuration);
            })
        });
        let noting = {
            let shared = Arc::clone(&self.shared);
            tokio::spawn(async move {
                loop {
                    shared.note_moment(false);
                    sleep(MOMENT).await;
                }
            })
        };
        // The dispatcher has its own task, which a thread of the runtime's pool can wake cheaply. The task ends with this future.
        let mut dispatching = JoinSet::new();
        dispatching.spawn(Dispatcher::new(worker, self.limits.fetches).run());
        while let Some(ended) = dispatching.join_next().await {
            ended.unwrap_or_else(|panic| Err(io::Error::other(panic))).unwrap_or_else(&mut failed);
        }
        if let Some(deadline) = deadline {
            deadline.abort();
        }
        self.bodies.iter().filter_map(|bodies| bodies.failure()).for_each(&mut failed);
        noting.abort();
        self.shared.note_moment(true);
        let mut checkpoints = None;
        if let Some(checkpointer) = checkpointer {
            match spawn_blocking(|| checkpointer.end()).await.map_err(io::Error::other) {
                Ok(Ok(costs)) => checkpoints = Some(costs),
                Ok(Err(error)) => failed(io::Error::other(error)),
                Err(panic) => failed(panic),
            }
        }
        for thread in std::mem::take(&mut self.sink_threads) {
            let written = spawn_blocking(|| thread.join()).await.unwrap_or_else(|panic| Err(io::Error::other(panic)));
            written.map_or_else(&mut failed, drop);
        }
        self.finished(checkpoints, storage_error)
    }

    fn reason(&self, frontier: &FrontierStatistics) -> FinishReason {
        let end = if frontier.is_drained() { FinishReason::Drained } else { FinishReason::MaxPages };
        self.shared.stop.reason().unwrap_or(end)
    }

    fn finished(&self, checkpoints: Option<CheckpointCosts>, storage_error: Option<io::Error>) -> Finished {
        let shared = &self.shared;
        let (carried, ended) = (shared.carried(), self.now());
        let finished = shared.frontier.with(|frontier| Finished::of(frontier, carried.tally.clone(), ended));
        Finished {
            reason: self.reason(&finished.frontier),
            worst_violation: lock(&shared.politeness).worst().cloned(),
            checkpoints,
            storage_error,
            known: self.known,
            ..finished.with(&carried)
        }
    }
}
