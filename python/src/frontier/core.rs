//! One frontier that many Python threads share: its lock, its clock, and the leases that Python dropped.
//!
//! A call takes the lock, does its work and lets go, so each call is as if it were alone. A thread never waits for the lock with the GIL: a
//! frontier in memory is first tried with it, since the lock is mostly free and the work takes a microsecond; a job reads and writes a disk,
//! so its calls release the GIL from the beginning.
//!
//! A lease that Python no longer knows, and that was not completed, goes to the list of dropped leases. The next call gives these back.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crawler_frontier::frontier::{Frontier, FrontierError, Lease, Next, Outcome, Timestamp};
use crawler_frontier::gate::Gate;
use crawler_frontier::job::JobJournal;
use crawler_frontier::job::checkpoint::{CheckpointCost, CheckpointError, Owner, write};
use pyo3::PyResult;
use pyo3::prelude::Python;

use super::errors;

/// Does the same with a frontier of either kind; returns with an error if the frontier was closed.
macro_rules! on {
    ($state:expr, $frontier:ident => $act:expr) => {
        match $state {
            $crate::frontier::core::State::Memory($frontier) => $act,
            $crate::frontier::core::State::Job($frontier) => $act,
            $crate::frontier::core::State::Closed => return Err($crate::frontier::core::Failed::Closed),
        }
    };
}
pub(crate) use on;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failed {
    Checkpoint(CheckpointError),
    Closed,
    Frontier(FrontierError),
}

impl From<FrontierError> for Failed {
    fn from(error: FrontierError) -> Self {
        Self::Frontier(error)
    }
}

impl From<CheckpointError> for Failed {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}

impl From<Failed> for pyo3::PyErr {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Checkpoint(error) => errors::checkpoint(&error),
            Failed::Closed => errors::closed(),
            Failed::Frontier(error) => errors::frontier(error),
        }
    }
}

/// The frontier itself.
pub(crate) enum State {
    Closed,
    Job(Box<Frontier<JobJournal>>),
    Memory(Box<Frontier>),
}

/// A frontier that threads share.
pub(crate) struct Core {
    state: Mutex<State>,
    /// Signaled after each change, for threads that wait for a lease.
    changed: Condvar,
    /// Leases that Python dropped without completing them.
    dropped: Mutex<Vec<Lease>>,
    /// Held while a checkpoint is written. It is locked before the state, never after.
    writing: Mutex<()>,
    gate: Arc<Gate>,
    clock: Clock,
    is_job: bool,
    /// Whether each call that changes something ends with a flush.
    flushes: bool,
}

/// A thread that waits for a lease looks for signals, such as Ctrl-C, this often.
const SLICE: Duration = Duration::from_millis(100);

impl Core {
    pub(crate) fn of_memory(frontier: Frontier, clock: Clock) -> Self {
        let gate = Arc::clone(frontier.gate());
        Self::new(State::Memory(Box::new(frontier)), gate, clock, false, false)
    }

    pub(crate) fn of_job(frontier: Frontier<JobJournal>, clock: Clock, flushes: bool) -> Self {
        let gate = Arc::clone(frontier.gate());
        Self::new(State::Job(Box::new(frontier)), gate, clock, true, flushes)
    }

    fn new(state: State, gate: Arc<Gate>, clock: Clock, is_job: bool, flushes: bool) -> Self {
        let (changed, dropped, writing) = (Condvar::new(), Mutex::default(), Mutex::default());
        Self { state: Mutex::new(state), changed, dropped, writing, gate, clock, is_job, flushes }
    }

    /// The gate, which needs no lock.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Whether the frontier is kept on disk.
    pub(crate) fn is_job(&self) -> bool {
        self.is_job
    }

    /// Asks the frontier something, or changes what no flush is needed for.
    pub(crate) fn ask<T: Send>(
        &self,
        py: Python<'_>,
        now: Option<Timestamp>,
        act: impl FnOnce(&mut State, Timestamp) -> Result<T, Failed> + Send,
    ) -> PyResult<T> {
        let acted = if !self.is_job
            && let Ok(mut state) = self.state.try_lock()
        {
            self.act(&mut state, now, act)
        } else {
            py.detach(|| self.act(&mut self.lock(), now, act))
        };
        Ok(acted?)
    }

    /// Changes the frontier. If it is to flush each time, the change outlives a kill once this returns.
    pub(crate) fn change<T: Send>(
        &self,
        py: Python<'_>,
        now: Option<Timestamp>,
        act: impl FnOnce(&mut State, Timestamp) -> Result<T, Failed> + Send,
    ) -> PyResult<T> {
        let flushes = self.flushes;
        let changed = self.ask(py, now, move |state, now| {
            let acted = act(state, now);
            if flushes {
                on!(state, frontier => frontier.flush(now))?;
            }
            acted
        });
        self.changed.notify_all();
        changed
    }

