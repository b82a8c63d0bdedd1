//! Fingerprints: 64 keyed bits that stand for a URL, and the hash function that makes them.

use std::hash::{BuildHasher, RandomState};

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

/// 64 keyed bits that stand for a URL's key. They are the same on every machine and in every
/// version, so they may be written to disk.
///
/// The chance that any two of a billion URLs share a fingerprint is 2.7 %, so one URL is lost in some 37 such crawls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint with these bits, which [`bits`](Self::bits) gave before.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits, to be stored or compared.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// The random number that keys a job's fingerprints. It is kept in the job's manifest, and a
/// hostile site cannot predict it.
///
/// XXH3 is no cryptographic hash: anyone with the number can make URLs that collide. So it does not leave the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintKey(u64);

impl FingerprintKey {
    /// The version of the derivation from a key's text to its fingerprint. 1 is XXH3 with 64 bits, seeded, over the text's bytes; of an
    /// [identity](super::Identity), over the byte FF and its bytes.
    ///
    /// It is written wherever fingerprints are written. A released derivation never changes, and a file with an unknown version is refused.
    pub const STRATEGY: u32 = 1;

    /// Drawn at random, for a new job.
    pub fn random() -> Self {
        // The standard library keys its hash maps with random numbers of the operating system, and SipHash reveals nothing about that key.
        // So this is as good as asking the system, and needs no dependency.
        Self(RandomState::new().hash_one(()))
    }

    /// The key with this number, which [`to_u64`](Self::to_u64) gave before.
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// The number, for the manifest.
    pub const fn to_u64(self) -> u64 {
        self.0
    }

    /// The fingerprint of a URL's key.
    pub fn fingerprint(self, key: &str) -> Fingerprint {
        self.fingerprint_bytes(key.as_bytes())
    }

    /// The fingerprint of any bytes. For a text's bytes it is the text's fingerprint.
    pub fn fingerprint_bytes(self, bytes: &[u8]) -> Fingerprint {
        Fingerprint(xxh3_64_with_seed(bytes, self.0))
    }

    /// The fingerprint of a vector of integers: the fingerprint of its bytes, each word's lowest first. The same on every machine.
    pub fn fingerprint_words(self, words: &[u32]) -> Fingerprint {
        const PIECE: usize = 256;
        let mut buffer = [0; 4 * PIECE];
        if words.len() <= PIECE {
            return self.fingerprint_bytes(pack(words, &mut buffer));
        }
        let mut hasher = Xxh3::with_seed(self.0);
        for piece in words.chunks(PIECE) {
            hasher.update(pack(piece, &mut buffer));
        }
        Fingerprint(hasher.digest())
    }
}

/// Writes the words' bytes, each word's lowest first, at the start of the buffer.
fn pack<'a>(words: &[u32], buffer: &'a mut [u8]) -> &'a [u8] {
    for (bytes, word) in buffer.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    &buffer[..4 * words.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_their_bytes() {
        let key = FingerprintKey::from_u64(9);
        for count in [0, 1, 127, 128, 255, 256, 257, 1000] {
            let words: Vec<u32> = (0..count).map(|word: u32| word.wrapping_mul(0x9e37_79b9)).collect();
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(key.fingerprint_words(&words), key.fingerprint_bytes(&bytes), "{count} words");
        }
    }

    /// From the reference implementation (xxHash 0.8, by its Python binding): one for each way in which XXH3 handles a length.
    #[test]
    fn strategy_1_never_changes() {
        assert_eq!(FingerprintKey::STRATEGY, 1);
        let long = format!("http://a.org/{}", "x".repeat(300));
        let middle = "https://www.example.org/catalogue/books/fiction/page-42.html?a=1&b=22xyz";
        for (text, bits) in [
            ("", [0x2d06_8005_38d3_94c2, 0x4dc5_b0cc_826f_6703, 0x602b_0e2c_d666_2c8b]),
            ("http://a.org/", [0xc885_054b_1725_fedf, 0x066d_0c0b_5931_06f9, 0x2b90_9ad8_9028_19f7]),
            (middle, [0x1af1_3197_363b_83a2, 0x57c6_89bb_7078_8d50, 0x48c5_25e1_ea69_7a93]),
            (&long, [0xfa98_ecd8_8a02_d83e, 0xb299_52d9_eb2f_99c7, 0x7169_f4f2_bf35_9514]),
        ] {
            let keys = [0, 1, 0x9e37_79b9_7f4a_7c15].map(FingerprintKey::from_u64);
            assert_eq!(keys.map(|key| key.fingerprint(text).bits()), bits, "{text}");
        }
    }

    #[test]
    fn keys_drawn_at_random_differ() {
        let keys: std::collections::HashSet<_> = (0..100).map(|_| FingerprintKey::random().to_u64()).collect();
        assert_eq!(keys.len(), 100);
    }
}
