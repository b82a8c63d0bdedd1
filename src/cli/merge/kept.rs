//! The records that are kept: a bit for each record of all jobs, and the kept lines as one text.

use std::io::{self, BufRead, BufReader, Read, Take};

use super::super::job_file::JobFile;
use super::merged_job::MergedJob;

/// Which records are kept: a bit for each, 125 MB for a billion.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bits: Vec<u64>,
    pub(super) count: u64,
}

impl Kept {
    /// Keeps none of `records` records.
    pub(super) fn none_of(records: u64) -> Self {
        let words = usize::try_from(records.div_ceil(64)).expect("their claims were counted in memory or on disk");
        Self { bits: vec![0; words], count: 0 }
    }

    /// Keeps a record.
    pub(super) fn keep(&mut self, number: u64) {
        self.bits[place(number)] |= 1 << (number % 64);
        self.count += 1;
    }

    fn has(&self, number: u64) -> bool {
        self.bits[place(number)] >> (number % 64) & 1 == 1
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number / 64).unwrap_or(usize::MAX)
}

/// The kept lines, job after job, in the order in which they were written.
pub(super) struct KeptLines<'a> {
    jobs: std::slice::Iter<'a, MergedJob>,
    kept: &'a Kept,
    /// The current job, its lines, and how many of them are left.
    job: Option<(&'a MergedJob, BufReader<Take<JobFile>>, u64)>,
    /// Jobs opened so far.
    opened: usize,
    number: u64,
    line: Vec<u8>,
    taken: usize,
}

impl<'a> KeptLines<'a> {
    pub(super) fn of(jobs: &'a [MergedJob], kept: &'a Kept) -> Self {
        Self { jobs: jobs.iter(), kept, job: None, opened: 0, number: 0, line: Vec::new(), taken: 0 }
    }

    /// The line that was read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The job of that line, and its index in the list.
    pub(super) fn job(&self) -> Option<(usize, &'a MergedJob)> {
        self.job.as_ref().map(|(job, ..)| (self.opened - 1, *job))
    }

    /// Reads the next kept line; at the end, an empty one.
    pub(super) fn next(&mut self) -> io::Result<()> {
        (self.taken, self.line) = (0, std::mem::take(&mut self.line));
        loop {
            self.line.clear();
            match &mut self.job {
                Some((job, from, left)) if *left > 0 => {
                    if from.read_until(b'\n', &mut self.line)? == 0 {
                        let path = job.path().display();
                        return Err(io::Error::other(format!("{path} was cut while it was read: merge again")));
                    }
                    *left -= 1;
                    self.number += 1;
                    if self.kept.has(self.number - 1) {
                        return Ok(());
                    }
                }
                _ => {
                    let Some(job) = self.jobs.next() else { return Ok(()) };
                    self.job = Some((job, job.read(true)?, job.records));
                    self.opened += 1;
                }
            }
        }
    }
}

impl BufRead for KeptLines<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.line.len() {
            self.next()?;
        }
        Ok(&self.line[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}

impl Read for KeptLines<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(to)?;
        self.consume(count);
        Ok(count)
    }
}
