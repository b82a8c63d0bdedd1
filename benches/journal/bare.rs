//! A journal without a frontier, in memory or on disk. Panics where its storage fails.

use std::path::Path;

use crawler_frontier::driver::{Arena, Entry, FileJournal, Record};
use crawler_frontier::frontier::{Journal, Timestamp};
use crawler_frontier::gate::{Position, Via};
use crawler_frontier::job::journal::{Disk, JournalOptions};

/// Where its records go.
#[derive(Debug)]
pub(crate) struct BareJournal(Kept);

#[derive(Debug)]
enum Kept {
    InMemory(Arena),
    OnDisk(Box<FileJournal>),
}

impl BareJournal {
    /// In memory.
    pub(crate) fn in_memory() -> Self {
        Self(Kept::InMemory(Arena::default()))
    }

    /// In a directory; says how many records were replayed.
    pub(crate) fn on_disk(directory: &Path, options: &JournalOptions) -> (Self, u64) {
        let disk = Disk::at(directory).expect("a directory");
        let opened = FileJournal::open(disk, 1, options, Position::default(), |_, _| {});
        let (journal, found) = opened.expect("a journal");
        (Self(Kept::OnDisk(Box::new(journal))), found.records)
    }

    /// Appends a link.
    pub(crate) fn append(&mut self, wire: &str) -> Position {
        let record = Record::Admitted(Entry { depth: 3, priority: 3, score: 3, via: Via::Link, ..Entry::seed(wire) });
        let appended = match &mut self.0 {
            Kept::InMemory(journal) => journal.append(&record),
            Kept::OnDisk(journal) => journal.append(&record),
        };
        appended.expect("room").expect("the place of an entry")
    }

    /// The end of a batch.
    pub(crate) fn flush(&mut self, now: Timestamp) {
        let flushed = match &mut self.0 {
            Kept::InMemory(journal) => journal.flush(now),
            Kept::OnDisk(journal) => journal.flush(now),
        };
        flushed.expect("room");
    }

    /// The wire URL at a position.
    pub(crate) fn read(&mut self, position: Position) -> &str {
        let entry = match &mut self.0 {
            Kept::InMemory(journal) => journal.read(position),
            Kept::OnDisk(journal) => journal.read(position),
        };
        entry.expect("an entry").wire
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        match &self.0 {
            Kept::InMemory(journal) => journal.memory(),
            Kept::OnDisk(journal) => journal.memory(),
        }
    }
}
