//! A place in a list of hosts.

use super::NONE;

/// For a host the one before and the one behind; for a queue the last and the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) before: u32,
    pub(crate) behind: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { before: NONE, behind: NONE }
    }
}

impl Link {
    /// The host behind.
    pub(crate) fn behind(self) -> Option<u32> {
        (self.behind != NONE).then_some(self.behind)
    }
}