    fn act<T>(
        &self,
        state: &mut State,
        now: Option<Timestamp>,
        act: impl FnOnce(&mut State, Timestamp) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let now = now.unwrap_or_else(|| self.clock.now());
        self.give_dropped_back(state, now)?;
        act(state, now)
    }

    /// Waits until a URL may be fetched, at most until `deadline`, and says what came; `None` if the time is over. Signals are handled
    /// meanwhile.
    pub(crate) fn wait(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<Option<Next>> {
        loop {
            let next = py.detach(|| self.wait_a_slice(deadline))?;
            if let Err(interrupted) = py.check_signals() {
                if let Some(Next::Fetch(lease) | Next::GiveUp(lease)) = next {
                    self.return_later(lease);
                }
                return Err(interrupted);
            }
            match next {
                None if deadline.is_some_and(|deadline| deadline <= Instant::now()) => return Ok(None),
                None => {}
                next => return Ok(next),
            }
        }
    }

    /// As [`wait`](Self::wait), for a moment.
    fn wait_a_slice(&self, deadline: Option<Instant>) -> Result<Option<Next>, Failed> {
        let mut state = self.lock();
        let now = self.clock.now();
        self.give_dropped_back(&mut state, now)?;
        let next = on!(&mut *state, frontier => frontier.next(now))?;
        let mut slice = match next {
            Next::Wait(until) => until.since(now).min(SLICE),
            Next::Busy => SLICE,
            next => return Ok(Some(next)),
        };
        if let Some(deadline) = deadline {
            slice = slice.min(deadline.saturating_duration_since(Instant::now()));
        }
        on!(&mut *state, frontier => frontier.flush(now))?;
        // A lease that is dropped just now signals too early: then this waits for the whole slice.
        let (_state, _) = self.changed.wait_timeout(state, slice).unwrap_or_else(PoisonError::into_inner);
        Ok(None)
    }

    /// Takes a lease that Python dropped, to give it back with the next call. It has a token if leases end: then the token stands for it,
    /// perhaps in another process, and it stays out.
    pub(crate) fn drop_lease(&self, lease: Lease) {
        if lease.token().is_none() {
            self.return_later(lease);
        }
    }

    fn return_later(&self, lease: Lease) {
        self.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(lease);
        self.changed.notify_all();
    }

    fn give_dropped_back(&self, state: &mut State, now: Timestamp) -> Result<(), Failed> {
        let dropped = std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner));
        for lease in dropped {
            on!(&mut *state, frontier => frontier.complete(lease, Outcome::Released, now))?;
        }
        Ok(())
    }

    /// Flushes and writes a checkpoint, if there is a job to write it in. The frontier is locked for one piece at a time.
    pub(crate) fn checkpoint(&self, py: Python<'_>) -> PyResult<Option<CheckpointCost>> {
        if !self.is_job {
            return Ok(None);
        }
        Ok(py.detach(|| self.write_checkpoint())?)
    }

    fn write_checkpoint(&self) -> Result<Option<CheckpointCost>, Failed> {
        // Nobody closes it meanwhile.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Closed = &*self.lock() {
            return Err(Failed::Closed);
        }
        Ok(write(&mut Pieces { core: self })?)
    }

    /// Flushes, writes a checkpoint unless an error is under way, and lets the job go. Twice is as once.
    pub(crate) fn close(&self, py: Python<'_>, with_checkpoint: bool) -> PyResult<()> {
        Ok(py.detach(|| self.end(with_checkpoint))?)
    }

    fn end(&self, with_checkpoint: bool) -> Result<(), Failed> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        let now = self.clock.now();
        let given_back = self.give_dropped_back(&mut state, now);
        let ended = std::mem::replace(&mut *state, State::Closed);
        drop(state);
        self.changed.notify_all();
        let State::Job(mut frontier) = ended else { return Ok(()) };
        // Whatever fails, what can still be kept is kept.
        let flushed = frontier.flush(now);
        let written = if with_checkpoint { frontier.checkpoint().map(drop) } else { Ok(()) };
        given_back?;
        flushed?;
        Ok(written?)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Owns the frontier while a checkpoint is written, for a piece at a time.
struct Pieces<'a> {
    core: &'a Core,
}

impl Owner for Pieces<'_> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Frontier<JobJournal>) -> T) -> T {
        match &mut *self.core.lock() {
            State::Job(frontier) => act(frontier),
            State::Closed | State::Memory(_) => unreachable!("a job is not closed while its checkpoint is written"),
        }
    }

    /// The embedder has synced its output before it called.
    fn confirm(&mut self, _: u64) -> Result<Option<Vec<u8>>, CheckpointError> {
        Ok(Some(Vec::new()))
    }
}

/// Gives the frontier its times: the wall clock's at the start, counted on by the monotonic clock. So a step of the wall clock neither
/// hurries nor stalls a crawl.
pub(crate) struct Clock {
    started: Instant,
    epoch: Timestamp,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), epoch: Timestamp::default() + since_epoch }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.epoch + self.started.elapsed()
    }
}
