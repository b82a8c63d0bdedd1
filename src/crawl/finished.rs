//! A crawl in numbers, whether it has finished or not.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::checkpointer::CheckpointCosts;
use super::numbers::{Carried, Cost, PolitenessCounts, SeedCounts, Tally, Timeline, Violation};
use super::records::OutputEnd;
use super::stop::FinishReason;
use crate::driver::HostStatistics;
use crate::frontier::{Frontier, FrontierStatistics, Journal, Timestamp};
use crate::gate::Gate;

/// The number of hosts in [`Finished::top_hosts`].
const TOP_HOSTS: usize = 10;

/// A crawl in numbers: of a finished crawl, or of an unfinished one so far ([`FinishReason::Unfinished`]).
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// Why it ended.
    pub reason: FinishReason,
    /// The results of its requests.
    pub tally: Tally,
    /// The counts of its frontier: what is left in it.
    pub frontier: FrontierStatistics,
    /// The hosts with the most requests.
    pub top_hosts: Vec<HostStatistics>,
    /// Hosts that fail or are retired, worst first.
    pub failing_hosts: Vec<HostStatistics>,
    /// Hosts with URLs that are left out because a budget is spent, most URLs first.
    pub spent_hosts: Vec<HostStatistics>,
    /// For each range of request counts, the number of hosts in it.
    pub hosts_by_requests: Vec<(RangeInclusive<u64>, u64)>,
    /// How evenly requests were spread over the n hosts with waiting URLs, by Jain's fairness index, 1/n to 1; `None` if fewer than two
    /// hosts have waiting URLs.
    pub fairness: Option<f64>,
    /// The longest time that a host of a sample has waited for its turn since its rest ended; `None` if no host is due.
    pub longest_due: Option<Duration>,
    /// How many requests of all runs were checked for politeness, and how many came too early.
    pub politeness: PolitenessCounts,
    /// The request of the last run that was the furthest too early.
    pub worst_violation: Option<Violation>,
    /// The gate, with its counts and its seen set.
    pub gate: Arc<Gate>,
    /// When its first run began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// How long all its runs took together.
    pub elapsed: Duration,
    /// The cost of all runs: of this process and earlier ones. If the crawl runs in another process, it is up to a second old.
    pub cost: Cost,
    /// The number of runs after the first.
    pub resumes: u64,
    /// The seeds of all runs, by [`Crawl::count_seeds`](super::Crawl::count_seeds).
    pub seeds: SeedCounts,
    /// The numbers over time, of all runs.
    pub timeline: Timeline,
    /// Where the job's outputs end, by name. Empty if the crawl is not kept.
    pub outputs: BTreeMap<String, OutputEnd>,
    /// The number of pages in the job that this crawl visits again; `None` if it visits none again.
    pub known: Option<u64>,
    /// The cost of this run's checkpoints; `None` if the crawl is not kept.
    pub checkpoints: Option<CheckpointCosts>,
    /// The storage's error, if the reason is [`FinishReason::StorageFailed`].
    pub storage_error: Option<io::Error>,
}

impl Finished {
    /// The numbers of a crawl's frontier and its tally. The other fields are blank.
    pub fn of<J: Journal>(frontier: &Frontier<J>, tally: Tally, ended: Timestamp) -> Self {
        Self {
            reason: FinishReason::Stopped,
            tally,
            frontier: frontier.statistics(),
            top_hosts: frontier.top_hosts(TOP_HOSTS),
            failing_hosts: frontier.failing_hosts(TOP_HOSTS),
            spent_hosts: frontier.spent_hosts(TOP_HOSTS),
            hosts_by_requests: frontier.hosts_by_requests(),
            fairness: frontier.fairness(),
            longest_due: frontier.longest_due(ended),
            politeness: PolitenessCounts::default(),
            worst_violation: None,
            gate: Arc::clone(frontier.gate()),
            started: ended,
            ended,
            elapsed: Duration::ZERO,
            cost: Cost::default(),
            resumes: 0,
            seeds: SeedCounts::default(),
            timeline: Timeline::default(),
            outputs: BTreeMap::new(),
            known: None,
            checkpoints: None,
            storage_error: None,
        }
    }

    /// Adds the totals of the job's runs.
    pub(super) fn with(self, carried: &Carried) -> Self {
        Self {
            started: carried.started(),
            elapsed: carried.elapsed(),
            cost: carried.cost,
            resumes: carried.resumes,
            seeds: carried.seeds,
            politeness: carried.politeness,
            timeline: carried.timeline.clone(),
            outputs: carried.outputs.clone(),
            ..self
        }
    }
}
