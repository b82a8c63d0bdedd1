//! A job's frontier as it stands, whoever holds the job: looked at, and left as it is.

use std::env;
use std::path::PathBuf;

use super::Job;
use super::checkpoint::{CheckpointError, Checkpoints, KeptJournal};
use super::journal::{Disk, FileJournal, Needs};
use crate::frontier::{Frontier, FrontierOptions, Replay, Timestamp};
use crate::gate::Position;

/// What a job's files say of its frontier.
#[derive(Debug)]
#[non_exhaustive]
pub struct Looked {
    /// As it would be resumed. Nothing can be written to its journal.
    pub frontier: Frontier<KeptJournal>,
    /// The checkpoint that it was made of; `None` where there was none.
    pub checkpoint: Option<u64>,
    /// Records of the journal behind that.
    pub records: u64,
    /// Bytes of the output that the journal speaks of.
    pub output: u64,
    /// Of these, those that were there at the checkpoint.
    pub counted: u64,
    /// What the owner of the job kept in the checkpoint.
    pub extra: Vec<u8>,
    /// Checkpoints that are damaged, and were passed over.
    pub damaged: Vec<CheckpointError>,
}

/// Makes a frontier of a job's newest checkpoint and the journal behind it: of a job that is finished, stopped, killed, or held by
/// another process just now, then as of its last flush. No lock is taken and nothing is written, so a read-only directory will do;
/// with the verified layout, fingerprints go through the directory for temporary files.
///
/// # Errors
/// Where a file is another job's or of a later format, the journal is damaged before its end, or an option is another than that
/// of the job; where the file system refuses.
pub fn look(job: &Job, options: &FrontierOptions, now: Timestamp) -> Result<Looked, CheckpointError> {
    let directory = job.frontier_directory();
    let id = job.manifest().id;
    let mut options = options.clone();
    options.fingerprint_key = Some(job.manifest().fingerprint_key);
    options.seen.directory = Some(env::temp_dir());
    let mut damaged = Vec::new();
    // Before the journal: what that is found to have is then never less than what a checkpoint builds on.
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&directory), id)?;
    let newest = checkpoints.newest(&options, &mut damaged)?;
    let (checkpoint, mut replay, needs, synced, extra) = match newest {
        Some((number, replay, summary)) => {
            (Some(number), replay, summary.needs, summary.counts.position, summary.extra)
        }
        None => (None, Replay::new(&options, None)?, Needs::default(), Position::default(), Vec::new()),
    };
    let counted = replay.output();
    let mut recalled = Ok(());
    let looked = FileJournal::look(Disk::for_reading(&directory), id, &needs, synced, |position, record| {
        if position >= needs.from() && recalled.is_ok() {
            recalled = replay.record(position, &record, |_| true, |key| checkpoints.host(key));
        }
    });
    let (journal, _) = match looked {
        Ok(looked) => looked,
        Err(error) => return Err(CheckpointError::of_journal(error, damaged, checkpoint.is_some())),
    };
    recalled.map_err(|error| CheckpointError::of_io(error, directory))?;
    let journal = checkpoints.keep(journal);
    let (records, output) = (replay.records(), replay.output());
    Ok(Looked { frontier: replay.finish(journal, now), checkpoint, records, output, counted, extra, damaged })
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
