//! Signals that records wait to be flushed.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Connects the tasks that leave records with the one that flushes them. The first record wakes that one; later records do not, until it
/// has looked again.
#[derive(Debug, Default)]
pub(super) struct Unflushed {
    told: Notify,
    /// The flushing task knows of the records, or was notified.
    is_known: AtomicBool,
}

impl Unflushed {
    /// Records wait.
    pub(super) fn tell(&self) {
        if !self.is_known.swap(true, Ordering::AcqRel) {
            self.told.notify_one();
        }
    }

    /// From here on, a lease that leaves records notifies.
    pub(super) fn look(&self) {
        self.is_known.store(false, Ordering::Release);
    }

    /// Records wait and will be flushed: no notification is needed.
    pub(super) fn know(&self) {
        self.is_known.store(true, Ordering::Release);
    }

    /// Waits for a notification.
    pub(super) async fn wait(&self) {
        self.told.notified().await;
    }
}
