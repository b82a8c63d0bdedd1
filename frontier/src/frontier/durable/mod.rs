//! What a frontier writes to its journal and to checkpoints, and is rebuilt from.
//!
//! A [`Record`] goes to the [`Journal`] before it changes the state. An *image* is one host as bytes, in a checkpoint; [`Counts`] are the
//! sums of one moment, for a checkpoint. [`Receipt`]s tie a page that is done to its bytes in each output.
//!
//! There are two kinds of storage: an [`Arena`] in memory, which keeps only entries, and a job's journal on disk. A frontier cannot tell
//! them apart: positions grow, an entry can be read while its URL waits, and an append either takes effect or fails with an error.
//!
//! The bytes of an entry and of a host are laid out here, for both kinds of storage; those of a piece of the schedule in
//! `queues::schedule`. Frames, checksums and files belong to the job. A number is a varint. A position is mostly the step from the previous
//! one, since URLs that wait together were found together.
//!
//! Here is the journal, as a trait and in memory. `record` has records, receipts, rounds of rules and counts. `entry` is an admission and
//! its bytes, `moves` URLs that get other priorities, `image` the bytes of a host.

pub(crate) mod entry;
pub(crate) mod image;
pub(crate) mod moves;
pub(crate) mod record;

use std::collections::HashMap;
use std::hint::black_box;
use std::io;

use crate::bytes::Fields;
use crate::frontier::Timestamp;
use crate::gate::{DropRule, Position};

pub(crate) use entry::Entry;
pub(crate) use image::{IdleHost, InvalidChunk, idle_hosts, needed, waiting};
pub(crate) use moves::{Moves, MovesBuf, Scores, ScoresBuf};
pub(crate) use record::Receipt;
pub(crate) use record::{
    AnsweredRecord, Aside, AsideRecord, Counts, DisallowedRecord, DueRecord, HostRecord, LentRecord, MovedRecord,
    Receipts, ReceiptsBuf, Record, RobotsRecord, RuleRound, Settled,
};

/// Implemented for the journals of this crate alone.
pub trait OwnJournal {}

/// The append-only record of a crawl: queues hold positions in it, never texts.
///
/// A frontier lives [in memory](crate::frontier::Frontier::new), over an [`Arena`], or [in a job](crate::frontier::Frontier::open). This
/// trait is only for bounds: no other crate can implement it, since a frontier relies on more than a signature can say.
pub trait Journal: OwnJournal {
    /// Appends a record and returns its position. Each entry has one; `None` for any other record if the journal keeps only entries, as it
    /// does in memory, since the others serve to rebuild a frontier.
    ///
    /// A journal that outlives its process keeps a record whole or not at all. [`Record::Again`] relies on it, a record of both a returned
    /// lease and the entry that takes the page's place: if half of it were kept, the page would never be fetched again, or would be fetched
    /// twice.
    ///
    /// # Errors
    /// If the storage fails; nothing was appended then.
    #[doc(hidden)]
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>>;

    /// Begins a group: a journal that outlives its process keeps what is appended up to [`end_group`](Self::end_group) as a whole or not at
    /// all, but for a group of more than 1 MiB, which it keeps as several. The caller flushes nothing before the end.
    #[doc(hidden)]
    fn begin_group(&mut self) {}

    /// Ends the group.
    #[doc(hidden)]
    fn end_group(&mut self) {}

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

    /// The newest image of an evicted host; `None` for a host that was never evicted. It is not called for a host in memory.
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

    /// The metadata of the entry at this position, of this length, is no longer needed: its URL is done, dropped, or has another entry.
    #[doc(hidden)]
    fn release(&mut self, position: Position, bytes: usize) {
        let _ = (position, bytes);
    }

    /// Bytes of metadata held in memory; none if they are on disk.
    #[doc(hidden)]
    fn held(&self) -> u64 {
        0
    }

    /// Bytes of memory held.
    #[doc(hidden)]
    fn memory(&self) -> usize;
}

