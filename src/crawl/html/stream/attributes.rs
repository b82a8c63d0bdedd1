//! The attributes of a tag that matter here, the first of each name, with their values decoded.

use std::ops::Range;

use super::marks::Marks;
use super::references::{Context, decode};
use super::tag::{Part, is_space, next_part, quoted};

/// An attribute that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeName {
    As,
    Background,
    Charset,
    /// `color`, `face` or `size`: a `<font>` with one of them is HTML.
    Color,
    Content,
    Data,
    Encoding,
    Href,
    HttpEquiv,
    Imagesrcset,
    Name,
    Poster,
    Rel,
    Src,
    Srcset,
    Type,
    /// The `href` of a link in foreign content, in its old form.
    XlinkHref,
}

const NAMES: usize = 17;

impl AttributeName {
    fn of(name: &[u8]) -> Option<Self> {
        // No two of these names have the same length and first letter, except the pair below.
        let (known, attribute) = match (name.len(), name.first()?.to_ascii_lowercase()) {
            (2, b'a') => ("as", Self::As),
            (3, b'r') => ("rel", Self::Rel),
            (3, b's') => ("src", Self::Src),
            (4, b'd') => ("data", Self::Data),
            (4, b'f') => ("face", Self::Color),
            (4, b'h') => ("href", Self::Href),
            (4, b'n') => ("name", Self::Name),
            (4, b's') => ("size", Self::Color),
            (4, b't') => ("type", Self::Type),
            (5, b'c') => ("color", Self::Color),
            (6, b'p') => ("poster", Self::Poster),
            (6, b's') => ("srcset", Self::Srcset),
            (7, b'c') if name[1].eq_ignore_ascii_case(&b'h') => ("charset", Self::Charset),
            (7, b'c') => ("content", Self::Content),
            (8, b'e') => ("encoding", Self::Encoding),
            (10, b'b') => ("background", Self::Background),
            (10, b'h') => ("http-equiv", Self::HttpEquiv),
            (10, b'x') => ("xlink:href", Self::XlinkHref),
            (11, b'i') => ("imagesrcset", Self::Imagesrcset),
            _ => return None,
        };
        name.eq_ignore_ascii_case(known.as_bytes()).then_some(attribute)
    }
}

/// The attributes of the last tag read. Their memory is reused for the next tag.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// A bit for each attribute that the tag has.
    present: u32,
    /// A bit for each attribute whose value must be decoded.
    coded: u32,
    places: [Range<usize>; NAMES],
    decoded: [String; NAMES],
}

impl Attributes {
    /// Reads a tag from after its name. Returns where it ends, and whether with `/>`.
    pub(super) fn read(&mut self, text: &str, marks: &mut Marks<'_>, mut at: usize) -> Option<(usize, bool)> {
        (self.present, self.coded) = (0, 0);
        let bytes = text.as_bytes();
        loop {
            let mark = marks.part(at)?;
            if mark == at && bytes[at] == b'>' {
                return Some((at + 1, false));
            }
            // One space and a name, as most attributes are written.
            let is_plain = is_space(bytes[at]) && marks.blank_in(at + 1..mark).is_none();
            if is_plain && let Some(value) = quoted(bytes, marks, at, mark) {
                let name = &bytes[at + 1..mark];
                at = value.end + 1;
                self.take(name, text, value, marks);
                continue;
            }
            // Go on byte by byte up to the mark, instead of searching for it again after each part.
            while at <= mark {
                match next_part(bytes, at)? {
                    (Part::Attribute(name, value), behind) => {
                        at = behind;
                        self.take(&bytes[name], text, value, marks);
                    }
                    (Part::End { self_closing }, behind) => return Some((behind, self_closing)),
                }
            }
        }
    }

    #[inline]
    fn take(&mut self, name: &[u8], text: &str, value: Range<usize>, marks: &mut Marks<'_>) {
        let Some(name) = AttributeName::of(name) else { return };
        let (name, bit) = (name as usize, 1 << name as u32);
        if self.present & bit != 0 {
            return;
        }
        self.present |= bit;
        if marks.is_coded(value.clone()) {
            self.coded |= bit;
            self.decoded[name].clear();
            decode(&text[value.clone()], Context::Attribute, &mut self.decoded[name]);
        }
        self.places[name] = value;
    }

    /// Where the element leads; `text` is the text that it was read from. In foreign content, `xlink:href` counts if there is no `href`.
    #[inline]
    pub(super) fn href<'a>(&'a self, text: &'a str, is_foreign: bool) -> Option<&'a str> {
        let href = self.get(AttributeName::Href, text);
        if is_foreign { href.or_else(|| self.get(AttributeName::XlinkHref, text)) } else { href }
    }

    /// The value of an attribute; `text` is the text that it was read from.
    #[inline]
    pub(super) fn get<'a>(&'a self, name: AttributeName, text: &'a str) -> Option<&'a str> {
        let (name, bit) = (name as usize, 1 << name as u32);
        if self.present & bit == 0 {
            return None;
        }
        Some(if self.coded & bit == 0 { &text[self.places[name].clone()] } else { &self.decoded[name] })
    }
}
