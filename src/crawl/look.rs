//! A crawl that has not ended, in numbers: from its last checkpoint and what came behind it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::error::CrawlError;
use super::finish::FinishReason;
use super::finished::Finished;
use super::numbers::{Carried, Tally};
use super::options::CrawlOptions;
use super::records::record;
use crate::lending::Clock;

use crate::frontier::{Completion, LeaseKind, Timestamp};
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, Job, look as look_at, newest_extra};

/// What was found of a crawl that has not ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Underway {
    /// Its numbers so far; the reason is [`FinishReason::Unfinished`].
    pub finished: Finished,
    /// The checkpoint that they are made of; `None` where there was none yet.
    pub checkpoint: Option<u64>,
    /// Records of the journal behind that.
    pub records: u64,
    /// Checkpoints that are damaged, and were passed over.
    pub damaged: Vec<String>,
}

/// Whether a job has been crawled since it ended so many resumes after its first run: its report is of an earlier time then.
///
/// # Errors
/// Where the job's directory cannot be read.
pub fn has_gone_on(job: &Job, resumes: u64) -> Result<bool, CrawlError> {
    let carried = read_totals(job, &newest_extra(job)?.unwrap_or_default())?;
    Ok(carried.is_some_and(|carried| carried.resumes > resumes))
}

/// What a checkpoint has kept for its crawl.
pub(super) fn read_totals(job: &Job, extra: &[u8]) -> Result<Option<Carried>, CrawlError> {
    Carried::read(extra).map_err(|source| CrawlError::Totals { directory: job.frontier_directory(), source })
}

/// Looks at a crawl that another process is at just now, or that was killed: by the job's last checkpoint, the journal behind it
/// and the records that it speaks of. Takes no lock and writes nothing; requests for robots.txt and retries since the checkpoint
/// are not known.
///
/// # Errors
/// Where the job's files are damaged, of another job or of other options, or cannot be read.
pub fn look(job: &Job, options: &CrawlOptions) -> Result<Underway, CrawlError> {
    let now = Clock::start().now();
    let mut frontier = look_at(job, &options.frontier, now);
    if matches!(&frontier, Err(CheckpointError::File(FileError::Io { source, .. })) if source.kind() == ErrorKind::NotFound)
    {
        // The crawl wrote a newer checkpoint meanwhile, and has removed what was being read.
        frontier = look_at(job, &options.frontier, now);
    }
    let frontier = frontier?;
    let directory = job.frontier_directory();
    let latest = |of: &str| latest(&directory, of).map_err(|source| unreadable(&directory, source));
    let ended = latest("")?.unwrap_or(now);
    let opening = frontier.journal().opening();
    let mut carried = read_totals(job, &opening.extra)?.unwrap_or_else(|| Carried::begin(ended));
    let since = latest("checkpoint-")?.map_or(Duration::ZERO, |checkpoint| ended.since(checkpoint));
    let path = job.pages_path();
    let tally = tally(&path, opening.counted, opening.output).map_err(|source| unreadable(&path, source))?;
    carried.tally.merge(&tally);
    let finished = Finished::of(&frontier, std::mem::take(&mut carried.tally), ended).with(&carried);
    let finished = Finished { reason: FinishReason::Unfinished, elapsed: carried.elapsed() + since, ..finished };
    Ok(Underway {
        finished,
        checkpoint: opening.checkpoint,
        records: opening.recovery.records,
        damaged: opening.damaged.iter().map(ToString::to_string).collect(),
    })
}

/// Counts the records between two places of the output; none, where they went elsewhere.
fn tally(path: &Path, from: u64, to: u64) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(tally),
        file => file?,
    };
    file.seek(SeekFrom::Start(from))?;
    for line in BufReader::new(file).take(to.saturating_sub(from)).split(b'\n') {
        if let Some(record) = record(&line?) {
            tally.record(LeaseKind::Page, Completion::Done, &record);
        }
    }
    Ok(tally)
}

/// When a file was written last whose name begins so.
fn latest(directory: &Path, prefix: &str) -> io::Result<Option<Timestamp>> {
    let mut latest: Option<SystemTime> = None;
    for entry in directory.read_dir()? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            // One that is gone by now was not the last.
            latest = latest.max(entry.metadata().and_then(|data| data.modified()).ok());
        }
    }
    let since = latest.map(|latest| latest.duration_since(UNIX_EPOCH).unwrap_or_default());
    Ok(since.map(|since| Timestamp::default() + since))
}

fn unreadable(path: &Path, source: io::Error) -> CheckpointError {
    FileError::Io { action: "read", path: path.to_owned(), source }.into()
}
