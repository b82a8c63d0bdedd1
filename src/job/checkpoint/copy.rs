//! Opens the files of a checkpoint, and what it needs of the journal, to be copied elsewhere.

use std::fs::File;

use super::names::{FILES, RUN, name};
use super::summary::Summary;
use super::{CheckpointError, Checkpoints};
use crate::bytes::FileError;
use crate::gate::Position;
use crate::job::journal::{Disk, Storage, segment_name, segment_start};

/// A file to be copied. It is open, so its content stays available even if its name is removed.
#[derive(Debug)]
pub(crate) struct FileCopy {
    /// Its name in the directory of the frontier.
    pub(crate) name: String,
    pub(crate) file: File,
    /// Bytes from its beginning that belong to the copy.
    pub(crate) length: u64,
}

impl Checkpoints<Disk> {
    /// Opens the files of the newest checkpoint at or before a position, and what it needs of the journal up to that position. Also
    /// returns where the journal ended when the checkpoint was written. `None` if there is no such checkpoint.
    ///
    /// # Errors
    /// If the storage fails.
    pub(crate) fn copies(&mut self, end: Position) -> Result<Option<(Position, Vec<FileCopy>)>, CheckpointError> {
        let is_before = |summary: &Summary| summary.counts.position <= end;
        let numbers: Vec<u64> = self.numbers.iter().rev().map(|(number, _)| *number).collect();
        let mut summaries = numbers.into_iter().filter_map(|number| Some((number, self.summary(number).ok()?)));
        let Some((number, summary)) = summaries.find(|(_, summary)| is_before(summary)) else { return Ok(None) };
        let has = [true, summary.has_seen, summary.has_contents, true];
        let own = FILES.iter().zip(has).filter(|(_, has)| *has).map(|(file, _)| name(file, number));
        let runs = summary.runs.iter().map(|run| name(RUN, *run));
        let mut copies = own.chain(runs).map(|name| self.copy(name, u64::MAX)).collect::<Result<Vec<_>, _>>()?;
        let names = self.storage.list().map_err(FileError::of("list", self.storage.path("")))?;
        let mut starts: Vec<u64> = names.iter().filter_map(|name| segment_start(name)).collect();
        starts.sort_unstable();
        for (at, start) in starts.iter().copied().enumerate().filter(|(_, start)| *start < end.to_u64()) {
            let next = starts.get(at + 1).copied().unwrap_or(u64::MAX);
            if summary.needs.any_in(&(Position::from_u64(start)..Position::from_u64(next))) {
                copies.push(self.copy(segment_name(start), end.to_u64() - start)?);
            }
        }
        Ok(Some((summary.counts.position, copies)))
    }

    fn copy(&self, name: String, most: u64) -> Result<FileCopy, CheckpointError> {
        let path = self.storage.path(&name);
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len().min(most), file)));
        let (length, file) = opened.map_err(FileError::of("open", path))?;
        Ok(FileCopy { name, file, length })
    }
}
