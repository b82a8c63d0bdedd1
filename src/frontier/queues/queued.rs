//! A URL in a queue.

use crate::gate::Position;

/// A position that is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) position: Position,
    pub(crate) priority: u8,
    /// Tries used up before.
    pub(crate) attempts: u8,
}
