//! The Bloom filters: blocked, with all bits of a URL in one cache line, and flat, with probes anywhere in an array.

use super::cache_lines::{CacheLine, CacheLines, find_window, held, insert_window, set};
use super::window::{ProbeWindow, Removal, Sighting, Subset, prefetch};
use crate::seen::probes::{LANE_PROBES, LANES, LINE_BITS, Lanes, Probes};

/// A Bloom filter in cache lines: all probes of a URL fall into one line, one or two into each of
/// its 8 lanes (Putze, Sanders and Singler 2009, "Cache-, hash- and space-efficient Bloom
/// filters"). A test touches one line, so it waits for memory once.
///
/// `bits_set` is updated with each insertion, since counting all bits would slow a report down.
#[derive(Debug)]
pub(in crate::seen) struct Blocked {
    lines: CacheLines,
    /// Bits that a URL has in each lane: 1 or 2.
    probes_per_lane: u32,
    bits_set: u64,
}

impl Blocked {
    /// `probes`: 8 or 16.
    pub(in crate::seen) fn new(bits: u64, probes: u32) -> Self {
        let lines = usize::try_from(bits / LINE_BITS).expect("sizes are checked against the memory before");
        Self { lines: CacheLines::zeroed(lines), probes_per_lane: probes / LANE_PROBES, bits_set: 0 }
    }

    /// Bits that are set, in all lines.
    pub(in crate::seen) fn bits_set(&self) -> u64 {
        self.bits_set
    }

    /// All lines.
    #[inline]
    pub(in crate::seen) fn lines(&self) -> &[CacheLine] {
        self.lines.as_slice()
    }

    /// All lines, lane after lane.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        self.lines().as_flattened()
    }

    /// Adds the bits of these words, from word `at` on.
    pub(in crate::seen) fn absorb(&mut self, at: usize, words: &[u64]) {
        for (word, &more) in self.lines.as_mut_slice().as_flattened_mut()[at..].iter_mut().zip(words) {
            self.bits_set += u64::from((more & !*word).count_ones());
            *word |= more;
        }
    }

    /// Sets one bit in each lane. Returns how many were not set before.
    #[inline]
    fn set(&mut self, probes: Probes, bits: Lanes) -> u64 {
        let lines = self.lines.as_mut_slice();
        set(&mut lines[probes.slot(lines.len())], bits)
    }

    /// The same for the second bits. A separate function, so that layers with one bit a lane, which are most, do not pay for it.
    #[inline(never)]
    fn set_again(&mut self, probes: Probes) -> u64 {
        self.set(probes, probes.lanes_again())
    }

    pub(in crate::seen) fn bytes(&self) -> usize {
        self.lines.bytes()
    }

    /// Prefetches the line that a test reads.
    #[inline]
    pub(in crate::seen) fn prefetch(&self, probes: Probes) {
        let lines = self.lines.as_slice();
        prefetch(lines, probes.slot(lines.len()));
    }

    /// Whether all bits of a fingerprint are set.
    #[inline]
    pub(in crate::seen) fn contains(&self, probes: Probes) -> bool {
        let lines = self.lines.as_slice();
        let line = &lines[probes.slot(lines.len())];
        held(line, probes.lanes()) == LANES as u64
            && (self.probes_per_lane == 1 || held(line, probes.lanes_again()) == LANES as u64)
    }

    /// Sets all bits of a fingerprint. It is new if any of them was not set. Setting them gives this answer, so the line is read once.
    #[inline]
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        let missing = self.set(probes, probes.lanes());
        let missing = if self.probes_per_lane == 1 { missing } else { missing + self.set_again(probes) };
        self.bits_set += missing;
        if missing == 0 { Sighting::Seen } else { Sighting::New }
    }

    pub(in crate::seen) fn find_window(&self, window: ProbeWindow<'_>) -> Subset {
        find_window(self.lines.as_slice(), self.probes_per_lane, window)
    }

    pub(in crate::seen) fn insert_window(&mut self, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        let (new, missing) = insert_window(self.lines.as_mut_slice(), self.probes_per_lane, window, seen);
        self.bits_set += missing;
        new
    }
}

/// A Bloom filter over one array of cells, or over one array for each probe. A cell is a bit, or a counter that can forget.
///
/// One array of bits is the filter of Bloom 1970. An array for each probe is that of Chang, Feng and Li 2004. Counters of 4 bits are those
/// of Fan, Cao, Almeida and Broder 2000. A counter that reaches 15 stays there: it no longer knows how many URLs need it, so no removal may
/// decrement it.
#[derive(Debug)]
pub(in crate::seen) struct Flat {
    /// The cells, the first in the lowest bits.
    words: Vec<u64>,
    /// Cells in each array.
    cells: usize,
    /// Whether each probe has an array of its own.
    apart: bool,
    /// Bits of a cell: 1 or 4.
    width: usize,
    /// Cells that a URL has.
    probes: u32,
    /// Cells that are not 0, kept up to date with each insertion and removal.
    cells_set: u64,
}

