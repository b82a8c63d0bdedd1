//! Stops or pauses a crawl, from any thread; and why a crawl ended.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// How far a crawl was asked to stop. It only increases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// Nothing new is leased. Requests in flight go on.
    Draining,
    /// Requests in flight are abandoned.
    Stopping,
}

/// Stops or pauses a crawl, from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop {
    phase: watch::Sender<Phase>,
    paused: watch::Sender<bool>,
    /// The first reason given.
    reason: Arc<OnceLock<FinishReason>>,
}

impl Stop {
    pub(crate) fn new() -> Self {
        Self { phase: watch::Sender::new(Phase::Running), paused: watch::Sender::new(false), reason: Arc::default() }
    }

    /// Leases nothing new, and lets requests in flight finish.
    pub fn drain(&self) {
        self.drain_because(FinishReason::Stopped);
    }

    /// Also abandons requests in flight.
    pub fn now(&self) {
        self.now_because(FinishReason::Stopped);
    }

    /// Leases nothing new until [`resume`](Self::resume). Requests in flight finish. Meanwhile hosts' rests run on, checkpoints are
    /// written, and time counts towards [`max_duration`](super::CrawlOptions::max_duration). A paused crawl can be stopped.
    pub fn pause(&self) {
        self.paused.send_replace(true);
    }

    /// Leases again.
    pub fn resume(&self) {
        self.paused.send_replace(false);
    }

    /// Whether the crawl is paused.
    pub fn is_paused(&self) -> bool {
        *self.paused.borrow()
    }

    /// Whether the crawl was asked to stop, by a caller or by a limit.
    pub fn is_stopping(&self) -> bool {
        self.reason.get().is_some()
    }

    pub(crate) fn drain_because(&self, reason: FinishReason) {
        self.raise(Phase::Draining, reason);
    }

    pub(super) fn now_because(&self, reason: FinishReason) {
        self.raise(Phase::Stopping, reason);
    }

    /// Why the crawl was asked to stop, if it was.
    pub(crate) fn reason(&self) -> Option<FinishReason> {
        self.reason.get().copied()
    }

    /// Reports each pause and the end of each pause.
    pub(super) fn pauses(&self) -> watch::Receiver<bool> {
        self.paused.subscribe()
    }

    /// Resolves once nothing new may be leased.
    pub(crate) async fn draining(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Resolves once requests in flight must be abandoned.
    pub(crate) async fn stopping(&self) {
        self.reached(Phase::Stopping).await;
    }

    fn raise(&self, to: Phase, reason: FinishReason) {
        self.reason.get_or_init(|| reason);
        self.phase.send_if_modified(|phase| {
            let raised = *phase < to;
            *phase = to.max(*phase);
            raised
        });
    }

    async fn reached(&self, at: Phase) {
        // The sender is in `self`, so the channel cannot close meanwhile.
        let _ = self.phase.subscribe().wait_for(|&phase| phase >= at).await;
    }
}

/// Why a crawl ended. In a report by its name in lower case: `max_pages`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// Everything in scope was fetched or refused.
    Drained,
    /// Less than [`JobOptions::min_free_disk`](super::JobOptions::min_free_disk) was free.
    DiskLow,
    /// [`CrawlOptions::max_duration`](super::CrawlOptions::max_duration) was over.
    MaxDuration,
    /// [`CrawlOptions::max_pages`](super::CrawlOptions::max_pages) were recorded.
    MaxPages,
    /// The proxy has failed for [`FetchOptions::proxy_patience`](super::FetchOptions::proxy_patience), or does not take our sign-in.
    ProxyFailed,
    /// Records went to a pipe whose reader has gone.
    ReaderLeft,
    /// The seen filter is at its capacity, and is to stop there: [`OnFull::Stop`](crate::seen::OnFull::Stop).
    SeenFull,
    /// Records could not be written any more.
    SinkFailed,
    /// Somebody asked it to stop.
    Stopped,
    /// The frontier's storage failed: what is found could not be kept.
    StorageFailed,
    /// It has not ended: another process runs it, or was killed. See [`look`](super::look).
    Unfinished,
}
