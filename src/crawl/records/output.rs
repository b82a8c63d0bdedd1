//! A job's output: one file, or a series of them.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::output_part::OutputPart;
use super::series::{Series, left_open};
use super::writer::{NextFile, Writer, WriterThread};
use crate::frontier::Receipt;
use crate::job::own;

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

    /// Makes an output of lines.
    pub(in crate::crawl) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::of(path, vec![OutputPart::create(path)?], None))
    }

    /// Opens another output that is one file, or makes it.
    pub(in crate::crawl) fn other(path: &Path) -> io::Result<Self> {
        Ok(Self::of(path, vec![OutputPart::other(path)?], None))
    }

    /// Opens another output that is a series of files.
    pub(in crate::crawl) fn series(path: &Path) -> io::Result<Self> {
        let series = Series::new(own::parent(path), &name_of(path));
        let parts = series.find()?;
        Ok(Self::of(path, parts, Some(series)))
    }

    /// Opens the unfinished series among the other outputs in a directory.
    pub(in crate::crawl) fn left_open(directory: &Path) -> io::Result<Vec<Self>> {
        left_open(directory)?.iter().map(|path| Self::series(path)).collect()
    }

    fn of(path: &Path, parts: Vec<OutputPart>, series: Option<Series>) -> Self {
        let length = parts.last().map_or(0, |last| last.start + last.length());
        Self { name: name_of(path), path: path.to_owned(), parts, series, length }
    }

    /// Its name.
    pub(in crate::crawl) fn name(&self) -> &str {
        &self.name
    }

    /// The path of its last file, or `NAME` if it has none.
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

    /// Cuts it to its confirmed length. The bytes cut off are appended to `NAME.cut`. Returns their number. From here on, finished files of
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

    /// Returns once a power cut cannot take what is in it.
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
            series.tell(part);
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
