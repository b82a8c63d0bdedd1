//! Why a seen set cannot be made, used, or read from a file.

use std::io;
use std::path::PathBuf;

use super::layout::Layout;
use crate::bytes::FrameError;

/// Why a seen set cannot be made, or cannot do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeenError {
    /// The verified layout's directory cannot be written or read.
    #[error("{}: the fingerprints of the verified layout cannot be kept there", directory.display())]
    Disk {
        /// [`SeenOptions::directory`](super::SeenOptions::directory).
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is not enough memory.
    #[error("capacity = {capacity}: takes {bytes} bytes, more than this machine gives")]
    Memory {
        /// URLs that it was to be made for.
        capacity: u64,
        /// Bytes that these would take.
        bytes: u128,
    },
    /// An option is out of its range.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The field of [`SeenOptions`](super::SeenOptions).
        option: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        reason: &'static str,
    },
    /// The layout cannot do it.
    #[error("the {layout} layout cannot {act}: {reason}")]
    Unsupported {
        /// How the set remembers.
        layout: Layout,
        /// What was asked for.
        act: &'static str,
        /// Why it cannot be.
        reason: &'static str,
    },
}

/// Why a snapshot cannot be read or merged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The file says something impossible, or a checksum is wrong.
    #[error("damaged at byte {offset}: {reason}")]
    Damaged {
        /// Where the frame begins, in bytes.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// Two sets that cannot be merged.
    #[error("cannot be merged: {0}")]
    Geometry(&'static str),
    /// The fingerprints have another key than expected, so none of them would be found.
    #[error("keyed with another number than this job's")]
    Key,
    /// The saved set cannot be made here.
    #[error("cannot be made here")]
    Options(#[from] SeenError),
    /// The file cannot be read.
    #[error("cannot read on at byte {offset}")]
    Read {
        /// Where the frame begins, in bytes.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// The file ends too early.
    #[error("ends inside the frame that begins at byte {offset}")]
    Short {
        /// Where the frame begins, in bytes.
        offset: u64,
    },
    /// Fingerprints or probes were made in a way that this version does not know.
    #[error("{what} strategy {found} is not known here; this version has {known}")]
    Strategy {
        /// `hash` or `probe`.
        what: &'static str,
        /// The file's.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// Not a snapshot of a seen set.
    #[error("not a snapshot of a seen set")]
    Unknown,
    /// A format that this version does not know.
    #[error("format version {found} is not known here; this version has {known}")]
    Version {
        /// The file's.
        found: u32,
        /// Ours.
        known: u32,
    },
}

impl From<FrameError> for SnapshotError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Damaged { offset, reason } => Self::Damaged { offset, reason },
            FrameError::Read { offset, source } => Self::Read { offset, source },
            FrameError::Short { offset } => Self::Short { offset },
        }
    }
}
