//! The thread that writes a crawl's checkpoints and watches the job's files and disk; and the thread that syncs the outputs between two
//! checkpoints.
//!
//! A resume counts a page if it finds the page's bytes in each output, and its body, whether a checkpoint mentions them or not. So a sync
//! between checkpoints need not be recorded: a power cut takes only bytes written after the last sync, and a page that has lost any bytes
//! is fetched again. The journal syncs itself as often as the outputs are synced. The order of the two does not matter, since a page needs
//! both.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::bounds::free_space;
use super::lock::lock;
use super::numbers::{Carried, SpentFile};
use super::options::JobOptions;
use super::records::{Bodies, OutputFiles, Written};
use super::shared::{Shared, micros};
use super::stop::FinishReason;
use crate::frontier::Frontier;
use crate::job::checkpoint::{self, CheckpointCost, CheckpointError, JobJournal, Owner};
use crate::job::journal::SyncPolicy;
use crate::job::{FileError, Job, Lock, Manifest, replace_with};

/// How often the thread checks files, disk and clock.
const TICK: Duration = Duration::from_secs(1);
/// Writing checkpoints may take at most one part in this many of the time. The same holds for writing cookies.
const SHARE: u32 = 33;

/// Writes a crawl's checkpoints. Stops the crawl before the disk is full, or if another program has changed its files.
#[derive(Debug)]
pub(super) struct Checkpointer {
    shared: Arc<Shared<JobJournal>>,
    options: JobOptions,
    /// The job's directory; its disk must not fill up.
    directory: PathBuf,
    /// The file of the cookies.
    cookies: PathBuf,
    /// When the cookies were last saved, and how long that took.
    cookies_saved: Instant,
    cookies_took: Duration,
    lock: Option<Arc<Lock>>,
    /// The job's manifest, and its directory.
    manifest: (Manifest, PathBuf),
    /// The files of the outputs. Another thread syncs them between two checkpoints.
    outputs: Arc<Mutex<OutputFiles>>,
    /// Where bodies are kept, if they are kept.
    pub(super) bodies: Option<Arc<Bodies>>,
    /// The disturbance of an output that ends the crawl, if there was one.
    disturbed: Option<CheckpointError>,
    /// The totals that the checkpoint under way will keep, as of its counts.
    carried: Carried,
    costs: CheckpointCosts,
}

/// What a run's checkpoints have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CheckpointCosts {
    /// How many were written.
    pub written: u64,
    /// Microseconds that all of them took. The crawl went on meanwhile.
    pub took_us: u64,
    /// Microseconds that the last one took.
    pub last_us: u64,
    /// Microseconds of the longest time that the crawl waited for one.
    pub longest_pause_us: u64,
    /// Bytes of the last one, without the seen set.
    pub bytes: u64,
}

impl CheckpointCosts {
    /// The cost of two crawls together.
    pub(crate) fn beside(self, other: Self) -> Self {
        Self {
            written: self.written + other.written,
            took_us: self.took_us + other.took_us,
            last_us: self.last_us.max(other.last_us),
            longest_pause_us: self.longest_pause_us.max(other.longest_pause_us),
            bytes: self.bytes + other.bytes,
        }
    }

    fn add(&mut self, CheckpointCost { time, longest_pause, bytes }: CheckpointCost) {
        let [last_us, pause_us] = [time, longest_pause].map(micros);
        self.written += 1;
        self.took_us += last_us;
        (self.last_us, self.bytes) = (last_us, bytes);
        self.longest_pause_us = self.longest_pause_us.max(pause_us);
    }
}

/// A running checkpointer.
#[derive(Debug)]
pub(super) struct CheckpointerThread {
    /// Dropping it ends the thread.
    end: mpsc::Sender<()>,
    thread: JoinHandle<Result<CheckpointCosts, CheckpointError>>,
    syncing: Option<OutputSyncThread>,
}

impl Owner for Checkpointer {
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        self.shared.frontier.with(act)
    }

    /// Waits until no page is between the gate and the journal.
    fn quiesce<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        let _nobody = self.shared.quiesce.write().unwrap_or_else(PoisonError::into_inner);
        self.carried = self.shared.carried();
        self.shared.frontier.with(act)
    }

    fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        if self.shared.broken.load(Ordering::Acquire) {
            return Ok(None);
        }
        if let Some(bodies) = &self.bodies {
            bodies.sync().map_err(FileError::of("sync", bodies.directory()))?;
        }
        if !lock(&self.outputs).sync(&self.carried.outputs)? {
            return Ok(None);
        }
        Ok(Some(self.carried.to_bytes()))
    }
}

