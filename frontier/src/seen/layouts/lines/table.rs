//! One table of lines: where each slot is, the overflow for slots whose four lines are full, and how many slots there are of each age.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use std::collections::BTreeSet;

use fearless_simd::Simd;

use super::line::{self, Geometry, MANY};
use crate::seen::layouts::cache_lines::{CacheLine, CacheLines};
use crate::seen::layouts::window::prefetch;
use crate::seen::statistics::GenerationStatistics;

/// The lines of one table, and the slots that found no room in them.
///
/// These rules always hold. They are restored when a snapshot is [read](LineTable::recount), or the snapshot is refused:
///
/// - A slot of home `h` is in line `h + d` for a `d` of [`LINES_ON`], with its index as the slot's distance, or in the overflow.
/// - `displaced` of line `h` is how many slots of home `h` are elsewhere. Once it is [`MANY`], it never changes.
/// - The taken slots of a line are its first `count`.
#[derive(Debug)]
pub(in crate::seen) struct LineTable {
    pub(super) geometry: Geometry,
    /// A few more lines than homes, for the slots displaced from the last ones.
    lines: CacheLines,
    /// How many lines may be homes: the first ones.
    pub(in crate::seen) homes: usize,
    /// Slots that found four lines full, with their homes.
    overflow: BTreeSet<(usize, u64)>,
    /// All slots, including the overflow, by their age.
    pub(super) generations: Generations,
}

/// How many lines from its home a slot of each of the four distances is. Full lines come in rows, since neighbors fill each other; the
/// farthest line is beyond most of these rows.
const LINES_ON: [usize; 4] = [0, 1, 4, 13];
/// Lines after the last home.
const SPARE: usize = LINES_ON[3];

/// Where a slot is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spot {
    InLine { distance: usize, place: u32 },
    InOverflow { slot: u64 },
}

impl LineTable {
    /// An empty table, of zeros: the operating system gives the memory when a line is first written to.
    pub(in crate::seen) fn new(geometry: Geometry, homes: usize) -> Self {
        Self::with(geometry, homes, CacheLines::zeroed(homes + SPARE))
    }

    /// The same, as the target of a split: in small pages, since no insertion should wait until a huge page is zeroed.
    pub(super) fn to_split_into(geometry: Geometry, homes: usize) -> Self {
        Self::with(geometry, homes, CacheLines::to_give_back(homes + SPARE))
    }

    fn with(geometry: Geometry, homes: usize, lines: CacheLines) -> Self {
        Self { geometry, lines, homes, overflow: BTreeSet::new(), generations: Generations::none() }
    }

    /// All lines, including those after the last home.
    #[inline(always)]
    pub(super) fn lines(&self) -> &[CacheLine] {
        self.lines.as_slice()
    }

    /// Prefetches the line in which a search begins.
    #[inline(always)]
    pub(super) fn prefetch(&self, home: usize) {
        prefetch(self.lines.as_slice(), home);
    }

    /// Prefetches the line after a home whose line is already read, if a search goes on to it.
    #[inline(always)]
    pub(super) fn prefetch_beyond(&self, home: usize) {
        let lines = self.lines.as_slice();
        let line = &lines[home];
        let goes_on = line::displaced(line) > 0 || line::count(line) == self.geometry.slots;
        prefetch(lines, home + usize::from(goes_on) * LINES_ON[1]);
    }

    /// The place of a slot with this home that matches `wanted`.
    #[inline(always)]
    pub(super) fn find<S: Simd>(&self, simd: S, home: usize, wanted: u64) -> Option<Spot> {
        let lines = self.lines.as_slice();
        if let Some(place) = line::find(simd, &lines[home], self.geometry, wanted, 0) {
            return Some(Spot::InLine { distance: 0, place });
        }
        let displaced = line::displaced(&lines[home]);
        if displaced == 0 { None } else { self.find_displaced(simd, home, wanted, displaced) }
    }

    /// Continues in the lines that slots were displaced to, and stops when it has met all displaced ones.
    #[inline(always)]
    fn find_displaced<S: Simd>(&self, simd: S, home: usize, wanted: u64, displaced: u64) -> Option<Spot> {
        let mut left = displaced;
        for (distance, on) in LINES_ON.into_iter().enumerate().skip(1) {
            let line = &self.lines.as_slice()[home + on];
            if let Some(place) = line::find(simd, line, self.geometry, wanted, distance) {
                return Some(Spot::InLine { distance, place });
            }
            left = left.saturating_sub(line::at_distance(line, self.geometry, distance).count_ones().into());
            if left == 0 && displaced < MANY {
                return None;
            }
        }
        self.find_in_overflow(home, wanted)
    }

