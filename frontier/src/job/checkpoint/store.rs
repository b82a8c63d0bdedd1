//! A job's checkpoints as files: they are found, numbered, opened to be copied elsewhere, and removed. The module `draft` writes them.
//!
//! # The life of a checkpoint
//!
//! 1. `begin` takes the next number. None of its files counts yet.
//! 2. The draft writes `hosts-N`, `evicted-N` if hosts are to be evicted, `seen-N` and `contents-N`. Each file is synced when it is
//!    written.
//! 3. `commit` writes the summary to `checkpoint-N.new`, syncs the names, renames it, and syncs the names again. From here on the
//!    checkpoint counts, and the hosts of its run may be evicted.
//! 4. The previous checkpoint stays. All older ones are removed, their summaries first, and so are runs that no summary lists.
//!
//! A draft that is dropped removes its files. A crash leaves them. The next process removes them once it has restored a frontier: until
//! then the user may put a lost summary back.
//!
//! # What a power cut leaves
//!
//! | the power cut comes | the disk has | the next process |
//! |---|---|---|
//! | while the draft is written | any part of `hosts-N`, `evicted-N`, `seen-N`, `contents-N` | goes on from checkpoint N-1, and removes these files |
//! | before the rename is safe | `checkpoint-N.new`, or already `checkpoint-N` | goes on from N if `checkpoint-N` has its name, since all other files are whole; else from N-1 |
//! | after that | checkpoint N, and perhaps older files that were to be removed | goes on from N, and removes these after its next commit |

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;

use super::CheckpointError;
use super::evicted::EvictedHosts;
use super::files::{FILES, RUN, name, number_of, numbers_of};
use super::summary::Summary;
use crate::bytes::{FileError, is_leftover};
use crate::gate::Position;
use crate::job::journal::{Disk, Needs, Storage, segment_name, segment_start};

/// The number of checkpoints that are kept.
const KEPT: usize = 2;
/// The ending of a file's name until the file is whole.
pub(super) const NEW_SUFFIX: &str = ".new";

/// A job's checkpoints.
#[derive(Debug)]
pub struct Checkpoints<S: Storage = Disk> {
    pub(super) storage: S,
    pub(super) job: u64,
    /// The seen set is read even if the options describe a different one.
    pub(in crate::job) takes_any_seen: bool,
    /// The checkpoints' numbers, oldest first, each with what it needs of the journal, if that is known.
    pub(super) numbers: Vec<(u64, Option<Needs>)>,
    /// Damaged checkpoints. They are removed after the next commit.
    pub(super) damaged: Vec<u64>,
    /// The evicted hosts.
    pub(super) evicted: EvictedHosts,
    /// The runs that each checkpoint lists; checkpoints whose summary cannot be read are missing here. While any is missing, no run is
    /// removed.
    pub(super) listed: BTreeMap<u64, Vec<u64>>,
    /// The runs on disk, listed or not.
    pub(super) runs: Vec<u64>,
    /// Images of the hosts that may be evicted now.
    pub(super) evictable: Vec<Vec<u8>>,
    /// The last number that was given out, even to a draft that was dropped.
    pub(super) last: u64,
    /// Bytes of metadata that had been released when old segments were last compacted; `None` before the first time.
    pub(super) compacted: Option<u64>,
    /// Files of checkpoints whose summary is missing. They are useless unless the user puts the summary back.
    leftovers: Vec<String>,
}

impl<S: Storage> Checkpoints<S> {
    /// Finds the checkpoints. Half-written ones that a crash left are removed later, once a frontier is restored. Only files that can never
    /// count are removed now: summaries that did not get their names, and temporary files of a seen set.
    ///
    /// Costs a listing of the names and a read of each summary; there are two or three.
    ///
    /// # Errors
    /// If the storage fails.
    pub(crate) fn open(mut storage: S, job: u64) -> Result<Self, CheckpointError> {
        let names = storage.list().map_err(FileError::of("list", storage.path("")))?;
        let of = |file| numbers_of(&names, file);
        let numbers = of(FILES[3]);
        let runs = of(RUN);
        let last = FILES.into_iter().chain([RUN]).filter_map(|file| of(file).last().copied()).max().unwrap_or(0);
        let without_summary = |file| of(file).into_iter().filter(|number| !numbers.contains(number));
        let leftovers = FILES.into_iter().flat_map(|file| without_summary(file).map(move |number| name(file, number)));
        let leftovers = leftovers.collect();
        for name in &names {
            let is_unfinished = name.strip_suffix(NEW_SUFFIX).is_some_and(|name| number_of(name, FILES[3]).is_some());
            if is_unfinished || is_leftover(name) {
                remove(&mut storage, name)?;
            }
        }
        // After this no power cut can bring back a removed name whose number is given out again.
        storage.sync_names().map_err(FileError::of("sync", storage.path("")))?;
        let mut checkpoints = Self { runs, last, leftovers, ..Self::of(storage, job, numbers) };
        // The restore reports a summary that cannot be read.
        for at in 0..checkpoints.numbers.len() {
            let number = checkpoints.numbers[at].0;
            if let Ok(summary) = checkpoints.summary(number) {
                checkpoints.listed.insert(number, summary.runs);
            }
        }
        Ok(checkpoints)
    }

    /// Removes leftovers and unlisted runs. It is called when a frontier was restored.
    pub(super) fn sweep(&mut self) -> Result<(), CheckpointError> {
        let Self { storage, leftovers, .. } = self;
        leftovers.drain(..).try_for_each(|name| remove(storage, &name))?;
        self.tidy_runs();
        Ok(())
    }

