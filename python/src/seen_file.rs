//! The files of seen sets: read, replaced in one step, and kept from others while they are open.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crawler_frontier::driver::newest_seen;
use crawler_frontier::driver::own::{Replacement, parent};
use crawler_frontier::job::Job;
use crawler_frontier::seen::SeenSet;
use pyo3::PyResult;

use crate::errors;

/// The file of a set that was opened for a `with` block.
#[derive(Debug)]
pub(crate) struct OwnFile {
    pub(crate) path: PathBuf,
    /// The right to replace it; `None` once the block has ended.
    pub(crate) held: Mutex<Option<Replacement>>,
}

/// The right to replace a file.
pub(crate) fn take(path: &Path) -> PyResult<Replacement> {
    Replacement::of(path).map_err(|error| errors::file(&error, path))
}

/// Reads a file, or the newest checkpoint of a job.
pub(crate) fn load(path: &Path, directory: Option<&Path>) -> PyResult<SeenSet> {
    let of_job = if path.is_dir() { Some(of_job(path)?) } else { None };
    let path = of_job.as_deref().unwrap_or(path);
    let file = File::open(path).map_err(|error| errors::file(&error, path))?;
    let directory = directory.unwrap_or_else(|| parent(path));
    SeenSet::load_in(BufReader::new(file), None, Some(directory)).map_err(|error| errors::snapshot(error, Some(path)))
}

fn of_job(directory: &Path) -> PyResult<PathBuf> {
    let job = Job::open_for_reading(directory).map_err(|error| errors::job(&error))?;
    let newest = newest_seen(&job).map_err(|error| errors::job(&error))?;
    newest.ok_or_else(|| errors::no_checkpoint(directory))
}

/// Replaces the content of a file, in one step.
pub(crate) fn write(seen: &SeenSet, held: Option<Replacement>, path: &Path) -> PyResult<()> {
    let held = held.map_or_else(|| take(path), Ok)?;
    let written = held.write(|to| {
        let mut to = BufWriter::new(to);
        seen.save(&mut to)?;
        to.flush()
    });
    written.map_err(|error| errors::file(&error, path))
}
