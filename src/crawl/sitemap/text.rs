//! The text of a sitemap: gzip undone, converted to UTF-8, cut at a limit.

use std::io::{self, BufRead, Read};

use encoding_rs::Decoder;

use super::gzip::BodyBytes;
use crate::crawl::html::encoding_of_xml;

/// The most bytes of one tag or one text. A longer one ends the file: no URL is that long.
pub(super) const MAX_ELEMENT: usize = 1 << 20;
/// Bytes decoded at once.
const PART: usize = 8 * 1024;

/// The text of a sitemap, part by part. If a body breaks off or its gzip is damaged, the text before that is there.
pub(super) struct SitemapText<'a> {
    bytes: BodyBytes<'a>,
    content_type: Option<&'a str>,
    /// Made with the first part, which gives the encoding.
    decoder: Option<Decoder>,
    part: String,
    /// Bytes of the part that were read.
    at: usize,
    /// Bytes of text that may still come.
    room: usize,
    /// Bytes read since an element began.
    element: usize,
    is_over: bool,
    /// Why the text is shorter than it should be.
    pub(super) problem: Option<&'static str>,
}

impl<'a> SitemapText<'a> {
    /// Takes at most `max_bytes` bytes of text.
    pub(super) fn new(body: &'a [u8], content_type: Option<&'a str>, max_bytes: usize) -> Self {
        Self {
            bytes: BodyBytes::of(body, max_bytes),
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

    /// A new element begins here.
    pub(super) fn begin_element(&mut self) {
        self.element = 0;
    }

    /// Skips `bytes` bytes of what [`head`](Self::head) returned.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Skips white space and byte order marks, and returns the text after them that is there; empty at the end.
    pub(super) fn head(&mut self) -> (u64, &str) {
        let mut passed = 0;
        loop {
            self.fill();
            let rest = &self.part[self.at..];
            let is_blank = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
            let blank = rest.len() - rest.trim_start_matches(is_blank).len();
            (self.at, passed) = (self.at + blank, passed + blank as u64);
            if self.at < self.part.len() || self.is_over {
                return (passed, &self.part[self.at..]);
            }
        }
    }

    /// Reads the next part once the last one is used up.
    fn fill(&mut self) {
        if self.at < self.part.len() {
            return;
        }
        self.at = 0;
        self.part.clear();
        let mut raw = [0; PART];
        while self.part.is_empty() && !self.is_over {
            let mut length = 0;
            // The first bytes give the encoding, so they are read together.
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
            // There is space for all of it.
            let _ = decoder.decode_to_string(raw, &mut self.part, self.is_over);
        }
        if self.part.len() > self.room {
            self.part.truncate(floor(&self.part, self.room));
            (self.is_over, self.problem) = (true, Some("longer than sitemaps.max_bytes"));
        }
        self.room -= self.part.len().min(self.room);
    }
}

impl BufRead for SitemapText<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill();
        of_element(&self.part.as_bytes()[self.at..], self.element)
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

/// The part of a text that an element may still take after `read` bytes.
pub(super) fn of_element(rest: &[u8], read: usize) -> io::Result<&[u8]> {
    let room = MAX_ELEMENT.saturating_sub(read);
    if room == 0 && !rest.is_empty() {
        return Err(io::Error::other("a tag or a text of more than a MiB"));
    }
    Ok(&rest[..rest.len().min(room)])
}

/// The last place of a text, up to `most`, where a character begins.
pub(super) fn floor(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
