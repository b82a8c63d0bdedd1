//! A page's record in the output, as the journal knows it.

use crate::address::FingerprintKey;

/// A page's record in the output: what must be found there for the page to count as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Bytes of the output up to the record's end.
    pub end: u64,
    /// Bytes of the record.
    pub length: u32,
    /// The lower half of the record's XXH3-64, seeded with 0.
    pub checksum: u32,
}

impl Receipt {
    /// For a record that follows `before` bytes of output.
    pub(crate) fn of(record: &[u8], before: u64) -> Self {
        // A record is cut long before 4 GiB.
        let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
        Self { end: before + u64::from(length), length, checksum: Self::checksum(record) }
    }

    /// What [`checksum`](Self::checksum) should be.
    #[expect(clippy::cast_possible_truncation, reason = "its lower half is meant")]
    pub fn checksum(record: &[u8]) -> u32 {
        FingerprintKey::from_u64(0).fingerprint_bytes(record).bits() as u32
    }
}
