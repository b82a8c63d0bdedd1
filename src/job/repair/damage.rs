//! One damaged part of a file.

use std::fmt;
use std::path::PathBuf;

/// A part of a file that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file, or its directory if the file is gone.
    pub path: PathBuf,
    /// Where the part begins, in bytes.
    pub offset: u64,
    /// The length of the part in bytes.
    pub bytes: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, bytes, reason } = self;
        write!(f, "{}: {bytes} bytes at byte {offset}: {reason}", path.display())
    }
}
