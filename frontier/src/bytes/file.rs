//! Files of a job's `frontier/`: the header that each begins with, and the errors of reading or writing one.
//!
//! ```text
//! header:   0  magic     8 bytes: what the file is
//!           8  version   u32, of its format
//!          12  job       u64, the job's id
//!          20  number    u64, of the file among those of its kind
//!          28  checksum  u32, of bytes 0 to 27, seeded with 0
//! ```
//!
//! Every later format keeps a header of this size and with this checksum, so that a file of a later
//! format can be told from a damaged one.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{Fields, FrameError, half_checksum};

/// A file's kind, format and job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    /// The format that is written, and the latest that can be read.
    pub(crate) version: u32,
    pub(crate) job: u64,
    pub(crate) number: u64,
}

/// The bytes that the checksum covers.
const CHECKED: usize = 28;

impl Header {
    /// Bytes of a header, in every format.
    pub(crate) const SIZE: usize = 32;

    /// The bytes of the header, with its checksum.
    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&self.magic);
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.job.to_le_bytes());
        bytes[20..CHECKED].copy_from_slice(&self.number.to_le_bytes());
        let checksum = half_checksum(0, &bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&checksum);
        bytes
    }

    /// Checks that these bytes, the beginning of the file at `path`, are this header.
    ///
    /// If several things are wrong, the error names the first of these: another kind of file, damage, a later format, another job.
    pub(crate) fn check(&self, bytes: &[u8], path: &Path) -> Result<(), FileError> {
        let damaged = |reason| FileError::Damaged { path: path.to_owned(), offset: 0, reason };
        let Some(bytes) = bytes.first_chunk::<{ Self::SIZE }>() else {
            return Err(damaged("the header is cut short"));
        };
        let found = Self::read(bytes).map_err(damaged)?;
        if found.magic != self.magic {
            return Err(damaged("the header belongs to another kind of file"));
        }
        if bytes[CHECKED..] != half_checksum(0, &bytes[..CHECKED]) {
            return Err(damaged("the header's checksum does not match"));
        }
        if found.version > self.version {
            return Err(FileError::Newer { path: path.to_owned(), found: found.version, supported: self.version });
        }
        if found.job != self.job {
            return Err(FileError::Foreign { path: path.to_owned(), found: found.job, expected: self.job });
        }
        if found != *self {
            return Err(damaged("the header belongs to another file"));
        }
        Ok(())
    }

    /// The fields of a header, whatever its checksum.
    fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut fields = Fields::of(bytes);
        Ok(Self { magic: fields.take()?, version: fields.u32()?, job: fields.u64()?, number: fields.u64()? })
    }
}

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
    /// For `map_err`: adds to the system's error what was tried, and on which file. `action` is a verb that completes "cannot ...". An
    /// error that already is a `FileError` stays as it is.
    pub fn of(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        move |error| error.downcast().unwrap_or_else(|source| Self::Io { action, path: path.into(), source })
    }

    /// Whether restoring a copy of the file would help: it is gone, or does not hold what was written to it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_what_differs() {
        let header = Header { magic: *b"a thing\n", version: 2, job: 3, number: 4 };
        let check = |bytes: &[u8]| header.check(bytes, Path::new("f")).map_err(|error| error.to_string());
        let bytes = header.to_bytes();
        assert_eq!(check(&[&bytes[..], b"more"].concat()), Ok(()));
        assert_eq!(check(&bytes[..31]).unwrap_err(), "f is damaged at byte 0: the header is cut short");
        for place in 0..Header::SIZE {
            let mut flipped = bytes;
            flipped[place] ^= 1;
            let expected =
                if place < 8 { "header belongs to another kind of file" } else { "header's checksum does not match" };
            assert_eq!(check(&flipped).unwrap_err(), format!("f is damaged at byte 0: the {expected}"));
        }
        for (other, expected) in [
            (
                Header { magic: *b"another\n", ..header },
                "f is damaged at byte 0: the header belongs to another kind of file",
            ),
            (Header { version: 3, ..header }, "f has format 3; this version of crawler knows formats up to 2"),
            (Header { version: 1, ..header }, "f is damaged at byte 0: the header belongs to another file"),
            (Header { job: 5, ..header }, "f belongs to job 0000000000000005, not to 0000000000000003"),
            (Header { number: 5, ..header }, "f is damaged at byte 0: the header belongs to another file"),
        ] {
            assert_eq!(check(&other.to_bytes()).unwrap_err(), expected);
        }
    }
}
