//! One frontier lent to many tasks: leases that find their way back. Needs tokio's `sync` and `time`, and no HTTP client.
//!
//! A [`Frontier`](crate::frontier::Frontier) is a machine that one caller moves. Here many tasks share it:
//!
//! 1. A task awaits [`SharedFrontier::lease`]. Waiting tasks stand in line, and only the first of them watches the frontier,
//!    so a host that becomes due wakes one task, and not all.
//! 2. It gets a [`HeldLease`], fetches what that names, and [answers](HeldLease::answer) or completes it. A task that is cancelled or panics drops it: then it
//!    is completed as [lost](crate::frontier::Failure::Lost), and the page is tried again.
//! 3. Each submission and each completion wakes the first in line, which looks again.
//!
//! **Locks**, in the order in which they are taken: the line (asynchronous, held while the first task waits), then the
//! frontier (held for a microsecond or two, and never while anything is awaited). The [`Gate`](crate::gate::Gate) needs no
//! lock of these: tasks ask it side by side, and take the frontier's lock with what it admitted.
//!
//! **Flushes.** A lease that is completed or answered is with the journal's storage when the call returns. The crawl settles its leases
//! instead, and their records are flushed in groups: see `flushing`.
//!
//! **Time** comes from one [`Clock`]. It reads the wall clock once, and counts on from there with the monotonic one.
//!
//! A shared frontier runs on any tokio runtime that has its timer enabled.

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
