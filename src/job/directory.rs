use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{JobError, Manifest};
use crate::address::FingerprintKey;

/// Empty, and locked while a process crawls into the directory.
const LOCK: &str = "lock";
/// The page records.
const PAGES: &str = "pages.jsonl";
/// The report.
const REPORT: &str = "report.json";

/// What a job that is overwritten loses. Its lock stays (it is held), its manifest is replaced.
const OUTPUTS: [&str; 3] = [PAGES, REPORT, "report.json.new"];
/// What a process that died while it created a job may have left.
const LEFTOVERS: [&str; 2] = [LOCK, "manifest.new"];

/// A crawl's directory, held by this process until it is dropped, or only read.
#[derive(Debug)]
pub struct Job {
    directory: PathBuf,
    manifest: Manifest,
    /// The operating system releases it with the file, at a crash too. `None` where the job is only read.
    _lock: Option<File>,
}

impl Job {
    /// Makes the directory where there is none, locks it, and writes a manifest. `key` is the one that the crawl's frontier
    /// was made with.
    ///
    /// A job that is there already is refused, or, with `overwrite`, loses its output: files that a job owns by name.
    /// Nothing else in the directory is ever deleted.
    ///
    /// # Errors
    /// Where another job, another process or other files are there ([`JobError::is_conflict`]), and where the file
    /// system refuses.
    pub fn create(directory: &Path, overwrite: bool, key: FingerprintKey) -> Result<Self, JobError> {
        fs::create_dir_all(directory).map_err(JobError::io("create", directory))?;
        // Asked twice: not even a lock is put between somebody else's files, and another process may have come first.
        holds_job(directory)?;
        let lock = lock(&directory.join(LOCK))?;
        if holds_job(directory)? {
            if !overwrite {
                return Err(JobError::Exists { path: Manifest::path(directory) });
            }
            for output in OUTPUTS {
                remove(&directory.join(output))?;
            }
        }
        let manifest = Manifest::draw(key);
        manifest.write(directory)?;
        Ok(Self { directory: directory.to_owned(), manifest, _lock: Some(lock) })
    }

    /// A job to look at, whoever holds it. Nothing is written, so a read-only directory will do.
    ///
    /// # Errors
    /// Where no job is there, its manifest is damaged or newer, or the file system refuses.
    pub fn open_for_reading(directory: &Path) -> Result<Self, JobError> {
        let manifest = Manifest::read(directory)?;
        Ok(Self { directory: directory.to_owned(), manifest, _lock: None })
    }

    /// The directory, as it was given.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What the job's files depend on.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Where the page records are: `pages.jsonl`.
    pub fn pages_path(&self) -> PathBuf {
        self.directory.join(PAGES)
    }

    /// Where the report is: `report.json`.
    pub fn report_path(&self) -> PathBuf {
        self.directory.join(REPORT)
    }
}

/// Whether a job is there, its manifest damaged or not. An error where it is a newer one, or something else is there.
fn holds_job(directory: &Path) -> Result<bool, JobError> {
    match Manifest::read(directory) {
        Ok(_) | Err(JobError::Manifest { .. }) => return Ok(true),
        Err(JobError::NoJob { .. }) => {}
        Err(error) => return Err(error),
    }
    for entry in fs::read_dir(directory).map_err(JobError::io("read", directory))? {
        let name = entry.map_err(JobError::io("read", directory))?.file_name();
        if !LEFTOVERS.iter().any(|&leftover| name == leftover) {
            return Err(JobError::Occupied { path: directory.join(name) });
        }
    }
    Ok(false)
}

fn lock(path: &Path) -> Result<File, JobError> {
    let file = File::options().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(JobError::io("create", path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(JobError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(JobError::io("lock", path)(error)),
    }
}

fn remove(path: &Path) -> Result<(), JobError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(JobError::io("remove", path)(error)),
        _ => Ok(()),
    }
}
