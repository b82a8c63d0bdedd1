//! The pages that another job has visited.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::known_page::{HEAD, KnownPage, VisitHead};
use super::visit_index::{VisitIndex, VisitIndexWriter};
use crate::address::FingerprintKey;
use crate::crawl::error::CrawlError;
use crate::crawl::lock::lock;
use crate::job::{FileError, Job, VISITS, own};

/// The pages that another job has visited, from its `pages.visits`. The job is only read, and no crawl can run in it meanwhile.
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

    /// The file of the visits.
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

    /// Passes on the keys of pages that the other job has not met: nothing links to them any more, or it ended before. Pages that it found
    /// gone count as met. Returns how many there are.
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
        // Two keys in many billions share a fingerprint.
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
