//! The journal of a frontier that is kept in a job.

use std::io;
use std::sync::{Arc, Mutex};

use super::evicted::Idle;
use super::{Checkpoints, Opening};
use crate::frontier::{Entry, Journal, Record, Sealed, Settled, Timestamp};
use crate::gate::Position;
use crate::job::journal::{Disk, FileJournal, Storage};
use crate::job::{Lock, OpenOptions};

/// The journal of a frontier that is kept in a job, with the job's checkpoints, its evicted hosts and its lock. Dropped, it lets
/// the next process in.
#[derive(Debug)]
pub struct JobJournal<S: Storage = Disk> {
    pub(super) file: FileJournal<S>,
    /// One checkpoint is written at a time. Whoever waits for this lock has not locked the frontier.
    pub(super) checkpoints: Arc<Mutex<Checkpoints<S>>>,
    pub(super) options: OpenOptions,
    opening: Opening,
    /// `None` where the job is only read.
    pub(in crate::job) lock: Option<Arc<Lock>>,
    idle: Idle,
    /// The frame of a run that was read last.
    buffer: Vec<u8>,
    /// The seen set may have a URL that the journal has not.
    pub(super) has_lost: bool,
}

impl<S: Storage> JobJournal<S> {
    pub(in crate::job) fn new(
        file: FileJournal<S>,
        checkpoints: Checkpoints<S>,
        options: OpenOptions,
        opening: Opening,
    ) -> Self {
        let idle = checkpoints.idle.clone();
        let checkpoints = Arc::new(Mutex::new(checkpoints));
        Self { file, checkpoints, options, opening, lock: None, idle, buffer: Vec::new(), has_lost: false }
    }

    /// What was found when the frontier was opened.
    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    pub(in crate::job) fn into_opening(self) -> Opening {
        self.opening
    }

    /// Where the next record will stand.
    pub fn end(&self) -> Position {
        self.file.end()
    }

    /// Returns once a power cut cannot take what was appended.
    ///
    /// # Errors
    /// Where the storage fails.
    #[cfg(feature = "crawl")]
    pub(crate) fn sync(&mut self) -> Result<(), super::CheckpointError> {
        Ok(self.file.sync()?)
    }
}

impl<S: Storage> Sealed for JobJournal<S> {}

impl<S: Storage> Journal for JobJournal<S> {
    fn append(&mut self, entry: Entry<'_>) -> io::Result<Position> {
        // The gate has remembered the URL, and would refuse it when it is found again.
        self.file.append(entry).inspect_err(|_| self.has_lost = true)
    }

    fn append_again(&mut self, settled: &Settled<'_>, entry: Entry<'_>) -> io::Result<Position> {
        self.file.append_again(settled, entry)
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.file.read(position)
    }

    fn note(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        self.file.note(record)
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        self.file.rules(position)
    }

    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        // Without its host, a URL cannot be appended.
        let Self { file, idle, buffer, has_lost, .. } = self;
        Ok(idle.find(file.storage(), key, buffer).inspect_err(|_| *has_lost = true)?)
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.file.flush(now)
    }

    fn expect(&mut self, position: Position) {
        self.file.expect(position);
    }

    fn memory(&self) -> usize {
        self.file.memory() + self.idle.memory()
    }
}
