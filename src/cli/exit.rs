//! The exit codes of the command.

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
        (Self::Usage, "flags, environment or configuration make no sense"),
        (Self::NothingCrawled, "nothing was crawled: every seed failed, or was answered by an error"),
        (Self::NotKept, "the disk is full or failing: the job can be resumed once there is room"),
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
