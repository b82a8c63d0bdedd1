//! The page records of a job, read by receipt or line by line.
//!
//! This floor does not know the format of a record. The program that wrote the lines parses each into a [`PageLine`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use crate::frontier::{HostCost, Receipt};
use crate::gate::Via;
use crate::job::own;

/// What the journal must know about a page, from its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLine {
    /// The page's wire URL.
    pub url: String,
    /// Links from a seed.
    pub depth: u32,
    /// How it was found, as far as the record tells.
    pub via: Via,
    /// How many of its links were new, and so were admitted.
    pub admitted: u32,
    /// Where its bytes are in other outputs, by the outputs' names.
    pub outputs: Vec<(String, Receipt)>,
    /// The wire URL of the page whose response stands for its own in an output.
    pub leans_on: Option<String>,
    /// Bytes of its response, as they came over the wire.
    pub bytes: u64,
    /// It was never asked for, since its host could not be reached.
    pub given_up: bool,
}

impl PageLine {
    /// What it cost its host's budget.
    pub(super) fn cost(&self) -> HostCost {
        HostCost { is_page: self.via != Via::Sitemap && !self.given_up, bytes: self.bytes }
    }
}

/// The file of page records.
#[derive(Debug)]
pub(super) struct PageLines {
    file: File,
    pub(super) length: u64,
    buffer: Vec<u8>,
}

impl PageLines {
    /// Opens the file; `None` if it is missing.
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        let Some(file) = own::find(path)? else { return Ok(None) };
        let length = file.metadata()?.len();
        Ok(Some(Self { file, length, buffer: Vec::new() }))
    }

    /// The record that a receipt describes, if it is there: the file is long enough, and the bytes have the receipt's checksum. If the disk
    /// fails to read them, the record counts as missing.
    pub(super) fn record(&mut self, receipt: &Receipt) -> Option<&[u8]> {
        use std::io::Read;

        let start = receipt.end.checked_sub(receipt.length.into()).filter(|_| receipt.end <= self.length)?;
        self.buffer.resize(receipt.length as usize, 0);
        self.file.seek(SeekFrom::Start(start)).ok()?;
        self.file.read_exact(&mut self.buffer).ok()?;
        (Receipt::checksum(&self.buffer) == receipt.checksum).then_some(&self.buffer)
    }

    /// Shows each line with its newline, and where it begins and ends.
    pub(super) fn each(&mut self, mut show: impl FnMut(u64, u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        let mut from = BufReader::with_capacity(256 << 10, &self.file);
        let (mut line, mut start) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = from.read_until(b'\n', &mut line)? as u64;
            if read == 0 {
                return Ok(());
            }
            show(start, start + read, &line)?;
            start += read;
        }
    }
}
