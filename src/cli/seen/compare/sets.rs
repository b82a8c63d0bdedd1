//! The standard library's set, of whole URLs or of their digests. The one door to MD5 and SHA-1.

use std::collections::HashSet;

use md5::Md5;
use sha1::{Digest, Sha1};

use super::contender::{Contender, table_bytes};
use crate::address::FingerprintKey;

/// Whole URLs in the standard library's set.
#[derive(Default)]
pub(super) struct Strings {
    set: HashSet<Box<str>>,
    /// Bytes of the strings' own allocations.
    heap: u64,
}

impl Contender<str> for Strings {
    fn insert(&mut self, key: &str) -> bool {
        // A repeated URL needs no allocation.
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
}

/// Bytes that an allocator uses for this many: 8 more, in steps of 16, and at least 32 (as glibc does).
fn allocated(bytes: usize) -> u64 {
    ((bytes + 8).next_multiple_of(16)).max(32) as u64
}

/// A set of digests instead of URLs: two URLs with the same digest count as one.
pub(super) struct Digests<D> {
    set: HashSet<D>,
    digest: fn(&str) -> D,
}

impl<D> Digests<D> {
    fn of(digest: fn(&str) -> D) -> Self {
        Self { set: HashSet::new(), digest }
    }
}

/// Fingerprints of 8 bytes.
pub(super) fn fingerprints() -> Digests<[u8; 8]> {
    Digests::of(|url| FingerprintKey::from_u64(0).fingerprint(url).bits().to_le_bytes())
}

/// Digests of 16 bytes.
pub(super) fn md5() -> Digests<[u8; 16]> {
    Digests::of(|url| Md5::digest(url).into())
}

/// Digests of 20 bytes.
pub(super) fn sha1() -> Digests<[u8; 20]> {
    Digests::of(|url| Sha1::digest(url).into())
}

impl<const BYTES: usize> Contender<str> for Digests<[u8; BYTES]> {
    fn insert(&mut self, key: &str) -> bool {
        self.set.insert((self.digest)(key))
    }

    fn contains(&self, key: &str) -> bool {
        self.set.contains(&(self.digest)(key))
    }

    fn bytes(&self) -> u64 {
        table_bytes(self.set.capacity(), BYTES)
    }

    fn rate(&self, keys: f64) -> f64 {
        keys / 256_f64.powf(BYTES as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_allocations_are_rounded_up() {
        assert_eq!([1, 24, 25, 56, 57].map(allocated), [32, 32, 48, 64, 80]);
    }

    /// RFC 1321 section A.5 and FIPS 180-1 appendix A.
    #[test]
    fn digests_are_those_of_the_standards() {
        let md5: [u8; 16] = Md5::digest("abc").into();
        assert_eq!(u128::from_be_bytes(md5), 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72);
        let sha1: [u8; 20] = Sha1::digest("abc").into();
        assert_eq!(sha1[..4], [0xa9, 0x99, 0x3e, 0x36]);
    }
}
