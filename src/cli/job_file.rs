//! A job's files as commands read them. If a file cannot be read, the error comes with advice: what the file contains, and what to do.

use std::error::Error;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::crawl::CrawlError;
use crate::job::checkpoint::CheckpointError;
use crate::job::journal::JournalError;
use crate::job::{FileError, JobError};
use crate::report::ReportError;

/// A file being read. Its errors name it, so they can surface far from here: in a parser, or while a table is printed.
#[derive(Debug)]
pub(super) struct JobFile {
    path: PathBuf,
    file: File,
}

impl JobFile {
    /// Opens a file to read it.
    ///
    /// # Errors
    /// If it is missing or a directory, or cannot be opened.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let opened = File::open(path).and_then(|file| {
            // The system opens a directory like a file, and fails only when it is read.
            if file.metadata()?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { Ok(file) }
        });
        Ok(Self { file: opened.map_err(unread(path))?, path: path.to_owned() })
    }

    /// Opens a file to read it; `None` if it is missing.
    ///
    /// # Errors
    /// Like [`open`](Self::open).
    pub(super) fn find(path: &Path) -> io::Result<Option<Self>> {
        match Self::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            file => file.map(Some),
        }
    }
}

impl Read for &JobFile {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(to).map_err(unread(&self.path))
    }
}

impl Seek for &JobFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&self.file).seek(to).map_err(unread(&self.path))
    }
}

impl Read for JobFile {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        (&*self).read(to)
    }
}

impl Seek for JobFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}

/// For `map_err`: the error of reading this file. Its kind stays, so that an interrupted call is repeated.
pub(super) fn unread(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |source| FileError::of("read", path)(source).into()
}

/// Whether an error comes from reading a file, and not from writing meanwhile.
pub(super) fn is_unread(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<FileError>())
}

/// Advice for the file that an error names, if it names one.
pub(super) fn advice_of(error: &(dyn Error + 'static)) -> Option<String> {
    let (path, source) = named(error)?;
    advice(path, source)
}

/// Advice for a file and the system's error for it.
pub(super) fn advice(path: &Path, error: &io::Error) -> Option<String> {
    match error.kind() {
        ErrorKind::NotFound => missing_directory(path).or_else(|| held(path)),
        ErrorKind::NotADirectory => path.ancestors().find(|above| above.is_file()).map(|file| {
            let file = file.display();
            if !is_a_jobs(path) {
                return format!("{file} is a file, not a directory");
            }
            format!(
                "{file} is a file, and a job is a directory: a crawl makes one: crawler https://example.org/ --job DIR"
            )
        }),
        ErrorKind::PermissionDenied => {
            let seen = path.ancestors().find(|above| above.symlink_metadata().is_ok()).unwrap_or(path).display();
            Some(format!("this user may not: run the command as the user that crawled; ls -ld {seen} shows the owner"))
        }
        // A job's own files get another kind of error if they are directories.
        _ if path.is_dir() && is_a_jobs(path) => {
            Some(format!("a directory has the name of that file: move it away: {}", path.display()))
        }
        _ => None,
    }
}

/// How to repair a job in a directory.
pub(super) fn how_to_mend(directory: &Path) -> String {
    let directory = directory.display();
    format!("restore it from a copy, or see what can be saved without it: crawler repair {directory}")
}

/// The files of a job: name, content, and what writes it.
const FILES: [[&str; 3]; 8] = [
    [
        "cluster.toml",
        "the name of the crawl on many machines that this node is part of",
        "a node writes it when it joins",
    ],
    [
        "crawler.toml",
        "the settings of the last run",
        "put back a copy, or give the command that began the crawl once more",
    ],
    ["links.jsonl", "each link of each page", "a crawl writes it with --links"],
    ["pages.jsonl", "the record of each page", "a crawl writes it, unless they go to standard output (-o -)"],
    ["pages.visits", "what a later crawl compares each page with", "a crawl writes it with --visits"],
    ["report.html", "the report as a page", "crawler report writes it"],
    ["report.json", "the numbers of the crawl", "a crawl writes it when it ends"],
    ["skipped.jsonl", "each link that was refused", "a crawl writes it with --skipped"],
];

/// The content of a job's file, and what writes it.
fn held(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    if let Some([_, has, written]) = FILES.iter().find(|[of, ..]| *of == name) {
        return Some(format!("{name} has {has}: {written}"));
    }
    if is_archive(name) {
        return Some(format!("{name} has the responses of a part of the crawl: a crawl writes it with --warc"));
    }
    let above = path.parent()?;
    (above.file_name()? == "frontier").then(|| how_to_mend(above.parent().unwrap_or(above)))
}

/// The directory that a file would be in, if that does not exist.
fn missing_directory(path: &Path) -> Option<String> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty() && !above.exists())?;
    Some(format!("there is no directory {}", above.display()))
}

fn is_archive(name: &str) -> bool {
    name.contains(".warc.")
}

/// Whether a path has the name of a job's file.
fn is_a_jobs(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let others = ["dropped.txt", "lock", "manifest", "seeds.txt"];
    FILES.iter().any(|[of, ..]| *of == name) || others.contains(&&*name) || is_archive(&name)
}

/// The file that an error of a lower floor names, with the system's error.
fn named<'a>(error: &'a (dyn Error + 'static)) -> Option<(&'a Path, &'a io::Error)> {
    if let Some(FileError::Io { path, source, .. }) = error.downcast_ref() {
        return Some((path, source));
    }
    if let Some(ReportError::Read { path, source }) = error.downcast_ref() {
        return Some((path, source));
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return error.get_ref().and_then(|inner| named(inner));
    }
    // These display the error that they hold instead of returning it as their source.
    let of_crawl = error.downcast_ref().and_then(|error| match error {
        CrawlError::Checkpoint(inner) => Some(inner as &(dyn Error + 'static)),
        CrawlError::Job(inner) => Some(inner),
        _ => None,
    });
    let of_checkpoint = error.downcast_ref().and_then(|error| match error {
        CheckpointError::File(inner) => Some(inner as &(dyn Error + 'static)),
        CheckpointError::Job(inner) => Some(inner),
        CheckpointError::Journal(inner) => Some(inner),
        _ => None,
    });
    let of_file = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(JobError::File(inner)), _) | (_, Some(JournalError::File(inner))) => {
            Some(inner as &(dyn Error + 'static))
        }
        _ => None,
    };
    of_crawl.or(of_checkpoint).or(of_file).and_then(named)
}
