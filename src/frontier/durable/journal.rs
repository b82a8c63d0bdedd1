//! The questions that a frontier puts to its journal.

use std::io;

use super::{Entry, Record};
use crate::frontier::Timestamp;
use crate::gate::{DropRule, Position};

/// The append-only record of a crawl: queues hold positions in it, never texts.
///
/// A frontier lives [in memory](crate::frontier::Frontier::new), over an [`Arena`](super::Arena), or [in a
/// job](crate::frontier::Frontier::open). This trait is for bounds alone: no other crate can implement it, since what its methods
/// take cannot be named there, and a frontier relies on more than a signature can say.
#[expect(private_interfaces, reason = "so nobody outside can implement it")]
pub trait Journal {
    /// Appends a record and says where it stands. Each entry has a place; `None` for any other record where the journal keeps none: in
    /// memory, since all but entries serve to make a frontier again.
    ///
    /// A journal that outlives its process keeps a record or nothing of it. One that has both how a lease came back and the entry that
    /// takes the page's place ([`Record::Again`]) is never kept by halves: else a crash would leave a page that is never asked for
    /// again, or twice.
    ///
    /// # Errors
    /// If the storage fails; nothing was appended then.
    #[doc(hidden)]
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>>;

    /// The entry at a position that [`append`](Self::append) gave for one.
    ///
    /// # Errors
    /// If the storage fails; [`InvalidInput`](io::ErrorKind::InvalidInput) where no entry stands there.
    #[doc(hidden)]
    fn read(&mut self, position: Position) -> io::Result<Entry<'_>>;

    /// The rules of a robots.txt, by the position that [`append`](Self::append) gave; `None` where they went with an old part of the
    /// journal.
    ///
    /// # Errors
    /// If the storage fails.
    #[doc(hidden)]
    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        let _ = position;
        Ok(None)
    }

    /// The newest image of an evicted host; `None` for a host that was never evicted. One that came back since is not asked for: it is
    /// in memory.
    ///
    /// # Errors
    /// If the storage fails.
    #[doc(hidden)]
    fn host(&mut self, key: &str) -> io::Result<Option<&[u8]>> {
        let _ = key;
        Ok(None)
    }

    /// The end of a batch: hands what was appended to whatever keeps it. Nothing, in memory.
    ///
    /// # Errors
    /// If the storage fails; what was appended is still there, and is handed over by the next call that succeeds.
    #[doc(hidden)]
    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        let _ = now;
        Ok(())
    }

    /// Hands over what was appended, as [`flush`](Self::flush) does, once it is enough or has waited for long enough. Says when this is
    /// to be called next; `None` where nothing waits. Nothing waits in memory.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    #[doc(hidden)]
    fn flush_due(&mut self, now: Timestamp) -> io::Result<Option<Timestamp>> {
        let _ = now;
        Ok(None)
    }

    /// Prefetches an entry that will be read soon. A hint: nothing is promised of it.
    #[doc(hidden)]
    fn prefetch(&mut self, position: Position) {
        let _ = position;
    }

    /// Keeps what the user has dropped, where it outlives this process.
    ///
    /// # Errors
    /// If the storage fails; what was kept before is kept still.
    #[doc(hidden)]
    fn keep_dropped(&mut self, rules: &[DropRule]) -> io::Result<()> {
        let _ = rules;
        Ok(())
    }

    /// Bytes of memory held.
    #[doc(hidden)]
    fn memory(&self) -> usize;
}

/// The wire URL of an entry; `None` where there is none: a [`Found`](crate::gate::Found) says what its maker pleases.
pub(crate) fn read_wire(journal: &mut impl Journal, position: Position) -> io::Result<Option<&str>> {
    match journal.read(position) {
        Ok(entry) => Ok(Some(entry.wire)),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}
