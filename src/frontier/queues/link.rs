//! A place in a list of hosts.

use crate::frontier::hosts::HostId;

/// For a host the one before and the one behind; for a queue the last and the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListLink {
    pub(crate) before: HostId,
    pub(crate) behind: HostId,
}

impl Default for ListLink {
    fn default() -> Self {
        Self { before: HostId::NONE, behind: HostId::NONE }
    }
}

impl ListLink {
    /// The host behind.
    pub(crate) fn behind(self) -> Option<HostId> {
        (self.behind != HostId::NONE).then_some(self.behind)
    }
}