/// The wire URL of an entry; `None` if there is no entry at this position. The positions in a [`Found`](crate::gate::Found) come from its
/// maker, and are not checked.
pub(crate) fn read_wire(journal: &mut impl Journal, position: Position) -> io::Result<Option<&str>> {
    match journal.read(position) {
        Ok(entry) => Ok(Some(entry.wire)),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

/// Bytes in a chunk; growing allocates one chunk and copies nothing.
const CHUNK: usize = 1 << 20;

/// The journal in memory: chunks of one MiB, an 85-byte URL at about 94 bytes.
///
/// It keeps only entries. All other records serve to rebuild a frontier, and a frontier in memory ends with its process. A URL is never
/// freed, since a report may ask for the text of a page's referrer at any time. Metadata is beside the chunks, and is freed once its URL
/// is done: it may be much longer than a URL.
///
/// A position is a chunk's number and a place in the chunk. No entry straddles two chunks; an entry that is too long for a chunk gets its
/// own.
#[derive(Debug, Default)]
pub struct Arena {
    chunks: Vec<Vec<u8>>,
    /// Bytes of all chunks, used or not.
    memory: usize,
    /// The metadata of URLs that have any, by their entries' positions.
    metadata: HashMap<u64, Box<[u8]>>,
    /// Bytes of all metadata.
    held: u64,
}

impl OwnJournal for Arena {}

impl Journal for Arena {
    /// Cannot fail. Inlined, so that a record that is not kept costs nothing.
    #[inline]
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        Ok(match record {
            Record::Admitted(entry) | Record::Again { entry, .. } => Some(self.push(*entry)),
            _ => None,
        })
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        let metadata = self.metadata.get(&position.to_u64()).map_or(&[][..], |bytes| bytes);
        self.entry(position.to_u64()).map(|entry| Entry { metadata, ..entry }).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("no journal entry at {}", position.to_u64()))
        })
    }

    /// Reads a byte of each cache line, so that they are loaded while other things are done.
    fn prefetch(&mut self, position: Position) {
        let at = usize::try_from(position.to_u64()).unwrap_or(usize::MAX);
        if let Some(chunk) = self.chunks.get(at / CHUNK) {
            black_box([0, 64].map(|line| chunk.get(at % CHUNK + line).copied()));
        }
    }

    fn release(&mut self, position: Position, _: usize) {
        if let Some(metadata) = self.metadata.remove(&position.to_u64()) {
            self.held -= metadata.len() as u64;
        }
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn memory(&self) -> usize {
        let metadata = self.metadata.capacity() * size_of::<(u64, Box<[u8]>)>();
        self.memory + metadata + usize::try_from(self.held).unwrap_or(usize::MAX)
    }
}

