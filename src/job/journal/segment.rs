use std::ops::Range;
use std::path::PathBuf;

use super::JournalError;
use super::frame::checksum;
use crate::gate::Position;

/// Bytes of a segment's header.
pub(super) const HEADER: usize = 32;
const MAGIC: [u8; 8] = *b"journal\n";
/// The format that is written here, and the latest that is read.
const VERSION: u32 = 1;
/// How a segment's name begins; the position at which it starts follows.
const PREFIX: &str = "journal-";

/// One of the journal's files.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) name: String,
    /// The position of its first byte.
    pub(super) start: u64,
    /// The position behind its last byte that the storage has.
    pub(super) end: u64,
}

impl Segment {
    pub(super) fn new(start: u64, length: u64) -> Self {
        Self { name: format!("{PREFIX}{start:012x}"), start, end: start.saturating_add(length) }
    }

    /// What it holds of the journal.
    pub(super) fn part(&self) -> Range<Position> {
        Position::from_u64(self.start)..Position::from_u64(self.end)
    }

    /// Where a segment of this name starts; `None` where it is no segment's name.
    pub(super) fn start_of(name: &str) -> Option<u64> {
        let start = u64::from_str_radix(name.strip_prefix(PREFIX)?, 16).ok()?;
        (Self::new(start, 0).name == name).then_some(start)
    }

    pub(super) fn header(&self, job: u64) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..20].copy_from_slice(&job.to_le_bytes());
        header[20..28].copy_from_slice(&self.start.to_le_bytes());
        let checksum = checksum(&header[..28], 0);
        header[28..].copy_from_slice(&checksum.to_le_bytes());
        header
    }

    /// Whether these bytes, at the beginning of the file at `path`, are its header.
    pub(super) fn check(&self, bytes: &[u8], job: u64, path: PathBuf) -> Result<(), JournalError> {
        let Some(found) = bytes.first_chunk::<HEADER>() else {
            return Err(JournalError::Damaged { path, offset: 0, reason: "the header is cut short" });
        };
        let version = u32::from_le_bytes([found[8], found[9], found[10], found[11]]);
        if found[..8] != MAGIC {
            return Err(JournalError::Damaged { path, offset: 0, reason: "no journal's header" });
        }
        if version > VERSION {
            return Err(JournalError::Newer { path, found: version, supported: VERSION });
        }
        if found[28..] != checksum(&found[..28], 0).to_le_bytes() {
            return Err(JournalError::Damaged { path, offset: 0, reason: "the header's checksum does not match" });
        }
        let found_job = found[12..20].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        if found_job != job {
            return Err(JournalError::Foreign { path, found: found_job, expected: job });
        }
        if *found != self.header(job) {
            return Err(JournalError::Damaged { path, offset: 0, reason: "the header is another segment's" });
        }
        Ok(())
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
