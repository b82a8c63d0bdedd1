//! The CDXJ index of WARC files: a line for each response, sorted, by which replay tools find it. The files are read record by record.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use serde::Serialize;
use zstd::stream::read::Decoder;

use super::record::REVISIT;
use super::surt::surt;
use crate::crawl::media_types::essence;
use crate::crawl::records::page_record::add_line;
use crate::driver::own::nameless;

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

/// The index of WARC files. It has each response's URL as a SURT key, its time, and its place. Lines are sorted by their bytes: 64 MiB at a
/// time in memory, the others in the system's directory for temporary files.
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

/// The line of a record, if it is a response or a revisit, which stands for one.
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

/// At most this many bytes of a record's header, or of the head in its block.
const MAX_HEAD: u64 = 256 << 10;

/// The first byte of a Zstandard frame (RFC 8878 section 3.1.1).
const ZSTD: u8 = 0x28;

/// One record that was read: the parts that an index needs.
#[derive(Debug, Default)]
struct Walked {
    /// Where its member begins in the file.
    offset: u64,
    /// Bytes of its member.
    length: u64,
    header: String,
    head: String,
}

impl Walked {
    /// A field of its header.
    fn field(&self, name: &str) -> Option<&str> {
        fields(&self.header, name).next()
    }

    /// The headers with this name in the HTTP response of its block, joined by commas.
    fn response_headers(&self, name: &str) -> String {
        fields(&self.head, name).collect::<Vec<_>>().join(", ")
    }

    /// The status of the HTTP response.
    fn status(&self) -> Option<&str> {
        self.head.lines().next()?.split_ascii_whitespace().nth(1)
    }
}

fn fields<'a>(lines: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let fields = lines.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Calls `each` for each record of a file. Returns the number of bytes after the last complete record; it is not 0 while the file is being
/// written.
fn walk(path: &Path, mut each: impl FnMut(Walked) -> io::Result<()>) -> io::Result<u64> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut source = Counted { source: BufReader::with_capacity(256 << 10, file), at: 0 };
    while let Some(&first) = source.fill_buf()?.first() {
        let offset = source.at;
        let walked = match first {
            ZSTD => read(Decoder::with_buffer(&mut source)?.single_frame()),
            _ => read(GzDecoder::new(&mut source)),
        };
        match walked {
            Ok(walked) => each(Walked { offset, length: source.at - offset, ..walked })?,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(length.saturating_sub(offset)),
            Err(error) => return Err(io::Error::new(error.kind(), format!("at byte {offset}: {error}"))),
        }
    }
    Ok(0)
}

/// Reads one member to its end.
fn read(member: impl Read) -> io::Result<Walked> {
    let mut member = BufReader::new(member);
    let header = head(&mut member)?;
    if !header.starts_with("WARC/") {
        return Err(io::Error::new(ErrorKind::InvalidData, "this is no WARC record"));
    }
    let has_response = fields(&header, "Content-Type")
        .next()
        .is_some_and(|of| of.replace(' ', "") == "application/http;msgtype=response");
    let head = if has_response { head(&mut member)? } else { String::new() };
    io::copy(&mut member, &mut io::sink())?;
    Ok(Walked { header, head, ..Walked::default() })
}

/// Reads lines up to an empty one.
fn head(from: &mut impl BufRead) -> io::Result<String> {
    let (mut head, mut line) = (Vec::new(), Vec::new());
    let mut from = from.take(MAX_HEAD);
    while from.read_until(b'\n', &mut line)? > 0 && line.trim_ascii_end() != b"" {
        head.append(&mut line);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// A source that counts the bytes read.
struct Counted<R> {
    source: R,
    at: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(to)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.at += bytes as u64;
        self.source.consume(bytes);
    }
}

/// Bytes of lines that are sorted together, including their overhead.
const RUN: usize = 64 << 20;
/// Runs merged at once. Each takes an open file and a buffer.
const RUNS: usize = 64;
const BUFFER: usize = 64 << 10;

/// Sorts any number of lines by their bytes: 64 MiB at a time in memory, the others in unnamed files.
#[derive(Debug)]
struct SortedLines {
    directory: PathBuf,
    run: usize,
    bytes: usize,
    lines: Vec<Box<[u8]>>,
    runs: Vec<File>,
}

impl SortedLines {
    /// Keeps its files in this directory.
    fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), run: RUN, bytes: 0, lines: Vec::new(), runs: Vec::new() }
    }

    /// Adds a line, which must end with a line break.
    fn push(&mut self, line: Box<[u8]>) -> io::Result<()> {
        self.bytes += line.len() + size_of::<Box<[u8]>>();
        self.lines.push(line);
        if self.bytes < self.run {
            return Ok(());
        }
        let mut to = BufWriter::with_capacity(BUFFER, nameless(&self.directory)?);
        self.lines.sort_unstable();
        self.lines.drain(..).try_for_each(|line| to.write_all(&line))?;
        self.bytes = 0;
        self.runs.push(rewound(to)?);
        if self.runs.len() == RUNS {
            let mut to = BufWriter::with_capacity(BUFFER, nameless(&self.directory)?);
            merge(self.runs.drain(..), Vec::new(), &mut to)?;
            self.runs.push(rewound(to)?);
        }
        Ok(())
    }

    /// Writes all lines.
    fn write(mut self, mut to: impl Write) -> io::Result<()> {
        self.lines.sort_unstable();
        merge(self.runs.drain(..), self.lines, &mut to)?;
        to.flush()
    }
}

fn rewound(written: BufWriter<File>) -> io::Result<File> {
    let mut run = written.into_inner().map_err(io::IntoInnerError::into_error)?;
    run.rewind()?;
    Ok(run)
}

type Source = Box<dyn Iterator<Item = io::Result<Box<[u8]>>>>;

/// Merges sorted runs and sorted lines in memory.
fn merge(runs: impl Iterator<Item = File>, lines: Vec<Box<[u8]>>, to: &mut impl Write) -> io::Result<()> {
    let mut sources: Vec<Source> = vec![Box::new(lines.into_iter().map(Ok))];
    for run in runs {
        let mut run = BufReader::with_capacity(BUFFER, run);
        sources.push(Box::new(std::iter::from_fn(move || {
            let mut line = Vec::new();
            run.read_until(b'\n', &mut line).map(|read| (read > 0).then(|| line.into())).transpose()
        })));
    }
    let mut next = BinaryHeap::new();
    for (number, source) in sources.iter_mut().enumerate() {
        next.extend(source.next().transpose()?.map(|line| Reverse((line, number))));
    }
    while let Some(Reverse((line, number))) = next.pop() {
        to.write_all(&line)?;
        next.extend(sources[number].next().transpose()?.map(|line| Reverse((line, number))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_however_many_are_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let lines: Vec<_> = (0..5_000_u32).map(|n| format!("{} {n}\n", n.wrapping_mul(0x9e37_79b9) >> 8)).collect();
        let mut expected = lines.clone();
        expected.sort();
        // In memory; in five files; in a hundred files, so that they are merged twice.
        for run in [RUN, 40_000, 1_500] {
            let mut sorted = SortedLines { run, ..SortedLines::new(directory.path()) };
            for line in &lines {
                sorted.push(line.as_bytes().into()).unwrap();
                assert!(sorted.bytes < run && sorted.runs.len() < RUNS);
            }
            let mut written = Vec::new();
            sorted.write(&mut written).unwrap();
            assert!(written == expected.concat().as_bytes(), "{run}");
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a file has kept its name");
    }
}
