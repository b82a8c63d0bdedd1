//! One frontier for many tasks.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::timeout_at;

use super::clock::Clock;
use crate::frontier::{Arena, Completion, Failure, Frontier, Journal, Lease, Next, Outcome};
use crate::gate::{Admitted, Gate};

/// A frontier that many tasks lease from; cheap to clone.
///
/// Waiting tasks stand in a line. Only the first of them watches the frontier, so a host that becomes due wakes one
/// task, not all. Everything else is the frontier's own lock, held for a microsecond or two at a time.
#[derive(Debug)]
pub struct SharedFrontier<J: Journal = Arena> {
    inner: Arc<Inner<J>>,
}

#[derive(Debug)]
struct Inner<J: Journal> {
    frontier: Mutex<Frontier<J>>,
    gate: Arc<Gate>,
    clock: Clock,
    line: tokio::sync::Mutex<()>,
    /// Told at each submission and completion: the first in line looks again.
    changed: Notify,
}

impl<J: Journal> Clone for SharedFrontier<J> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<J: Journal> SharedFrontier<J> {
    /// Shares a frontier; its time is `clock`'s from here on.
    pub fn new(frontier: Frontier<J>, clock: Clock) -> Self {
        let gate = Arc::clone(frontier.gate());
        let inner = Inner {
            frontier: Mutex::new(frontier),
            gate,
            clock,
            line: tokio::sync::Mutex::default(),
            changed: Notify::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The gate; it is `Sync`, no lock of this frontier is taken for it.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.inner.gate
    }

    /// The clock that the frontier lives by.
    pub fn clock(&self) -> Clock {
        self.inner.clock
    }

    /// The next URL that may be fetched, or is to be [given up](Next::GiveUp), as soon as there is one; `None` once the frontier
    /// is drained.
    ///
    /// Cancel safe: a future dropped while it waits has leased nothing.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub async fn lease(&self) -> io::Result<Option<HeldLease<J>>> {
        let _first_in_line = self.inner.line.lock().await;
        loop {
            let changed = self.inner.changed.notified();
            let next = self.lock().next(self.inner.clock.now())?;
            match next {
                Next::Fetch(lease) | Next::GiveUp(lease) => {
                    let dropped = Outcome::Failed(Failure::Lost.into());
                    return Ok(Some(HeldLease { lease: Some(lease), frontier: self.clone(), dropped }));
                }
                Next::Wait(until) => {
                    let due = self.inner.clock.instant(until);
                    let _ = timeout_at(due.into(), changed).await;
                }
                Next::Busy => changed.await,
                Next::Drained => return Ok(None),
            }
        }
    }

    /// Queues admitted URLs.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn submit(&self, admitted: impl IntoIterator<Item = Admitted>) -> io::Result<()> {
        let now = self.inner.clock.now();
        let mut frontier = self.lock();
        for admitted in admitted {
            frontier.submit(admitted, now)?;
        }
        drop(frontier);
        self.inner.changed.notify_one();
        Ok(())
    }

    /// Looks at the frontier, or changes it, under its lock.
    pub fn with<T>(&self, look: impl FnOnce(&mut Frontier<J>) -> T) -> T {
        look(&mut self.lock())
    }

    /// A panic under the lock is a fault of ours in the middle of a change; the crawl goes on with what is there
    /// rather than losing all of it.
    fn lock(&self) -> MutexGuard<'_, Frontier<J>> {
        self.inner.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lease that finds its way back: dropped without completion, it counts as [`Failure::Lost`] and is tried again.
#[derive(Debug)]
#[must_use = "dropped, it is completed as lost"]
pub struct HeldLease<J: Journal = Arena> {
    /// Taken out when it is completed.
    lease: Option<Lease>,
    frontier: SharedFrontier<J>,
    /// What it is completed with where nobody completes it.
    dropped: Outcome,
}

impl<J: Journal> HeldLease<J> {
    /// The same, and dropped without a panic it goes back to the head of its queue, as if it had not been lent.
    pub(crate) fn releasing(mut self) -> Self {
        self.dropped = Outcome::Released;
        self
    }

    /// Queues what the page brought and takes the lease back, under one lock: the frontier is never drained in between.
    ///
    /// # Errors
    /// Where the journal's storage fails.
    pub fn complete(self, admitted: Vec<Admitted>, outcome: Outcome) -> io::Result<Completion> {
        self.complete_with(admitted, outcome, None, || {})
    }

    /// As [`complete`](Self::complete), of a page with a record (see
    /// [`Frontier::complete_with`]): where it is done, `write` appends that to the output, under the same lock, so that
    /// records are in the output in the order in which the journal has them. It must not wait.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub fn complete_with(
        mut self,
        admitted: Vec<Admitted>,
        outcome: Outcome,
        record: Option<&[u8]>,
        write: impl FnOnce(),
    ) -> io::Result<Completion> {
        self.give_back(admitted, outcome, record, write).unwrap_or(Ok(Completion::Done))
    }

    /// `None` where the lease was given back before.
    fn give_back(
        &mut self,
        admitted: Vec<Admitted>,
        outcome: Outcome,
        record: Option<&[u8]>,
        write: impl FnOnce(),
    ) -> Option<io::Result<Completion>> {
        let lease = self.lease.take()?;
        let now = self.frontier.inner.clock.now();
        let mut frontier = self.frontier.lock();
        let submitted = admitted.into_iter().try_for_each(|admitted| frontier.submit(admitted, now));
        // A page whose links were not kept is not done: they would never be found again.
        let completed = match submitted {
            Ok(()) => frontier.complete_with(lease, outcome, record, now),
            Err(error) => frontier.complete(lease, Outcome::Released, now).and(Err(error)),
        };
        if let Ok(Completion::Done) = completed {
            write();
        }
        let flushed = frontier.flush(now);
        drop(frontier);
        self.frontier.inner.changed.notify_one();
        Some(completed.and_then(|completion| flushed.map(|()| completion)))
    }
}

impl<J: Journal> Deref for HeldLease<J> {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        self.lease.as_ref().expect("taken out only by `complete`, which consumes the holder")
    }
}

impl<J: Journal> Drop for HeldLease<J> {
    fn drop(&mut self) {
        let lost = Outcome::Failed(Failure::Lost.into());
        let dropped = std::mem::replace(&mut self.dropped, Outcome::Released);
        let outcome = if std::thread::panicking() { lost } else { dropped };
        // A failing journal is reported by the next call that can report it.
        let _ = self.give_back(Vec::new(), outcome, None, || {});
    }
}
