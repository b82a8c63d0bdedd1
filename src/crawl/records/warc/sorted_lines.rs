//! Sorts any number of lines by their bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use crate::job::own::nameless;

/// Bytes of lines that are sorted together, including their overhead.
const RUN: usize = 64 << 20;
/// Runs merged at once. Each takes an open file and a buffer.
const RUNS: usize = 64;
const BUFFER: usize = 64 << 10;

/// Sorts any number of lines by their bytes: 64 MiB at a time in memory, the others in unnamed files.
#[derive(Debug)]
pub(super) struct SortedLines {
    directory: PathBuf,
    run: usize,
    bytes: usize,
    lines: Vec<Box<[u8]>>,
    runs: Vec<File>,
}

impl SortedLines {
    /// Keeps its files in this directory.
    pub(super) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), run: RUN, bytes: 0, lines: Vec::new(), runs: Vec::new() }
    }

    /// Adds a line, which must end with a line break.
    pub(super) fn push(&mut self, line: Box<[u8]>) -> io::Result<()> {
        self.bytes += line.len() + size_of::<Box<[u8]>>();
        self.lines.push(line);
        if self.bytes < self.run {
            return Ok(());
        }
        let mut to = BufWriter::with_capacity(BUFFER, nameless(&self.directory)?);
        self.lines.sort_unstable();
        self.lines.drain(..).try_for_each(|line| to.write_all(&line))?;
        self.bytes = 0;
        self.runs.push(rewound(to)?);
        if self.runs.len() == RUNS {
            let mut to = BufWriter::with_capacity(BUFFER, nameless(&self.directory)?);
            merge(self.runs.drain(..), Vec::new(), &mut to)?;
            self.runs.push(rewound(to)?);
        }
        Ok(())
    }

    /// Writes all lines.
    pub(super) fn write(mut self, mut to: impl Write) -> io::Result<()> {
        self.lines.sort_unstable();
        merge(self.runs.drain(..), self.lines, &mut to)?;
        to.flush()
    }
}

fn rewound(written: BufWriter<File>) -> io::Result<File> {
    let mut run = written.into_inner().map_err(io::IntoInnerError::into_error)?;
    run.rewind()?;
    Ok(run)
}

type Source = Box<dyn Iterator<Item = io::Result<Box<[u8]>>>>;

/// Merges sorted runs and sorted lines in memory.
fn merge(runs: impl Iterator<Item = File>, lines: Vec<Box<[u8]>>, to: &mut impl Write) -> io::Result<()> {
    let mut sources: Vec<Source> = vec![Box::new(lines.into_iter().map(Ok))];
    for run in runs {
        let mut run = BufReader::with_capacity(BUFFER, run);
        sources.push(Box::new(std::iter::from_fn(move || {
            let mut line = Vec::new();
            run.read_until(b'\n', &mut line).map(|read| (read > 0).then(|| line.into())).transpose()
        })));
    }
    let mut next = BinaryHeap::new();
    for (number, source) in sources.iter_mut().enumerate() {
        next.extend(source.next().transpose()?.map(|line| Reverse((line, number))));
    }
    while let Some(Reverse((line, number))) = next.pop() {
        to.write_all(&line)?;
        next.extend(sources[number].next().transpose()?.map(|line| Reverse((line, number))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_however_many_are_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let lines: Vec<_> = (0..5_000_u32).map(|n| format!("{} {n}\n", n.wrapping_mul(0x9e37_79b9) >> 8)).collect();
        let mut expected = lines.clone();
        expected.sort();
        // In memory; in five files; in a hundred files, so that they are merged twice.
        for run in [RUN, 40_000, 1_500] {
            let mut sorted = SortedLines { run, ..SortedLines::new(directory.path()) };
            for line in &lines {
                sorted.push(line.as_bytes().into()).unwrap();
                assert!(sorted.bytes < run && sorted.runs.len() < RUNS);
            }
            let mut written = Vec::new();
            sorted.write(&mut written).unwrap();
            assert!(written == expected.concat().as_bytes(), "{run}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a file has kept its name");
    }
}
