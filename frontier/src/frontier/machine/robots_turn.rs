//! Whose robots.txt is asked for and by whose clock ([`RobotsTurn`]), and which files named queues have just asked for ([`QueueRobots`]).

use ahash::AHashMap;

use crate::address::HostKey;
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

/// Named queues that have asked for a robots.txt and lent no page since, each with the file's origin. Such a file is good for one page of
/// the queue, however old it is by then. Otherwise a queue that rests for longer than `robots_ttl` would only ever ask for robots.txt.
#[derive(Debug, Default)]
pub(super) struct QueueRobots(AHashMap<HostId, HostKey>);

impl QueueRobots {
    /// A queue has learned what an origin's robots.txt is.
    pub(super) fn note(&mut self, queue: HostId, origin: HostKey) {
        self.0.insert(queue, origin);
    }

    /// A row of the host table leaves memory, and its number goes to another.
    pub(super) fn forget(&mut self, queue: HostId) {
        self.0.remove(&queue);
    }

    /// Whether the file is good for one page of the queue, however old it is.
    pub(super) fn is_fresh(&self, queue: HostId, origin: &HostKey) -> bool {
        self.0.get(&queue) == Some(origin)
    }
}
