//! The lines of one filter, level after level, and the overflow: the few items that find no place in them.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use std::collections::BTreeSet;

use fearless_simd::{Level, Simd, dispatch};

use super::levels::Levels;
use super::line::{self, Packing};
use crate::seen::layouts::cache_lines::{CacheLine, CacheLines};
use crate::seen::layouts::window::{ProbeWindow, Sighting, Subset, prefetch};
use crate::seen::probes::{LANES, Probes, remix};

/// A filter of quotiented fingerprints.
///
/// These rules always hold:
///
/// - Each line is well formed. It has the smallest of all items that came to it.
/// - Each other item went on to the next level. There, a hash of its line and itself gives its new line and its new item. From the last
///   level it went to the overflow.
#[derive(Debug)]
pub(in crate::seen) struct Quotient {
    levels: Levels,
    /// The lines of all levels, one level after the other.
    lines: CacheLines,
    /// The lines and items that the last level had no room for.
    overflow: BTreeSet<(u64, u64)>,
    /// How many items there are, in all levels and in the overflow.
    items: u64,
}

/// An item, and the line that is its home in a level.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    level: usize,
    /// The line's number among all.
    line: usize,
    item: u64,
}

/// Evaluates an expression with the slot width as a constant if the width is a usual one, and with the constant 0 otherwise: shifts by
/// constants are cheaper, and need no divisions. It is a constant and not a variable, which a closure would read from memory.
macro_rules! constant {
    ($bits:expr, $constant:ident => $answer:expr) => {
        constant!($bits, $constant => $answer; 14 15 16 17 18 20)
    };
    ($bits:expr, $constant:ident => $answer:expr; $($usual:literal)*) => {
        match $bits {
            $($usual => {
                const $constant: u32 = $usual;
                $answer
            })*
            _ => {
                const $constant: u32 = 0;
                $answer
            }
        }
    };
}

impl Quotient {
    /// An empty filter.
    pub(in crate::seen) fn new(levels: Levels) -> Self {
        let lines = usize::try_from(levels.lines.iter().sum::<u64>()).expect("sizes are checked against the memory");
        Self { levels, lines: CacheLines::zeroed(lines), overflow: BTreeSet::new(), items: 0 }
    }

    /// How many items it has. Fingerprints with the same home and item count once.
    pub(in crate::seen) fn len(&self) -> u64 {
        self.items
    }

    /// Memory allocated, in bytes. A node of the ordered set has 11 pairs, and is two thirds full.
    pub(in crate::seen) fn bytes(&self) -> usize {
        self.lines.bytes() + self.overflow.len() * size_of::<(u64, u64)>() * 3 / 2
    }

    /// The lines of the first level.
    #[inline]
    pub(in crate::seen) fn first_level(&self) -> &[CacheLine] {
        &self.lines.as_slice()[..self.homes(0)]
    }

    /// Prefetches the line that a test reads first.
    #[inline]
    pub(in crate::seen) fn prefetch(&self, probes: Probes) {
        prefetch(self.lines.as_slice(), probes.slot(self.homes(0)));
    }

    /// Whether a fingerprint was inserted, or is taken for one that was.
    pub(in crate::seen) fn contains(&self, probes: Probes) -> bool {
        let place = self.place(self.levels.packing, probes);
        constant!(self.slot_bits(), BITS => dispatch!(Level::new(), simd => self.holds::<_, BITS>(simd, place)))
    }

