//! How a job's frontier is read without changing anything, even while another process holds the job.

use std::env;
use std::path::PathBuf;

use super::Job;
use super::checkpoint::{CheckpointError, Checkpoints, JobJournal, Summary, reread};
use super::journal::Disk;
use crate::address::KeyRules;
use crate::frontier::{Frontier, FrontierOptions, Record, Resume, Timestamp};
use crate::gate::Position;

/// Restores the frontier of a job from its newest checkpoint and the journal after it, to read it. The job may be finished, stopped,
/// killed, or held by another process; then everything up to its last flush counts. Its [opening](Frontier::opening) says what was
/// found. No lock is taken, and nothing can be written, so a read-only directory will do. With the verified layout, fingerprints go
/// through the directory for temporary files.
///
/// # Errors
/// If a file is another job's or of a later format, the journal is damaged before its end, an option differs from the job's, or the
/// file system refuses.
pub fn look(job: &Job, options: &FrontierOptions, now: Timestamp) -> Result<Frontier<JobJournal>, CheckpointError> {
    let (replay, journal, _) = replay(job, options, |_, _| {})?;
    replay.finish(journal, now).map_err(|error| CheckpointError::of_io(error, job.frontier_directory()))
}

/// Replays a job's journal and shows each record. Returns the frontier as it is being restored, the journal, and whether all of the
/// journal's segments are there.
pub(super) fn replay(
    job: &Job,
    options: &FrontierOptions,
    show: impl FnMut(Position, &Record<'_>),
) -> Result<(Resume, JobJournal, bool), CheckpointError> {
    let disk = || Disk::for_reading(&job.frontier_directory());
    let mut options = options.clone();
    options.fingerprint_key = Some(job.manifest().fingerprint_key);
    options.seen.directory = Some(env::temp_dir());
    job.drop_by(&mut options)?;
    // Checkpoints are looked for before the journal. So the journal that is found reaches at least as far as they do.
    let mut checkpoints = Checkpoints::look(disk(), job.manifest().id)?;
    checkpoints.takes_any_seen = true;
    reread(disk(), checkpoints, &options, show)
}

/// The bytes that the job's owner kept in the newest readable checkpoint; `None` if there is none. Reads only its summary.
///
/// # Errors
/// If the directory cannot be read.
pub fn newest_extra(job: &Job) -> Result<Option<Vec<u8>>, CheckpointError> {
    Ok(newest(job)?.map(|(_, summary)| summary.extra))
}

/// The rules on keys in the job's newest checkpoint; `None` if there is no checkpoint yet.
///
/// # Errors
/// If the directory cannot be read.
pub fn newest_keys(job: &Job) -> Result<Option<KeyRules>, CheckpointError> {
    Ok(newest(job)?.map(|(_, summary)| summary.keys))
}

/// The file of the seen set in the job's newest checkpoint; `None` if there is none yet.
///
/// # Errors
/// If the directory cannot be read.
pub fn newest_seen(job: &Job) -> Result<Option<PathBuf>, CheckpointError> {
    let newest = newest(job)?.filter(|(_, summary)| summary.has_seen);
    Ok(newest.map(|(number, _)| job.frontier_directory().join(Checkpoints::<Disk>::seen_name(number))))
}

/// The newest readable summary of a job's checkpoints, and its number. Takes no lock.
fn newest(job: &Job) -> Result<Option<(u64, Summary)>, CheckpointError> {
    Ok(Checkpoints::look(Disk::for_reading(&job.frontier_directory()), job.manifest().id)?.newest_summary())
}
