//! The hash of a word.

use std::ops::Range;

/// Set in the hash of a word that is a number.
pub(super) const NUMBER: u32 = 1;

/// The hash of a word that is the whole text, without the bit for numbers.
pub(super) fn hash_word(word: &[u8]) -> u32 {
    hash(word, 0..word.len()) & !NUMBER
}

/// The hash of a word, computed eight bytes at a time. Each byte gets the bit that distinguishes lower case, which changes no digit.
#[inline]
pub(super) fn hash(text: &[u8], word: Range<usize>) -> u32 {
    const LOWER: u64 = u64::from_ne_bytes([0x20; 8]);
    /// The first bits of the golden ratio.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut hash, mut at) = (0_u64, word.start);
    while at < word.end {
        let letters = match text[at..].first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => text[at..].iter().rev().fold(0, |letters, byte| letters << 8 | u64::from(*byte)),
        };
        let beyond = 8 * 8_usize.saturating_sub(word.end - at);
        hash = (hash ^ (letters | LOWER) << beyond).wrapping_mul(STEP);
        hash ^= hash >> 32;
        at += 8;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the bits above were mixed into these")]
    let hash = hash as u32;
    hash
}
