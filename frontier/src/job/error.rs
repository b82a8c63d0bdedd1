//! The error of a directory that cannot be used as a job.

use std::path::PathBuf;

use crate::bytes::FileError;

/// Why a directory cannot be used as a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A job was drafted here and not begun: the process that drafted it ended before it had written the seeds.
    #[error("{} holds a job that was not begun: run the command that was to begin it once more, with its seeds", path.display())]
    Draft {
        /// The directory.
        path: PathBuf,
    },
    /// A line of the list of drops is not a rule.
    #[error("{}:{line}: {problem}", path.display())]
    Dropped {
        /// The list.
        path: PathBuf,
        /// 1-based line number.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// There is a job already.
    #[error("{} belongs to another crawl; --overwrite starts afresh", path.display())]
    Exists {
        /// The manifest that is there.
        path: PathBuf,
    },
    /// One of its files cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process crawls into it.
    #[error("{} is locked: another process crawls into this directory", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The manifest is damaged.
    #[error("{}:{line}: {problem}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// 1-based line number.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// There is no job.
    #[error("{} holds no job: there is no manifest", path.display())]
    NoJob {
        /// The directory.
        path: PathBuf,
    },
    /// The job was begun, so it had a journal, but the journal is gone.
    #[error("{} has neither journal nor checkpoints: put its files back, or start afresh with --overwrite", path.display())]
    NoJournal {
        /// Where they should be.
        path: PathBuf,
    },
    /// The version that created the job makes other keys or fingerprints than this one.
    #[error("{} has {what} {found}, but this version of crawler has {known}: use the version that created the job", path.display())]
    Strategy {
        /// The manifest.
        path: PathBuf,
        /// `fingerprint_strategy` or `key_rules`.
        what: &'static str,
        /// The job's.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The lock was removed or replaced while it was held: another process may crawl into the directory.
    #[error("{} was removed or replaced while this process held it: another process may crawl into this directory", path.display())]
    Unlocked {
        /// The lock file.
        path: PathBuf,
    },
    /// The directory has files that belong to no job. The crate neither deletes them nor writes among them.
    #[error("{} is not part of a job; give an empty or a new directory", path.display())]
    Occupied {
        /// A file that is there.
        path: PathBuf,
    },
}

impl JobError {
    /// Whether another job, process or version stands in the way: exit code 5 of the command.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::Draft { .. }
                | Self::Exists { .. }
                | Self::Locked { .. }
                | Self::File(FileError::Newer { .. })
                | Self::Occupied { .. }
                | Self::Strategy { .. }
                | Self::Unlocked { .. }
        )
    }
}
