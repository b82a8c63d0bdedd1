//! One file of the journal: its name, its header, its place among the positions.
//!
//! A segment's header takes up positions too. So a record's place in its file is its position minus the segment's start, and no
//! table is needed to find it.

use std::ops::Range;
use std::path::Path;

use super::Storage;
use crate::bytes::{FileError, Header};
use crate::gate::Position;

/// Bytes of a segment's header.
pub(super) const HEADER: usize = Header::SIZE;
/// The format that is written here, and the latest that is read.
const VERSION: u32 = 1;
/// The beginning of a segment's name; the position of its first byte follows.
const PREFIX: &str = "journal-";

/// One of the journal's files.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) name: String,
    /// The position of its first byte.
    pub(super) start: u64,
    /// The position after the last byte that the storage has of it.
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

    /// The length of its file.
    pub(super) fn length(&self) -> u64 {
        self.end - self.start
    }

    /// The part of the journal that it holds.
    pub(super) fn part(&self) -> Range<Position> {
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
