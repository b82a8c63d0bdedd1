//! All crawls of a server, by name, and their files.
//!
//! ```text
//!   DIR/lock          held by the server
//!   DIR/NAME.json     the settings as they were given, and whether the crawl is paused; without this file there is no crawl
//!   DIR/NAME/         its job, for `crawler stats`, `crawler explain` and the like
//!   DIR/NAME.deleted/ a deleted job, until its files are removed
//!   DIR/filters/      the filters, see `filters/named.rs`
//! ```

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::CallError;
use super::crawl::ServedCrawl;
use super::rules::{CrawlRules, ReadRules, RulesError, ServeLimits, rules};
use crate::driver::own;
use crate::driver::own::replace;
use crate::lending::Clock;

/// A crawl's name: 1 to 64 letters, digits, `.`, `_` and `-`, and no dot first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CrawlName(String);

impl CrawlName {
    /// `None` if this text cannot be a crawl's name.
    pub fn new(text: &str) -> Option<Self> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_name = (1..=64).contains(&text.len()) && text.bytes().all(is_letter) && !text.starts_with('.');
        let is_free = text != LOCK && text != FILTERS && OWN_ENDS.iter().all(|end| !text.ends_with(end));
        (is_name && is_free).then(|| Self(text.to_owned()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The file names of the server itself end in these.
const OWN_ENDS: [&str; 3] = [".json", ".new", DELETED];
const DELETED: &str = ".deleted";
const LOCK: &str = "lock";
/// The directory of the filters, beside the crawls.
pub const FILTERS: &str = "filters";

/// All crawls of a server.
pub struct Crawls {
    directory: PathBuf,
    reader: Arc<dyn ReadRules>,
    limits: ServeLimits,
    clock: Clock,
    served: RwLock<BTreeMap<CrawlName, Served>>,
    /// Held while a crawl is created, changed or deleted, so these never overlap.
    changing: Mutex<()>,
    _lock: File,
}

#[derive(Clone)]
struct Served {
    crawl: Arc<ServedCrawl>,
    settings: Value,
}

/// The content of a crawl's `NAME.json`.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    settings: Value,
    #[serde(default)]
    paused: bool,
}

/// The effect of a `PUT` of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It is new.
    Created,
    /// It existed, with these settings.
    Unchanged,
    /// It existed, and has these settings from now on.
    Changed,
}

/// Why a crawl cannot be created, changed or deleted. Nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrawlsError {
    /// There is no crawl of this name.
    #[error("there is no crawl of this name; PUT it first")]
    None,
    /// The server has the maximum number of crawls.
    #[error("the server has {0} crawls, and may have no more")]
    Many(usize),
    /// The settings cannot be used.
    #[error("the settings cannot be used: {0}")]
    Rules(#[from] RulesError),
    /// The crawl cannot be opened with these settings.
    #[error("it cannot be opened with these settings: {0}")]
    Opening(CallError),
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    Files {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl CrawlsError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Files { path: path.to_owned(), error }
    }
}

impl Crawls {
    /// Opens the crawls of a directory, which is created if it is missing. Each crawl's thread opens its job; this does not wait for it.
    ///
    /// # Errors
    /// If another server uses the directory, a crawl's settings cannot be used, or a file cannot be read or written.
    pub fn open(directory: &Path, reader: Arc<dyn ReadRules>, limits: ServeLimits) -> Result<Self, CrawlsError> {
        Self::open_at(directory, reader, limits, Clock::start())
    }

