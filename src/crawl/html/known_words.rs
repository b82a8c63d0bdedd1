//! Words that do not distinguish pages: the names of months and days, and the words of the host's own name.

use super::calendar;
use super::word_hash::hash_word;

/// At most this many words of a host's name are known; of a longer name, the first ones.
const MOST: usize = 16;

/// Words in which pages with the same content may differ: names of months and weekdays, and the words of the host's own name, since a
/// thousand hosts of one domain may greet with it. `my-shop.example` is three words.
#[derive(Debug)]
pub(in crate::crawl) struct KnownWords {
    own: [u32; MOST],
    count: usize,
    /// A bit for the first twelve bits of each hash, which is enough to rule out nearly all other words.
    bits: [u64; 64],
}

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownWord {
    /// It means nothing: a part of the host's name, or an empty cell.
    Blank,
    /// The name of a month or weekday.
    Date,
    /// Any other word.
    Other,
}

impl KnownWords {
    /// The known words for pages of this host.
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

    /// The kind of a word, from its hash as a word that is not a number.
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

/// The position of a word's bit.
fn place(hash: u32) -> (usize, u64) {
    ((hash >> 26) as usize, 1 << (hash >> 20 & 63))
}
