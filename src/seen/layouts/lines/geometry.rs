//! How the 512 bits of a line are spent, by the number of identity bits.

use crate::seen::probes::LINE_BITS;

/// Bits of a slot that are in the first array, where all slots are compared at once.
pub(super) const TAG_BITS: u32 = 16;
/// Bits of a slot's distance from home, 0 to 3.
const DISTANCE_BITS: u32 = 2;
/// Bits of the count of taken slots, and of the count of slots sent on.
pub(super) const COUNT_BITS: u32 = 5;

/// The values that follow from the number of identity bits. A slot is one bit longer, for its mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seen) struct Geometry {
    /// 16 to 56.
    pub(in crate::seen) identity_bits: u32,
    /// Slots in a line: 12 of 38 bits, 26 of 16, 8 of 56.
    pub(in crate::seen) slots: u32,
}

impl Geometry {
    /// The fewest and the most identity bits.
    pub(in crate::seen) const BITS: std::ops::RangeInclusive<u32> = 16..=56;

    /// The share of slots that may be taken before the table is split, in percent.
    const LOAD: u64 = 86;

    /// The geometry of most tables: 38 bits.
    pub(in crate::seen) const USUAL: Self = Self::of(38);

    pub(in crate::seen) const fn of(identity_bits: u32) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "512")]
        let line = LINE_BITS as u32;
        Self { identity_bits, slots: (line - 2 * COUNT_BITS) / (identity_bits + 1 + DISTANCE_BITS) }
    }

    /// How many fingerprints fit into `lines`.
    pub(in crate::seen) fn room(self, lines: u64) -> u64 {
        let slots = u128::from(lines) * u128::from(self.slots) * u128::from(Self::LOAD) / 100;
        u64::try_from(slots).unwrap_or(u64::MAX)
    }

    /// Lines with room for `urls` fingerprints. Above 256, their number is a multiple of a power of two, so that they can be distributed
    /// among more shards: less than 1 % more.
    pub(in crate::seen) fn lines(self, urls: u64) -> u64 {
        let least = (u128::from(urls) * 100).div_ceil(u128::from(self.slots) * u128::from(Self::LOAD));
        let least = u64::try_from(least).unwrap_or(u64::MAX).max(1);
        let unit = 1 << (u64::BITS - least.leading_zeros()).saturating_sub(8);
        least.div_ceil(unit).saturating_mul(unit)
    }

    /// The bits of a slot that are not its tag.
    pub(super) fn rest_bits(self) -> u32 {
        self.identity_bits + 1 - TAG_BITS
    }

    /// A slot whose identity bits are all spent: only its mark, at the other end.
    pub(super) fn spent(self) -> u64 {
        1 << self.identity_bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_line_fits_into_it() {
        assert_eq!([16, 20, 38, 56].map(|bits| Geometry::of(bits).slots), [26, 21, 12, 8]);
        for bits in Geometry::BITS {
            let geometry = Geometry::of(bits);
            let slot = bits + 1 + DISTANCE_BITS;
            assert!(geometry.slots * slot + 2 * COUNT_BITS <= 512 && geometry.slots < 1 << COUNT_BITS);
            // The header alone fits into one word.
            assert!(geometry.slots * DISTANCE_BITS + 2 * COUNT_BITS <= 64);
        }
    }

    #[test]
    fn lines_have_room_for_what_they_were_asked_for_and_little_more() {
        let geometry = Geometry::of(38);
        for urls in (0..60).map(|power| 1 << power).chain(1..2000) {
            let lines = geometry.lines(urls);
            assert!(geometry.room(lines) >= urls, "{urls}");
            assert!(lines as f64 <= urls as f64 / 10.32 * 1.008 + 1.0, "{urls}: {lines}");
        }
    }
}