    /// Called only if four lines are full. O(log of the overflow).
    #[cold]
    fn find_in_overflow(&self, home: usize, wanted: u64) -> Option<Spot> {
        let mut slots = self.overflow.range((home, 0)..(home + 1, 0));
        let found = slots.find(|&&(_, slot)| line::same(slot, wanted));
        found.map(|&(_, slot)| Spot::InOverflow { slot })
    }

    /// The slot at a place that [`find`](Self::find) gave for this home.
    pub(super) fn slot(&self, home: usize, place: Spot) -> u64 {
        match place {
            Spot::InLine { distance, place } => {
                line::slot(&self.lines.as_slice()[home + LINES_ON[distance]], self.geometry, place)
            }
            Spot::InOverflow { slot } => slot,
        }
    }

    /// Puts a slot into its home line, or into the nearest of the others that has room.
    #[inline(always)]
    pub(super) fn put(&mut self, home: usize, slot: u64) {
        self.generations.add(slot);
        let line = &mut self.lines.as_mut_slice()[home];
        if line::count(line) < self.geometry.slots {
            line::push(line, self.geometry, slot, 0);
        } else {
            self.displace(home, slot);
        }
    }

    /// Puts a slot into the first line after its full home that has room, or into the overflow, and counts it as displaced.
    #[inline(never)]
    fn displace(&mut self, home: usize, slot: u64) {
        let lines = self.lines.as_mut_slice();
        let displaced = line::displaced(&lines[home]);
        line::set_displaced(&mut lines[home], (displaced + 1).min(MANY));
        for (distance, on) in LINES_ON.into_iter().enumerate().skip(1) {
            let line = &mut lines[home + on];
            if line::count(line) < self.geometry.slots {
                return line::push(line, self.geometry, slot, distance);
            }
        }
        self.overflow.insert((home, slot));
    }

    /// Takes out a slot that was found. The line's last slot moves to its place, so places that were found before are invalid.
    pub(super) fn take(&mut self, home: usize, place: Spot) {
        let slot = self.slot(home, place);
        let lines = self.lines.as_mut_slice();
        match place {
            Spot::InLine { distance, place } => {
                line::remove(&mut lines[home + LINES_ON[distance]], self.geometry, place);
            }
            Spot::InOverflow { slot } => {
                self.overflow.remove(&(home, slot));
            }
        }
        self.generations.take(slot);
        let displaced = line::displaced(&lines[home]);
        if !matches!(place, Spot::InLine { distance: 0, .. }) && displaced < MANY {
            line::set_displaced(&mut lines[home], displaced - 1);
        }
    }

    /// Takes out all slots of a home and shows them to `each`. For splitting: afterwards the home is empty, and its line may still have
    /// slots of homes before it.
    pub(super) fn take_all(&mut self, home: usize, mut each: impl FnMut(u64)) {
        let displaced = line::displaced(&self.lines.as_slice()[home]);
        let lines_on = if displaced == 0 { &LINES_ON[..1] } else { &LINES_ON };
        for (distance, on) in lines_on.iter().enumerate() {
            let line = &mut self.lines.as_mut_slice()[home + on];
            let mut slots = line::at_distance(line, self.geometry, distance);
            // The last place first: the slot that moves there is one that stays.
            while slots != 0 {
                let place = slots.ilog2();
                let slot = line::slot(line, self.geometry, place);
                line::remove(line, self.geometry, place);
                self.generations.take(slot);
                each(slot);
                slots ^= 1 << place;
            }
        }
        if displaced > 0 {
            line::set_displaced(&mut self.lines.as_mut_slice()[home], 0);
            while let Some(&(of, slot)) = self.overflow.range((home, 0)..(home + 1, 0)).next() {
                self.overflow.remove(&(of, slot));
                self.generations.take(slot);
                each(slot);
            }
        }
    }

