//! Why a command ends before its end, and by which exit code.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::iter;

use super::exit::Exit;

/// Why a command ends before its end.
#[derive(Debug)]
pub(super) struct CommandError {
    pub(super) exit: Exit,
    /// One a line; none where there is nobody to tell.
    pub(super) messages: Vec<String>,
}

impl CommandError {
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
        assert_eq!(CommandError::caused(Exit::Failed, "a", &wrapped).exit, Exit::NotKept);
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        assert_eq!(CommandError::caused(Exit::Failed, "a", &denied).exit, Exit::Failed);
    }
}
