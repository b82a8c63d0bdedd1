//! The CDXJ index of WARC files: a sorted line for each response, which replay tools use to find it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::revisit::REVISIT;
use super::sorted_lines::SortedLines;
use super::surt::surt;
use super::walk::{Walked, walk};
use crate::crawl::content_type::essence;
use crate::crawl::records::page_record::add_line;

/// The part of a line after its key and time. All values are strings, as the tools that read them expect.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    mime: &'a str,
    status: &'a str,
    digest: &'a str,
    length: &'a str,
    offset: &'a str,
    filename: &'a str,
}

/// The index of WARC files. It has each response's URL in the order of its domain (SURT), its time, and its place. Lines are sorted by
/// their bytes: 64 MiB at a time in memory, the others in the system's directory for temporary files.
#[derive(Debug)]
pub struct CdxjIndex {
    lines: SortedLines,
    cut: Vec<(PathBuf, u64)>,
}

impl CdxjIndex {
    /// Reads these files.
    ///
    /// # Errors
    /// If a file cannot be read or is not a compressed WARC file, with its path; if there is no space for sorting.
    pub fn of(files: &[PathBuf]) -> io::Result<Self> {
        let (mut lines, mut cut) = (SortedLines::new(&std::env::temp_dir()), Vec::new());
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let walked = walk(file, |record| {
                line(&record, &name)
                    .map_or(Ok(()), |line| lines.push(line.into_boxed_slice()).map_err(|error| unsorted(&error)))
            });
            let behind =
                walked.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))?;
            if behind > 0 {
                cut.push((file.clone(), behind));
            }
        }
        Ok(Self { lines, cut })
    }

    /// The files whose last record is not complete, with the number of bytes skipped: files of a running crawl.
    pub fn cut(&self) -> &[(PathBuf, u64)] {
        &self.cut
    }

    /// Writes all lines.
    ///
    /// # Errors
    /// If `to` refuses, or the sorted lines cannot be read back.
    pub fn write(self, to: impl Write) -> io::Result<()> {
        self.lines.write(to)
    }
}

fn unsorted(error: &io::Error) -> io::Error {
    let directory = std::env::temp_dir();
    io::Error::new(error.kind(), format!("cannot sort the index in {} (TMPDIR): {error}", directory.display()))
}

/// The WARC files in a directory, in the order of their names.
///
/// # Errors
/// If it cannot be read.
pub fn archives_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in directory.read_dir()? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(".open").unwrap_or(&name);
        if [".warc.gz", ".warc.zst"].iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The line of a record, if it is a response or stands for one.
fn line(record: &Walked, file: &str) -> Option<Vec<u8>> {
    let is_revisit = match record.field("WARC-Type")? {
        "response" => false,
        REVISIT => true,
        _ => return None,
    };
    let url = record.field("WARC-Target-URI")?;
    let date = record.field("WARC-Date")?;
    let time: String = date.chars().take_while(|c| *c != '.').filter(char::is_ascii_digit).collect();
    let mime = record.response_headers("content-type");
    let mime = if is_revisit { "warc/revisit" } else { essence(Some(&mime)) };
    let entry = Entry {
        url,
        mime,
        status: record.status().unwrap_or("-"),
        digest: record.field("WARC-Payload-Digest").unwrap_or("-"),
        length: &record.length.to_string(),
        offset: &record.offset.to_string(),
        filename: file.strip_suffix(".open").unwrap_or(file),
    };
    let mut line = format!("{} {time} ", surt(url)).into_bytes();
    add_line(&entry, &mut line);
    Some(line)
}