impl Flat {
    /// `cells`: in all arrays together.
    pub(in crate::seen) fn new(cells: u64, probes: u32, apart: bool, width: usize) -> Self {
        let cells = usize::try_from(cells).expect("sizes are checked against the memory before");
        let words = vec![0; (cells * width).div_ceil(64)];
        let cells = if apart { cells / probes as usize } else { cells };
        Self { words, cells, apart, width, probes, cells_set: 0 }
    }

    /// Cells that are not 0, in all arrays.
    pub(in crate::seen) fn cells_set(&self) -> u64 {
        self.cells_set
    }

    /// All cells, array after array.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Adds the cells of these words, from word `at` on.
    ///
    /// Counters are not added up: if two are not 0, the result has the bits of both, which is at least the larger. So only an empty
    /// counting filter is loaded in this way; unions of counting sets are refused before.
    pub(in crate::seen) fn absorb(&mut self, at: usize, words: &[u64]) {
        let set = |word: u64| match self.width {
            1 => word.count_ones(),
            // The lowest bit of each counter says whether any of its four bits is set.
            _ => ((word | word >> 1 | word >> 2 | word >> 3) & 0x1111_1111_1111_1111).count_ones(),
        };
        for (word, &more) in self.words[at..].iter_mut().zip(words) {
            self.cells_set += u64::from(set(*word | more) - set(*word));
            *word |= more;
        }
    }

    /// Takes back one insertion that was answered `New`. Only counters can.
    pub(in crate::seen) fn remove(&mut self, probes: Probes) -> Removal {
        if !self.contains(probes) {
            return Removal::Absent;
        }
        for place in self.places(probes) {
            let value = self.get(place);
            // A cell is 0 here only if URLs were removed that had never been inserted.
            if value < self.full() && value > 0 {
                self.set(place, value - 1);
                self.cells_set -= u64::from(value == 1);
            }
        }
        Removal::Removed
    }

    /// The cells that a URL probes.
    fn places(&self, probes: Probes) -> impl Iterator<Item = usize> + use<> {
        let (cells, apart) = (self.cells, self.apart);
        probes
            .steps(cells, self.probes)
            .enumerate()
            .map(move |(array, cell)| if apart { array * cells + cell } else { cell })
    }

    /// The largest count of a cell.
    fn full(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// The count of a cell.
    fn get(&self, place: usize) -> u64 {
        let bit = place * self.width;
        self.words[bit / 64] >> (bit % 64) & self.full()
    }

    /// Gives a cell another value.
    fn set(&mut self, place: usize, value: u64) {
        let bit = place * self.width;
        let word = &mut self.words[bit / 64];
        *word = *word & !(((1 << self.width) - 1) << (bit % 64)) | value << (bit % 64);
    }

    pub(in crate::seen) fn bytes(&self) -> usize {
        size_of_val(self.words())
    }

    /// Prefetches all cells that a test may read. A test of a new URL reads two or three of them before it finds one clear, but then
    /// inserts it into all.
    pub(in crate::seen) fn prefetch(&self, probes: Probes) {
        for place in self.places(probes) {
            prefetch(&self.words, place * self.width / 64);
        }
    }

    /// Whether none of a fingerprint's cells is clear.
    pub(in crate::seen) fn contains(&self, probes: Probes) -> bool {
        self.places(probes).all(|place| self.get(place) != 0)
    }

    /// Sets a fingerprint's cells, or increments them. A fingerprint that is taken for seen does not increment them: it will not be removed
    /// either.
    #[inline(never)]
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        if self.contains(probes) {
            return Sighting::Seen;
        }
        self.add(probes);
        Sighting::New
    }

    /// Sets a fingerprint's cells, or increments them, even if none of them is clear.
    pub(in crate::seen) fn add(&mut self, probes: Probes) {
        for place in self.places(probes) {
            let value = self.get(place);
            self.cells_set += u64::from(value == 0);
            self.set(place, (value + 1).min(self.full()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Fingerprint;

    #[test]
    fn counters_that_overflowed_stay() {
        let mut flat = Flat::new(640, 2, false, 4);
        let probes = Probes::new(Fingerprint::from_bits(0x0123_4567_89AB_CDEF), 0);
        let [full, other] = flat.places(probes).collect::<Vec<_>>()[..] else { panic!("two probes") };
        flat.set(full, 15);
        assert_eq!(flat.insert(probes), Sighting::New);
        assert_eq!((flat.get(full), flat.get(other)), (15, 1));
        assert_eq!(flat.remove(probes), Removal::Removed);
        assert_eq!((flat.get(full), flat.get(other)), (15, 0));
        assert_eq!((0..640).filter(|&place| flat.get(place) != 0).count(), 1);
    }
}
