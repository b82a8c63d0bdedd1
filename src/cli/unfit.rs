//! Errors of the lower floors, with the setting to change or the directory to look at.

use std::io;

use super::command_error::CommandError;
use super::exit::Exit;
use super::job_file::how_to_mend;
use super::layers::Layers;
use crate::crawl::{CrawlError, FetcherError};
use crate::gate::OptionError;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, JobError};
use crate::seen::SeenError;

/// The error for a setting that a lower floor refuses, with its origin.
pub(super) fn unfit(layers: &Layers, error: &CrawlError) -> CommandError {
    match of_frontier(error) {
        Some(OptionError::Option { option, reason, .. }) => {
            return CommandError::new(Exit::Usage, layers.refusal(option, reason));
        }
        Some(OptionError::Seen(SeenError::Option { option, reason, .. })) => {
            return CommandError::new(Exit::Usage, layers.refusal(&format!("seen.{option}"), reason));
        }
        Some(OptionError::Seen(SeenError::Memory { bytes, .. })) => {
            let reason = format!("takes {bytes} bytes, more than this machine gives");
            return CommandError::new(Exit::Usage, layers.refusal("seen.capacity", &reason));
        }
        _ => {}
    }
    let (key, reason) = match error {
        CrawlError::Fetcher(FetcherError::Header { option, .. }) => (*option, "cannot stand in a header"),
        // The message holds no secret: given values are not secret, and an unreadable one is only named.
        CrawlError::Fetcher(FetcherError::Access(error)) => return CommandError::new(Exit::Usage, error.to_string()),
        CrawlError::Checkpoint(CheckpointError::Changed { option }) => {
            let reason = "cannot be changed in a crawl that is under way; --overwrite starts afresh";
            return CommandError::new(Exit::Usage, layers.refusal(option, reason));
        }
        CrawlError::Checkpoint(error @ CheckpointError::File(FileError::Newer { .. } | FileError::Foreign { .. })) => {
            return CommandError::caused(Exit::ForeignJob, "job", error);
        }
        CrawlError::Checkpoint(cause) => {
            let failure = CommandError::caused(Exit::NotKept, "job", error);
            return if cause.is_loss() { failure.and(how_to_mend(&layers.settings.job.dir)) } else { failure };
        }
        CrawlError::Output { .. } | CrawlError::Record { .. } => {
            return CommandError::caused(Exit::NotKept, "job", error).and(how_to_mend(&layers.settings.job.dir));
        }
        CrawlError::Job(_) | CrawlError::Unknown { .. } => return CommandError::caused(Exit::NotKept, "job", error),
        error => return CommandError::caused(Exit::Failed, "cannot start the crawl", error),
    };
    CommandError::new(Exit::Usage, layers.refusal(key, reason))
}

/// The frontier's own error, whether it came from a new job or a resumed one.
fn of_frontier(error: &CrawlError) -> Option<&OptionError> {
    match error {
        CrawlError::Frontier(error) | CrawlError::Checkpoint(CheckpointError::Frontier(error)) => Some(error),
        _ => None,
    }
}

/// The error for a job that cannot be opened.
pub(super) fn refused(error: &JobError) -> CommandError {
    let is_file = |source: &io::Error| source.kind() == io::ErrorKind::NotADirectory;
    match error {
        JobError::NoJob { .. } => CommandError::caused(Exit::ForeignJob, "job", error)
            .and("a job is made by a crawl: crawler https://example.org/ --job DIR".to_owned()),
        JobError::File(FileError::Io { source, .. }) if is_file(source) => {
            CommandError::caused(Exit::ForeignJob, "job", error)
        }
        error if error.is_conflict() => CommandError::caused(Exit::ForeignJob, "job", error),
        error => CommandError::caused(Exit::Failed, "job", error),
    }
}
