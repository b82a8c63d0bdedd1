//! Memory in cache lines: the blocked layout's, and that of the fingerprints in lines.

use crate::seen::probes::LANES;

/// A cache line, as words.
pub(in crate::seen) type CacheLine = [u64; LANES];

/// Lines that begin where cache lines begin, zeroed by the operating system when they are first
/// touched.
///
/// A vector of an aligned type would be zeroed by hand, all of it at once, and take its memory
/// before there is anything in it. So this is a vector of words, of which the first aligned one
/// begins the first line.
#[derive(Debug)]
pub(in crate::seen) struct CacheLines {
    words: Vec<u64>,
    /// Words before the first line.
    skip: usize,
}

impl CacheLines {
    /// So many lines, all clear.
    pub(in crate::seen) fn zeroed(lines: usize) -> Self {
        let words = vec![0_u64; lines * LANES + LANES - 1];
        let skip = words.as_ptr().align_offset(size_of::<CacheLine>()).min(LANES - 1);
        Self { words, skip }
    }

    #[inline]
    pub(in crate::seen) fn as_slice(&self) -> &[CacheLine] {
        self.words[self.skip..].as_chunks().0
    }

    #[inline]
    pub(in crate::seen) fn as_mut_slice(&mut self) -> &mut [CacheLine] {
        self.words[self.skip..].as_chunks_mut().0
    }

    /// Gives the memory of the lines from this one on back to the operating system.
    pub(in crate::seen) fn truncate(&mut self, lines: usize) {
        self.words.truncate(lines * LANES + LANES - 1);
        self.words.shrink_to_fit();
    }

    pub(in crate::seen) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_aligned() {
        for count in [1, 2, 3, 1000] {
            let lines = CacheLines::zeroed(count);
            assert_eq!(lines.as_slice().len(), count);
            assert_eq!(lines.as_slice().as_ptr().addr() % 64, 0);
        }
    }
}
