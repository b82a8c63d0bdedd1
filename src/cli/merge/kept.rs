//! The jobs whose page records are merged; a bit for each record, set if it is kept; and readers of the kept lines and of their links.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use crate::cli::command_error::{CommandError, Exit};
use crate::cli::job_file::{JobFile, unread};
use crate::cli::layers::refused;
use crate::cli::toml_file;
use crate::crawl::PageFormat;
use crate::driver::repair::LineFormat;
use crate::driver::{PAGES, Receipt, own};
use crate::job::Job;

/// The file in a node's job that names its crawl; only a node's job has it.
const CLUSTER: &str = "cluster.toml";
/// Bytes per read.
const BUFFER: usize = 1 << 18;

/// The crawl that a job belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CrawlName {
    /// A cluster's: its name, and an id that tells it from others of that name.
    Cluster { name: String, id: String },
    /// A crawl on one machine.
    Plain { id: u64 },
}

/// A job, and how far its records have been read.
#[derive(Debug)]
pub(super) struct MergedJob {
    directory: PathBuf,
    path: PathBuf,
    crawl: CrawlName,
    /// The number of whole lines, and their bytes.
    pub(super) records: u64,
    pub(super) bytes: u64,
}

impl MergedJob {
    /// Opens the job in a directory, which another process may be crawling into.
    pub(super) fn open(directory: &Path) -> Result<Self, CommandError> {
        let named = directory.join(CLUSTER);
        let said = match own::read(&named) {
            // A path that is not a directory gets the same message as one that is not a job.
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => None,
            read => Some(read.map_err(CommandError::cannot(Exit::Failed, "read", &named))?),
        };
        let crawl = match said {
            Some(bytes) => crawl_of(&named, &String::from_utf8_lossy(&bytes))?,
            None => CrawlName::Plain {
                id: Job::open_for_reading(directory).map_err(|error| refused(&error))?.manifest().id,
            },
        };
        Ok(Self { directory: directory.to_owned(), path: directory.join(PAGES), crawl, records: 0, bytes: 0 })
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The path of its records.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses two jobs of different crawls, and the same job twice.
    pub(super) fn check_same_crawl(&self, other: &Self) -> Result<(), CommandError> {
        let [one, two] = [other, self].map(|job| job.directory.display());
        let message = match (&other.crawl, &self.crawl) {
            _ if self.directory.canonicalize().ok() == other.directory.canonicalize().ok() => {
                return Err(CommandError::new(Exit::Usage, format!("{one} and {two} are one directory")));
            }
            (CrawlName::Cluster { name, id }, CrawlName::Cluster { name: other, id: beside }) => {
                if id == beside {
                    return Ok(());
                }
                format!("{one} belongs to the crawl {name} ({id}), and {two} to {other} ({beside})")
            }
            (CrawlName::Plain { .. }, CrawlName::Plain { .. }) => {
                format!("{one} and {two} are two crawls, each on one machine: merge each by itself")
            }
            (CrawlName::Cluster { name, .. }, CrawlName::Plain { .. }) => {
                format!("{one} belongs to the crawl {name}, on many machines, and {two} to a crawl on one machine")
            }
            (CrawlName::Plain { .. }, CrawlName::Cluster { name, .. }) => {
                format!("{two} belongs to the crawl {name}, on many machines, and {one} to a crawl on one machine")
            }
        };
        Err(CommandError::new(Exit::ForeignJob, message))
    }

    /// Its records: all bytes that exist now or, with `is_again`, the bytes that were read before.
    pub(super) fn read(&self, is_again: bool) -> io::Result<BufReader<Take<JobFile>>> {
        let bytes = if is_again { self.bytes } else { u64::MAX };
        Ok(BufReader::with_capacity(BUFFER, JobFile::open(&self.path)?.take(bytes)))
    }
}

/// Parses the crawl that a node's file names.
fn crawl_of(path: &Path, text: &str) -> Result<CrawlName, CommandError> {
    let entries = toml_file::entries(&path.display().to_string(), text).map_err(CommandError::refused)?;
    let value = |key| {
        let entry = entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.given.texts.first());
        let missing = || CommandError::new(Exit::ForeignJob, format!("{} names no {key}", path.display()));
        entry.map(|text| text.to_string_lossy().into_owned()).ok_or_else(missing)
    };
    Ok(CrawlName::Cluster { name: value("crawl")?, id: value("id")? })
}

/// Which records are kept: a bit for each, 125 MB for a billion.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bits: Vec<u64>,
    pub(super) count: u64,
}

impl Kept {
    /// Keeps none of `records` records.
    pub(super) fn none_of(records: u64) -> Self {
        let words = usize::try_from(records.div_ceil(64)).expect("their claims were counted in memory or on disk");
        Self { bits: vec![0; words], count: 0 }
    }

