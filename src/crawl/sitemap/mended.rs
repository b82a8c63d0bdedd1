//! The tags of a sitemap, repaired.
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

use std::io::{self, BufRead, Read};
use std::mem::discriminant;

use super::text::{MAX_ELEMENT, SitemapText, of_element};

/// Replaces a `<` that is text. XML never contains this character (XML 1.0 section 2.2).
pub(super) const LESS: u8 = 1;

/// The text of a sitemap with its tags mended. Takes linear time, and holds one tag.
pub(super) struct MendedText<'a> {
    text: SitemapText<'a>,
    /// Text from the last byte read on.
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
    /// Something that ends with these bytes.
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
    /// The first `>` in it.
    end_in_value: Option<usize>,
}

impl<'a> MendedText<'a> {
    pub(super) fn new(text: SitemapText<'a>) -> Self {
        Self { text, held: Vec::new(), read: 0, ready: 0, place: Place::Text, element: 0, is_over: false }
    }

    /// A new element begins here.
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

/// How many bytes of something that ends with `end` are ready.
fn upto(rest: &[u8], end: &'static [u8], is_over: bool) -> (usize, Place) {
    match rest.windows(end.len()).position(|bytes| bytes == end) {
        Some(at) => (at + end.len(), Place::Text),
        None if is_over => (rest.len(), Place::Upto(end)),
        // A part of its end may already be there.
        None => (rest.len().saturating_sub(end.len() - 1), Place::Upto(end)),
    }
}

/// How many bytes of a tag are ready: all or none.
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
