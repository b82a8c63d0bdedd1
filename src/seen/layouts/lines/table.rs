//! Lines of one size of table: where a slot is, and what stands behind four full lines.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use std::collections::BTreeSet;

use fearless_simd::Simd;

use super::generations::Generations;
use super::geometry::Geometry;
use super::line::{self, MANY};
use crate::seen::layouts::cache_lines::{CacheLine, CacheLines};
use crate::seen::layouts::window::prefetch;

/// The lines of one table, and the slots that found no place in them.
///
/// Held at each moment, and checked when a snapshot is [read](LineTable::recount):
///
/// - A slot of home `h` stands in line `h + d` for a `d` of [`LINES_ON`], with its number as the slot's distance, or in the overflow.
/// - `gone` of line `h` is how many slots of home `h` stand elsewhere; from [`MANY`] on it is not counted any more, and never goes down.
/// - The slots of a line that are taken are its first `count`.
#[derive(Debug)]
pub(in crate::seen) struct LineTable {
    pub(super) geometry: Geometry,
    /// Some more than there are homes, for what is sent on from the last ones.
    lines: CacheLines,
    /// How many lines a fingerprint may have as its home: the first ones.
    pub(in crate::seen) homes: usize,
    /// Slots behind four full lines, with their homes.
    overflow: BTreeSet<(usize, u64)>,
    /// All slots, those in the overflow too, by their age.
    pub(super) generations: Generations,
}

