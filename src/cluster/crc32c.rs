//! CRC-32C (Castagnoli), by which a message is known to be whole (RFC 3720 appendix B.4).

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The checksum of each byte by itself.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let (mut byte, mut number) = (0, 0_u32);
    while byte < 256 {
        let (mut sum, mut bit) = (number, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        table[byte] = sum;
        (byte, number) = (byte + 1, number + 1);
    }
    table
};

/// The checksum of these bytes.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| sum >> 8 ^ TABLE[usize::from(sum.to_le_bytes()[0] ^ byte)])
}

/// Appends the checksum of all that is there.
pub(super) fn seal(bytes: &mut Vec<u8>) {
    let sum = crc32c(bytes);
    bytes.extend(sum.to_le_bytes());
}

/// What stands before the checksum.
///
/// # Errors
/// Where it is not that of these bytes.
pub(super) fn unseal(bytes: &[u8]) -> Result<&[u8], &'static str> {
    let (content, sum) = bytes.split_last_chunk().ok_or("shorter than its checksum")?;
    if crc32c(content) == u32::from_le_bytes(*sum) { Ok(content) } else { Err("its checksum is another") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_rfc() {
        let ascending: Vec<u8> = (0..32).collect();
        assert_eq!(
            [crc32c(&[0; 32]), crc32c(&[0xff; 32]), crc32c(&ascending)],
            [0x8a91_36aa, 0x62a8_ab43, 0x46dd_794e]
        );
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn a_flipped_bit_is_told() {
        let mut sealed = b"a letter".to_vec();
        seal(&mut sealed);
        assert_eq!(unseal(&sealed), Ok(&b"a letter"[..]));
        for bit in 0..sealed.len() * 8 {
            let mut other = sealed.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal(&other).is_err(), "{bit}");
        }
        assert!(unseal(&sealed[..3]).is_err());
    }
}
