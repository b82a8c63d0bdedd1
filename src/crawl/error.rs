//! Why a crawl cannot begin or go on.

use std::io;
use std::path::PathBuf;

use super::fields::FieldError;
use super::http::FetcherError;
use crate::gate::OptionError;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, JobError};

/// Why a crawl cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlError {
    /// An error of the job's files.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// An option of the frontier is invalid.
    #[error(transparent)]
    Frontier(#[from] OptionError),
    /// A field's rule is invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The HTTP client cannot be built.
    #[error(transparent)]
    Fetcher(#[from] FetcherError),
    /// An error of the job's directory.
    #[error(transparent)]
    Job(#[from] JobError),
    /// An output is shorter than what the job wrote to it.
    #[error("{} has {found} bytes, and the job wrote {expected}: the job cannot go on without its output", path.display())]
    Output {
        /// The file of page records, or of another output.
        path: PathBuf,
        /// Bytes that it has.
        found: u64,
        /// Bytes that are confirmed.
        expected: u64,
    },
    /// A page record is not what the job wrote. A crash cannot have caused that.
    #[error("{} is damaged at byte {offset}: the record is not the one that the job wrote", path.display())]
    Record {
        /// The file of page records.
        path: PathBuf,
        /// Where the record begins, in bytes.
        offset: u64,
    },
    /// An output's name is not a valid file name in the job's directory, or is taken.
    #[error("an output cannot be called {name:?}")]
    OutputName {
        /// The name.
        name: String,
    },
    /// The earlier runs' totals in a checkpoint cannot be read.
    #[error("the totals in the newest checkpoint of {} cannot be read: go on with the version that wrote it", directory.display())]
    Totals {
        /// Where the checkpoint is.
        directory: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The output has records, but the job has no journal of them.
    #[error(
        "{} has {found} bytes of records, and {} has neither journal nor checkpoints of them: put these back, or move \
         the records away and start afresh with --overwrite",
        path.display(),
        journal.display()
    )]
    NoJournal {
        /// The file of page records.
        path: PathBuf,
        /// Bytes that it has.
        found: u64,
        /// Where journal and checkpoints should be.
        journal: PathBuf,
    },
    /// The journal's storage failed.
    #[error("the frontier's storage failed")]
    Storage(#[source] io::Error),
}

impl From<FileError> for CrawlError {
    fn from(error: FileError) -> Self {
        Self::Checkpoint(error.into())
    }
}
