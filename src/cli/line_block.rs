//! Blocks of lines: the lines of an input that are read together.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr, memchr_iter, memrchr};

use crate::address::AddressError;
use crate::driver::{MARGIN, TextLine};

/// Maximum bytes of a line. No URL is that long; a longer line is refused as a whole.
pub(super) const MAX_LINE: usize = 1 << 20;
/// Bytes per read.
const READ: usize = 1 << 18;

/// Whole lines, one after the other. Its memory is reused for later lines.
#[derive(Debug, Default)]
pub(super) struct LineBlock {
    /// The number of its first line, from 1.
    first: u64,
    /// It only grows.
    buffer: Vec<u8>,
    /// Bytes of the lines in it.
    filled: usize,
    /// If the block is the beginning of one long line: that line's length.
    cut: Option<usize>,
}

/// A line.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputLine<'a> {
    /// From 1.
    pub(super) number: u64,
    /// The offset of its end in its block, line end included.
    pub(super) end: u32,
    /// Without its line end; if it is too long, only its beginning.
    kept: &'a [u8],
    /// Bytes of the whole line, with its end.
    length: usize,
}

impl<'a> InputLine<'a> {
    /// The line as it is.
    ///
    /// # Errors
    /// If it is too long to be kept.
    pub(super) fn raw(self) -> Result<&'a [u8], AddressError> {
        if self.length > MAX_LINE {
            return Err(AddressError::TooLong { length: self.length, limit: MAX_LINE });
        }
        Ok(self.kept)
    }

    /// The line as an entry of a list of addresses with at most `max_bytes` each.
    pub(super) fn text(self, max_bytes: usize) -> TextLine<'a> {
        TextLine::new(self.number, self.kept, self.length, max_bytes.min(MAX_LINE - MARGIN))
    }
}

impl LineBlock {
    /// The number of its first line, from 1.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Its lines, in order.
    pub(super) fn lines(&self) -> impl Iterator<Item = InputLine<'_>> {
        let bytes = &self.buffer[..self.filled];
        // The last line of an input may have no line end.
        let without = (!bytes.is_empty() && !bytes.ends_with(b"\n")).then_some(bytes.len());
        let mut start = 0;
        memchr_iter(b'\n', bytes).map(|at| at + 1).chain(without).zip(self.first..).map(move |(end, number)| {
            let whole = &bytes[start..end];
            start = end;
            let kept = whole.strip_suffix(b"\n").map_or(whole, |kept| kept.strip_suffix(b"\r").unwrap_or(kept));
            let length = self.cut.unwrap_or(whole.len());
            InputLine { number, end: u32::try_from(end).expect("a block is far below 4 GiB"), kept, length }
        })
    }

    /// Keeps only some lines, and returns them unchanged, except that the last one gets a line end if it has none.
    ///
    /// `ends` are the ends of all lines; `is_kept` is called for each in order.
    pub(super) fn keep(&mut self, ends: &[u32], mut is_kept: impl FnMut() -> bool) -> &[u8] {
        let (mut kept, mut run) = (0, 0..0);
        for end in ends.iter().map(|&end| end as usize).chain([usize::MAX]) {
            if end < usize::MAX && is_kept() {
                run.end = end;
                continue;
            }
            let length = run.len();
            self.buffer.copy_within(run, kept);
            kept += length;
            run = end..end;
        }
        if kept > 0 && self.buffer[kept - 1] != b'\n' {
            self.make_room(kept + 1);
            self.buffer[kept] = b'\n';
            kept += 1;
        }
        self.filled = 0;
        &self.buffer[..kept]
    }

    fn make_room(&mut self, bytes: usize) {
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
    }
}

/// Reads an input block by block. A block has the whole lines that are available, so no line waits for later ones.
#[derive(Debug)]
pub(super) struct LineBlocks<R> {
    input: R,
    /// Bytes that were read after the last block.
    rest: Vec<u8>,
    /// The number of the next line.
    next: u64,
    ended: bool,
}

