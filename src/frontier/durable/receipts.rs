//! What a page wrote to each output, as the journal knows it.
//!
//! ```text
//! for each output:  length    u8, of its name
//!                   name      UTF-8
//!                   end       u64, where the page's bytes end in the output
//!                   length    u32, how many they are
//!                   checksum  u32, of them
//! ```
//!
//! Numbers are little-endian. After a crash the outputs are checked for these bytes, and a page whose bytes one of them lacks is queued
//! again.

use std::fmt;

use super::Receipt;
use crate::bytes::Fields;

/// What a page wrote to the outputs: a [`Receipt`] for each, under the output's name. Each page names the same output first: the order of
/// records there is the order in which pages were done.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Receipts<'a>(&'a [u8]);

/// Bytes of the longest list. A record stores its length, together with its host's, in two bytes.
const MOST: usize = 63 << 10;

/// A list of receipts being built.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiptsBuf(Vec<u8>);

impl ReceiptsBuf {
    /// The list of these receipts, each with its output's name.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub(crate) fn of(receipts: &[(&str, Receipt)]) -> Self {
        let mut made = Self::default();
        for (output, receipt) in receipts {
            made.push(output, *receipt);
        }
        made
    }

    /// Adds a receipt.
    ///
    /// # Panics
    /// If the name has more than 255 bytes, which no file name has; if the list takes more than 63 KiB, as 240 outputs with the longest
    /// names do.
    pub(crate) fn push(&mut self, output: &str, receipt: Receipt) {
        let Receipt { end, length, checksum } = receipt;
        self.0.push(u8::try_from(output.len()).expect("a file's name"));
        self.0.extend(output.bytes());
        self.0.extend(end.to_le_bytes());
        self.0.extend([length, checksum].into_iter().flat_map(u32::to_le_bytes));
        assert!(self.0.len() <= MOST, "the journal keeps at most 63 KiB of receipts for a page");
    }

    /// The list.
    pub(crate) fn list(&self) -> Receipts<'_> {
        Receipts(&self.0)
    }
}

impl<'a> Receipts<'a> {
    /// Reads a list from its bytes in the journal.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let mut rest = bytes;
        while !rest.is_empty() {
            take(&mut rest)?;
        }
        Ok(Self(bytes))
    }

    /// The bytes that [`read`](Self::read) reads.
    pub(crate) fn to_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Whether nothing was written, or nothing that could be read again.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each receipt with its output's name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, Receipt)> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || take(&mut rest).ok())
    }

    /// The receipt of the first output.
    pub(crate) fn first(&self) -> Option<Receipt> {
        self.iter().next().map(|(_, receipt)| receipt)
    }
}

/// Takes one receipt off the front.
fn take<'a>(rest: &mut &'a [u8]) -> Result<(&'a str, Receipt), &'static str> {
    let mut fields = Fields::of(rest);
    let length = fields.u8()?;
    let output = fields.text(length.into())?;
    let receipt = Receipt { end: fields.u64()?, length: fields.u32()?, checksum: fields.u32()? };
    *rest = fields.bytes();
    Ok((output, receipt))
}

impl fmt::Debug for Receipts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "at most 63 KiB")]
    fn a_list_that_the_journal_could_not_keep_is_refused() {
        let mut receipts = ReceiptsBuf::default();
        (0..5_000).for_each(|number| receipts.push("pages.jsonl", Receipt::of(b"{}", number * 2)));
    }
}
