//! CRC-32C (Castagnoli), the checksum that shows that a message is whole (RFC 3720 appendix B.4).

const POLYNOMIAL: u32 = 0x82f6_3b78;

/// Bytes that are processed at once.
const STEP: usize = 8;

/// Table `n` has the checksum of each byte followed by `n` zero bytes.
const TABLES: [[u32; 256]; STEP] = {
    let mut tables = [[0; 256]; STEP];
    let (mut byte, mut number) = (0, 0_u32);
    while byte < 256 {
        let (mut sum, mut bit) = (number, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        (byte, number) = (byte + 1, number + 1);
    }
    let mut zeros = 1;
    while zeros < STEP {
        byte = 0;
        while byte < 256 {
            let sum = tables[zeros - 1][byte];
            tables[zeros][byte] = sum >> 8 ^ tables[0][(sum & 0xff) as usize];
            byte += 1;
        }
        zeros += 1;
    }
    tables
};

/// The checksum of these bytes, eight at a time: each byte goes through the table for the number of bytes after it (Kounavis and Berry,
/// "Novel Table Lookup-Based Algorithms for High-Performance CRC Generation", 2008).
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let (steps, rest) = bytes.as_chunks::<STEP>();
    let sum = steps.iter().fold(!0_u32, |sum, step| {
        let mixed = u64::from_le_bytes(*step) ^ u64::from(sum);
        let parts = TABLES.iter().rev().zip(mixed.to_le_bytes());
        parts.fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)])
    });
    !rest.iter().fold(sum, |sum, byte| sum >> 8 ^ TABLES[0][usize::from(sum.to_le_bytes()[0] ^ byte)])
}

/// Appends the checksum of the bytes.
pub(super) fn seal(bytes: &mut Vec<u8>) {
    let sum = crc32c(bytes);
    bytes.extend(sum.to_le_bytes());
}

/// The bytes before the checksum.
///
/// # Errors
/// If the checksum does not match them.
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
