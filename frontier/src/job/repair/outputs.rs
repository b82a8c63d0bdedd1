//! The outputs of a damaged job: its page records, read by receipt or line by line, and the outputs beside them.
//!
//! This package does not know the format of a page record: a [`LineFormat`] of the program that wrote the lines parses each into a
//! [`PageLine`].
//!
//! # The outputs beside the page records
//!
//! A page is done only if each output that the next run writes to holds its bytes. If an output lacks them, the page is fetched again, and
//! its bytes are removed from the other outputs: these would have the page twice otherwise. Such a file is rewritten without these bytes,
//! and still begins at the same place in its output. So no other file of a series is touched. The next resume cuts off anything after the
//! last page that stays, and keeps it in a separate file.
//!
//! If files are gone from the front or the middle of a series, the user has moved them away, and their pages are fine. If files are gone
//! from the end, they were lost.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::bytes::FileError;
use crate::frontier::{HostCost, Receipt};
use crate::gate::Via;
use crate::job::own::{self, with_end};

/// A part of a file that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file, or its directory if the file is gone.
    pub path: PathBuf,
    /// Where the part begins, in bytes.
    pub offset: u64,
    /// The length of the part in bytes.
    pub bytes: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, bytes, reason } = self;
        write!(f, "{}: {bytes} bytes at byte {offset}: {reason}", path.display())
    }
}

/// The knowledge of the program that wrote a job's page records. This package knows neither the format of a record nor the file names of
/// other outputs.
pub trait LineFormat {
    /// Parses a line; `None` if it is not the record of a page.
    fn read(&self, line: &[u8]) -> Option<PageLine>;

    /// The line of a page whose bytes have moved in the other outputs, with these receipts; `None` if it is not a record.
    fn moved(&self, line: &[u8], outputs: &[(String, Receipt)]) -> Option<Vec<u8>>;

    /// The files of an output in a job's directory, in order, each with its start in the output; none if they are gone.
    ///
    /// # Errors
    /// If the file system fails.
    fn files(&self, directory: &Path, output: &str) -> io::Result<Vec<(u64, PathBuf)>>;
}

/// The parts of a page's record that the journal must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLine {
    /// The page's wire URL.
    pub url: String,
    /// How many links from a seed it is.
    pub depth: u32,
    /// How it was found, as far as the record tells.
    pub via: Via,
    /// How many of its links were new, and so were admitted.
    pub admitted: u32,
    /// Where its bytes are in other outputs, by the outputs' names.
    pub outputs: Vec<(String, Receipt)>,
    /// The wire URL of the page that its record in an output refers to instead of having a body of its own: it is a revisit record.
    pub revisit_of: Option<String>,
    /// Bytes of its response, as they came over the wire.
    pub bytes: u64,
    /// It was never fetched, since its host could not be reached.
    pub given_up: bool,
}

impl PageLine {
    /// The page's cost for its host's budget.
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

/// The outputs beside the page records, by their names.
#[derive(Debug)]
pub(super) struct OtherOutputs {
    directory: PathBuf,
    /// Outputs that the next run writes to.
    named: Vec<String>,
    found: BTreeMap<String, Vec<OtherFile>>,
    pub(super) damage: Vec<Damage>,
}

/// A file of an output.
#[derive(Debug)]
struct OtherFile {
    path: PathBuf,
    /// Where it begins in its output.
    start: u64,
    length: u64,
    file: File,
    /// The end of the last page that stays, as a place in the output, so far.
    kept: u64,
    /// Whether anything before that place is taken out.
    has_holes: bool,
    /// Whether its end is gone.
    is_short: bool,
    /// The file that it is rewritten to, and the bytes written there so far.
    anew: Option<(BufWriter<File>, u64)>,
}

impl OtherOutputs {
    pub(super) fn new(directory: &Path, named: &[String]) -> Self {
        Self { directory: directory.to_owned(), named: named.to_vec(), found: BTreeMap::new(), damage: Vec::new() }
    }

    /// Whether the outputs hold all bytes that a page's record describes. If so, the page's bytes stay. Call it for the pages in order.
    pub(super) fn hold(&mut self, outputs: &[(String, Receipt)], format: &dyn LineFormat) -> Result<bool, FileError> {
        let mut is_there = true;
        for (name, receipt) in outputs {
            let is_named = self.named.contains(name);
            let files = self.files(name, format)?;
            let at = files.iter().rposition(|file| file.start <= start_of(receipt));
            let is_last = at.is_none_or(|at| at + 1 == files.len());
            let has_none = files.is_empty();
            let problem = match at.and_then(|at| files.get_mut(at)) {
                None if has_none => Some("the file is gone"),
                // The bytes are in a file that was moved away from the front.
                None => None,
                Some(file) if receipt.end > file.start + file.length => {
                    file.is_short |= start_of(receipt) < file.start + file.length || is_last;
                    file.is_short.then_some("the end of the file is gone")
                }
                Some(file) => (is_named && !file.has(receipt)).then_some("bytes that the job did not write"),
            };
            if let Some(reason) = problem.filter(|_| is_named) {
                self.note(name, receipt, reason);
                is_there = false;
            }
        }
        if is_there {
            for (name, receipt) in outputs {
                self.keep(name, receipt);
            }
        }
        Ok(is_there)
    }

