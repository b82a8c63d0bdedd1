//! How many slots there are of each length, and which share of new URLs they take for seen.

use super::geometry::Geometry;
use crate::seen::statistics::GenerationStatistics;

/// Slots by their age: the number of their spent identity bits, one for each doubling since they were inserted, or more for a slot that
/// came from another table. The counts are updated with each change of a slot, since counting all lines would read the whole table.
#[derive(Clone, Debug)]
pub(in crate::seen) struct Generations {
    by_age: [u64; Self::MAX],
}

impl Generations {
    /// More than any slot has bits.
    const MAX: usize = 64;

    pub(super) fn none() -> Self {
        Self { by_age: [0; Self::MAX] }
    }

    /// Counts a slot. Its age is the number of zeros after its mark.
    #[inline]
    pub(super) fn add(&mut self, slot: u64) {
        self.by_age[slot.trailing_zeros() as usize % Self::MAX] += 1;
    }

    /// Stops counting a slot.
    #[inline]
    pub(super) fn take(&mut self, slot: u64) {
        self.by_age[slot.trailing_zeros() as usize % Self::MAX] -= 1;
    }

    /// All slots.
    pub(super) fn total(&self) -> u64 {
        self.by_age.iter().sum()
    }

    /// The slots of both tables, as if all lines of the old one were split.
    pub(super) fn with_old(mut self, old: &Self) -> Self {
        for (ours, theirs) in self.by_age[1..].iter_mut().zip(old.by_age) {
            *ours += theirs;
        }
        self
    }

    /// Each generation with slots, the oldest first, and the share of all fingerprints that one of its slots covers. No slot covers less
    /// than one fingerprint: `split_bits` of its 64 bits are the shard's.
    pub(super) fn statistics(&self, geometry: Geometry, lines: usize, split_bits: u32) -> Vec<GenerationStatistics> {
        let one_fingerprint = 2_f64.powi(split_bits.cast_signed() - 64);
        let each = (0..=geometry.identity_bits).rev().map(|age| {
            let identity_bits = geometry.identity_bits - age;
            let covers = 2_f64.powi(-identity_bits.cast_signed()) / lines as f64;
            let urls = self.by_age[age as usize];
            GenerationStatistics { identity_bits, urls, covers: covers.max(one_fingerprint) }
        });
        each.filter(|generation| generation.urls > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slot_covers_is_not_changed_by_splitting() {
        let geometry = Geometry::of(38);
        let mut old = Generations::none();
        for slot in [1, 1, 2] {
            old.add(slot);
        }
        let before = old.statistics(geometry, 100, 4);
        let after = Generations::none().with_old(&old).statistics(geometry, 200, 4);
        let bits_and_urls = |rows: &[GenerationStatistics]| {
            rows.iter().map(|row| (row.identity_bits, row.urls, row.covers.to_bits())).collect::<Vec<_>>()
        };
        let less = |(bits, urls, covers)| (bits - 1, urls, covers);
        assert_eq!(bits_and_urls(&after), bits_and_urls(&before).into_iter().map(less).collect::<Vec<_>>());
        assert_eq!((old.total(), before[0].urls, before[0].identity_bits), (3, 1, 37));
    }
}
