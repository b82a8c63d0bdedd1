//! `crawler unmet`: pages of a job that a later crawl did not meet.

use std::io::Write;
use std::path::Path;

use super::command_error::CommandError;
use super::exit::Exit;
use super::output::{self, print};
use super::unfit::refused;
use crate::crawl::{CrawlError, KnownPages};

/// Prints the keys of the old job's pages that the new job has not visited.
pub(super) fn unmet(old: &Path, new: &Path) -> Result<(), CommandError> {
    let scratch = std::env::temp_dir();
    let failed = |error: CrawlError| match error {
        CrawlError::Job(error) => refused(&error),
        error => CommandError::caused(Exit::ForeignJob, "no visits to compare", &error),
    };
    let [before, after] = [KnownPages::open(old, &scratch), KnownPages::open(new, &scratch)];
    let (before, after) = (before.map_err(failed)?, after.map_err(failed)?);
    for job in [&before, &after] {
        if let Some(offset) = job.damaged_at() {
            output::warn(&format!("{} is damaged at byte {offset}, and read up to there", job.path().display()));
        }
    }
    let mut lines = Vec::new();
    let unmet = before.unmet_by(&after, |key| writeln!(lines, "{key}"));
    unmet.map_err(CommandError::of(Exit::Failed, "cannot read the visits"))?;
    print(|out| out.write_all(&lines))
}
