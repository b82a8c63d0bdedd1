//! One frontier lent to many tasks: leases that return to it. Needs tokio's `sync` and `time`, and no HTTP client.
//!
//! A [`Frontier`](crate::frontier::Frontier) is a state machine for a single caller. Here many tasks share it:
//!
//! 1. A task awaits [`SharedFrontier::lease`]. Waiting tasks form a wait queue. Only the first of them watches the frontier, so a host that
//!    becomes due wakes one task, not all.
//! 2. It gets a [`HeldLease`], fetches the URL, and [answers](HeldLease::answer) or completes it. A task that is cancelled or panics drops
//!    the lease: that completes it as [lost](crate::frontier::Failure::Lost), and the page is tried again.
//! 3. Each submission and each completion wakes the first in the queue, which looks again.
//!
//! **Locks**, in the order in which they are taken: the wait queue (asynchronous, held while its first task waits), then the frontier (held
//! for a microsecond or two, and never across an await). The [`Gate`](crate::gate::Gate) needs neither lock: tasks ask it in parallel, and
//! take the frontier's lock to submit what it admitted.
//!
//! **Flushes.** When a lease is completed or answered, the journal's storage has its records before the call returns. The crawl settles its
//! leases instead, and their records are flushed in groups: see `flushing`.
//!
//! **Time** comes from one [`Clock`]. It reads the wall clock once, and counts on from there with the monotonic one.
//!
//! A shared frontier runs on any tokio runtime with its timer enabled.

mod clock;
#[cfg(feature = "crawl")]
mod flushing;
mod held;
mod lender;
mod shared;
#[cfg(feature = "crawl")]
mod unflushed;

pub use clock::Clock;
pub use held::HeldLease;
pub use shared::SharedFrontier;
