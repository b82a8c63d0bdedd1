//! The crawl of one partition of a distributed crawl, and the handle by which the partition takes links from others.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::{Arc, PoisonError};

use super::checkpointer::Checkpointer;
use super::error::CrawlError;
use super::finished::Finished;
use super::lock::lock;
use super::numbers::Carried;
use super::options::CrawlOptions;
use super::records::{OutputFiles, PartOutputs};
use super::run::Crawl;
use super::shared::{FetchResources, RemotePartitions, Shared};
use crate::driver::{FileCopy, JournalObserver};
use crate::frontier::{Frontier, FrontierError};
use crate::gate::{Admission, DropRule, Found, Position, Refusal};
use crate::job::checkpoint::CheckpointError;
use crate::job::journal::Cut;
use crate::job::{Job, JobJournal};
use crate::lending::Clock;

/// The parts of a partition's crawl that the process that owns the partition provides.
#[derive(Debug)]
pub(crate) struct CrawlPart<'a> {
    /// The client and memory that it fetches with.
    pub(crate) resources: &'a FetchResources,
    /// The other partitions.
    pub(crate) remote: Arc<dyn RemotePartitions>,
    /// The clock that it goes by.
    pub(crate) clock: Clock,
    /// Observes what its journal writes.
    pub(crate) observer: Arc<dyn JournalObserver>,
    /// Earlier counts, as [`PartitionHandle::carried`] returns them; empty if there are none.
    pub(crate) carried: &'a [u8],
    /// Earlier refusals, by the names of their reasons.
    pub(crate) refused: &'a BTreeMap<String, u64>,
    /// The outputs it writes to, shared with other partitions.
    pub(crate) outputs: &'a PartOutputs,
    /// Whether each request and each refused link is logged.
    pub(crate) logs_all: bool,
}

/// A handle to a running partition: takes links that other partitions have found, and looks into the crawl. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PartitionHandle {
    shared: Arc<Shared<JobJournal>>,
}

impl Crawl<JobJournal> {
    /// Opens one partition of a distributed crawl, which continues where its journal ends. It writes to outputs that it shares with other
    /// partitions. Every page that its journal calls done counts as done, without a look into the outputs. It does not end when it is
    /// drained, since other partitions may find more for it. URLs that were given up with their hosts are not retried: this is no new run
    /// of the crawl. Also returns what was cut off the end of the journal.
    ///
    /// # Errors
    /// If an option is out of range, or one that the job's files depend on has changed; if the job's files are damaged; if the file system
    /// refuses.
    pub(crate) fn open_part(
        options: &CrawlOptions,
        job: &Job,
        part: CrawlPart<'_>,
    ) -> Result<(Self, Option<Cut>), CrawlError> {
        let clock = part.clock;
        let mut frontier = Frontier::open_in(job, &options.frontier, &options.job.open, |_, _| true, clock.now())?;
        frontier.journal_mut().set_observer(part.observer);
        let carried = Carried::read(part.carried)
            .map_err(|source| CrawlError::Totals { directory: job.frontier_directory(), source })?;
        let carried = carried.map(|carried| Carried { resumes: carried.resumes + 1, ..carried });
        let (gate, cut) = (Arc::clone(frontier.gate()), frontier.opening().recovery.cut.clone());
        let mut crawl = Self::over(frontier, clock, options, false, carried, Some(part.resources.clone()))?;
        for refusal in Refusal::ALL {
            gate.count_refused(refusal, part.refused.get(refusal.name()).copied().unwrap_or_default());
        }
        let shared = Arc::get_mut(&mut crawl.shared).expect("nobody else has it before it runs");
        let PartOutputs { outputs, ends, bodies, skipped } = part.outputs;
        shared.remote = Some(part.remote);
        (shared.output_ends, shared.has_places) = (Arc::clone(ends), !outputs.sinks.is_empty());
        shared.frontier.stay_open();
        if part.logs_all {
            crawl.log_all();
        }
        if skipped.is_some() {
            crawl.shared.frontier.with(Frontier::keep_dropped);
        }
        (crawl.skipped, crawl.bodies, crawl.common) = (skipped.clone(), bodies.clone(), Some(Arc::clone(outputs)));
        let outputs = OutputFiles::default();
        crawl.checkpointer = Some(Checkpointer::new(Arc::clone(&crawl.shared), options.job, job, outputs));
        Ok((crawl, cut))
    }

