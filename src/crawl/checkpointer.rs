//! The thread that writes a crawl's checkpoints, and looks after its job's files and disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::bounds::free_space;
use super::finish::FinishReason;
use super::numbers::Carried;
use super::options::JobOptions;
use super::records::{Output, OutputFiles, Written};
use super::shared::Crew;
use crate::frontier::Frontier;
use crate::job::checkpoint::{self, CheckpointCost, CheckpointError, JobJournal, Owner};
use crate::job::{FileError, Job, Lock};

/// How often it looks.
const TICK: Duration = Duration::from_secs(1);
/// A checkpoint may take one part in so many of the time.
const SHARE: u32 = 33;

/// Writes a crawl's checkpoints, and stops the crawl before the disk is full or where its files are not its own any more.
#[derive(Debug)]
pub(super) struct Checkpointer {
    crew: Arc<Crew<JobJournal>>,
    options: JobOptions,
    /// The job's directory, whose disk must not run full.
    directory: PathBuf,
    lock: Option<Arc<Lock>>,
    pub(super) outputs: OutputFiles,
    /// What has become of the output, where that is why the crawl ends.
    disturbed: Option<CheckpointError>,
    /// What the checkpoint under way will keep: of the moment of its counts.
    carried: Carried,
    costs: CheckpointCosts,
}

/// What a run's checkpoints have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointCosts {
    /// How many were written.
    pub checkpoints: u64,
    /// The time that the last one took.
    pub last: Duration,
    /// All of them together.
    pub total: Duration,
    /// The longest that the frontier was held for one.
    pub longest_pause: Duration,
    /// Bytes of the last one, without the seen set.
    pub bytes: u64,
}

impl CheckpointCosts {
    fn add(&mut self, cost: CheckpointCost) {
        self.checkpoints += 1;
        (self.last, self.bytes) = (cost.time, cost.bytes);
        self.total += cost.time;
        self.longest_pause = self.longest_pause.max(cost.longest_pause);
    }
}

/// A checkpointer at work.
#[derive(Debug)]
pub(super) struct CheckpointerThread {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<Result<CheckpointCosts, CheckpointError>>,
}

impl Owner for Checkpointer {
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        self.crew.frontier.with(act)
    }

    /// Waits until nobody is between the gate and the journal.
    fn quiesce<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        let _nobody = self.crew.crossing.write().unwrap_or_else(PoisonError::into_inner);
        self.carried = self.crew.carried();
        self.crew.frontier.with(act)
    }

    fn confirm(&mut self, output: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        if self.crew.broken.load(Ordering::Acquire) {
            return Ok(None);
        }
        if !self.outputs.sync(output, &self.carried.outputs)? {
            return Ok(None);
        }
        Ok(Some(self.carried.to_bytes()))
    }
}

impl Checkpointer {
    pub(super) fn new(crew: Arc<Crew<JobJournal>>, options: JobOptions, job: &Job, output: Option<Output>) -> Self {
        Self {
            crew,
            options,
            directory: job.frontier_directory(),
            lock: job.lock().cloned(),
            outputs: OutputFiles::new(output),
            disturbed: None,
            carried: Carried::default(),
            costs: CheckpointCosts::default(),
        }
    }

    /// The output of the job's own.
    pub(super) fn output(&self) -> Option<&Output> {
        self.outputs.pages()
    }

    /// Sets to work, on a thread of its own.
    pub(super) fn start(mut self, written: Written) -> io::Result<CheckpointerThread> {
        self.outputs.follow_pages(written);
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let told = Arc::clone(&ended);
        let work = move || {
            let crew = Arc::clone(&self.crew);
            let ended = self.work(&told);
            if ended.is_err() {
                crew.break_off(FinishReason::StorageFailed);
            }
            ended
        };
        let thread = std::thread::Builder::new().name("checkpointer".to_owned()).spawn(work)?;
        Ok(CheckpointerThread { ended, thread })
    }

    fn work(mut self, ended: &(Mutex<bool>, Condvar)) -> Result<CheckpointCosts, CheckpointError> {
        // Options and seeds are kept before anything is asked for.
        self.checkpoint()?;
        let mut last = Instant::now();
        loop {
            let flag = ended.0.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = ended.1.wait_timeout_while(flag, TICK, |ended| !*ended);
            if *wait.unwrap_or_else(PoisonError::into_inner).0 {
                break;
            }
            let now = self.crew.frontier.clock().now();
            let flushed = self.crew.frontier.with(|frontier| frontier.flush(now));
            flushed.map_err(|source| io_error("write", &self.directory, source))?;
            self.mind_the_disk()?;
            self.mind_the_files()?;
            if last.elapsed() >= self.options.checkpoint_interval.max(self.costs.last * SHARE) {
                self.checkpoint()?;
                last = Instant::now();
            }
        }
        if !self.crew.broken.load(Ordering::Acquire) {
            let output = self.quiesce(|frontier| frontier.output());
            let saved = self.outputs.save(output, &self.carried.outputs)?;
            self.disturbed = saved.or(self.disturbed.take());
            self.checkpoint()?;
        }
        self.disturbed.map_or(Ok(self.costs), Err)
    }

    /// Whether the job is ours alone, and its output the file that we write to.
    fn mind_the_files(&mut self) -> Result<(), CheckpointError> {
        if let Some(lock) = &self.lock {
            lock.check()?;
        }
        if self.disturbed.is_none() {
            self.disturbed = self.outputs.disturbed()?;
            if self.disturbed.is_some() {
                self.crew.stop.drain_because(FinishReason::StorageFailed);
            }
        }
        Ok(())
    }

    /// A disk that is full fails in the middle of something; one that is nearly full is left in good order.
    fn mind_the_disk(&self) -> Result<(), CheckpointError> {
        let free = free_space(&self.directory).map_err(|source| io_error("measure", &self.directory, source))?;
        if free.is_some_and(|free| free < self.options.min_free_disk) {
            self.crew.stop.drain_because(FinishReason::DiskLow);
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), CheckpointError> {
        self.mind_the_files()?;
        if let Some(cost) = checkpoint::write(self)? {
            self.costs.add(cost);
        }
        Ok(())
    }
}

impl CheckpointerThread {
    /// Lets it write the last checkpoint, and waits for that. Blocks.
    pub(super) fn end(self) -> Result<CheckpointCosts, CheckpointError> {
        *self.ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.1.notify_all();
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> CheckpointError {
    FileError::Io { action, path: path.to_owned(), source }.into()
}
