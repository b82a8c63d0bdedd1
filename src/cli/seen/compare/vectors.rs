//! Vectors of 512 bytes, hashed a byte or a word at a time.

use super::experiment::{Row, run};
use super::layouts::Seen;
use super::workload::Workload;
use crate::address::{Fingerprint, FingerprintKey};
use crate::seen::Layout;

/// Words in a vector.
const WORDS: u32 = 128;
/// Maximum number of vectors that are shown, and of vectors that are not: 51 MB in all.
const MAX_VECTORS: usize = 50_000;
/// Low enough for a filter, and high enough to be measurable with so few vectors.
pub(super) const RATE: f64 = 1e-3;

/// Measures each way to hash with the same filter.
pub(super) fn rows(urls: usize) -> Vec<Row> {
    let count = urls.clamp(1, MAX_VECTORS);
    let vectors: Vec<Box<[u32]>> = (0..2 * count as u64).map(vector).collect();
    let (shown, others) = vectors.split_at(count);
    let load = Workload { shown, others, stream: &[] };
    vec![
        row("a byte at a time", by_bytes, load),
        row("a word at a time", by_words, load),
        row("insert_words", FingerprintKey::fingerprint_words, load),
    ]
}

fn row(name: &str, hash: impl Fn(FingerprintKey, &[u32]) -> Fingerprint + Copy, load: Workload<'_, [u32]>) -> Row {
    Row::new(name, run(|| Seen::new(Layout::Blocked, load.shown.len(), RATE, hash), load))
}

/// A vector of small counts, like a vector of features, derived from `number`.
fn vector(number: u64) -> Box<[u32]> {
    (0..u64::from(WORDS)).map(|word| mix(number << 7 | word) % 1000).collect()
}

/// Evenly spread bits (Steele, Lea and Flood 2014, `SplitMix`), the upper 32.
fn mix(number: u64) -> u32 {
    let bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    u32::try_from((bits ^ bits >> 31) >> 32).expect("32 bits are left")
}

fn by_bytes(_: FingerprintKey, words: &[u32]) -> Fingerprint {
    fnv(words.iter().flat_map(|word| word.to_le_bytes()).map(u64::from))
}

fn by_words(_: FingerprintKey, words: &[u32]) -> Fingerprint {
    fnv(words.iter().copied().map(u64::from))
}

/// FNV-1a in 64 bits (Fowler, Noll, Vo; RFC 9923), over units of any size.
fn fnv(units: impl Iterator<Item = u64>) -> Fingerprint {
    Fingerprint::from_bits(units.fold(0xcbf2_9ce4_8422_2325, |hash, unit| (hash ^ unit).wrapping_mul(0x0100_0000_01b3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_is_fnv() {
        // From the reference test vectors.
        assert_eq!(fnv(std::iter::empty()).bits(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"foobar".iter().copied().map(u64::from)).bits(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn vectors_differ() {
        let vectors: std::collections::HashSet<_> = (0..5000).map(vector).collect();
        assert_eq!(vectors.len(), 5000);
        assert!(vectors.iter().all(|vector| size_of_val(&**vector) == 512));
    }
}
