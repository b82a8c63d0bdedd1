//! The files of a job's checkpoints: found, written, removed.
//!
//! # The life of a checkpoint
//!
//! 1. `begin` gives the next number. Nothing of it counts yet.
//! 2. The draft writes `hosts-N`, `evicted-N` where hosts are to be evicted, `seen-N` and `contents-N`. Each file is synced when it is written.
//! 3. `commit` writes the summary to `checkpoint-N.new`, syncs the names, renames it, and syncs the names again. From here on the
//!    checkpoint counts, and the hosts of its run may be evicted.
//! 4. The checkpoint before it stays. All older ones are removed, the summary first, and so are runs that no summary lists.
//!
//! A draft that is dropped removes its files. A crash leaves them, and the next process removes them when it has restored a frontier:
//! until then somebody may put a lost summary back.
//!
//! # What a power cut leaves
//!
//! | when | there is | the next process |
//! |---|---|---|
//! | while the draft is written | any part of `hosts-N`, `evicted-N`, `seen-N`, `contents-N` | goes on from checkpoint N-1, and removes these |
//! | before the rename is safe | `checkpoint-N.new`, or already `checkpoint-N` | takes N if it has its name: all it names is whole |
//! | after it | checkpoint N, and perhaps older files that were to go | goes on from N, and removes these behind its next commit |

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use super::CheckpointError;
use super::evicted::{self, EvictedHosts, WrittenRuns};
use super::eviction::Eviction;
use super::frames::{self, HOSTS, SUMMARY};
use super::names::{FILES, RUN, name, number_of, numbers_of};
use super::run::HostRun;
use super::stream::{BUFFER, Writing};
use super::summary::Summary;
use crate::address::KeyRules;
use crate::bytes::FileError;
use crate::frontier::{Counts, Slice, waiting};
use crate::gate::Position;
use crate::job::journal::{Disk, Needs, Storage};
use crate::seen::{SeenSet, is_leftover};

/// Checkpoints that are kept.
const KEPT: usize = 2;
/// What is written beside, until it is whole.
const BESIDE: &str = ".new";

/// A job's checkpoints.
#[derive(Debug)]
pub(crate) struct Checkpoints<S: Storage = Disk> {
    pub(super) storage: S,
    pub(super) job: u64,
    /// The seen set is read even where the options say another one.
    pub(in crate::job) takes_any_seen: bool,
    /// The checkpoints' numbers, oldest first, each with what it needs of the journal, where that is known.
    pub(super) numbers: Vec<(u64, Option<Needs>)>,
    /// Damaged checkpoints. They are removed after the next commit.
    pub(super) damaged: Vec<u64>,
    /// The evicted hosts.
    pub(super) evicted: EvictedHosts,
    /// The runs that each checkpoint lists; checkpoints whose summary cannot be read are missing here. While any is missing, no run
    /// is removed.
    listed: BTreeMap<u64, Vec<u64>>,
    /// The runs on disk, listed or not.
    runs: Vec<u64>,
    /// Images of the hosts that may be evicted now.
    evictable: Vec<Vec<u8>>,
    /// The last number that was given, even to a draft that was dropped.
    last: u64,
    /// Files of checkpoints whose summary is missing. They are of no use unless somebody puts the summary back.
    leftovers: Vec<String>,
}

/// A checkpoint that is being written. If it is dropped before [`commit`](Self::commit), or commit fails, its files are removed.
#[derive(Debug)]
pub(super) struct Draft<'a, S: Storage = Disk> {
    store: &'a mut Checkpoints<S>,
    number: u64,
    /// What is known so far.
    summary: Summary,
    /// Bytes written, without the seen set.
    bytes: u64,
    /// Its runs, where they differ from those of the checkpoint before.
    runs: Option<Vec<Arc<HostRun>>>,
    is_placed: bool,
}

