//! A page's bytes in one output, as the journal knows them.

use crate::bytes::half_checksum;

/// A page's bytes in one output: what must be found there for the page to count as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Bytes of the output up to their end.
    pub end: u64,
    /// How many they are.
    pub length: u32,
    /// The lower half of their XXH3-64, seeded with 0.
    pub checksum: u32,
}

impl Receipt {
    /// For bytes that follow `before` bytes of output. So what stands in an output is what a receipt speaks of where
    /// `Receipt::of(written, before)` is that receipt.
    pub fn of(written: &[u8], before: u64) -> Self {
        // What is written of a page is cut long before 4 GiB.
        let length = u32::try_from(written.len()).unwrap_or(u32::MAX);
        Self { end: before + u64::from(length), length, checksum: Self::checksum(written) }
    }

    /// The [`checksum`](Self#structfield.checksum) that these bytes have.
    pub(crate) fn checksum(written: &[u8]) -> u32 {
        u32::from_le_bytes(half_checksum(0, written))
    }
}
