//! The load: keys, and the order in which they come.

use crawler::address::Fingerprint;

/// The `count`th key: distinct and even, as a keyed hash gives them.
pub(crate) fn nth(count: u64) -> Fingerprint {
    let bits = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint::from_bits(bits ^ bits >> 31)
}

/// Keys in turns, 30 % of them new, until `urls` new ones were made.
pub(crate) struct Stream {
    urls: u64,
    made: u64,
    random: u64,
}

impl Stream {
    pub(crate) fn new(urls: u64) -> Self {
        Self { urls, made: 0, random: 0 }
    }

    /// Makes this many more keys. Returns whether there are any.
    pub(crate) fn next(&mut self, most: usize, keys: &mut Vec<Fingerprint>) -> bool {
        keys.clear();
        while keys.len() < most && self.made < self.urls {
            self.random += 1;
            let random = nth(self.random ^ 1 << 60).bits();
            let count = if self.made == 0 || random % 10 < 3 {
                self.made += 1;
                self.made
            } else {
                1 + scale(random, self.made as usize) as u64
            };
            keys.push(nth(count));
        }
        !keys.is_empty()
    }
}

/// `place / 2^64` of `most`, rounded down.
pub(crate) fn scale(place: u64, most: usize) -> usize {
    ((u128::from(place) * most as u128) >> 64) as usize
}

/// A URL of 66 bytes, written into `url`.
pub(crate) fn write_url(url: &mut String, key: Fingerprint) {
    use std::fmt::Write;
    url.clear();
    write!(url, "https://www.example.org/catalogue/books/fiction/{:016x}.h", key.bits()).expect("a string grows");
}
