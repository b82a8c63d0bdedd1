//! A URL in a queue.

use crate::gate::Position;

/// A position that is queued, and the priority by which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// Its entry in the journal, which has all else of it.
    pub(crate) position: Position,
    /// The front queue of its host while it goes first; 0 goes before all.
    pub(crate) priority: u8,
}
