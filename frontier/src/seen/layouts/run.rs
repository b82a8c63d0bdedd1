//! Runs of the verified layout: sorted fingerprints in a file. No other file of `seen` opens a file.
//!
//! A run's file has [no name](nameless). So two sets may share a directory, and the space is free again when the run is dropped. The file
//! needs no format and no checksum, since only this process ever reads it.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::bytes::nameless;

/// Fingerprints in a page: 4 KiB, the least that a disk reads at once.
const PAGE: usize = 512;
/// Fingerprints that are read together in a pass over a whole run: 64 KiB.
const PIECE: usize = 8192;
/// Bytes in a fingerprint.
const WIDTH: usize = 8;

/// Ascending fingerprints, without duplicates. The first of each page is in memory, an eighth of a bit for each fingerprint.
#[derive(Debug)]
pub(in crate::seen) struct Run {
    file: File,
    len: u64,
    firsts: Vec<u64>,
}

impl Run {
    /// How many fingerprints there are.
    pub(in crate::seen) fn len(&self) -> u64 {
        self.len
    }

    /// Memory allocated.
    pub(in crate::seen) fn bytes(&self) -> usize {
        self.firsts.capacity() * size_of::<u64>()
    }

    /// Whether this fingerprint is in the run. Reads and counts one page, or none if the first fingerprints of the pages give the answer.
    pub(in crate::seen) fn holds(&self, bits: u64, pages_read: &mut u64) -> io::Result<bool> {
        let Some(page) = self.firsts.partition_point(|&first| first <= bits).checked_sub(1) else { return Ok(false) };
        if self.firsts[page] == bits {
            return Ok(true);
        }
        *pages_read += 1;
        let mut bytes = [0; PAGE * WIDTH];
        let page = self.read((page * PAGE) as u64, &mut bytes)?;
        Ok(page.binary_search_by_key(&bits, |bytes| u64::from_le_bytes(*bytes)).is_ok())
    }

    /// Loses its content, as a failing disk does.
    #[cfg(test)]
    pub(in crate::seen) fn lose(&self) {
        self.file.set_len(0).unwrap();
    }

    /// Reads the fingerprints from place `at` on, as many as fit into the buffer. This moves the file's one cursor, so no other thread may
    /// read at the same time: the shard's lock ensures that.
    fn read<'a>(&self, at: u64, bytes: &'a mut [u8]) -> io::Result<&'a [[u8; WIDTH]]> {
        let count = usize::try_from(self.len - at).unwrap_or(usize::MAX).min(bytes.len() / WIDTH);
        let bytes = &mut bytes[..count * WIDTH];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(at * WIDTH as u64))?;
        file.read_exact(bytes)?;
        Ok(bytes.as_chunks().0)
    }
}

/// Writes a run from front to back.
#[derive(Debug)]
pub(in crate::seen) struct RunWriter {
    to: BufWriter<File>,
    len: u64,
    firsts: Vec<u64>,
    /// The fingerprint that was appended last.
    last: Option<u64>,
}

impl RunWriter {
    /// Begins a run in this directory, which is created if it is missing.
    pub(in crate::seen) fn new(directory: &Path) -> io::Result<Self> {
        let file = nameless(directory)?;
        Ok(Self { to: BufWriter::with_capacity(PIECE * WIDTH, file), len: 0, firsts: Vec::new(), last: None })
    }

    /// Appends a fingerprint, which must not be below the last one. A repetition of the last one changes nothing.
    pub(in crate::seen) fn push(&mut self, bits: u64) -> io::Result<()> {
        debug_assert!(self.last <= Some(bits), "a run ascends");
        if self.last == Some(bits) {
            return Ok(());
        }
        if self.len.is_multiple_of(PAGE as u64) {
            self.firsts.push(bits);
        }
        self.last = Some(bits);
        self.len += 1;
        self.to.write_all(&bits.to_le_bytes())
    }

    /// Ends the run. Nothing is synced: a run does not outlive its process.
    pub(in crate::seen) fn finish(self) -> io::Result<Run> {
        let Self { to, len, mut firsts, .. } = self;
        let file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
        firsts.shrink_to_fit();
        Ok(Run { file, len, firsts })
    }
}

/// Iterates over fingerprints: from a run, with a buffer of 64 KiB, or from memory.
#[derive(Debug)]
pub(in crate::seen) struct Cursor<'a> {
    /// The run that the pieces are read from; `None` if there is only one piece.
    run: Option<&'a Run>,
    /// The place in the run from which the next piece is read.
    at: u64,
    /// The rest of the piece that was read last.
    piece: std::vec::IntoIter<u64>,
    /// The next fingerprint; `None` at the end.
    next: Option<u64>,
}

