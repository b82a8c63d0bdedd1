//! The number of a rate group.

use std::num::NonZeroU32;

/// The number of a rate group: one more than its place in the table, so that a host stores one or none in four bytes. The number of an
/// address or a server is reused once no host has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RateGroupId(NonZeroU32);

impl RateGroupId {
    /// The rate group at this place.
    pub(super) fn at(place: usize) -> Self {
        let number = u32::try_from(place + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("no more than hosts and groups"))
    }

    /// The rate group of a group, by its place among the groups.
    pub(crate) const fn of_group(number: u16) -> Self {
        Self(NonZeroU32::MIN.saturating_add(number as u32))
    }

    /// Its place in the table.
    pub(super) const fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}
