//! The messages in the log of a partition.

use super::crc32c::{seal, unseal};
use crate::bytes::Fields;

/// The version that is written, and the latest that is read.
const VERSION: u8 = 1;

/// One message in the log of a partition.
///
/// ```text
///  0  version   u8
///  1  kind      u8: 1 epoch, 2 journal, 3 counts, 4 released
///  2  token     u64, drawn by the owner
/// 10  serial    u64, counts the messages of an owner
/// 18  behind    u64, the sequence of the message that it follows; 0 for the first
/// 26  the rest by its kind; numbers are little-endian
///     CRC-32C   u32, of all before
/// ```
///
/// Two owners never write the same message, since each has drawn its own token. So an owner whose answer was lost can tell its own message
/// from another's. Each message also names the one that it follows, so the log by itself says which messages count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEntry {
    pub(crate) token: u64,
    pub(crate) serial: u64,
    pub(crate) behind: u64,
    pub(crate) what: EntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    /// An owner begins.
    Epoch {
        /// Counts the owners, from 1.
        number: u64,
        node: String,
    },
    /// Bytes that the journal has written.
    Journal(JournalPiece),
    /// What was counted so far, for the next owner and for the report.
    Counts(Vec<u8>),
    /// The owner ends in good order: the log has all that it has done.
    Released,
}

/// Bytes of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JournalPiece {
    /// Where the segment of these bytes begins.
    pub(crate) segment: u64,
    /// The position of the bytes.
    pub(crate) at: u64,
    /// Up to the end of these bytes, the journal has all that link batches up to this sequence brought.
    pub(crate) read: u64,
    pub(crate) bytes: Vec<u8>,
}

impl LogEntry {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let (kind, length) = match &self.what {
            EntryKind::Epoch { node, .. } => (1, node.len()),
            EntryKind::Journal(piece) => (2, piece.bytes.len()),
            EntryKind::Counts(bytes) => (3, bytes.len()),
            EntryKind::Released => (4, 0),
        };
        let mut to = Vec::with_capacity(length + 64);
        to.extend([VERSION, kind]);
        to.extend(self.token.to_le_bytes());
        to.extend(self.serial.to_le_bytes());
        to.extend(self.behind.to_le_bytes());
        match &self.what {
            EntryKind::Epoch { number, node } => {
                to.extend(number.to_le_bytes());
                to.extend_from_slice(node.as_bytes());
            }
            EntryKind::Journal(JournalPiece { segment, at, read, bytes }) => {
                for number in [segment, at, read] {
                    to.extend(number.to_le_bytes());
                }
                to.extend_from_slice(bytes);
            }
            EntryKind::Counts(bytes) => to.extend_from_slice(bytes),
            EntryKind::Released => {}
        }
        seal(&mut to);
        to
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Why it is not such a message.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut fields = Fields::of(unseal(bytes)?);
        if fields.u8()? != VERSION {
            return Err("of a version that is not known here");
        }
        let kind = fields.u8()?;
        let (token, serial, behind) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let what = match kind {
            1 => EntryKind::Epoch { number: fields.u64()?, node: fields.rest()?.to_owned() },
            2 => {
                let (segment, at, read) = (fields.u64()?, fields.u64()?, fields.u64()?);
                if at < segment {
                    return Err("bytes before the segment that they are in");
                }
                EntryKind::Journal(JournalPiece { segment, at, read, bytes: fields.bytes().to_vec() })
            }
            3 => EntryKind::Counts(fields.bytes().to_vec()),
            4 => {
                fields.end()?;
                EntryKind::Released
            }
            _ => return Err("of a kind that is not known here"),
        };
        Ok(Self { token, serial, behind, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_no_part_of_it() {
        let piece = JournalPiece { segment: 5, at: 7, read: 9, bytes: b"bytes".to_vec() };
        let kinds = [
            EntryKind::Epoch { number: 3, node: "a".to_owned() },
            EntryKind::Journal(piece),
            EntryKind::Counts(b"{}".to_vec()),
            EntryKind::Released,
        ];
        for what in kinds {
            let entry = LogEntry { token: 1 << 60, serial: 2, behind: 7, what };
            let bytes = entry.to_bytes();
            assert_eq!(LogEntry::read(&bytes), Ok(entry));
            for end in 0..bytes.len() {
                assert!(LogEntry::read(&bytes[..end]).is_err(), "{end}");
            }
        }
    }

    #[test]
    fn what_another_version_writes_is_told() {
        let reason = |content: &[u8]| {
            let mut bytes = content.to_vec();
            seal(&mut bytes);
            LogEntry::read(&bytes).unwrap_err()
        };
        assert_eq!(reason(&[2]), "of a version that is not known here");
        assert_eq!(reason(&[[1, 9].as_slice(), &[0; 24]].concat()), "of a kind that is not known here");
        let before = [[1, 2].as_slice(), &[0; 24], &9_u64.to_le_bytes(), &[0; 16]].concat();
        assert_eq!(reason(&before), "bytes before the segment that they are in");
    }
}
