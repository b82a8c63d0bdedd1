//! The files of all outputs of a job: whether they agree with its journal, whether another program has changed them, and how much of them
//! is synced.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::lookup::remember;
use super::output::{Output, OutputPart};
use super::outputs::{OutputEnds, SinkOutput};
use super::sink::Sink;
use super::writer::{WriterThread, Written};
use crate::crawl::CrawlError;
use crate::driver::{Checkpoints, FileJournal, Needs, PAGES, Receipt, Record, look_closely};
use crate::gate::Position;
use crate::job::checkpoint::CheckpointError;
use crate::job::journal::Disk;
use crate::job::{FileError, Job, JobError};

/// The files of a job's outputs, each with the progress of this run.
#[derive(Debug, Default)]
pub(in crate::crawl) struct OutputFiles(Vec<Kept>);

#[derive(Debug)]
struct Kept {
    output: Output,
    written: Written,
    /// The number of written bytes that are synced, so that a power cut cannot take them.
    synced: u64,
}

impl OutputFiles {
    /// Adds an output and the progress of its writer.
    pub(in crate::crawl) fn add(&mut self, output: Output, written: Written) {
        self.0.push(Kept { output, written, synced: 0 });
    }

    /// Sets the writer of the page records in this run.
    pub(in crate::crawl) fn follow_pages(&mut self, by: &Written) {
        for kept in self.0.iter_mut().filter(|kept| kept.output.name() == PAGES) {
            kept.written.clone_from(by);
        }
    }

    /// The file of the page records, if the job owns it.
    pub(in crate::crawl) fn pages(&self) -> Option<&Output> {
        self.0.iter().map(|kept| &kept.output).find(|output| output.name() == PAGES)
    }

    /// Reports a file that is no longer the one that the crawl writes to.
    pub(in crate::crawl) fn disturbed(&mut self) -> Result<Option<CheckpointError>, CheckpointError> {
        for Kept { output, written, .. } in &mut self.0 {
            let end = output.length() + written.bytes();
            output.note_begun();
            for (part, length) in output.parts(end) {
                if let Some(problem) = part.problem(length).map_err(FileError::of("look at", &part.path))? {
                    return Ok(Some(disturbed(&part.path, problem, "")));
                }
            }
        }
        Ok(None)
    }

    /// Waits until everything up to these ends is written, and syncs it. Returns whether a checkpoint may confirm it.
    pub(in crate::crawl) fn sync(&mut self, ends: &OutputEnds) -> Result<bool, CheckpointError> {
        for (output, written, end) in self.with_ends(ends) {
            // A failed writer ends the crawl itself. Other problems are handled when the crawl ends.
            if !written.wait_for(end - output.length()) {
                return Ok(false);
            }
            output.note_begun();
            for (part, length) in output.parts(end) {
                if part.problem(length).map_err(FileError::of("look at", &part.path))?.is_some() {
                    return Ok(false);
                }
                part.sync().map_err(FileError::of("sync", &part.path))?;
            }
        }
        Ok(true)
    }

    /// Syncs the bytes written so far, if there are more than last time. No checkpoint is needed for it: a resume counts every page whose
    /// bytes are there.
    pub(in crate::crawl) fn sync_written(&mut self) -> Result<(), CheckpointError> {
        for Kept { output, written, synced } in &mut self.0 {
            let bytes = written.bytes();
            if bytes == *synced {
                continue;
            }
            output.note_begun();
            for (part, _) in output.parts(u64::MAX) {
                part.sync().map_err(FileError::of("sync", &part.path))?;
            }
            *synced = bytes;
        }
        Ok(())
    }

    /// Finishes the files of a series that will not change any more: a checkpoint confirms everything up to these ends.
    pub(in crate::crawl) fn finish(&mut self, ends: &OutputEnds, is_over: bool) -> Result<(), CheckpointError> {
        for (output, _, end) in self.with_ends(ends) {
            output.finish(end, is_over).map_err(FileError::of("rename", output.path()))?;
        }
        Ok(())
    }

    /// Called when the crawl ends. Writes a file that has lost its name again under that name, and returns what had happened to it.
    pub(in crate::crawl) fn save(&mut self, ends: &OutputEnds) -> Result<Option<CheckpointError>, CheckpointError> {
        let mut saved = None;
        for (output, written, end) in self.with_ends(ends) {
            if written.wait_for(end - output.length()) {
                output.note_begun();
                for (part, length) in output.parts(end) {
                    saved = saved.or(save(part, length)?);
                }
            }
        }
        Ok(saved)
    }

