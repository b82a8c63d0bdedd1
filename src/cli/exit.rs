//! How the command ends.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::iter;
use std::process::ExitCode;

/// The exit codes, and the only place that numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    NothingCrawled = 3,
    NotKept = 4,
    ForeignJob = 5,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    /// All of them, in the order of the help.
    pub(super) const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::NothingCrawled,
        Self::NotKept,
        Self::ForeignJob,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// What the code says, for the help.
    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "the crawl is drained, or a limit was reached",
            Self::Failed => "something failed at run time",
            Self::Usage => "flags, environment or configuration make no sense",
            Self::NothingCrawled => "nothing was crawled: every seed failed",
            Self::NotKept => "the disk is full or failing: the job can be resumed once there is room",
            Self::ForeignJob => {
                "the job directory is another crawl's, another process's, another version's, or no job's"
            }
            Self::Interrupted => "stopped by Ctrl-C, after finishing what was in flight",
            Self::Terminated => "stopped by SIGTERM, after finishing what was in flight",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ends before its end.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    /// One a line; none where there is nobody to tell.
    pub(super) messages: Vec<String>,
}

impl Failure {
    /// With a message that says everything.
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, messages: vec![message.into()] }
    }

    /// With an error that lies below, and those below it. Where that is a full disk, the exit code says so, whatever was done.
    pub(super) fn caused(exit: Exit, message: &str, error: &(dyn Error + 'static)) -> Self {
        let causes = iter::successors(Some(error), |&error| error.source());
        let exit = if causes.clone().any(is_full) { Exit::NotKept } else { exit };
        let message = causes.map(ToString::to_string).fold(message.to_owned(), |message, cause| {
            // Some errors display their source too.
            if message.ends_with(&cause) { message } else { format!("{message}: {cause}") }
        });
        Self::new(exit, message)
    }

    /// Nothing is left to do, and nobody to tell.
    pub(super) fn quiet() -> Self {
        Self { exit: Exit::Done, messages: Vec::new() }
    }

    /// The same, with what to do about it on a line of its own.
    pub(super) fn and(mut self, advice: String) -> Self {
        self.messages.push(advice);
        self
    }

    /// What a user gave and cannot be taken.
    pub(super) fn refused(messages: Vec<String>) -> Self {
        Self { exit: Exit::Usage, messages }
    }
}

/// Whether a disk, a quota or the largest file allowed is full.
fn is_full(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(error.kind(), ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded | ErrorKind::StorageFull)
            || error.get_ref().is_some_and(|inner| {
                iter::successors(Some(inner as &(dyn Error + 'static)), |&error| error.source()).any(is_full)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_by_the_code_however_deep_it_lies() {
        let full = io::Error::from(ErrorKind::StorageFull);
        let wrapped = io::Error::other(io::Error::other(full));
        assert_eq!(Failure::caused(Exit::Failed, "a", &wrapped).exit, Exit::NotKept);
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        assert_eq!(Failure::caused(Exit::Failed, "a", &denied).exit, Exit::Failed);
    }
}
