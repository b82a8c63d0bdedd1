//! [`KnownPages`], the pages that another job has visited; [`Visits`], the output that keeps visits for a later job; and an index of the
//! places of visits, in a sorted file.
//!
//! A row of the index has 16 bytes: the fingerprint of a page's key, and twice the place of its last visit, plus one if the page was gone
//! then. Rows are sorted 64 MiB at a time, and merged if there are more. The first fingerprint of each 256 rows is kept in memory: 32 kB
//! for a million pages. A lookup reads 4 KiB. The file has no name, so its space is freed however the process ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::known_page::{HEAD, KnownPage, VisitHead};
use crate::address::{Fingerprint, FingerprintKey};
use crate::crawl::error::CrawlError;
use crate::crawl::lock::lock;
use crate::crawl::records::{DonePage, Sink};
use crate::driver::own::nameless;
use crate::driver::{VISITS, own};
use crate::job::{FileError, Job};

/// The pages that another job has visited, from its `pages.visits`. The job is only read. No crawl can run in it meanwhile.
///
/// Opening it reads the heads of all visits: one pass over a file of some 120 bytes a page plus its links. They are sorted 64 MiB at a
/// time. After that, each page takes 16 bytes of disk in the new job's directory and a quarter of a bit of memory.
#[derive(Debug)]
pub struct KnownPages {
    path: PathBuf,
    file: Mutex<File>,
    key: FingerprintKey,
    index: VisitIndex,
    /// Where the readable visits end, if that is not the end of the file.
    damaged_at: Option<u64>,
    /// Held while the job is read.
    _at_rest: Option<File>,
}

impl KnownPages {
    /// Reads what the job in `directory` has visited. The index is an unnamed file in `scratch`. Damaged visits are read up to the damage.
    ///
    /// # Errors
    /// If there is no job, or another process crawls in it; if it has no `pages.visits`; if the file system refuses.
    pub fn open(directory: &Path, scratch: &Path) -> Result<Self, CrawlError> {
        let job = Job::open_for_reading(directory)?;
        let at_rest = job.at_rest()?;
        let path = directory.join(VISITS);
        let file = own::open(&path, true).map_err(FileError::of("read", &path))?;
        let mut index = VisitIndexWriter::new(scratch);
        let read = heads(&file, |head, place| index.add(head.fingerprint, place, head.is_gone));
        let damaged_at = read.map_err(FileError::of("read", &path))?;
        let index = index.finish().map_err(FileError::of("sort into", scratch))?;
        let key = job.manifest().fingerprint_key;
        Ok(Self { path, file: Mutex::new(file), key, index, damaged_at, _at_rest: at_rest })
    }

    /// The path of the file of visits.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many pages existed at their last visit.
    pub fn pages(&self) -> u64 {
        self.index.pages()
    }

    /// Where the readable visits end, if that is not the end of their file.
    pub fn damaged_at(&self) -> Option<u64> {
        self.damaged_at
    }

    /// Passes on the keys of pages that the other job has not visited: nothing links to them any more, or that job ended before. Pages that
    /// it found gone count as visited. Returns how many keys there are.
    ///
    /// # Errors
    /// If a file cannot be read, or `take` fails.
    pub fn unmet_by(&self, other: &Self, mut take: impl FnMut(&str) -> io::Result<()>) -> io::Result<u64> {
        let mut unmet = 0;
        heads(&lock(&self.file), |head, place| {
            if head.is_gone || self.index.find(head.fingerprint)? != Some((place, false)) {
                return Ok(());
            }
            let file = File::open(&self.path)?;
            let Some(page) = read_visit(&file, place, head.length)? else { return Ok(()) };
            if other.index.find(other.key.fingerprint(&page.key))?.is_none() {
                unmet += 1;
                take(&page.key)?;
            }
            Ok(())
        })?;
        Ok(unmet)
    }

    /// The page with a key, if it existed at its last visit.
    pub(super) fn find(&self, key: &str) -> io::Result<Option<KnownPage>> {
        let Some((place, false)) = self.index.find(self.key.fingerprint(key))? else { return Ok(None) };
        let mut file = lock(&self.file);
        let mut head = [0; HEAD];
        file.seek(SeekFrom::Start(place))?;
        file.read_exact(&mut head)?;
        let Some(head) = VisitHead::read(&head) else { return Ok(None) };
        // Among many billions of keys, two share a fingerprint.
        Ok(read_visit(&file, place, head.length)?.filter(|page| page.key == key))
    }
}

