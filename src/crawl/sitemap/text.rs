//! The text of a sitemap: gzip is undone, the text converted to UTF-8 and cut at a limit ([`SitemapText`]), and its tags are mended
//! ([`MendedText`]).
//!
//! # The tags
//!
//! An XML parser takes each `<` as a tag and each quote in it as one of a pair. After one quote too many in a tag, it reads the tags that
//! follow as a value, up to the next quote. So tags are mended before they are parsed:
//!
//! | written | is |
//! |---|---|
//! | `hreflang="de""`, `href="/1"x"`: a quote that opens no value | a blank |
//! | `href="/1/><loc>`: a value with a `>` and a `<` after it | ends at the `>`, its quote a blank |
//! | `a <3 b`, `?a<b</loc>`: a `<` that begins no tag, or is followed by another before its `>` | text |
//! | `<url <loc>`: a name, and another tag | `<url><loc>` |
//!
//! Every byte is replaced by one byte, so places in the text do not change. Comments, CDATA, declarations and end tags are left alone, and
//! so is a tag in which the file breaks off.

use std::io::{self, BufRead, BufReader, Read};
use std::mem::discriminant;

use encoding_rs::Decoder;
use flate2::bufread::GzDecoder;

use crate::crawl::html::{boundary, encoding_of_xml};

/// The most bytes of one tag or one text. A longer one ends the file: no URL is that long.
pub(super) const MAX_ELEMENT: usize = 1 << 20;
/// Bytes decoded at once.
const PART: usize = 8 * 1024;

/// The text of a sitemap, part by part. If a body breaks off or its gzip is damaged, the text before that place is read.
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

    /// Notes that a new element begins at the current place.
    pub(super) fn begin_element(&mut self) {
        self.element = 0;
    }

    /// Skips `bytes` bytes of what [`head`](Self::head) returned.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Skips white space and byte order marks. Returns how many bytes they were, and the loaded part of the text after them; empty at the
    /// end.
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
            // The buffer has space for all of the text.
            let _ = decoder.decode_to_string(raw, &mut self.part, self.is_over);
        }
        if self.part.len() > self.room {
            self.part.truncate(boundary(&self.part, self.room));
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

/// The part of the loaded text that the current element may still take. `read` bytes of the element were read before.
pub(super) fn of_element(rest: &[u8], read: usize) -> io::Result<&[u8]> {
    let room = MAX_ELEMENT.saturating_sub(read);
    if room == 0 && !rest.is_empty() {
        return Err(io::Error::other("a tag or a text of more than a MiB"));
    }
    Ok(&rest[..rest.len().min(room)])
}

/// Whether a text begins with another one, ignoring the case of ASCII letters.
pub(super) fn begins(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// At most this many gzip members are read. Each costs some setup, however short it is.
const MAX_MEMBERS: usize = 1_000;
/// Bytes unpacked at once.
const UNPACKED: usize = 8 * 1024;
/// The first bytes of a gzip member (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// A byte order mark, which editors and PHP put even before data that is not text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Where gzip data begins: at once, or after a byte order mark; `None` if the body is not gzip.
pub(super) fn gzip_at(start: &[u8]) -> Option<usize> {
    let packed = start.strip_prefix(MARK).unwrap_or(start);
    packed.starts_with(&GZIP).then_some(start.len() - packed.len())
}

/// The bytes of a body: as they came, or unpacked once or twice.
pub(super) enum BodyBytes<'a> {
    Failed(&'static str),
    Over,
    Packed(Box<dyn Read + 'a>),
    Plain(&'a [u8]),
}

impl<'a> BodyBytes<'a> {
    /// Undoes gzip twice if a body is packed twice, as by a program and then by its server. At most `max_bytes` bytes of the intermediate
    /// data are unpacked.
    pub(super) fn of(body: &'a [u8], max_bytes: usize) -> Self {
        let Some(at) = gzip_at(body) else { return Self::Plain(body) };
        let mut once = BufReader::with_capacity(UNPACKED, Members::of(&body[at..]));
        match once.fill_buf().map(gzip_at) {
            Ok(None) => Self::Packed(Box::new(once)),
            Ok(Some(at)) => {
                once.consume(at);
                Self::Packed(Box::new(GzDecoder::new(once.take(max_bytes as u64))))
            }
            Err(error) => Self::Failed(problem(&error)),
        }
    }

    /// Reads some bytes; none at the end or after a problem, which is returned once.
    pub(super) fn read(&mut self, to: &mut [u8]) -> Result<usize, &'static str> {
        let read = match self {
            Self::Failed(problem) => Err(*problem),
            Self::Over => Ok(0),
            Self::Packed(unpacked) => unpacked.read(to).map_err(|error| problem(&error)),
            Self::Plain(rest) => Ok(rest.read(to).unwrap_or_default()),
        };
        if read.is_err() {
            *self = Self::Over;
        }
        read
    }
}

fn problem(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "its gzip breaks off",
        _ => "its gzip is damaged",
    }
}

/// The contents of a body's gzip members, one after another. Anything after the last member is ignored, as gzip itself does.
struct Members<'a> {
    decoder: GzDecoder<&'a [u8]>,
    begun: usize,
    is_over: bool,
}

impl<'a> Members<'a> {
    fn of(packed: &'a [u8]) -> Self {
        Self { decoder: GzDecoder::new(packed), begun: 1, is_over: false }
    }
}

impl Read for Members<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while !self.is_over {
            let read = self.decoder.read(to)?;
            if read > 0 {
                return Ok(read);
            }
            let rest = *self.decoder.get_ref();
            self.begun += 1;
            self.is_over = self.begun > MAX_MEMBERS || !rest.starts_with(&GZIP);
            if !self.is_over {
                self.decoder = GzDecoder::new(rest);
            }
        }
        Ok(0)
    }
}

