//! What can be wrong with a file, including its path.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use super::FrameError;

/// Why a file cannot be read or written. Each variant names the file, so that its message makes sense
/// by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file does not hold what was written to it.
    #[error("{} is damaged at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the damaged header or frame begins, in bytes.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file is another job's.
    #[error("{} belongs to job {found:016x}, not to {expected:016x}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The id of the job that wrote it.
        found: u64,
        /// The id of this job.
        expected: u64,
    },
    /// The operating system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: `read`, `sync`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file is of a later format.
    #[error("{} has format {found}; this version of crawler knows formats up to {supported}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The latest format known.
        supported: u32,
    },
}

impl FileError {
    /// For `map_err`: adds to the system's error what was tried and on which file. `action` is a verb
    /// that completes "cannot ...". An error that already names a file stays as it is.
    pub(crate) fn of(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |error| error.downcast().unwrap_or_else(|source| Self::Io { action, path: path.into(), source })
    }

    /// Whether the file is gone, or does not hold what was written to it, so that restoring a copy
    /// would help.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::Io { source, .. } => source.kind() == ErrorKind::NotFound,
            Self::Foreign { .. } | Self::Newer { .. } => false,
        }
    }

    /// The kind for an [`io::Error`] that wraps this one. The system's own kind is kept, so that a
    /// full disk is still [`StorageFull`](ErrorKind::StorageFull).
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { source, .. } => source.kind(),
            _ => ErrorKind::InvalidData,
        }
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        Self::new(error.kind(), error)
    }
}

impl FrameError {
    /// The same error with the path of the file.
    pub(crate) fn of_file(self, path: PathBuf) -> FileError {
        match self {
            Self::Damaged { offset, reason } => FileError::Damaged { path, offset, reason },
            Self::Read { source, .. } => FileError::Io { action: "read", path, source },
            Self::Short { offset } => FileError::Damaged { path, offset, reason: "the file is cut short" },
        }
    }
}
