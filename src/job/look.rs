//! A job's frontier as it stands, whoever holds the job: looked at, and left as it is.

use std::env;
use std::path::PathBuf;

use super::Job;
use super::checkpoint::{CheckpointError, Checkpoints, JobJournal, reread};
use super::journal::Disk;
use crate::address::KeyRules;
use crate::frontier::{Frontier, FrontierOptions, Record, Resume, Timestamp};
use crate::gate::Position;

/// Makes a frontier of a job's newest checkpoint and the journal behind it: of a job that is finished, stopped, killed, or held by
/// another process just now, then as of its last flush. What was found is in its journal's [opening](JobJournal::opening). No lock is
/// taken and nothing is or can be written, so a read-only directory will do; with the verified layout, fingerprints go through the
/// directory for temporary files.
///
/// # Errors
/// Where a file is another job's or of a later format, the journal is damaged before its end, or an option is another than that
/// of the job; where the file system refuses.
pub fn look(job: &Job, options: &FrontierOptions, now: Timestamp) -> Result<Frontier<JobJournal>, CheckpointError> {
    let (replay, journal, _) = replay(job, options, |_, _| {})?;
    Ok(replay.finish(journal, now))
}

/// A job's frontier on its way back, and its journal, of which each record is shown; whether none of its segments was removed.
pub(super) fn replay(
    job: &Job,
    options: &FrontierOptions,
    show: impl FnMut(Position, &Record<'_>),
) -> Result<(Resume, JobJournal, bool), CheckpointError> {
    let disk = || Disk::for_reading(&job.frontier_directory());
    let mut options = options.clone();
    options.fingerprint_key = Some(job.manifest().fingerprint_key);
    options.seen.directory = Some(env::temp_dir());
    // Before the journal: what that is found to have is then never less than what a checkpoint builds on.
    let mut checkpoints = Checkpoints::look(disk(), job.manifest().id)?;
    checkpoints.takes_any_seen = true;
    reread(disk(), checkpoints, &options, show)
}

/// What the owner of a job kept in its newest checkpoint that can be read; `None` where there is none. Reads that checkpoint's
/// summary only.
///
/// # Errors
/// Where the directory cannot be read.
pub fn newest_extra(job: &Job) -> Result<Option<Vec<u8>>, CheckpointError> {
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&job.frontier_directory()), job.manifest().id)?;
    Ok(checkpoints.newest_summary().map(|(_, summary)| summary.extra))
}

/// The rules on keys that a job's newest checkpoint was written with; `None` where it has none yet.
///
/// # Errors
/// Where the directory cannot be read.
pub fn newest_keys(job: &Job) -> Result<Option<KeyRules>, CheckpointError> {
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&job.frontier_directory()), job.manifest().id)?;
    Ok(checkpoints.newest_summary().map(|(_, summary)| summary.keys))
}

/// Where the seen set of a job's newest checkpoint is; `None` where it has none yet.
///
/// # Errors
/// Where the directory cannot be read.
pub fn newest_seen(job: &Job) -> Result<Option<PathBuf>, CheckpointError> {
    let directory = job.frontier_directory();
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&directory), job.manifest().id)?;
    let newest = checkpoints.newest_summary().filter(|(_, summary)| summary.has_seen);
    Ok(newest.map(|(number, _)| directory.join(Checkpoints::<Disk>::seen_name(number))))
}
