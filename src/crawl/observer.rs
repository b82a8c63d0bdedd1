//! Looks into an unfinished crawl: one that runs in this process, or one that another process runs or has left, from its job's files.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::counters::Counter;
use super::error::CrawlError;
use super::finished::Finished;
use super::lock::lock;
use super::numbers::{Carried, Spent, Tally};
use super::options::CrawlOptions;
use super::records::{OutputEnds, each_record};
use super::shared::Shared;
use super::stop::FinishReason;
use crate::address::AddressError;
use crate::driver::{Arena, PAGES, look as look_at};
#[cfg(feature = "cli")]
use crate::driver::{HostList, HostOrder};
use crate::frontier::{Explanation, Frontier, FrontierError, Journal, Timestamp};
use crate::gate::DropRule;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, Job, JobJournal};
use crate::lending::Clock;

/// Looks into a crawl while it runs, from any thread. [`Crawl::observer`](super::Crawl::observer) makes one. Cheap to clone.
pub struct Observer<J: Journal = Arena> {
    pub(super) shared: Arc<Shared<J>>,
    /// The number of pages in the job that this crawl visits again.
    pub(super) known: Option<u64>,
}

/// At most this many hosts are read under one lock.
#[cfg(feature = "cli")]
const HOSTS_AT_ONCE: u32 = 4096;

impl<J: Journal> Observer<J> {
    /// The numbers of the crawl up to now, as its report would have them; the reason is [`FinishReason::Unfinished`]. The cost of its
    /// checkpoints is known only when it ends.
    ///
    /// Every page is counted completely or not at all: pages that want to pass the gate wait meanwhile. That takes longer the more hosts
    /// are in memory, so a caller that asks repeatedly should pause in between.
    pub fn so_far(&self) -> Finished {
        let shared = &self.shared;
        let ended = shared.frontier.clock().now();
        let quiet = shared.quiesce.write().unwrap_or_else(PoisonError::into_inner);
        let carried = shared.carried();
        let finished = shared.frontier.with(|frontier| Finished::of(frontier, carried.tally.clone(), ended));
        drop(quiet);
        Finished {
            reason: FinishReason::Unfinished,
            worst_violation: lock(&shared.politeness).worst().cloned(),
            known: self.known,
            ..finished.with(&carried)
        }
    }

    /// The crawl's time.
    pub fn now(&self) -> Timestamp {
        self.shared.frontier.clock().now()
    }

    /// Finds at most `most` hosts in memory whose names or states contain a text. Takes the frontier's lock for a few thousand hosts at a
    /// time.
    #[cfg(feature = "cli")]
    pub(crate) fn hosts(&self, find: &str, order: HostOrder, most: usize) -> HostList {
        let frontier = &self.shared.frontier;
        let mut list = HostList::by(order, find, most);
        let (mut from, now) = (0, self.now());
        while let Some(next) = frontier.with(|frontier| frontier.list_hosts(&mut list, from, HOSTS_AT_ONCE, now)) {
            from = next;
        }
        list
    }

    /// Stops fetching the URLs that a rule matches, in this run and later ones; with `is_undone`, fetches them again. Returns the rules
    /// that are in force after that.
    ///
    /// # Errors
    /// If the rule is not valid, or the job's storage fails.
    pub fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Vec<DropRule>, FrontierError> {
        let frontier = &self.shared.frontier;
        if is_undone {
            frontier.undo_drop(&rule)?;
        } else {
            frontier.drop_by(rule)?;
        }
        Ok(self.dropped())
    }

    /// The [drop rules](Self::drop_by) in force, in the order in which they were given.
    pub fn dropped(&self) -> Vec<DropRule> {
        self.shared.frontier.gate().dropped()
    }

    /// As [`Frontier::explain`](crate::frontier::Frontier::explain): what is known of a URL, except its history.
    ///
    /// # Errors
    /// If the text is not a URL; in the inner result, if the journal's storage fails.
    pub fn explain(&self, url: &str) -> Result<Result<Explanation, FrontierError>, AddressError> {
        let frontier = &self.shared.frontier;
        let url = frontier.gate().canonicalizer().canonicalize(url)?;
        let now = frontier.clock().now();
        Ok(frontier.with(|frontier| frontier.explain(&url, now)))
    }
}

