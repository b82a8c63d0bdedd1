//! How a checkpoint is written while the frontier goes on.
//!
//! | step | the frontier is held | how |
//! |---|---|---|
//! | begin: does the job still belong to this process, has no URL been lost | for a moment | |
//! | schedule and hosts | once for each slice | the slice is written while the frontier is free |
//! | seen set | once for each shard, if the layout can forget | the set locks one shard at a time |
//! | counts | while nothing is between the gate and the frontier | |
//! | sync of the journal | for what was written since the previous sync | an earlier sync, through a separate handle |
//! | output, summary, names | not at all | |
//! | eviction | once for 64 hosts | |
//! | old segments | while they are removed | |
//!
//! A step that fails before the commit calls the checkpoint off, and its files are removed. After the commit, the checkpoint counts
//! whatever fails.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{CheckpointError, JobJournal};
use crate::frontier::Frontier;
use crate::job::journal::{Disk, Storage};

/// The owner of a frontier, while a checkpoint of it is written. The frontier is locked for one piece at a time, and is free in
/// between.
pub trait Owner<S: Storage = Disk> {
    /// Runs `act` on the frontier while nobody else uses it. Everything that the owner does between two calls goes to the journal,
    /// after the positions of the pieces that are already saved.
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
#[non_exhaustive]
pub struct CheckpointCost {
    /// From beginning to end.
    pub time: Duration,
    /// The longest time that the frontier was locked.
    pub longest_pause: Duration,
    /// Bytes written, without the seen set.
    pub bytes: u64,
}

/// Writes a checkpoint. Then evicts hosts down to the number that may stay in memory, and removes the segments of the journal that no
/// checkpoint needs, unless the journal is kept. Returns `None` if the owner called the checkpoint off. The [module](super) gives the
/// reasons for this order.
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
    draft.hosts(to_evict, |slice, to, addresses| {
        owner.with(|frontier| {
            frontier.save_addresses(slice, addresses);
            (frontier.journal().end(), frontier.save(slice, to))
        })
    })?;
    if gate.seen().tests() > 0 {
        draft.seen(gate.seen(), |lock| {
            owner.with(|frontier| {
                lock();
                frontier.journal().end()
            })
        })?;
    }
    if gate.contents().tests() > 0 {
        draft.contents(gate.contents())?;
    }
    let counts = owner.quiesce(|frontier| frontier.counts(frontier.journal().end()));
    // The first sync takes the time, while the frontier is free. The second one holds the frontier, and finds little to do.
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

    /// Runs `act`, and remembers its time if none took longer.
    fn time<T>(&mut self, act: impl FnOnce(&mut O) -> T) -> T {
        let began = Instant::now();
        let done = act(self.owner);
        self.longest_pause = self.longest_pause.max(began.elapsed());
        done
    }
}

impl<S: Storage> Owner<S> for Frontier<JobJournal<S>> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        act(self)
    }

    /// The embedder has synced its output before it calls. An earlier owner's bytes are kept.
    fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(Some(self.journal().opening().extra.clone()))
    }
}

impl<S: Storage> Frontier<JobJournal<S>> {
    /// Writes a checkpoint, and returns what it cost. Before the call, sync the output that the completed pages were written to, and
    /// submit every admitted URL: none may be between the gate and the frontier.
    ///
    /// The call takes as long as the disk needs for the hosts, their queues and the seen set.
    ///
    /// # Errors
    /// If the storage fails: the last checkpoint still serves, and this can be tried again. If a URL could not be journaled before:
    /// open the frontier again, and the URL will be found again. If the job's lock was removed.
    pub fn checkpoint(&mut self) -> Result<CheckpointCost, CheckpointError> {
        // This owner never calls a checkpoint off.
        write(self).map(Option::unwrap_or_default)
    }
}