    fn with_ends(&mut self, ends: &OutputEnds) -> impl Iterator<Item = (&mut Output, &Written, u64)> {
        self.0.iter_mut().map(|Kept { output, written, .. }| {
            let end = ends.get(output.name()).map_or(0, |end| end.bytes);
            (output, &*written, end)
        })
    }
}

fn save(part: &mut OutputPart, length: u64) -> Result<Option<CheckpointError>, CheckpointError> {
    let path = part.path.clone();
    let Some(problem) = part.problem(length).map_err(FileError::of("look at", &path))? else { return Ok(None) };
    if !part.is_elsewhere().map_err(FileError::of("look at", &path))? {
        // Bytes that the receipts describe are gone, or in another place. No checkpoint may confirm them.
        return Err(disturbed(&path, problem, ""));
    }
    let saved = part.save().map_err(FileError::of("save", &path))?;
    if saved != path {
        let done = format!("; what the crawl wrote is in {}: put it in its place", saved.display());
        return Err(disturbed(&path, problem, &done));
    }
    Ok(Some(disturbed(&path, problem, "; it is written again")))
}

fn disturbed(path: &Path, problem: &str, done: &str) -> CheckpointError {
    CheckpointError::Disturbed { path: path.to_owned(), problem: format!("{problem}{done}") }
}

/// The outputs of this run: their files, and the writer of each sink.
#[derive(Debug, Default)]
pub(in crate::crawl) struct BegunOutputs {
    pub(in crate::crawl) files: OutputFiles,
    pub(in crate::crawl) sinks: Vec<SinkOutput>,
    pub(in crate::crawl) threads: Vec<WriterThread>,
    /// Bytes cut off the page records.
    pub(in crate::crawl) cut: u64,
}

impl BegunOutputs {
    /// Cuts the outputs to their ends. Sinks then remember the pages that are left, and the writers start. The page records come first.
    pub(in crate::crawl) fn of(
        outputs: Vec<Output>,
        ends: &OutputEnds,
        sinks: &[Arc<dyn Sink>],
    ) -> Result<Self, FileError> {
        let mut begun = Self::default();
        for mut output in outputs {
            let end = ends.get(output.name()).map_or(0, |end| end.bytes);
            let cut = output.cut(end).map_err(FileError::of("cut", output.path()))?;
            let mut written = Written::default();
            if output.name() == PAGES {
                begun.cut = cut;
                remember(output.path(), end, sinks).map_err(FileError::of("read", output.path()))?;
            } else if let Some(sink) = sinks.iter().find(|sink| sink.name() == output.name()) {
                let (begins, started) = (output.last_start(), output.start_writer());
                let (writer, thread) = started.map_err(FileError::of("write", output.path()))?;
                written = writer.written();
                begun.sinks.push(SinkOutput::new(Arc::clone(sink), writer, begins));
                begun.threads.push(thread);
            }
            begun.files.add(output, written);
        }
        Ok(begun)
    }
}

/// Refuses an output that is shorter than the ends say.
pub(in crate::crawl) fn check_length(output: &Output, ends: &OutputEnds) -> Result<(), CrawlError> {
    let (found, expected) = (output.length(), ends.get(output.name()).map_or(0, |end| end.bytes));
    if found < expected {
        return Err(CrawlError::Output { path: output.path().to_owned(), found, expected });
    }
    Ok(())
}

/// Outputs that earlier runs of a job wrote, but this run does not. If a kill left bytes at an output's end that no record describes, they
/// are cut off now: the next run that names the output must find it as the records say. Missing files and finished series are ignored.
#[derive(Debug)]
pub(in crate::crawl) struct EarlierOutputs<'a> {
    directory: &'a Path,
    /// The outputs looked up so far; `None` if the file does not exist.
    found: BTreeMap<String, Option<Output>>,
}

impl<'a> EarlierOutputs<'a> {
    /// The outputs in a job's directory.
    pub(in crate::crawl) fn new(directory: &'a Path) -> Self {
        Self { directory, found: BTreeMap::new() }
    }

    /// Whether the bytes that a receipt describes are there. Also true if the file is missing or cannot be read: [`cut`](Self::cut) reports
    /// read errors.
    pub(in crate::crawl) fn has(&mut self, name: &str, receipt: &Receipt) -> bool {
        self.find(name).ok().flatten().is_none_or(|file| file.has(receipt))
    }

