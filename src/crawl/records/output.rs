//! A job's output: one file, or a series of them.
//!
//! ```text
//!   pages.warc.gz:   pages-000000000000000.warc.gz            bytes 0 to 1,073,700,112 of the output
//!                    pages-000001073700112.warc.gz.open       from there on
//! ```
//!
//! In a series, a file's name says where it begins in the output, so no list is kept, and earlier files can be moved away. A file that ends
//! in `.open` may still be written to, or cut by a resume. It loses that ending once a checkpoint confirms all of it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::sink::Sink;
use super::writer::{NextFile, Writer, WriterThread};
use crate::crawl::lock::lock;
use crate::driver::own::{Inode, Named};
use crate::driver::{Receipt, own};
use crate::job::FileError;

/// A job's output: one file, or a series of them. Positions in it count from the beginning of the first file.
#[derive(Debug)]
pub(in crate::crawl) struct Output {
    /// The name that receipts and checkpoints use.
    name: String,
    /// `NAME` in the job's directory; its file, unless it is a series.
    path: PathBuf,
    /// Its files, in order, without files of a series that were finished in this run.
    parts: Vec<OutputPart>,
    series: Option<Series>,
    /// Where it ended when it was opened or cut.
    length: u64,
}

impl Output {
    /// Opens an output of lines, if it exists.
    pub(in crate::crawl) fn find(path: &Path) -> io::Result<Option<Self>> {
        Ok(OutputPart::find(path)?.map(|part| Self::of(path, vec![part], None)))
    }

