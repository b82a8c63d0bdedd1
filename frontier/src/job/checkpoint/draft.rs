//! Drafts: how a checkpoint is written while the frontier goes on. Its files are written one by one. The summary is written last, and makes
//! them count.
//!
//! The calls come in this order: `begin`, `hosts`, `seen`, `contents`, `sync_journal`, `commit`. The counts are taken last because
//! everything else is replayed up to them. The journal is synced before the summary is written because a summary must not refer to anything
//! that a power cut can lose.
//!
//! | step | the frontier is locked | note |
//! |---|---|---|
//! | begin | for a moment | it checks that the job still belongs to this process, and that no URL was lost |
//! | schedule and hosts | once for each chunk | the chunk is written while the frontier is free |
//! | seen set | once for each shard, if the layout can forget, while nothing is between the gate and the frontier | the set locks one shard at a time |
//! | counts | while nothing is between the gate and the frontier | |
//! | sync of the journal | for what was written since the first sync | a first sync goes through a separate handle |
//! | output, summary, names | not at all | |
//! | eviction | once for 64 hosts | |
//! | old segments | while they are removed, and for a moment for each that is compacted | |
//!
//! If a step before the commit fails, the checkpoint is called off and its files are removed. After the commit, the checkpoint counts even
//! if a later step fails.

use std::io::{self, BufWriter, Write};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::evicted::{self, Eviction, WrittenRuns};
use super::files::{self, BUFFER, FILES, HOSTS, RUN, SUMMARY, Writing, name};
use super::run::HostRun;
use super::store::{Checkpoints, NEW_SUFFIX, remove, remove_all};
use super::summary::Summary;
use super::{CheckpointError, JobJournal};
use crate::address::KeyRules;
use crate::bytes::FileError;
use crate::frontier::{Counts, Frontier, StateChunk, waiting};
use crate::gate::Position;
use crate::job::journal::{Disk, Needs, Storage};
use crate::seen::SeenSet;

/// A checkpoint that is being written. If it is dropped before [`commit`](Self::commit), or commit fails, its files are removed.
#[derive(Debug)]
pub(super) struct Draft<'a, S: Storage = Disk> {
    store: &'a mut Checkpoints<S>,
    number: u64,
    /// What is known so far.
    summary: Summary,
    /// Bytes written, without the seen set.
    bytes: u64,
    /// Its runs, if they differ from those of the previous checkpoint.
    runs: Option<Vec<Arc<HostRun>>>,
    is_placed: bool,
}

impl<S: Storage> Checkpoints<S> {
    /// Begins a checkpoint. `needs` come from the [journal](crate::job::journal::FileJournal::needs) now, before the first chunk is saved:
    /// a replay begins there, and gives each chunk the records after the chunk's own position.
    pub(super) fn begin(&mut self, needs: Needs) -> Draft<'_, S> {
        // A failed attempt may have left a summary that could not be removed. No later file may have its number.
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
}

