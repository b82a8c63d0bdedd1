//! One line of the quotient layout: its header, its slots, and the search and insertion of an item.
//!
//! A line is *well formed* if its header has at most as many ones as there are slots, each in a bucket that exists, the slots of a bucket
//! ascend, and all other bits are 0. The functions here keep a line well formed, and need it to be.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use std::ops::RangeInclusive;

use fearless_simd::Simd;

use crate::seen::layouts::cache_lines::CacheLine;

/// How a line is divided. It follows from the bits of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seen) struct Packing {
    /// Bits of a slot.
    pub(in crate::seen) slot_bits: u32,
    /// Slots of a line: as many as fit into seven words.
    pub(in crate::seen) slots: u32,
    /// Buckets of a line. The header has a one for each slot and a zero between buckets; its highest bit is always 0.
    pub(super) buckets: u32,
}

impl Packing {
    /// The fewest and the most bits of a slot.
    pub(in crate::seen) const BITS: RangeInclusive<u32> = 8..=40;

    pub(in crate::seen) const fn of(slot_bits: u32) -> Self {
        let slots = 448 / slot_bits;
        Self { slot_bits, slots, buckets: 64 - slots }
    }

    /// The item for a place within a line, which is given as a share of 2^64. Items are in the order of places.
    #[inline(always)]
    pub(super) fn item(self, place: u64) -> u64 {
        let place = u128::from(place) * u128::from(self.buckets);
        #[expect(clippy::cast_possible_truncation, reason = "below 64, and the bits after it")]
        let item = (place >> (u64::BITS - self.slot_bits)) as u64;
        item
    }

    /// The bucket of an item.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "below 64")]
    fn bucket(self, item: u64) -> u32 {
        (item >> self.slot_bits) as u32
    }

    /// The slot of an item.
    #[inline(always)]
    fn slot(self, item: u64) -> u64 {
        item & low(self.slot_bits)
    }

    /// Slots that are compared at once: as many as fit into a word.
    #[inline(always)]
    const fn at_once(self) -> u32 {
        u64::BITS / self.slot_bits
    }

    /// The bits of the first of these slots.
    #[inline(always)]
    fn first(self, slots: u32) -> u64 {
        let bits = slots * self.slot_bits;
        // If the slots that are compared at once do not fill a word, this saves a comparison.
        if self.at_once() * self.slot_bits < u64::BITS { (1 << bits) - 1 } else { low(bits) }
    }

    /// A word with a one as the lowest bit of each of these slots.
    #[inline(always)]
    const fn ones(self) -> u64 {
        let (mut ones, mut slot) = (0, 0);
        while slot < self.at_once() {
            ones |= 1 << (slot * self.slot_bits);
            slot += 1;
        }
        ones
    }
}

/// The lowest `bits` bits, at most 64.
#[inline(always)]
fn low(bits: u32) -> u64 {
    if bits < u64::BITS { (1 << bits) - 1 } else { u64::MAX }
}

/// Where an item is in a line, or where it would be inserted.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotPlace {
    /// Whether it is there.
    pub(super) found: bool,
    /// The number of slots before it.
    place: u32,
    /// The bit of the header that is its own.
    bit: u32,
}

/// Searches for an item. There is no branch on what the line holds, unless a bucket has more slots than are compared at once.
#[inline(always)]
pub(super) fn seek<S: Simd>(simd: S, line: &CacheLine, packing: Packing, item: u64) -> SlotPlace {
    let bucket = packing.bucket(item);
    let begin = select(simd, !(line[0] << 1), bucket);
    let mut left = (line[0] >> begin).trailing_ones();
    let mut place = begin - bucket;
    let wanted = packing.slot(item).wrapping_mul(packing.ones());
    loop {
        let these = left.min(packing.at_once());
        let (equal, less) = compare(packing, window(line, place * packing.slot_bits), wanted);
        let within = packing.first(these);
        let (found, before) = (equal & within != 0, (less & within).count_ones());
        place += before;
        left -= these;
        // Slots ascend, so the search ends at the first that is not less.
        if left == 0 || before < these {
            return SlotPlace { found, place, bit: place + bucket };
        }
    }
}

/// Whether an item is there: as [`seek`], without its place.
#[inline(always)]
pub(super) fn has<S: Simd>(simd: S, line: &CacheLine, packing: Packing, item: u64) -> bool {
    let bucket = packing.bucket(item);
    let begin = select(simd, !(line[0] << 1), bucket);
    let slots = (line[0] >> begin).trailing_ones();
    if slots > packing.at_once() {
        return seek(simd, line, packing, item).found;
    }
    let wanted = packing.slot(item).wrapping_mul(packing.ones());
    let (equal, _) = compare(packing, window(line, (begin - bucket) * packing.slot_bits), wanted);
    equal & packing.first(slots) != 0
}

