//! Runs of the verified layout: ascending fingerprints in a file that only this process can reach. No other file of `seen` opens a file.

use std::io;
use std::path::Path;

use crate::bytes::{Merge, PAGE, RunCursor, RunFile, RunFileWriter, key_of, nameless};

/// Bytes of a fingerprint in a run: it is a row that is nothing but its key.
const WIDTH: usize = size_of::<u64>();

/// Ascending fingerprints, without duplicates. The first of each page is in memory, a quarter of a bit for each fingerprint.
#[derive(Debug)]
pub(in crate::seen) struct Run(RunFile<u64>);

impl Run {
    /// How many fingerprints there are.
    pub(in crate::seen) fn len(&self) -> u64 {
        self.0.records()
    }

    /// Memory allocated.
    pub(in crate::seen) fn bytes(&self) -> usize {
        self.0.memory()
    }

    /// Whether this fingerprint is in the run. Reads one page into the buffer and counts it, or none if the first fingerprints of the pages
    /// give the answer.
    pub(in crate::seen) fn holds(&self, bits: u64, page: &mut Vec<u8>, pages_read: &mut u64) -> io::Result<bool> {
        self.0.holds::<WIDTH>(bits, page, pages_read)
    }

    /// Loses its content, as a failing disk does.
    #[cfg(test)]
    pub(in crate::seen) fn lose(&self) {
        self.0.lose();
    }
}

/// Writes a run from front to back.
#[derive(Debug)]
pub(in crate::seen) struct RunWriter {
    to: RunFileWriter<u64>,
    /// The fingerprint that was appended last.
    last: Option<u64>,
}

impl RunWriter {
    /// Begins a run in this directory, which is created if it is missing.
    pub(in crate::seen) fn new(directory: &Path) -> io::Result<Self> {
        Ok(Self { to: RunFileWriter::new(nameless(directory)?, PAGE), last: None })
    }

    /// Appends a fingerprint, which must not be below the last one. A repetition of the last one changes nothing.
    pub(in crate::seen) fn push(&mut self, bits: u64) -> io::Result<()> {
        if self.last.replace(bits) == Some(bits) {
            return Ok(());
        }
        self.to.push(bits, |block| block.extend_from_slice(&bits.to_be_bytes()))
    }

    /// Ends the run.
    pub(in crate::seen) fn finish(self) -> io::Result<Run> {
        self.to.finish().map(Run)
    }
}

/// Runs, and fingerprints in memory, as one, in ascending order. A fingerprint that several of them have is repeated.
#[derive(Debug)]
pub(in crate::seen) struct Ascending<'a> {
    runs: Vec<(&'a Run, RunCursor)>,
    fresh: std::vec::IntoIter<u64>,
    merge: Merge<u64>,
}

impl<'a> Ascending<'a> {
    /// Merges these runs with fingerprints in memory, which must ascend.
    pub(in crate::seen) fn of(runs: &'a [Run], fresh: Vec<u64>) -> io::Result<Self> {
        let mut runs: Vec<_> = runs.iter().map(|run| (run, RunCursor::default())).collect();
        let mut fresh = fresh.into_iter();
        let merge = Merge::of(runs.len() + 1, |source| next(&mut runs, &mut fresh, source))?;
        Ok(Self { runs, fresh, merge })
    }

    /// The next one, if it is at most `until`.
    pub(in crate::seen) fn next_until(&mut self, until: u64) -> io::Result<Option<u64>> {
        if self.merge.least().is_none_or(|&least| least > until) {
            return Ok(None);
        }
        self.merge.next(|source| next(&mut self.runs, &mut self.fresh, source))
    }
}

/// The next fingerprint of a source: those in memory come after all runs.
fn next(runs: &mut [(&Run, RunCursor)], fresh: &mut std::vec::IntoIter<u64>, source: usize) -> io::Result<Option<u64>> {
    let Some((run, cursor)) = runs.get_mut(source) else { return Ok(fresh.next()) };
    let next = run.0.rest(cursor)?.first_chunk::<WIDTH>().map(key_of);
    cursor.skip(WIDTH * usize::from(next.is_some()));
    Ok(next)
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
            assert_eq!((run.len(), run.bytes() as u64), (len, 16 * len.div_ceil(512)));
            let held = |bits| run.holds(bits, &mut Vec::new(), &mut 0).unwrap();
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
            run.holds(bits, &mut Vec::new(), &mut pages_read).unwrap();
            assert_eq!(pages_read, pages, "{bits}");
        }
    }

    #[test]
    fn a_merge_ascends_and_keeps_all() {
        let directory = tempfile::tempdir().unwrap();
        let runs = [2, 3, 5].map(|step| run(directory.path(), (0..30_000).step_by(step)));
        let mut merge = Ascending::of(&runs, vec![1, 7, u64::MAX]).unwrap();
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
        assert!(
            merged.holds(29_999 - 2, &mut Vec::new(), &mut 0).unwrap()
                && merged.holds(u64::MAX, &mut Vec::new(), &mut 0).unwrap()
        );
    }
}
