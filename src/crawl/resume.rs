//! A crawl that is kept in a job: begun, or gone on with.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::checkpointer::Checkpointer;
use super::error::CrawlError;
use super::look::read_totals;
use super::numbers::{Carried, NameCounts};
use super::options::CrawlOptions;
use super::records::{Accord, Output, Sink, Writer, WriterThread};
use super::run::Crawl;
use crate::frontier::{Frontier, Receipt};
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, Job, JobJournal, OpenError, newest_extra};
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
    /// With `output`, page records go to the job's own file (see [`writer`](Self::writer)), and a page is done only where its
    /// record is found there: no page is lost and none is written twice, whenever this process is killed.
    ///
    /// # Errors
    /// Where an option is out of its range, or is one on which the job's files depend and another than before; where the HTTP
    /// client cannot be made; where the job's files are damaged or do not belong together, and then nothing was changed; where the
    /// file system refuses.
    pub fn open(options: &CrawlOptions, job: &Job, output: bool) -> Result<(Self, Resumed), CrawlError> {
        Self::open_outputs(options, job, output, Vec::new())
    }

    /// As [`open`](Self::open) with output, and each page is written to further outputs too: it is in each of them exactly once.
    ///
    /// Each run of the job may name others; what one wrote stays until it is named again, and goes on from there.
    ///
    /// # Errors
    /// As [`open`](Self::open); where an output's name is not that of a file, or of one of the job's own.
    pub fn open_with(
        options: &CrawlOptions,
        job: &Job,
        sinks: Vec<Arc<dyn Sink>>,
    ) -> Result<(Self, Resumed), CrawlError> {
        Self::open_outputs(options, job, true, sinks)
    }

    fn open_outputs(
        options: &CrawlOptions,
        job: &Job,
        output: bool,
        sinks: Vec<Arc<dyn Sink>>,
    ) -> Result<(Self, Resumed), CrawlError> {
        let clock = Clock::start();
        let path = job.pages_path();
        let mut found = if output { Output::find(&path).map_err(io_error("open", &path))? } else { None };
        let accord = Accord::of(job, output, found.as_mut())?;
        let mut others = others(job, &sinks)?;
        if output && found.is_none() {
            found = Some(Output::create(&path).map_err(io_error("create", &path))?);
        }
        let mut output = found;
        let has = |receipt: &Receipt| output.as_mut().is_none_or(|output| output.has_with(receipt, &mut others));
        let mut frontier = Frontier::open_in(job, &options.frontier, &options.job.open, has, clock.now())?;
        let carried = read_totals(job, &frontier.journal().opening().extra)?;
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
        let mut carried = carried.unwrap_or_else(|| Carried::begin(clock.now()));
        if let Some(output) = &mut output {
            // What came after the checkpoint is not in its counts.
            let tally = output.tally(opening.counted, &mut carried.outputs).map_err(io_error("read", &output.path))?;
            carried.tally.merge(&tally);
        }
        for other in &mut others {
            let end = carried.outputs.get(other.name()).copied().unwrap_or_default();
            let found = other.length();
            if found < end {
                return Err(CrawlError::Output { path: other.path.clone(), found, expected: end });
            }
            other.cut(end).map_err(io_error("cut", &other.path))?;
        }
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
        crawl.attach(sinks, others)?;
        Ok((crawl, resumed))
    }

    fn attach(&mut self, sinks: Vec<Arc<dyn Sink>>, files: Vec<Output>) -> Result<(), CrawlError> {
        for (sink, file) in sinks.into_iter().zip(files) {
            let started = file.handle().and_then(Writer::start);
            let (writer, thread) = started.map_err(io_error("write", &file.path))?;
            if let Some(checkpointer) = &mut self.checkpointer {
                checkpointer.outputs.add(file, writer.written());
            }
            self.outputs.attach(sink, writer);
            self.output_writers.push(thread);
        }
        Ok(())
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
    pub fn writer(&self) -> io::Result<(Writer, WriterThread)> {
        let output = self.checkpointer.as_ref().and_then(Checkpointer::output);
        Writer::start(output.ok_or(io::ErrorKind::Unsupported)?.handle()?)
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

/// The files of the outputs beside the page records. Refused is one that is shorter than the last checkpoint says.
fn others(job: &Job, sinks: &[Arc<dyn Sink>]) -> Result<Vec<Output>, CrawlError> {
    let carried = if sinks.is_empty() || job.is_new() { None } else { newest_extra(job)? };
    let ends = read_totals(job, &carried.unwrap_or_default())?.unwrap_or_default().outputs;
    let mut files: Vec<Output> = Vec::new();
    for sink in sinks {
        let name = sink.name();
        if !job.has_room_for(name) || files.iter().any(|file| file.name() == name) {
            return Err(CrawlError::OutputName { name: name.to_owned() });
        }
        let path = job.directory().join(name);
        let file = Output::other(&path).map_err(io_error("open", &path))?;
        let (found, expected) = (file.length(), ends.get(name).copied().unwrap_or_default());
        if found < expected {
            return Err(CrawlError::Output { path, found, expected });
        }
        files.push(file);
    }
    Ok(files)
}
