//! The files of a job's checkpoints: found, written, removed.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use super::CheckpointError;
use super::frames::{self, HOSTS, SUMMARY};
use super::evicted::{self, Idle, WrittenRuns};
use super::eviction::Leavers;
use super::names::{FILES, RUN, name, number_of};
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
    /// Whatever the seen set was made like, it is read.
    pub(in crate::job) takes_any_seen: bool,
    /// Oldest first, each with what it needs of the journal, where that is known.
    pub(super) numbers: Vec<(u64, Option<Needs>)>,
    /// Found damaged. They go once there is a newer one.
    pub(super) damaged: Vec<u64>,
    /// The hosts that left memory.
    pub(super) idle: Idle,
    /// The runs that each checkpoint has them in, but for those that could not be read.
    listed: BTreeMap<u64, Vec<u64>>,
    /// The runs that there are, listed or not.
    runs: Vec<u64>,
    /// Images of hosts that may leave now.
    leaving: Vec<Vec<u8>>,
    /// The number given last, if to a draft that came to nothing.
    last: u64,
    /// Files of checkpoints whose last one is not there: of no use, unless it is put back.
    leftovers: Vec<String>,
}

/// A checkpoint that is being written. Dropped before [`commit`](Self::commit), or where that fails, it never was.
#[derive(Debug)]
pub(super) struct Draft<'a, S: Storage = Disk> {
    store: &'a mut Checkpoints<S>,
    number: u64,
    needs: Needs,
    slices: u32,
    bytes: u64,
    has_seen: bool,
    seen_at: Vec<Position>,
    /// Hosts that are to leave memory.
    surplus: u64,
    /// Its runs, if they are others than those of the checkpoint before.
    runs: Option<Vec<Arc<HostRun>>>,
    is_placed: bool,
}

