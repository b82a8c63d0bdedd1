//! Digests in the form of WARC records: SHA-1 in Base32.

use sha1::{Digest, Sha1};

/// Bytes of a SHA-1.
pub(super) const BYTES: usize = 20;

/// The alphabet of Base32 (RFC 4648 section 6).
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The SHA-1 of these parts together.
pub(super) fn sha1(parts: &[&[u8]]) -> [u8; BYTES] {
    parts.iter().fold(Sha1::new(), Sha1::chain_update).finalize().into()
}

/// `sha1:` and the digest of these parts together.
pub(super) fn digest(parts: &[&[u8]]) -> String {
    let mut text = String::with_capacity(37);
    text.push_str("sha1:");
    for five in sha1(parts).chunks(5) {
        let bits = five.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        text.extend(
            (0..8).rev().map(|letter| char::from(LETTERS[usize::from((bits >> (5 * letter)).to_le_bytes()[0] & 31)])),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing: the payload digest of a request in every archive. `abc`: the example of FIPS 180, in Base32.
    #[test]
    fn digests_are_those_that_others_make() {
        assert_eq!(digest(&[]), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(digest(&[b"hel", b"lo"]), "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N");
        assert_eq!(digest(&[b"abc"]), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
    }
}