    /// All slots, with their homes: the lines first, then the overflow. The slots of one home do not come together.
    pub(super) fn slots(&self) -> impl Iterator<Item = (usize, u64)> {
        let geometry = self.geometry;
        let of_line = move |(at, line): (usize, &CacheLine)| {
            let line = *line;
            (0..line::count(&line)).map(move |place| {
                (at - LINES_ON[line::distance(&line, geometry, place)], line::slot(&line, geometry, place))
            })
        };
        self.lines.as_slice().iter().enumerate().flat_map(of_line).chain(self.overflow.iter().copied())
    }

    /// Gives back the memory of the lines that no home below this one needs. The field `homes` is unchanged, since it decides which home a
    /// fingerprint has.
    pub(super) fn truncate(&mut self, homes: usize) {
        self.lines.truncate(homes + SPARE);
    }

    /// The lines, word by word, including those after the last home.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        self.lines.as_slice().as_flattened()
    }

    /// The slots in the overflow, with their homes, in order.
    pub(in crate::seen) fn overflow(&self) -> &BTreeSet<(usize, u64)> {
        &self.overflow
    }

    /// The same, to be filled from a snapshot; [`recount`](Self::recount) must follow.
    pub(in crate::seen) fn words_mut(&mut self) -> &mut [u64] {
        self.lines.as_mut_slice().as_flattened_mut()
    }

    /// Counts the slots that were written into the words from elsewhere, and takes those of the overflow. All must have homes below `most`.
    ///
    /// # Errors
    /// If a line has more slots than there is room for, or a slot has no home, no mark or too many bits. A checksum only says that a file
    /// is as it was written.
    pub(in crate::seen) fn recount(
        &mut self,
        overflow: impl IntoIterator<Item = (usize, u64)>,
        most: usize,
    ) -> Result<(), &'static str> {
        const IMPOSSIBLE: &str = "an impossible slot";
        let geometry = self.geometry;
        let mut displaced = vec![0_u8; most];
        let mut note = |generations: &mut Generations, home: usize, slot: u64, is_displaced: bool| {
            if home >= most || slot == 0 || slot > 2 * geometry.spent() - 1 {
                return Err(IMPOSSIBLE);
            }
            generations.add(slot);
            displaced[home] = displaced[home].saturating_add(u8::from(is_displaced));
            Ok(())
        };
        for (at, line) in self.lines.as_slice().iter().enumerate() {
            if line::count(line) > geometry.slots {
                return Err(IMPOSSIBLE);
            }
            for place in 0..line::count(line) {
                let distance = line::distance(line, geometry, place);
                let home = at.checked_sub(LINES_ON[distance]).ok_or(IMPOSSIBLE)?;
                note(&mut self.generations, home, line::slot(line, geometry, place), distance > 0)?;
            }
        }
        for (home, slot) in overflow {
            note(&mut self.generations, home, slot, true)?;
            self.overflow.insert((home, slot));
        }
        let lines = self.lines.as_mut_slice();
        for (line, displaced) in lines.iter_mut().zip(displaced) {
            // After the count has reached `MANY`, any number may be left.
            let counted = if line::displaced(line) == MANY { MANY } else { u64::from(displaced).min(MANY) };
            line::set_displaced(line, counted);
        }
        Ok(())
    }

    /// Bytes of memory allocated for the lines, and an estimate for the overflow.
    pub(super) fn bytes(&self) -> usize {
        // The nodes of the ordered set are about two thirds full.
        self.lines.bytes() + self.overflow.len() * size_of::<(usize, u64)>() * 3 / 2
    }
}

/// How many slots there are of each age. A slot's age is the number of its spent identity bits: one for each doubling since it was
/// inserted, or more if it came from another table. The counts are updated with each change of a slot, since counting all lines would read
/// the whole table.
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

    /// The slots of both tables, as they will be when all lines of the old one are split.
    pub(super) fn with_old(mut self, old: &Self) -> Self {
        for (ours, theirs) in self.by_age[1..].iter_mut().zip(old.by_age) {
            *ours += theirs;
        }
        self
    }

    /// Each generation with slots, the oldest first, and the share of all fingerprints that one of its slots covers. No slot covers less
    /// than one fingerprint: `shard_bits` of its 64 bits are the shard's.
    pub(super) fn statistics(&self, geometry: Geometry, lines: usize, shard_bits: u32) -> Vec<GenerationStatistics> {
        let one_fingerprint = 2_f64.powi(shard_bits.cast_signed() - 64);
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
