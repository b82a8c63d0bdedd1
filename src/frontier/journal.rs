use std::io;

use super::{Timestamp, Via};

/// Where an entry stands in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// From a number that was a position before.
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// The number, for storage.
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}

/// One admission, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The wire URL.
    pub wire: &'a str,
    /// Links from a seed.
    pub depth: u32,
    /// Its front queue.
    pub priority: u8,
    /// How it was found.
    pub via: Via,
    /// Redirects in a row that led here.
    pub redirects: u8,
    /// The entry of the page it was found on.
    pub referrer: Option<Position>,
}

/// The append-only record of admissions (D10): queues hold positions in it, never texts.
pub trait Journal {
    /// Appends an admission and says where it stands.
    ///
    /// # Errors
    /// Where the storage fails; nothing was appended then.
    fn append(&mut self, entry: Entry<'_>) -> io::Result<Position>;

    /// The entry at a position that [`append`](Self::append) gave.
    ///
    /// # Errors
    /// Where the storage fails; [`InvalidInput`](io::ErrorKind::InvalidInput) where no entry stands there.
    fn read(&mut self, position: Position) -> io::Result<Entry<'_>>;

    /// The end of a batch: hands what was appended to whatever keeps it. Nothing, in memory.
    ///
    /// # Errors
    /// Where the storage fails; what was appended is still there, and is handed over by the next call that succeeds.
    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        let _ = now;
        Ok(())
    }

    /// The entry at this position will be read soon: a hint, to fetch it ahead where that takes time.
    fn expect(&mut self, position: Position) {
        let _ = position;
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize;
}
