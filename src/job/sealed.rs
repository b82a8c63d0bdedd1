//! Texts whose last line is a checksum of everything before it.
//!
//! ```text
//! https://example.org/
//! # checksum: 5d1e8a0c93b7f264
//! ```
//!
//! A person can read them and a program can write them. The checksum finds a bit that a disk has flipped; it does not protect against
//! tampering.

#[cfg(feature = "cli")]
use std::io::{self, Read, Seek, SeekFrom, Write};

#[cfg(feature = "cli")]
use crate::bytes::RunningChecksum;
use crate::bytes::checksum;

/// Comes before the checksum, which is in hexadecimal.
pub(super) const BEGIN: &str = "# checksum: ";
/// Bytes of the last line.
const LINE: usize = BEGIN.len() + 16 + 1;
/// Bytes that are read at once.
#[cfg(feature = "cli")]
const PIECE: usize = 64 << 10;

/// The last line of a text with this checksum.
fn last_line(checksum: u64) -> String {
    format!("{BEGIN}{checksum:016x}\n")
}

/// A text with its checksum.
pub(super) fn seal(mut text: String) -> String {
    let line = last_line(checksum(0, text.as_bytes()));
    text.push_str(&line);
    text
}

/// The text without its checksum; `None` if the checksum is missing or wrong.
pub(super) fn unseal(sealed: &[u8]) -> Option<&[u8]> {
    let (text, line) = sealed.split_at(sealed.len().checked_sub(LINE)?);
    (line == last_line(checksum(0, text)).as_bytes()).then_some(text)
}

/// How many bytes of a file its checksum covers; `None` if the checksum is missing or wrong. Reads the file once.
#[cfg(feature = "cli")]
pub(crate) fn sealed_bytes(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let Some(text) = file.seek(SeekFrom::End(0))?.checked_sub(LINE as u64) else { return Ok(None) };
    file.rewind()?;
    let (mut running, mut piece, mut left) = (RunningChecksum::default(), vec![0; PIECE], text);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let read = file.read(&mut piece[..most])?;
        if read == 0 {
            return Ok(None);
        }
        running.update(&piece[..read]);
        left -= read as u64;
    }
    let mut line = Vec::new();
    file.read_to_end(&mut line)?;
    Ok((line == last_line(running.finish()).as_bytes()).then_some(text))
}

/// Writes a text piece by piece, and its checksum at the end.
#[cfg(feature = "cli")]
pub(crate) struct Sealing<W> {
    to: W,
    running: RunningChecksum,
}

#[cfg(feature = "cli")]
impl<W: Write> Sealing<W> {
    /// Begins the text.
    pub(crate) fn new(to: W) -> Self {
        Self { to, running: RunningChecksum::default() }
    }

    /// Writes the checksum.
    ///
    /// # Errors
    /// If the writer fails.
    pub(crate) fn seal(mut self) -> io::Result<()> {
        self.to.write_all(last_line(self.running.finish()).as_bytes())?;
        self.to.flush()
    }
}

#[cfg(feature = "cli")]
impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.running.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn each_bit_that_is_turned_is_found() {
        for text in ["", "https://a.test/\n", "no line end"] {
            let sealed = seal(text.to_owned());
            let mut written = Vec::new();
            let mut sealing = Sealing::new(&mut written);
            sealing.write_all(text.as_bytes()).unwrap();
            sealing.seal().unwrap();
            assert_eq!(written, sealed.as_bytes());
            let whole = |bytes: &[u8]| {
                let found = sealed_bytes(&mut Cursor::new(bytes)).unwrap();
                assert_eq!(found, unseal(bytes).map(|text| text.len() as u64));
                found.is_some()
            };
            assert!(whole(sealed.as_bytes()));
            for bit in 0..sealed.len() * 8 {
                let mut damaged = sealed.clone().into_bytes();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert!(!whole(&damaged), "bit {bit}");
            }
            for length in 0..sealed.len() {
                assert!(!whole(&sealed.as_bytes()[..length]));
            }
        }
    }
}
