//! Words that tell no page from another: the names of months and days, and those of its host's own name.

use super::calendar;
use super::word_hash::hash_word;

/// Words of a host's name that are known; of a longer one it is the first.
const MOST: usize = 16;

/// The words of which some pages differ from each other and say the same: names of months and of days of the week, and the words of the
/// host's own name, for a thousand hosts of one domain may greet with it. `my-shop.example` is three of them.
#[derive(Debug)]
pub(in crate::crawl) struct KnownWords {
    own: [u32; MOST],
    count: usize,
    /// A bit for the first twelve bits of each. Nearly all other words are told by that.
    bits: [u64; 64],
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownWord {
    /// It stands for nothing: a part of the host's name, or an empty cell.
    Blank,
    /// The name of a month or of a day of the week.
    Date,
    /// None of them.
    Other,
}

impl KnownWords {
    /// Those of the pages of this host.
    pub(in crate::crawl) fn of(host: &str) -> Self {
        let mut known = Self { own: [0; MOST], count: 0, bits: [0; 64] };
        calendar::names().for_each(|hash| known.mark(hash));
        let words = host.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        for word in words.take(MOST) {
            let hash = hash_word(word.as_bytes());
            known.own[known.count] = hash;
            known.count += 1;
            known.mark(hash);
        }
        known
    }

    /// What a hashed word is, as one that is no number has it.
    #[inline]
    pub(super) fn tell(&self, hash: u32) -> KnownWord {
        let (word, bit) = place(hash);
        if self.bits[word] & bit == 0 { KnownWord::Other } else { self.look_up(hash) }
    }

    #[cold]
    fn look_up(&self, hash: u32) -> KnownWord {
        if self.own[..self.count].contains(&hash) || calendar::is_blank(hash) {
            KnownWord::Blank
        } else if calendar::is_date(hash) {
            KnownWord::Date
        } else {
            KnownWord::Other
        }
    }

    fn mark(&mut self, hash: u32) {
        let (word, bit) = place(hash);
        self.bits[word] |= bit;
    }
}

/// Where the bit of a word is.
fn place(hash: u32) -> (usize, u64) {
    ((hash >> 26) as usize, 1 << (hash >> 20 & 63))
}
