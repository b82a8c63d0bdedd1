//! How far the writer of an output has come.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::crawl::lock::lock;

/// How many bytes the writer has written, for whoever must wait for it.
#[derive(Clone, Debug, Default)]
pub(in crate::crawl) struct Written(Arc<(Mutex<Handed>, Condvar)>);

#[derive(Debug, Default)]
struct Handed {
    bytes: u64,
    ended: bool,
}

impl Written {
    /// Waits until so many bytes are written. Returns `false` if they never will be.
    pub(in crate::crawl) fn wait_for(&self, bytes: u64) -> bool {
        let (handed, changed) = &*self.0;
        let waited = changed.wait_while(lock(handed), |handed| handed.bytes < bytes && !handed.ended);
        waited.unwrap_or_else(PoisonError::into_inner).bytes >= bytes
    }

    /// How many there are now.
    pub(in crate::crawl) fn bytes(&self) -> u64 {
        lock(&self.0.0).bytes
    }

    /// More were written.
    pub(super) fn add(&self, bytes: u64) {
        self.tell(|handed| handed.bytes += bytes);
    }

    /// No more will be.
    pub(super) fn end(&self) {
        self.tell(|handed| handed.ended = true);
    }

    fn tell(&self, change: impl FnOnce(&mut Handed)) {
        let (handed, changed) = &*self.0;
        change(&mut lock(handed));
        changed.notify_all();
    }
}