/// Stands for a `<` that is text. XML never contains this character (XML 1.0 section 2.2).
pub(super) const LESS: u8 = 1;

/// The text of a sitemap with its tags mended. Takes linear time, and holds one tag.
pub(super) struct MendedText<'a> {
    text: SitemapText<'a>,
    /// Loaded text. Bytes that were read are dropped before more is loaded.
    held: Vec<u8>,
    /// Bytes of `held` that were read.
    read: usize,
    /// Bytes of `held` that are mended.
    ready: usize,
    place: Place,
    /// Bytes read since an element began.
    element: usize,
    is_over: bool,
}

/// What the bytes after the ready ones belong to.
enum Place {
    Text,
    /// A comment, CDATA, a declaration or an end tag, which ends with these bytes.
    Upto(&'static [u8]),
    Tag(Tag),
}

/// A start tag under inspection. Places in it count from its `<`.
#[derive(Clone, Copy)]
struct Tag {
    /// Bytes inspected.
    seen: usize,
    /// The last inspected byte that is not blank.
    last: u8,
    /// An open value: its quote, and where that is.
    value: Option<(u8, usize)>,
    /// The first `>` in the open value.
    end_in_value: Option<usize>,
}

impl<'a> MendedText<'a> {
    pub(super) fn new(text: SitemapText<'a>) -> Self {
        Self { text, held: Vec::new(), read: 0, ready: 0, place: Place::Text, element: 0, is_over: false }
    }

    /// Notes that a new element begins at the current place.
    pub(super) fn begin_element(&mut self) {
        self.element = 0;
    }

    /// Why the text is shorter than it should be. Returned once.
    pub(super) fn take_problem(&mut self) -> Option<&'static str> {
        self.text.problem.take()
    }

    /// Loads more text until some of it is ready, or the text ends.
    fn fill(&mut self) -> io::Result<()> {
        while self.read == self.ready && !(self.is_over && self.ready == self.held.len()) {
            self.held.drain(..self.read);
            (self.read, self.ready) = (0, 0);
            self.text.begin_element();
            let part = self.text.fill_buf()?;
            self.held.extend_from_slice(part);
            let length = part.len();
            self.is_over = length == 0;
            self.text.consume(length);
            while self.mend() {}
        }
        Ok(())
    }

