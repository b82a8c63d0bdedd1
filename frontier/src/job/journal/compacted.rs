//! Compacted segments: old segments that keep a few of their records, each at its position.
//!
//! A waiting URL's text and metadata are only in the journal, so one URL keeps its whole segment: 64 MiB for 1 kB. When at least a third of
//! an old segment belongs to pages that are done, it is rewritten without them. The checkpoint's writer does that, while the frontier goes
//! on:
//!
//! ```text
//!   journal-X, all records ──▶ journal-X.new, needed records ──▶ synced ──▶ renamed to journal-X
//! ```
//!
//! After a crash, `journal-X` is the old file or the new one, and a part of the new one may be left as `journal-X.new`. Nothing reads that
//! part, and the next opening removes it.
//!
//! ```text
//! header:    0  magic     8 bytes, "kept\n\0\0\0"; the rest as in a segment's header, with a version of its own
//! record:    0  position  u64
//!            8  frame     as it was
//! index:        for each group of records, of at least 4 KiB: the first one's position, u64; the offset of the group, u64
//! end:       0  end       u64, the position after the last byte of the segment as it was
//!            8  index     u64, the offset of the index
//!           16  checksum  u32, of the index and the 16 bytes before, seeded with the job's id XOR the segment's start
//! ```
//!
//! The index is in memory: 16 bytes for 4 KiB. A record is found by a linear search of its group.
//!
//! # What may be compacted
//!
//! A replay needs every record from the older checkpoint on. A segment that ends before it must keep only the entries of URLs that waited
//! then, and the robots rules of hosts in memory: a URL that waits later was found later, or waited then.

use std::ops::Range;

use super::frame::{Frame, HEAD};
use super::segment::{Blocks, HEADER, Segment, Window, read_at};
use super::{JournalError, Storage};
use crate::bytes::{FileError, Header, half_checksum};
use crate::gate::Position;

/// The first bytes of a header, which name the kind of the file.
const MAGIC: [u8; 8] = *b"kept\n\0\0\0";
/// The format that is written here, and the latest that is read.
const VERSION: u32 = 2;
/// Bytes before each frame: its position.
pub(super) const PREFIX: usize = 8;
/// The least bytes of a group. A search begins at the beginning of a group.
const GROUP: u64 = 4096;
/// Bytes of an entry of the index.
const INDEXED: usize = 16;
/// Bytes after the index.
const END: usize = 20;
/// How many bytes are written at once.
const BUFFER: usize = 256 << 10;

/// The records of a compacted segment.
#[derive(Debug)]
pub(super) struct Compacted {
    /// The file up to its index, seen as a segment: a byte at an offset has the position of the segment's start plus that offset.
    pub(super) file: Segment,
    /// The position of each group's first record, and where in the file the group begins.
    groups: Vec<(u64, u64)>,
}

impl Compacted {
    /// Whether these bytes are the beginning of a compacted segment.
    pub(super) fn is_one(header: &[u8]) -> bool {
        header.starts_with(&MAGIC)
    }

