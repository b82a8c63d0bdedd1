//! The files of a job's outputs while a crawl writes to them: whether they are still ours, and how much of them is synced.

use std::path::Path;

use super::output::Output;
use super::output_part::OutputPart;
use super::outputs::OutputEnds;
use super::written::Written;
use crate::job::checkpoint::CheckpointError;
use crate::job::{FileError, PAGES};

/// The files of a job's outputs, each with the progress of this run.
#[derive(Debug, Default)]
pub(in crate::crawl) struct OutputFiles(Vec<Kept>);

#[derive(Debug)]
struct Kept {
    output: Output,
    written: Written,
    /// How many of the written bytes a power cut cannot take.
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

    /// Syncs what is written by now, if that is more than last time. No checkpoint is needed for it: a resume counts every page whose bytes
    /// are there.
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

    /// Call it when the crawl ends: it writes a file that has lost its name again under that name, and reports what happened.
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
        // Confirmed bytes are gone, or not where the receipts say. No checkpoint may confirm them.
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
