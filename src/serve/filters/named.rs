//! All filters of a server, by name, and their files.
//!
//! ```text
//!   DIR/ID/filter.json    the filter's name, its kind, and the key of its fingerprints; a directory without this file is removed
//!   DIR/ID/log-N          the members that were added after its snapshot
//!   DIR/ID/seen-N         its snapshot
//!   DIR/ID.deleted/       a deleted filter, until its files are removed
//! ```

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::filter::{FilterError, FilterKind, FilterMemory, NamedFilter};
use crate::address::FingerprintKey;
use crate::driver::own;
use crate::driver::own::replace;

/// The bounds of all filters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilterLimits {
    /// Filters at once.
    pub filters: usize,
    /// Bytes of a name.
    pub name_bytes: usize,
    /// Memory of all filters, in bytes. It is checked before members are added, so an exact set that doubles may exceed it by its own size.
    pub bytes: u64,
    /// A filter's log may grow by this many bytes, and by half of the filter's memory, before there is a snapshot.
    pub log_bytes: u64,
    /// The time between two syncs of the logs.
    pub sync: Duration,
}

impl Default for FilterLimits {
    fn default() -> Self {
        Self { filters: 1_000, name_bytes: 512, bytes: 4 << 30, log_bytes: 64 << 20, sync: Duration::from_secs(1) }
    }
}

/// Why a filter cannot be created or deleted. Nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FiltersError {
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    Files {
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The maximum number of filters exists.
    #[error("there are {0} filters, and may be no more")]
    Many(usize),
    /// The filters would use too much memory.
    #[error(transparent)]
    Memory(FilterError),
    /// The name is invalid.
    #[error("a name is UTF-8 of 1 to {0} bytes")]
    Name(usize),
    /// There is a filter of this name.
    #[error("item exists")]
    Taken,
}

/// All filters of a server.
#[derive(Debug)]
pub struct Filters {
    directory: PathBuf,
    limits: FilterLimits,
    memory: Arc<FilterMemory>,
    named: Arc<RwLock<Names>>,
    /// Held while a filter is created or deleted. The number of the next filter.
    changing: Mutex<u64>,
    keeper: Mutex<Option<Keeper>>,
}

type Names = HashMap<String, Arc<NamedFilter>>;

/// The thread that syncs logs and writes snapshots, until the sender is dropped.
type Keeper = (Sender<()>, JoinHandle<()>);

/// The content of `filter.json`.
#[derive(Debug, Deserialize, Serialize)]
struct Manifest {
    name: String,
    #[serde(flatten)]
    kind: FilterKind,
    key: u64,
}

const MANIFEST: &str = "filter.json";
const DELETED: &str = ".deleted";

