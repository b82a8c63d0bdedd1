//! A crawl that has ended, in all its numbers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::checkpointer::CheckpointCosts;
use super::finish::FinishReason;
use super::numbers::{Carried, PolitenessCounts, SeedCounts, Tally, Violation};
use crate::frontier::{Frontier, FrontierStatistics, HostSpread, HostStatistics, Journal, Timestamp};
use crate::gate::Gate;

/// Hosts in [`Finished::top_hosts`].
const TOP_HOSTS: usize = 10;

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
    /// Requests of all runs, judged by the times at which they were sent.
    pub politeness: PolitenessCounts,
    /// The request of the last run that came earliest before its time.
    pub worst_violation: Option<Violation>,
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
    /// The seeds of all runs, as [`Crawl::count_seeds`](super::Crawl::count_seeds) was told.
    pub seeds: SeedCounts,
    /// What this run's checkpoints have cost; `None` where it is not kept.
    pub checkpoints: Option<CheckpointCosts>,
    /// The storage's own words, where the reason is [`FinishReason::StorageFailed`].
    pub storage_error: Option<io::Error>,
}

impl Finished {
    /// The end of a crawl, from its frontier and its tally; whatever else is known goes into the fields.
    pub fn of<J: Journal>(frontier: &Frontier<J>, tally: Tally, ended: Timestamp) -> Self {
        Self {
            reason: FinishReason::Stopped,
            tally,
            frontier: frontier.statistics(),
            top_hosts: frontier.top_hosts(TOP_HOSTS),
            hosts_by_requests: frontier.hosts_by_requests(),
            politeness: PolitenessCounts::default(),
            worst_violation: None,
            gate: Arc::clone(frontier.gate()),
            started: ended,
            ended,
            elapsed: Duration::ZERO,
            resumes: 0,
            seeds: SeedCounts::default(),
            checkpoints: None,
            storage_error: None,
        }
    }

    /// With what the runs before this one have carried over.
    pub(super) fn with(self, carried: &Carried) -> Self {
        Self {
            started: carried.started(),
            elapsed: carried.elapsed(),
            resumes: carried.resumes,
            seeds: carried.seeds,
            politeness: carried.politeness,
            ..self
        }
    }
}
