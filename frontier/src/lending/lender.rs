//! The frontier in its lock, the queue of tasks that wait for a lease, and the signal that records wait to be flushed.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::timeout_at;

use super::Clock;
use crate::frontier::Timestamp;
use crate::frontier::{Frontier, FrontierError, Journal, Lease, Next};
use crate::gate::Gate;

/// What all handles of a shared frontier have in common.
#[derive(Debug)]
pub(super) struct Lender<J: Journal> {
    frontier: Mutex<Frontier<J>>,
    pub(super) gate: Arc<Gate>,
    pub(super) clock: Clock,
    wait_queue: tokio::sync::Mutex<()>,
    /// Notified of changes, so that the first task in the queue looks again.
    changed: Notify,
    /// When the first task in the queue looks again by itself, in microseconds; 0 if it is not waiting. Changed under the frontier's lock.
    looks_again: AtomicU64,
    /// `lease` keeps waiting when the frontier is drained: others may bring more URLs.
    pub(super) stays_open: AtomicBool,
    pub(super) unflushed: Unflushed,
}

impl<J: Journal> Lender<J> {
    pub(super) fn new(frontier: Frontier<J>, clock: Clock) -> Self {
        let gate = Arc::clone(frontier.gate());
        Self {
            frontier: Mutex::new(frontier),
            gate,
            clock,
            wait_queue: tokio::sync::Mutex::default(),
            changed: Notify::new(),
            looks_again: AtomicU64::new(0),
            stays_open: AtomicBool::new(false),
            unflushed: Unflushed::default(),
        }
    }

    /// The next lease, as soon as there is one; `None` once the frontier is drained.
    pub(super) async fn lease(&self) -> Result<Option<Lease>, FrontierError> {
        let _first_in_line = self.wait_queue.lock().await;
        loop {
            let changed = self.changed.notified();
            let next = {
                let mut frontier = self.lock();
                let next = frontier.next(self.clock.now())?;
                let looks_again = match next {
                    Next::Wait(until) => until.as_micros(),
                    Next::Busy | Next::Drained => u64::MAX,
                    _ => 0,
                };
                self.looks_again.store(looks_again, Ordering::Relaxed);
                next
            };
            match next {
                Next::Fetch(lease) | Next::GiveUp(lease) => return Ok(Some(lease)),
                Next::Wait(until) => {
                    // Its time or a change, whichever comes first.
                    let _ = timeout_at(self.clock.instant(until).into(), changed).await;
                }
                Next::Busy => changed.await,
                Next::Drained if self.stays_open.load(Ordering::Relaxed) => changed.await,
                Next::Drained => return Ok(None),
            }
        }
    }

    /// Changes the frontier, and wakes the first in the queue.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Frontier<J>, Clock) -> T) -> T {
        let changed = change(&mut self.lock(), self.clock);
        self.wake();
        changed
    }

    /// A lease went out without the wait queue. Wakes the first task in the queue if another URL is due before that task looks again. Called
    /// under the frontier's lock.
    pub(super) fn passed_by(&self, frontier: &Frontier<J>, now: Timestamp) {
        let due = frontier.due(now).map_or(u64::MAX, Timestamp::as_micros);
        if due < self.looks_again.load(Ordering::Relaxed) {
            self.looks_again.store(0, Ordering::Relaxed);
            self.wake();
        }
    }

    /// Wakes the first in the queue.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Locks the frontier. A panic under the lock is a bug of ours in the middle of a change. Even then the crawl goes on with the state as
    /// it is, rather than lose all of it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Frontier<J>> {
        self.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connects the tasks that leave records with the task that flushes them. The first record wakes the flushing task; later records do not,
/// until that task has looked again.
#[derive(Debug, Default)]
pub(super) struct Unflushed {
    signal: Notify,
    /// The flushing task knows that records wait, or was notified.
    is_known: AtomicBool,
}

impl Unflushed {
    /// Records wait.
    pub(super) fn notify(&self) {
        if !self.is_known.swap(true, Ordering::AcqRel) {
            self.signal.notify_one();
        }
    }

    /// The flushing task is about to look: the next [`notify`](Self::notify) wakes it.
    pub(super) fn look(&self) {
        self.is_known.store(false, Ordering::Release);
    }

    /// The flushing task knows that records wait: no notification is needed.
    pub(super) fn know(&self) {
        self.is_known.store(true, Ordering::Release);
    }

    /// Waits for a notification.
    pub(super) async fn wait(&self) {
        self.signal.notified().await;
    }
}