    /// The same test. If the answer is no, the fingerprint is inserted.
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        if self.put_at(self.place(self.levels.packing, probes)) { Sighting::New } else { Sighting::Seen }
    }

    /// [`put`](Self::put), for one item.
    fn put_at(&mut self, place: Place) -> bool {
        constant!(self.slot_bits(), BITS => dispatch!(Level::new(), simd => self.put::<_, BITS>(simd, place)))
    }

    /// The places of a window that it contains, while the memory of the next window is fetched.
    pub(in crate::seen) fn find_window(&self, window: ProbeWindow<'_>) -> Subset {
        constant!(self.slot_bits(), BITS => dispatch!(Level::new(), simd => self.find_each::<_, BITS>(simd, window)))
    }

    /// Inserts the fingerprints of a window that were not `seen` elsewhere, in order, while the memory of the next window is fetched.
    /// Returns the new ones.
    pub(in crate::seen) fn insert_window(&mut self, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        constant!(self.slot_bits(), BITS => dispatch!(Level::new(), simd => self.insert_each::<_, BITS>(simd, window, seen)))
    }

    /// [`find_window`](Self::find_window), with the instructions of `simd`.
    #[inline(always)]
    fn find_each<S: Simd, const BITS: u32>(&self, simd: S, window: ProbeWindow<'_>) -> Subset {
        let mut places = [Place::default(); ProbeWindow::MAX];
        let found = self.find_at_home::<S, BITS>(simd, window, &mut places);
        let missing = window.all_but(found);
        self.prefetch_next::<BITS>(missing, &places);
        let mut later = 0;
        for place in missing.places() {
            later |= u64::from(self.holds::<S, BITS>(simd, places[place])) << place;
        }
        found.or(Subset(later))
    }

    /// [`insert_window`](Self::insert_window), with the instructions of `simd`. An item that is found at home needs nothing more. For the others
    /// it asks for the line of the next level: an item that does not get a place at home is searched for there, and an item that does sends
    /// another one there.
    #[inline(always)]
    fn insert_each<S: Simd, const BITS: u32>(&mut self, simd: S, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        let mut places = [Place::default(); ProbeWindow::MAX];
        let found = self.find_at_home::<S, BITS>(simd, window, &mut places);
        let missing = window.all_but(found.or(seen));
        self.prefetch_next::<BITS>(missing, &places);
        let mut new = 0;
        // A loop and no closure, which would be compiled without the instructions of `simd`.
        for place in missing.places() {
            new |= u64::from(self.put::<S, BITS>(simd, places[place])) << place;
        }
        Subset(new)
    }

    /// The fingerprints of a window whose items are in their home lines; and the places of all.
    #[inline(always)]
    fn find_at_home<S: Simd, const BITS: u32>(
        &self,
        simd: S,
        window: ProbeWindow<'_>,
        places: &mut [Place; ProbeWindow::MAX],
    ) -> Subset {
        let (packing, lines, mut ahead) = (self.packing::<BITS>(), self.lines.as_slice(), window.ahead());
        window.choose(
            #[inline(always)]
            |probes, at| {
                if let Some(ahead) = ahead.next() {
                    self.prefetch(ahead);
                }
                let place = self.place(packing, probes);
                places[at % ProbeWindow::MAX] = place;
                line::has(simd, &lines[place.line], packing, place.item)
            },
        )
    }

    /// Prefetches the second level's lines for places whose home line is full.
    #[inline(always)]
    fn prefetch_next<const BITS: u32>(&self, places: Subset, of: &[Place; ProbeWindow::MAX]) {
        let (packing, lines) = (self.packing::<BITS>(), self.lines.as_slice());
        for mut place in places.places().map(|place| of[place]) {
            let line = &lines[place.line];
            if line::is_full(line, packing) {
                place.item = place.item.max(line::last(line, packing));
                if let Ok(next) = self.next(packing, place) {
                    prefetch(lines, next.line);
                }
            }
        }
    }

    /// Whether an item is at a place, or was sent on from there.
    #[inline(always)]
    fn holds<S: Simd, const BITS: u32>(&self, simd: S, mut place: Place) -> bool {
        let packing = self.packing::<BITS>();
        loop {
            let line = &self.lines.as_slice()[place.line];
            if line::has(simd, line, packing, place.item) {
                return true;
            }
            if !line::is_full(line, packing) || place.item < line::last(line, packing) {
                return false;
            }
            match self.next(packing, place) {
                Ok(next) => place = next,
                Err(pair) => return self.overflow.contains(&pair),
            }
        }
    }

    /// Inserts an item at a place, unless it is there or was sent on from there. Returns whether it is new.
    #[inline(always)]
    fn put<S: Simd, const BITS: u32>(&mut self, simd: S, mut place: Place) -> bool {
        let packing = self.packing::<BITS>();
        // Whether the item has got a place. From then on, the item that goes on is another one.
        let mut has_place = false;
        loop {
            let line = &mut self.lines.as_mut_slice()[place.line];
            let spot = line::seek(simd, line, packing, place.item);
            if spot.found {
                return has_place;
            }
            if !line::is_full(line, packing) {
                line::insert(line, packing, spot, place.item);
                self.items += 1;
                return true;
            }
            let last = line::last(line, packing);
            if place.item < last {
                line::remove_last(line, packing);
                line::insert(line, packing, spot, place.item);
                (place.item, has_place) = (last, true);
            }
            match self.next(packing, place) {
                Ok(next) => place = next,
                Err(pair) => {
                    let is_new = self.overflow.insert(pair);
                    self.items += u64::from(is_new);
                    return has_place | is_new;
                }
            }
        }
    }

    /// The bits of a slot.
    fn slot_bits(&self) -> u32 {
        self.levels.packing.slot_bits
    }

    /// How lines are divided: a constant unless `BITS` is 0.
    #[inline(always)]
    fn packing<const BITS: u32>(&self) -> Packing {
        if BITS == 0 { self.levels.packing } else { Packing::of(BITS) }
    }

    /// A fingerprint's home in the first level, and its item.
    #[inline(always)]
    fn place(&self, packing: Packing, probes: Probes) -> Place {
        let (line, rest) = probes.slot_and_rest(self.homes(0));
        Place { level: 0, line, item: packing.item(rest) }
    }

    /// The place in the next level of an item that is not kept in this one; after the last level, its entry in the overflow.
    #[inline(always)]
    fn next(&self, packing: Packing, place: Place) -> Result<Place, (u64, u64)> {
        let Place { level, line, item } = place;
        if level + 1 == self.levels.lines.len() {
            return Err((line as u64, item));
        }
        let (home, rest) = remix(line as u64, item).slot_and_rest(self.homes(level + 1));
        Ok(Place { level: level + 1, line: self.first_of(level + 1) + home, item: packing.item(rest) })
    }

    /// How many lines a level has.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "they are in memory")]
    fn homes(&self, level: usize) -> usize {
        self.levels.lines[level] as usize
    }

    /// The first line of a level.
    #[inline(always)]
    fn first_of(&self, level: usize) -> usize {
        (0..level).map(|before| self.homes(before)).sum()
    }

    /// All lines, word by word.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        self.lines.as_slice().as_flattened()
    }

    /// The lines and items that no line had room for.
    pub(in crate::seen) fn overflow(&self) -> &BTreeSet<(u64, u64)> {
        &self.overflow
    }

    /// Adds the lines of another filter of the same size, from word `at` on.
    ///
    /// # Errors
    /// If a filter cannot have these lines.
    pub(in crate::seen) fn absorb(&mut self, at: usize, words: &[u64]) -> Result<(), &'static str> {
        let packing = self.levels.packing;
        for (line, theirs) in (at / LANES..).zip(words.as_chunks().0) {
            if !line::is_well_formed(theirs, packing) {
                return Err("an impossible line");
            }
            let ours: &mut CacheLine = &mut self.lines.as_mut_slice()[line];
            if ours[0] == 0 {
                *ours = *theirs;
                self.items += u64::from(theirs[0].count_ones());
                continue;
            }
            let level = (1..self.levels.lines.len()).rev().find(|&level| line >= self.first_of(level)).unwrap_or(0);
            for item in line::items(theirs, packing) {
                self.put_at(Place { level, line, item });
            }
        }
        Ok(())
    }

    /// Adds the overflow of another filter of the same size.
    ///
    /// # Errors
    /// If it cannot have come from the last level.
    pub(in crate::seen) fn absorb_overflow(&mut self, pairs: &[u64]) -> Result<(), &'static str> {
        let last = self.levels.lines.len() - 1;
        let lines = self.first_of(last)..self.lines.as_slice().len();
        for &[line, item] in pairs.as_chunks().0 {
            let place = Place { level: last, line: usize::try_from(line).unwrap_or(usize::MAX), item };
            if !lines.contains(&place.line) || item > self.levels.packing.item(u64::MAX) {
                return Err("an impossible item");
            }
            self.put_at(place);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Fingerprint;

    fn keys(count: u64) -> Vec<Fingerprint> {
        (1..=count).map(|count| remix(count, 7).fingerprint).collect()
    }

    /// A filter that was shown these in windows.
    fn filled(levels: Levels, keys: &[Fingerprint]) -> Quotient {
        let mut filter = Quotient::new(levels);
        for window in ProbeWindow::all_of(keys, 0) {
            filter.insert_window(window, Subset::default());
        }
        filter
    }

    /// What a filter of a size that is too small for them has of these keys, found without lines: the smallest items of each line, from level
    /// to level.
    fn by_definition(filter: &Quotient, keys: &[Fingerprint]) -> (Vec<Vec<u64>>, BTreeSet<(u64, u64)>) {
        let packing = filter.levels.packing;
        let mut lines = vec![BTreeSet::new(); filter.lines.as_slice().len()];
        for &key in keys {
            let place = filter.place(packing, Probes::new(key, 0));
            lines[place.line].insert(place.item);
        }
        let mut overflow = BTreeSet::new();
        for level in 0..3 {
            for line in filter.first_of(level)..filter.first_of(level) + filter.homes(level) {
                while lines[line].len() > packing.slots as usize {
                    let item = lines[line].pop_last().unwrap();
                    match filter.next(packing, Place { level, line, item }) {
                        Ok(next) => _ = lines[next.line].insert(next.item),
                        Err(pair) => _ = overflow.insert(pair),
                    }
                }
            }
        }
        (lines.into_iter().map(|line| line.into_iter().collect()).collect(), overflow)
    }

    /// Whatever the order, one by one or in windows, and in two parts that are united: for slots of a usual width and of others, in a filter
    /// that is half full, full, and three times too full.
    #[test]
    fn the_content_is_that_of_the_set_alone() {
        for slot_bits in [8, 14, 15, 21, 40] {
            let levels = Levels::for_urls(Packing::of(slot_bits), 2000);
            for count in [1000, 2000, 6000] {
                let mut keys = keys(count);
                let filter = filled(levels, &keys);
                let (lines, overflow) = by_definition(&filter, &keys);
                let items =
                    filter.lines.as_slice().iter().map(|line| line::items(line, levels.packing).collect::<Vec<_>>());
                assert!(items.eq(lines), "{slot_bits} bits, {count}");
                assert_eq!(filter.overflow, overflow);
                assert_eq!(overflow.is_empty(), count < 6000, "{slot_bits} bits, {count}: {}", overflow.len());
                let ones: u32 = filter.lines.as_slice().iter().map(|line| line[0].count_ones()).sum();
                assert_eq!(filter.len(), u64::from(ones) + overflow.len() as u64);
                assert!(keys.iter().all(|&key| filter.contains(Probes::new(key, 0))));
                assert!(filter.find_window(ProbeWindow::all_of(&keys, 0).next().unwrap()).0.trailing_ones() >= 32);

                keys.reverse();
                let mut one_by_one = Quotient::new(levels);
                for &key in &keys {
                    one_by_one.insert(Probes::new(key, 0));
                }
                let (part, rest) = keys.split_at(keys.len() / 3);
                let (mut union, rest) = (filled(levels, part), filled(levels, rest));
                union.absorb(0, rest.words()).unwrap();
                union
                    .absorb_overflow(&rest.overflow.iter().flat_map(|&(line, item)| [line, item]).collect::<Vec<_>>())
                    .unwrap();
                for other in [one_by_one, union] {
                    assert!(
                        other.words() == filter.words() && other.overflow == filter.overflow,
                        "{slot_bits} bits, {count}"
                    );
                    assert_eq!(other.len(), filter.len());
                }
            }
        }
    }
}
