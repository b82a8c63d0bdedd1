//! The thread that writes a crawl's checkpoints and watches the job's files and disk.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::counters::{counters, greatest};
use super::latencies::micros;
use super::numbers::{Carried, SpentFile};
use super::options::JobOptions;
use super::records::{KeeperClock, KeeperThread, OutputFiles, OutputKeeper, Written};
use super::shared::Shared;
use super::stop::FinishReason;
use crate::driver::Manifest;
use crate::driver::own::{Lock, replace_with};
use crate::frontier::Frontier;
use crate::job::checkpoint::{self, CheckpointCost, CheckpointError, JobJournal, Owner};
use crate::job::{FileError, Job};

/// How often the thread checks files, disk and clock.
const TICK: Duration = Duration::from_secs(1);
/// Writing checkpoints takes at most 1/33 of the time, and so does writing cookies.
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
    pub(super) outputs: OutputKeeper,
    /// Set once an output's file is no longer the one that the crawl writes to. It ends the crawl.
    disturbed: Option<CheckpointError>,
    /// The totals for the checkpoint under way.
    carried: Carried,
    costs: CheckpointCosts,
}

counters! {
    /// What a run's checkpoints have cost.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct CheckpointCosts {
        /// How many were written.
        pub written: u64,
        /// Microseconds that all of them took. The crawl went on meanwhile.
        pub took_us: u64,
        /// Microseconds that the last one took.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub last_us: u64 => greatest,
        /// Microseconds of the longest time that the crawl waited for one.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub longest_pause_us: u64 => greatest,
        /// Bytes of the last one, without the seen set.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub bytes: u64,
    }
}

impl CheckpointCosts {
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
    thread: KeeperThread<CheckpointCosts>,
    syncing: Option<KeeperThread<()>>,
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
        Ok(self.outputs.sync(&self.carried.outputs)?.then(|| self.carried.to_bytes()))
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
            outputs: OutputKeeper::new(outputs, None),
            disturbed: None,
            carried: Carried::default(),
            costs: CheckpointCosts::default(),
        }
    }

    /// The page records, if the job owns their file.
    pub(super) fn pages(&self) -> io::Result<std::fs::File> {
        self.outputs.files().pages().ok_or(io::ErrorKind::Unsupported)?.handle()
    }

    /// Starts the thread. `written` is the progress of the writer of the page records.
    pub(super) fn start(self, written: &Written) -> io::Result<CheckpointerThread> {
        self.outputs.files().follow_pages(written);
        let stopped = Arc::clone(&self.shared);
        let every = self.options.open.journal.sync.interval();
        let syncing = self.outputs.sync_each(every, move || stopped.abort(FinishReason::StorageFailed))?;
        let thread = KeeperThread::start("checkpointer", move |clock| {
            let shared = Arc::clone(&self.shared);
            self.work(clock).inspect_err(|_| shared.abort(FinishReason::StorageFailed))
        })?;
        Ok(CheckpointerThread { thread, syncing })
    }

    fn work(mut self, clock: &KeeperClock) -> Result<CheckpointCosts, CheckpointError> {
        // Saves options and seeds before the first request.
        self.checkpoint()?;
        let path = SpentFile::path(&self.directory);
        let mut spent = SpentFile::open(&self.directory).map_err(FileError::of("open", &path))?;
        let mut last = Instant::now();
        while clock.goes_on(TICK) {
            let now = self.shared.frontier.clock().now();
            let flushed = self.shared.frontier.with(|frontier| frontier.flush(now)).map_err(io::Error::from);
            flushed.map_err(FileError::of("write", &self.directory))?;
            spent.write(self.shared.spent()).map_err(FileError::of("write", &path))?;
            // Before the disk is full: a full disk would fail in the middle of a write.
            if self.outputs.is_disk_low(Some(&self.directory), self.options.min_free_disk)? {
                self.shared.stop.drain_because(FinishReason::DiskLow);
            }
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
            let saved = self.outputs.files().save(&self.carried.outputs)?;
            self.disturbed = saved.or(self.disturbed.take());
            if self.checkpoint()? {
                self.outputs.files().finish(&self.carried.outputs, true)?;
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
            // Logged before the file is written again, so that the log explains why it is back.
            tracing::warn!("{}/manifest was removed while the crawl runs; it is written again", directory.display());
            manifest.write_again(directory)?;
        }
        if self.disturbed.is_none() {
            self.disturbed = self.outputs.files().disturbed()?;
            if self.disturbed.is_some() {
                self.shared.stop.drain_because(FinishReason::StorageFailed);
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
        self.outputs.files().finish(&self.carried.outputs, false)?;
        Ok(true)
    }
}

impl CheckpointerThread {
    /// Asks for the last checkpoint, and waits until it is written. Blocks.
    pub(super) fn end(self) -> Result<CheckpointCosts, CheckpointError> {
        let costs = self.thread.end();
        self.syncing.map_or(Ok(()), KeeperThread::end).and(costs)
    }
}