    /// Keeps a record.
    pub(super) fn keep(&mut self, number: u64) {
        self.bits[place(number)] |= 1 << (number % 64);
        self.count += 1;
    }

    fn has(&self, number: u64) -> bool {
        self.bits[place(number)] >> (number % 64) & 1 == 1
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number / 64).unwrap_or(usize::MAX)
}

/// The kept lines, job after job, in the order in which they were written.
pub(super) struct KeptLines<'a> {
    jobs: std::slice::Iter<'a, MergedJob>,
    kept: &'a Kept,
    /// The current job, its lines, and how many of them are left.
    job: Option<(&'a MergedJob, BufReader<Take<JobFile>>, u64)>,
    /// Jobs opened so far.
    opened: usize,
    number: u64,
    line: Vec<u8>,
    taken: usize,
}

impl<'a> KeptLines<'a> {
    pub(super) fn of(jobs: &'a [MergedJob], kept: &'a Kept) -> Self {
        Self { jobs: jobs.iter(), kept, job: None, opened: 0, number: 0, line: Vec::new(), taken: 0 }
    }

    /// The line that was read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The job of that line, and its index in the list.
    pub(super) fn job(&self) -> Option<(usize, &'a MergedJob)> {
        self.job.as_ref().map(|(job, ..)| (self.opened - 1, *job))
    }

    /// Reads the next kept line; at the end, an empty one.
    pub(super) fn next(&mut self) -> io::Result<()> {
        (self.taken, self.line) = (0, std::mem::take(&mut self.line));
        loop {
            self.line.clear();
            match &mut self.job {
                Some((job, from, left)) if *left > 0 => {
                    if from.read_until(b'\n', &mut self.line)? == 0 {
                        let path = job.path().display();
                        return Err(io::Error::other(format!("{path} was cut while it was read: merge again")));
                    }
                    *left -= 1;
                    self.number += 1;
                    if self.kept.has(self.number - 1) {
                        return Ok(());
                    }
                }
                _ => {
                    let Some(job) = self.jobs.next() else { return Ok(()) };
                    self.job = Some((job, job.read(true)?, job.records));
                    self.opened += 1;
                }
            }
        }
    }
}

impl BufRead for KeptLines<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.line.len() {
            self.next()?;
        }
        Ok(&self.line[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}

impl Read for KeptLines<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(to)?;
        self.consume(count);
        Ok(count)
    }
}

/// The job output with the links.
const LINKS: &str = "links.jsonl";

/// The link lines of the kept pages, in the order of the page records. A page's record says where its links are.
pub(super) struct KeptLinks<'a> {
    pages: KeptLines<'a>,
    /// The open file of links, and the index of its job in the list.
    open: Option<(usize, JobFile)>,
    lines: Vec<u8>,
    taken: usize,
}

impl<'a> KeptLinks<'a> {
    pub(super) fn of(pages: KeptLines<'a>) -> Self {
        Self { pages, open: None, lines: Vec::new(), taken: 0 }
    }

    /// Reads the links of the next page that has any; at the end, nothing.
    fn next(&mut self) -> io::Result<()> {
        (self.taken, self.lines) = (0, std::mem::take(&mut self.lines));
        self.lines.clear();
        while self.lines.is_empty() {
            self.pages.next()?;
            if self.pages.line().is_empty() {
                return Ok(());
            }
            let outputs = PageFormat.read(self.pages.line()).map(|page| page.outputs).unwrap_or_default();
            if let Some((_, links)) = outputs.into_iter().find(|(name, _)| name == LINKS) {
                self.read(links)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, links: Receipt) -> io::Result<()> {
        let Some((number, job)) = self.pages.job() else { return Ok(()) };
        let path = job.directory().join(LINKS);
        let file = match &mut self.open {
            Some((open, file)) if *open == number => file,
            open => &mut open.insert((number, JobFile::open(&path)?)).1,
        };
        let start = links.end.saturating_sub(links.length.into());
        file.seek(SeekFrom::Start(start))?;
        file.take(links.length.into()).read_to_end(&mut self.lines)?;
        if Receipt::of(&self.lines, start) != links {
            let message = format!("the links at byte {start} are not those of their page's record");
            return Err(unread(&path)(io::Error::other(message)));
        }
        Ok(())
    }
}

impl BufRead for KeptLinks<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.lines.len() {
            self.next()?;
        }
        Ok(&self.lines[self.taken..])
    }

    fn consume(&mut self, count: usize) {
        self.taken += count;
    }
}

impl Read for KeptLinks<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(to)?;
        self.consume(count);
        Ok(count)
    }
}
