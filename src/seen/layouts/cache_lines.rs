//! Memory in cache lines: for the blocked layout, and for fingerprints in lines.

use memmap2::MmapMut;
use zerocopy::FromBytes;

use crate::seen::probes::LANES;

/// A cache line, as words.
pub(in crate::seen) type CacheLine = [u64; LANES];

/// Lines that begin where cache lines begin, zeroed by the operating system when they are first touched.
#[derive(Debug)]
pub(in crate::seen) enum CacheLines {
    /// Many lines, in pages of 2 MiB if the system has them: then the processor translates addresses with a few hundred entries instead of
    /// tens of thousands, for which it has no room.
    Huge(MmapMut),
    /// Lines whose end can be given back, or few lines.
    Words {
        words: Vec<u64>,
        /// Words before the first line. A vector of an aligned type would be zeroed by hand, all of it at once, and take its memory while
        /// it is still empty.
        skip: usize,
    },
}

/// From this many bytes on, memory is asked for in huge pages: one of them.
const HUGE: usize = 2 << 20;
const WHOLE: &str = "whole lines on a page's border";

impl CacheLines {
    /// `lines` clear lines.
    ///
    /// # Panics
    /// If the system does not give the memory; the caller checks that first.
    pub(in crate::seen) fn zeroed(lines: usize) -> Self {
        let bytes = lines * size_of::<CacheLine>();
        if bytes < HUGE {
            return Self::to_give_back(lines);
        }
        let memory = MmapMut::map_anon(bytes).expect("the system was asked for the memory before");
        // A hint. Without it everything works the same, but slower.
        #[cfg(target_os = "linux")]
        drop(memory.advise(memmap2::Advice::HugePage));
        Self::Huge(memory)
    }

    /// The same in small pages, which cost little each when they are first touched, and can be given back from the [end](Self::truncate)
    /// on.
    pub(in crate::seen) fn to_give_back(lines: usize) -> Self {
        let words = vec![0_u64; lines * LANES + LANES - 1];
        let skip = words.as_ptr().align_offset(size_of::<CacheLine>()).min(LANES - 1);
        Self::Words { words, skip }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "asked for each line")]
    pub(in crate::seen) fn as_slice(&self) -> &[CacheLine] {
        match self {
            Self::Huge(memory) => FromBytes::ref_from_bytes(memory).expect(WHOLE),
            Self::Words { words, skip } => words[*skip..].as_chunks().0,
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `as_slice`")]
    pub(in crate::seen) fn as_mut_slice(&mut self) -> &mut [CacheLine] {
        match self {
            Self::Huge(memory) => FromBytes::mut_from_bytes(memory).expect(WHOLE),
            Self::Words { words, skip } => words[*skip..].as_chunks_mut().0,
        }
    }

    /// Gives the memory of the lines from this one on back to the operating system. Huge pages are given back together, at the end.
    pub(in crate::seen) fn truncate(&mut self, lines: usize) {
        if let Self::Words { words, .. } = self {
            words.truncate(lines * LANES + LANES - 1);
            words.shrink_to_fit();
        }
    }

    pub(in crate::seen) fn bytes(&self) -> usize {
        match self {
            Self::Huge(memory) => memory.len(),
            Self::Words { words, .. } => words.capacity() * size_of::<u64>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_aligned() {
        for count in [1, 2, 3, 1000, HUGE / 64 - 1, HUGE / 64, HUGE / 64 + 5] {
            for mut lines in [CacheLines::zeroed(count), CacheLines::to_give_back(count)] {
                assert_eq!(lines.as_slice().len(), count);
                assert_eq!(lines.as_slice().as_ptr().addr() % 64, 0);
                assert!((count * 64..=count * 64 + 56).contains(&lines.bytes()));
                lines.as_mut_slice()[count - 1][7] = 1;
                assert!(lines.as_slice()[..count - 1].iter().all(|line| *line == [0; 8]));
                assert_eq!(lines.as_slice()[count - 1], [0, 0, 0, 0, 0, 0, 0, 1]);
            }
        }
    }
}
