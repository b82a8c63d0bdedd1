//! Memory in cache lines, for the blocked and the exact layout, and the operations on a line's bits: on all eight lanes at once if the
//! processor can.
//!
//! Nothing here branches on a bit: no predictor knows which URLs are new, and a misprediction throws away the work that was begun after it.
//! For a window, all lanes of a line are tested at once if the processor can. For a single fingerprint they are tested one by one: it waits
//! for its memory anyway, so the answer would not come sooner.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, u64x8};
use memmap2::MmapMut;
use zerocopy::FromBytes;

use super::window::{ProbeWindow, Subset, prefetch};
use crate::seen::probes::{LANES, Lanes, Probes};

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

/// From this many bytes on, memory is requested in huge pages. It is the size of one.
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

    /// Gives the memory of all lines after the first `lines` back to the operating system. Huge pages are kept until all of them are
    /// dropped.
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

/// How many of these bits, one in each lane, are set.
#[inline]
pub(in crate::seen) fn held(line: &CacheLine, bits: Lanes) -> u64 {
    line.iter().enumerate().map(|(lane, word)| word >> bits.bit(lane) & 1).sum()
}

/// Sets one bit in each lane. Returns how many were not set before.
#[inline]
pub(in crate::seen) fn set(line: &mut CacheLine, bits: Lanes) -> u64 {
    let mut missing = 0;
    for (lane, word) in line.iter_mut().enumerate() {
        let bit = 1 << bits.bit(lane);
        missing += u64::from(*word & bit == 0);
        *word |= bit;
    }
    missing
}

/// Finds the fingerprints of a window whose bits are all set, while the memory of the next window is fetched.
pub(in crate::seen) fn find_window(lines: &[CacheLine], probes_per_lane: u32, window: ProbeWindow<'_>) -> Subset {
    dispatch!(Level::new(), simd => find_each(simd, lines, probes_per_lane, window))
}

/// Sets the bits of the window's fingerprints that were not `seen` elsewhere, in order, while the memory of the next window is fetched.
/// Returns which are new, and how many bits were not set before.
pub(in crate::seen) fn insert_window(
    lines: &mut [CacheLine],
    probes_per_lane: u32,
    window: ProbeWindow<'_>,
    seen: Subset,
) -> (Subset, u64) {
    dispatch!(Level::new(), simd => insert_each(simd, lines, probes_per_lane, window, seen))
}

/// [`find_window`], with the instructions of `simd`.
#[inline(always)]
fn find_each<S: Simd>(simd: S, lines: &[CacheLine], probes_per_lane: u32, window: ProbeWindow<'_>) -> Subset {
    let mut ahead = window.ahead();
    window.choose(
        #[inline(always)]
        |probes, _| {
            ask_ahead(lines, ahead.next());
            let line = &lines[probes.slot(lines.len())];
            let missing = missing_at_once(simd, line, probes.lanes());
            let missing_again =
                if probes_per_lane == 1 { 0 } else { missing_at_once(simd, line, probes.lanes_again()) };
            missing + missing_again == 0
        },
    )
}

/// [`insert_window`], with the instructions of `simd`. A fingerprint that was seen elsewhere goes through the same steps, with nothing to
/// set.
#[inline(always)]
fn insert_each<S: Simd>(
    simd: S,
    lines: &mut [CacheLine],
    probes_per_lane: u32,
    window: ProbeWindow<'_>,
    seen: Subset,
) -> (Subset, u64) {
    let (mut ahead, mut missing) = (window.ahead(), 0);
    let new = window.choose(
        #[inline(always)]
        |probes, place| {
            ask_ahead(lines, ahead.next());
            let line = &mut lines[probes.slot(lines.len())];
            let bit = u64::from(!seen.has(place));
            let mut these = set_at_once(simd, line, probes.lanes(), bit);
            if probes_per_lane > 1 {
                these += set_at_once(simd, line, probes.lanes_again(), bit);
            }
            missing += these;
            these > 0
        },
    );
    (new, missing)
}

/// Prefetches the line of one fingerprint of the next window.
#[inline(always)]
fn ask_ahead(lines: &[CacheLine], next: Option<Probes>) {
    if let Some(next) = next {
        prefetch(lines, next.slot(lines.len()));
    }
}

/// How many of these bits are not set.
#[inline(always)]
fn missing_at_once<S: Simd>(simd: S, line: &CacheLine, bits: Lanes) -> u64 {
    if !shifts_lanes_apart::<S>() {
        return LANES as u64 - held(line, bits);
    }
    let bits = one_in_each(simd, bits, 1);
    (u64x8::from_slice(simd, line) & bits).simd_eq(0).to_bitmask().count_ones().into()
}

/// As [`set`]; if `bit` is 0 instead of 1, it sets none.
#[inline(always)]
fn set_at_once<S: Simd>(simd: S, line: &mut CacheLine, bits: Lanes, bit: u64) -> u64 {
    if !shifts_lanes_apart::<S>() {
        return if bit == 0 { 0 } else { set(line, bits) };
    }
    let bits = one_in_each(simd, bits, bit);
    let before = u64x8::from_slice(simd, line);
    (before | bits).store_slice(line);
    LANES as u64 - u64::from((before & bits).simd_eq(bits).to_bitmask().count_ones())
}

/// `bit`, shifted in each lane to that lane's bit.
#[inline(always)]
fn one_in_each<S: Simd>(simd: S, bits: Lanes, bit: u64) -> u64x8<S> {
    let numbers = (u64x8::splat(simd, bits.word()) >> u64x8::from_slice(simd, &Lanes::SHIFTS)) & 63;
    u64x8::splat(simd, bit) << numbers
}

/// Whether one instruction shifts four lanes or more, each by its own number. Without such an instruction, testing all lanes at once takes
/// longer than one by one.
#[inline(always)]
fn shifts_lanes_apart<S: Simd>() -> bool {
    S::u64s::LEN >= 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Fingerprint;

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

    /// This processor's instructions and the baseline give the same answers and leave the same bits, with one bit a lane and with two.
    #[test]
    fn all_instructions_answer_alike() {
        let mix =
            |count: u64| count.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        for probes_per_lane in [1, 2] {
            let (mut plain, mut fast) = ([[0; LANES]; 40], [[0; LANES]; 40]);
            for round in 0..40 {
                let keys: Vec<_> = (0..31).map(|count| Fingerprint::from_bits(mix(round * 20 + count))).collect();
                let seen = Subset(mix(round) & mix(!round));
                for window in ProbeWindow::all_of(&keys, 4) {
                    let new = dispatch!(Level::baseline(), simd => insert_each(simd, &mut plain, probes_per_lane, window, seen));
                    let (new_too, missing_too) = insert_window(&mut fast, probes_per_lane, window, seen);
                    assert_eq!((new.0.0, new.1), (new_too.0, missing_too));
                    assert_eq!(plain, fast);
                    let found = dispatch!(Level::baseline(), simd => find_each(simd, &plain, probes_per_lane, window));
                    assert_eq!(found.0, find_window(&fast, probes_per_lane, window).0);
                    assert_eq!(((found.0 | seen.0) & 0x7fff_ffff, new_too.0 & seen.0), (0x7fff_ffff, 0));
                }
            }
        }
    }
}