impl<S: Storage> Checkpoints<S> {
    /// Looks for checkpoints. Half-written ones that a crash left are removed later, when a frontier was restored. Only what can never
    /// count is removed now: summaries that did not get their names, and temporary files of a seen set.
    ///
    /// Costs a look at the names and the read of each summary, of which there are two or three.
    ///
    /// # Errors
    /// Where the storage fails.
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
            let is_beside = name.strip_suffix(BESIDE).is_some_and(|name| number_of(name, FILES[3]).is_some());
            if is_beside || is_leftover(name) {
                remove(&mut storage, name)?;
            }
        }
        // After this no power cut brings back a removed name whose number is then given again.
        storage.sync_names().map_err(FileError::of("sync", storage.path("")))?;
        let mut checkpoints = Self { runs, last, leftovers, ..Self::of(storage, job, numbers) };
        // A summary that cannot be read is reported by the restore.
        for at in 0..checkpoints.numbers.len() {
            let number = checkpoints.numbers[at].0;
            if let Ok(summary) = checkpoints.summary(number) {
                checkpoints.listed.insert(number, summary.runs);
            }
        }
        Ok(checkpoints)
    }

    /// Removes leftovers and unlisted runs. Called when a frontier was restored.
    pub(super) fn sweep(&mut self) -> Result<(), CheckpointError> {
        let Self { storage, leftovers, .. } = self;
        leftovers.drain(..).try_for_each(|name| remove(storage, &name))?;
        self.tidy_runs();
        Ok(())
    }

    /// Checkpoints with these numbers, of which nothing else is known yet.
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
            leftovers: Vec::new(),
        }
    }

    /// Looks for checkpoints and changes nothing, for a job that another process may hold.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(crate) fn look(mut storage: S, job: u64) -> Result<Self, CheckpointError> {
        let names = storage.list().map_err(FileError::of("list", storage.path("")))?;
        Ok(Self::of(storage, job, numbers_of(&names, FILES[3])))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether a checkpoint needs any of this part of the journal, for its replay or for the texts of URLs that wait in it. Other
    /// parts may be [removed](crate::job::journal::FileJournal::remove_unneeded). A checkpoint found at a resume whose needs are not
    /// known needs all.
    pub(crate) fn need(&self, part: &Range<Position>) -> bool {
        self.numbers.iter().any(|(_, needs)| needs.as_ref().is_none_or(|needs| needs.any_in(part)))
    }

    /// The error for a journal that lacks a URL: no checkpoint can be written any more.
    pub(super) fn lost(&self) -> CheckpointError {
        CheckpointError::Lost { path: self.storage.path("") }
    }

    /// Begins a checkpoint. `needs` come from the [journal](crate::job::journal::FileJournal::needs) now, before the first slice is
    /// saved: a replay begins there, and gives each slice what was recorded behind its own position.
    pub(super) fn begin(&mut self, needs: Needs) -> Draft<'_, S> {
        // A failed try may have left a summary that could not be removed. It must not meet files of the same number.
        self.last += 1;
        let number = self.last;
        self.evictable.clear();
        Draft {
            store: self,
            number,
            summary: Summary { needs, ..Summary::default() },
            bytes: 0,
            runs: None,
            is_placed: false,
        }
    }

    /// Takes the images of the hosts that the last checkpoint allows to be evicted, in pieces. Give each piece to [`Frontier::evict`]
    /// before the next checkpoint is begun.
    ///
    /// [`Frontier::evict`]: crate::frontier::Frontier::evict
    pub(super) fn evictable(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.evictable.drain(..)
    }

    /// Removes what is not needed any more. A file that cannot be removed now is tried again after the next commit.
    fn tidy(&mut self) {
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

impl<S: Storage> Draft<'_, S> {
    /// Writes the schedule and the hosts. `next` [saves](crate::frontier::Frontier::save) one slice, and returns where the journal
    /// ended then and which slice follows. Up to `to_evict` hosts are [evictable](Checkpoints::evictable) once this checkpoint is
    /// committed: of the idle ones, those that have rested for longest.
    ///
    /// Takes the memory of the largest slice, which is 2,048 hosts with their queues or a piece of the schedule, and of up to twice the
    /// hosts that are to be evicted.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn hosts(
        &mut self,
        to_evict: u64,
        mut next: impl FnMut(Slice, &mut Vec<u8>) -> (Position, Option<Slice>),
    ) -> Result<(), CheckpointError> {
        let (number, job) = (self.number, self.store.job);
        let (mut slices, mut bytes) = (0, 0);
        let mut needs = std::mem::take(&mut self.summary.needs);
        let mut eviction = Eviction::up_to(to_evict);
        self.write(FILES[0], |to| {
            let mut frames = frames::begin(to, HOSTS, job, number)?;
            let mut slice = Vec::new();
            let mut rest = Some(Slice::default());
            while let Some(part) = rest {
                slice.clear();
                let position;
                (position, rest) = next(part, &mut slice);
                // The frontier is not locked here: one host may have millions of URLs.
                waiting(&slice, |url| needs.add(url)).map_err(io::Error::other)?;
                frames.put(position.to_u64().to_le_bytes()).put(&slice).end()?;
                eviction.look_at(&slice);
                slices += 1;
                bytes += slice.len() as u64;
            }
            frames.finish().map(drop)
        })?;
        (self.summary.slices, self.summary.needs) = (slices, needs);
        self.bytes += bytes;
        if eviction.is_empty() { Ok(()) } else { self.write_run(&mut eviction) }
    }

    /// Writes the run of the hosts that are to be evicted. They stay in memory until the commit: without it, the run is removed.
    fn write_run(&mut self, eviction: &mut Eviction) -> Result<(), CheckpointError> {
        let store = &mut *self.store;
        store.runs.push(self.number);
        let WrittenRuns { runs, evictable } = store.evicted.write(&mut store.storage, self.number, eviction.hosts())?;
        (self.runs, store.evictable) = (Some(runs), evictable);
        Ok(())
    }

    /// Writes the seen set. For a layout that can [forget](crate::seen::Layout::forgets), `at` is called for each shard. It holds the
    /// frontier, locks the shard by calling its argument, and returns where the journal ends: nothing is forgotten between the two.
    /// So a replay forgets again what was forgotten after that position, and nothing before it.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn seen(
        &mut self,
        seen: &SeenSet,
        mut at: impl FnMut(&mut dyn FnMut()) -> Position,
    ) -> Result<(), CheckpointError> {
        let mut positions = Vec::new();
        let forgets = seen.options().layout.forgets();
        self.write(FILES[1], |to| seen.save_with(to, |lock| if forgets { positions.push(at(lock)) } else { lock() }))?;
        (self.summary.has_seen, self.summary.seen_at) = (true, positions);
        Ok(())
    }

    /// Writes what pages said. A page that is done since may be in it: the replay tells it again, which does no harm.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn contents(&mut self, contents: &SeenSet) -> Result<(), CheckpointError> {
        self.write(FILES[2], |to| contents.save(to))?;
        self.summary.has_contents = true;
        Ok(())
    }

    /// Syncs a segment of the journal through a handle of its own, so that nobody waits for the journal meanwhile.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn sync_journal(&mut self, segment: &str) -> Result<(), CheckpointError> {
        let storage = &mut self.store.storage;
        Ok(storage.sync(segment).map_err(FileError::of("sync", storage.path(segment)))?)
    }

    /// Makes this the newest checkpoint, and removes all but the last two. The counts are taken last. Journal and output must be
    /// safe on disk up to them. `extra` are bytes that the owner gets back at a resume.
    ///
    /// The names are synced twice. Before the rename, so that no power cut keeps the summary's name and loses those of the files that
    /// it names. After it, so that the older checkpoint and the journal's old segments can go.
    ///
    /// Returns the bytes written, without the seen set.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn commit(mut self, keys: &KeyRules, counts: Counts, extra: &[u8]) -> Result<u64, CheckpointError> {
        let (position, runs) = (counts.position, self.runs.take());
        let mut summary = std::mem::take(&mut self.summary);
        let Self { ref mut store, number, bytes, .. } = self;
        (summary.keys, summary.counts, summary.extra) = (keys.clone(), counts, extra.to_vec());
        summary.runs = runs.as_deref().map_or_else(|| store.evicted.numbers(), evicted::numbers);
        let payload = summary.to_bytes();
        let (name, beside) = (name(FILES[3], number), name(FILES[3], number) + BESIDE);
        let job = store.job;
        write(&mut store.storage, &beside, |to| {
            let mut frames = frames::begin(to, SUMMARY, job, number)?;
            frames.put(position.to_u64().to_le_bytes()).put(&payload).end()?;
            frames.to().flush()
        })?;
        let storage = &mut store.storage;
        let placed =
            storage.sync_names().and_then(|()| storage.rename(&beside, &name)).and_then(|()| storage.sync_names());
        placed.map_err(FileError::of("rename", storage.path(&beside)))?;
        store.numbers.push((number, Some(summary.needs)));
        store.listed.insert(number, summary.runs);
        if let Some(runs) = runs {
            store.evicted.publish(runs);
        }
        store.tidy();
        self.is_placed = true;
        Ok(bytes + payload.len() as u64)
    }

    fn write(
        &mut self,
        file: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointError> {
        write(&mut self.store.storage, &name(file, self.number), content)
    }
}