/// How far from its home a slot may be, by its distance: there are four. Full lines come in rows,
/// where neighbors filled each other; the farthest is behind most of them.
const LINES_ON: [usize; 4] = [0, 1, 4, 13];
/// Lines behind the last home.
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

    /// The same, for lines to be split into: in small pages, since no insert shall wait for a huge one to be zeroed.
    pub(super) fn to_split_into(geometry: Geometry, homes: usize) -> Self {
        Self::with(geometry, homes, CacheLines::to_give_back(homes + SPARE))
    }

    fn with(geometry: Geometry, homes: usize, lines: CacheLines) -> Self {
        Self { geometry, lines, homes, overflow: BTreeSet::new(), generations: Generations::none() }
    }

    /// All lines, those behind the last home too.
    #[inline(always)]
    pub(super) fn lines(&self) -> &[CacheLine] {
        self.lines.as_slice()
    }

    /// Asks for the line in which a search begins.
    #[inline(always)]
    pub(super) fn prefetch(&self, home: usize) {
        prefetch(self.lines.as_slice(), home);
    }

    /// Asks for the line behind a home whose line is at hand, where a search goes on to it.
    #[inline(always)]
    pub(super) fn prefetch_beyond(&self, home: usize) {
        let lines = self.lines.as_slice();
        let line = &lines[home];
        let goes_on = line::gone(line) > 0 || line::count(line) == self.geometry.slots;
        prefetch(lines, home + usize::from(goes_on) * LINES_ON[1]);
    }

    /// Where there is a slot with this home that is the same as `wanted`.
    #[inline(always)]
    pub(super) fn find<S: Simd>(&self, simd: S, home: usize, wanted: u64) -> Option<Spot> {
        let lines = self.lines.as_slice();
        if let Some(place) = line::find(simd, &lines[home], self.geometry, wanted, 0) {
            return Some(Spot::InLine { distance: 0, place });
        }
        let gone = line::gone(&lines[home]);
        if gone == 0 { None } else { self.find_beyond(simd, home, wanted, gone) }
    }

    /// Goes on where some were sent on, and stops when it has met as many.
    #[inline(always)]
    fn find_beyond<S: Simd>(&self, simd: S, home: usize, wanted: u64, gone: u64) -> Option<Spot> {
        let mut left = gone;
        for (distance, on) in LINES_ON.into_iter().enumerate().skip(1) {
            let line = &self.lines.as_slice()[home + on];
            if let Some(place) = line::find(simd, line, self.geometry, wanted, distance) {
                return Some(Spot::InLine { distance, place });
            }
            left = left.saturating_sub(line::at_distance(line, self.geometry, distance).count_ones().into());
            if left == 0 && gone < MANY {
                return None;
            }
        }
        self.find_in_overflow(home, wanted)
    }

    /// Asked only where four lines are full. O(log of the overflow).
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

    /// Puts a slot into its home, or as near to it as there is room.
    #[inline(always)]
    pub(super) fn put(&mut self, home: usize, slot: u64) {
        self.generations.add(slot);
        let line = &mut self.lines.as_mut_slice()[home];
        if line::count(line) < self.geometry.slots {
            line::push(line, self.geometry, slot, 0);
        } else {
            self.send_on(home, slot);
        }
    }

    /// Puts a slot into the first line behind its full home that has room, or into the overflow, and counts it as gone from home.
    #[inline(never)]
    fn send_on(&mut self, home: usize, slot: u64) {
        let lines = self.lines.as_mut_slice();
        let gone = line::gone(&lines[home]);
        line::set_gone(&mut lines[home], (gone + 1).min(MANY));
        for (distance, on) in LINES_ON.into_iter().enumerate().skip(1) {
            let line = &mut lines[home + on];
            if line::count(line) < self.geometry.slots {
                return line::push(line, self.geometry, slot, distance);
            }
        }
        self.overflow.insert((home, slot));
    }

    /// Takes a slot out that was found. The line's last slot moves to its place, so a place that was found before is not valid any more.
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
        let gone = line::gone(&lines[home]);
        if !matches!(place, Spot::InLine { distance: 0, .. }) && gone < MANY {
            line::set_gone(&mut lines[home], gone - 1);
        }
    }

    /// Takes all slots of a home out and shows them to `each`. For splitting: the home is empty from then on, and its line may still have
    /// slots of homes before it.
    pub(super) fn take_all(&mut self, home: usize, mut each: impl FnMut(u64)) {
        let gone = line::gone(&self.lines.as_slice()[home]);
        let lines_on = if gone == 0 { &LINES_ON[..1] } else { &LINES_ON };
        for (distance, on) in lines_on.iter().enumerate() {
            let line = &mut self.lines.as_mut_slice()[home + on];
            let mut slots = line::at_distance(line, self.geometry, distance);
            // The last first: the one that moves to its place was taken, or stays.
            while slots != 0 {
                let place = slots.ilog2();
                let slot = line::slot(line, self.geometry, place);
                line::remove(line, self.geometry, place);
                self.generations.take(slot);
                each(slot);
                slots ^= 1 << place;
            }
        }
        if gone > 0 {
            line::set_gone(&mut self.lines.as_mut_slice()[home], 0);
            while let Some(&(of, slot)) = self.overflow.range((home, 0)..(home + 1, 0)).next() {
                self.overflow.remove(&(of, slot));
                self.generations.take(slot);
                each(slot);
            }
        }
    }

    /// All slots, with their homes: those in lines first, then the overflow. Those of one home do not come together.
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

    /// Gives the memory of lines back that no home below this one needs. `homes` stays what it was: homes are split by it.
    pub(super) fn truncate(&mut self, homes: usize) {
        self.lines.truncate(homes + SPARE);
    }

    /// The lines, word by word, and what stands behind them.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        self.lines.as_slice().as_flattened()
    }

    /// Slots that stand in no line, with their homes, in order.
    pub(in crate::seen) fn overflow(&self) -> &BTreeSet<(usize, u64)> {
        &self.overflow
    }

    /// The same, to be filled from a snapshot; [`recount`](Self::recount) must follow.
    pub(in crate::seen) fn words_mut(&mut self) -> &mut [u64] {
        self.lines.as_mut_slice().as_flattened_mut()
    }

    /// Counts what was put into the words from elsewhere, and into the overflow. The slots of homes
    /// below `most` only may be there.
    ///
    /// # Errors
    /// If a line has more slots than there is room for, or a slot no home, no mark or too many bits. A checksum
    /// only says that a file is as it was written.
    pub(in crate::seen) fn recount(
        &mut self,
        overflow: impl IntoIterator<Item = (usize, u64)>,
        most: usize,
    ) -> Result<(), &'static str> {
        const IMPOSSIBLE: &str = "a slot that cannot be";
        let geometry = self.geometry;
        let mut gone = vec![0_u8; most];
        let mut note = |generations: &mut Generations, home: usize, slot: u64, is_gone: bool| {
            if home >= most || slot == 0 || slot > 2 * geometry.spent() - 1 {
                return Err(IMPOSSIBLE);
            }
            generations.add(slot);
            gone[home] = gone[home].saturating_add(u8::from(is_gone));
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
        for (line, gone) in lines.iter_mut().zip(gone) {
            // Once there were so many that they were not counted, there may be any number.
            let counted = if line::gone(line) == MANY { MANY } else { u64::from(gone).min(MANY) };
            line::set_gone(line, counted);
        }
        Ok(())
    }

    /// Bytes of memory allocated for the lines and, about, for the overflow.
    pub(super) fn bytes(&self) -> usize {
        // A set of pairs has some two thirds of its slots taken.
        self.lines.bytes() + self.overflow.len() * size_of::<(usize, u64)>() * 3 / 2
    }
}
