//! The outputs beside the page records: which pages they hold, and how a page that is asked for again is taken out.
//!
//! A page is done only if each output that this run writes to holds its bytes. If one does not, the page is asked for again, and its bytes
//! are removed from the other outputs: otherwise they would have it twice. Such a file is rewritten without these bytes, and still begins
//! at the same place in its output. So no other file of a series is touched. Anything after the last page that stays is left to the next
//! resume, which cuts it off and keeps it.
//!
//! Files that are gone from the front or the middle of a series were moved away by the user: their pages are fine. Files that are gone
//! from the end were lost.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::Damage;
use super::line_format::LineFormat;
use crate::bytes::FileError;
use crate::frontier::Receipt;
use crate::job::own::{self, with_end};

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
    /// Where in the output the last page that stays ends, so far.
    kept: u64,
    /// Something before that is taken out.
    is_holed: bool,
    /// Its end is gone.
    is_short: bool,
    /// The file that it is rewritten to, and the bytes written there so far.
    anew: Option<(BufWriter<File>, u64)>,
}

impl OtherOutputs {
    pub(super) fn new(directory: &Path, named: &[String]) -> Self {
        Self { directory: directory.to_owned(), named: named.to_vec(), found: BTreeMap::new(), damage: Vec::new() }
    }

    /// Whether these outputs hold everything that a page's record says. If so, the page's bytes stay. Call it for the pages in order.
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
                // It is in a file that was moved away from the front.
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
            before.is_holed |= before.kept < before.start + before.length;
        }
        let file = &mut files[at];
        // Otherwise a file that was moved away has it.
        if receipt.end <= file.start + file.length {
            file.is_holed |= file.kept != start_of(receipt);
            file.kept = receipt.end;
        }
    }

    /// Whether a file must be rewritten.
    pub(super) fn is_holed(&self) -> bool {
        self.found.values().flatten().any(|file| file.is_holed)
    }

    /// Begins to rewrite the files that hold bytes of pages that do not stay.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        for file in self.found.values_mut().flatten().filter(|file| file.is_holed) {
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
        // Bytes that are gone from an earlier run's output stay gone.
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
        Ok(Self { path, start, length, file, kept, is_holed: false, is_short: false, anew: None })
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
