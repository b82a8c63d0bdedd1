//! The errors of the command: why it ends early, and the exit codes.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::iter;
use std::path::Path;
use std::process::ExitCode;

use super::job_file;

/// Why a command ends early.
#[derive(Debug)]
pub(super) struct CommandError {
    pub(super) exit: Exit,
    /// One line each; empty if there is nothing to say.
    pub(super) messages: Vec<String>,
}

impl CommandError {
    /// An error that the message describes in full.
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, messages: vec![message.into()] }
    }

    /// An error with its causes after the message, and advice if they name a file of a job. If one of them is a full
    /// disk, the exit code says that instead.
    pub(super) fn caused(exit: Exit, message: &str, error: &(dyn Error + 'static)) -> Self {
        let causes = iter::successors(Some(error), |&error| error.source());
        let exit = if causes.clone().any(is_full) { Exit::NotKept } else { exit };
        let advice = causes.clone().find_map(job_file::advice_of);
        let message = causes.map(ToString::to_string).fold(message.to_owned(), |message, cause| {
            // Some errors display their source too.
            match message.is_empty() {
                true => cause,
                false if message.ends_with(&cause) => message,
                false => format!("{message}: {cause}"),
            }
        });
        advice.into_iter().fold(Self::new(exit, message), Self::and)
    }

    /// For `map_err`: like [`caused`](Self::caused).
    pub(super) fn of<E: Error + 'static>(exit: Exit, message: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |error| Self::caused(exit, &message.into(), &error)
    }

    /// For `map_err`: a file that cannot be read or written, with advice if it belongs to a job.
    pub(super) fn cannot(exit: Exit, action: &str, file: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let (message, file) = (format!("cannot {action} {}", file.display()), file.to_owned());
        move |error| {
            let failure = Self::caused(exit, &message, &error);
            job_file::advice(&file, &error).into_iter().fold(failure, Self::and)
        }
    }

    /// For `map_err`: a file that cannot be written, or a job's file that could not be read for it.
    pub(super) fn unwritten(exit: Exit, file: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| {
            if job_file::is_unread(&error) {
                return Self::caused(Exit::Failed, "", &error);
            }
            Self::cannot(exit, "write", file)(error)
        }
    }

    /// An error as one text, for people who watch a crawl.
    pub(super) fn text_of(error: &(dyn Error + 'static)) -> String {
        Self::caused(Exit::Failed, "", error).messages.join("; ")
    }

    /// Nothing is left to do or to say.
    pub(super) fn quiet() -> Self {
        Self { exit: Exit::Done, messages: Vec::new() }
    }

    /// Adds a line of advice, once.
    pub(super) fn and(mut self, advice: String) -> Self {
        if !self.messages.contains(&advice) {
            self.messages.push(advice);
        }
        self
    }

    /// User input that cannot be used.
    pub(super) fn refused(messages: Vec<String>) -> Self {
        Self { exit: Exit::Usage, messages }
    }
}

/// Whether a disk or a quota is full, or a file has reached its size limit.
fn is_full(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(error.kind(), ErrorKind::FileTooLarge | ErrorKind::QuotaExceeded | ErrorKind::StorageFull)
            || error.get_ref().is_some_and(|inner| {
                iter::successors(Some(inner as &(dyn Error + 'static)), |&error| error.source()).any(is_full)
            })
    })
}

/// The exit codes, and the only place that numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    NothingCrawled = 3,
    NotKept = 4,
    ForeignJob = 5,
    Broken = 6,
    HungUp = 129,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    /// What each code means, in the order of the help.
    pub(super) const MEANINGS: [(Self, &str); 10] = [
        (Self::Done, "the crawl is drained, or a limit was reached"),
        (Self::Failed, "something failed at run time"),
        (Self::Usage, "flags, environment or configuration cannot be used"),
        (Self::NothingCrawled, "nothing was crawled: every seed failed, or was answered by an error"),
        (Self::NotKept, "the disk is full or failing: the job can be resumed once there is space"),
        (Self::ForeignJob, "the job directory is another crawl's, another process's, another version's, or no job's"),
        (Self::Broken, "crawler broken --check: there are broken links"),
        (Self::HungUp, "stopped by the end of its terminal, after finishing what was in flight"),
        (Self::Interrupted, "stopped by Ctrl-C, after finishing what was in flight"),
        (Self::Terminated, "stopped by SIGTERM, after finishing what was in flight"),
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_sets_the_exit_code_at_any_depth() {
        let full = io::Error::from(ErrorKind::StorageFull);
        let wrapped = io::Error::other(io::Error::other(full));
        assert_eq!(CommandError::caused(Exit::Failed, "a", &wrapped).exit, Exit::NotKept);
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        assert_eq!(CommandError::caused(Exit::Failed, "a", &denied).exit, Exit::Failed);
    }
}
