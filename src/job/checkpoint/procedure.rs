//! How a checkpoint is written while the frontier goes on.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{CheckpointError, JobJournal};
use crate::frontier::{Counts, Frontier};
use crate::job::journal::{Disk, Storage};

/// Whose frontier a checkpoint is written of. The frontier is taken for a piece at a time, and is free in between.
pub trait Owner<S: Storage = Disk> {
    /// Looks at the frontier, or changes it, while nobody else does.
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal<S>>) -> T) -> T;

    /// The counts of a moment at which nobody is between the gate and the frontier: everything admitted is submitted.
    fn quiesce(&mut self) -> Counts {
        self.with(|frontier| frontier.counts(frontier.journal().end()))
    }

    /// Returns once the output is safe on disk that these counts speak of, with what the checkpoint is to keep for the owner;
    /// `None` calls the checkpoint off.
    ///
    /// # Errors
    /// Where the output cannot be made safe.
    fn confirm(&mut self, counts: &Counts) -> Result<Option<Vec<u8>>, CheckpointError>;
}

/// What one checkpoint took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointCost {
    /// All of it.
    pub time: Duration,
    /// The longest that the frontier was taken for.
    pub longest_pause: Duration,
    /// Bytes written, without the seen set.
    pub bytes: u64,
}

/// Writes a checkpoint, evicts the hosts beyond as many as may stay in memory, and removes what no checkpoint needs of the journal,
/// unless that is kept. `None` where the owner has called it off. The [module](super) says why in this order.
///
/// # Errors
/// Where the storage fails: the last checkpoint serves still, and this can be tried again. Where a URL could not be journaled before,
/// and where the job's lock was removed.
pub fn write<S: Storage>(owner: &mut impl Owner<S>) -> Result<Option<CheckpointCost>, CheckpointError> {
    let began = Instant::now();
    let mut owner = Timed { owner, longest_pause: Duration::ZERO };
    let checkpoints = owner.with(|frontier| Arc::clone(&frontier.journal().checkpoints));
    let mut checkpoints = checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
    let (gate, needs, surplus, keep_journal) = owner.with(|frontier| {
        let JobJournal { lock, options, file, has_lost, .. } = frontier.journal();
        if let Some(lock) = lock {
            lock.check()?;
        }
        if *has_lost {
            return Err(checkpoints.lost());
        }
        let surplus = frontier.statistics().hosts_in_memory.saturating_sub(options.hosts_in_memory);
        Ok((Arc::clone(frontier.gate()), file.needs(), surplus, options.keep_journal))
    })?;

    let mut draft = checkpoints.begin(needs).releasing(surplus);
    draft.hosts(|slice, to| owner.with(|frontier| (frontier.journal().end(), frontier.save(slice, to))))?;
    if gate.seen().tests() > 0 {
        draft.seen(gate.seen(), |lock| {
            owner.with(|frontier| {
                lock();
                frontier.journal().end()
            })
        })?;
    }
    let counts = owner.quiesce();
    // The first sync takes the time. The second one, for which the frontier waits, finds little to do.
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
    let Some(extra) = owner.owner.confirm(&counts)? else { return Ok(None) };
    let bytes = draft.commit(gate.canonicalizer().rules(), counts, &extra)?;

    for images in checkpoints.leaving().collect::<Vec<_>>() {
        owner.with(|frontier| frontier.evict(&images));
    }
    if !keep_journal {
        owner.with(|frontier| frontier.journal_mut().file.remove_unneeded(|part| checkpoints.need(part)))?;
    }
    Ok(Some(CheckpointCost { time: began.elapsed(), longest_pause: owner.longest_pause, bytes }))
}

/// Measures for how long the frontier is taken.
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

    fn quiesce<S: Storage>(&mut self) -> Counts
    where
        O: Owner<S>,
    {
        self.time(O::quiesce)
    }

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

    /// Whoever writes an output has made it safe before. What another owner kept is kept on.
    fn confirm(&mut self, _: &Counts) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(Some(self.journal().opening().extra.clone()))
    }
}

impl<S: Storage> Frontier<JobJournal<S>> {
    /// Writes a checkpoint, and says what it took. An output that pages are completed with must be safe on disk. Everything admitted
    /// must be submitted: no URL may be between the gate and the frontier.
    ///
    /// Takes as long as the disk takes for the hosts, their queues and the seen set.
    ///
    /// # Errors
    /// Where the storage fails: the last checkpoint serves still, and this can be tried again. Where a URL could not be journaled
    /// before: open the frontier again, and it will be found again. Where the job's lock was removed.
    pub fn checkpoint(&mut self) -> Result<CheckpointCost, CheckpointError> {
        // This owner calls nothing off.
        write(self).map(Option::unwrap_or_default)
    }
}
