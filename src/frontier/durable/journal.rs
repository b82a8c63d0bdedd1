//! What a frontier needs of its journal.

use std::io;

use super::{Entry, Record};
use crate::frontier::Timestamp;
use crate::gate::{DropRule, Position};

/// The append-only record of a crawl: queues hold positions in it, never texts.
///
/// A frontier lives [in memory](crate::frontier::Frontier::new), over an [`Arena`](super::Arena), or [in a
/// job](crate::frontier::Frontier::open). This trait is only for bounds: no other crate can implement it, since the types that its methods
/// take cannot be named there, and a frontier relies on more than a signature can say.
#[expect(private_interfaces, reason = "so nobody outside can implement it")]
pub trait Journal {
    /// Appends a record and returns its position. Each entry has one; `None` for any other record if the journal keeps only entries, as it
    /// does in memory, since the others serve to rebuild a frontier.
    ///
    /// A journal that outlives its process keeps a record whole or not at all. So a record of both a returned lease and the entry that
    /// takes the page's place ([`Record::Again`]) is never kept by half: otherwise a crash could leave a page that is never fetched again,
    /// or fetched twice.
    ///
    /// # Errors
    /// If the storage fails; nothing was appended then.
    #[doc(hidden)]
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>>;

    /// The entry at a position that [`append`](Self::append) returned for one.
    ///
    /// # Errors
    /// If the storage fails; [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no entry at the position.
    #[doc(hidden)]
    fn read(&mut self, position: Position) -> io::Result<Entry<'_>>;

    /// The rules of a robots.txt, by the position that [`append`](Self::append) returned; `None` if they were removed with an old part of
    /// the journal.
    ///
    /// # Errors
    /// If the storage fails.
    #[doc(hidden)]
    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        let _ = position;
        Ok(None)
    }

    /// The newest image of an evicted host; `None` for a host that was never evicted. It is not called for a host that has come back: that
    /// is in memory.
    ///
    /// # Errors
    /// If the storage fails.
    #[doc(hidden)]
    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        let _ = key;
        Ok(None)
    }

    /// Ends a batch: hands appended records to the storage. Does nothing in memory.
    ///
    /// # Errors
    /// If the storage fails; the records are kept, and the next call that succeeds hands them over.
    #[doc(hidden)]
    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        let _ = now;
        Ok(())
    }

    /// Does what [`flush`](Self::flush) does, once the records are many or have waited long enough. Returns when to call this next; `None`
    /// if nothing waits, as always in memory.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    #[doc(hidden)]
    fn flush_due(&mut self, now: Timestamp) -> io::Result<Option<Timestamp>> {
        let _ = now;
        Ok(None)
    }

    /// Prefetches an entry that will be read soon. Only a hint.
    #[doc(hidden)]
    fn prefetch(&mut self, position: Position) {
        let _ = position;
    }

    /// Stores the user's drop rules, if the journal outlives this process.
    ///
    /// # Errors
    /// If the storage fails; the rules stored before are kept.
    #[doc(hidden)]
    fn keep_dropped(&mut self, rules: &[DropRule]) -> io::Result<()> {
        let _ = rules;
        Ok(())
    }

    /// Bytes of memory held.
    #[doc(hidden)]
    fn memory(&self) -> usize;
}

/// The wire URL of an entry; `None` if there is no entry: the positions in a [`Found`](crate::gate::Found) come from its maker, unchecked.
pub(crate) fn read_wire(journal: &mut impl Journal, position: Position) -> io::Result<Option<&str>> {
    match journal.read(position) {
        Ok(entry) => Ok(Some(entry.wire)),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}
