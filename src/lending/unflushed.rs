//! Tells that records wait to be flushed.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Between those who leave records and the one who flushes them. That is woken by the first record, and then by none until it has looked
/// again.
#[derive(Debug, Default)]
pub(super) struct Unflushed {
    told: Notify,
    /// Somebody sees to it, or was told to.
    is_known: AtomicBool,
}

impl Unflushed {
    /// Records wait.
    pub(super) fn tell(&self) {
        if !self.is_known.swap(true, Ordering::AcqRel) {
            self.told.notify_one();
        }
    }

    /// From here on, a lease that leaves records tells of them.
    pub(super) fn look(&self) {
        self.is_known.store(false, Ordering::Release);
    }

    /// Records wait, and they are seen to: nobody need tell.
    pub(super) fn know(&self) {
        self.is_known.store(true, Ordering::Release);
    }

    /// Waits until somebody tells.
    pub(super) async fn wait(&self) {
        self.told.notified().await;
    }
}
