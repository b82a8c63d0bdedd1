//! The files of a job's outputs while a crawl writes to them: whether they are still its own, and how much of them is safe.

use std::path::Path;

use super::output::Output;
use super::output_part::OutputPart;
use super::outputs::OutputEnds;
use super::written::Written;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, PAGES};

/// The files of a job's outputs, each with how far this run has come with it.
#[derive(Debug, Default)]
pub(in crate::crawl) struct OutputFiles(Vec<Kept>);

#[derive(Debug)]
struct Kept {
    output: Output,
    written: Written,
    /// How much of what was written a power cut cannot take.
    synced: u64,
}

impl OutputFiles {
    /// Adds an output, and how far its writer has come.
    pub(in crate::crawl) fn add(&mut self, output: Output, written: Written) {
        self.0.push(Kept { output, written, synced: 0 });
    }

    /// Says who writes the page records in this run.
    pub(in crate::crawl) fn follow_pages(&mut self, by: &Written) {
        for kept in self.0.iter_mut().filter(|kept| kept.output.name() == PAGES) {
            kept.written.clone_from(by);
        }
    }

    /// The file of the page records, if it is the job's own.
    pub(in crate::crawl) fn pages(&self) -> Option<&Output> {
        self.0.iter().map(|kept| &kept.output).find(|output| output.name() == PAGES)
    }

    /// Says what has become of a file that is not the one any more that the crawl writes to.
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

    /// Waits until all is written up to these ends, and syncs. Returns whether a checkpoint may say so.
    pub(in crate::crawl) fn sync(&mut self, ends: &OutputEnds) -> Result<bool, CheckpointError> {
        for (output, written, end) in self.with_ends(ends) {
            // A writer that fails ends the crawl itself. Whatever else is wrong is handled at the crawl's end.
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

    /// Syncs what is written by now, where that is more than the last time. Another checkpoint need not come for it: a resume counts each
    /// page whose bytes are there.
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

    /// Finishes the files of a series that will not change any more: a checkpoint says that all is safe up to these ends.
    pub(in crate::crawl) fn finish(&mut self, ends: &OutputEnds, is_over: bool) -> Result<(), CheckpointError> {
        for (output, _, end) in self.with_ends(ends) {
            output.finish(end, is_over).map_err(FileError::of("rename", output.path()))?;
        }
        Ok(())
    }

    /// To be called at the crawl's end: a file that has lost its name is written anew under that name. Says what has happened.
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
        // What was confirmed is gone, or not where the receipts say. No checkpoint may say that it is there.
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