    /// Like [`open`](Self::open), with a clock that is already running.
    ///
    /// # Errors
    /// Like [`open`](Self::open).
    pub fn open_at(
        directory: &Path,
        reader: Arc<dyn ReadRules>,
        limits: ServeLimits,
        clock: Clock,
    ) -> Result<Self, CrawlsError> {
        fs::create_dir_all(directory).map_err(CrawlsError::at(directory))?;
        let path = directory.join(LOCK);
        let lock = own::open_or_create(&path).map_err(CrawlsError::at(&path))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let error = io::Error::new(ErrorKind::ResourceBusy, "another server has this directory");
                return Err(CrawlsError::at(&path)(error));
            }
            // If the file system has no locks, the jobs cannot be locked either.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let crawls = Self {
            directory: directory.to_owned(),
            reader,
            limits,
            clock,
            served: RwLock::default(),
            changing: Mutex::default(),
            _lock: lock,
        };
        for entry in fs::read_dir(directory).map_err(CrawlsError::at(directory))? {
            let entry = entry.map_err(CrawlsError::at(directory))?;
            let Ok(file) = entry.file_name().into_string() else { continue };
            if file.ends_with(DELETED) {
                fs::remove_dir_all(entry.path()).map_err(CrawlsError::at(&entry.path()))?;
            } else if let Some(name) = file.strip_suffix(".json").and_then(CrawlName::new) {
                let kept = fs::read(entry.path()).map_err(CrawlsError::at(&entry.path()))?;
                let kept: Kept = serde_json::from_slice(&kept)
                    .map_err(|error| CrawlsError::at(&entry.path())(io::Error::other(error)))?;
                let rules = rules(&kept.settings, &*crawls.reader)?;
                crawls.serve(name, kept, rules)?;
            }
        }
        Ok(crawls)
    }

    /// The bounds of the server.
    pub fn limits(&self) -> &ServeLimits {
        &self.limits
    }

    /// The crawl of this name.
    pub fn get(&self, name: &CrawlName) -> Option<Arc<ServedCrawl>> {
        self.read().get(name).map(|served| Arc::clone(&served.crawl))
    }

    /// The settings of the crawl of this name, as they were given.
    pub fn settings(&self, name: &CrawlName) -> Option<Value> {
        self.read().get(name).map(|served| served.settings.clone())
    }

    /// All crawls, by name, with their settings as they were given.
    pub fn all(&self) -> Vec<(CrawlName, Arc<ServedCrawl>, Value)> {
        let all = self.read();
        all.iter().map(|(name, of)| (name.clone(), Arc::clone(&of.crawl), of.settings.clone())).collect()
    }

    /// Creates a crawl, or changes the settings of an existing one. Blocks until it is open.
    ///
    /// # Errors
    /// If the settings cannot be used, or cannot be changed in a crawl that is under way.
    pub fn put(&self, name: &CrawlName, settings: Value) -> Result<Opened, CrawlsError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.read().get(name).cloned();
        if before.as_ref().is_some_and(|before| before.settings == settings) {
            return Ok(Opened::Unchanged);
        }
        let new = rules(&settings, &*self.reader)?;
        let Some(Served { crawl, settings: earlier }) = before else {
            if self.read().len() >= self.limits.crawls {
                return Err(CrawlsError::Many(self.limits.crawls));
            }
            let was_there = self.directory.join(&name.0).exists();
            let opened = self.keep_and_serve(name, Kept { settings, paused: false }, new);
            if opened.is_err() {
                // Nothing in a new crawl was ever acknowledged. A job that existed before is left alone.
                let removed = if was_there { self.remove_settings(name) } else { self.remove_files(name) };
                // The error to report is why the crawl could not be opened.
                _ = removed;
            }
            return opened.map(|()| Opened::Created);
        };
        let paused = crawl.is_paused();
        crawl.close(true);
        let changed = self.keep_and_serve(name, Kept { settings, paused }, new);
        if changed.is_err() {
            let rules = rules(&earlier, &*self.reader)?;
            self.keep_and_serve(name, Kept { settings: earlier, paused }, rules)?;
        }
        changed.map(|()| Opened::Changed)
    }

    /// Pauses or resumes a crawl; a restart keeps that. Blocks.
    ///
    /// # Errors
    /// If there is no such crawl, or a file cannot be written.
    pub fn pause(&self, name: &CrawlName, paused: bool) -> Result<(), CrawlsError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let Served { crawl, settings } = self.read().get(name).cloned().ok_or(CrawlsError::None)?;
        self.keep(name, &Kept { settings, paused })?;
        wait(crawl.pause(paused)).map_err(CrawlsError::Opening)
    }

    /// Deletes a crawl and its files. Blocks.
    ///
    /// # Errors
    /// If there is no such crawl, or a file cannot be removed.
    pub fn delete(&self, name: &CrawlName) -> Result<(), CrawlsError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let served = self.write().remove(name).ok_or(CrawlsError::None)?;
        served.crawl.close(false);
        self.remove_files(name)
    }

    /// Writes a checkpoint of each crawl, and ends them. Blocks.
    pub fn close(&self) {
        let all = std::mem::take(&mut *self.write());
        let closing: Vec<_> =
            all.into_values().map(|served| std::thread::spawn(move || served.crawl.close(true))).collect();
        for closing in closing {
            // A crawl that panicked has nothing to write.
            _ = closing.join();
        }
    }

    fn keep_and_serve(&self, name: &CrawlName, kept: Kept, rules: CrawlRules) -> Result<(), CrawlsError> {
        self.keep(name, &kept)?;
        let crawl = self.serve(name.clone(), kept, rules)?;
        let opened = wait(crawl.gate());
        if let Err(error) = opened {
            self.write().remove(name);
            crawl.close(false);
            return Err(CrawlsError::Opening(error));
        }
        Ok(())
    }

    fn keep(&self, name: &CrawlName, kept: &Kept) -> Result<(), CrawlsError> {
        let path = self.directory.join(format!("{}.json", name.0));
        let json = serde_json::to_vec_pretty(kept).map_err(|error| CrawlsError::at(&path)(error.into()))?;
        replace(&path, &json).map_err(CrawlsError::at(&path))
    }

    fn serve(&self, name: CrawlName, kept: Kept, rules: CrawlRules) -> Result<Arc<ServedCrawl>, CrawlsError> {
        let directory = self.directory.join(&name.0);
        fs::create_dir_all(&directory).map_err(CrawlsError::at(&directory))?;
        let crawl = ServedCrawl::start(&directory, rules, kept.paused, &self.limits, self.clock);
        let crawl = Arc::new(crawl.map_err(CrawlsError::at(&directory))?);
        self.write().insert(name, Served { crawl: Arc::clone(&crawl), settings: kept.settings });
        Ok(crawl)
    }

    /// Removes the file without which there is no crawl. If removing the other files fails, they do no harm.
    fn remove_settings(&self, name: &CrawlName) -> Result<(), CrawlsError> {
        let path = self.directory.join(format!("{}.json", name.0));
        own::remove(&path).map_err(CrawlsError::at(&path))
    }

    fn remove_files(&self, name: &CrawlName) -> Result<(), CrawlsError> {
        self.remove_settings(name)?;
        let (from, to) = (self.directory.join(&name.0), self.directory.join(format!("{}{DELETED}", name.0)));
        fs::rename(&from, &to).and_then(|()| fs::remove_dir_all(&to)).map_err(CrawlsError::at(&from))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<CrawlName, Served>> {
        self.served.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<CrawlName, Served>> {
        self.served.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the answer of a crawl's thread. For threads that may block.
fn wait<T>(answer: impl Future<Output = T>) -> T {
    // The runtime needs no I/O: the answer comes through a channel.
    tokio::runtime::Builder::new_current_thread().build().map_or_else(
        |error| panic!("a runtime without I/O cannot fail to start: {error}"),
        |runtime| runtime.block_on(answer),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_file_names() {
        for name in ["a", "News-2024_x.y", &"n".repeat(64)] {
            assert!(CrawlName::new(name).is_some(), "{name}");
        }
        for name in
            ["", ".", "..", ".a", "a/b", "a b", "ä", "a.json", "a.deleted", "lock", "filters", "a.new", &"n".repeat(65)]
        {
            assert!(CrawlName::new(name).is_none(), "{name}");
        }
    }
}
