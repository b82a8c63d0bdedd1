//! The bits of a text: where words are, and where tags begin and end.

#![expect(
    clippy::inline_always,
    reason = "code is made of the instructions that its caller may use only where it becomes part of it"
)]

use std::ops::Range;

use fearless_simd::prelude::*;
use fearless_simd::{Level, Simd, dispatch, u8x64};

/// Bytes read at once.
pub(super) const WINDOW: usize = 8 * 1024;
/// Bytes compared at once.
const BLOCK: usize = 64;

/// A bit for each byte of the text being read.
pub(super) type WindowBits = [u64; WINDOW / BLOCK];

/// A window of a text, with a bit for each of its bytes.
pub(super) struct WordMarks {
    /// The bytes that belong to words: letters, digits and everything beyond ASCII.
    pub(super) letters: WindowBits,
    /// Each `<`.
    pub(super) opens: WindowBits,
    /// Each `>`.
    pub(super) closes: WindowBits,
}

impl WordMarks {
    pub(super) fn of(text: &[u8]) -> Self {
        #[inline(always)]
        fn mark<S: Simd>(simd: S, text: &[u8], marks: &mut WordMarks) {
            let (blocks, rest) = text.as_chunks::<BLOCK>();
            let mut last = [0; BLOCK];
            last[..rest.len()].copy_from_slice(rest);
            let WordMarks { letters, opens, closes } = marks;
            let words = letters.iter_mut().zip(opens).zip(closes);
            for (((word, open), close), block) in words.zip(blocks.iter().chain([&last])) {
                let bytes = u8x64::from_slice(simd, block);
                let lower = bytes | 0x20;
                let digits = bytes.simd_ge(b'0') & bytes.simd_le(b'9');
                let letters = lower.simd_ge(b'a') & lower.simd_le(b'z') | bytes.simd_ge(0x80);
                *word = (digits | letters).to_bitmask();
                *open = bytes.simd_eq(b'<').to_bitmask();
                *close = bytes.simd_eq(b'>').to_bitmask();
            }
        }
        const NONE: WindowBits = [0; WINDOW / BLOCK];
        let mut marks = Self { letters: NONE, opens: NONE, closes: NONE };
        dispatch!(Level::new(), simd => mark(simd, text, &mut marks));
        marks
    }
}

/// The first bit from this place on.
#[inline]
pub(super) fn next(bits: &WindowBits, from: usize) -> Option<usize> {
    let mut block = from / BLOCK;
    let mut rest = bits.get(block)? & !0 << (from % BLOCK);
    while rest == 0 {
        block += 1;
        rest = *bits.get(block)?;
    }
    Some(block * BLOCK + rest.trailing_zeros() as usize)
}

/// Clears the bits of a range.
#[inline]
pub(super) fn clear(bits: &mut WindowBits, range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    let (first, last) = (range.start / BLOCK, (range.end - 1) / BLOCK);
    // The bits before the range in its first block, and those after it in its last.
    let (before, after) = (!(!0 << (range.start % BLOCK)), !1 << ((range.end - 1) % BLOCK));
    if first == last {
        bits[first] &= before | after;
    } else {
        bits[first] &= before;
        bits[first + 1..last].fill(0);
        bits[last] &= after;
    }
}

/// Calls `call` for each run of set bits. No bit beyond `length` is set.
#[inline(always)]
pub(super) fn each(bits: &WindowBits, length: usize, mut call: impl FnMut(Range<usize>)) {
    let (mut last, mut begin) = (0, 0);
    // The empty block ends a run that goes on to the end. With one call alone, its code becomes part of this loop.
    for (block, bits) in bits[..length.div_ceil(BLOCK)].iter().copied().chain([0]).enumerate() {
        let before = bits << 1 | last >> (BLOCK - 1);
        let (mut begins, mut ends) = (bits & !before, before & !bits);
        let first = |bits: u64| block * BLOCK + bits.trailing_zeros() as usize;
        if last >> (BLOCK - 1) == 0 {
            begin = first(begins);
            begins &= begins.wrapping_sub(1);
        }
        while ends != 0 {
            call(begin..first(ends));
            begin = first(begins);
            ends &= ends - 1;
            begins &= begins.wrapping_sub(1);
        }
        last = bits;
    }
}

/// The number of bytes of a window without a word at its end that may go on after it; the whole window if it is one long word.
pub(super) fn whole_words(bits: &WindowBits, length: usize) -> usize {
    let is_set = |at: &usize| bits[at / BLOCK] & 1 << (at % BLOCK) != 0;
    let letters = (0..length).rev().take_while(is_set).count();
    if letters < length { length - letters } else { length }
}
