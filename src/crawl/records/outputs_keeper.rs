//! Who keeps the files of outputs that the parts of a crawl share, beside the parts' own checkpoints.

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

/// How often it looks at files and disk.
const TICK: Duration = Duration::from_secs(1);

/// Syncs what was written as often as a journal is synced, or where that never is, as often as a job has checkpoints; gives files of a series that are whole their names, and stops the crawl
/// before a disk is full, or where another program has changed its files.
#[derive(Debug)]
pub(crate) struct OutputsKeeper {
    files: OutputFiles,
    ends: Arc<Mutex<OutputEnds>>,
    bodies: Option<Arc<Bodies>>,
    threads: Vec<WriterThread>,
}

/// One at work.
#[derive(Debug)]
pub(crate) struct KeeperThread {
    /// Dropped, it ends the thread.
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

    /// Starts it. Where it cannot go on, it stops the crawl.
    ///
    /// # Errors
    /// Where the thread cannot be started.
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
        // All writers are gone by now, and what they had is written.
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
    /// Waits until all is written and safe. Nobody may have the outputs any more. Blocks.
    ///
    /// # Errors
    /// Where a write failed, or a file is not what was written to it.
    pub(crate) fn end(self) -> Result<(), CheckpointError> {
        drop(self.end);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
