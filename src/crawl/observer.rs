//! Looks into a crawl while it runs.

use std::fmt;
use std::sync::{Arc, PoisonError};

use super::finish::FinishReason;
use super::finished::Finished;
use super::lock::lock;
use super::shared::Shared;
use crate::address::AddressError;
use crate::frontier::{Arena, Explanation, FrontierError, Journal, Timestamp};
#[cfg(feature = "cli")]
use crate::frontier::{HostList, HostOrder};
use crate::gate::DropRule;

/// Looks into a crawl while it runs, from any thread. [`Crawl::observer`](super::Crawl::observer) makes one. Cheap to clone.
pub struct Observer<J: Journal = Arena> {
    pub(super) shared: Arc<Shared<J>>,
    /// The number of pages of the job that is crawled again.
    pub(super) known: Option<u64>,
}

/// Hosts read under one lock.
#[cfg(feature = "cli")]
const HOSTS_AT_ONCE: u32 = 4096;

impl<J: Journal> Observer<J> {
    /// The numbers of the crawl up to now, as its report would have them; the reason is [`FinishReason::Unfinished`]. The cost of its
    /// checkpoints is known only when it ends.
    ///
    /// Every page is counted completely or not at all: pages that want to pass the gate wait meanwhile. That takes longer the more hosts
    /// are in memory, so a caller that asks repeatedly should pause in between.
    pub fn so_far(&self) -> Finished {
        let shared = &self.shared;
        let ended = shared.frontier.clock().now();
        let quiet = shared.quiesce.write().unwrap_or_else(PoisonError::into_inner);
        let carried = shared.carried();
        let finished = shared.frontier.with(|frontier| Finished::of(frontier, carried.tally.clone(), ended));
        drop(quiet);
        Finished {
            reason: FinishReason::Unfinished,
            worst_violation: lock(&shared.politeness).worst().cloned(),
            known: self.known,
            ..finished.with(&carried)
        }
    }

    /// The crawl's time.
    pub fn now(&self) -> Timestamp {
        self.shared.frontier.clock().now()
    }

    /// Finds at most `most` hosts in memory whose names or states contain a text. Takes the frontier's lock for a few thousand hosts at a
    /// time.
    #[cfg(feature = "cli")]
    pub(crate) fn hosts(&self, find: &str, order: HostOrder, most: usize) -> HostList {
        let frontier = &self.shared.frontier;
        let mut list = HostList::by(order, find, most);
        let (mut from, now) = (0, self.now());
        while let Some(next) = frontier.with(|frontier| frontier.list_hosts(&mut list, from, HOSTS_AT_ONCE, now)) {
            from = next;
        }
        list
    }

    /// Stops fetching whatever this rule names, in this run and later ones; with `is_undone`, fetches it again. Returns what is dropped
    /// after that.
    ///
    /// # Errors
    /// If the rule is not valid, or the job's storage fails.
    pub fn drop_by(&self, rule: DropRule, is_undone: bool) -> Result<Vec<DropRule>, FrontierError> {
        let frontier = &self.shared.frontier;
        if is_undone {
            frontier.undo_drop(&rule)?;
        } else {
            frontier.drop_by(rule)?;
        }
        Ok(self.dropped())
    }

    /// What is [dropped](Self::drop_by), in the order in which it was dropped.
    pub fn dropped(&self) -> Vec<DropRule> {
        self.shared.frontier.gate().dropped()
    }

    /// As [`Frontier::explain`](crate::frontier::Frontier::explain): what is known of a URL, except its history.
    ///
    /// # Errors
    /// If the text is not a URL; in the inner result, if the journal's storage fails.
    pub fn explain(&self, url: &str) -> Result<Result<Explanation, FrontierError>, AddressError> {
        let frontier = &self.shared.frontier;
        let url = frontier.gate().canonicalizer().canonicalize(url)?;
        let now = frontier.clock().now();
        Ok(frontier.with(|frontier| frontier.explain(&url, now)))
    }
}

impl<J: Journal> Clone for Observer<J> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), known: self.known }
    }
}

impl<J: Journal> fmt::Debug for Observer<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").field("progress", &self.shared.progress()).finish_non_exhaustive()
    }
}
