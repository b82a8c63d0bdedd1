//! A crawl's numbers while it runs.

use std::time::Duration;

/// A crawl's numbers while it runs, for a progress bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Page records so far.
    pub pages: u64,
    /// URLs waiting.
    pub queued: u64,
    /// URLs waiting for a time: that of their next try, or of their next visit.
    pub scheduled: u64,
    /// URLs of hosts that could not be reached.
    pub unreachable: u64,
    /// URLs lent to workers.
    pub in_flight: u64,
    /// Hosts with URLs queued.
    pub hosts: u64,
    /// How many of these hosts fail and are tried again.
    pub failing: u64,
    /// Records without a whole response.
    pub errors: u64,
    /// Links seen before.
    pub duplicates: u64,
    /// Time since the crawl was made.
    pub elapsed: Duration,
}

impl Progress {
    /// Nothing is left to do.
    pub fn is_drained(&self) -> bool {
        self.queued == 0 && self.scheduled == 0 && self.in_flight == 0
    }
}