    /// Makes a new output of lines.
    pub(in crate::crawl) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::of(path, vec![OutputPart::create(path)?], None))
    }

    /// Opens or makes the outputs of these sinks in a directory, in this order. Then opens each other series whose last file a kill left
    /// open: the pages that it lost are fetched again, and the file is finished.
    pub(in crate::crawl) fn of_sinks(directory: &Path, sinks: &[Arc<dyn Sink>]) -> Result<Vec<Self>, FileError> {
        let mut outputs = Vec::new();
        for sink in sinks {
            let path = directory.join(sink.name());
            let open = if sink.max_file_bytes().is_some() { Self::series } else { Self::single };
            outputs.push(open(&path).map_err(FileError::of("open", &path))?);
        }
        let left: io::Result<Vec<Self>> =
            left_open(directory).and_then(|left| left.iter().map(|path| Self::series(path)).collect());
        let mut left = left.map_err(FileError::of("read", directory))?;
        left.retain(|output| sinks.iter().all(|sink| sink.name() != output.name()));
        outputs.append(&mut left);
        Ok(outputs)
    }

    /// Opens an output of a sink that is one file, or makes it.
    pub(super) fn single(path: &Path) -> io::Result<Self> {
        Ok(Self::of(path, vec![OutputPart::single(path)?], None))
    }

    /// Opens an output of a sink that is a series of files.
    fn series(path: &Path) -> io::Result<Self> {
        let series = Series::new(own::parent(path), &name_of(path));
        let parts = series.find()?;
        Ok(Self::of(path, parts, Some(series)))
    }

    fn of(path: &Path, parts: Vec<OutputPart>, series: Option<Series>) -> Self {
        let length = parts.last().map_or(0, |last| last.start + last.length());
        Self { name: name_of(path), path: path.to_owned(), parts, series, length }
    }

    /// Its name.
    pub(in crate::crawl) fn name(&self) -> &str {
        &self.name
    }

    /// The path of its last file; that of `NAME` if it has no file.
    pub(in crate::crawl) fn path(&self) -> &Path {
        self.parts.last().map_or(&self.path, |last| &last.path)
    }

    /// Where it ended when it was opened or cut.
    pub(in crate::crawl) fn length(&self) -> u64 {
        self.length
    }

    /// Whether the bytes that a receipt describes are there.
    pub(in crate::crawl) fn has(&mut self, receipt: &Receipt) -> bool {
        self.find_bytes(receipt).is_some()
    }

    /// The bytes that a receipt describes, if they are there.
    pub(in crate::crawl) fn find_bytes(&mut self, receipt: &Receipt) -> Option<&[u8]> {
        let start = receipt.end.saturating_sub(receipt.length.into());
        self.parts.iter_mut().rfind(|part| part.start <= start)?.find_bytes(receipt)
    }

    /// Cuts it to its confirmed length. The bytes cut off are appended to `NAME.cut`. Returns their number. From now on, finished files of
    /// a series are left alone.
    pub(in crate::crawl) fn cut(&mut self, length: u64) -> io::Result<u64> {
        let kept = own::with_end(&self.path, ".cut");
        let mut cut = 0;
        let from = self.parts.iter().position(|part| part.start + part.length() > length);
        for part in self.parts.iter_mut().skip(from.unwrap_or(usize::MAX)) {
            if self.series.is_some() && !part.is_open() {
                part.reopen()?;
            }
            cut += part.cut(length.saturating_sub(part.start), &kept)?;
        }
        if self.series.is_some() {
            for part in self.parts.extract_if(.., |part| part.length() == 0) {
                own::remove(&part.path)?;
            }
            self.parts.retain(OutputPart::is_open);
        }
        self.length = length;
        Ok(cut)
    }

    /// Syncs its files: after that, a power cut cannot take what is in them.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.parts.iter().try_for_each(OutputPart::sync)
    }

    /// Where the file that takes the next bytes begins; `None` if they begin a new file.
    pub(in crate::crawl) fn last_start(&self) -> Option<u64> {
        let is_whole = |part: &&OutputPart| self.series.is_none() || part.is_open();
        self.parts.last().filter(is_whole).map(|part| part.start)
    }

    /// Starts the writer that appends to it.
    pub(in crate::crawl) fn start_writer(&mut self) -> io::Result<(Writer, WriterThread)> {
        let Some(series) = self.series.clone() else { return Writer::start(self.handle()?) };
        let open = self.last_start().map(|_| self.handle()).transpose()?;
        let next: NextFile<File> = Box::new(move |start| {
            let part = series.begin(start)?;
            let handle = part.handle();
            series.add_begun(part);
            handle
        });
        Writer::start_series(open, next)
    }

    /// Another handle to append to its last file. It has its own cursor: a write through a clone would move a reader's cursor.
    pub(in crate::crawl) fn handle(&self) -> io::Result<File> {
        self.parts.last().ok_or(io::ErrorKind::NotFound)?.handle()
    }

    /// Adds the files that its writer has begun. Callers that compare files with what was written must read the written length first.
    pub(super) fn note_begun(&mut self) {
        if let Some(series) = &self.series {
            self.parts.extend(series.begun());
        }
    }

    /// Its files, each with the number of its bytes if the output ends at `end`.
    pub(super) fn parts(&mut self, end: u64) -> impl Iterator<Item = (&mut OutputPart, u64)> {
        let starts = self.parts.iter().skip(1).map(|next| next.start);
        let ends: Vec<u64> = starts.chain([u64::MAX]).map(|next| next.min(end)).collect();
        self.parts.iter_mut().zip(ends).map(|(part, end)| {
            let length = end.saturating_sub(part.start);
            (part, length)
        })
    }

    /// Finishes the files of a series that another file follows, and also the last one if nothing more is written. Everything up to `end`
    /// is on disk.
    pub(super) fn finish(&mut self, end: u64, is_over: bool) -> io::Result<()> {
        let Some(series) = &self.series else { return Ok(()) };
        let starts = self.parts.iter().skip(1).map(|next| next.start);
        let whole = starts.filter(|next| *next <= end).count() + usize::from(is_over && !self.parts.is_empty());
        for mut part in self.parts.drain(..whole) {
            part.finish()?;
        }
        if whole > 0 { series.sync_names() } else { Ok(()) }
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The extension of a file of a series that may still change.
const OPEN: &str = "open";

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

/// The problem of a file that another program has changed.
const CHANGED: &str = "was cut or written to by another program while the crawl wrote to it";

impl OutputPart {
    /// Opens a file of lines, if it exists.
    fn find(path: &Path) -> io::Result<Option<Self>> {
        match own::open(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Self::of(path, file?, 0, true).map(Some),
        }
    }

    /// Makes a file of lines.
    fn create(path: &Path) -> io::Result<Self> {
        Self::of(path, own::create(path)?, 0, true)
    }

    /// Opens the file of a sink's output, or makes it.
    fn single(path: &Path) -> io::Result<Self> {
        Self::of(path, own::open_or_create(path)?, 0, false)
    }

    /// Opens a file of a series.
    fn of_series(path: &Path, start: u64) -> io::Result<Self> {
        Self::of(path, own::open(path, false)?, start, false)
    }

    /// Makes a file of a series.
    fn begin(path: &Path, start: u64) -> io::Result<Self> {
        Self::of(path, own::create(path)?, start, false)
    }

    fn of(path: &Path, file: File, start: u64, is_lines: bool) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (inode, length) = (Inode::of(&metadata), metadata.len());
        Ok(Self { path: path.to_owned(), start, file, inode, length, buffer: Vec::new(), is_lines })
    }

    /// Bytes of the file when it was opened or cut.
    fn length(&self) -> u64 {
        self.length
    }

    /// The bytes that a receipt describes, if they are there.
    fn find_bytes(&mut self, receipt: &Receipt) -> Option<&[u8]> {
        let start = receipt.end.checked_sub(receipt.length.into())?.checked_sub(self.start)?;
        if receipt.end - self.start > self.length {
            return None;
        }
        self.read(start, receipt.length as usize).filter(|written| Receipt::checksum(written) == receipt.checksum)
    }

    /// Cuts the file to a length. The bytes cut off are appended to the file `kept`. Returns their number.
    fn cut(&mut self, length: u64, kept: &Path) -> io::Result<u64> {
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

    /// Whether it is a file of a series that may still change: the last one so far, or one that no checkpoint has confirmed yet.
    fn is_open(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == OPEN)
    }

    /// Renames a file of a series: its new name says that it will not change any more.
    fn finish(&mut self) -> io::Result<()> {
        self.rename(self.path.with_extension(""))
    }

    /// Renames a file of a series: its new name says that it may still change.
    fn reopen(&mut self) -> io::Result<()> {
        self.rename(own::with_end(&self.path, ".open"))
    }

    fn rename(&mut self, path: PathBuf) -> io::Result<()> {
        fs::rename(&self.path, &path)?;
        self.path = path;
        Ok(())
    }

    /// The file's problem, if it has one. `written` is the number of bytes that all runs together have written to it.
    pub(super) fn problem(&mut self, written: u64) -> io::Result<Option<&'static str>> {
        let named = self.inode.at(&self.path)?;
        let is_ours = self.file.metadata()?.len() >= written && (!self.is_lines || self.ends_line(written));
        Ok(match named {
            Named::Nothing => Some("was removed while the crawl wrote to it"),
            Named::Another => Some("was replaced while the crawl wrote to it"),
            Named::This => (!is_ours).then_some(CHANGED),
        })
    }

    /// Whether the name is gone or belongs to another file. In that case, everything written is still in the open file.
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

    /// Whether a line ends at `end`. True at the file's beginning.
    fn ends_line(&mut self, end: u64) -> bool {
        let Some(last) = end.checked_sub(1) else { return true };
        self.read(last, 1).is_some_and(|last| last == b"\n")
    }

    /// Syncs the file: after that, a power cut cannot take what was written.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Another handle to append with. It has its own cursor: a write through a clone would move a reader's cursor.
    fn handle(&self) -> io::Result<File> {
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

/// At least this many digits of a position in a file's name.
const DIGITS: usize = 15;

/// Where the files of a series are, and which ones this run has begun.
#[derive(Clone, Debug)]
pub(super) struct Series {
    directory: PathBuf,
    /// The output's name.
    name: String,
    begun: Arc<Mutex<Vec<OutputPart>>>,
}

impl Series {
    pub(super) fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), name: name.to_owned(), begun: Arc::default() }
    }

    /// Its files, in order.
    pub(super) fn find(&self) -> io::Result<Vec<OutputPart>> {
        let mut found = Vec::new();
        for entry in self.directory.read_dir()? {
            let name = entry?.file_name();
            if let Some(start) = self.start_of(&name) {
                found.push((start, self.directory.join(name)));
            }
        }
        found.sort();
        let open = |(start, path): (u64, PathBuf)| {
            OutputPart::of_series(&path, start).map_err(|error| FileError::of("open", path)(error).into())
        };
        found.into_iter().map(open).collect()
    }

    /// Makes the next file.
    fn begin(&self, start: u64) -> io::Result<OutputPart> {
        let name = format!("{}.{OPEN}", file_name(&self.name, start));
        let part = OutputPart::begin(&self.directory.join(name), start)?;
        self.sync_names()?;
        Ok(part)
    }

    /// Records that a file was made. [`begun`](Self::begun) returns it.
    fn add_begun(&self, part: OutputPart) {
        lock(&self.begun).push(part);
    }

    /// The files that were made since the last call.
    fn begun(&self) -> Vec<OutputPart> {
        std::mem::take(&mut lock(&self.begun))
    }

    /// Syncs the directory: after that, a power cut cannot take the names of its files.
    fn sync_names(&self) -> io::Result<()> {
        own::sync_names(&self.directory)
    }

    /// Where a file begins in the output, from its name.
    fn start_of(&self, file: &OsStr) -> Option<u64> {
        let (stem, ending) = parts(&self.name);
        let file = file.to_str()?;
        let file = file.strip_suffix(&format!(".{OPEN}")).unwrap_or(file);
        let digits = file.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(ending)?;
        let is_start = digits.len() >= DIGITS && digits.bytes().all(|digit| digit.is_ascii_digit());
        if is_start { digits.parse().ok() } else { None }
    }
}

