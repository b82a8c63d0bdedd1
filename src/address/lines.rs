//! A list of any size, line by line.

use std::io::{self, BufRead, Read};

use super::AddressError;

/// Reads a list line by line. However long a line is, no more of it is kept than an address could
/// have.
#[derive(Debug)]
pub(crate) struct TextLines<R> {
    reader: R,
    max_bytes: usize,
    kept: Vec<u8>,
    number: u64,
}

/// Bytes that a line may have beyond its URL: a byte-order mark, a line end, some blanks.
pub(crate) const MARGIN: usize = 64;

impl<R: BufRead> TextLines<R> {
    /// The lines of a reader. `max_bytes` is the most that an address may have.
    pub(crate) fn new(reader: R, max_bytes: usize) -> Self {
        Self { reader, max_bytes, kept: Vec::new(), number: 0 }
    }

    /// Lines that were read so far, with the one that failed.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line, without a byte-order mark and the blanks around it; `None` at the end. Of a line
    /// that is too long the rest is skipped and counted, so that the error can say its length.
    ///
    /// # Errors
    /// Where the reader fails.
    pub(crate) fn next(&mut self) -> io::Result<Option<TextLine<'_>>> {
        self.kept.clear();
        self.number += 1;
        let most = self.max_bytes.saturating_add(MARGIN);
        let mut length = self.reader.by_ref().take(most as u64).read_until(b'\n', &mut self.kept)?;
        if length == 0 {
            return Ok(None);
        }
        if length == most && !self.kept.ends_with(b"\n") {
            length += self.reader.skip_until(b'\n')?;
        }
        Ok(Some(TextLine::new(self.number, &self.kept, length, self.max_bytes)))
    }
}

/// One line, without the blanks around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextLine<'a> {
    /// 1-based.
    pub(crate) number: u64,
    /// What was kept of it.
    pub(crate) kept: &'a [u8],
    /// Bytes in the whole line, with its end.
    length: usize,
    max_bytes: usize,
}

impl<'a> TextLine<'a> {
    /// A line of `length` bytes, of which all was kept or at least more than an address may have.
    pub(crate) fn new(number: u64, kept: &'a [u8], length: usize, max_bytes: usize) -> Self {
        let start = if number == 1 && kept.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        Self { number, kept: kept[start..].trim_ascii(), length, max_bytes }
    }

    /// The line as text.
    ///
    /// # Errors
    /// Where it is longer than an address may be, or is not UTF-8.
    pub(crate) fn text(self) -> Result<&'a str, AddressError> {
        if self.length > self.max_bytes.saturating_add(MARGIN) {
            return Err(AddressError::TooLong { length: self.length, limit: self.max_bytes });
        }
        std::str::from_utf8(self.kept).map_err(|_| AddressError::Malformed("invalid UTF-8".to_owned()))
    }
}