    /// Takes one step; `false` if it needs more text.
    fn mend(&mut self) -> bool {
        let rest = &mut self.held[self.ready..];
        let (bytes, place) = match self.place {
            Place::Text => in_text(rest, self.is_over),
            Place::Upto(end) => upto(rest, end, self.is_over),
            Place::Tag(tag) => in_tag(rest, tag, self.is_over),
        };
        let is_further = bytes > 0 || discriminant(&place) != discriminant(&self.place);
        (self.ready, self.place) = (self.ready + bytes, place);
        is_further && self.ready < self.held.len()
    }
}

/// How many bytes of text are ready, and what follows them.
fn in_text(rest: &mut [u8], is_over: bool) -> (usize, Place) {
    let Some(at) = rest.iter().position(|byte| *byte == b'<') else { return (rest.len(), Place::Text) };
    let tag = &rest[at..];
    let begun = |with: &[u8]| tag.len() < with.len() && with.starts_with(tag);
    if !is_over && (begun(b"<!--") || begun(b"<![CDATA[")) {
        return (at, Place::Text);
    }
    let place = match tag.get(1) {
        None => return (if is_over { rest.len() } else { at }, Place::Text),
        Some(b'!') if tag.starts_with(b"<!--") => Place::Upto(b"-->"),
        Some(b'!') if tag.starts_with(b"<![CDATA[") => Place::Upto(b"]]>"),
        Some(b'?') => Place::Upto(b"?>"),
        Some(b'!' | b'/') => Place::Upto(b">"),
        Some(b'_' | b':' | 0x80..) => Place::Tag(Tag::NEW),
        Some(letter) if letter.is_ascii_alphabetic() => Place::Tag(Tag::NEW),
        Some(_) => {
            rest[at] = LESS;
            return (at + 1, Place::Text);
        }
    };
    (at, place)
}

/// How many bytes of a construct that ends with `end` are ready, and what follows them.
fn upto(rest: &[u8], end: &'static [u8], is_over: bool) -> (usize, Place) {
    match rest.windows(end.len()).position(|bytes| bytes == end) {
        Some(at) => (at + end.len(), Place::Text),
        None if is_over => (rest.len(), Place::Upto(end)),
        // A part of the end may already be loaded.
        None => (rest.len().saturating_sub(end.len() - 1), Place::Upto(end)),
    }
}

/// How many bytes of a tag are ready, all or none, and what follows them.
fn in_tag(rest: &mut [u8], mut tag: Tag, is_over: bool) -> (usize, Place) {
    while let Some(byte) = rest.get(tag.seen).copied() {
        let at = tag.seen;
        tag.seen += 1;
        match (tag.value, byte) {
            (None, b'>') => return (tag.seen, Place::Text),
            (None, b'<') => {
                let is_name = rest[..at].trim_ascii_end().iter().all(|byte| !byte.is_ascii_whitespace());
                if is_name && rest[at - 1].is_ascii_whitespace() {
                    rest[at - 1] = b'>';
                    return (at, Place::Text);
                }
                rest[0] = LESS;
                return (1, Place::Text);
            }
            (None, b'"' | b'\'') if tag.last == b'=' => (tag.value, tag.end_in_value) = (Some((byte, at)), None),
            (None, b'"' | b'\'') => rest[at] = b' ',
            (Some((quote, _)), _) if byte == quote => tag.value = None,
            (Some(_), b'>') => tag.end_in_value = tag.end_in_value.or(Some(at)),
            (Some((_, open)), b'<') => {
                if let Some(end) = tag.end_in_value {
                    rest[open] = b' ';
                    return (end + 1, Place::Text);
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            tag.last = byte;
        }
    }
    if is_over || rest.len() > MAX_ELEMENT { (rest.len(), Place::Upto(b">")) } else { (0, Place::Tag(tag)) }
}

impl Tag {
    /// A tag whose `<` was just read.
    const NEW: Self = Self { seen: 1, last: b'<', value: None, end_in_value: None };
}

impl BufRead for MendedText<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        of_element(&self.held[self.read..self.ready], self.element)
    }

    fn consume(&mut self, bytes: usize) {
        (self.read, self.element) = (self.read + bytes, self.element + bytes);
    }
}

impl Read for MendedText<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(to)?;
        self.consume(read);
        Ok(read)
    }
}
