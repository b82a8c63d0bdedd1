//! The blocked layout, and the filter of the verified one: all bits of a URL in one cache line.

use super::cache_lines::CacheLines;
use super::lanes::{self, held, set};
use super::window::{ProbeWindow, Subset, prefetch};
use crate::seen::probes::{LANE_PROBES, LANES, LINE_BITS, Lanes, Probes};
use crate::seen::sighting::Sighting;

/// A Bloom filter in cache lines: all probes of a URL fall into one line, one or two into each of
/// its 8 lanes (Putze, Sanders and Singler 2009, "Cache-, hash- and space-efficient Bloom
/// filters"). A test touches one line, so it waits for memory once.
///
/// `bits_set` is updated with each insertion: counting all bits for a report would take longer than the report.
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

    /// All lines, lane after lane.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        self.lines.as_slice().as_flattened()
    }

    /// Sets the bits that are set in these words, from word `at` on.
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

    /// Sets all bits of a fingerprint. It is new if any of them was not set: setting them gives the answer, so the line is read once.
    #[inline]
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        let missing = self.set(probes, probes.lanes());
        let missing = if self.probes_per_lane == 1 { missing } else { missing + self.set_again(probes) };
        self.bits_set += missing;
        if missing == 0 { Sighting::Seen } else { Sighting::New }
    }

    pub(in crate::seen) fn find_window(&self, window: ProbeWindow<'_>) -> Subset {
        lanes::find_window(self.lines.as_slice(), self.probes_per_lane, window)
    }

    pub(in crate::seen) fn insert_window(&mut self, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        let (new, missing) = lanes::insert_window(self.lines.as_mut_slice(), self.probes_per_lane, window, seen);
        self.bits_set += missing;
        new
    }
}