impl<S: Storage> Draft<'_, S> {
    /// Writes the schedule and the hosts. `next` [saves](crate::frontier::Frontier::save) one chunk and its hosts'
    /// [addresses](crate::frontier::Frontier::save_addresses), and returns where the journal ended then and which chunk follows. Up to
    /// `to_evict` hosts are [evictable](Checkpoints::evictable) once this checkpoint is committed: the idle ones that have rested longest.
    ///
    /// Takes memory for the largest chunk (2,048 hosts with their queues, or a part of the schedule), some six bytes a host for the
    /// addresses, and up to twice the images of the hosts that are to be evicted.
    ///
    /// # Errors
    /// If the storage fails.
    pub(super) fn hosts(
        &mut self,
        to_evict: u64,
        mut next: impl FnMut(StateChunk, &mut Vec<u8>, &mut Vec<u8>) -> (Position, Option<StateChunk>),
    ) -> Result<(), CheckpointError> {
        let (number, job) = (self.number, self.store.job);
        let (mut chunks, mut bytes) = (0, 0);
        let mut needs = std::mem::take(&mut self.summary.needs);
        let mut eviction = Eviction::up_to(to_evict);
        self.write(FILES[0], |to| {
            let mut frames = files::begin(to, HOSTS, job, number)?;
            let (mut chunk, mut addresses) = (Vec::new(), Vec::new());
            let mut rest = Some(StateChunk::default());
            while let Some(part) = rest {
                chunk.clear();
                let position;
                (position, rest) = next(part, &mut chunk, &mut addresses);
                // The frontier is not locked here, since one host may have millions of URLs.
                waiting(&chunk, |url| needs.add(url)).map_err(io::Error::other)?;
                frames.put(position.to_u64().to_le_bytes()).put(&chunk).end()?;
                eviction.look_at(&chunk);
                chunks += 1;
                bytes += chunk.len() as u64;
            }
            if addresses.iter().any(|&byte| byte > 0) {
                frames.put(&addresses).end()?;
                bytes += addresses.len() as u64;
            }
            frames.finish().map(drop)
        })?;
        (self.summary.chunks, self.summary.needs) = (chunks, needs);
        self.bytes += bytes;
        if eviction.is_empty() { Ok(()) } else { self.write_run(&mut eviction) }
    }

    /// Writes the run of the hosts that are to be evicted. They stay in memory until the commit. If there is no commit, the run is removed.
    fn write_run(&mut self, eviction: &mut Eviction) -> Result<(), CheckpointError> {
        let store = &mut *self.store;
        store.runs.push(self.number);
        let WrittenRuns { runs, evictable } = store.evicted.write(&mut store.storage, self.number, eviction.hosts())?;
        (self.runs, store.evictable) = (Some(runs), evictable);
        Ok(())
    }

    /// Writes the seen set. For a layout that can [forget](crate::seen::Layout::forgets), `at` is called for each shard. It holds the
    /// frontier, locks the shard by calling its argument, and returns where the journal ends: no URL is admitted or forgotten between these
    /// two, and none that the shard has is still to be journaled. So a replay adds and forgets exactly the URLs after that position.
    ///
    /// # Errors
    /// If the storage fails.
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

    /// Writes the contents of pages. They may include pages that were completed after the checkpoint began: the replay adds these again,
    /// which does no harm.
    ///
    /// # Errors
    /// If the storage fails.
    pub(super) fn contents(&mut self, contents: &SeenSet) -> Result<(), CheckpointError> {
        self.write(FILES[2], |to| contents.save(to))?;
        self.summary.has_contents = true;
        Ok(())
    }

    /// Syncs a segment of the journal through a separate handle, so that the journal can be used meanwhile.
    ///
    /// # Errors
    /// If the storage fails.
    pub(super) fn sync_journal(&mut self, segment: &str) -> Result<(), CheckpointError> {
        let storage = &mut self.store.storage;
        let synced = storage.sync(segment).map_err(FileError::of("sync", storage.path(segment)));
        // An open file that is removed later would keep its space on the disk.
        storage.close(segment);
        Ok(synced?)
    }

    /// Makes this the newest checkpoint, and removes all but the last two. Journal and output must be safe on disk up to the counts.
    /// `extra` are bytes that the owner gets back at a resume.
    ///
    /// The names are synced twice: before the rename, so that no power cut keeps the summary's name and loses the names of the files that
    /// it lists; and after it, so that the older checkpoint and the journal's old segments can be removed.
    ///
    /// Returns the bytes written, without the seen set.
    ///
    /// # Errors
    /// If the storage fails.
    pub(super) fn commit(mut self, keys: &KeyRules, counts: Counts, extra: &[u8]) -> Result<u64, CheckpointError> {
        let (position, runs) = (counts.position, self.runs.take());
        let mut summary = std::mem::take(&mut self.summary);
        let Self { ref mut store, number, bytes, .. } = self;
        (summary.keys, summary.counts, summary.extra) = (keys.clone(), counts, extra.to_vec());
        summary.runs = runs.as_deref().map_or_else(|| store.evicted.numbers(), evicted::numbers);
        let payload = summary.to_bytes();
        let (name, beside) = (name(FILES[3], number), name(FILES[3], number) + NEW_SUFFIX);
        let job = store.job;
        write_synced(&mut store.storage, &beside, |to| {
            let mut frames = files::begin(to, SUMMARY, job, number)?;
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
        write_synced(&mut self.store.storage, &name(file, self.number), content)
    }
}

impl<S: Storage> Drop for Draft<'_, S> {
    /// Removes the files of a draft that was not committed. Files that stay are removed when the checkpoints are opened again.
    fn drop(&mut self) {
        if !self.is_placed {
            let Checkpoints { storage, runs, evictable, .. } = &mut *self.store;
            evictable.clear();
            let is_gone = remove_all(storage, self.number).is_ok();
            let _ = remove(storage, &(name(FILES[3], self.number) + NEW_SUFFIX));
            if is_gone {
                runs.retain(|run| *run != self.number || remove(storage, &name(RUN, *run)).is_err());
            }
        }
    }
}

/// Writes a file and syncs it.
fn write_synced<S: Storage>(
    storage: &mut S,
    name: &str,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CheckpointError> {
    let created = storage.create(name);
    created.map_err(FileError::of("create", storage.path(name)))?;
    let mut to = BufWriter::with_capacity(BUFFER, Writing { storage, name });
    let written = content(&mut to).and_then(|()| to.flush());
    // Taking the writer apart drops what it still holds, without another attempt to write it.
    let _ = to.into_parts();
    written.map_err(FileError::of("write", storage.path(name)))?;
    Ok(storage.sync(name).map_err(FileError::of("sync", storage.path(name)))?)
}

/// The owner of a frontier, while a checkpoint of it is written. The frontier is locked for one chunk at a time, and is free in between.
pub trait Owner<S: Storage = Disk> {
    /// Runs `act` on the frontier while no other thread uses it. What happens between two calls is journaled after the positions of the
    /// chunks that are already saved.
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal<S>>) -> T) -> T;

    /// Runs `act` at a moment when every admitted URL is also submitted: none is between the gate and the frontier. An owner that has
    /// the frontier to itself may do so at any moment.
    fn quiesce<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal<S>>) -> T) -> T {
        self.with(act)
    }

    /// Syncs the output: once this returns, this many bytes of it are safe on disk. Returns the bytes that the checkpoint keeps for
    /// the owner; `None` calls the checkpoint off.
    ///
    /// # Errors
    /// If the output cannot be synced.
    fn confirm(&mut self, output: u64) -> Result<Option<Vec<u8>>, CheckpointError>;
}

