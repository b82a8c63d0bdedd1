//! One line of the exact layout: how its 512 bits are spent, its slots, which are compared at once, and its header.
//!
//! ```text
//! bits from 0 on:   16 of slot 0 | 16 of slot 1 | ... | the rest of slot 0 | the rest of slot 1 | ... | free
//! word 7, from its top bit down:  displaced, 5 | count, 5 | distances, high bits | distances, low bits
//! ```
//!
//! The functions here check nothing: places must be below `count`, and `count` at most `geometry.slots`. The table ensures that. None of
//! them allocates or reads another line.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use fearless_simd::prelude::*;
use fearless_simd::{Simd, u16x16, u64x4};

use crate::seen::layouts::cache_lines::CacheLine;
use crate::seen::probes::LINE_BITS;

/// Bits of a slot that are in the first array, where all slots are compared at once.
pub(super) const TAG_BITS: u32 = 16;
/// Bits of a slot's distance from home, 0 to 3.
const DISTANCE_BITS: u32 = 2;
/// Bits of the count of taken slots, and of the count of displaced slots.
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

    /// Lines with room for `urls` fingerprints. Above 256 lines, their number is rounded up to a multiple of a power of two, so that they
    /// can be distributed among more shards. This adds less than 1 %.
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

    /// A slot whose identity bits are all spent: only its mark is left, as the highest bit.
    pub(super) fn spent(self) -> u64 {
        1 << self.identity_bits
    }
}

/// The word with the header: from the top, the number displaced, the count, and two planes of distances.
const HEADER: usize = 7;
const DISPLACED_SHIFT: u32 = u64::BITS - COUNT_BITS;
const COUNT_SHIFT: u32 = DISPLACED_SHIFT - COUNT_BITS;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// From this number on, displaced slots are no longer counted.
pub(super) const MANY: u64 = COUNT_MASK;

/// A set of slots of a line: a bit for each place.
pub(super) type Slots = u32;

/// Whether a slot's identity bits, as many as are left, are those of a fingerprint. `wanted` is the fingerprint's slot with all identity
/// bits.
///
/// `slot ^ (slot - 1)` are the mark and the zeros after it: these are no identity.
#[inline(always)]
pub(super) fn same(slot: u64, wanted: u64) -> bool {
    (slot ^ wanted) & !(slot ^ slot.wrapping_sub(1)) == 0
}

/// How many slots are taken. They are the first ones.
#[inline(always)]
pub(super) fn count(line: &CacheLine) -> u32 {
    (line[HEADER] >> COUNT_SHIFT & COUNT_MASK) as u32
}

/// How many fingerprints of this home were displaced from this line; [`MANY`] means that many or more.
#[inline(always)]
pub(super) fn displaced(line: &CacheLine) -> u64 {
    line[HEADER] >> DISPLACED_SHIFT
}

/// Sets [`displaced`]; at most [`MANY`].
pub(super) fn set_displaced(line: &mut CacheLine, displaced: u64) {
    line[HEADER] = line[HEADER] & !(COUNT_MASK << DISPLACED_SHIFT) | displaced << DISPLACED_SHIFT;
}

/// Sets [`count`]. Slots from this place on keep their bits, which are never read.
fn set_count(line: &mut CacheLine, count: u32) {
    line[HEADER] = line[HEADER] & !(COUNT_MASK << COUNT_SHIFT) | u64::from(count) << COUNT_SHIFT;
}

/// The taken slots at this distance from home.
#[inline(always)]
pub(super) fn at_distance(line: &CacheLine, geometry: Geometry, distance: usize) -> Slots {
    let planes = line[HEADER] >> (COUNT_SHIFT - 2 * geometry.slots);
    let (low, high) = (planes, planes >> geometry.slots);
    let wrong = (low ^ spread(distance)) | (high ^ spread(distance >> 1));
    #[expect(clippy::cast_possible_truncation, reason = "at most 26 slots")]
    let right = !wrong as u32;
    right & ((1 << count(line)) - 1)
}

/// The number's lowest bit in all 64 places, to compare one plane of distances for all slots at once.
#[inline(always)]
fn spread(number: usize) -> u64 {
    (number as u64 & 1).wrapping_neg()
}