impl<J: Journal> Clone for Observer<J> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), known: self.known }
    }
}

impl<J: Journal> fmt::Debug for Observer<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("progress", &self.shared.progress()).finish_non_exhaustive()
    }
}

/// An unfinished crawl, as found in its job.
#[derive(Debug)]
#[non_exhaustive]
pub struct Underway {
    /// Its frontier, to look into.
    pub frontier: Frontier<JobJournal>,
    /// Its numbers so far; the reason is [`FinishReason::Unfinished`].
    pub finished: Finished,
    /// The checkpoint that they come from; `None` if there is none yet.
    pub checkpoint: Option<u64>,
    /// Records of the journal after that checkpoint.
    pub records: u64,
    /// Damaged checkpoints that were skipped.
    pub damaged: Vec<String>,
}

/// The totals that a checkpoint keeps for its crawl.
pub(super) fn read_totals(job: &Job, extra: &[u8]) -> Result<Option<Carried>, CrawlError> {
    Carried::read(extra).map_err(|source| CrawlError::Totals { directory: job.frontier_directory(), source })
}

/// Looks at a crawl that another process is running, or that was killed: at the job's last checkpoint, the journal after it, and the page
/// records that the journal names. Takes no lock and writes nothing. Requests for robots.txt and retries since the checkpoint are not
/// known.
///
/// # Errors
/// If the job's files are damaged, belong to another job or other options, or cannot be read.
pub fn look(job: &Job, options: &CrawlOptions) -> Result<Underway, CrawlError> {
    let now = Clock::start().now();
    let mut frontier = look_at(job, &options.frontier, now);
    if matches!(&frontier, Err(CheckpointError::File(FileError::Io { source, .. })) if source.kind() == ErrorKind::NotFound)
    {
        // Meanwhile the crawl wrote a newer checkpoint, and removed the one being read.
        frontier = look_at(job, &options.frontier, now);
    }
    let frontier = frontier?;
    let directory = job.frontier_directory();
    let latest = latest(&directory).map_err(FileError::of("read", &directory)).map_err(CheckpointError::from);
    let ended = latest?.unwrap_or(now);
    let opening = frontier.opening();
    let mut carried = read_totals(job, &opening.extra)?.unwrap_or_else(|| Carried::begin(ended));
    carried
        .catch_up(Spent::read(&directory).map_err(FileError::of("read", &directory)).map_err(CheckpointError::from)?);
    let path = job.pages_path();
    let tally = tally(&path, opening.counted, opening.output, &mut carried.outputs);
    let tally = tally.map_err(FileError::of("read", &path)).map_err(CheckpointError::from)?;
    carried.tally.merge_with(&tally);
    carried.outputs.entry(PAGES.to_owned()).or_default().bytes = opening.output;
    let finished = Finished::of(&frontier, std::mem::take(&mut carried.tally), ended).with(&carried);
    let finished = Finished { reason: FinishReason::Unfinished, ..finished };
    let (checkpoint, records) = (opening.checkpoint, opening.recovery.records);
    let damaged = opening.damaged.iter().map(ToString::to_string).collect();
    Ok(Underway { frontier, finished, checkpoint, records, damaged })
}

/// Counts the page records between two positions of their file, and updates `ends` by the places that the records name in other outputs. A
/// missing file has no records.
pub(super) fn tally(path: &Path, from: u64, to: u64, ends: &mut OutputEnds) -> io::Result<Tally> {
    let mut tally = Tally::default();
    each_record(path, from, to, |record| {
        tally.record_page(true, &record);
        ends.entry(PAGES.to_owned()).or_default().pages += 1;
        for (name, place) in record.outputs {
            let end = ends.entry(name).or_default();
            (end.bytes, end.pages) = (place.receipt().end, end.pages + 1);
        }
    })?;
    Ok(tally)
}

/// When a file of this directory was last written.
fn latest(directory: &Path) -> io::Result<Option<Timestamp>> {
    let mut latest: Option<SystemTime> = None;
    for entry in directory.read_dir()? {
        // A file that is gone by now was not the newest.
        latest = latest.max(entry?.metadata().and_then(|data| data.modified()).ok());
    }
    let since = latest.map(|latest| latest.duration_since(UNIX_EPOCH).unwrap_or_default());
    Ok(since.map(|since| Timestamp::default() + since))
}
