//! The files of a job's outputs while a crawl writes to them: whether they are still its own, and how much of them is safe.

use std::path::Path;
use std::{io, iter};

use super::output::Output;
use super::outputs::OutputEnds;
use super::writer::Written;
use crate::job::FileError;
use crate::job::checkpoint::CheckpointError;

/// The files of a job's outputs, each with how far this run has come with it.
#[derive(Debug, Default)]
pub(in crate::crawl) struct OutputFiles {
    /// `None` where page records go elsewhere.
    pages: Option<(Output, Written)>,
    others: Vec<(Output, Written)>,
}

impl OutputFiles {
    /// The file of the page records, if it is the job's own.
    pub(in crate::crawl) fn new(pages: Option<Output>) -> Self {
        Self { pages: pages.map(|pages| (pages, Written::default())), others: Vec::new() }
    }

    /// One more, beside the page records.
    pub(in crate::crawl) fn add(&mut self, output: Output, written: Written) {
        self.others.push((output, written));
    }

    /// Who writes the page records of this run.
    pub(in crate::crawl) fn follow_pages(&mut self, written: Written) {
        if let Some(pages) = &mut self.pages {
            pages.1 = written;
        }
    }

    /// The page records' own.
    pub(in crate::crawl) fn pages(&self) -> Option<&Output> {
        self.pages.as_ref().map(|(output, _)| output)
    }

    /// What has become of one of them, where it is not the file any more that the crawl writes to.
    pub(in crate::crawl) fn disturbed(&mut self) -> Result<Option<CheckpointError>, CheckpointError> {
        for (output, written) in self.pages.iter_mut().chain(&mut self.others) {
            let written = output.length() + written.bytes();
            if let Some(problem) = output.problem(written).map_err(io_error("look at", &output.path))? {
                return Ok(Some(disturbed(&output.path, problem, "")));
            }
        }
        Ok(None)
    }

    /// Waits until all is written up to these ends, and syncs; whether a checkpoint may say so.
    pub(in crate::crawl) fn sync(&mut self, pages: u64, others: &OutputEnds) -> Result<bool, CheckpointError> {
        for (output, written, end) in self.with_ends(pages, others) {
            // A writer that has failed has told so itself. What else is wrong is seen to at the crawl's end.
            if !written.wait_for(end - output.length())
                || output.problem(end).map_err(io_error("look at", &output.path))?.is_some()
            {
                return Ok(false);
            }
            output.sync().map_err(io_error("sync", &output.path))?;
        }
        Ok(true)
    }

    /// At the crawl's end: what was written up to these ends to a file that has lost its name gets one with that name again. What
    /// the end is to say of it.
    pub(in crate::crawl) fn save(
        &mut self,
        pages: u64,
        others: &OutputEnds,
    ) -> Result<Option<CheckpointError>, CheckpointError> {
        let mut saved = None;
        for (output, written, end) in self.with_ends(pages, others) {
            if written.wait_for(end - output.length()) {
                saved = saved.or(save(output, end)?);
            }
        }
        Ok(saved)
    }

    /// Each, with where it ends.
    fn with_ends(&mut self, pages: u64, others: &OutputEnds) -> impl Iterator<Item = (&mut Output, &Written, u64)> {
        let end = |output: &Output| others.get(output.name()).copied().unwrap_or_default();
        let ends: Vec<_> = self.others.iter().map(|(output, _)| end(output)).collect();
        let others = self.others.iter_mut().zip(ends);
        let all = self.pages.iter_mut().zip(iter::once(pages)).chain(others);
        all.map(|((output, written), end)| (output, &*written, end))
    }
}

fn save(output: &mut Output, end: u64) -> Result<Option<CheckpointError>, CheckpointError> {
    let path = output.path.clone();
    let Some(problem) = output.problem(end).map_err(io_error("look at", &path))? else { return Ok(None) };
    if !output.is_elsewhere().map_err(io_error("look at", &path))? {
        // What was confirmed is gone, or stands elsewhere than the receipts say: no checkpoint must say that it is there.
        return Err(disturbed(&path, problem, ""));
    }
    let saved = output.save().map_err(io_error("save", &path))?;
    if saved != path {
        let done = format!("; what the crawl wrote is in {}: put it in its place", saved.display());
        return Err(disturbed(&path, problem, &done));
    }
    Ok(Some(disturbed(&path, problem, "; it is written again")))
}

fn disturbed(path: &Path, problem: &str, done: &str) -> CheckpointError {
    CheckpointError::Disturbed { path: path.to_owned(), problem: format!("{problem}{done}") }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CheckpointError {
    move |source| FileError::Io { action, path: path.to_owned(), source }.into()
}
