//! One frontier lent to many tasks: leases that return to it. Needs tokio's `sync` and `time`, and no HTTP client.
//!
//! A [`Frontier`](crate::frontier::Frontier) is a state machine for a single caller. Here many tasks share it:
//!
//! 1. A task awaits [`SharedFrontier::lease`]. Waiting tasks form a wait queue. Only the first of them watches the frontier, so a host that
//!    becomes due wakes one task, not all.
//! 2. It gets a [`HeldLease`], fetches the URL, and [answers](HeldLease::answer) or completes it. A task that is cancelled or panics drops
//!    its lease. That completes the lease as [lost](crate::frontier::Failure::Lost), and the page is tried again.
//! 3. Each submission and each completion wakes the first task in the queue, which looks again.
//!
//! **Locks**, in the order in which they are taken: the wait queue (asynchronous, held while its first task waits), then the frontier (held
//! for a microsecond or two, and never across an await). The [`Gate`](crate::gate::Gate) needs neither lock: tasks ask it in parallel, and
//! take the frontier's lock to submit what it admitted.
//!
//! **Flushes.** When a lease is completed or answered, the journal's storage has its records before the call returns. The crawl
//! [settles](HeldLease::settle) its leases instead, and their records are flushed in groups: see `shared`.
//!
//! **Time** comes from one [`Clock`].
//!
//! A shared frontier runs on any tokio runtime with its timer enabled.
//!
//! `shared` has the calls of tasks, `lender` the two locks and the signals between tasks; the clock is here.

mod lender;
mod shared;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::frontier::Timestamp;

pub use shared::{HeldLease, SharedFrontier};

/// The clock of a crawl, which gives the frontier its times. It reads the wall clock once, at the start, and adds the time that the monotonic
/// clock measures from then on. So a step of the wall clock neither hurries nor stalls a crawl.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    epoch: Timestamp,
}

impl Clock {
    /// Starts at the wall clock's time.
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), epoch: Timestamp::default() + since_epoch }
    }

    /// This clock, set back by `micros` microseconds, or ahead if that is negative: for a machine whose clock is known to be wrong.
    #[must_use]
    pub fn set_back(self, micros: i64) -> Self {
        Self {
            epoch: Timestamp::from_micros(self.epoch.as_micros().saturating_add_signed(micros.saturating_neg())),
            ..self
        }
    }

    /// Now.
    pub fn now(&self) -> Timestamp {
        self.timestamp(Instant::now())
    }

    /// A moment of the monotonic clock, as a timestamp.
    pub fn timestamp(&self, instant: Instant) -> Timestamp {
        self.epoch + instant.saturating_duration_since(self.started)
    }

    /// A timestamp, as a moment of the monotonic clock; a timestamp before the start becomes the start.
    pub fn instant(&self, timestamp: Timestamp) -> Instant {
        let after = timestamp.since(self.epoch);
        // A timestamp beyond the monotonic clock's range becomes one day from now.
        self.started.checked_add(after).unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400))
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When the clock was started.
    pub fn epoch(&self) -> Timestamp {
        self.epoch
    }
}
