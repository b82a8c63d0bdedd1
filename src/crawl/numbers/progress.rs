//! A crawl's numbers while it runs.

use std::time::Duration;

use crate::frontier::FrontierStatistics;

/// A crawl's numbers while it runs, for a progress bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Page records so far.
    pub pages: u64,
    /// Records without a whole response.
    pub errors: u64,
    /// Links seen before.
    pub duplicates: u64,
    /// Time since the crawl was made.
    pub elapsed: Duration,
    /// What waits, and what is lent to workers.
    pub frontier: FrontierStatistics,
}
