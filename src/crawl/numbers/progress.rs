//! A crawl's numbers while it runs.

use std::time::Duration;

use crate::frontier::{FrontierStatistics, Timestamp};

/// A crawl's numbers while it runs, for a progress bar.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Page records so far.
    pub pages: u64,
    /// Records without a whole response.
    pub errors: u64,
    /// Bytes of bodies on the wire.
    pub wire_bytes: u64,
    /// Links seen before.
    pub duplicates: u64,
    /// Page records among these that earlier runs have written.
    pub earlier_pages: u64,
    /// Bytes among these that came to earlier runs.
    pub earlier_wire_bytes: u64,
    /// Time since the crawl was made, of this run alone.
    pub elapsed: Duration,
    /// The crawl's time.
    pub now: Timestamp,
    /// Share of the seen filter's capacity that is taken, 0 to 1; 0 where it grows.
    pub filter_used: f64,
    /// The seen filter is beyond its capacity: it loses more than its rate promises.
    pub is_filter_full: bool,
    /// Somebody has paused it.
    pub is_paused: bool,
    /// It is one on many machines, and their servers do not answer.
    pub is_cut_off: bool,
    /// What waits, and what is lent to workers.
    pub frontier: FrontierStatistics,
}
