//! "Why was this URL not fetched?", asked of a job.

use super::Job;
use super::checkpoint::CheckpointError;
use super::look::replay;
use super::trail::Trail;
use crate::address::{CanonicalUrl, Canonicalizer};
use crate::frontier::{Explanation, FrontierOptions, Record, Timestamp};

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
    // Without limits: they may be lower than when a URL was admitted.
    let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX);
    let mut trails: Vec<Trail<'_>> = urls.iter().map(Trail::of).collect();
    let mut limit = None;
    let (mut replay, mut journal, is_whole) = replay(job, options, |position, record| {
        limit = if let Record::Limited { limit } = record { Some(*limit) } else { None };
        for trail in &mut trails {
            trail.record(position, record, &canonicalizer);
        }
    })?;
    let explanations = trails.into_iter().zip(urls).map(|(trail, url)| {
        let history = trail.history(!is_whole);
        let explanation = replay.explain(&mut journal, url, history, now);
        explanation.map(|explanation| Explanation { limit, ..explanation })
    });
    let explanations = explanations.collect::<Result<_, _>>();
    let explanations = explanations.map_err(|error| CheckpointError::of_io(error, job.frontier_directory()))?;
    Ok(Explained { explanations, damaged: journal.into_opening().damaged })
}
