//! A URL in a queue.

use crate::gate::Position;

/// A queued position and its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// Its entry in the journal, which has everything else about it.
    pub(crate) position: Position,
    /// The front queue of its host while this URL is its next; 0 goes before all others.
    pub(crate) priority: u8,
}
