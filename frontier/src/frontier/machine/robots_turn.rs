//! Whose robots.txt is asked for, and by whose clock.

use crate::frontier::hosts::HostId;

/// The host whose robots.txt is asked for, and the host or queue by whose clock: they are the same, unless that is a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RobotsTurn {
    /// Whose clock it is: it rests, and may fail.
    pub(super) by: HostId,
    /// Whose robots.txt it is.
    pub(super) of: HostId,
}

impl RobotsTurn {
    /// A host's own.
    pub(super) const fn own(id: HostId) -> Self {
        Self { by: id, of: id }
    }
}
