//! The frontier behind its lock, and those who wait for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::timeout_at;

use super::Clock;
use crate::frontier::{Frontier, FrontierError, Journal, Lease, Next};
use crate::gate::Gate;

/// The frontier behind its lock, the line of those who wait for a lease, and what wakes the first of them.
#[derive(Debug)]
pub(super) struct Lender<J: Journal> {
    frontier: Mutex<Frontier<J>>,
    pub(super) gate: Arc<Gate>,
    pub(super) clock: Clock,
    line: tokio::sync::Mutex<()>,
    /// Told at each change: the first in line looks again.
    changed: Notify,
}

impl<J: Journal> Lender<J> {
    pub(super) fn new(frontier: Frontier<J>, clock: Clock) -> Self {
        let gate = Arc::clone(frontier.gate());
        let (line, changed) = (tokio::sync::Mutex::default(), Notify::new());
        Self { frontier: Mutex::new(frontier), gate, clock, line, changed }
    }

    /// The next lease, as soon as there is one; `None` once the frontier is drained.
    pub(super) async fn lease(&self) -> Result<Option<Lease>, FrontierError> {
        let _first_in_line = self.line.lock().await;
        loop {
            let changed = self.changed.notified();
            let next = self.lock().next(self.clock.now())?;
            match next {
                Next::Fetch(lease) | Next::GiveUp(lease) => return Ok(Some(lease)),
                Next::Wait(until) => {
                    // Whichever comes first.
                    let _ = timeout_at(self.clock.instant(until).into(), changed).await;
                }
                Next::Busy => changed.await,
                Next::Drained => return Ok(None),
            }
        }
    }

    /// Changes the frontier, and wakes the first in line.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Frontier<J>, Clock) -> T) -> T {
        let changed = change(&mut self.lock(), self.clock);
        self.changed.notify_one();
        changed
    }

    /// A panic under the lock is a fault of ours in the middle of a change; the crawl goes on with what is there
    /// rather than losing all of it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Frontier<J>> {
        self.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
