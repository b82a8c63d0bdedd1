//! Segments, the files of the journal: their names, headers and places among the positions, and the parts of them that are kept in memory.
//!
//! A segment's header takes up positions too. So a record's place in its file is its position minus the segment's start, and no
//! table is needed to find it.
//!
//! # Reading single records
//!
//! [`Blocks`] is a cache of the blocks that were read last. The links of one page are next to each other in the journal, mostly wait for
//! the same host, and name the same referrer. So the block that one lease reads usually holds the entries that the next leases of its host
//! read.
//!
//! The cache has 256 sets of four blocks. A block's position decides which set it is in. Within a set, the most recently used block comes
//! first, and the last one is evicted. A lookup takes at most four comparisons. Records that were written lately are read from the
//! [`Tail`](super::file::Tail) instead.
//!
//! A frame usually lies in one block and is read in place. One that reaches into the next block is put together in a separate buffer.
//!
//! # Reading from one end to the other
//!
//! [`Window`] is the part of a segment that was read last. One read of the storage yields about 1 MiB of frames. A frame that reaches
//! beyond the window is read again from its beginning, along with the frames after it. So a record is always in one piece, and at most one
//! frame per window is read twice.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::frame::{Frame, HEAD};
use super::{JournalError, Storage};
use crate::bytes::{FileError, Header};
use crate::gate::Position;

/// Bytes of a segment's header.
pub(super) const HEADER: usize = Header::SIZE;
/// The format that is written here, and the latest that is read.
const VERSION: u32 = 3;
/// The beginning of a segment's name; the position of its first byte follows.
const PREFIX: &str = "journal-";

/// One of the journal's files.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) name: String,
    /// The position of its first byte.
    pub(super) start: u64,
    /// The position after its last byte in the storage; of a compacted segment, where it ended before it was compacted.
    pub(super) end: u64,
}

impl Segment {
    /// The segment of `length` bytes that starts at this position. A forged length saturates.
    pub(super) fn new(start: u64, length: u64) -> Self {
        Self { name: format!("{PREFIX}{start:012x}"), start, end: start.saturating_add(length) }
    }

    /// The segment that starts at this position, as long as its file is.
    pub(super) fn open(storage: &mut impl Storage, start: u64) -> Result<Self, FileError> {
        let name = Self::new(start, 0).name;
        let length = storage.length(&name).map_err(FileError::of("open", storage.path(&name)))?;
        Ok(Self::new(start, length))
    }

    /// The positions at which the segments in a storage start, ascending.
    pub(super) fn starts(storage: &mut impl Storage) -> Result<Vec<u64>, FileError> {
        let names = storage.list().map_err(FileError::of("list", storage.path("")))?;
        let mut starts: Vec<u64> = names.iter().filter_map(|name| Self::start_of(name)).collect();
        starts.sort_unstable();
        Ok(starts)
    }

    /// The length of its file, unless that was compacted.
    pub(super) fn length(&self) -> u64 {
        self.end - self.start
    }

    /// The positions that it holds.
    pub(super) fn range(&self) -> Range<Position> {
        Position::from_u64(self.start)..Position::from_u64(self.end)
    }

    /// The position at which a segment of this name starts; `None` for the name of another file.
    pub(super) fn start_of(name: &str) -> Option<u64> {
        let start = u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()?;
        (Self::new(start, 0).name == name).then_some(start)
    }

    /// The header of its file.
    pub(super) fn header(&self, job: u64) -> [u8; HEADER] {
        self.header_of(job).to_bytes()
    }

    /// Checks that these bytes, the beginning of the file at `path`, are its header.
    pub(super) fn check(&self, bytes: &[u8], job: u64, path: &Path) -> Result<(), FileError> {
        self.header_of(job).check(bytes, path)
    }

    /// The header names the job and the position, so that a segment of another place or another job is refused.
    fn header_of(&self, job: u64) -> Header {
        Header { magic: *b"journal\n", version: VERSION, job, number: self.start }
    }
}