    /// Checkpoints with these numbers; nothing else is known about them yet.
    fn of(storage: S, job: u64, numbers: Vec<u64>) -> Self {
        Self {
            storage,
            job,
            takes_any_seen: false,
            last: numbers.last().copied().unwrap_or(0),
            numbers: numbers.into_iter().map(|number| (number, None)).collect(),
            damaged: Vec::new(),
            evicted: EvictedHosts::none(job),
            listed: BTreeMap::new(),
            runs: Vec::new(),
            evictable: Vec::new(),
            compacted: None,
            leftovers: Vec::new(),
        }
    }

    /// Finds the checkpoints and changes nothing, for a job that another process may hold.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn look(mut storage: S, job: u64) -> Result<Self, CheckpointError> {
        let names = storage.list().map_err(FileError::of("list", storage.path("")))?;
        Ok(Self::of(storage, job, numbers_of(&names, FILES[3])))
    }

    /// Whether there are no checkpoints.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether a checkpoint needs any of this part of the journal, for its replay or for the texts of waiting URLs. Other parts may be
    /// [removed](crate::job::journal::FileJournal::remove_unneeded). A checkpoint that was found at a resume has unknown needs, and counts
    /// as needing everything.
    pub(crate) fn need(&self, range: &Range<Position>) -> bool {
        self.numbers.iter().any(|(_, needs)| needs.as_ref().is_none_or(|needs| needs.any_in(range)))
    }

    /// The error for a journal that lacks a URL: no more checkpoints can be written.
    pub(super) fn lost(&self) -> CheckpointError {
        CheckpointError::Lost { path: self.storage.path("") }
    }

    /// Takes the images of the hosts that may be evicted after the last checkpoint, in batches. Pass each batch to [`Frontier::evict`]
    /// before the next checkpoint is begun.
    ///
    /// [`Frontier::evict`]: crate::frontier::Frontier::evict
    pub(super) fn evictable(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.evictable.drain(..)
    }

    /// Removes checkpoints and runs that are no longer needed. If a file cannot be removed now, that is tried again after the next commit.
    pub(super) fn tidy(&mut self) {
        let Self { storage, numbers, damaged, .. } = self;
        damaged.retain(|number| remove_all(storage, *number).is_err());
        while numbers.len() > KEPT && remove_all(storage, numbers[0].0).is_ok() {
            numbers.remove(0);
        }
        self.tidy_runs();
    }

    /// Removes the runs that no checkpoint lists. Does nothing while any checkpoint's list is unknown.
    fn tidy_runs(&mut self) {
        let Self { storage, numbers, listed, runs, .. } = self;
        listed.retain(|listing, _| numbers.iter().any(|(number, _)| number == listing));
        if listed.len() == numbers.len() {
            let is_listed = |run: &u64| listed.values().flatten().any(|listed| listed == run);
            runs.retain(|run| is_listed(run) || remove(storage, &name(RUN, *run)).is_err());
        }
    }
}

/// Removes a checkpoint, its summary first: without a summary, the other files do not count.
pub(super) fn remove_all<S: Storage>(storage: &mut S, number: u64) -> Result<(), CheckpointError> {
    FILES.iter().rev().try_for_each(|file| remove(storage, &name(file, number)))
}

/// Removes a file, if it is there.
pub(super) fn remove<S: Storage>(storage: &mut S, name: &str) -> Result<(), CheckpointError> {
    match storage.remove(name) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError::of("remove", storage.path(name))(source).into())
        }
        _ => Ok(()),
    }
}

/// A file to be copied. It is open, so its content stays available even if its name is removed.
#[derive(Debug)]
pub struct FileCopy {
    /// Its name in the directory of the frontier.
    pub name: String,
    /// The open file.
    pub file: File,
    /// Bytes from its beginning that belong to the copy.
    pub length: u64,
}

impl Checkpoints<Disk> {
    /// Opens the files of the newest checkpoint at or before a position, and what it needs of the journal up to that position. Also
    /// returns where the journal ended when the checkpoint was written. `None` if there is no such checkpoint.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn copies(&mut self, end: Position) -> Result<Option<(Position, Vec<FileCopy>)>, CheckpointError> {
        let is_before = |summary: &Summary| summary.counts.position <= end;
        let numbers: Vec<u64> = self.numbers.iter().rev().map(|(number, _)| *number).collect();
        let mut summaries = numbers.into_iter().filter_map(|number| Some((number, self.summary(number).ok()?)));
        let Some((number, summary)) = summaries.find(|(_, summary)| is_before(summary)) else { return Ok(None) };
        let has = [true, summary.has_seen, summary.has_contents, true];
        let own = FILES.iter().zip(has).filter(|(_, has)| *has).map(|(file, _)| name(file, number));
        let runs = summary.runs.iter().map(|run| name(RUN, *run));
        let mut copies = own.chain(runs).map(|name| self.copy(name, u64::MAX)).collect::<Result<Vec<_>, _>>()?;
        let names = self.storage.list().map_err(FileError::of("list", self.storage.path("")))?;
        let mut starts: Vec<u64> = names.iter().filter_map(|name| segment_start(name)).collect();
        starts.sort_unstable();
        for (at, start) in starts.iter().copied().enumerate().filter(|(_, start)| *start < end.to_u64()) {
            let next = starts.get(at + 1).copied().unwrap_or(u64::MAX);
            if summary.needs.any_in(&(Position::from_u64(start)..Position::from_u64(next))) {
                copies.push(self.copy(segment_name(start), end.to_u64() - start)?);
            }
        }
        Ok(Some((summary.counts.position, copies)))
    }

    fn copy(&self, name: String, most: u64) -> Result<FileCopy, CheckpointError> {
        let path = self.storage.path(&name);
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len().min(most), file)));
        let (length, file) = opened.map_err(FileError::of("open", path))?;
        Ok(FileCopy { name, file, length })
    }
}