    fn files(&mut self, name: &str, format: &dyn LineFormat) -> Result<&mut Vec<OtherFile>, FileError> {
        if !self.found.contains_key(name) {
            let files = format.files(&self.directory, name).map_err(FileError::of("read", &self.directory))?;
            let open =
                |(start, path): (u64, PathBuf)| OtherFile::open(start, &path).map_err(FileError::of("open", &path));
            self.found.insert(name.to_owned(), files.into_iter().map(open).collect::<Result<_, _>>()?);
        }
        Ok(self.found.get_mut(name).expect("it is there"))
    }

    /// Notes damage, together with earlier damage of the same file and kind.
    fn note(&mut self, name: &str, receipt: &Receipt, reason: &'static str) {
        let files = self.found.get(name).map_or(&[][..], Vec::as_slice);
        let file = files.iter().rfind(|file| file.start <= start_of(receipt));
        let path = file.map_or_else(|| self.directory.join(name), |file| file.path.clone());
        let (start, bytes) = (file.map_or(0, |file| file.start), u64::from(receipt.length));
        match self.damage.iter_mut().find(|damage| damage.path == path && damage.reason == reason) {
            Some(damage) => damage.bytes += bytes,
            None => self.damage.push(Damage { path, offset: start_of(receipt) - start, bytes, reason }),
        }
    }

    fn keep(&mut self, name: &str, receipt: &Receipt) {
        let files = self.found.get_mut(name).expect("it was looked at");
        let Some(at) = files.iter().rposition(|file| file.start <= start_of(receipt)) else { return };
        // In all files but the last, nothing follows the pages that stay.
        for before in &mut files[..at] {
            before.has_holes |= before.kept < before.start + before.length;
        }
        let file = &mut files[at];
        // Otherwise the bytes are in a file that was moved away.
        if receipt.end <= file.start + file.length {
            file.has_holes |= file.kept != start_of(receipt);
            file.kept = receipt.end;
        }
    }

    /// Whether a file must be rewritten.
    pub(super) fn has_holes(&self) -> bool {
        self.found.values().flatten().any(|file| file.has_holes)
    }

    /// Begins to rewrite the files that hold bytes of pages that do not stay.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        for file in self.found.values_mut().flatten().filter(|file| file.has_holes) {
            let path = with_end(&file.path, ".new");
            own::remove(&path)?;
            file.anew = Some((BufWriter::with_capacity(256 << 10, own::create(&path)?), 0));
        }
        Ok(())
    }

    /// Writes the bytes of a page that stays, and says where they are now. Call it in the same order as before.
    pub(super) fn carry(&mut self, name: &str, receipt: Receipt) -> io::Result<Receipt> {
        let files =
            self.found.get_mut(name).map(|files| files.iter_mut().rfind(|file| file.start <= start_of(&receipt)));
        // Bytes that are gone from an earlier run's output cannot be copied.
        let has = |file: &&mut OtherFile| file.anew.is_some() && receipt.end <= file.start + file.length;
        let Some(file) = files.flatten().filter(has) else { return Ok(receipt) };
        file.file.seek(SeekFrom::Start(start_of(&receipt) - file.start))?;
        let (to, written) = file.anew.as_mut().expect("it is there");
        io::copy(&mut (&file.file).take(receipt.length.into()), to)?;
        *written += u64::from(receipt.length);
        Ok(Receipt { end: file.start + *written, ..receipt })
    }

    /// Syncs the rewritten files. Returns each old file with its replacement; `None` if nothing of the file stays.
    pub(super) fn finish(&mut self) -> io::Result<Vec<(PathBuf, Option<PathBuf>)>> {
        let mut written = Vec::new();
        for file in self.found.values_mut().flatten() {
            let Some((to, bytes)) = file.anew.take() else { continue };
            to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            let anew = with_end(&file.path, ".new");
            if bytes == 0 {
                own::remove(&anew)?;
            }
            written.push((file.path.clone(), (bytes > 0).then_some(anew)));
        }
        Ok(written)
    }
}

impl OtherFile {
    fn open(start: u64, path: &Path) -> io::Result<Self> {
        let file = own::open(path, true)?;
        let length = file.metadata()?.len();
        let (path, kept) = (path.to_owned(), start);
        Ok(Self { path, start, length, file, kept, has_holes: false, is_short: false, anew: None })
    }

    /// Whether it has the bytes that a receipt describes.
    fn has(&mut self, receipt: &Receipt) -> bool {
        let mut bytes = vec![0; receipt.length as usize];
        let place = SeekFrom::Start(start_of(receipt) - self.start);
        let read = self.file.seek(place).and_then(|_| self.file.read_exact(&mut bytes));
        read.is_ok() && Receipt::checksum(&bytes) == receipt.checksum
    }
}

fn start_of(receipt: &Receipt) -> u64 {
    receipt.end.saturating_sub(receipt.length.into())
}
