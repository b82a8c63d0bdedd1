//! A URL in a queue.

use crate::gate::Position;

/// A position that is queued, and the priority by which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) position: Position,
    pub(crate) priority: u8,
}
