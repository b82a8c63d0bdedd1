//! The layouts: their names, and the memory of each. A new one begins here.

use std::fmt;

/// How a shard remembers.
///
/// | layout | bits a URL at 1e-4 | loses URLs | forgets | memory accesses for a new URL |
/// |---|---|---|---|---|
/// | blocked | 23.6 | yes | no | 1 |
/// | standard, partitioned | 19.2 | yes | no | 13 |
/// | counting | 76.7 | yes | yes | 13 |
/// | exact | 51, or 51 to 101 as it grows | 1 in 10^10 | yes | 1 |
/// | verified | 12.1 at 1e-2 | no | no | 1, and now and then a read from disk |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// A Bloom filter in cache lines: all bits of a URL are in one line of 64 bytes. The fastest.
    #[default]
    Blocked = 0,
    /// A Bloom filter of 4-bit counters instead of bits, so that it can
    /// [`remove`](super::SeenSet::remove).
    Counting = 1,
    /// Fingerprints in cache lines: almost nothing is lost, for 6.3 bytes a URL if the number of URLs is known, and up to twice as much
    /// while the table grows.
    Exact = 2,
    /// A Bloom filter with a separate array for each probe. It behaves as `Standard` does.
    Partitioned = 3,
    /// A Bloom filter over one array of bits, as Bloom described it in 1970: the fewest bits, and
    /// the most memory accesses.
    Standard = 4,
    /// A `Blocked` filter in memory, and every fingerprint on disk. A URL that the filter takes for seen is looked up there, so nothing is
    /// lost.
    ///
    /// Besides the filter it takes 2 bits of memory a URL, 8 bytes a URL of [`directory`](super::SeenOptions::directory), and one read or a
    /// few for a URL that was not shown lately. The false-positive rate is only how often a new URL is looked up in vain; at 1e-2 the
    /// filter takes 10 bits a URL.
    Verified = 5,
}

/// What a layout's memory consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Cache lines of 512 bits. A URL has all its bits in one of them.
    Lines,
    /// Cells anywhere in one array, or, if they are `apart`, each in an array of its own. A cell is `width` bits wide.
    Cells { apart: bool, width: usize },
    /// Slots with a fingerprint each, in cache lines.
    Slots,
}

impl Layout {
    /// All of them, the most used first.
    pub const ALL: [Self; 6] =
        [Self::Blocked, Self::Standard, Self::Partitioned, Self::Counting, Self::Exact, Self::Verified];

    /// The number that stands for it in a snapshot, which never changes.
    pub(super) const fn code(self) -> u8 {
        self as u8
    }

    /// The layout with this [`code`](Self::code).
    pub(super) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.code() == code)
    }

    /// The name by which settings, reports and messages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Counting => "counting",
            Self::Exact => "exact",
            Self::Partitioned => "partitioned",
            Self::Standard => "standard",
            Self::Verified => "verified",
        }
    }

    /// Its shape: sizes, options and snapshots depend on this, and not on each layout.
    pub(super) const fn shape(self) -> Shape {
        match self {
            Self::Blocked | Self::Verified => Shape::Lines,
            Self::Counting => Shape::Cells { apart: false, width: 4 },
            Self::Exact => Shape::Slots,
            Self::Partitioned => Shape::Cells { apart: true, width: 1 },
            Self::Standard => Shape::Cells { apart: false, width: 1 },
        }
    }

    /// The layout of its filters alone.
    pub(super) fn of_filter(self) -> Self {
        if self == Self::Verified { Self::Blocked } else { self }
    }

    /// Whether it can [`remove`](super::SeenSet::remove).
    pub fn forgets(self) -> bool {
        matches!(self, Self::Counting | Self::Exact)
    }

    /// Whether it takes new URLs for seen.
    pub(super) fn loses(self) -> bool {
        self != Self::Verified
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back_to_their_layouts() {
        for (place, layout) in Layout::ALL.into_iter().enumerate() {
            assert_eq!(Layout::of_code(layout.code()), Some(layout));
            assert_eq!(Layout::ALL.iter().position(|other| other.name() == layout.name()), Some(place));
        }
        let codes: Vec<_> = (0..=u8::MAX).filter_map(Layout::of_code).map(Layout::code).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5], "each has a number of its own, which stands in files");
    }
}
