//! Where a file is not what was written.

use std::fmt;
use std::path::PathBuf;

/// A part of a file that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file; the directory, where a file is gone.
    pub path: PathBuf,
    /// Where in it the part begins.
    pub offset: u64,
    /// Bytes of it.
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