impl Arena {
    /// Appends an entry. If it may not fit into the last chunk, begins a new one: a chunk never moves.
    fn push(&mut self, entry: Entry<'_>) -> Position {
        let Entry { metadata, .. } = entry;
        let entry = Entry { metadata: &[], ..entry };
        let needed = entry.longest();
        let is_full = |chunk: &Vec<u8>| chunk.len() >= CHUNK || chunk.capacity() - chunk.len() < needed;
        if self.chunks.last().is_none_or(is_full) {
            let chunk = Vec::with_capacity(needed.max(CHUNK));
            self.memory += chunk.capacity();
            self.chunks.push(chunk);
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let position = Position::from_u64((number * CHUNK + chunk.len()) as u64);
        entry.write(position, chunk);
        if !metadata.is_empty() {
            self.held += metadata.len() as u64;
            self.metadata.insert(position.to_u64(), metadata.into());
        }
        position
    }

    /// The entry at a position; `None` if the bytes there are not an entry.
    fn entry(&self, position: u64) -> Option<Entry<'_>> {
        let at = usize::try_from(position).ok()?;
        let bytes = self.chunks.get(at / CHUNK)?.get(at % CHUNK..)?;
        Entry::read(&mut Fields::of(bytes), Position::from_u64(position)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Identity;
    use crate::frontier::Timestamp;
    use crate::gate::{SeenTest, Via};

    #[test]
    fn entries_survive_on_both_sides_of_a_chunk_and_nothing_else_is_one() {
        let mut arena = Arena::default();
        let mut written = Vec::new();
        let mut bytes = 0;
        for number in 0..40_000u32 {
            // Now and then an entry longer than a chunk.
            let length = if number % 15_000 == 7 { 2 * CHUNK } else { 60 + number as usize % 50 };
            let wire = format!("https://a.example/{number}/{}", "x".repeat(length - 24));
            let before = |at: u32| written.get(at as usize).map(|&(position, _)| position);
            let referrer = before(number / 2);
            let replaces = before(number / 3).filter(|_| number % 16 == 3);
            let via = [Via::Seed, Via::Link, Via::Redirect, Via::Sitemap, Via::Listed, Via::Feed][number as usize % 6];
            let [priority, redirects, ..] = number.to_le_bytes();
            let depth = number.wrapping_mul(number);
            let not_before = (number % 5 == 2).then_some(Timestamp::from_micros(u64::from(number) << 40));
            let attempts = if number % 7 == 3 { priority } else { 0 };
            let metadata = if number % 11 == 5 { &[redirects; 300][..usize::from(priority)] } else { &[] };
            let own = [priority; 64];
            let identity = Identity::new(&own[..number as usize % 65]).ok().filter(|_| number % 13 == 6);
            let seen_test = [SeenTest::Asked, SeenTest::Told, SeenTest::Skipped][number as usize / 7 % 3];
            let blank = Entry {
                wire: &wire,
                depth,
                priority,
                via,
                redirects,
                attempts,
                referrer,
                replaces,
                not_before,
                metadata,
                identity,
                seen_test,
                queue: (number % 23 == 9).then_some(["@a", "@an account"][number as usize % 2]),
                after: (number % 17 == 4).then_some(u16::from(priority) << 8),
                score: if number % 19 == 3 { i64::MIN >> (number % 60) } else { priority.into() },
            };
            let position = arena.append(&Record::Admitted(blank)).unwrap().unwrap();
            assert!(written.last().is_none_or(|&(before, _)| before < position));
            bytes += wire.len() + metadata.len();
            let metadata = metadata.to_vec();
            bytes += identity.map_or(0, |identity| identity.bytes().len());
            bytes += blank.queue.map_or(0, str::len);
            let queue = blank.queue.map(str::to_owned);
            let own = (identity.map(Identity::to_buf), seen_test, queue, blank.after, blank.score);
            let more = (referrer, replaces, not_before, metadata, own);
            written.push((position, (wire, depth, priority, via, redirects, attempts, more)));
        }
        for (position, (wire, depth, priority, via, redirects, attempts, more)) in &written {
            let entry = arena.read(*position).unwrap();
            assert_eq!((entry.wire, entry.depth, entry.priority), (&**wire, *depth, *priority));
            assert_eq!((entry.via, entry.redirects, entry.attempts), (*via, *redirects, *attempts));
            let metadata = entry.metadata.to_vec();
            let queue = entry.queue.map(str::to_owned);
            let own = (entry.identity.map(Identity::to_buf), entry.seen_test, queue, entry.after, entry.score);
            assert_eq!((entry.referrer, entry.replaces, entry.not_before, metadata, own), *more);
        }
        // Each of the three long entries leaves the end of a chunk unused, and the last chunk is not full yet.
        assert!(arena.memory() < bytes + 15 * written.len() + 4 * CHUNK, "{}", arena.memory() - bytes);
        for position in (0..5 * CHUNK as u64).step_by(97).chain([u64::MAX]) {
            // Whatever bytes are in the middle of an entry, this does not panic.
            let _ = arena.read(Position::from_u64(position));
            arena.prefetch(Position::from_u64(position));
        }
        assert!(arena.read(Position::from_u64(1 << 40)).is_err());
    }

    #[test]
    fn flags_and_queues_that_cannot_be_are_told() {
        let entry = Entry { queue: Some("@a"), ..Entry::seed("http://a/") };
        let mut bytes = Vec::new();
        entry.write(Position::from_u64(0), &mut bytes);
        let key = bytes.iter().position(|byte| *byte == b'@').unwrap();
        let flags = "unknown flags";
        for (at, byte, what) in [(0, 0x87, flags), (3, 0x84, flags), (3, 0x1c, flags), (key, b'b', "no key of a queue")]
        {
            let before = std::mem::replace(&mut bytes[at], byte);
            assert_eq!(Entry::read(&mut Fields::of(&bytes), Position::from_u64(0)), Err(what));
            bytes[at] = before;
        }
        assert_eq!(Entry::read(&mut Fields::of(&bytes), Position::from_u64(0)), Ok(entry));
    }
}