/// The slots that may match `wanted`, by their tags. They may include places beyond the slots: the caller masks these out.
#[inline(always)]
fn candidates<S: Simd>(simd: S, line: &CacheLine, geometry: Geometry, wanted: u64) -> Slots {
    let first = candidates_of_half(simd, &line[..4], wanted);
    if geometry.slots <= 16 { first } else { first | candidates_of_half(simd, &line[4..], wanted) << 16 }
}

/// [`same`], for the 16 tags of half a line. A tag of zero is always a candidate, since its slot's mark is among the other bits.
#[inline(always)]
fn candidates_of_half<S: Simd>(simd: S, words: &[u64], wanted: u64) -> Slots {
    #[expect(clippy::cast_possible_truncation, reason = "the tag is wanted")]
    let wanted = u16x16::splat(simd, wanted as u16);
    let tags: u16x16<S> = u64x4::from_slice(simd, words).bitcast();
    let identity = !(tags ^ (tags - u16x16::splat(simd, 1)));
    #[expect(clippy::cast_possible_truncation, reason = "sixteen tags")]
    let candidates = ((tags ^ wanted) & identity).simd_eq(0).to_bitmask() as u32;
    candidates
}

/// The place of a slot that matches `wanted`, at this distance from home.
#[inline(always)]
pub(super) fn find<S: Simd>(
    simd: S,
    line: &CacheLine,
    geometry: Geometry,
    wanted: u64,
    distance: usize,
) -> Option<u32> {
    let mut candidates = candidates(simd, line, geometry, wanted) & at_distance(line, geometry, distance);
    while candidates != 0 {
        let place = candidates.trailing_zeros();
        if same(slot(line, geometry, place), wanted) {
            return Some(place);
        }
        candidates &= candidates - 1;
    }
    None
}

/// Whether the first slot of this home with the tag of `wanted` matches it. There is no branch. If another slot has the same tag, which
/// happens one time in thousands, the answer may be no for a fingerprint that is there.
#[inline(always)]
#[expect(clippy::needless_bitwise_bool, reason = "a branch would be guessed wrong")]
pub(super) fn is_first<S: Simd>(simd: S, line: &CacheLine, geometry: Geometry, wanted: u64) -> bool {
    let candidates = candidates(simd, line, geometry, wanted) & at_distance(line, geometry, 0);
    // If there is no candidate, this is place 0, and the bits read there do not count.
    let place = candidates.trailing_zeros() % Slots::BITS;
    same(slot(line, geometry, place), wanted) & (candidates != 0)
}

/// A slot, both parts of it.
#[inline(always)]
pub(super) fn slot(line: &CacheLine, geometry: Geometry, place: u32) -> u64 {
    let rest = rest_at(geometry, place);
    get(line, rest, geometry.rest_bits()) << TAG_BITS | get(line, place * TAG_BITS, TAG_BITS)
}

/// Adds a slot after the others, in a line that has room.
#[inline(always)]
pub(super) fn push(line: &mut CacheLine, geometry: Geometry, slot: u64, distance: usize) {
    let place = count(line);
    write(line, geometry, place, slot, distance);
    line[HEADER] += 1 << COUNT_SHIFT;
}

/// Takes a slot out; the last one moves to its place, with its own distance.
pub(super) fn remove(line: &mut CacheLine, geometry: Geometry, place: u32) {
    let last = count(line) - 1;
    if place != last {
        let moved = slot(line, geometry, last);
        write(line, geometry, place, moved, distance(line, geometry, last));
    }
    set_count(line, last);
}

/// A slot's distance from home, 0 to 3.
#[inline]
pub(super) fn distance(line: &CacheLine, geometry: Geometry, place: u32) -> usize {
    let planes = line[HEADER] >> (COUNT_SHIFT - 2 * geometry.slots + place);
    #[expect(clippy::cast_possible_truncation, reason = "two bits")]
    let distance = (planes & 1 | (planes >> geometry.slots & 1) << 1) as usize;
    distance
}

/// Overwrites a slot and its distance.
#[inline(always)]
fn write(line: &mut CacheLine, geometry: Geometry, place: u32, slot: u64, distance: usize) {
    put(line, place * TAG_BITS, TAG_BITS, slot & 0xffff);
    put(line, rest_at(geometry, place), geometry.rest_bits(), slot >> TAG_BITS);
    let low = COUNT_SHIFT - 2 * geometry.slots + place;
    let high = low + geometry.slots;
    let (distance, cleared) = (distance as u64, line[HEADER] & !(1 << low | 1 << high));
    line[HEADER] = cleared | (distance & 1) << low | (distance >> 1) << high;
}

