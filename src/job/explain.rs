//! "Why was this URL not fetched?", asked of a job.

use super::Job;
use super::checkpoint::{CheckpointError, Opening};
use super::look::replay;
use super::trail::Trail;
use crate::address::{CanonicalUrl, Canonicalizer};
use crate::frontier::{Explanation, FrontierOptions, Record, Timestamp};
use crate::gate::{Found, Position};

/// What a job knows about some URLs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// One for each URL, in the order asked. Page records are not looked up yet.
    pub explanations: Vec<Explanation>,
    /// Checkpoints that were damaged and skipped.
    pub damaged: Vec<CheckpointError>,
    /// The job was opened again after its newest checkpoint: a run is under way, or was killed.
    pub is_resumed: bool,
}

/// Says why these URLs were not fetched, for a job that is finished, stopped, killed, or under way in another process. If the job is
/// under way, everything up to its last flush counts. Nothing is written, so a read-only directory will do. With the verified
/// layout, the fingerprints go through the directory for temporary files.
///
/// Loads the newest checkpoint and reads the whole journal once. That takes the memory of a resume, and the time that the disk needs
/// for the journal.
///
/// ```
/// use crawler::address::{Canonicalizer, KeyRules};
/// use crawler::frontier::{Frontier, FrontierOptions, Timestamp};
/// use crawler::job::{Job, explain};
///
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path();
/// let (options, now) = (FrontierOptions::default(), Timestamp::from_micros(0));
/// let mut frontier = Frontier::open(directory, &options, now)?;
/// frontier.seed("https://example.org/", now)?;
/// frontier.flush(now)?;
///
/// // From here on, another process would do as well.
/// let job = Job::open_for_reading(directory)?;
/// let canonicalizer = Canonicalizer::new(&KeyRules::default());
/// let url = canonicalizer.canonicalize("https://EXAMPLE.org/?utm_source=mail")?;
/// let explained = explain(&job, &options, &[url], now)?;
/// println!("{}", explained.explanations[0]);
/// # assert!(explained.explanations[0].to_string().contains("queue"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a file is another job's or of a later format, the journal is damaged before its end, an option differs from the job's, or the
/// file system refuses.
pub fn explain(
    job: &Job,
    options: &FrontierOptions,
    urls: &[CanonicalUrl],
    now: Timestamp,
) -> Result<Explained, CheckpointError> {
    explain_among(job, options, &[], urls, now)
}

/// As [`explain`], with a scope that also includes what these seeds of other partitions open.
pub(crate) fn explain_among(
    job: &Job,
    options: &FrontierOptions,
    seeds: &[Found],
    urls: &[CanonicalUrl],
    now: Timestamp,
) -> Result<Explained, CheckpointError> {
    // No length limit: it may be lower now than when a URL was admitted.
    let canonicalizer = Canonicalizer::new(&options.keys).with_max_bytes(usize::MAX);
    let mut trails: Vec<Trail<'_>> = urls.iter().map(Trail::of).collect();
    let mut resumed_at = Position::default();
    let (mut replay, mut journal, is_whole) = replay(job, options, |position, record| {
        if matches!(record, Record::Resumed { .. }) {
            resumed_at = position;
        }
        for trail in &mut trails {
            trail.record(position, record, &canonicalizer);
        }
    })?;
    for seed in seeds {
        replay.widen(seed);
    }
    let explanations = trails.into_iter().zip(urls).map(|(trail, url)| {
        let history = trail.history(!is_whole);
        replay.explain(&mut journal, url, history, now)
    });
    let explanations = explanations.collect::<Result<_, _>>();
    let explanations = explanations.map_err(|error| CheckpointError::of_io(error, job.frontier_directory()))?;
    let Opening { damaged, position, .. } = journal.into_opening();
    Ok(Explained { explanations, damaged, is_resumed: resumed_at >= position })
}
