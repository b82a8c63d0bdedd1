//! The files of a job's outputs while a crawl writes to them: whether they are still its own, and how much of them is safe.

use std::path::Path;

use super::output_part::Output;
use super::outputs::OutputEnds;
use super::writer::Written;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, PAGES};

/// The files of a job's outputs, each with how far this run has come with it.
#[derive(Debug, Default)]
pub(in crate::crawl) struct OutputFiles(Vec<(Output, Written)>);

impl OutputFiles {
    /// Adds a file, and how far its writer has come.
    pub(in crate::crawl) fn add(&mut self, output: Output, written: Written) {
        self.0.push((output, written));
    }

    /// Says who writes the page records in this run.
    pub(in crate::crawl) fn follow_pages(&mut self, by: &Written) {
        for (_, written) in self.0.iter_mut().filter(|(output, _)| output.name() == PAGES) {
            written.clone_from(by);
        }
    }

    /// The file of the page records, if it is the job's own.
    pub(in crate::crawl) fn pages(&self) -> Option<&Output> {
        self.0.iter().map(|(output, _)| output).find(|output| output.name() == PAGES)
    }

    /// Says what has become of a file that is not the one any more that the crawl writes to.
    pub(in crate::crawl) fn disturbed(&mut self) -> Result<Option<CheckpointError>, CheckpointError> {
        for (output, written) in &mut self.0 {
            let written = output.length() + written.bytes();
            if let Some(problem) = output.problem(written).map_err(FileError::of("look at", &output.path))? {
                return Ok(Some(disturbed(&output.path, problem, "")));
            }
        }
        Ok(None)
    }

    /// Waits until all is written up to these ends, and syncs. Returns whether a checkpoint may say so.
    pub(in crate::crawl) fn sync(&mut self, ends: &OutputEnds) -> Result<bool, CheckpointError> {
        for (output, written, end) in self.with_ends(ends) {
            // A writer that fails ends the crawl itself. Whatever else is wrong is handled at the crawl's end.
            if !written.wait_for(end - output.length())
                || output.problem(end).map_err(FileError::of("look at", &output.path))?.is_some()
            {
                return Ok(false);
            }
            output.sync().map_err(FileError::of("sync", &output.path))?;
        }
        Ok(true)
    }

    /// To be called at the crawl's end: a file that has lost its name is written anew under that name. Says what has happened.
    pub(in crate::crawl) fn save(&mut self, ends: &OutputEnds) -> Result<Option<CheckpointError>, CheckpointError> {
        let mut saved = None;
        for (output, written, end) in self.with_ends(ends) {
            if written.wait_for(end - output.length()) {
                saved = saved.or(save(output, end)?);
            }
        }
        Ok(saved)
    }

    fn with_ends(&mut self, ends: &OutputEnds) -> impl Iterator<Item = (&mut Output, &Written, u64)> {
        self.0.iter_mut().map(|(output, written)| {
            let end = ends.get(output.name()).copied().unwrap_or_default();
            (output, &*written, end)
        })
    }
}

fn save(output: &mut Output, end: u64) -> Result<Option<CheckpointError>, CheckpointError> {
    let path = output.path.clone();
    let Some(problem) = output.problem(end).map_err(FileError::of("look at", &path))? else { return Ok(None) };
    if !output.is_elsewhere().map_err(FileError::of("look at", &path))? {
        // What was confirmed is gone, or not where the receipts say. No checkpoint may say that it is there.
        return Err(disturbed(&path, problem, ""));
    }
    let saved = output.save().map_err(FileError::of("save", &path))?;
    if saved != path {
        let done = format!("; what the crawl wrote is in {}: put it in its place", saved.display());
        return Err(disturbed(&path, problem, &done));
    }
    Ok(Some(disturbed(&path, problem, "; it is written again")))
}

fn disturbed(path: &Path, problem: &str, done: &str) -> CheckpointError {
    CheckpointError::Disturbed { path: path.to_owned(), problem: format!("{problem}{done}") }
}
