//! Why a checkpoint cannot be written or read.
//!
//! | the error | what helps |
//! |---|---|
//! | `Changed`, `Frontier` | the settings that the job had before |
//! | `Disturbed`, `Job` | finding out who else is in the directory |
//! | `File`, `Seen` | a copy of the file, if it is [lost](CheckpointError::is_loss); an older checkpoint serves meanwhile |
//! | `Irreparable`, `Journal` | the same, or [`repair`](crate::job::repair) |
//! | `Lost` | opening the frontier again |

use std::io;
use std::path::PathBuf;

use crate::bytes::FileError;
use crate::gate::OptionError;
use crate::job::JobError;
use crate::job::journal::JournalError;
use crate::seen::SnapshotError;

/// Why a checkpoint cannot be written or read, or a frontier cannot be restored from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// An option that the job's files depend on was changed after the job was created.
    #[error("{option} cannot be changed in a job that is under way")]
    Changed {
        /// The option, by its path: `seen.layout`.
        option: String,
    },
    /// A file that this process writes to was changed by somebody else.
    #[error("{} {problem}", path.display())]
    Disturbed {
        /// The file.
        path: PathBuf,
        /// What happened to it, and what was done about it.
        problem: String,
    },
    /// One of its files cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The frontier refuses an option.
    #[error(transparent)]
    Frontier(#[from] OptionError),
    /// No checkpoint is whole, and the journal is not enough without one: parts of it were removed, and only checkpoints hold what
    /// was in them.
    #[error(
        "no checkpoint is whole ({}), and without one the journal is not enough; put back a copy of what is damaged, or start \
         afresh with --overwrite",
        each_once(damaged)
    )]
    Irreparable {
        /// What is wrong with each checkpoint, the newest first.
        damaged: Vec<CheckpointError>,
        /// Why the journal is not enough.
        #[source]
        journal: JournalError,
    },
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The job no longer belongs to this process.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A URL passed the gate and could not be written to the journal. A checkpoint of the seen set would lose it for ever. Without
    /// the checkpoint, the URL is found again after the frontier is reopened.
    #[error("{} lacks a URL that could not be written before; open it again", path.display())]
    Lost {
        /// The journal's directory.
        path: PathBuf,
    },
    /// The seen set cannot be read.
    #[error("{}", path.display())]
    Seen {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SnapshotError,
    },
}

impl CheckpointError {
    /// Takes a checkpoint error back out of an [`io::Error`]; any other error becomes an error of reading this path.
    pub(in crate::job) fn of_io(error: io::Error, path: PathBuf) -> Self {
        error.downcast().unwrap_or_else(|source| FileError::Io { action: "read", path, source }.into())
    }

    /// The error for a journal that cannot be opened when these checkpoints are damaged. `has_checkpoint`: another one could be
    /// used.
    pub(in crate::job) fn of_journal(journal: JournalError, damaged: Vec<Self>, has_checkpoint: bool) -> Self {
        match journal {
            JournalError::File(FileError::Damaged { .. }) | JournalError::Beyond { .. }
                if !has_checkpoint && !damaged.is_empty() =>
            {
                Self::Irreparable { damaged, journal }
            }
            journal => Self::Journal(journal),
        }
    }

    /// Whether a file is gone or damaged. Restoring a copy would help, and so may a repair; the command offers both.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Irreparable { .. } => true,
            Self::Journal(error) => {
                matches!(
                    error,
                    JournalError::File(FileError::Damaged { .. })
                        | JournalError::Beyond { .. }
                        | JournalError::NoEntry(_)
                )
            }
            error => error.is_damage(),
        }
    }

    /// Whether this checkpoint's files are damaged, so that an earlier one may be used. A later format of its own files is not
    /// damage: what a later version wrote is not passed over for something older.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::File(error) => error.is_loss(),
            Self::Seen { source, .. } => match source {
                // A checkpoint of this version has a snapshot of this version. Any other snapshot was not written with it.
                SnapshotError::Damaged { .. }
                | SnapshotError::Short { .. }
                | SnapshotError::Unknown
                | SnapshotError::Version { .. } => true,
                SnapshotError::Read { source, .. } => source.kind() == io::ErrorKind::NotFound,
                _ => false,
            },
            _ => false,
        }
    }
}

/// The messages without repeats: two checkpoints may share a damaged file.
fn each_once(damaged: &[CheckpointError]) -> String {
    let mut messages: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    messages.dedup();
    messages.join("; ")
}

impl From<CheckpointError> for io::Error {
    /// Keeps the kind of a file's error, and the error itself, which can be taken out again.
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::File(ref file) => Self::new(file.kind(), error),
            _ => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}
