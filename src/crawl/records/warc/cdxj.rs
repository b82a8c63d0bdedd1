//! The CDXJ index of WARC files: a line for each response, sorted, by which replay tools find it. The files are read record by record.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;
use serde::Serialize;
use zstd::stream::read::Decoder;

use super::record::REVISIT;
use super::surt::surt;
use crate::crawl::media_types::essence;
use crate::crawl::records::page_record::add_line;
use crate::crawl::sorter::Sorter;
use crate::job::FileError;

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
    lines: Sorter<Box<[u8]>>,
    cut: Vec<(PathBuf, u64)>,
}

impl CdxjIndex {
    /// Reads these files.
    ///
    /// # Errors
    /// If a file cannot be read or is not a compressed WARC file, with its path; if there is no space for sorting.
    pub fn of(files: &[PathBuf]) -> io::Result<Self> {
        let (mut lines, mut cut) = (Sorter::new(&std::env::temp_dir()), Vec::new());
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let rest = walk(file, |record| line(&record, &name).map_or(Ok(()), |line| lines.add(line.into())))
                .map_err(FileError::of("read", file))?;
            if rest > 0 {
                cut.push((file.clone(), rest));
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
    pub fn write(self, mut to: impl Write) -> io::Result<()> {
        for line in self.lines.finish()? {
            to.write_all(&line?)?;
        }
        to.flush()
    }
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
