use std::io;
use std::ops::{Deref, DerefMut};

use super::idle::Idle;
use crate::frontier::{Entry, Journal, Record, Settled, Timestamp};
use crate::gate::Position;
use crate::job::journal::{Disk, FileJournal, Storage};

/// The journal of a frontier that [checkpoints](super::Checkpoints) are written of: it knows the hosts that left memory, too.
#[derive(Debug)]
pub struct KeptJournal<S: Storage = Disk> {
    journal: FileJournal<S>,
    idle: Idle,
    /// The frame of a run that was read last.
    buffer: Vec<u8>,
}

impl<S: Storage> KeptJournal<S> {
    pub(super) fn new(journal: FileJournal<S>, idle: Idle) -> Self {
        Self { journal, idle, buffer: Vec::new() }
    }
}

impl<S: Storage> Deref for KeptJournal<S> {
    type Target = FileJournal<S>;

    fn deref(&self) -> &FileJournal<S> {
        &self.journal
    }
}

impl<S: Storage> DerefMut for KeptJournal<S> {
    fn deref_mut(&mut self) -> &mut FileJournal<S> {
        &mut self.journal
    }
}

impl<S: Storage> Journal for KeptJournal<S> {
    fn append(&mut self, entry: Entry<'_>) -> io::Result<Position> {
        self.journal.append(entry)
    }

    fn append_again(&mut self, settled: &Settled<'_>, entry: Entry<'_>) -> io::Result<Position> {
        self.journal.append_again(settled, entry)
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        self.journal.read(position)
    }

    fn note(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        self.journal.note(record)
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        self.journal.rules(position)
    }

    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        Ok(self.idle.find(self.journal.storage(), key, &mut self.buffer)?)
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.journal.flush(now)
    }

    fn expect(&mut self, position: Position) {
        self.journal.expect(position);
    }

    fn memory(&self) -> usize {
        self.journal.memory() + self.idle.memory()
    }
}
