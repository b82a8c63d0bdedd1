//! Words that tell no page from another: those of its host's own name.

use super::word_hash::hash_word;

/// Words of a host's name that are known; of a longer one it is the first.
const MOST: usize = 16;

/// The words of a host's own name, for a thousand hosts of one domain may greet with it, and a mirror sign with its own: `my-shop.example`
/// is three of them. A name beyond ASCII is known as it is written on the wire.
#[derive(Debug)]
pub(in crate::crawl) struct KnownWords {
    own: [u32; MOST],
    count: usize,
    /// A bit for the first twelve bits of each. Nearly all other words are told by that.
    bits: [u64; 64],
}

impl KnownWords {
    /// Those of the pages of this host.
    pub(in crate::crawl) fn of(host: &str) -> Self {
        let mut known = Self { own: [0; MOST], count: 0, bits: [0; 64] };
        let words = host.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        for word in words.take(MOST) {
            let hash = hash_word(word.as_bytes());
            known.own[known.count] = hash;
            known.count += 1;
            let (word, bit) = place(hash);
            known.bits[word] |= bit;
        }
        known
    }

    /// Whether a hashed word is one, as it is hashed where it is no number.
    #[inline]
    pub(super) fn has(&self, hash: u32) -> bool {
        let (word, bit) = place(hash);
        self.bits[word] & bit != 0 && self.own[..self.count].contains(&hash)
    }
}

/// Where the bit of a word is.
fn place(hash: u32) -> (usize, u64) {
    ((hash >> 26) as usize, 1 << (hash >> 20 & 63))
}