    /// Opens the file of this name, whose header was read already. Also returns where the segment ended before it was compacted.
    pub(super) fn open(
        storage: &mut impl Storage,
        job: u64,
        start: u64,
        name: &str,
        header: &[u8],
    ) -> Result<(Self, u64), JournalError> {
        let path = storage.path(name);
        let of = |action| FileError::of(action, path.clone());
        header_of(job, start).check(header, &path)?;
        let length = storage.length(name).map_err(of("open"))?;
        let damaged = |reason| FileError::Damaged { path: path.clone(), offset: length, reason };
        let end_at = length.checked_sub(END as u64).ok_or_else(|| damaged("its end is missing"))?;
        let mut end = [0; END];
        let mut read = |at, to: &mut [u8]| {
            let read = storage.read_at(name, at, to).map_err(of("read"))?;
            if read == to.len() { Ok(()) } else { Err(damaged("its end is missing")) }
        };
        read(end_at, &mut end)?;
        let [was_end, index_at] = [0, 8].map(|at| u64::from_le_bytes(*end[at..].first_chunk().expect("8 bytes")));
        let indexed = end_at.checked_sub(index_at).filter(|_| index_at >= HEADER as u64);
        let indexed = indexed.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| bytes % INDEXED == 0);
        let mut index = vec![0; indexed.ok_or_else(|| damaged("its end is damaged"))?];
        read(index_at, &mut index)?;
        index.extend_from_slice(&end[..END - 4]);
        if half_checksum(job ^ start, &index) != end[END - 4..] {
            return Err(damaged("the checksum of its end does not match").into());
        }
        index.truncate(index.len() - (END - 4));
        let number = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("8 bytes"));
        let groups = index.chunks_exact(INDEXED).map(|entry| (number(entry), start + number(&entry[8..])));
        let file = Segment { name: name.to_owned(), ..Segment::new(start, index_at) };
        Ok((Self { file, groups: groups.collect() }, was_end))
    }

    /// Where in the file the record of this position begins, with its prefix; `None` if it was not kept.
    pub(super) fn find(
        &self,
        storage: &mut impl Storage,
        blocks: &mut Blocks,
        position: u64,
    ) -> Result<Option<u64>, JournalError> {
        let Some(group) = self.groups.partition_point(|(first, _)| *first <= position).checked_sub(1) else {
            return Ok(None);
        };
        let mut at = self.groups[group].1;
        let end = self.groups.get(group + 1).map_or(self.file.end, |next| next.1);
        while at < end {
            let record = blocks.frame(storage, &self.file, at, PREFIX)?;
            match placed(record) {
                Some((there, length)) if there < position => at += length,
                Some((there, _)) if there == position => return Ok(Some(at)),
                _ => break,
            }
        }
        Ok(None)
    }

    /// Shows each record: its position, where in the file its prefix begins, and the bytes from its frame on. Stops at a record that claims
    /// to be longer than the file, and returns where that is.
    pub(super) fn each(
        &self,
        storage: &mut impl Storage,
        ahead: usize,
        mut show: impl FnMut(u64, u64, &[u8]) -> Result<(), JournalError>,
    ) -> Result<Option<u64>, JournalError> {
        let mut window = Window::default();
        let mut at = self.file.start + HEADER as u64;
        while at < self.file.end {
            let record = window.frame(storage, &self.file, at, ahead, PREFIX)?;
            let Some((position, length)) = placed(record) else { return Ok(Some(at)) };
            show(position, at, &record[PREFIX..])?;
            at += length;
        }
        Ok(None)
    }

    /// Bytes of its file.
    pub(super) fn length(&self) -> u64 {
        self.file.length() + (self.groups.len() * INDEXED + END) as u64
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.file.name.capacity() + self.groups.capacity() * size_of::<(u64, u64)>()
    }
}

/// The position and length of the record that these bytes begin with, its prefix included; `None` if it is cut short.
fn placed(bytes: &[u8]) -> Option<(u64, u64)> {
    let length = PREFIX + Frame::length(bytes.get(PREFIX..)?)?;
    (length <= bytes.len()).then_some((u64::from_le_bytes(*bytes.first_chunk()?), length as u64))
}

fn header_of(job: u64, start: u64) -> Header {
    Header { magic: MAGIC, version: VERSION, job, number: start }
}

/// A segment that no replay needs any more.
#[derive(Clone, Debug)]
pub(in crate::job) struct OldSegment {
    /// The position of its first byte.
    pub(in crate::job) start: u64,
    /// Its positions.
    pub(in crate::job) range: Range<Position>,
    /// Bytes of its file.
    pub(in crate::job) bytes: u64,
}

impl OldSegment {
    /// The name of its file.
    pub(in crate::job) fn name(&self) -> String {
        Segment::new(self.start, 0).name
    }
}

/// The end of a segment's name until its file is whole.
pub(super) const NEW_SUFFIX: &str = ".new";

/// The name of a segment until its file is whole.
pub(super) fn unfinished(name: &str) -> String {
    format!("{name}{NEW_SUFFIX}")
}

/// A record that is kept.
struct Kept {
    position: u64,
    /// Where in the file its frame begins.
    offset: u64,
    /// Bytes of its frame.
    length: usize,
}

