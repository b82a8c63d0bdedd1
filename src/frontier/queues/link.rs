//! A place in a list of hosts.
//!
//! The list is doubly linked and runs through the hosts themselves, so a host leaves it from the middle in O(1), when a better URL is
//! found for it.

use crate::frontier::hosts::HostId;

/// For a host, its neighbors; for a queue, its last and its first host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListLink {
    /// The host before this one; for a queue its last.
    pub(crate) before: HostId,
    /// The host after this one; for a queue its first.
    pub(crate) behind: HostId,
}

/// A list that is empty, or a host that is in none.
impl Default for ListLink {
    fn default() -> Self {
        Self { before: HostId::NONE, behind: HostId::NONE }
    }
}

impl ListLink {
    /// The host after this one, if any.
    pub(crate) fn behind(self) -> Option<HostId> {
        (self.behind != HostId::NONE).then_some(self.behind)
    }
}
