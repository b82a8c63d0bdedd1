use std::env;

use super::Job;
use super::checkpoint::{CheckpointError, Checkpoints};
use super::journal::{Disk, FileJournal, Needs};
use super::trail::Trail;
use crate::address::{CanonicalUrl, Canonicalizer};
use crate::frontier::{Explanation, FrontierOptions, Record, Replay, Timestamp};
use crate::gate::Position;

/// What a job says of some URLs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// One for each URL, in the order asked; page records are still to be looked up.
    pub explanations: Vec<Explanation>,
    /// Checkpoints that are damaged, and were passed over.
    pub damaged: Vec<CheckpointError>,
}

/// "Why were these URLs not fetched?", asked of a job that is finished, stopped, killed, or crawled by another process just
/// now, then as of its last flush. Nothing is written, so a read-only directory will do; with the verified layout, its
/// fingerprints go through the directory for temporary files.
///
/// The newest checkpoint is loaded and the journal read once from end to end: it takes the memory of a resume, and as long as
/// the disk takes for the whole journal.
///
/// # Errors
/// Where a file is another job's or of a later format, the journal is damaged before its end, or an option is another than that
/// of the job; where the file system refuses.
pub fn explain(
    job: &Job,
    options: &FrontierOptions,
    urls: &[CanonicalUrl],
    now: Timestamp,
) -> Result<Explained, CheckpointError> {
    let directory = job.frontier_directory();
    let id = job.manifest().id;
    let mut options = options.clone();
    options.fingerprint_key = Some(job.manifest().fingerprint_key);
    options.seen.directory = Some(env::temp_dir());
    let mut damaged = Vec::new();
    // Before the journal: what that is found to have is then never less than what a checkpoint builds on.
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&directory), id)?;
    let newest = checkpoints.newest(&options, &mut damaged)?;
    let has_checkpoint = newest.is_some();
    let (mut replay, needs, synced) = match newest {
        Some((_, replay, summary)) => (replay, summary.needs, summary.counts.position),
        None => (Replay::new(&options, None)?, Needs::default(), Position::default()),
    };
    // Without limits: they may be lower than when a URL was admitted.
    let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX);
    let mut trails: Vec<Trail<'_>> = urls.iter().map(Trail::of).collect();
    let mut recalled = Ok(());
    let mut limit = None;
    let disk = Disk::for_reading(&directory);
    let looked = FileJournal::look(disk, id, &needs, synced, |position, record| {
        if position >= needs.from() && recalled.is_ok() {
            // Whether the output has what it should is seen where a record is looked up.
            recalled = replay.record(position, &record, |_| true, |key| checkpoints.host(key));
        }
        limit = if let Record::Limited { limit } = record { Some(limit) } else { None };
        for trail in &mut trails {
            trail.record(position, &record, &canonicalizer);
        }
    });
    let (journal, is_whole) = match looked {
        Ok(looked) => looked,
        Err(error) => return Err(CheckpointError::of_journal(error, damaged, has_checkpoint)),
    };
    let mut journal = checkpoints.keep(journal);
    let read = |error| CheckpointError::of_io(error, directory.clone());
    recalled.map_err(read)?;
    let explanations = trails.into_iter().zip(urls).map(|(trail, url)| {
        let history = trail.history(!is_whole);
        let explanation = replay.explain(&mut journal, url, history, now);
        explanation.map(|explanation| Explanation { limit, ..explanation })
    });
    let explanations = explanations.collect::<Result<_, _>>().map_err(read)?;
    Ok(Explained { explanations, damaged })
}
