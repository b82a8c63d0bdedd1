//! Why a journal cannot be opened, written or read.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use crate::bytes::FileError;
use crate::gate::Position;

/// Why the journal cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal ends before the position from which it should be read: a part of it is lost.
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
    /// One of its segments cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// All 2^48 positions are used.
    #[error("the journal has reached 256 TiB")]
    Full,
    /// A whole record of a kind that this version does not know.
    #[error("{} holds a record of kind {kind} at byte {offset}, which this version of crawler does not know", path.display())]
    Kind {
        /// The segment.
        path: PathBuf,
        /// Where the frame begins in it, in bytes.
        offset: u64,
        /// The kind's number.
        kind: u8,
    },
    /// Nothing was appended at this position, or it was removed.
    #[error("no journal entry at {}", .0.to_u64())]
    NoEntry(Position),
    /// It was opened read-only.
    #[error("the journal is only read")]
    ReadOnly,
    /// A sync failed before. The operating system may have dropped what it could not write, and may not report it at the next sync.
    /// So nothing more is written. The next opening finds what is there.
    #[error("a sync of the journal failed before; open it again")]
    Stopped,
    /// A record is too long for a frame.
    #[error("a record of {length} bytes; at most {most} fit")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest.
        most: usize,
    },
}

impl From<JournalError> for io::Error {
    /// Keeps the kind of the operating system's error: a full disk is still [`StorageFull`](ErrorKind::StorageFull).
    fn from(error: JournalError) -> Self {
        let kind = match &error {
            JournalError::File(error) => error.kind(),
            JournalError::NoEntry(_) | JournalError::TooLong { .. } => ErrorKind::InvalidInput,
            JournalError::Full => ErrorKind::FileTooLarge,
            JournalError::ReadOnly => ErrorKind::ReadOnlyFilesystem,
            JournalError::Stopped => ErrorKind::Other,
            _ => ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
