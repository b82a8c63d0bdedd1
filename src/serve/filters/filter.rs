//! One filter: its set, and the log that makes it durable.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::log::{FilterLog, LONGEST, snapshot};
use crate::address::{Fingerprint, FingerprintKey};
use crate::seen::{Layout, OnFull, SeenError, SeenOptions, SeenSet, SeenStatistics, Sighting, Sizing};

/// The kind of a filter. Stored in its manifest.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum FilterKind {
    /// A Bloom filter, which takes a share of new members for seen.
    Bloom {
        /// Members that it is sized for.
        capacity: u64,
        /// The share of new members that may be taken for seen, above 0 and below 1.
        rate: f64,
        /// Whether it grows beyond its capacity.
        grows: bool,
        /// The capacity is only the initial one.
        open_ended: bool,
    },
    /// An exact set of fingerprints, which loses one in ten billion.
    Exact,
}

/// The initial capacity of an exact set. After ten doublings it has room for ten million members, with 6.3 bytes each.
const EXACT_START: u64 = 8_416;
/// Below this capacity a filter has one shard: shards of a few members would differ too much in size.
const ONE_SHARD: u64 = 1 << 16;
const SHARDS: usize = 16;

impl FilterKind {
    pub(super) fn options(&self, key: FingerprintKey) -> SeenOptions {
        let mut options = SeenOptions::default();
        (options.key, options.shards) = (key, SHARDS);
        match *self {
            Self::Bloom { capacity, rate, grows, open_ended } => {
                (options.layout, options.capacity, options.false_positive_rate) = (Layout::Blocked, capacity, rate);
                options.on_full = if grows { OnFull::Grow } else { OnFull::Warn };
                options.open_ended = open_ended;
                if capacity < ONE_SHARD {
                    options.shards = 1;
                }
            }
            Self::Exact => {
                (options.layout, options.capacity, options.audit) = (Layout::Exact, EXACT_START, 0);
            }
        }
        options
    }

    /// Bytes of a new filter.
    pub(super) fn bytes(&self) -> u64 {
        match *self {
            Self::Bloom { capacity, rate, .. } => Sizing::new(Layout::Blocked, capacity, rate).bytes(),
            Self::Exact => Sizing::new(Layout::Exact, EXACT_START, 0.5).bytes(),
        }
    }
}

/// The members that were answered `New`.
fn new(members: &[Fingerprint], added: &[Added]) -> impl Iterator<Item = Fingerprint> {
    members.iter().zip(added).filter(|(_, added)| **added == Added::New).map(|(member, _)| *member)
}

/// What became of a member that was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new, and in the filter.
    New,
    /// It was in the filter, or is a false positive.
    Seen,
    /// It is new, but the filter is full, so it was not added.
    Full,
}

/// Why a filter cannot do something. The call may be repeated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// The filter was deleted meanwhile.
    #[error("the filter was deleted meanwhile")]
    Deleted,
    /// The log cannot be written.
    #[error("the filter's files: {0}; it was not added, and may be sent again")]
    Files(io::Error),
    /// The filters use all the memory that they may.
    #[error("all filters together take {0} bytes, and may take no more")]
    Memory(u64),
}

/// A filter.
#[derive(Debug)]
pub struct NamedFilter {
    kind: FilterKind,
    seen: SeenSet,
    directory: PathBuf,
    durable: Mutex<Durable>,
    /// Held while a snapshot is written, and while the filter is deleted.
    snapshots: Mutex<()>,
    memory: Arc<FilterMemory>,
    /// The memory that this filter uses.
    bytes: AtomicU64,
}

/// The durable part of a filter. Its lock is held while members are added, until they are in the log.
#[derive(Debug)]
struct Durable {
    log: FilterLog,
    is_deleted: bool,
    /// Members that are in the set, but could not be written to the log. Their answer was an error, so they are new when they are sent again.
    /// These are the members of at most one batch: nothing is added until the log is written.
    owed: HashSet<Fingerprint>,
    sightings: Vec<Sighting>,
}

/// The memory of all filters.
#[derive(Debug)]
pub(super) struct FilterMemory {
    pub(super) taken: AtomicU64,
    pub(super) most: u64,
}

impl FilterMemory {
    /// Checks that `more` bytes can be used.
    pub(super) fn check(&self, more: u64) -> Result<(), FilterError> {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken.saturating_add(more) > self.most { Err(FilterError::Memory(taken)) } else { Ok(()) }
    }
}

impl NamedFilter {
    /// Opens a filter in an existing directory.
    pub(super) fn open(
        directory: &Path,
        kind: FilterKind,
        key: FingerprintKey,
        memory: &Arc<FilterMemory>,
    ) -> io::Result<Self> {
        let make = || SeenSet::new(&kind.options(key)).map_err(|error: SeenError| io::Error::other(error.to_string()));
        let (log, seen) = FilterLog::open(directory, key, make)?;
        let durable = Durable { log, is_deleted: false, owed: HashSet::new(), sightings: Vec::new() };
        let filter = Self {
            kind,
            seen,
            directory: directory.to_owned(),
            durable: Mutex::new(durable),
            snapshots: Mutex::default(),
            memory: Arc::clone(memory),
            bytes: AtomicU64::new(0),
        };
        filter.note_memory();
        Ok(filter)
    }

