//! The records of a WARC file, one after another.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder;

/// At most this many bytes of a record's header, or of the head in its block.
const MAX_HEAD: u64 = 256 << 10;

/// The first byte of a Zstandard frame (RFC 8878 section 3.1.1).
const ZSTD: u8 = 0x28;

/// One record, with what an index needs.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Where its member begins in the file.
    pub(super) offset: u64,
    /// Bytes of its member.
    pub(super) length: u64,
    header: String,
    head: String,
}

impl Walked {
    /// A field of its header.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        fields(&self.header, name).next()
    }

    /// The headers with this name in the HTTP response of its block, joined by commas.
    pub(super) fn response_headers(&self, name: &str) -> String {
        fields(&self.head, name).collect::<Vec<_>>().join(", ")
    }

    /// The status of the HTTP response.
    pub(super) fn status(&self) -> Option<&str> {
        self.head.lines().next()?.split_ascii_whitespace().nth(1)
    }
}

fn fields<'a>(lines: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let fields = lines.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.filter(move |(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Calls `each` for each record of a file. Returns the number of bytes after the last complete record; it is not 0 while the file is being
/// written.
pub(super) fn walk(path: &Path, mut each: impl FnMut(Walked) -> io::Result<()>) -> io::Result<u64> {
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