    /// Cuts each output that is longer than its confirmed length. A shorter one is refused once a run names it. Also syncs them: the next
    /// checkpoint confirms these outputs without another check.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn cut(
        &mut self,
        ends: &OutputEnds,
        is_named: impl Fn(&str) -> bool,
    ) -> Result<(), FileError> {
        for (name, end) in ends.iter().filter(|(name, _)| !is_named(name)) {
            let Some(file) = self.find(name)? else { continue };
            if file.length() > end.bytes {
                file.cut(end.bytes).map_err(FileError::of("cut", file.path()))?;
            }
            file.sync().map_err(FileError::of("sync", file.path()))?;
        }
        Ok(())
    }

    fn find(&mut self, name: &str) -> Result<Option<&mut Output>, FileError> {
        if !self.found.contains_key(name) {
            let path = self.directory.join(name);
            let file = Output::find(&path).map_err(FileError::of("open", &path))?;
            self.found.insert(name.to_owned(), file);
        }
        Ok(self.found.get_mut(name).and_then(Option::as_mut))
    }
}

/// Checks a job's files before they are touched, and returns how many bytes of page records a checkpoint confirms. `output` is the file of
/// page records, if it exists. It is looked at only if `is_kept`, that is, if page records go to it.
///
/// Bytes that are not confirmed may be cut off: their pages are fetched again. Confirmed bytes may not. So an output that is shorter is
/// refused, and so is one whose journal is gone, or is damaged with no checkpoint to bound the damage.
pub(in crate::crawl) fn confirmed_bytes(
    job: &Job,
    is_kept: bool,
    output: Option<&mut Output>,
) -> Result<u64, CrawlError> {
    if job.is_new() {
        return Ok(0);
    }
    let directory = job.frontier_directory();
    let mut checkpoints = Checkpoints::look(Disk::for_reading(&directory), job.manifest().id)?;
    let confirmed = checkpoints.output();
    let found = output.as_ref().map_or(0, |output| output.length());
    if checkpoints.is_empty() && !checkpoints.has_journal()? {
        return Err(if is_kept && found > 0 {
            CrawlError::NoJournal { path: job.pages_path(), found, journal: directory }
        } else {
            JobError::NoJournal { path: directory }.into()
        });
    }
    let expected = confirmed.unwrap_or(0);
    if is_kept {
        match output {
            _ if found < expected => return Err(CrawlError::Output { path: job.pages_path(), found, expected }),
            None => check_never_written(job)?,
            Some(output) if confirmed.is_none() => check_records(job, output)?,
            Some(_) => {}
        }
    }
    Ok(expected)
}

/// Refuses a job that has written page records if their file is missing.
fn check_never_written(job: &Job) -> Result<(), CrawlError> {
    let mut expected = 0;
    let disk = Disk::for_reading(&job.frontier_directory());
    // Missing and damaged journal files are reported when the journal is opened.
    let needs = Needs::from_on(Position::from_u64(u64::MAX));
    let looked = FileJournal::look(disk, job.manifest().id, &needs, Position::default(), |_, record| {
        expected = expected.max(written_by(&record).map_or(0, |receipt| receipt.end));
    });
    drop(looked);
    if expected > 0 { Err(CrawlError::Output { path: job.pages_path(), found: 0, expected }) } else { Ok(()) }
}

/// Refuses a journal or output with a damaged record before intact ones: a crash damages only the end.
fn check_records(job: &Job, output: &mut Output) -> Result<(), CrawlError> {
    let (mut missing, mut damaged): (Option<Receipt>, Option<Receipt>) = (None, None);
    let mut disk = Disk::for_reading(&job.frontier_directory());
    let looked = look_closely(&mut disk, job.manifest().id, |_, record| match (&record, written_by(&record)) {
        (_, Some(receipt)) if !output.has(&receipt) => missing = missing.or(Some(receipt)),
        (_, Some(_)) => damaged = damaged.or(missing),
        // Records that an earlier resume cut off are not missing.
        (Record::Resumed { output }, None) => missing = missing.filter(|receipt| receipt.end <= *output),
        _ => {}
    });
    looked.map_err(CheckpointError::from)?;
    damaged.map_or(Ok(()), |receipt| {
        let offset = receipt.end.saturating_sub(receipt.length.into());
        Err(CrawlError::Record { path: job.pages_path(), offset })
    })
}

/// The receipt of the page record that was written with this record of the journal.
fn written_by(record: &Record<'_>) -> Option<Receipt> {
    match record {
        Record::Settled(settled) | Record::Again { settled, .. } => settled.receipts.first(),
        _ => None,
    }
}
