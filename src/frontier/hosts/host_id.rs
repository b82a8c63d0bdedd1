//! The number by which a frontier knows a host while it is in memory.

/// A host in memory. When the host is evicted, the number is free for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct HostId(u32);

impl HostId {
    /// No host: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The host with this number.
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// Its number, as a place in a table.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}