/// The outputs in a directory that are series with a file that may still change: their writer was killed.
fn left_open(directory: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    for entry in directory.read_dir()? {
        let file = entry?.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(&format!(".{OPEN}")));
        let Some((start, ending)) = name.map(parts) else { continue };
        let Some((stem, _)) = start.rsplit_once('-') else { continue };
        let series = Series::new(directory, &format!("{stem}{ending}"));
        if series.start_of(&file).is_some() {
            found.insert(directory.join(series.name));
        }
    }
    Ok(found)
}

/// The name of the file of a series that begins at `start`.
pub(super) fn file_name(output: &str, start: u64) -> String {
    let (stem, ending) = parts(output);
    format!("{stem}-{start:0DIGITS$}{ending}")
}

/// The stem and the ending, such as `pages` and `.warc.gz`.
fn parts(name: &str) -> (&str, &str) {
    name.split_at(name.find('.').unwrap_or(name.len()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn concurrent_writes_do_not_disturb_the_check_of_a_file() {
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

    #[test]
    fn a_name_says_where_its_file_begins() {
        let series = Series::new(Path::new("job"), "pages.warc.gz");
        for start in [0, 7, 1_073_700_112, u64::MAX] {
            let name = file_name("pages.warc.gz", start);
            assert!(name.starts_with("pages-") && name.ends_with(".warc.gz"), "{name}");
            for name in [name.clone(), name + ".open"] {
                assert_eq!(series.start_of(OsStr::new(&name)), Some(start));
            }
        }
        for other in [
            "pages.jsonl",
            "pages.warc.gz.cut",
            "pages-1.warc.gz",
            "pages-00000000000000a.warc.gz",
            "pages-000000000000000.warc.gz.saved",
            "pages-000000000000000.warc",
            "mypages-000000000000000.warc.gz",
        ] {
            assert_eq!(series.start_of(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_series_that_was_left_open_is_found_by_its_file() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "pages-000000000000000.warc.gz",
            "pages-000000000000900.warc.gz",
            "pages-000000000000000.warc.zst",
            "pages-000000000000070.warc.zst.open",
            "my-own-000000000000070.open",
            "pages-70.warc.open",
            "pages.jsonl",
            "000000000000070.warc.open",
            ".open",
        ] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let found = left_open(directory.path()).unwrap();
        assert!(found.into_iter().eq(["my-own", "pages.warc.zst"].map(|name| directory.path().join(name))));
    }
}
