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
    /// Links that were seen before.
    pub duplicates: u64,
    /// How many of `pages` were written by earlier runs.
    pub earlier_pages: u64,
    /// How many of `wire_bytes` were received by earlier runs.
    pub earlier_wire_bytes: u64,
    /// Time since the crawl was made, in this run only.
    pub elapsed: Duration,
    /// The crawl's time.
    pub now: Timestamp,
    /// Share of the seen filter's capacity that is used, 0 to 1; 0 if it grows.
    pub filter_used: f64,
    /// The seen filter is beyond its capacity: it loses more pages than its target rate says.
    pub is_filter_full: bool,
    /// The crawl is paused.
    pub is_paused: bool,
    /// It is a distributed crawl, and its servers do not answer.
    pub is_cut_off: bool,
    /// Waiting and leased URLs.
    pub frontier: FrontierStatistics,
}
