//! The numbers of an unfinished crawl, from its last checkpoint and the records after it.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::CrawlError;
use super::finish::FinishReason;
use super::finished::Finished;
use super::numbers::{Carried, Spent, Tally};
use super::options::CrawlOptions;
use super::records::{OutputEnds, each_record};
use crate::frontier::{Frontier, Timestamp};
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, Job, JobJournal, PAGES, look as look_at};
use crate::lending::Clock;

/// An unfinished crawl, as found in its job.
#[derive(Debug)]
#[non_exhaustive]
pub struct Underway {
    /// Its frontier, to look into.
    pub frontier: Frontier<JobJournal>,
    /// Its numbers so far; the reason is [`FinishReason::Unfinished`].
    pub finished: Finished,
    /// The checkpoint that they come from; `None` if there is none yet.
    pub checkpoint: Option<u64>,
    /// Records of the journal after that checkpoint.
    pub records: u64,
    /// Damaged checkpoints that were skipped.
    pub damaged: Vec<String>,
}

/// The totals that a checkpoint keeps for its crawl.
pub(super) fn read_totals(job: &Job, extra: &[u8]) -> Result<Option<Carried>, CrawlError> {
    Carried::read(extra).map_err(|source| CrawlError::Totals { directory: job.frontier_directory(), source })
}

/// Looks at a crawl that another process is running, or that was killed: at the job's last checkpoint, the journal after it, and the page
/// records that the journal names. Takes no lock and writes nothing. Requests for robots.txt and retries since the checkpoint are not
/// known.
///
/// # Errors
/// If the job's files are damaged, belong to another job or other options, or cannot be read.
pub fn look(job: &Job, options: &CrawlOptions) -> Result<Underway, CrawlError> {
    let now = Clock::start().now();
    let mut frontier = look_at(job, &options.frontier, now);
    if matches!(&frontier, Err(CheckpointError::File(FileError::Io { source, .. })) if source.kind() == ErrorKind::NotFound)
    {
        // Meanwhile the crawl wrote a newer checkpoint, and removed the one being read.
        frontier = look_at(job, &options.frontier, now);
    }
    let frontier = frontier?;
    let directory = job.frontier_directory();
    let latest = latest(&directory).map_err(FileError::of("read", &directory)).map_err(CheckpointError::from);
    let ended = latest?.unwrap_or(now);
    let opening = frontier.opening();
    let mut carried = read_totals(job, &opening.extra)?.unwrap_or_else(|| Carried::begin(ended));
    carried
        .catch_up(Spent::read(&directory).map_err(FileError::of("read", &directory)).map_err(CheckpointError::from)?);
    let path = job.pages_path();
    let tally = tally(&path, opening.counted, opening.output, &mut carried.outputs);
    let tally = tally.map_err(FileError::of("read", &path)).map_err(CheckpointError::from)?;
    carried.tally.merge(&tally);
    carried.outputs.entry(PAGES.to_owned()).or_default().bytes = opening.output;
    let finished = Finished::of(&frontier, std::mem::take(&mut carried.tally), ended).with(&carried);
    let finished = Finished { reason: FinishReason::Unfinished, ..finished };
    let (checkpoint, records) = (opening.checkpoint, opening.recovery.records);
    let damaged = opening.damaged.iter().map(ToString::to_string).collect();
    Ok(Underway { frontier, finished, checkpoint, records, damaged })
}

/// Counts the page records between two positions of their file, and notes where they say that the other outputs end. A missing file has no
/// records.
pub(super) fn tally(path: &Path, from: u64, to: u64, ends: &mut OutputEnds) -> io::Result<Tally> {
    let mut tally = Tally::default();
    each_record(path, from, to, |record| {
        tally.record_page(true, &record);
        ends.entry(PAGES.to_owned()).or_default().pages += 1;
        for (name, place) in record.outputs {
            let end = ends.entry(name).or_default();
            (end.bytes, end.pages) = (place.receipt().end, end.pages + 1);
        }
    })?;
    Ok(tally)
}

/// When a file of this directory was last written.
fn latest(directory: &Path) -> io::Result<Option<Timestamp>> {
    let mut latest: Option<SystemTime> = None;
    for entry in directory.read_dir()? {
        // A file that is gone by now was not the newest.
        latest = latest.max(entry?.metadata().and_then(|data| data.modified()).ok());
    }
    let since = latest.map(|latest| latest.duration_since(UNIX_EPOCH).unwrap_or_default());
    Ok(since.map(|since| Timestamp::default() + since))
}
