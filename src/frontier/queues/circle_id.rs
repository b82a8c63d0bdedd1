//! The number by which hosts that share a clock are known.

/// The number of a circle: its place in the table. That of an address goes to another once nobody has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CircleId(u32);

impl CircleId {
    /// The circle at this place.
    pub(super) fn at(place: usize) -> Self {
        Self(u32::try_from(place).expect("no more than hosts and groups"))
    }

    /// The circle of a group, by its place among the groups.
    pub(crate) const fn of_group(number: u16) -> Self {
        Self(number as u32)
    }

    /// Its place in the table.
    pub(super) const fn place(self) -> usize {
        self.0 as usize
    }
}
