use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{JobError, Manifest};
use crate::address::FingerprintKey;

/// Empty, and locked while a process crawls into the directory.
const LOCK: &str = "lock";
/// The journal and the checkpoints.
const FRONTIER: &str = "frontier";
/// The page records.
const PAGES: &str = "pages.jsonl";
/// The links that were refused, where they are listed.
const SKIPPED: &str = "skipped.jsonl";
/// The report.
const REPORT: &str = "report.json";
/// The settings that it was crawled with last.
const SETTINGS: &str = "crawler.toml";
/// Every seed that it was given.
const SEEDS: &str = "seeds.txt";

/// What a job that is overwritten loses. Its lock stays (it is held), its manifest is replaced.
const OUTPUTS: [&str; 8] =
    [PAGES, SKIPPED, REPORT, "report.json.new", SETTINGS, "crawler.toml.new", SEEDS, "seeds.txt.new"];
/// How the files in [`FRONTIER`] begin.
const KEPT: [&str; 5] = ["checkpoint-", "hosts-", "idle-", "journal-", "seen-"];
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
            remove_kept(&directory.join(FRONTIER))?;
        }
        let manifest = Manifest::draw(key);
        manifest.write(directory)?;
        Ok(Self { directory: directory.to_owned(), manifest, _lock: Some(lock) })
    }

    /// The job that is there, to go on with.
    ///
    /// # Errors
    /// Where none is there ([`JobError::NoJob`]), its manifest is damaged or newer, it is of another version's rules, another
    /// process has it, or the file system refuses.
    pub fn resume(directory: &Path) -> Result<Self, JobError> {
        let manifest = Manifest::read(directory)?;
        let lock = lock(&directory.join(LOCK))?;
        manifest.check(directory)?;
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

    /// Where the journal and the checkpoints are: the directory `frontier`.
    pub fn frontier_directory(&self) -> PathBuf {
        self.directory.join(FRONTIER)
    }

    /// Where the page records are: `pages.jsonl`.
    pub fn pages_path(&self) -> PathBuf {
        self.directory.join(PAGES)
    }

    /// Where refused links are listed: `skipped.jsonl`.
    pub fn skipped_path(&self) -> PathBuf {
        self.directory.join(SKIPPED)
    }

    /// Where the settings are that it was crawled with last: `crawler.toml`.
    pub fn settings_path(&self) -> PathBuf {
        Self::settings_in(&self.directory)
    }

    /// Where the settings of the job in a directory are.
    pub fn settings_in(directory: &Path) -> PathBuf {
        directory.join(SETTINGS)
    }

    /// Where every seed is that the job was given, refused or not, a URL a line: `seeds.txt`.
    pub fn seeds_path(&self) -> PathBuf {
        self.directory.join(SEEDS)
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
    let file = file.map_err(JobError::io("write", path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(JobError::Locked { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(JobError::io("lock", path)(error)),
    }
}

/// Removes what is ours in the frontier's directory.
fn remove_kept(directory: &Path) -> Result<(), JobError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(JobError::io("read", directory))?,
    };
    for entry in entries {
        let name = entry.map_err(JobError::io("read", directory))?.file_name();
        if KEPT.iter().any(|kept| name.as_encoded_bytes().starts_with(kept.as_bytes())) {
            remove(&directory.join(name))?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), JobError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(JobError::io("remove", path)(error)),
        _ => Ok(()),
    }
}
