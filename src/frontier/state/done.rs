//! A page that is done, while its record may still be lost.

use crate::frontier::Timestamp;
use crate::frontier::queues::Queued;
use crate::gate::Position;

/// A page that is done.
#[derive(Debug)]
pub(crate) struct Done {
    /// Where its record ends.
    pub(crate) end: u64,
    /// As [`lost`](Replay::lost) would have it.
    pub(crate) number: u32,
    pub(crate) queued: Queued,
    /// The entry by which it is asked for again.
    pub(crate) again: Option<Again>,
}

/// That a page which is done is asked for again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    pub(crate) at: Timestamp,
    pub(crate) position: Position,
    /// It was given up.
    pub(crate) is_parked: bool,
}