impl<R: Read> LineBlocks<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, rest: Vec::new(), next: 1, ended: false }
    }

    /// Fills a block with the next lines; returns whether there were any.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub(super) fn fill(&mut self, block: &mut LineBlock) -> io::Result<bool> {
        (block.first, block.filled, block.cut) = (self.next, self.rest.len(), None);
        block.make_room(self.rest.len());
        block.buffer[..self.rest.len()].copy_from_slice(&self.rest);
        self.rest.clear();
        let mut searched = 0;
        loop {
            let new = &block.buffer[searched..block.filled];
            if let Some(at) = memrchr(b'\n', new) {
                self.rest.extend_from_slice(&new[at + 1..]);
                block.filled = searched + at + 1;
                break;
            }
            searched = block.filled;
            if searched > MAX_LINE {
                block.cut = Some(self.skip(searched)?);
                block.filled = MAX_LINE;
                break;
            }
            block.make_room(searched + READ);
            let read = self.read(&mut block.buffer[searched..searched + READ])?;
            block.filled += read;
            if read == 0 {
                break;
            }
        }
        let lines = memchr_iter(b'\n', &block.buffer[..block.filled]).count() as u64;
        // Plus one if the last line has no line end.
        self.next += lines.max(1);
        Ok(block.filled > 0)
    }

    /// Skips the rest of a line of which `length` bytes were read; returns its whole length, with its end.
    fn skip(&mut self, mut length: usize) -> io::Result<usize> {
        let mut buffer = vec![0; READ];
        loop {
            let read = self.read(&mut buffer)?;
            if let Some(at) = memchr(b'\n', &buffer[..read]) {
                self.rest.extend_from_slice(&buffer[at + 1..read]);
                return Ok(length + at + 1);
            }
            length += read;
            if read == 0 {
                return Ok(length);
            }
        }
    }

    /// Reads what is available; 0 bytes mean the end.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.ended {
            match self.input.read(into) {
                Ok(0) => self.ended = true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields its bytes in pieces of these sizes, in a cycle.
    struct Pieces<'a>(&'a [u8], Vec<usize>);

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.1.rotate_left(1);
            let piece = self.1[0].min(self.0.len()).min(into.len());
            let (now, later) = self.0.split_at(piece);
            into[..piece].copy_from_slice(now);
            self.0 = later;
            Ok(piece)
        }
    }

    /// For each line its number, its first bytes, and its length with its end (negative if it is refused).
    fn lines_of(text: &[u8], pieces: &[usize]) -> Vec<(u64, Vec<u8>, isize)> {
        let (mut blocks, mut block) = (LineBlocks::new(Pieces(text, pieces.to_vec())), LineBlock::default());
        let mut lines = Vec::new();
        while blocks.fill(&mut block).unwrap() {
            assert_eq!(block.first(), lines.len() as u64 + 1);
            lines.extend(block.lines().map(|line| match line.raw() {
                Ok(raw) => (line.number, raw[..raw.len().min(9)].to_vec(), line.length.cast_signed()),
                Err(AddressError::TooLong { length, .. }) => (line.number, Vec::new(), -length.cast_signed()),
                Err(error) => panic!("{error}"),
            }));
        }
        lines
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let mut text = b"a\r\n\n \nb\r\r\n\xff\0\n".to_vec();
        for length in [MAX_LINE - 1, MAX_LINE, MAX_LINE + READ, 3 * MAX_LINE] {
            text.resize(text.len() + length, b'x');
            text.extend(b"\ny\nz\n");
        }
        text.extend(b"the end");
        let short = |number, line: &[u8], length| (number, line.to_vec(), length);
        let long = |number, length: usize| short(number, b"", -length.cast_signed() - 1);
        let expected = [
            short(1, b"a", 3),
            short(2, b"", 1),
            short(3, b" ", 2),
            short(4, b"b\r", 4),
            short(5, b"\xff\0", 3),
            short(6, b"xxxxxxxxx", MAX_LINE.cast_signed()),
            short(7, b"y", 2),
            short(8, b"z", 2),
            long(9, MAX_LINE),
            short(10, b"y", 2),
            short(11, b"z", 2),
            long(12, MAX_LINE + READ),
            short(13, b"y", 2),
            short(14, b"z", 2),
            long(15, 3 * MAX_LINE),
            short(16, b"y", 2),
            short(17, b"z", 2),
            short(18, b"the end", 7),
        ];
        for pieces in [&[1 << 20][..], &[1 << 16], &[65_521], &[3, 1, 9999, 262_144], &[MAX_LINE, 1]] {
            assert!(lines_of(&text, pieces) == expected, "pieces of {pieces:?}");
        }
        assert_eq!(lines_of(b"", &[1]), []);
        assert_eq!(lines_of(b"\n", &[1]), [short(1, b"", 1)]);
    }

    /// A line that has arrived is returned before another one is asked for.
    #[test]
    fn no_line_waits_for_the_next_one() {
        struct Asked(usize);
        impl Read for Asked {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                into[..2].copy_from_slice(b"a\n");
                Ok(2)
            }
        }
        let (mut blocks, mut block) = (LineBlocks::new(Asked(0)), LineBlock::default());
        for asked in 1..4 {
            assert!(blocks.fill(&mut block).unwrap());
            assert_eq!((blocks.input.0, block.lines().count()), (asked, 1));
        }
    }

    #[test]
    fn some_lines_are_kept_as_they_came() {
        let text = b"a\r\nbb\n\nccc\n\xff\nlast";
        for (kept, expected) in [
            ("111111", &b"a\r\nbb\n\nccc\n\xff\nlast\n"[..]),
            ("000000", b""),
            ("100000", b"a\r\n"),
            ("010011", b"bb\n\xff\nlast\n"),
            ("101010", b"a\r\n\n\xff\n"),
            ("000001", b"last\n"),
        ] {
            let (mut blocks, mut block) = (LineBlocks::new(&text[..]), LineBlock::default());
            let mut is_kept = kept.bytes().map(|digit| digit == b'1');
            let mut out = Vec::new();
            while blocks.fill(&mut block).unwrap() {
                let ends: Vec<_> = block.lines().map(|line| line.end).collect();
                out.extend_from_slice(block.keep(&ends, || is_kept.next().unwrap()));
            }
            assert_eq!(out, expected, "{kept}");
        }
    }
}
