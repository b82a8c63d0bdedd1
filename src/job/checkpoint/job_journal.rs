//! The journal of a frontier that is kept in a job.
//!
//! The frontier asks it for what a journal gives, and for the images of evicted hosts. The checkpoint's writer asks it for the rest: the
//! file, the checkpoints, the lock. So a checkpoint needs only the frontier, whoever owns it.
//!
//! # A URL that is lost
//!
//! The gate remembers a URL before the journal has it. If the journal then fails, the URL is only in the seen set, and a checkpoint would
//! keep it there for ever. So from then on no checkpoint is written. The next process rebuilds the seen set from the last checkpoint and
//! the journal, and the URL passes the gate when it is found again.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::evicted::EvictedHosts;
use super::{Checkpoints, Opening};
use crate::frontier::{Entry, Frontier, Journal, Record, Timestamp};
use crate::gate::{DropRule, Position};
use crate::job::journal::{Disk, FileJournal, Storage};
use crate::job::{Lock, OpenOptions, dropped};

/// The journal of a frontier that is kept in a job, with the job's checkpoints, its evicted hosts and its lock. When it is dropped,
/// another process may take the job.
#[derive(Debug)]
pub struct JobJournal<S: Storage = Disk> {
    pub(super) file: FileJournal<S>,
    /// Held while a checkpoint is written. It is locked before the frontier is, never after.
    pub(super) checkpoints: Arc<Mutex<Checkpoints<S>>>,
    /// The options that each checkpoint follows: how many hosts may stay in memory, whether old segments are removed.
    pub(super) options: OpenOptions,
    /// For the frontier's owner, who truncates the output accordingly.
    opening: Opening,
    /// `None` if the job is only read.
    pub(in crate::job) lock: Option<Arc<Lock>>,
    /// The file that records what the user has dropped; `None` if the job is only read.
    pub(in crate::job) dropped: Option<PathBuf>,
    /// Shared with the checkpoints, which add to them. Read without the checkpoints' lock, since a checkpoint takes long.
    evicted: EvictedHosts,
    /// The last frame of a run that was read.
    buffer: Vec<u8>,
    /// The seen set may hold a URL that the journal lacks.
    pub(super) has_lost: bool,
}

impl<S: Storage> JobJournal<S> {
    /// A journal without a lock: the holder of the job's lock adds it.
    pub(in crate::job) fn new(
        file: FileJournal<S>,
        checkpoints: Checkpoints<S>,
        options: OpenOptions,
        opening: Opening,
    ) -> Self {
        let evicted = checkpoints.evicted.clone();
        let checkpoints = Arc::new(Mutex::new(checkpoints));
        Self {
            file,
            checkpoints,
            options,
            opening,
            lock: None,
            dropped: None,
            evicted,
            buffer: Vec::new(),
            has_lost: false,
        }
    }

    /// What was found when the frontier was opened.
    pub(crate) fn opening(&self) -> &Opening {
        &self.opening
    }

    /// What was found when the frontier was opened; releases the job.
    pub(in crate::job) fn into_opening(self) -> Opening {
        self.opening
    }

    /// The position of the next record.
    pub(crate) fn end(&self) -> Position {
        self.file.end()
    }

    /// Reports everything that is written from here on to `tap`.
    #[cfg(feature = "cluster")]
    pub(crate) fn tell(&mut self, tap: Arc<dyn crate::job::journal::JournalObserver>) {
        self.file.tap = Some(tap);
    }

    /// The checkpoints. Lock them before the frontier, never after.
    #[cfg(feature = "cluster")]
    pub(crate) fn checkpoints(&self) -> Arc<Mutex<Checkpoints<S>>> {
        Arc::clone(&self.checkpoints)
    }

    /// Syncs everything appended so far: once this returns, it is safe from a power cut.
    ///
    /// # Errors
    /// If the storage fails.
    #[cfg(feature = "crawl")]
    pub(crate) fn sync(&mut self) -> Result<(), super::CheckpointError> {
        Ok(self.file.sync()?)
    }
}

impl<S: Storage> Frontier<JobJournal<S>> {
    /// What was found when the frontier was opened.
    pub fn opening(&self) -> &Opening {
        self.journal().opening()
    }
}

#[expect(private_interfaces, reason = "as the trait has it")]
impl<S: Storage> Journal for JobJournal<S> {
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        // The gate has remembered the admitted URL, and would refuse it when it is found again.
        self.file.append(record).inspect_err(|_| self.has_lost |= matches!(record, Record::Admitted(_)))
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.file.read(position)
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        self.file.rules(position)
    }

    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        // A URL whose host cannot be read is not appended.
        let Self { file, evicted, buffer, has_lost, .. } = self;
        Ok(evicted.find(file.storage(), key, buffer).inspect_err(|_| *has_lost = true)?)
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.file.flush(now)
    }

    fn flush_due(&mut self, now: Timestamp) -> io::Result<Option<Timestamp>> {
        self.file.flush_due(now)
    }

    fn keep_dropped(&mut self, rules: &[DropRule]) -> io::Result<()> {
        self.dropped.as_ref().map_or(Ok(()), |path| dropped::write(path, rules))
    }

    fn memory(&self) -> usize {
        self.file.memory() + self.evicted.memory()
    }
}
