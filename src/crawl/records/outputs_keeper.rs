//! Maintains the output files that the partitions of a crawl share; each partition has its own checkpoints.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{io, thread};

use super::bodies::Bodies;
use super::output_files::OutputFiles;
use super::outputs::OutputEnds;
use super::writer::WriterThread;
use crate::crawl::bounds::free_space;
use crate::crawl::lock::lock;
use crate::crawl::{FinishReason, JobOptions, Stop};
use crate::job::FileError;
use crate::job::checkpoint::CheckpointError;

/// How often it checks files and disk space.
const TICK: Duration = Duration::from_secs(1);

/// Syncs the outputs as often as a journal is synced, or, if it never is, as often as a job has checkpoints. Gives complete files of a
/// series their final names. Stops the crawl before a disk is full, or if another program has changed its files.
#[derive(Debug)]
pub(crate) struct OutputsKeeper {
    files: OutputFiles,
    ends: Arc<Mutex<OutputEnds>>,
    bodies: Option<Arc<Bodies>>,
    threads: Vec<WriterThread>,
}

/// A running keeper.
#[derive(Debug)]
pub(crate) struct KeeperThread {
    /// Dropping it ends the thread.
    end: mpsc::Sender<()>,
    thread: JoinHandle<Result<(), CheckpointError>>,
}

impl OutputsKeeper {
    pub(super) fn new(
        files: OutputFiles,
        ends: Arc<Mutex<OutputEnds>>,
        bodies: Option<Arc<Bodies>>,
        threads: Vec<WriterThread>,
    ) -> Self {
        Self { files, ends, bodies, threads }
    }

    /// Starts it. If it cannot go on, it stops the crawl.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub(crate) fn start(self, options: JobOptions, stop: Stop) -> io::Result<KeeperThread> {
        let (end, ended) = mpsc::channel();
        let work =
            move || self.work(&options, &stop, &ended).inspect_err(|_| stop.drain_because(FinishReason::SinkFailed));
        let thread = thread::Builder::new().name("outputs".to_owned()).spawn(work)?;
        Ok(KeeperThread { end, thread })
    }

    fn work(mut self, options: &JobOptions, stop: &Stop, ended: &mpsc::Receiver<()>) -> Result<(), CheckpointError> {
        let sync_every = options.open.journal.sync.interval().unwrap_or(options.checkpoint_interval);
        let tick = sync_every.min(TICK);
        let (mut looked, mut synced) = (Instant::now(), Instant::now());
        while ended.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
            if synced.elapsed() >= sync_every {
                self.sync(false)?;
                synced = Instant::now();
            }
            if looked.elapsed() < TICK {
                continue;
            }
            looked = Instant::now();
            if let Some(error) = self.files.disturbed()? {
                return Err(error);
            }
            if let Some(directory) = self.bodies.as_ref().map(|bodies| bodies.directory()) {
                let free = free_space(directory).map_err(FileError::of("measure", directory))?;
                if free.is_some_and(|free| free < options.min_free_disk) {
                    stop.drain_because(FinishReason::DiskLow);
                }
            }
        }
        // All writers are dropped by now, and everything they had is written.
        for thread in std::mem::take(&mut self.threads) {
            thread.join().map_err(FileError::of("write", Path::new("the outputs")))?;
        }
        self.sync(true)
    }

    fn sync(&mut self, is_over: bool) -> Result<(), CheckpointError> {
        if let Some(bodies) = &self.bodies {
            bodies.sync().map_err(FileError::of("sync", bodies.directory()))?;
        }
        let ends = lock(&self.ends).clone();
        if self.files.sync(&ends)? { self.files.finish(&ends, is_over) } else { Ok(()) }
    }
}

impl KeeperThread {
    /// Waits until everything is written and synced. All users of the outputs must be gone. Blocks.
    ///
    /// # Errors
    /// If a write failed, or a file is not what was written to it.
    pub(crate) fn end(self) -> Result<(), CheckpointError> {
        drop(self.end);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