    /// Its kind.
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// The fingerprint of a member.
    pub fn fingerprint(&self, member: &[u8]) -> Fingerprint {
        self.seen.options().key.fingerprint_bytes(member)
    }

    /// How many members it has.
    pub fn count(&self) -> u64 {
        self.seen.remembered()
    }

    /// Its content, memory and losses.
    pub fn statistics(&self) -> SeenStatistics {
        self.seen.statistics()
    }

    /// Adds members, in order. The answers are appended to `added`. When this returns, the members survive `kill -9`.
    ///
    /// # Errors
    /// If the filter was deleted, the memory is used up, or the log cannot be written. Then no member has an answer.
    pub fn add(&self, members: &[Fingerprint], added: &mut Vec<Added>) -> Result<(), FilterError> {
        let begin = added.len();
        let done = members.chunks(LONGEST).try_for_each(|members| self.add_some(members, added));
        if done.is_err() {
            added.truncate(begin);
        }
        done
    }

    fn add_some(&self, members: &[Fingerprint], added: &mut Vec<Added>) -> Result<(), FilterError> {
        self.memory.check(0)?;
        let mut durable = self.durable();
        if durable.is_deleted {
            return Err(FilterError::Deleted);
        }
        // Nothing is added until all earlier members are in the log.
        durable.log.recover().map_err(FilterError::Files)?;
        let begin = added.len();
        let Durable { log, owed, sightings, .. } = &mut *durable;
        if let FilterKind::Bloom { capacity, grows: false, .. } = self.kind {
            for &member in members {
                added.push(if self.seen.remembered() < capacity {
                    Added::from(self.seen.insert(member))
                } else if self.seen.contains(member) {
                    Added::Seen
                } else {
                    Added::Full
                });
            }
        } else {
            self.seen.insert_batch(members, sightings);
            added.extend(sightings.iter().map(|sighting| Added::from(*sighting)));
        }
        let of_these = &mut added[begin..];
        let appended = log.append(new(members, of_these));
        if let Err(error) = appended {
            owed.extend(new(members, of_these));
            return Err(FilterError::Files(error));
        }
        if !owed.is_empty() {
            for (member, added) in members.iter().zip(of_these) {
                if *added == Added::Seen && owed.remove(member) {
                    *added = Added::New;
                }
            }
        }
        drop(durable);
        self.note_memory();
        Ok(())
    }

    /// Whether members are in the filter, in order. The answers are appended to `contained`.
    ///
    /// # Errors
    /// If the filter was deleted.
    pub fn contain(&self, members: &[Fingerprint], contained: &mut Vec<bool>) -> Result<(), FilterError> {
        // The lock is held until a member is in the log, so an answer here never precedes that.
        let durable = self.durable();
        if durable.is_deleted {
            return Err(FilterError::Deleted);
        }
        let is_owed = |member| !durable.owed.is_empty() && durable.owed.contains(member);
        contained.extend(members.iter().map(|member| self.seen.contains(*member) && !is_owed(member)));
        Ok(())
    }

    /// Syncs its log to the disk.
    pub(super) fn sync(&self) {
        let file = self.durable().log.unsynced();
        if let Some(file) = file
            && file.sync_data().is_err()
        {
            self.durable().log.note_unsynced();
        }
    }

    /// Writes a snapshot if the log has grown by at least `grown` bytes and by at least half of the set's memory; with 0, if it has grown at
    /// all.
    pub(super) fn keep(&self, grown: u64) -> io::Result<()> {
        let _snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, was, unsynced) = {
            let mut durable = self.durable();
            let was = durable.log.grown();
            if durable.is_deleted || was == 0 || grown > 0 && was < grown.max(self.seen.bytes() / 2) {
                return Ok(());
            }
            durable.log.recover()?;
            let unsynced = durable.log.unsynced();
            (durable.log.rotate(), was, unsynced)
        };
        // If this fails, the snapshot will soon have these members.
        _ = unsynced.map(|file| file.sync_data());
        let kept = snapshot(&self.directory, number, &self.seen);
        let durable = &mut self.durable();
        match kept {
            Ok(()) => durable.log.remove_before(number),
            Err(error) => {
                durable.log.not_kept(was);
                Err(error)
            }
        }
    }

    /// Calls `remove` for its directory, and refuses all later calls.
    pub(super) fn delete(&self, remove: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let _snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let mut durable = self.durable();
        remove(&self.directory)?;
        durable.is_deleted = true;
        // A client may still hold the filter: the memory that it uses from now on is subtracted when it is dropped.
        self.memory.taken.fetch_sub(self.bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        Ok(())
    }

    fn durable(&self) -> MutexGuard<'_, Durable> {
        self.durable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_memory(&self) {
        let now = self.seen.bytes();
        let before = self.bytes.swap(now, Ordering::Relaxed);
        // Two threads may do this at once: the sum of their differences is still right.
        self.memory.taken.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }
}

impl Drop for NamedFilter {
    fn drop(&mut self) {
        self.memory.taken.fetch_sub(self.bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl From<Sighting> for Added {
    fn from(sighting: Sighting) -> Self {
        if sighting == Sighting::New { Self::New } else { Self::Seen }
    }
}
