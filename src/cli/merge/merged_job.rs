//! A job whose page records are merged: one node's of a cluster, or one of a crawl on one machine.

use std::io::{self, BufReader, ErrorKind, Read, Take};
use std::path::{Path, PathBuf};

use super::super::command_error::CommandError;
use super::super::exit::Exit;
use super::super::job_file::JobFile;
use super::super::toml_file;
use super::super::unfit::refused;
use crate::job::{Job, PAGES, own};

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
    /// Whole lines, and their bytes.
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

    /// Refuses a job of another crawl, or the same job twice.
    pub(super) fn check_beside(&self, other: &Self) -> Result<(), CommandError> {
        let [one, two] = [other, self].map(|job| job.directory.display());
        let message = match (&other.crawl, &self.crawl) {
            _ if self.directory.canonicalize().ok() == other.directory.canonicalize().ok() => {
                return Err(CommandError::new(Exit::Usage, format!("{one} and {two} are one directory")));
            }
            (CrawlName::Cluster { name, id }, CrawlName::Cluster { name: other, id: beside }) => {
                if id == beside {
                    return Ok(());
                }
                format!("{one} is of the crawl {name} ({id}), and {two} of {other} ({beside})")
            }
            (CrawlName::Plain { .. }, CrawlName::Plain { .. }) => {
                format!("{one} and {two} are two crawls, each on one machine: merge each by itself")
            }
            (CrawlName::Cluster { name, .. }, CrawlName::Plain { .. }) => {
                format!("{one} is of the crawl {name}, on many machines, and {two} of one machine")
            }
            (CrawlName::Plain { .. }, CrawlName::Cluster { name, .. }) => {
                format!("{two} is of the crawl {name}, on many machines, and {one} of one machine")
            }
        };
        Err(CommandError::new(Exit::ForeignJob, message))
    }

    /// Its records: all bytes that exist now, or, with `is_again`, those that were read before.
    pub(super) fn read(&self, is_again: bool) -> io::Result<BufReader<Take<JobFile>>> {
        let bytes = if is_again { self.bytes } else { u64::MAX };
        Ok(BufReader::with_capacity(BUFFER, JobFile::open(&self.path)?.take(bytes)))
    }
}

/// Parses which crawl a node's file names.
fn crawl_of(path: &Path, text: &str) -> Result<CrawlName, CommandError> {
    let entries = toml_file::entries(&path.display().to_string(), text).map_err(CommandError::refused)?;
    let value = |key| {
        let entry = entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.given.texts.first());
        let missing = || CommandError::new(Exit::ForeignJob, format!("{} names no {key}", path.display()));
        entry.map(|text| text.to_string_lossy().into_owned()).ok_or_else(missing)
    };
    Ok(CrawlName::Cluster { name: value("crawl")?, id: value("id")? })
}
