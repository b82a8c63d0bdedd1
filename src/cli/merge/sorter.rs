//! A record's claim to be the one record of its page; and the sorting of any number of claims: in pieces in memory, which are merged from
//! disk.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::{env, process};

use serde::Deserialize;

use crate::address::FingerprintKey;
use crate::crawl::RecordKind;

/// Claims that are sorted together: 80 MB.
const RUN: usize = 2_000_000;
/// When a level has this many runs, they are merged into one run of the next level. So few files are open however many claims are sorted,
/// and each claim is written once per level. Two levels suffice for eight billion claims.
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
        // The vector's memory is reused.
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

/// Bytes of a claim.
const CLAIM: usize = 40;
/// The bytes that name the page.
const PAGE: usize = 16;

/// A record's claim, as bytes that sort in the order of the claims: claims for one page are adjacent, the best last.
///
/// A page is named by two fingerprints of its key, under keys drawn for each merge: two of 10<sup>10</sup> pages share
/// both with a chance of 1 in 10<sup>18</sup>, and no site can construct two that do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim(pub(super) [u8; CLAIM]);

/// The parts of a record that decide. In a cluster they tell which owner of its partition has written it.
#[derive(Debug, Deserialize)]
pub(super) struct Mark<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(default)]
    kind: RecordKind,
    #[serde(default)]
    cluster: Place,
}

/// A record's place in the log of its partition.
#[derive(Debug, Default, Deserialize)]
struct Place {
    epoch: u64,
    sequence: u64,
}

impl<'a> Mark<'a> {
    /// Parses a line, or says why it is not a page record.
    pub(super) fn of(line: &'a [u8]) -> Result<Self, String> {
        serde_json::from_slice(line).map_err(|error| error.to_string())
    }
}

impl Claim {
    /// The claim of a record, the `number`th of all.
    pub(super) fn of(mark: &Mark<'_>, number: u64, keys: [FingerprintKey; 2]) -> Self {
        let key = if mark.key.is_empty() { &mark.url } else { &mark.key };
        // A page and a sitemap may have the same URL.
        let turned = if mark.kind == RecordKind::Page { 0 } else { u64::MAX };
        let mut bytes = [0; CLAIM];
        let [one, two] = keys.map(|by| by.fingerprint(key).bits());
        let numbers = [one, two ^ turned, mark.cluster.epoch, mark.cluster.sequence, number];
        for (place, number) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = number.to_be_bytes();
        }
        Self(bytes)
    }

    /// Whether both are for one page.
    pub(super) fn is_of_same_page(&self, other: &Self) -> bool {
        self.0[..PAGE] == other.0[..PAGE]
    }

    /// Whether the same owner of the partition has written both.
    pub(super) fn is_of_same_owner(&self, other: &Self) -> bool {
        self.number_at(2) == other.number_at(2)
    }

    /// The record's number among all that are merged.
    pub(super) fn number(&self) -> u64 {
        self.number_at(4)
    }

    fn number_at(&self, place: usize) -> u64 {
        u64::from_be_bytes(self.0.as_chunks().0[place])
    }
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
