//! The observer of what a journal writes.

use std::fmt;

/// Observes what a journal writes, piece by piece: with these bytes at these positions, the same journal can be made elsewhere.
pub(crate) trait JournalObserver: fmt::Debug + Send + Sync {
    /// The storage has these bytes, at a position in the segment that starts at `segment`. Called while the journal is locked, and must not
    /// wait.
    fn written(&self, segment: u64, at: u64, bytes: &[u8]);
}