impl<S: Storage> Checkpoints<S> {
    /// Looks for checkpoints. What a crash has left half written is removed, once a frontier is made of the others.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(crate) fn open(mut storage: S, job: u64) -> Result<Self, CheckpointError> {
        let names = storage.list().map_err(FileError::of("list", storage.path("")))?;
        let of = |file: &str| {
            let numbers = names.iter().filter_map(move |name| number_of(name, file));
            let mut numbers: Vec<u64> = numbers.collect();
            numbers.sort_unstable();
            numbers
        };
        let numbers = of(FILES[2]);
        let runs = of(RUN);
        let last = FILES.into_iter().chain([RUN]).filter_map(|file| of(file).last().copied()).max().unwrap_or(0);
        let without_summary = |file| of(file).into_iter().filter(|number| !numbers.contains(number));
        let leftovers = FILES.into_iter().flat_map(|file| without_summary(file).map(move |number| name(file, number)));
        let leftovers = leftovers.collect();
        for name in &names {
            let is_beside = name.strip_suffix(BESIDE).is_some_and(|name| number_of(name, FILES[2]).is_some());
            if is_beside || is_leftover(name) {
                remove(&mut storage, name)?;
            }
        }
        // A number is given again only to a name that no power cut brings back.
        storage.sync_names().map_err(FileError::of("sync", storage.path("")))?;
        let mut checkpoints = Self { runs, last, leftovers, ..Self::of(storage, job, numbers) };
        // One that cannot be read says so when it is restored from.
        for at in 0..checkpoints.numbers.len() {
            let number = checkpoints.numbers[at].0;
            if let Ok(summary) = checkpoints.summary(number) {
                checkpoints.listed.insert(number, summary.runs);
            }
        }
        Ok(checkpoints)
    }

    /// Removes what is of no use, now that a frontier was made of the rest.
    pub(super) fn sweep(&mut self) -> Result<(), CheckpointError> {
        let Self { storage, leftovers, .. } = self;
        leftovers.drain(..).try_for_each(|name| remove(storage, &name))?;
        self.tidy_runs();
        Ok(())
    }

    fn of(storage: S, job: u64, numbers: Vec<u64>) -> Self {
        Self {
            storage,
            job,
            takes_any_seen: false,
            last: numbers.last().copied().unwrap_or(0),
            numbers: numbers.into_iter().map(|number| (number, None)).collect(),
            damaged: Vec::new(),
            idle: Idle::none(job),
            listed: BTreeMap::new(),
            runs: Vec::new(),
            leaving: Vec::new(),
            leftovers: Vec::new(),
        }
    }

    /// Looks for checkpoints, and changes nothing: for a job that another process may hold.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(crate) fn look(mut storage: S, job: u64) -> Result<Self, CheckpointError> {
        let names = storage.list().map_err(FileError::of("list", storage.path("")))?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name, FILES[2])).collect();
        numbers.sort_unstable();
        Ok(Self::of(storage, job, numbers))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether they need any of this part of the journal, for their replays or for the texts of the URLs that wait in them; the rest
    /// may be [removed](crate::job::journal::FileJournal::remove_unneeded). Where it is not known, of those found at a resume, yes.
    pub(crate) fn need(&self, part: &Range<Position>) -> bool {
        self.numbers.iter().any(|(_, needs)| needs.as_ref().is_none_or(|needs| needs.any_in(part)))
    }

    /// Why none can be written any more.
    pub(super) fn lost(&self) -> CheckpointError {
        CheckpointError::Lost { path: self.storage.path("") }
    }

    /// Begins one; `needs` are those of the [journal](crate::job::journal::FileJournal::needs) now, before the first slice is saved.
    pub(super) fn begin(&mut self, needs: Needs) -> Draft<'_, S> {
        // A try before may have left a summary that nobody could remove: its files must not be another's.
        self.last += 1;
        let number = self.last;
        self.leaving.clear();
        Draft {
            store: self,
            number,
            needs,
            slices: 0,
            bytes: 0,
            has_seen: false,
            seen_at: Vec::new(),
            surplus: 0,
            runs: None,
            is_placed: false,
        }
    }

    /// The hosts that may leave memory by the last checkpoint, in pieces, each to be given to [`Frontier::evict`] before the next
    /// checkpoint is begun.
    ///
    /// [`Frontier::evict`]: crate::frontier::Frontier::evict
    pub(super) fn leaving(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.leaving.drain(..)
    }

    /// Removes what is not needed any more. What cannot be removed stays for another time.
    fn tidy(&mut self) {
        let Self { storage, numbers, damaged, .. } = self;
        damaged.retain(|number| remove_all(storage, *number).is_err());
        while numbers.len() > KEPT && remove_all(storage, numbers[0].0).is_ok() {
            numbers.remove(0);
        }
        self.tidy_runs();
    }

    /// Removes the runs that no checkpoint lists, where it is known what they list.
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
    /// So many hosts shall leave memory, if as many are idle: those that have rested for longest. Once this checkpoint is written,
    /// they are [leaving](Checkpoints::leaving).
    #[must_use]
    pub(super) fn releasing(mut self, surplus: u64) -> Self {
        self.surplus = surplus;
        self
    }

    /// Writes the schedule and the hosts: `next` [saves](crate::frontier::Frontier::save) a slice to its argument, and says
    /// where the journal ended then and which slice follows.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn hosts(
        &mut self,
        mut next: impl FnMut(Slice, &mut Vec<u8>) -> (Position, Option<Slice>),
    ) -> Result<(), CheckpointError> {
        let (number, job) = (self.number, self.store.job);
        let (mut slices, mut bytes) = (0, 0);
        let mut needs = std::mem::take(&mut self.needs);
        let mut leavers = Leavers::up_to(self.surplus);
        self.write(FILES[0], |to| {
            let mut frames = frames::begin(to, HOSTS, job, number)?;
            let mut slice = Vec::new();
            let mut rest = Some(Slice::default());
            while let Some(part) = rest {
                slice.clear();
                let position;
                (position, rest) = next(part, &mut slice);
                // Not while the frontier is locked: one host may have millions.
                waiting(&slice, |url| needs.add(url)).map_err(io::Error::other)?;
                frames.put(position.to_u64().to_le_bytes()).put(&slice).end()?;
                leavers.look_at(&slice);
                slices += 1;
                bytes += slice.len() as u64;
            }
            frames.finish().map(drop)
        })?;
        (self.slices, self.bytes, self.needs) = (slices, self.bytes + bytes, needs);
        if leavers.is_empty() { Ok(()) } else { self.write_run(&mut leavers) }
    }

    fn write_run(&mut self, leavers: &mut Leavers) -> Result<(), CheckpointError> {
        let store = &mut *self.store;
        store.runs.push(self.number);
        let WrittenRuns { runs, leaving } = store.idle.write(&mut store.storage, self.number, leavers.hosts())?;
        (self.runs, store.leaving) = (Some(runs), leaving);
        Ok(())
    }

    /// Writes the seen set. Of a layout that can [forget](crate::seen::Layout::forgets), `at` is asked for each shard: it locks
    /// that by calling its argument, and says where the journal ends then. Nothing may be forgotten between the two: it holds
    /// the frontier. What was forgotten before that is not forgotten again by a replay, and what comes behind is.
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
        (self.has_seen, self.seen_at) = (true, positions);
        Ok(())
    }

    /// Returns once a power cut cannot take what a segment of the journal holds: as the journal's own sync, through a handle
    /// of its own, so that nobody waits for the journal meanwhile.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn sync_journal(&mut self, segment: &str) -> Result<(), CheckpointError> {
        let storage = &mut self.store.storage;
        Ok(storage.sync(segment).map_err(FileError::of("sync", storage.path(segment)))?)
    }

    /// Makes it the newest one, and removes what is older than the last two. The counts are taken last, the journal must be
    /// safe on disk up to their position, and so must be the output that they speak of. `extra` is the owner's, to be had
    /// back.
    ///
    /// Returns the bytes written, without the seen set.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(super) fn commit(mut self, keys: &KeyRules, counts: Counts, extra: &[u8]) -> Result<u64, CheckpointError> {
        let needs = std::mem::take(&mut self.needs);
        let seen_at = std::mem::take(&mut self.seen_at);
        let Self { ref mut store, number, slices, bytes, has_seen, .. } = self;
        let position = counts.position;
        let runs = self.runs.take();
        let listed = runs.as_deref().map_or_else(|| store.idle.numbers(), evicted::numbers);
        let summary = Summary {
            needs,
            slices,
            has_seen,
            seen_at,
            keys: keys.clone(),
            counts,
            runs: listed.clone(),
            extra: extra.to_vec(),
        };
        let payload = summary.to_bytes();
        let (name, beside) = (name(FILES[2], number), name(FILES[2], number) + BESIDE);
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
        store.listed.insert(number, listed);
        if let Some(runs) = runs {
            store.idle.publish(runs);
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
    /// Makes room. What cannot be removed now is when the checkpoints are opened again.
    fn drop(&mut self) {
        if !self.is_placed {
            let Checkpoints { storage, runs, leaving, .. } = &mut *self.store;
            leaving.clear();
            let is_gone = remove_all(storage, self.number).is_ok();
            let _ = remove(storage, &(name(FILES[2], self.number) + BESIDE));
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
    // What could not be written is not tried again.
    let _ = to.into_parts();
    written.map_err(FileError::of("write", storage.path(name)))?;
    Ok(storage.sync(name).map_err(FileError::of("sync", storage.path(name)))?)
}

/// Removes a checkpoint. Its summary goes first: without it, the others are nobody's.
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
