//! How the command ends.

use std::error::Error;
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
            Self::ForeignJob => "the job directory is another process's, another version's, or no job's",
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

    /// With an error that lies below, and those below it.
    pub(super) fn caused(exit: Exit, message: &str, error: &(dyn Error + 'static)) -> Self {
        let causes = iter::successors(Some(error), |&error| error.source());
        let message = causes.map(ToString::to_string).fold(message.to_owned(), |message, cause| {
            // Some errors display their source too.
            if message.ends_with(&cause) { message } else { format!("{message}: {cause}") }
        });
        Self::new(exit, message)
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
