//! The stop of a crawl, asked for from anywhere.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use super::finish::FinishReason;

/// How far a crawl has been asked to stop; it only ever goes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// Nothing new is leased; what is in flight is finished.
    Draining,
    /// What is in flight is given up.
    Stopping,
}

/// Asks a crawl to stop, from anywhere; cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop {
    phase: watch::Sender<Phase>,
    /// The first reason given.
    reason: Arc<OnceLock<FinishReason>>,
}

impl Stop {
    pub(super) fn new() -> Self {
        Self { phase: watch::Sender::new(Phase::Running), reason: Arc::default() }
    }

    /// Lease nothing new, finish what is in flight.
    pub fn drain(&self) {
        self.drain_because(FinishReason::Stopped);
    }

    /// Give up what is in flight too.
    pub fn now(&self) {
        self.now_because(FinishReason::Stopped);
    }

    pub(super) fn drain_because(&self, reason: FinishReason) {
        self.raise(Phase::Draining, reason);
    }

    pub(super) fn now_because(&self, reason: FinishReason) {
        self.raise(Phase::Stopping, reason);
    }

    /// Why the crawl was asked to stop, if it was.
    pub(super) fn reason(&self) -> Option<FinishReason> {
        self.reason.get().copied()
    }

    /// Resolves once nothing new may be leased.
    pub(super) async fn draining(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Resolves once what is in flight is to be given up.
    pub(super) async fn stopping(&self) {
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
        // The sender lives in `self`, so the channel cannot close meanwhile.
        let _ = self.phase.subscribe().wait_for(|&phase| phase >= at).await;
    }
}
