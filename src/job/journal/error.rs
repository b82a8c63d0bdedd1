//! What can be wrong with a journal.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::gate::Position;

/// Why the journal cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal is shorter than the position from which it is to be read: what was there is lost.
    #[error(
        "{}: the journal ends at {}, before {}: files journal-* are gone or cut short",
        path.display(),
        end.to_u64(),
        position.to_u64()
    )]
    Beyond {
        /// The journal's directory.
        path: PathBuf,
        /// Where reading was to begin.
        position: Position,
        /// Where the journal ends.
        end: Position,
    },
    /// A file does not hold what was written to it.
    #[error("{} is damaged at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where in it the header or frame begins, in bytes.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A segment is another job's.
    #[error("{} belongs to job {found:016x}, not to {expected:016x}", path.display())]
    Foreign {
        /// The segment.
        path: PathBuf,
        /// The id of the job that wrote it.
        found: u64,
        /// The id of this job.
        expected: u64,
    },
    /// All 2^48 positions are used.
    #[error("the journal has reached 256 TiB")]
    Full,
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `read`, `sync`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A whole record of a kind that this version does not know.
    #[error("{} holds a record of kind {kind} at byte {offset}, which this version of crawler does not know", path.display())]
    Kind {
        /// The segment.
        path: PathBuf,
        /// Where in it the frame begins, in bytes.
        offset: u64,
        /// The kind's number.
        kind: u8,
    },
    /// A segment is of a later format.
    #[error("{} has format {found}; this version of crawler knows formats up to {supported}", path.display())]
    Newer {
        /// The segment.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest format known.
        supported: u32,
    },
    /// Nothing was appended there, or it was removed.
    #[error("no journal entry at {}", .0.to_u64())]
    NoEntry(Position),
    /// It was opened to be looked at, and cannot be written.
    #[error("the journal is only read")]
    ReadOnly,
    /// A sync failed before. The operating system may have dropped what it could not write, and say nothing at the next
    /// sync, so nothing more is written; [`open`](super::FileJournal::open) finds what is there.
    #[error("a sync of the journal failed before; open it again")]
    Stopped,
    /// A record that does not fit a frame.
    #[error("a record of {length} bytes; at most {most} fit")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest.
        most: usize,
    },
}

impl From<JournalError> for io::Error {
    /// Keeps the kind of an error of the operating system: a full disk is still [`StorageFull`](ErrorKind::StorageFull).
    fn from(error: JournalError) -> Self {
        let kind = match &error {
            JournalError::Io { source, .. } => source.kind(),
            JournalError::NoEntry(_) | JournalError::TooLong { .. } => ErrorKind::InvalidInput,
            JournalError::Full => ErrorKind::FileTooLarge,
            JournalError::ReadOnly => ErrorKind::ReadOnlyFilesystem,
            JournalError::Stopped => ErrorKind::Other,
            _ => ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
