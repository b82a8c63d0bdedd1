//! A crawl that is kept in a job: begun, or gone on with.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::error::CrawlError;
use super::keeper::Keeper;
use super::numbers::{Carried, NameCounts};
use super::options::CrawlOptions;
use super::records::{Accord, Output, Sink, SinkThread};
use super::run::Crawl;
use crate::frontier::Receipt;
use crate::job::checkpoint::{CheckpointError, Checkpoints, KeptJournal, Restored, restore};
use crate::job::journal::{Disk, JournalOptions};
use crate::job::{FileError, Job};
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

impl Crawl<KeptJournal> {
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
        let directory = job.frontier_directory();
        let path = job.pages_path();
        let mut found = if output { Output::find(&path).map_err(io_error("open", &path))? } else { None };
        let accord = Accord::of(job, output, found.as_mut())?;
        if output && found.is_none() {
            found = Some(Output::create(&path).map_err(io_error("create", &path))?);
        }
        let mut output = found;
        let disk = || Disk::at(&directory).map_err(io_error("create", &directory));
        let mut options = options.clone();
        options.frontier.fingerprint_key = Some(job.manifest().fingerprint_key);
        options.frontier.seen.directory = Some(directory.clone());
        let journal = JournalOptions { sync: options.job.sync, ..JournalOptions::default() };
        let mut checkpoints = Checkpoints::open(disk()?, job.manifest().id)?;
        let has = |receipt: &Receipt| output.as_mut().is_none_or(|output| output.has(receipt));
        let restored = restore(disk()?, &mut checkpoints, &options.frontier, &journal, has, clock.now())?;
        let Restored { mut frontier, checkpoint, damaged, recovery, output: confirmed, counted, extra } = restored;
        // Whatever kept a host from being asked may be gone.
        let asked_again = frontier.ask_again(clock.now()).map_err(CrawlError::Storage)?;
        let mut resumed = Resumed { queued: frontier.statistics().queued, asked_again, ..Resumed::default() };
        if let Some(output) = &mut output {
            if confirmed < accord.confirmed {
                return Err(CrawlError::Record { path, offset: confirmed });
            }
            resumed.cut = output.cut(confirmed).map_err(io_error("cut", &path))?;
        }
        // What came after the checkpoint is not in its counts.
        let recounted = output.as_mut().map(|output| output.tally(counted).map_err(io_error("read", &output.path)));
        let mut carried = Carried::read(&extra).unwrap_or_else(|| Carried::begin(clock.now()));
        carried.tally.merge(&recounted.transpose()?.unwrap_or_default());
        carried.tally.unreachable = NameCounts::default();
        carried.resumes += u64::from(checkpoint.is_some() || recovery.records > 0);
        resumed.runs = carried.resumes;
        resumed.pages = carried.pages();
        resumed.replayed = recovery.records;
        resumed.damaged = damaged.iter().map(ToString::to_string).collect();
        resumed.damaged.extend(recovery.cut.map(|cut| {
            format!("{}: {} bytes cut off at byte {}: {}", cut.path.display(), cut.bytes, cut.offset, cut.reason)
        }));
        let mut crawl = Self::over(frontier, clock, &options, output.is_some(), Some(carried))?;
        let crew = Arc::clone(&crawl.crew);
        crawl.keeper = Some(Keeper::new(crew, checkpoints, options.job, job, output));
        Ok((crawl, resumed))
    }

    /// Returns once a power cut cannot take what was seeded: a crawl without its seeds would be finished at once.
    ///
    /// # Errors
    /// Where the file system refuses.
    pub fn sync(&self) -> Result<(), CrawlError> {
        let synced = self.crew.frontier.with(|frontier| frontier.journal_mut().sync());
        synced.map_err(|error| CheckpointError::from(error).into())
    }

    /// Where its page records go: the job's own file.
    ///
    /// # Errors
    /// Where the crawl was opened without output, or the thread cannot be started.
    pub fn sink(&self) -> io::Result<(Sink, SinkThread)> {
        let output = self.keeper.as_ref().and_then(Keeper::output);
        Sink::start(output.ok_or(io::ErrorKind::Unsupported)?.handle()?)
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CheckpointError {
    move |source| FileError::Io { action, path: path.to_owned(), source }.into()
}
