//! A crawl that has ended, in all its numbers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::finish::FinishReason;
use super::keeper::CheckpointCosts;
use super::numbers::{PolitenessWatch, Tally};
use crate::frontier::{FrontierStatistics, HostSpread, HostStatistics, Timestamp};
use crate::gate::Gate;

/// Hosts in [`Finished::top_hosts`].
pub(super) const TOP_HOSTS: usize = 10;

/// A crawl that has ended, in all its numbers.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// Why it ended.
    pub reason: FinishReason,
    /// What the responses were.
    pub tally: Tally,
    /// What is left in the frontier.
    pub frontier: FrontierStatistics,
    /// The hosts with the most requests.
    pub top_hosts: Vec<HostStatistics>,
    /// How many hosts have had how many requests.
    pub hosts_by_requests: HostSpread,
    /// The judge of the delays, from the send times.
    pub politeness: PolitenessWatch,
    /// The gate, with its counts and its seen set.
    pub gate: Arc<Gate>,
    /// When it began: the first of its runs, where it was resumed.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// How long it took: all runs together.
    pub elapsed: Duration,
    /// Runs but the first.
    pub resumes: u64,
    /// Seeds that were taken, and that were refused, as [`Crawl::count_seeds`](super::Crawl::count_seeds) was told.
    pub seeds: (u64, u64),
    /// Requests that the judge of the delays has seen, and how many of them came too early, in all runs.
    pub judged: (u64, u64),
    /// What this run's checkpoints have cost; `None` where it is not kept.
    pub checkpoints: Option<CheckpointCosts>,
    /// The storage's own words, where the reason is [`FinishReason::StorageFailed`].
    pub storage_error: Option<io::Error>,
}