impl<'a> Cursor<'a> {
    /// Over these fingerprints, which must ascend.
    pub(in crate::seen) fn of(ascending: Vec<u64>) -> Self {
        let mut piece = ascending.into_iter();
        let next = piece.next();
        Self { run: None, at: 0, piece, next }
    }

    /// Over a run, from its first fingerprint on.
    pub(in crate::seen) fn over(run: &'a Run) -> io::Result<Self> {
        let mut cursor = Self { run: Some(run), at: 0, piece: Vec::new().into_iter(), next: None };
        cursor.advance()?;
        Ok(cursor)
    }

    /// Advances to the next fingerprint, and reads the next piece when this one is used up.
    fn advance(&mut self) -> io::Result<()> {
        self.next = self.piece.next();
        if let (None, Some(run)) = (self.next, self.run.filter(|run| self.at < run.len)) {
            let mut bytes = vec![0; PIECE * WIDTH];
            let piece: Vec<_> = run.read(self.at, &mut bytes)?.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
            self.at += piece.len() as u64;
            self.piece = piece.into_iter();
            self.next = self.piece.next();
        }
        Ok(())
    }
}

/// Several cursors as one, in ascending order. A fingerprint that several cursors have is repeated.
#[derive(Debug)]
pub(in crate::seen) struct Merge<'a>(pub(in crate::seen) Vec<Cursor<'a>>);

impl Merge<'_> {
    /// The next one, if it is at most `until`.
    pub(in crate::seen) fn next_until(&mut self, until: u64) -> io::Result<Option<u64>> {
        // There are only a few, so a heap would not be faster.
        let least = self.0.iter_mut().filter(|cursor| cursor.next.is_some()).min_by_key(|cursor| cursor.next);
        let Some(least) = least.filter(|cursor| cursor.next <= Some(until)) else { return Ok(None) };
        let next = least.next;
        least.advance()?;
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run(directory: &Path, fingerprints: impl IntoIterator<Item = u64>) -> Run {
        let mut writer = RunWriter::new(directory).unwrap();
        fingerprints.into_iter().try_for_each(|bits| writer.push(bits)).unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn a_run_holds_what_was_written_and_nothing_between() {
        let directory = tempfile::tempdir().unwrap();
        for len in [0, 1, 2, 511, 512, 513, 1024, 20_000_u64] {
            let run = run(directory.path(), (0..len).map(|count| count * 3 + 1));
            assert_eq!((run.len(), run.bytes() as u64), (len, 8 * len.div_ceil(512)));
            let held = |bits| run.holds(bits, &mut 0).unwrap();
            for bits in 0..len * 3 + 3 {
                assert_eq!(held(bits), bits % 3 == 1 && bits < len * 3, "{bits} of {len}");
            }
            assert!(!held(u64::MAX));
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "a file has kept its name");
    }

    #[test]
    fn a_question_reads_one_page_at_most() {
        let directory = tempfile::tempdir().unwrap();
        let run = run(directory.path(), (0..5000).map(|count| count * 2 + 10));
        for (bits, pages) in [(9, 0), (10, 0), (11, 1), (10 + 2 * 512, 0), (12 + 2 * 512, 1), (u64::MAX, 1)] {
            let mut pages_read = 0;
            run.holds(bits, &mut pages_read).unwrap();
            assert_eq!(pages_read, pages, "{bits}");
        }
    }

    #[test]
    fn a_merge_ascends_and_keeps_all() {
        let directory = tempfile::tempdir().unwrap();
        let runs = [2, 3, 5].map(|step| run(directory.path(), (0..30_000).step_by(step)));
        let mut cursors: Vec<_> = runs.iter().map(|run| Cursor::over(run).unwrap()).collect();
        cursors.push(Cursor::of(vec![1, 7, u64::MAX]));
        let mut merge = Merge(cursors);
        let mut merged = RunWriter::new(directory.path()).unwrap();
        let mut count = 0;
        for until in [14_000, u64::MAX] {
            while let Some(bits) = merge.next_until(until).unwrap() {
                assert!(bits <= until);
                merged.push(bits).unwrap();
                count += 1;
            }
        }
        assert_eq!(count, 15_000 + 10_000 + 6000 + 3);
        let merged = merged.finish().unwrap();
        let expected = (0..30_000).filter(|bits| [2, 3, 5].iter().any(|step| bits % step == 0)).count() + 3;
        assert_eq!(merged.len(), expected as u64);
        assert!(merged.holds(29_999 - 2, &mut 0).unwrap() && merged.holds(u64::MAX, &mut 0).unwrap());
    }
}
