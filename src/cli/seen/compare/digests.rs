//! Sets of digests. The one door to MD5 and SHA-1.

use std::collections::HashSet;

use md5::Md5;
use sha1::{Digest, Sha1};

use super::contender::{Contender, collision_rate, table_bytes};

/// 16 bytes a URL, in the standard library's set.
#[derive(Default)]
pub(super) struct Md5Digests(HashSet<[u8; 16]>);

/// 20 bytes a URL, in the standard library's set.
#[derive(Default)]
pub(super) struct Sha1Digests(HashSet<[u8; 20]>);

impl Contender<str> for Md5Digests {
    fn insert(&mut self, key: &str) -> bool {
        self.0.insert(Md5::digest(key).into())
    }

    fn contains(&self, key: &str) -> bool {
        self.0.contains(&<[u8; 16]>::from(Md5::digest(key)))
    }

    fn bytes(&self) -> u64 {
        table_bytes(self.0.capacity(), 16)
    }

    fn rate(&self, keys: f64) -> f64 {
        collision_rate(keys, 128)
    }

    fn expected_lost(&self, keys: f64) -> f64 {
        keys * self.rate(keys) / 2.0
    }
}

impl Contender<str> for Sha1Digests {
    fn insert(&mut self, key: &str) -> bool {
        self.0.insert(Sha1::digest(key).into())
    }

    fn contains(&self, key: &str) -> bool {
        self.0.contains(&<[u8; 20]>::from(Sha1::digest(key)))
    }

    fn bytes(&self) -> u64 {
        table_bytes(self.0.capacity(), 20)
    }

    fn rate(&self, keys: f64) -> f64 {
        collision_rate(keys, 160)
    }

    fn expected_lost(&self, keys: f64) -> f64 {
        keys * self.rate(keys) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1321 section A.5 and FIPS 180-1 appendix A.
    #[test]
    fn digests_are_those_of_the_standards() {
        let md5: [u8; 16] = Md5::digest("abc").into();
        assert_eq!(u128::from_be_bytes(md5), 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72);
        let sha1: [u8; 20] = Sha1::digest("abc").into();
        assert_eq!(sha1[..4], [0xa9, 0x99, 0x3e, 0x36]);
    }
}
