//! Slots as ranges of fingerprints, for tables of another size and for other shards.
//!
//! A slot with home `h` and `b` known bits stands for all fingerprints of its shard between two numbers. That range means the same in every
//! table. It goes into the new one as the slot with the most bits that covers all of it; so no seen URL becomes new, and the false
//! positives grow by the bits that are lost.

use super::growing::Lines;
use super::table::LineTable;

/// All fingerprints that a slot stands for, in order, including the last. It is never empty, and lies in one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::seen) struct Range {
    pub(in crate::seen) first: u64,
    pub(in crate::seen) last: u64,
}

/// How many identity bits a slot may lose if its range crosses a border inside a line of the new table. Beyond that it becomes two slots,
/// one on each side.
const MOST_LOST: u32 = 8;

impl Lines {
    /// The slots, for the shard of this number, as ranges of whole fingerprints: the shard's bits come first.
    pub(in crate::seen) fn ranges(&self, shard: usize) -> impl Iterator<Item = Range> {
        let tables = [Some(&self.table), self.next.as_ref().map(|next| &next.table)];
        let in_shard = tables.into_iter().flatten().flat_map(LineTable::ranges);
        let split_bits = self.split_bits();
        // In two steps, since a shift by 64 bits is not defined.
        let leading = (shard as u64) << 1 << (63 - split_bits);
        in_shard.filter_map(move |Range { first, last }| {
            let first = leading | first.div_ceil(1 << split_bits);
            let last = leading | last >> split_bits;
            (first <= last).then_some(Range { first, last })
        })
    }

    /// Keeps a range that lies in this shard. If it crosses a border of lines, it is split into two ranges, and these in turn: a few slots
    /// at most, since it is hardly longer than a line's.
    pub(in crate::seen) fn insert_range(&mut self, range: Range) {
        let Range { first, last } = range;
        let homes = self.table.homes as u128;
        let at = |bits: u64| u128::from(bits << self.split_bits()) * homes;
        let (from, to) = (at(first), at(last));
        // Bits that all of the range have in common, after the home.
        let common = (from ^ to).leading_zeros().saturating_sub(u64::BITS);
        let is_one_home = from >> u64::BITS == to >> u64::BITS;
        // The bits that they would have in common if it began at a multiple of its length.
        let most = (to - from).leading_zeros().saturating_sub(u64::BITS);
        let lost = most.saturating_sub(common);
        if first < last && (!is_one_home || common < self.geometry().identity_bits && lost > MOST_LOST) {
            // The border is where the first bit differs.
            let differs = (from ^ to).ilog2();
            let border = to >> differs << differs;
            let bits = u64::try_from(border.div_ceil(homes)).unwrap_or(u64::MAX).div_ceil(1 << self.split_bits());
            let second = (first & !(u64::MAX >> self.split_bits())) | bits;
            if first < second && second <= last {
                self.insert_range(Range { first, last: second - 1 });
                self.insert_range(Range { first: second, last });
                return;
            }
        }
        let home = usize::try_from(from >> u64::BITS).expect("below the number of homes");
        #[expect(clippy::cast_possible_truncation, reason = "what follows the home")]
        self.insert_part(home, from as u64, common);
    }
}

impl LineTable {
    /// The ranges of all slots, as the 64 bits after the shard's.
    fn ranges(&self) -> impl Iterator<Item = Range> {
        self.slots().filter_map(|(home, slot)| {
            let known = self.geometry.identity_bits - slot.trailing_zeros();
            let identity = u128::from(slot >> 1 >> slot.trailing_zeros());
            let homes = self.homes as u128;
            let from = (home as u128) << u64::BITS | identity << (u64::BITS - known);
            let to = from + (1 << (u64::BITS - known));
            let (first, last) = (from.div_ceil(homes), to.div_ceil(homes) - 1);
            let [first, last] = [first, last].map(|bits| u64::try_from(bits).unwrap_or(u64::MAX));
            (first <= last).then_some(Range { first, last })
        })
    }
}