impl Filters {
    /// Opens the filters of a directory, which is created if it is missing. No other process may use it.
    ///
    /// # Errors
    /// If a file is damaged, or cannot be read or written.
    pub fn open(directory: &Path, limits: FilterLimits) -> Result<Self, FiltersError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| FiltersError::Files { path, error }
        };
        fs::create_dir_all(directory).map_err(at(directory))?;
        let memory = Arc::new(FilterMemory { taken: AtomicU64::new(0), most: limits.bytes });
        let (mut named, mut next) = (Names::new(), 0);
        for entry in fs::read_dir(directory).map_err(at(directory))? {
            let path = entry.map_err(at(directory))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Ok(number) = name.parse::<u64>() {
                next = next.max(number + 1);
            }
            let manifest = own::find(&path.join(MANIFEST)).map_err(at(&path))?;
            if name.ends_with(DELETED) || manifest.is_none() {
                fs::remove_dir_all(&path).map_err(at(&path))?;
                continue;
            }
            let manifest = own::read(&path.join(MANIFEST)).map_err(at(&path))?;
            let manifest: Manifest = serde_json::from_slice(&manifest).map_err(|error| at(&path)(error.into()))?;
            let key = FingerprintKey::from_u64(manifest.key);
            let filter = NamedFilter::open(&path, manifest.kind, key, &memory).map_err(at(&path))?;
            named.insert(manifest.name, Arc::new(filter));
        }
        let named = Arc::new(RwLock::new(named));
        let keeper = keeper(Arc::clone(&named), &limits).map_err(at(directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            limits,
            memory,
            named,
            changing: Mutex::new(next),
            keeper: Mutex::new(Some(keeper)),
        })
    }

    /// The filter of this name.
    pub fn get(&self, name: &[u8]) -> Option<Arc<NamedFilter>> {
        let name = std::str::from_utf8(name).ok()?;
        self.named.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// How many there are, and their memory in bytes.
    pub fn totals(&self) -> (usize, u64) {
        let named = self.named.read().unwrap_or_else(PoisonError::into_inner).len();
        (named, self.memory.taken.load(Ordering::Relaxed))
    }

    /// Creates a filter. Blocks until its files are written.
    ///
    /// # Errors
    /// If the name is taken or invalid, a bound is reached, or a file cannot be written.
    pub fn make(&self, name: &[u8], kind: FilterKind) -> Result<Arc<NamedFilter>, FiltersError> {
        let no_name = || FiltersError::Name(self.limits.name_bytes);
        let text = std::str::from_utf8(name).ok().filter(|name| (1..=self.limits.name_bytes).contains(&name.len()));
        let text = text.ok_or_else(no_name)?;
        let mut next = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.get(name).is_some() {
            return Err(FiltersError::Taken);
        }
        let (filters, _) = self.totals();
        if filters >= self.limits.filters {
            return Err(FiltersError::Many(filters));
        }
        self.memory.check(kind.bytes()).map_err(FiltersError::Memory)?;
        let path = self.directory.join(next.to_string());
        let made = || {
            fs::create_dir(&path)?;
            let key = FingerprintKey::random();
            // The set comes before the manifest: a filter whose set cannot be created has no manifest.
            let filter = NamedFilter::open(&path, kind, key, &self.memory)?;
            let manifest = Manifest { name: text.to_owned(), kind, key: key.to_u64() };
            replace(&path.join(MANIFEST), &serde_json::to_vec_pretty(&manifest)?)?;
            own::sync_names(&self.directory)?;
            Ok(Arc::new(filter))
        };
        let made = made();
        *next += 1;
        let filter = made.map_err(|error| {
            // Without a manifest it is not a filter; the next start removes any files that are left.
            _ = fs::remove_dir_all(&path);
            FiltersError::Files { path: path.clone(), error }
        })?;
        let named = &mut *self.named.write().unwrap_or_else(PoisonError::into_inner);
        named.insert(text.to_owned(), Arc::clone(&filter));
        Ok(filter)
    }

    /// Deletes a filter and its files. Returns whether it existed. Blocks.
    ///
    /// # Errors
    /// If its directory cannot be renamed.
    pub fn delete(&self, name: &[u8]) -> Result<bool, FiltersError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(filter) = self.get(name) else { return Ok(false) };
        let remove = |path: &Path| {
            let gone = own::with_end(path, DELETED);
            fs::rename(path, &gone)?;
            own::sync_names(&self.directory)?;
            // If files cannot be removed now, the next start removes them.
            _ = fs::remove_dir_all(&gone);
            Ok(())
        };
        let deleted = filter.delete(remove);
        deleted.map_err(|error| FiltersError::Files { path: self.directory.clone(), error })?;
        if let Ok(name) = std::str::from_utf8(name) {
            self.named.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        }
        Ok(true)
    }

    /// Writes a snapshot of each filter that has changed, and ends. Blocks.
    pub fn close(&self) {
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stop, thread)) = keeper else { return };
        drop(stop);
        _ = thread.join();
        for filter in all(&self.named) {
            // If this fails, the next start reads the log.
            if filter.keep(0).is_err() {
                filter.sync();
            }
        }
    }
}

impl Drop for Filters {
    fn drop(&mut self) {
        // The thread ends by itself. All answered members are in the logs.
        self.keeper.get_mut().unwrap_or_else(PoisonError::into_inner).take();
    }
}

fn all(named: &RwLock<Names>) -> Vec<Arc<NamedFilter>> {
    named.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
}

/// Starts the thread that syncs logs and writes snapshots.
fn keeper(named: Arc<RwLock<Names>>, limits: &FilterLimits) -> io::Result<Keeper> {
    let (sync, log_bytes) = (limits.sync, limits.log_bytes);
    let (stop, stopped) = mpsc::channel();
    let keep = move || {
        while stopped.recv_timeout(sync) == Err(RecvTimeoutError::Timeout) {
            for filter in all(&named) {
                filter.sync();
                // If this fails, the previous snapshot is used, and the log has the rest.
                _ = filter.keep(log_bytes);
            }
        }
    };
    let thread = thread::Builder::new().name("filters".to_owned()).spawn(keep)?;
    Ok((stop, thread))
}