/// The visit at a place, with a payload of this length; `None` if it is not complete or not there yet.
pub(super) fn read_visit(mut file: &File, place: u64, length: u32) -> io::Result<Option<KnownPage>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(place))?;
    file.take(HEAD as u64 + u64::from(length)).read_to_end(&mut bytes)?;
    Ok(KnownPage::read(&bytes))
}

/// Reads the head of each visit. Returns where they end, if that is not the end of the file.
fn heads(mut file: &File, mut take: impl FnMut(VisitHead, u64) -> io::Result<()>) -> io::Result<Option<u64>> {
    let end = file.metadata()?.len();
    file.rewind()?;
    let mut heads = BufReader::with_capacity(1 << 20, file);
    let mut place = 0;
    while !heads.fill_buf()?.is_empty() {
        let mut head = [0; HEAD];
        if end - place < HEAD as u64 {
            return Ok(Some(place));
        }
        heads.read_exact(&mut head)?;
        let Some(head) = VisitHead::read(&head).filter(|head| end - place - HEAD as u64 >= head.length.into()) else {
            return Ok(Some(place));
        };
        take(head, place)?;
        heads.seek_relative(head.length.into())?;
        place += HEAD as u64 + u64::from(head.length);
    }
    Ok(None)
}

/// Bytes of a row.
const ROW: usize = 16;
/// Rows read together.
const PAGE: usize = 256;
/// Rows sorted together.
const RUN: usize = 4 << 20;

/// A fingerprint, and twice a place, plus one for a page that is gone.
type Row = (u64, u64);

/// The index: one row for each page, sorted by fingerprint.
#[derive(Debug)]
struct VisitIndex {
    file: Mutex<File>,
    rows: u64,
    /// The number of rows whose pages are not gone.
    pages: u64,
    /// The first fingerprint of each [`PAGE`] rows.
    firsts: Vec<u64>,
}

/// Makes the index from rows in any order.
#[derive(Debug)]
struct VisitIndexWriter {
    directory: PathBuf,
    run: usize,
    rows: Vec<Row>,
    runs: Vec<File>,
}

impl VisitIndexWriter {
    /// Keeps its unnamed files in this directory.
    fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), run: RUN, rows: Vec::new(), runs: Vec::new() }
    }

    /// Adds a visit. If a page has several, the one with the highest place counts.
    fn add(&mut self, fingerprint: Fingerprint, place: u64, is_gone: bool) -> io::Result<()> {
        self.rows.push((fingerprint.bits(), place << 1 | u64::from(is_gone)));
        if self.rows.len() < self.run {
            return Ok(());
        }
        self.rows.sort_unstable();
        let mut to = BufWriter::new(nameless(&self.directory)?);
        self.rows.drain(..).try_for_each(|row| write(row, &mut to))?;
        let mut run = to.into_inner().map_err(io::IntoInnerError::into_error)?;
        run.rewind()?;
        self.runs.push(run);
        Ok(())
    }

    /// Sorts all rows into the index.
    fn finish(mut self) -> io::Result<VisitIndex> {
        self.rows.sort_unstable();
        let mut sources: Vec<Box<dyn Iterator<Item = io::Result<Row>>>> = vec![Box::new(self.rows.into_iter().map(Ok))];
        for run in self.runs {
            let mut run = BufReader::with_capacity(1 << 16, run);
            sources.push(Box::new(std::iter::from_fn(move || read(&mut run).transpose())));
        }
        let mut next = BinaryHeap::new();
        for (number, source) in sources.iter_mut().enumerate() {
            next.extend(source.next().transpose()?.map(|row| Reverse((row, number))));
        }
        let mut index =
            VisitIndex { file: Mutex::new(nameless(&self.directory)?), rows: 0, pages: 0, firsts: Vec::new() };
        let mut to = BufWriter::with_capacity(1 << 16, index.file.get_mut().unwrap_or_else(|_| unreachable!()));
        while let Some(Reverse((row, number))) = next.pop() {
            next.extend(sources[number].next().transpose()?.map(|row| Reverse((row, number))));
            if next.peek().is_some_and(|Reverse((other, _))| other.0 == row.0) {
                // A later visit of the same page exists.
                continue;
            }
            if index.rows.is_multiple_of(PAGE as u64) {
                index.firsts.push(row.0);
            }
            (index.rows, index.pages) = (index.rows + 1, index.pages + (!row.1 & 1));
            write(row, &mut to)?;
        }
        to.flush()?;
        drop(to);
        Ok(index)
    }
}

