//! What can be wrong with a checkpoint.

use std::io;
use std::path::PathBuf;

use crate::bytes::FileError;
use crate::gate::OptionError;
use crate::job::JobError;
use crate::job::journal::JournalError;
use crate::seen::SnapshotError;

/// Why a checkpoint cannot be written or read, or a frontier not be made of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// An option on which the job's files depend is another than when it was created.
    #[error("{option} cannot be changed in a job that is under way")]
    Changed {
        /// The option, by its path: `seen.layout`.
        option: String,
    },
    /// A file that is written to is not as it was left: somebody else has had his hands on it.
    #[error("{} {problem}", path.display())]
    Disturbed {
        /// The file.
        path: PathBuf,
        /// What has become of it, and what was done about it.
        problem: String,
    },
    /// Of one of its files.
    #[error(transparent)]
    File(#[from] FileError),
    /// The frontier's options.
    #[error(transparent)]
    Frontier(#[from] OptionError),
    /// No checkpoint is whole, and the journal cannot do without one: of what was removed from it, only they tell.
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
    /// The job is not this process's any more.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A URL passed the gate and could not be written to the journal: with a checkpoint of the seen set, it would never be
    /// found again. Without, it is, once the frontier is opened again.
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
    /// One of ours that was told as another's, or another's.
    pub(in crate::job) fn of_io(error: io::Error, path: PathBuf) -> Self {
        error.downcast().unwrap_or_else(|source| FileError::Io { action: "read", path, source }.into())
    }

    /// Why the journal cannot be opened, where these checkpoints were damaged, and none or another one serves.
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

    /// A file is gone, or is not what was written: a copy of it would do, and what is left may.
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

    /// An earlier checkpoint may serve: this one's files are not what was written.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::File(error) => error.is_loss(),
            Self::Seen { source, .. } => match source {
                // A snapshot's version is its checkpoint's too: another one is not what was written.
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

/// Two checkpoints may share what is damaged.
fn each_once(damaged: &[CheckpointError]) -> String {
    let mut messages: Vec<String> = damaged.iter().map(ToString::to_string).collect();
    messages.dedup();
    messages.join("; ")
}

impl From<CheckpointError> for io::Error {
    fn from(error: CheckpointError) -> Self {
        match error {
            CheckpointError::File(ref file) => Self::new(file.kind(), error),
            _ => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}
