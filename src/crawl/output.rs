use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Tally;
use super::sink::record;
use crate::frontier::{Completion, LeaseKind, Receipt};

/// The file of page records of a job that goes on.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) path: PathBuf,
    file: File,
    length: u64,
    buffer: Vec<u8>,
}

impl Output {
    /// Opens the file, or makes it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().read(true).append(true).create(true).open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length, buffer: Vec::new() })
    }

    /// Bytes in the file when it was opened, or cut.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether a record is there as its receipt says.
    pub(super) fn has(&mut self, receipt: &Receipt) -> bool {
        let start = receipt.end.checked_sub(receipt.length.into()).filter(|_| receipt.end <= self.length);
        let line = start.and_then(|start| self.read(start, receipt.length as usize));
        line.is_some_and(|line| Receipt::checksum(line) == receipt.checksum)
    }

    /// Counts the records from an offset on.
    pub(super) fn tally(&mut self, from: u64) -> io::Result<Tally> {
        let mut tally = Tally::default();
        self.file.seek(SeekFrom::Start(from))?;
        for line in BufReader::new(&self.file).split(b'\n') {
            if let Some(record) = record(&line?) {
                tally.record(LeaseKind::Page, Completion::Done, &record);
            }
        }
        Ok(tally)
    }

    /// Cuts off what is not confirmed; how many bytes that was.
    pub(super) fn cut(&mut self, length: u64) -> io::Result<u64> {
        let cut = self.length - length;
        if cut > 0 {
            self.file.set_len(length)?;
            self.file.sync_all()?;
            self.length = length;
        }
        Ok(cut)
    }

    /// Returns once a power cut cannot take what was written.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Another handle, to append with.
    pub(super) fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    fn read(&mut self, start: u64, length: usize) -> Option<&[u8]> {
        self.buffer.resize(length, 0);
        self.file.seek(SeekFrom::Start(start)).ok()?;
        self.file.read_exact(&mut self.buffer).ok()?;
        Some(&self.buffer)
    }
}