/// For each slot of a window, in its highest bit: whether it is `wanted`'s, and whether it is less.
#[inline(always)]
fn compare(packing: Packing, slots: u64, wanted: u64) -> (u64, u64) {
    let top = packing.ones() << (packing.slot_bits - 1);
    let rest = low(packing.at_once() * packing.slot_bits) & !top;
    let differ = slots ^ wanted;
    // The sum carries into a slot's highest bit if any bit below differs.
    let equal = !(((differ & rest) + rest) | differ) & top;
    // The difference borrows from a slot's highest bit if the bits below are less than the wanted ones.
    let lent = !((slots | top) & (rest | top)).wrapping_sub(wanted & rest);
    let less = (!slots & wanted | !differ & lent) & top;
    (equal, less)
}

/// Whether all slots are taken.
#[inline(always)]
pub(super) fn is_full(line: &CacheLine, packing: Packing) -> bool {
    line[0].count_ones() == packing.slots
}

/// The last item of a full line.
#[inline(always)]
pub(super) fn last(line: &CacheLine, packing: Packing) -> u64 {
    let place = packing.slots - 1;
    let bucket = u64::from(u64::BITS - 1 - line[0].leading_zeros() - place);
    bucket << packing.slot_bits | window(line, place * packing.slot_bits) & low(packing.slot_bits)
}

/// Removes the last item of a full line.
#[inline(always)]
pub(super) fn remove_last(line: &mut CacheLine, packing: Packing) {
    line[0] &= low(u64::BITS - 1 - line[0].leading_zeros());
    overwrite(line, packing, packing.slots - 1, 0);
}

/// Inserts an item that is not there, into a line with room.
#[inline(always)]
pub(super) fn insert(line: &mut CacheLine, packing: Packing, spot: SlotPlace, item: u64) {
    let below = low(spot.bit);
    line[0] = line[0] & below | 1 << spot.bit | (line[0] & !below) << 1;
    let from = spot.place * packing.slot_bits;
    for number in (0..7_u32).rev() {
        let (word, below) = (number as usize + 1, low(from.saturating_sub(number * u64::BITS)));
        let before = if word == 1 { 0 } else { line[word - 1] };
        let moved = line[word] << packing.slot_bits | before >> (u64::BITS - packing.slot_bits);
        line[word] = line[word] & below | moved & !below;
    }
    overwrite(line, packing, spot.place, packing.slot(item));
}

/// Overwrites one slot.
#[inline(always)]
fn overwrite(line: &mut CacheLine, packing: Packing, place: u32, slot: u64) {
    let (word, shift) = word_of(place * packing.slot_bits);
    let (mask, next) = (low(packing.slot_bits), (word + 1) % line.len());
    line[word] = line[word] & !(mask << shift) | slot << shift;
    // In two steps, since a shift by 64 bits is not defined. A slot that ends with its word changes nothing in the next.
    let beyond = |bits: u64| bits >> 1 >> (u64::BITS - 1 - shift);
    line[next] = line[next] & !beyond(mask) | beyond(slot);
}

/// 64 bits from a bit of the slots on. Those after the last word have no meaning.
#[inline(always)]
fn window(line: &CacheLine, bit: u32) -> u64 {
    let (word, shift) = word_of(bit);
    line[word] >> shift | line[(word + 1) % line.len()] << 1 << (u64::BITS - 1 - shift)
}

/// The word of a bit of the slots, and its place there. `% 8` saves a bounds check, and changes no bit that counts.
#[inline(always)]
fn word_of(bit: u32) -> (usize, u32) {
    ((1 + bit / u64::BITS) as usize % 8, bit % u64::BITS)
}

/// The items of a line, ascending.
pub(super) fn items(line: &CacheLine, packing: Packing) -> impl Iterator<Item = u64> + use<> {
    let (line, mut header) = (*line, line[0]);
    (0..line[0].count_ones()).map(move |place| {
        let bit = header.trailing_zeros();
        header &= header - 1;
        u64::from(bit - place) << packing.slot_bits | window(&line, place * packing.slot_bits) & low(packing.slot_bits)
    })
}

/// Whether a line that was read from elsewhere is well formed.
pub(super) fn is_well_formed(line: &CacheLine, packing: Packing) -> bool {
    let count = line[0].count_ones();
    let buckets = if count == 0 { 0 } else { u64::BITS - line[0].leading_zeros() - count };
    let clear = |bit: u32| bit >= 448 || window(line, bit) & low((448 - bit).min(u64::BITS)) == 0;
    count <= packing.slots
        && buckets < packing.buckets
        && (0..7).all(|word| clear((count * packing.slot_bits).max(word * u64::BITS)))
        && items(line, packing).is_sorted_by(|one, next| one < next)
}

