//! What else remembers URLs in memory: whole strings, fingerprints, one bit each.

use std::collections::HashSet;

use super::contender::{Contender, collision_rate, flat, table_bytes};
use crate::address::FingerprintKey;
use crate::seen::Sizing;

/// The URLs themselves, in the standard library's set.
#[derive(Default)]
pub(super) struct Strings {
    set: HashSet<Box<str>>,
    /// What their own allocations take.
    heap: u64,
}

impl Contender<str> for Strings {
    fn insert(&mut self, key: &str) -> bool {
        // A repeated URL is not worth an allocation.
        if self.set.contains(key) {
            return false;
        }
        self.heap += allocated(key.len());
        self.set.insert(key.into())
    }

    fn contains(&self, key: &str) -> bool {
        self.set.contains(key)
    }

    fn bytes(&self) -> u64 {
        table_bytes(self.set.capacity(), size_of::<Box<str>>()) + self.heap
    }

    fn rate(&self, _: f64) -> f64 {
        0.0
    }

    fn expected_lost(&self, _: f64) -> f64 {
        0.0
    }
}

/// What an allocator takes for so many bytes: 8 more, in steps of 16, and no less than 32 (as glibc's does).
fn allocated(bytes: usize) -> u64 {
    ((bytes + 8).next_multiple_of(16)).max(32) as u64
}

/// Fingerprints of 8 bytes, in the standard library's set.
pub(super) struct Fingerprints {
    set: HashSet<u64>,
    key: FingerprintKey,
}

impl Default for Fingerprints {
    fn default() -> Self {
        Self { set: HashSet::new(), key: FingerprintKey::from_u64(0) }
    }
}

impl Contender<str> for Fingerprints {
    fn insert(&mut self, key: &str) -> bool {
        self.set.insert(self.key.fingerprint(key).bits())
    }

    fn contains(&self, key: &str) -> bool {
        self.set.contains(&self.key.fingerprint(key).bits())
    }

    fn bytes(&self) -> u64 {
        table_bytes(self.set.capacity(), 8)
    }

    fn rate(&self, keys: f64) -> f64 {
        collision_rate(keys, 64)
    }

    fn expected_lost(&self, keys: f64) -> f64 {
        keys * self.rate(keys) / 2.0
    }
}

/// One bit a URL: a Bloom filter with one probe, so of `1/p` bits for each URL.
pub(super) struct Bitmap {
    words: Vec<u64>,
    sizing: Sizing,
    key: FingerprintKey,
}

/// A bitmap larger than this is not worth the wait.
const MAX_BITMAP_BYTES: f64 = (1_u64 << 30) as f64;

impl Bitmap {
    /// As large as it takes for this rate after so many URLs.
    pub(super) fn new(urls: usize, rate: f64) -> Result<Self, String> {
        // The fill is the rate: `1 - (1 - 1/m)^n = p`, solved for m.
        let bits = -1.0 / ((-rate).ln_1p() / urls as f64).exp_m1();
        if bits / 8.0 > MAX_BITMAP_BYTES {
            return Err(format!("a bitmap of {:.0} MiB, above the bound of 1 GiB", bits / 8.0 / 1_048_576.0));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above, and not negative")]
        let words = (bits / 64.0).ceil().max(1.0) as usize;
        let sizing = flat(words as u64 * 64, 1);
        Ok(Self { words: vec![0; words], sizing, key: FingerprintKey::from_u64(0) })
    }

    fn place(&self, key: &str) -> (usize, u64) {
        let bit = (u128::from(self.key.fingerprint(key).bits()) * u128::from(self.sizing.bits)) >> 64;
        #[expect(clippy::cast_possible_truncation, reason = "below the number of bits, which are in memory")]
        let bit = bit as usize;
        (bit / 64, 1 << (bit % 64))
    }
}

impl Contender<str> for Bitmap {
    fn insert(&mut self, key: &str) -> bool {
        let (word, mask) = self.place(key);
        let new = self.words[word] & mask == 0;
        self.words[word] |= mask;
        new
    }

    fn contains(&self, key: &str) -> bool {
        let (word, mask) = self.place(key);
        self.words[word] & mask != 0
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }

    fn rate(&self, keys: f64) -> f64 {
        self.sizing.rate(keys)
    }

    fn expected_lost(&self, keys: f64) -> f64 {
        self.sizing.expected_lost(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bitmap_is_as_large_as_its_rate_takes() {
        let bitmap = Bitmap::new(20_000, 0.01).unwrap();
        assert!((bitmap.rate(20_000.0) - 0.01).abs() < 1e-5);
        // n / -ln(1 - p) bits.
        assert_eq!(bitmap.bytes(), 248_752);
        assert!(Bitmap::new(1_000_000, 1e-6).is_err_and(|reason| reason.contains("1 GiB")));
    }

    #[test]
    fn small_allocations_are_rounded_up() {
        assert_eq!([1, 24, 25, 56, 57].map(allocated), [32, 32, 48, 64, 80]);
    }
}
