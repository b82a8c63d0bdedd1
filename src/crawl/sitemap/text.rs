//! The text of a sitemap: gzip undone where it is gzip, as UTF-8 whatever it was written in, cut at a limit.

use std::io::{self, BufRead, Read};

use encoding_rs::Decoder;
use flate2::bufread::GzDecoder;

use crate::crawl::html::encoding_of_xml;

/// The most bytes of one tag or one text. One that is longer ends the file: no URL is.
pub(super) const MAX_ELEMENT: usize = 1 << 20;
/// gzip members that are read. Each costs some preparation, however short it is.
const MAX_MEMBERS: usize = 1_000;
/// Bytes that are unpacked and decoded at once.
const PART: usize = 8 * 1024;
/// What a gzip member begins with (RFC 1952 section 2.3.1).
pub(super) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The text of a sitemap, part by part. A body that breaks off, or is no valid gzip from somewhere on, has the text before.
pub(super) struct SitemapText<'a> {
    bytes: Bytes<'a>,
    content_type: Option<&'a str>,
    /// Made with the first part, which tells the encoding.
    decoder: Option<Decoder>,
    part: String,
    /// Bytes of the part that were read.
    at: usize,
    /// Bytes of text that may still come.
    room: usize,
    /// Bytes that were read since an element began.
    element: usize,
    is_over: bool,
    /// Why there is less than there should be.
    pub(super) problem: Option<&'static str>,
}

impl<'a> SitemapText<'a> {
    /// Takes so many bytes of text at most.
    pub(super) fn new(body: &'a [u8], content_type: Option<&'a str>, max_bytes: usize) -> Self {
        let bytes = if body.starts_with(&GZIP) {
            Bytes::Gzip { members: 1, decoder: GzDecoder::new(body).into() }
        } else {
            Bytes::Plain(body)
        };
        Self {
            bytes,
            content_type,
            decoder: None,
            part: String::new(),
            at: 0,
            room: max_bytes,
            element: 0,
            is_over: false,
            problem: None,
        }
    }

    /// From here on another element is read.
    pub(super) fn begin_element(&mut self) {
        self.element = 0;
    }

    /// Passes over white space, and gives what is there of the text behind it: nothing at its end.
    pub(super) fn head(&mut self) -> (u64, &str) {
        let mut passed = 0;
        loop {
            self.fill();
            let rest = &self.part[self.at..];
            let blank = rest.len() - rest.trim_start().len();
            (self.at, passed) = (self.at + blank, passed + blank as u64);
            if self.at < self.part.len() || self.is_over {
                return (passed, &self.part[self.at..]);
            }
        }
    }

    /// Reads the next part where the last one is at its end.
    fn fill(&mut self) {
        if self.at < self.part.len() {
            return;
        }
        self.at = 0;
        self.part.clear();
        let mut raw = [0; PART];
        while self.part.is_empty() && !self.is_over {
            let mut length = 0;
            // The encoding is told by the first bytes, so these are read together.
            while length < PART {
                match self.bytes.read(&mut raw[length..]) {
                    Ok(0) => break,
                    Ok(read) => length += read,
                    Err(problem) => {
                        self.problem = Some(problem);
                        break;
                    }
                }
            }
            let (raw, content_type) = (&raw[..length], self.content_type);
            self.is_over = length < PART;
            let decoder = self.decoder.get_or_insert_with(|| encoding_of_xml(raw, content_type).new_decoder());
            self.part.reserve(decoder.max_utf8_buffer_length(raw.len()).unwrap_or_default());
            // There is room for all of it.
            let _ = decoder.decode_to_string(raw, &mut self.part, self.is_over);
        }
        if self.part.len() > self.room {
            self.part.truncate(floor(&self.part, self.room));
            (self.is_over, self.problem) = (true, Some("longer than what is read"));
        }
        self.room -= self.part.len().min(self.room);
    }
}

impl BufRead for SitemapText<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill();
        let rest = &self.part.as_bytes()[self.at..];
        let room = MAX_ELEMENT.saturating_sub(self.element);
        if room == 0 && !rest.is_empty() {
            return Err(io::Error::other("a tag or a text of more than a MiB"));
        }
        Ok(&rest[..rest.len().min(room)])
    }

    fn consume(&mut self, bytes: usize) {
        (self.at, self.element) = (self.at + bytes, self.element + bytes);
    }
}

impl Read for SitemapText<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(to)?;
        self.consume(read);
        Ok(read)
    }
}

/// The last place of a text, up to `most`, where a letter begins.
pub(super) fn floor(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// The bytes of a body, as they came or unpacked.
enum Bytes<'a> {
    Plain(&'a [u8]),
    Gzip { members: usize, decoder: Box<GzDecoder<&'a [u8]>> },
    Over,
}

impl Bytes<'_> {
    /// Reads some bytes; none at the end, or where there is a problem, which is told once. What follows the last whole member and is none
    /// is passed over, as gzip itself does.
    fn read(&mut self, to: &mut [u8]) -> Result<usize, &'static str> {
        loop {
            match self {
                Self::Plain(rest) => return Ok(rest.read(to).unwrap_or_default()),
                Self::Over => return Ok(0),
                Self::Gzip { members, decoder } => match decoder.read(to) {
                    Ok(0) => {
                        let rest = *decoder.get_ref();
                        *members += 1;
                        if *members > MAX_MEMBERS || !rest.starts_with(&GZIP) {
                            *self = Self::Over;
                        } else {
                            **decoder = GzDecoder::new(rest);
                        }
                    }
                    Ok(read) => return Ok(read),
                    Err(error) => {
                        *self = Self::Over;
                        return Err(match error.kind() {
                            io::ErrorKind::UnexpectedEof => "its gzip breaks off",
                            _ => "its gzip is damaged",
                        });
                    }
                },
            }
        }
    }
}