    /// As [`run`](Self::run), for a partition.
    ///
    /// # Panics
    /// If it is not a partition.
    pub(crate) async fn run_part(mut self) -> Finished {
        let outputs = self.common.take().expect("`open_part` has given it the outputs");
        self.run_to(outputs).await
    }

    /// A handle for other partitions' links.
    pub(crate) fn handle(&self) -> PartitionHandle {
        PartitionHandle { shared: Arc::clone(&self.shared) }
    }
}

impl PartitionHandle {
    /// Passes links from other partitions through the gate, and submits the new ones to the frontier. Calls `then` while nothing else can
    /// be written to the journal.
    ///
    /// # Errors
    /// If the journal's storage fails.
    pub(crate) fn take(&self, found: Vec<Found>, then: impl FnOnce()) -> io::Result<()> {
        let _no_checkpoint = self.shared.quiesce.read().unwrap_or_else(PoisonError::into_inner);
        let frontier = &self.shared.frontier;
        let new = frontier.gate().admit_batch(found).into_iter().filter_map(|admission| match admission {
            Admission::Admitted(admitted) => Some(admitted),
            Admission::Refused(_) => None,
        });
        let new: Vec<_> = new.collect();
        {
            let mut tally = lock(&self.shared.tally);
            for admitted in &new {
                tally.sources.add(admitted.found().via);
            }
        }
        Ok(frontier.submit_and(new, then)?)
    }

    /// Widens the scope as a seed does.
    pub(crate) fn widen(&self, found: &Found) {
        // Only the check matters, not its verdict.
        let _ = self.shared.frontier.gate().check(found);
    }

    /// Puts these drop rules in force, and no others. Returns whether a rule that was in force was undone.
    ///
    /// # Errors
    /// If a rule is invalid, or the journal's storage fails. The rules before it are then in force.
    pub(crate) fn set_drops(&self, rules: &[DropRule]) -> Result<bool, FrontierError> {
        let frontier = &self.shared.frontier;
        let before = frontier.gate().dropped();
        let (was, is): (HashSet<_>, HashSet<_>) = (before.iter().collect(), rules.iter().collect());
        // New rules come first: a URL that an old and a new rule match is not requested in between.
        for rule in rules.iter().filter(|rule| !was.contains(rule)) {
            frontier.drop_by(rule.clone())?;
        }
        let mut is_undone = false;
        for rule in before.iter().filter(|rule| !is.contains(rule)) {
            is_undone |= frontier.undo_drop(rule)?;
        }
        Ok(is_undone)
    }

    /// Writes waiting records to the journal's storage. If that fails, the crawl's own next write fails too, and ends the crawl.
    pub(crate) fn flush(&self) {
        let _ = self.shared.frontier.flush();
    }

    /// Calls `act` under the frontier's lock: the journal then has no page whose record is not made yet.
    pub(crate) fn between_pages<R>(&self, act: impl FnOnce() -> R) -> R {
        self.shared.frontier.with(|_| act())
    }

    /// Whether no URL is leased, and none waits: for its turn, for a time, or to be judged by new rules.
    pub(crate) fn is_drained(&self) -> bool {
        self.shared.frontier.with(|frontier| frontier.statistics().is_drained() && !frontier.has_to_bring_back())
    }

    /// Opens the files of the newest checkpoint, and what it needs of the journal up to a position; see [`Checkpoints::copies`]. Waits for
    /// a checkpoint under way.
    ///
    /// [`Checkpoints::copies`]: crate::driver::Checkpoints::copies
    ///
    /// # Errors
    /// If the storage fails.
    pub(crate) fn copies(&self, end: Position) -> Result<Option<(Position, Vec<FileCopy>)>, CheckpointError> {
        let checkpoints = self.shared.frontier.with(|frontier| frontier.journal().checkpoints());
        checkpoints.lock().unwrap_or_else(PoisonError::into_inner).copies(end)
    }

    /// The counts so far, for the partition's next owner. Every page is counted completely or not at all.
    pub(crate) fn carried(&self) -> Vec<u8> {
        let _nobody = self.shared.quiesce.write().unwrap_or_else(PoisonError::into_inner);
        self.shared.carried().to_bytes()
    }
}
