//! The lines of a file, last line first.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes read at once.
const STEP: u64 = 64 << 10;

/// The complete lines of a file, last line first. Keeps the longest line and one step in memory.
#[derive(Debug)]
pub(super) struct LinesBackward {
    file: File,
    /// Where `bytes` begin in the file.
    start: u64,
    /// Bytes read but not yet returned; empty, or ends with a line end.
    bytes: Vec<u8>,
}

impl LinesBackward {
    /// Reads the first `length` bytes of a file. Ignores anything after the last line end.
    pub(super) fn of(file: File, length: u64) -> io::Result<Self> {
        let mut lines = Self { file, start: length, bytes: Vec::new() };
        while !lines.bytes.contains(&b'\n') && lines.read_more()? {}
        let end = lines.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        lines.bytes.truncate(end);
        Ok(lines)
    }

    /// Where the lines end that are not yet returned.
    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// The next line, without its end, and where it begins; `None` after the first line of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        if self.bytes.is_empty() && !self.read_more()? {
            return Ok(None);
        }
        let begin = loop {
            let before = self.bytes.len() - 1;
            match self.bytes[..before].iter().rposition(|byte| *byte == b'\n') {
                Some(end) => break end + 1,
                None if !self.read_more()? => break 0,
                None => {}
            }
        };
        let mut line = self.bytes.split_off(begin);
        line.pop();
        Ok(Some((self.start + begin as u64, line)))
    }

    /// Reads one step further toward the beginning. Returns whether there was one.
    fn read_more(&mut self) -> io::Result<bool> {
        let step = self.start.min(STEP);
        self.start -= step;
        let mut bytes = vec![0; usize::try_from(step).unwrap_or_default()];
        self.file.seek(SeekFrom::Start(self.start))?;
        self.file.read_exact(&mut bytes)?;
        bytes.append(&mut self.bytes);
        self.bytes = bytes;
        Ok(step > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn they_come_as_they_are_written() {
        let long = "x".repeat(200 << 10);
        for (text, end) in [
            (String::new(), 0),
            ("half".to_owned(), 0),
            ("one\n\ntwo\nhalf".to_owned(), 9),
            (format!("{long}\n{long}1\n"), 2 * long.len() as u64 + 3),
            (long.clone(), 0),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let mut lines = LinesBackward::of(file, text.len() as u64).unwrap();
            assert_eq!(lines.end(), end);
            let mut found = Vec::new();
            while let Some((start, line)) = lines.next().unwrap() {
                assert_eq!(lines.end(), start);
                found.insert(0, String::from_utf8(line).unwrap());
            }
            let whole = &text[..usize::try_from(end).unwrap()];
            assert!(found == whole.lines().collect::<Vec<_>>(), "{} lines of {} bytes", found.len(), text.len());
        }
    }
}
