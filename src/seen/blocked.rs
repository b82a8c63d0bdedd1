use super::Sighting;
use super::filter::Memory;
use super::probes::{LANE_PROBES, LANES, LINE_BITS, Lanes, Probes};

type Line = [u64; LANES];

/// A Bloom filter in cache lines: all probes of a URL fall into one line, one or two into each of its lanes (Putze, Sanders and
/// Singler 2009, "Cache-, hash- and space-efficient Bloom filters"). One line touched a test.
#[derive(Debug)]
pub(super) struct Blocked {
    lines: Lines,
    probes_per_lane: u32,
    bits_set: u64,
}

impl Blocked {
    /// `probes`: 8 or 16.
    pub(super) fn new(bits: u64, probes: u32) -> Self {
        let lines = usize::try_from(bits / LINE_BITS).expect("sizes are checked against the memory before");
        Self { lines: Lines::zeroed(lines), probes_per_lane: probes / LANE_PROBES, bits_set: 0 }
    }

    pub(super) fn bits_set(&self) -> u64 {
        self.bits_set
    }

    pub(super) fn words(&self) -> &[u64] {
        self.lines.as_slice().as_flattened()
    }

    /// Sets the bits of these words, from place `at` on.
    pub(super) fn absorb(&mut self, at: usize, words: &[u64]) {
        for (word, &more) in self.lines.as_mut_slice().as_flattened_mut()[at..].iter_mut().zip(words) {
            self.bits_set += u64::from((more & !*word).count_ones());
            *word |= more;
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.lines.words.capacity() * size_of::<u64>()
    }
}

impl Memory for Blocked {
    #[inline]
    fn touch(&self, probes: Probes) -> u64 {
        let lines = self.lines.as_slice();
        lines[probes.slot(lines.len())][0]
    }

    fn contains(&self, probes: Probes) -> bool {
        let lines = self.lines.as_slice();
        let line = &lines[probes.slot(lines.len())];
        holds(line, probes.lanes()) && (self.probes_per_lane == 1 || holds(line, probes.lanes_again()))
    }

    #[inline]
    fn insert(&mut self, probes: Probes) -> Sighting {
        let lines = self.lines.as_mut_slice();
        let slot = probes.slot(lines.len());
        let line = &mut lines[slot];
        // Most are seen: their lines are read and stay clean.
        let bits = probes.lanes();
        let mut seen = holds(line, bits);
        if !seen {
            self.bits_set += set(line, bits);
        }
        if self.probes_per_lane == 2 {
            let bits = probes.lanes_again();
            if !holds(line, bits) {
                seen = false;
                self.bits_set += set(line, bits);
            }
        }
        if seen { Sighting::Seen } else { Sighting::New }
    }
}

/// Are all these bits set, one in each lane? Without a branch, since no single lane decides often enough.
fn holds(line: &Line, lanes: Lanes) -> bool {
    line.iter().enumerate().fold(1, |all, (lane, word)| all & word >> lanes.bit(lane)) & 1 == 1
}

/// Sets one bit a lane; returns how many were not set before.
fn set(line: &mut Line, lanes: Lanes) -> u64 {
    let mut added = 0;
    for (lane, word) in line.iter_mut().enumerate() {
        added += !*word >> lanes.bit(lane) & 1;
        *word |= 1 << lanes.bit(lane);
    }
    added
}

/// Lines that begin where cache lines begin, zeroed by the operating system when first touched.
///
/// A vector of an aligned type would be zeroed by hand, page by page, at once; so this is a vector of words, entered at the first
/// aligned one.
#[derive(Debug)]
struct Lines {
    words: Vec<u64>,
    skip: usize,
}

impl Lines {
    fn zeroed(lines: usize) -> Self {
        let words = vec![0_u64; lines * LANES + LANES - 1];
        let skip = words.as_ptr().align_offset(size_of::<Line>()).min(LANES - 1);
        Self { words, skip }
    }

    fn as_slice(&self) -> &[Line] {
        self.words[self.skip..].as_chunks().0
    }

    fn as_mut_slice(&mut self) -> &mut [Line] {
        self.words[self.skip..].as_chunks_mut().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_aligned() {
        for count in [1, 2, 3, 1000] {
            let lines = Lines::zeroed(count);
            assert_eq!(lines.as_slice().len(), count);
            assert_eq!(lines.as_slice().as_ptr().addr() % 64, 0);
        }
    }
}
