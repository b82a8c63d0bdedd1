//! [`KnownPages`], the pages that another job has visited; [`Visits`], the output that keeps visits for a later job; and an index of the
//! places of visits, in a sorted file.
//!
//! A row of the index has 16 bytes: the fingerprint of a page's key; and twice the place of its last visit, plus one if the page was gone
//! then. The first fingerprint of each 256 rows is kept in memory: 64 kB for a million pages. A lookup reads 4 KiB. The file has no name,
//! so its space is freed however the process ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::known_page::{HEAD, KnownPage, VisitHead};
use crate::address::{Fingerprint, FingerprintKey};
use crate::crawl::error::CrawlError;
use crate::crawl::lock::lock;
use crate::crawl::records::{DonePage, Sink};
use crate::crawl::sorter::Sorter;
use crate::driver::own::{PAGE, RunFile, RunFileWriter, key_of, nameless};
use crate::driver::{VISITS, own};
use crate::job::{FileError, Job};

/// The pages that another job has visited, from its `pages.visits`. The job is only read. No crawl can run in it meanwhile.
///
/// Opening it reads the heads of all visits: one pass over a file of some 120 bytes a page plus its links. They are sorted 64 MiB at a
/// time. After that, each page takes 16 bytes of disk in the new job's directory and half a bit of memory.
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
        let mut rows = Sorter::new(scratch);
        let read = heads(&file, |head, place| rows.add(row_of(head.fingerprint, place, head.is_gone)));
        let damaged_at = read.map_err(FileError::of("read", &path))?;
        let index = VisitIndex::of(rows, scratch).map_err(FileError::of("sort in", scratch))?;
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
        // Two keys may share a fingerprint: among five billion keys, some two probably do.
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

/// A fingerprint, and twice a place, plus one for a page that is gone; big-endian, so that rows sort as these numbers.
type Row = [u8; 16];

/// The index: one row for each page, sorted by fingerprint.
#[derive(Debug)]
struct VisitIndex {
    /// The rows, and the page of them that was read last.
    rows: Mutex<(RunFile<u64>, Vec<u8>)>,
    /// The number of rows whose pages are not gone.
    pages: u64,
}

/// The row of a visit.
fn row_of(fingerprint: Fingerprint, place: u64, is_gone: bool) -> Row {
    let mut row = [0; size_of::<Row>()];
    row[..8].copy_from_slice(&fingerprint.bits().to_be_bytes());
    row[8..].copy_from_slice(&(place << 1 | u64::from(is_gone)).to_be_bytes());
    row
}

/// Where the visit of a row is, and whether the page was gone then.
fn place_of(row: &Row) -> (u64, bool) {
    let place = row.last_chunk().map_or(0, |place| u64::from_be_bytes(*place));
    (place >> 1, place & 1 == 1)
}

impl VisitIndex {
    /// Writes the rows to an unnamed file in a directory. If a page has several, the one with the highest place counts.
    fn of(rows: Sorter<Row>, directory: &Path) -> io::Result<Self> {
        let (mut pages, mut to) = (0, RunFileWriter::new(nameless(directory)?, PAGE));
        let mut rows = rows.finish()?.peekable();
        while let Some(row) = rows.next().transpose()? {
            if matches!(rows.peek(), Some(Ok(next)) if key_of(next) == key_of(&row)) {
                // A later visit of the same page exists.
                continue;
            }
            pages += u64::from(!place_of(&row).1);
            to.push(key_of(&row), |page| page.extend_from_slice(&row))?;
        }
        Ok(Self { rows: Mutex::new((to.finish()?, Vec::new())), pages })
    }

    /// Pages that existed at their last visit.
    fn pages(&self) -> u64 {
        self.pages
    }

    /// Where the last visit of a page is, and whether the page was gone then; `None` if there was no visit.
    fn find(&self, fingerprint: Fingerprint) -> io::Result<Option<(u64, bool)>> {
        let (rows, page) = &mut *lock(&self.rows);
        Ok(rows.find(fingerprint.bits(), page)?.map(|row| place_of(&row)))
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
    fn the_last_visit_of_a_page_counts() {
        let directory = tempfile::tempdir().unwrap();
        for pages in [0, 1, 5, 1000, 1024] {
            let mut rows = Sorter::new(directory.path());
            let fingerprint = |page: u64| Fingerprint::from_bits(page.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut place = 0;
            // Every third page is visited again, and every ninth is gone by then.
            for visit in 0..2 {
                for page in (0..pages).filter(|page| visit == 0 || page % 3 == 0) {
                    rows.add(row_of(fingerprint(page), place, visit == 1 && page % 9 == 0)).unwrap();
                    place += 100;
                }
            }
            let index = VisitIndex::of(rows, directory.path()).unwrap();
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
