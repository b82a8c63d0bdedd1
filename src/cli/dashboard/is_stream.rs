//! The mark of a connection that stays open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set on a connection that has become an event stream.
#[derive(Clone, Debug, Default)]
pub(super) struct IsStream(Arc<AtomicBool>);

impl IsStream {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