/// Rewrites a segment to a file beside the old one, which keeps only the records at these offsets from the segment's start (ascending).
/// Does so only if the new file has at most two thirds of the old one's bytes, and returns whether it did. The new file is synced.
///
/// # Errors
/// If the storage fails, or a record is damaged. The new file is removed then.
pub(in crate::job) fn compact<S: Storage>(
    storage: &mut S,
    job: u64,
    old: &OldSegment,
    needed: &[u32],
) -> Result<bool, JournalError> {
    let segment = Segment::new(old.start, old.bytes);
    let kept = find_kept(storage, job, &segment, needed)?;
    let records: u64 = kept.iter().map(|kept| (PREFIX + kept.length) as u64).sum();
    let index = (records / GROUP + 1) * INDEXED as u64;
    if (HEADER as u64 + records + index + END as u64) * 3 > old.bytes * 2 {
        return Ok(false);
    }
    let name = unfinished(&segment.name);
    let written = write(storage, job, &segment, old.range.end.to_u64(), &kept, &name);
    if written.is_err() {
        let _ = storage.remove(&name);
    }
    written.map(|()| true)
}

/// Looks up the records at these offsets.
fn find_kept<S: Storage>(
    storage: &mut S,
    job: u64,
    segment: &Segment,
    needed: &[u32],
) -> Result<Vec<Kept>, JournalError> {
    let start = segment.start;
    let mut kept = Vec::with_capacity(needed.len());
    let mut header = [0; HEADER];
    read_at(storage, segment, start, &mut header)?;
    if Compacted::is_one(&header) {
        let (compacted, _) = Compacted::open(storage, job, start, &segment.name, &header)?;
        let mut needed = needed.iter().map(|&offset| start + u64::from(offset)).peekable();
        let stopped = compacted.each(storage, BUFFER, |position, at, frame| {
            while needed.next_if(|needed| *needed < position).is_some() {}
            if needed.peek() == Some(&position) {
                let length = Frame::length(frame).unwrap_or_default();
                kept.push(Kept { position, offset: at + PREFIX as u64 - start, length });
            }
            Ok(())
        })?;
        return match stopped {
            Some(at) => Err(damaged(storage, segment, at - start)),
            None => Ok(kept),
        };
    }
    for &offset in needed {
        let (mut head, offset) = ([0; HEAD], u64::from(offset));
        if offset + HEAD as u64 > segment.length() {
            return Err(damaged(storage, segment, offset));
        }
        read_at(storage, segment, start + offset, &mut head)?;
        let length = Frame::length(&head).unwrap_or_default();
        kept.push(Kept { position: start + offset, offset, length });
    }
    Ok(kept)
}

fn damaged(storage: &impl Storage, segment: &Segment, offset: u64) -> JournalError {
    let reason = "a record that a waiting URL needs is damaged";
    FileError::Damaged { path: storage.path(&segment.name), offset, reason }.into()
}

fn write<S: Storage>(
    storage: &mut S,
    job: u64,
    old: &Segment,
    end: u64,
    kept: &[Kept],
    name: &str,
) -> Result<(), JournalError> {
    storage.create(name).map_err(FileError::of("create", storage.path(name)))?;
    let put = |storage: &mut S, bytes: &mut Vec<u8>| {
        storage.append(name, bytes).map_err(FileError::of("write", storage.path(name)))?;
        bytes.clear();
        Ok::<_, JournalError>(())
    };
    let mut bytes = header_of(job, old.start).to_bytes().to_vec();
    let (mut index, mut written, mut group): (Vec<u8>, u64, u64) = (Vec::new(), HEADER as u64, 0);
    for Kept { position, offset, length } in kept {
        if index.is_empty() || written - group >= GROUP {
            index.extend([*position, written].into_iter().flat_map(u64::to_le_bytes));
            group = written;
        }
        bytes.extend(position.to_le_bytes());
        let frame = bytes.len();
        if offset + *length as u64 > old.length() {
            return Err(damaged(storage, old, *offset));
        }
        bytes.resize(frame + length, 0);
        read_at(storage, old, old.start + offset, &mut bytes[frame..])?;
        if Frame::read(&bytes[frame..], job, *position).is_err() {
            return Err(damaged(storage, old, *offset));
        }
        written += (PREFIX + length) as u64;
        if bytes.len() >= BUFFER {
            put(storage, &mut bytes)?;
        }
    }
    index.extend([end, written].into_iter().flat_map(u64::to_le_bytes));
    let checksum = half_checksum(job ^ old.start, &index);
    bytes.append(&mut index);
    bytes.extend(checksum);
    put(storage, &mut bytes)?;
    Ok(storage.sync(name).map_err(FileError::of("sync", storage.path(name)))?)
}
