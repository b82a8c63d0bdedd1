//! One file of a job's output: its contents, what is cut off, whether it is still ours.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::frontier::Receipt;
use crate::job::own::{self, Inode, Named};

/// The extension of a file of a series that may still change.
pub(super) const OPEN: &str = "open";

/// One file of a job's output. A run appends to the last one, after what earlier runs have written.
#[derive(Debug)]
pub(in crate::crawl) struct OutputPart {
    pub(in crate::crawl) path: PathBuf,
    /// Where the file begins in its output.
    pub(in crate::crawl) start: u64,
    file: File,
    inode: Inode,
    length: u64,
    buffer: Vec<u8>,
    /// It consists of lines, so each piece of it ends with a line end.
    is_lines: bool,
}

/// Another program has changed a file.
const OTHERS: &str = "another program has cut it or written to it while the crawl did";

impl OutputPart {
    /// Opens a file of lines, if it exists.
    pub(super) fn find(path: &Path) -> io::Result<Option<Self>> {
        match own::open(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Self::of(path, file?, 0, true).map(Some),
        }
    }

    /// Makes a file of lines.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Self::of(path, own::create(path)?, 0, true)
    }

    /// Opens a file of another output, or makes it.
    pub(super) fn other(path: &Path) -> io::Result<Self> {
        Self::of(path, own::open_or_create(path)?, 0, false)
    }

    /// Opens a file of a series.
    pub(super) fn of_series(path: &Path, start: u64) -> io::Result<Self> {
        Self::of(path, own::open(path, false)?, start, false)
    }

    /// Makes a file of a series.
    pub(super) fn begin(path: &Path, start: u64) -> io::Result<Self> {
        Self::of(path, own::create(path)?, start, false)
    }

    fn of(path: &Path, file: File, start: u64, is_lines: bool) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (inode, length) = (Inode::of(&metadata), metadata.len());
        Ok(Self { path: path.to_owned(), start, file, inode, length, buffer: Vec::new(), is_lines })
    }

    /// Bytes of the file when it was opened or cut.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The bytes that a receipt describes, if they are there.
    pub(super) fn find_bytes(&mut self, receipt: &Receipt) -> Option<&[u8]> {
        let start = receipt.end.checked_sub(receipt.length.into())?.checked_sub(self.start)?;
        if receipt.end - self.start > self.length {
            return None;
        }
        self.read(start, receipt.length as usize).filter(|written| Receipt::checksum(written) == receipt.checksum)
    }

    /// Cuts the file to a length. The bytes cut off are appended to the file `kept`. Returns their number.
    pub(super) fn cut(&mut self, length: u64, kept: &Path) -> io::Result<u64> {
        let cut = self.length - length;
        if cut > 0 {
            let mut kept = own::open_or_create(kept)?;
            self.file.seek(SeekFrom::Start(length))?;
            io::copy(&mut (&self.file).take(cut), &mut kept)?;
            // Half a record gets a line end, so that the next one starts a line.
            if self.is_lines && !self.ends_line(self.length) {
                kept.write_all(b"\n")?;
            }
            kept.sync_all()?;
            self.file.set_len(length)?;
            self.file.sync_all()?;
            self.length = length;
        }
        Ok(cut)
    }

    /// Whether it is a file of a series that is the last one so far or is not yet confirmed.
    pub(super) fn is_open(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == OPEN)
    }

    /// Renames a file of a series: its new name says that it will not change any more.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.rename(self.path.with_extension(""))
    }

    /// Renames a file of a series: its new name says that it may still change.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        self.rename(own::with_end(&self.path, ".open"))
    }

    fn rename(&mut self, path: PathBuf) -> io::Result<()> {
        fs::rename(&self.path, &path)?;
        self.path = path;
        Ok(())
    }

    /// Says what is wrong with the file. `written` is the number of bytes that all runs together have written to it.
    pub(super) fn problem(&mut self, written: u64) -> io::Result<Option<&'static str>> {
        let named = self.inode.at(&self.path)?;
        let is_ours = self.file.metadata()?.len() >= written && (!self.is_lines || self.ends_line(written));
        Ok(match named {
            Named::Nothing => Some("was removed while the crawl wrote to it"),
            Named::Another => Some("was replaced while the crawl wrote to it"),
            Named::This => (!is_ours).then_some(OTHERS),
        })
    }

    /// Whether the name is gone or belongs to another file. In that case, everything written is still there.
    pub(super) fn is_elsewhere(&mut self) -> io::Result<bool> {
        Ok(self.inode.at(&self.path)? != Named::This)
    }

    /// Copies a file that has lost its name to a new file of that name, or to `NAME.saved` if the name is taken. Returns the new path.
    pub(super) fn save(&mut self) -> io::Result<PathBuf> {
        let mut path = self.path.clone();
        let mut file = own::create(&path);
        if file.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            path = own::with_end(&self.path, ".saved");
            file = own::create(&path);
        }
        let mut file = file?;
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut &self.file, &mut file)?;
        file.sync_all()?;
        if path == self.path {
            (self.inode, self.file) = (Inode::of(&file.metadata()?), file);
        }
        Ok(path)
    }

    /// Whether a line ends there. True at the file's beginning.
    fn ends_line(&mut self, end: u64) -> bool {
        let Some(last) = end.checked_sub(1) else { return true };
        self.read(last, 1).is_some_and(|last| last == b"\n")
    }

    /// Returns once a power cut cannot take what was written.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Another handle to append with. It has its own cursor: a write through a clone would move a reader's cursor.
    pub(super) fn handle(&self) -> io::Result<File> {
        let file = own::open(&self.path, false)?;
        let is_ours = Inode::of(&file.metadata()?) == self.inode;
        if is_ours { Ok(file) } else { Err(io::Error::other("it was replaced just now")) }
    }

    fn read(&mut self, start: u64, length: usize) -> Option<&[u8]> {
        self.buffer.resize(length, 0);
        self.file.seek(SeekFrom::Start(start)).ok()?;
        self.file.read_exact(&mut self.buffer).ok()?;
        Some(&self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn what_is_written_meanwhile_disturbs_no_look_at_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = OutputPart::create(&directory.path().join("pages.jsonl")).unwrap();
        let mut handle = output.handle().unwrap();
        let (written, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    handle.write_all(b"{}\n").unwrap();
                    written.fetch_add(3, Ordering::Release);
                }
            });
            for _ in 0..20_000 {
                let problem = output.problem(written.load(Ordering::Acquire)).unwrap();
                if problem.is_some() {
                    is_over.store(true, Ordering::Release);
                }
                assert_eq!(problem, None);
            }
            is_over.store(true, Ordering::Release);
        });
    }
}
