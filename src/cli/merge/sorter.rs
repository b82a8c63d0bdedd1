//! Sorts any number of claims: in pieces in memory, merged from disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::env;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::process;

use super::claim::{CLAIM, Claim};

/// Claims that are sorted together: 80 MB.
const RUN: usize = 2_000_000;
/// When a level has this many runs, they are merged into one run of the next level. So few files are open whatever is
/// sorted, and each claim is written once per level. Two levels suffice for eight billion claims.
const FAN: usize = 64;
/// Bytes per read of a run.
const BUFFER: usize = 1 << 16;

/// A part of the claims, in order.
type Run = Box<dyn Iterator<Item = io::Result<Claim>>>;

/// Takes claims in any order. Beyond 80 MB they go to unnamed files in the directory for temporary files, 40 bytes
/// each.
#[derive(Debug)]
pub(super) struct Sorter {
    run: usize,
    claims: Vec<Claim>,
    levels: Vec<Vec<File>>,
    files: u64,
}

impl Default for Sorter {
    fn default() -> Self {
        Self { run: RUN, claims: Vec::new(), levels: Vec::new(), files: 0 }
    }
}

impl Sorter {
    /// Adds a claim.
    pub(super) fn add(&mut self, claim: Claim) -> io::Result<()> {
        self.claims.push(claim);
        if self.claims.len() < self.run {
            return Ok(());
        }
        self.claims.sort_unstable();
        let claims = std::mem::take(&mut self.claims);
        let run = self.write(claims.iter().copied().map(Ok))?;
        // Its memory is reused.
        self.claims = claims;
        self.claims.clear();
        self.keep(run, 0)
    }

    /// All claims, in order.
    pub(super) fn finish(mut self) -> io::Result<impl Iterator<Item = io::Result<Claim>>> {
        self.claims.sort_unstable();
        let files = self.levels.into_iter().flatten().map(read);
        let runs: Vec<Run> = files.chain([Box::new(self.claims.into_iter().map(Ok)) as Run]).collect();
        merged(runs)
    }

    /// Adds a run to its level.
    fn keep(&mut self, run: File, level: usize) -> io::Result<()> {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        if self.levels[level].len() < FAN {
            return Ok(());
        }
        let runs = std::mem::take(&mut self.levels[level]);
        let merged = self.write(merged(runs.into_iter().map(read).collect())?)?;
        self.keep(merged, level + 1)
    }

    fn write(&mut self, claims: impl Iterator<Item = io::Result<Claim>>) -> io::Result<File> {
        let mut to = BufWriter::with_capacity(BUFFER, self.nameless()?);
        for claim in claims {
            to.write_all(&claim?.0)?;
        }
        let mut file = to.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }

    /// A file that only this process has. Its space is freed however the process ends.
    fn nameless(&mut self) -> io::Result<File> {
        loop {
            self.files += 1;
            let path = env::temp_dir().join(format!("crawler-merge-{}-{}", process::id(), self.files));
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return fs::remove_file(&path).map(|()| file),
                // Left by a process that had the same id and died.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
            }
        }
    }
}

fn read(run: File) -> Run {
    let mut run = BufReader::with_capacity(BUFFER, run);
    Box::new(std::iter::from_fn(move || {
        let mut claim = [0; CLAIM];
        match run.read_exact(&mut claim) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            read => Some(read.map(|()| Claim(claim))),
        }
    }))
}

/// Merges all runs, in order.
fn merged(mut runs: Vec<Run>) -> io::Result<impl Iterator<Item = io::Result<Claim>>> {
    let mut next = BinaryHeap::new();
    for (number, run) in runs.iter_mut().enumerate() {
        next.extend(run.next().transpose()?.map(|claim| Reverse((claim, number))));
    }
    Ok(std::iter::from_fn(move || {
        let Reverse((claim, number)) = next.pop()?;
        match runs[number].next().transpose() {
            Ok(behind) => next.extend(behind.map(|behind| Reverse((behind, number)))),
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(claim))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_the_same_however_few_fit_into_memory() {
        let claims: Vec<Claim> = (0..9_000_u64)
            .map(|number| {
                let mut bytes = [0; CLAIM];
                bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
                Claim(bytes)
            })
            .collect();
        let mut expected = claims.clone();
        expected.sort_unstable();
        // All in memory; a few runs; two levels of runs, and three.
        for run in [RUN, 4_000, 100, 2, 1] {
            let mut sorter = Sorter { run, ..Sorter::default() };
            for claim in &claims {
                sorter.add(*claim).unwrap();
                assert!(sorter.levels.iter().all(|level| level.len() < FAN));
            }
            let all: Vec<Claim> = sorter.finish().unwrap().map(Result::unwrap).collect();
            assert!(all == expected, "{run}");
        }
    }
}
