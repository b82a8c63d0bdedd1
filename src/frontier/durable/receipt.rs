//! A page's bytes in one output, as the journal knows them.

use crate::bytes::half_checksum;

/// A page's bytes in one output, which must be there for the page to count as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The offset in the output at which they end.
    pub end: u64,
    /// The number of bytes.
    pub length: u32,
    /// The lower half of their XXH3-64, seeded with 0.
    pub checksum: u32,
}

impl Receipt {
    /// The receipt of bytes that follow `before` bytes of output. To check an output against a receipt, compare it with `Receipt::of` of
    /// the bytes found there.
    pub fn of(written: &[u8], before: u64) -> Self {
        // A page's record is cut long before 4 GiB.
        let length = u32::try_from(written.len()).unwrap_or(u32::MAX);
        Self { end: before + u64::from(length), length, checksum: Self::checksum(written) }
    }

    /// The [`checksum`](Self#structfield.checksum) of these bytes.
    pub(crate) fn checksum(written: &[u8]) -> u32 {
        u32::from_le_bytes(half_checksum(0, written))
    }
}
