//! One array of bits, in which each URL sets some: the contenders that are neither sets nor layouts of the seen set.

use super::contender::Contender;
use crate::address::FingerprintKey;
use crate::seen::{Layout, Sizing};

/// An array of bits; each URL sets `PROBES` of them, at the places that `P` computes.
pub(super) struct Bits<const PROBES: usize, P> {
    words: Vec<u64>,
    /// The theory of a filter with evenly spread probes.
    sizing: Sizing,
    places: P,
}

impl<const PROBES: usize, P: Fn(&str) -> [usize; PROBES]> Bits<PROBES, P> {
    /// An array of this many words, all bits 0. Probes reach only `reached` of the bits.
    pub(super) fn new(words: usize, reached: u64, places: P) -> Self {
        let sizing = Sizing {
            layout: Layout::Standard,
            bits: reached,
            probes: u32::try_from(PROBES).expect("a few"),
            identity_bits: 0,
        };
        Self { words: vec![0; words], sizing, places }
    }
}

/// A bitmap larger than this is not worth the wait.
const MAX_BITMAP_BYTES: f64 = (1_u64 << 30) as f64;

/// A Bloom filter with one probe, large enough for this rate after this many URLs.
pub(super) fn bitmap(urls: usize, rate: f64) -> Result<Bits<1, impl Fn(&str) -> [usize; 1]>, String> {
    // The fill is the rate: `1 - (1 - 1/m)^n = p`, solved for m.
    let bits = -1.0 / ((-rate).ln_1p() / urls as f64).exp_m1();
    if bits / 8.0 > MAX_BITMAP_BYTES {
        return Err(format!("a bitmap of {:.0} MiB, above the bound of 1 GiB", bits / 8.0 / 1_048_576.0));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above, and not negative")]
    let words = (bits / 64.0).ceil().max(1.0) as usize;
    let bits = words as u64 * 64;
    let places = move |url: &str| {
        let place = (u128::from(FingerprintKey::from_u64(0).fingerprint(url).bits()) * u128::from(bits)) >> 64;
        [usize::try_from(place).expect("below the number of bits, which are in memory")]
    };
    Ok(Bits::new(words, bits, places))
}

impl<const PROBES: usize, P: Fn(&str) -> [usize; PROBES]> Contender<str> for Bits<PROBES, P> {
    fn insert(&mut self, key: &str) -> bool {
        let mut new = false;
        for place in (self.places)(key) {
            let (word, mask) = (&mut self.words[place / 64], 1 << (place % 64));
            new |= *word & mask == 0;
            *word |= mask;
        }
        new
    }

    fn contains(&self, key: &str) -> bool {
        (self.places)(key).iter().all(|place| self.words[place / 64] & 1 << (place % 64) != 0)
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
        let map = bitmap(20_000, 0.01).unwrap();
        assert!((map.rate(20_000.0) - 0.01).abs() < 1e-5);
        // n / -ln(1 - p) bits.
        assert_eq!(map.bytes(), 248_752);
        assert!(bitmap(1_000_000, 1e-6).is_err_and(|reason| reason.contains("1 GiB")));
    }
}