/// Whether the journal has been begun: it has a segment with more than its header.
///
/// No segment stays open: the opening replaces the last one through another storage, and this one would go on reading the old file.
pub(in crate::job) fn is_begun(storage: &mut impl Storage) -> Result<bool, JournalError> {
    for start in Segment::starts(storage)? {
        let segment = Segment::open(storage, start)?;
        storage.close(&segment.name);
        if segment.length() > HEADER as u64 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Bytes of a block: a page of the operating system's cache. A larger block takes longer to read, which matters when nothing else in it
/// is needed.
const BLOCK: usize = 4096;
/// Sets of blocks; a block's position decides which one it is in.
const SETS: usize = 256;
/// Blocks of one set. All sets together are at most 4 MiB.
const WAYS: usize = 4;
/// A frame longer than this is kept only until the next one is read.
const LONG: usize = 64 << 10;

/// The blocks that were read last. Segments only grow, so the bytes of a block never change.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// Empty until the first read. In each set, the most recently used block comes first.
    sets: Vec<[Block; WAYS]>,
    /// A frame that spans several blocks.
    frame: Vec<u8>,
}

/// One block of a segment. If it has no bytes, the place is free.
#[derive(Debug, Default)]
struct Block {
    /// The position of its first byte.
    at: u64,
    bytes: Vec<u8>,
}

impl Blocks {
    /// The bytes from a position on: at least the frame that begins there after a prefix of this length, or less if the segment ends
    /// earlier.
    pub(super) fn frame<S: Storage>(
        &mut self,
        storage: &mut S,
        segment: &Segment,
        at: u64,
        prefix: usize,
    ) -> Result<&[u8], JournalError> {
        let block = self.block(storage, segment, at)?;
        let rest = block.rest(at);
        let is_whole = length_after(prefix, &block.bytes[rest.clone()]).is_some_and(|length| length <= rest.len());
        let set = set_of(segment, at);
        if is_whole {
            return Ok(&self.sets[set][0].bytes[rest]);
        }
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        frame.shrink_to(LONG);
        frame.extend_from_slice(&self.sets[set][0].bytes[rest]);
        let filled = self.fill(storage, segment, at, prefix, &mut frame);
        self.frame = frame;
        filled.map(|()| &*self.frame)
    }

    /// Completes a frame whose first block is there. If its head claims a length that goes beyond the segment, the frame stays short,
    /// and its reader reports that.
    fn fill<S: Storage>(
        &mut self,
        storage: &mut S,
        segment: &Segment,
        at: u64,
        prefix: usize,
        frame: &mut Vec<u8>,
    ) -> Result<(), JournalError> {
        let next = at + frame.len() as u64;
        if next >= segment.end {
            return Ok(());
        }
        let block = self.block(storage, segment, next)?;
        let head = (prefix + HEAD).saturating_sub(frame.len()).min(block.bytes.len());
        frame.extend_from_slice(&block.bytes[..head]);
        let Some(length) = length_after(prefix, frame) else { return Ok(()) };
        let missing = length.saturating_sub(frame.len()).min(block.bytes.len() - head);
        frame.extend_from_slice(&block.bytes[head..head + missing]);
        // Few frames are longer than this, such as those with the rules of a robots.txt. The rest of such a frame is read at once.
        let there = usize::try_from(segment.end - at).unwrap_or(usize::MAX);
        let read = frame.len();
        if read < length.min(there) {
            frame.resize(length.min(there), 0);
            read_at(storage, segment, at + read as u64, &mut frame[read..]).inspect_err(|_| frame.clear())?;
        }
        Ok(())
    }

    /// The block that holds a position, up to the segment's end. It becomes the first of its set.
    ///
    /// # Errors
    /// If the storage fails, or the file is shorter than the segment. The block is empty then, and is read again at the next lookup.
    fn block<S: Storage>(&mut self, storage: &mut S, segment: &Segment, at: u64) -> Result<&Block, JournalError> {
        let start = start_of(segment, at);
        let length = usize::try_from(segment.end - start).unwrap_or(usize::MAX).min(BLOCK);
        if self.sets.is_empty() {
            self.sets.resize_with(SETS, Default::default);
        }
        let set = &mut self.sets[set_of(segment, at)];
        let found = set.iter().position(|block| block.at == start && !block.bytes.is_empty());
        set[..=found.unwrap_or(WAYS - 1)].rotate_right(1);
        let block = &mut set[0];
        // The last block of a segment grows with it.
        if found.is_none() || block.bytes.len() < length {
            block.at = start;
            block.bytes.clear();
            block.bytes.resize(length, 0);
            read_at(storage, segment, start, &mut block.bytes).inspect_err(|_| block.bytes.clear())?;
        }
        Ok(block)
    }

    /// Forgets the blocks of a segment whose file is replaced.
    pub(super) fn forget(&mut self, segment: &Segment) {
        let range = segment.start..segment.end;
        self.sets.iter_mut().flatten().filter(|block| range.contains(&block.at)).for_each(|block| block.bytes.clear());
    }

    /// Bytes of memory held: up to 4 MiB of blocks, and the longest recent frame.
    pub(super) fn memory(&self) -> usize {
        let blocks: usize = self.sets.iter().flatten().map(|block| block.bytes.capacity()).sum();
        self.sets.capacity() * size_of::<[Block; WAYS]>() + blocks + self.frame.capacity()
    }
}

impl Block {
    /// The part of its bytes from a position on.
    fn rest(&self, at: u64) -> Range<usize> {
        let skipped = usize::try_from(at - self.at).unwrap_or(usize::MAX);
        skipped.min(self.bytes.len())..self.bytes.len()
    }
}

/// The length that the frame after a prefix claims, with the prefix; `None` if there are too few bytes to tell.
fn length_after(prefix: usize, bytes: &[u8]) -> Option<usize> {
    Some(prefix + Frame::length(bytes.get(prefix..)?)?)
}

/// The position at which a position's block begins.
fn start_of(segment: &Segment, at: u64) -> u64 {
    at - (at - segment.start) % BLOCK as u64
}

/// The set of a position's block. Neighboring blocks are in different sets.
fn set_of(segment: &Segment, at: u64) -> usize {
    usize::try_from(start_of(segment, at) / BLOCK as u64 % SETS as u64).expect("less than the number of sets")
}

/// Fills the buffer from a position on. The whole range lies within the segment.
///
/// # Errors
/// If the storage fails, or the file has become shorter since the segment's length was read.
pub(super) fn read_at(
    storage: &mut impl Storage,
    segment: &Segment,
    at: u64,
    buffer: &mut [u8],
) -> Result<(), JournalError> {
    let error = match storage.read_at(&segment.name, at - segment.start, buffer) {
        Ok(read) if read == buffer.len() => return Ok(()),
        // The file has become shorter. That is not a torn end.
        Ok(_) => io::ErrorKind::UnexpectedEof.into(),
        Err(error) => error,
    };
    Err(FileError::of("read", storage.path(&segment.name))(error).into())
}

/// The part of a segment that was read last. Segments only grow, so these bytes never change.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// The position of its first byte.
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The bytes from a position on: at least the frame that begins there after a prefix of this length, or less if the segment ends
    /// earlier. If they are not in the window, `ahead` bytes are read, or as many as the frame takes.
    pub(super) fn frame(
        &mut self,
        storage: &mut impl Storage,
        segment: &Segment,
        at: u64,
        ahead: usize,
        prefix: usize,
    ) -> Result<&[u8], JournalError> {
        if self.rest(at).len() < prefix + HEAD {
            self.fill(storage, segment, at, ahead)?;
        }
        if let Some(length) = length_after(prefix, self.rest(at))
            && self.rest(at).len() < length
        {
            self.fill(storage, segment, at, length.max(ahead))?;
        }
        Ok(self.rest(at))
    }

    /// Reads `wanted` bytes from a position on, or as many as the segment has. So a damaged length makes the window no longer than its
    /// segment.
    ///
    /// # Errors
    /// If the storage fails. The window is empty then.
    pub(super) fn fill(
        &mut self,
        storage: &mut impl Storage,
        segment: &Segment,
        at: u64,
        wanted: usize,
    ) -> Result<&[u8], JournalError> {
        let there = usize::try_from(segment.end.saturating_sub(at)).unwrap_or(usize::MAX);
        self.at = at;
        self.bytes.resize(wanted.min(there), 0);
        read_at(storage, segment, at, &mut self.bytes).inspect_err(|_| self.bytes.clear())?;
        Ok(&self.bytes)
    }

    /// The bytes of the window from a position on.
    fn rest(&self, at: u64) -> &[u8] {
        let skipped = at.checked_sub(self.at).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.bytes.get(skipped..)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_positions() {
        for start in [0, 1, 0xabc, (1 << 48) - 1] {
            assert_eq!(Segment::start_of(&Segment::new(start, 0).name), Some(start));
        }
        let others =
            ["journal-", "journal-1", "journal-00000000000G", "journal-00000000000A", "journal-000000000001.new"];
        assert_eq!(others.map(Segment::start_of), [None; 5]);
    }
}