/// The place in the word of its one-bit with this number, counted from 0. The word has more one-bits than `number`.
#[inline(always)]
fn select<S: Simd>(simd: S, word: u64, number: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = simd.level().as_avx2() {
        return deposit(avx2, 1 << number, word).trailing_zeros();
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = simd;
    select_by_sums(word, number)
}

#[cfg(target_arch = "x86_64")]
fearless_simd::kernel!(
    /// The bits of a number, at the places of a mask's ones.
    #[inline]
    fn deposit(avx2: Avx2, bits: u64, mask: u64) -> u64 {
        std::arch::x86_64::_pdep_u64(bits, mask)
    }
);

/// [`select`] on processors without an instruction for it, by sums over bytes (Vigna 2008, "Broadword implementation of rank/select
/// queries").
#[inline(always)]
fn select_by_sums(word: u64, number: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = ONES << 7;
    // How many of these bytes, in which sums ascend, are at most `number`.
    let at_most = |sums: u64, number: u64| ((((number * ONES) | TOPS) - sums) & TOPS).count_ones();
    let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    let sums = ((fours + (fours >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(ONES);
    let byte = at_most(sums, number.into()) * 8;
    let left = u64::from(number) - (sums << 8 >> byte & 0xff);
    // Each bit of the byte in a byte of its own.
    let bits = ((word >> byte & 0xff).wrapping_mul(ONES) & 0x8040_2010_0804_0201) + (TOPS - ONES);
    byte + at_most((bits >> 7 & ONES).wrapping_mul(ONES), left)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fearless_simd::{Level, dispatch};

    use super::*;

    fn mix(count: u64) -> u64 {
        let bits = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn each_one_is_selected() {
        for count in 0..2000 {
            let word = (mix(count) & mix(count + 1)) | if count % 3 == 0 { mix(!count) } else { 1 << 63 };
            let ones: Vec<_> = (0..64).filter(|place| word >> place & 1 == 1).collect();
            for (number, &place) in (0..).zip(&ones) {
                assert_eq!(select_by_sums(word, number), place, "{word:x}, {number}");
                assert_eq!(dispatch!(Level::new(), simd => select(simd, word, number)), place);
            }
        }
        assert_eq!(select_by_sums(u64::MAX, 63), 63);
    }

    /// A line beside an ordered set that gives way as it does, for each width, and items that crowd into few buckets, too.
    #[test]
    fn a_line_has_its_smallest_items_in_order() {
        for packing in Packing::BITS.map(Packing::of) {
            for crowd in [1, 8, 64] {
                let (mut line, mut plain, mut model) = ([0; 8], [0; 8], BTreeSet::new());
                for count in 0..300_u64 {
                    let item = packing.item(mix(count / 2 * 7 + u64::from(packing.slot_bits)) / crowd);
                    assert!(packing.bucket(item) < packing.buckets);
                    for (level, line) in [(Level::new(), &mut line), (Level::baseline(), &mut plain)] {
                        let spot = dispatch!(level, simd => seek(simd, line, packing, item));
                        assert_eq!(spot.found, model.contains(&item), "{packing:?}, {item:x}");
                        let full = is_full(line, packing);
                        assert_eq!(full, model.len() == packing.slots as usize);
                        if full {
                            assert_eq!(Some(&last(line, packing)), model.last());
                        }
                        if spot.found || full && item > last(line, packing) {
                            continue;
                        }
                        if full {
                            remove_last(line, packing);
                        }
                        insert(line, packing, spot, item);
                    }
                    model.insert(item);
                    if model.len() > packing.slots as usize {
                        model.pop_last();
                    }
                    assert!(items(&line, packing).eq(model.iter().copied()), "{packing:?}");
                    assert!(is_well_formed(&line, packing) && line == plain);
                }
            }
        }
    }

    #[test]
    fn what_is_not_well_formed_is_found() {
        for packing in Packing::BITS.map(Packing::of) {
            let mut line = [0; 8];
            assert!(is_well_formed(&line, packing));
            for count in 0..3 {
                let item = packing.item((count << 62) + (1 << 59));
                let spot = dispatch!(Level::new(), simd => seek(simd, &line, packing, item));
                insert(&mut line, packing, spot, item);
            }
            assert!(is_well_formed(&line, packing));
            let mut bucket_too_many = line;
            bucket_too_many[0] |= 1 << 63;
            let mut slot_too_many = line;
            slot_too_many[7] |= 1 << 63;
            let mut ones_too_many = line;
            ones_too_many[0] = low(packing.slots + 1);
            let mut twice = [0; 8];
            twice[0] = 3;
            for bad in [bucket_too_many, slot_too_many, ones_too_many, twice] {
                assert!(!is_well_formed(&bad, packing), "{packing:?}: {bad:x?}");
            }
        }
    }
}
