//! An admission's place in the journal.

/// An entry's place in the journal: the offset of its first byte, so positions grow with time. In memory a URL that waits is such a number,
/// and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// From a number that was a position before.
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// The number, for storage.
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}