/// The first of a slot's bits that are not its tag.
#[inline(always)]
fn rest_at(geometry: Geometry, place: u32) -> u32 {
    geometry.slots * TAG_BITS + place * geometry.rest_bits()
}

/// The word of a bit, and its place there. A remainder changes no value, and saves a bounds check.
#[inline(always)]
fn word_of(bit: u32) -> (usize, u32) {
    ((bit / u64::BITS) as usize % HEADER.next_power_of_two(), bit % u64::BITS)
}

/// `bits` bits from bit `at` on.
#[inline(always)]
fn get(line: &CacheLine, at: u32, bits: u32) -> u64 {
    let (word, shift) = word_of(at);
    // In two steps, since a shift by 64 bits is not defined.
    let next = line[(word + 1) % line.len()] << 1 << (u64::BITS - 1 - shift);
    (line[word] >> shift | next) & ((1 << bits) - 1)
}

/// Overwrites `bits` bits from bit `at` on.
#[inline(always)]
fn put(line: &mut CacheLine, at: u32, bits: u32, value: u64) {
    let (word, shift) = word_of(at);
    let mask = (1_u64 << bits) - 1;
    line[word] = line[word] & !(mask << shift) | value << shift;
    if shift + bits > u64::BITS {
        let beyond = u64::BITS - shift;
        line[word + 1] = line[word + 1] & !(mask >> beyond) | value >> beyond;
    }
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};

    use super::*;

    fn random(count: u64) -> u64 {
        let bits = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^ bits >> 31
    }

    /// With any number of bits, all instructions find slots of any age, and only those.
    #[test]
    fn what_was_put_into_a_line_is_there_and_nothing_else() {
        for bits in Geometry::BITS {
            let geometry = Geometry::of(bits);
            let mut from = (0..4_usize).cycle();
            let mut line = [0; 8];
            let mut held: Vec<(u64, usize)> = Vec::new();
            for step in 0..400 {
                let number = random(u64::from(bits) << 32 | step);
                let age = number.leading_zeros() % (bits + 1);
                let place = number.trailing_zeros() % geometry.slots;
                if count(&line) == geometry.slots || step % 3 == 2 && place < count(&line) {
                    let place = place % count(&line);
                    remove(&mut line, geometry, place);
                    held.swap_remove(place as usize);
                } else {
                    let slot = (number & ((1 << bits) - 1)) >> age << (age + 1) | 1 << age;
                    let slot = slot & ((1 << (bits + 1)) - 1);
                    let from = from.next().unwrap();
                    push(&mut line, geometry, slot, from);
                    held.push((slot, from));
                }
                set_displaced(&mut line, step % 32);
                assert_eq!((count(&line) as usize, displaced(&line)), (held.len(), step % 32));
                for (place, &(expected, from)) in (0..).zip(&held) {
                    assert_eq!((slot(&line, geometry, place), distance(&line, geometry, place)), (expected, from));
                }
                for (wanted, from) in held.iter().copied().chain([(random(step + (1 << 50)) & ((1 << bits) - 1), 1)]) {
                    let wanted = wanted | 1;
                    let expected = (0_u32..).zip(&held).find(|(_, (slot, at))| *at == from && same(*slot, wanted));
                    let plain = dispatch!(Level::baseline(), simd => find(simd, &line, geometry, wanted, from));
                    let fast = dispatch!(Level::new(), simd => find(simd, &line, geometry, wanted, from));
                    assert_eq!((plain, fast), (expected.map(|(place, _)| place), plain));
                    let [plain, fast] = [Level::baseline(), Level::new()]
                        .map(|level| dispatch!(level, simd => is_first(simd, &line, geometry, wanted)));
                    assert_eq!(plain, fast);
                    let at_home = expected.filter(|_| from == 0);
                    assert!(at_home.is_some() || !plain, "what is not there is not found");
                    let may_be = |slot: u64| ((slot ^ wanted) & !(slot ^ (slot - 1))).trailing_zeros() >= 16;
                    let is_alone = held.iter().all(|&(slot, _)| slot == wanted || !may_be(slot));
                    assert!(plain || !is_alone || at_home.is_none_or(|(_, (slot, _))| *slot != wanted));
                }
            }
        }
    }

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