impl<S: Storage> Drop for Draft<'_, S> {
    /// Removes the files of a draft that was not committed. Files that stay are removed when the checkpoints are opened again.
    fn drop(&mut self) {
        if !self.is_placed {
            let Checkpoints { storage, runs, evictable, .. } = &mut *self.store;
            evictable.clear();
            let is_gone = remove_all(storage, self.number).is_ok();
            let _ = remove(storage, &(name(FILES[3], self.number) + BESIDE));
            if is_gone {
                runs.retain(|run| *run != self.number || remove(storage, &name(RUN, *run)).is_err());
            }
        }
    }
}

/// Writes a file, and waits for the disk.
fn write<S: Storage>(
    storage: &mut S,
    name: &str,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CheckpointError> {
    let created = storage.create(name);
    created.map_err(FileError::of("create", storage.path(name)))?;
    let mut to = BufWriter::with_capacity(BUFFER, Writing { storage, name });
    let written = content(&mut to).and_then(|()| to.flush());
    // Taking the writer apart drops what it still holds, without another try.
    let _ = to.into_parts();
    written.map_err(FileError::of("write", storage.path(name)))?;
    Ok(storage.sync(name).map_err(FileError::of("sync", storage.path(name)))?)
}

/// Removes a checkpoint, its summary first: without a summary, the other files count for nothing.
fn remove_all<S: Storage>(storage: &mut S, number: u64) -> Result<(), CheckpointError> {
    FILES.iter().rev().try_for_each(|file| remove(storage, &name(file, number)))
}

/// Removes a file, if it is there.
fn remove<S: Storage>(storage: &mut S, name: &str) -> Result<(), CheckpointError> {
    match storage.remove(name) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FileError::of("remove", storage.path(name))(source).into())
        }
        _ => Ok(()),
    }
}