/// What one checkpoint cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointCost {
    /// From beginning to end.
    pub time: Duration,
    /// The longest time that the frontier was locked.
    pub longest_pause: Duration,
    /// Bytes written, without the seen set.
    pub bytes: u64,
}

/// Writes a checkpoint. Then evicts hosts, so that no more stay in memory than the options allow, and removes the segments of the journal
/// that no checkpoint needs, unless the journal is kept. Returns `None` if the owner called the checkpoint off. The [module](super) gives
/// the reasons for this order.
///
/// # Errors
/// If the storage fails: the last checkpoint still serves, and this can be tried again. If a URL could not be journaled before, or the
/// job's lock was removed.
pub fn write<S: Storage>(owner: &mut impl Owner<S>) -> Result<Option<CheckpointCost>, CheckpointError> {
    let began = Instant::now();
    let mut owner = Timed { owner, longest_pause: Duration::ZERO };
    let checkpoints = owner.with(|frontier| Arc::clone(&frontier.journal().checkpoints));
    let mut checkpoints = checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
    let (gate, needs, to_evict, keep_journal) = owner.with(|frontier| {
        let JobJournal { lock, options, file, has_lost, .. } = frontier.journal();
        if let Some(lock) = lock {
            lock.check()?;
        }
        if *has_lost {
            return Err(checkpoints.lost());
        }
        let to_evict = frontier.statistics().hosts_in_memory.saturating_sub(options.hosts_in_memory);
        Ok((Arc::clone(frontier.gate()), file.needs(), to_evict, options.keep_journal))
    })?;

    let mut draft = checkpoints.begin(needs);
    draft.hosts(to_evict, |chunk, to, addresses| {
        owner.with(|frontier| {
            frontier.save_addresses(chunk, addresses);
            (frontier.journal().end(), frontier.save(chunk, to))
        })
    })?;
    if gate.seen().tests() > 0 {
        draft.seen(gate.seen(), |lock| {
            owner.quiesce(|frontier| {
                lock();
                frontier.journal().end()
            })
        })?;
    }
    if gate.contents().tests() > 0 {
        draft.contents(gate.contents())?;
    }
    let counts = owner.quiesce(|frontier| frontier.counts(frontier.journal().end()));
    // The first sync takes most of the time, while the frontier is free. The second one holds the frontier, and has little left to sync.
    let segment = owner.with(|frontier| frontier.journal().file.segment().to_owned());
    draft.sync_journal(&segment).inspect_err(|_| owner.with(|frontier| frontier.journal_mut().file.stop()))?;
    let has_lost = owner.with(|frontier| {
        let JobJournal { file, has_lost, .. } = frontier.journal_mut();
        file.sync().map(|()| *has_lost)
    })?;
    if has_lost {
        drop(draft);
        return Err(checkpoints.lost());
    }
    let Some(extra) = owner.owner.confirm(counts.output)? else { return Ok(None) };
    let bytes = draft.commit(gate.canonicalizer().rules(), counts, &extra)?;

    for images in checkpoints.evictable().collect::<Vec<_>>() {
        owner.with(|frontier| frontier.evict(&images));
    }
    if !keep_journal {
        owner.with(|frontier| frontier.journal_mut().file.remove_unneeded(|part| checkpoints.need(part)))?;
        if let Some(from) = checkpoints.compact_before() {
            let old = owner.with(|frontier| frontier.journal().file.old_segments(from));
            checkpoints
                .compact(old, |start| owner.with(|frontier| frontier.journal_mut().file.place_compacted(start)))?;
        }
    }
    Ok(Some(CheckpointCost { time: began.elapsed(), longest_pause: owner.longest_pause, bytes }))
}

/// Measures how long the frontier is locked.
struct Timed<'a, O> {
    owner: &'a mut O,
    longest_pause: Duration,
}

impl<O> Timed<'_, O> {
    fn with<S: Storage, T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal<S>>) -> T) -> T
    where
        O: Owner<S>,
    {
        self.time(|owner| owner.with(act))
    }

    fn quiesce<S: Storage, T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal<S>>) -> T) -> T
    where
        O: Owner<S>,
    {
        self.time(|owner| owner.quiesce(act))
    }

    /// Runs `act`, and records its time if it is the longest so far.
    fn time<T>(&mut self, act: impl FnOnce(&mut O) -> T) -> T {
        let began = Instant::now();
        let done = act(self.owner);
        self.longest_pause = self.longest_pause.max(began.elapsed());
        done
    }
}
