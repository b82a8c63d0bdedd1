//! A crawl that is kept in a job: begun, or gone on with.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::checkpointer::Checkpointer;
use super::error::CrawlError;
use super::numbers::{Carried, NameCounts};
use super::options::CrawlOptions;
use super::records::{Accord, Output, Sink, SinkThread};
use super::run::Crawl;
use crate::frontier::{Frontier, Receipt};
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, Job, JobJournal, OpenError};
use crate::lending::Clock;

/// What a crawl found in its job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resumed {
    /// Runs before this one; 0 where the job is new.
    pub runs: u64,
    /// Pages recorded before.
    pub pages: u64,
    /// URLs waiting.
    pub queued: u64,
    /// Of these, those of hosts that could not be reached before, and are asked again.
    pub asked_again: u64,
    /// Records of the journal that were replayed behind the checkpoint.
    pub replayed: u64,
    /// Bytes cut off the output, and kept beside: records that no outcome confirms, or half of one.
    pub cut: u64,
    /// What was damaged, and how that was got over.
    pub damaged: Vec<String>,
}

impl Crawl<JobJournal> {
    /// A crawl that is kept in a job: where it is there already, it goes on where it stood.
    ///
    /// With `output`, page records go to the job's own file (see [`sink`](Self::sink)), and a page is done only where its
    /// record is found there: no page is lost and none is written twice, whenever this process is killed.
    ///
    /// # Errors
    /// Where an option is out of its range, or is one on which the job's files depend and another than before; where the HTTP
    /// client cannot be made; where the job's files are damaged or do not belong together, and then nothing was changed; where the
    /// file system refuses.
    pub fn open(options: &CrawlOptions, job: &Job, output: bool) -> Result<(Self, Resumed), CrawlError> {
        let clock = Clock::start();
        let path = job.pages_path();
        let mut found = if output { Output::find(&path).map_err(io_error("open", &path))? } else { None };
        let accord = Accord::of(job, output, found.as_mut())?;
        if output && found.is_none() {
            found = Some(Output::create(&path).map_err(io_error("create", &path))?);
        }
        let mut output = found;
        let has = |receipt: &Receipt| output.as_mut().is_none_or(|output| output.has(receipt));
        let mut frontier = Frontier::open_in(job, &options.frontier, &options.job.open, has, clock.now())?;
        // Whatever kept a host from being asked may be gone.
        let asked_again = frontier.ask_again(clock.now()).map_err(CrawlError::Storage)?;
        let opening = frontier.journal().opening();
        let mut resumed = Resumed { queued: frontier.statistics().queued, asked_again, ..Resumed::default() };
        if let Some(output) = &mut output {
            if opening.output < accord.confirmed {
                return Err(CrawlError::Record { path, offset: opening.output });
            }
            resumed.cut = output.cut(opening.output).map_err(io_error("cut", &path))?;
        }
        // What came after the checkpoint is not in its counts.
        let recounted =
            output.as_mut().map(|output| output.tally(opening.counted).map_err(io_error("read", &output.path)));
        let mut carried = Carried::read(&opening.extra).unwrap_or_else(|| Carried::begin(clock.now()));
        carried.tally.merge(&recounted.transpose()?.unwrap_or_default());
        carried.tally.unreachable = NameCounts::default();
        carried.resumes += u64::from(!opening.is_new);
        resumed.runs = carried.resumes;
        resumed.pages = carried.pages();
        resumed.replayed = opening.recovery.records;
        resumed.damaged = opening.damaged.iter().map(ToString::to_string).collect();
        resumed.damaged.extend(opening.recovery.cut.as_ref().map(|cut| {
            format!("{}: {} bytes cut off at byte {}: {}", cut.path.display(), cut.bytes, cut.offset, cut.reason)
        }));
        let mut crawl = Self::over(frontier, clock, options, output.is_some(), Some(carried))?;
        let crew = Arc::clone(&crawl.crew);
        crawl.checkpointer = Some(Checkpointer::new(crew, options.job, job, output));
        Ok((crawl, resumed))
    }

    /// Returns once a power cut cannot take what was seeded: a crawl without its seeds would be finished at once.
    ///
    /// # Errors
    /// Where the file system refuses.
    pub fn sync(&self) -> Result<(), CrawlError> {
        Ok(self.crew.frontier.with(|frontier| frontier.journal_mut().sync())?)
    }

    /// Where its page records go: the job's own file.
    ///
    /// # Errors
    /// Where the crawl was opened without output, or the thread cannot be started.
    pub fn sink(&self) -> io::Result<(Sink, SinkThread)> {
        let output = self.checkpointer.as_ref().and_then(Checkpointer::output);
        Sink::start(output.ok_or(io::ErrorKind::Unsupported)?.handle()?)
    }
}

impl From<OpenError> for CrawlError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Checkpoint(error) => error.into(),
            OpenError::Job(error) => error.into(),
        }
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CheckpointError {
    move |source| FileError::Io { action, path: path.to_owned(), source }.into()
}