impl Checkpointer {
    pub(super) fn new(shared: Arc<Shared<JobJournal>>, options: JobOptions, job: &Job, outputs: OutputFiles) -> Self {
        Self {
            shared,
            options,
            directory: job.frontier_directory(),
            cookies: job.cookies_path(),
            cookies_saved: Instant::now(),
            cookies_took: Duration::ZERO,
            lock: job.lock().cloned(),
            manifest: (job.manifest().clone(), job.directory().to_owned()),
            outputs: Arc::new(Mutex::new(outputs)),
            bodies: None,
            disturbed: None,
            carried: Carried::default(),
            costs: CheckpointCosts::default(),
        }
    }

    /// The page records, if the job owns their file.
    pub(super) fn pages(&self) -> io::Result<std::fs::File> {
        lock(&self.outputs).pages().ok_or(io::ErrorKind::Unsupported)?.handle()
    }

    /// Starts the thread. `written` is the progress of the writer of the page records.
    pub(super) fn start(self, written: &Written) -> io::Result<CheckpointerThread> {
        lock(&self.outputs).follow_pages(written);
        let (end, ended) = mpsc::channel();
        let syncing = OutputSync { outputs: Arc::clone(&self.outputs), bodies: self.bodies.clone() };
        let stopped = Arc::clone(&self.shared);
        let policy = self.options.open.journal.sync;
        let syncing = syncing.start(policy, move || stopped.abort(FinishReason::StorageFailed))?;
        let work = move || {
            let shared = Arc::clone(&self.shared);
            self.work(&ended).inspect_err(|_| shared.abort(FinishReason::StorageFailed))
        };
        let thread = std::thread::Builder::new().name("checkpointer".to_owned()).spawn(work)?;
        Ok(CheckpointerThread { end, thread, syncing })
    }

    fn work(mut self, ended: &mpsc::Receiver<()>) -> Result<CheckpointCosts, CheckpointError> {
        // Saves options and seeds before the first request.
        self.checkpoint()?;
        let path = SpentFile::path(&self.directory);
        let mut spent = SpentFile::open(&self.directory).map_err(FileError::of("open", &path))?;
        let mut last = Instant::now();
        while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let now = self.shared.frontier.clock().now();
            let flushed = self.shared.frontier.with(|frontier| frontier.flush(now)).map_err(io::Error::from);
            flushed.map_err(FileError::of("write", &self.directory))?;
            spent.write(self.shared.spent()).map_err(FileError::of("write", &path))?;
            self.check_disk()?;
            self.check_files()?;
            if self.cookies_saved.elapsed() >= self.cookies_took * SHARE {
                self.save_cookies()?;
            }
            if last.elapsed() >= self.options.checkpoint_interval.max(Duration::from_micros(self.costs.last_us) * SHARE)
            {
                self.checkpoint()?;
                last = Instant::now();
            }
        }
        if !self.shared.broken.load(Ordering::Acquire) {
            self.quiesce(|_| ());
            let saved = lock(&self.outputs).save(&self.carried.outputs)?;
            self.disturbed = saved.or(self.disturbed.take());
            if self.checkpoint()? {
                lock(&self.outputs).finish(&self.carried.outputs, true)?;
            }
        }
        self.disturbed.map_or(Ok(self.costs), Err)
    }

    /// Checks that this process still holds the job's lock, and that the job's outputs are still the files that the crawl writes to.
    fn check_files(&mut self) -> Result<(), CheckpointError> {
        if let Some(lock) = &self.lock {
            lock.check()?;
        }
        let (manifest, directory) = &self.manifest;
        if Manifest::is_gone(directory) {
            // Logged before the file is back, so that the reason is known by then.
            tracing::warn!("{}/manifest was removed while the crawl runs; it is written again", directory.display());
            manifest.write_again(directory)?;
        }
        if self.disturbed.is_none() {
            self.disturbed = lock(&self.outputs).disturbed()?;
            if self.disturbed.is_some() {
                self.shared.stop.drain_because(FinishReason::StorageFailed);
            }
        }
        Ok(())
    }

    /// Stops before the disk is full: a full disk would fail in the middle of a write.
    fn check_disk(&self) -> Result<(), CheckpointError> {
        for directory in std::iter::once(&*self.directory).chain(self.bodies.as_ref().map(|bodies| bodies.directory()))
        {
            let free = free_space(directory).map_err(FileError::of("measure", directory))?;
            if free.is_some_and(|free| free < self.options.min_free_disk) {
                self.shared.stop.drain_because(FinishReason::DiskLow);
            }
        }
        Ok(())
    }

    /// Writes the cookies, if any have changed, to a file that only its owner can read.
    fn save_cookies(&mut self) -> Result<(), CheckpointError> {
        let Some(jar) = self.shared.fetcher.cookies() else { return Ok(()) };
        let begun = Instant::now();
        let saved = jar.save(|text| {
            replace_with(&self.cookies, |file| {
                #[cfg(unix)]
                file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
                file.write_all(text)
            })
        });
        saved.map_err(FileError::of("write", &self.cookies))?;
        (self.cookies_saved, self.cookies_took) = (Instant::now(), begun.elapsed());
        Ok(())
    }

    /// Writes a checkpoint, and finishes the files of a series that are complete with it. Returns whether the checkpoint counts.
    fn checkpoint(&mut self) -> Result<bool, CheckpointError> {
        self.check_files()?;
        self.save_cookies()?;
        let Some(cost) = checkpoint::write(self)? else { return Ok(false) };
        self.costs.add(cost);
        lock(&self.outputs).finish(&self.carried.outputs, false)?;
        Ok(true)
    }
}