impl VisitIndex {
    /// Pages that existed at their last visit.
    fn pages(&self) -> u64 {
        self.pages
    }

    /// Where the last visit of a page is, and whether the page was gone then; `None` if there was no visit.
    fn find(&self, fingerprint: Fingerprint) -> io::Result<Option<(u64, bool)>> {
        let bits = fingerprint.bits();
        let Some(page) = self.firsts.partition_point(|&first| first <= bits).checked_sub(1) else { return Ok(None) };
        let begin = (page * PAGE) as u64;
        let rows = usize::try_from(self.rows - begin).unwrap_or(PAGE).min(PAGE);
        let mut bytes = [0; PAGE * ROW];
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(begin * ROW as u64))?;
        file.read_exact(&mut bytes[..rows * ROW])?;
        let rows = &bytes.as_chunks::<ROW>().0[..rows];
        let found = rows.binary_search_by_key(&bits, |row| of(row).0).ok().map(|at| of(&rows[at]).1);
        Ok(found.map(|place| (place >> 1, place & 1 == 1)))
    }
}

fn of(row: &[u8; ROW]) -> Row {
    let ([low, high], _) = row.as_chunks::<8>() else { return Row::default() };
    (u64::from_le_bytes(*low), u64::from_le_bytes(*high))
}

fn write((fingerprint, place): Row, to: &mut impl Write) -> io::Result<()> {
    to.write_all(&fingerprint.to_le_bytes())?;
    to.write_all(&place.to_le_bytes())
}

/// The next row; `None` at the end.
fn read(from: &mut impl Read) -> io::Result<Option<Row>> {
    let mut row = [0; ROW];
    match from.read_exact(&mut row) {
        Ok(()) => Ok(Some(of(&row))),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Keeps each page's `ETag`, `Last-Modified`, body digest and links in `pages.visits`, so that a later crawl can request it only if it has
/// changed. Pass it to [`Crawl::open_with`](crate::crawl::Crawl::open_with).
#[derive(Clone, Copy, Debug, Default)]
pub struct Visits;

impl Sink for Visits {
    fn name(&self) -> &'static str {
        VISITS
    }

    fn keeps_visits(&self) -> bool {
        true
    }

    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>) {
        to.extend_from_slice(page.visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_visit_counts_however_many_are_sorted_together() {
        let directory = tempfile::tempdir().unwrap();
        for (pages, run) in [(0, 7), (1, 7), (5, 7), (1000, RUN), (1000, 7), (1000, 300), (1024, 512)] {
            let mut writer = VisitIndexWriter { run, ..VisitIndexWriter::new(directory.path()) };
            let fingerprint = |page: u64| Fingerprint::from_bits(page.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut place = 0;
            // Every third page is visited again, and every ninth is gone by then.
            for visit in 0..2 {
                for page in (0..pages).filter(|page| visit == 0 || page % 3 == 0) {
                    writer.add(fingerprint(page), place, visit == 1 && page % 9 == 0).unwrap();
                    place += 100;
                }
            }
            let index = writer.finish().unwrap();
            for page in 0..pages {
                let first = page * 100;
                let expected = if page % 3 == 0 { ((pages + page / 3) * 100, page % 9 == 0) } else { (first, false) };
                assert_eq!(index.find(fingerprint(page)).unwrap(), Some(expected), "{page} of {pages}");
            }
            assert_eq!(index.pages(), pages - pages.div_ceil(9));
            assert_eq!(index.find(Fingerprint::from_bits(1)).unwrap(), None);
            assert_eq!(index.find(Fingerprint::from_bits(u64::MAX)).unwrap(), None);
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a file has kept its name");
    }
}