impl CheckpointerThread {
    /// Asks for the last checkpoint, and waits until it is written. Blocks.
    pub(super) fn end(self) -> Result<CheckpointCosts, CheckpointError> {
        drop(self.end);
        let costs = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.syncing.map_or(Ok(()), OutputSyncThread::end).and(costs)
    }
}

/// The outputs and bodies that are synced. Each round syncs everything written before the round began.
#[derive(Debug)]
struct OutputSync {
    outputs: Arc<Mutex<OutputFiles>>,
    bodies: Option<Arc<Bodies>>,
}

/// A running sync thread.
#[derive(Debug)]
struct OutputSyncThread {
    /// Dropping it ends the thread.
    end: mpsc::Sender<()>,
    thread: JoinHandle<Result<(), CheckpointError>>,
}

impl OutputSync {
    /// Starts the thread; `None` if nothing is synced between checkpoints. The thread calls `failed` if it cannot go on.
    fn start(self, policy: SyncPolicy, failed: impl FnOnce() + Send + 'static) -> io::Result<Option<OutputSyncThread>> {
        let Some(every) = policy.interval() else { return Ok(None) };
        let (end, ended) = mpsc::channel();
        let work = move || self.work(every, &ended).inspect_err(|_| failed());
        let thread = thread::Builder::new().name("output-sync".to_owned()).spawn(work)?;
        Ok(Some(OutputSyncThread { end, thread }))
    }

    fn work(self, every: Duration, ended: &mpsc::Receiver<()>) -> Result<(), CheckpointError> {
        while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            if let Some(bodies) = &self.bodies {
                bodies.sync().map_err(FileError::of("sync", bodies.directory()))?;
            }
            lock(&self.outputs).sync_written()?;
        }
        Ok(())
    }
}

impl OutputSyncThread {
    /// Waits for the current round. Blocks.
    fn end(self) -> Result<(), CheckpointError> {
        drop(self.end);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// `/dev/null` and files in `/proc` cannot be synced: the error shows that a sync was tried.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::crawl::records::{Output, Written};

    /// Syncs each millisecond until it fails, and returns why.
    fn failure(outputs: OutputFiles, bodies: Option<Bodies>) -> String {
        let sync = OutputSync { outputs: Arc::new(Mutex::new(outputs)), bodies: bodies.map(Arc::new) };
        let (failed, fails) = mpsc::channel();
        let thread = sync.start(SyncPolicy::Interval(Duration::from_millis(1)), move || failed.send(()).unwrap());
        fails.recv_timeout(Duration::from_secs(60)).expect("it is tried");
        thread.unwrap().unwrap().end().unwrap_err().to_string()
    }

    #[test]
    fn bodies_are_synced_while_a_crawl_runs() {
        let directory = tempfile::tempdir().unwrap();
        let bodies = Bodies::open(directory.path(), 7).unwrap();
        let digest = bodies.keep(b"abc").unwrap();
        let hex = digest.strip_prefix("sha256:").unwrap();
        let body = directory.path().join(&hex[..2]).join(&hex[2..]);
        std::fs::remove_file(&body).unwrap();
        std::os::unix::fs::symlink("/dev/null", &body).unwrap();
        let error = failure(OutputFiles::default(), Some(bodies));
        assert!(error.contains(directory.path().to_str().unwrap()), "{error}");
    }

    #[test]
    fn outputs_are_synced_while_a_crawl_runs() {
        let (mut outputs, written) = (OutputFiles::default(), Written::default());
        outputs.add(Output::other(Path::new("/proc/self/comm")).unwrap(), written.clone());
        written.add(5);
        let error = failure(outputs, None);
        assert!(error.contains("/proc/self/comm"), "{error}");
    }
}
