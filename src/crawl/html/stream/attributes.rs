//! The attributes of one tag that say something here, the first of each name, with what their values stand for.

use std::ops::Range;

use super::references::{Context, decode, is_coded};
use super::tag::{Part, next_part};

/// An attribute that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttributeName {
    Charset,
    /// `color`, `face` or `size`: with one of them a `<font>` is HTML.
    Color,
    Content,
    Encoding,
    Href,
    HttpEquiv,
    Name,
    Rel,
    Src,
    Type,
}

const NAMES: usize = 10;

impl AttributeName {
    fn of(name: &[u8]) -> Option<Self> {
        let known: &[(&str, Self)] = match name.len() {
            3 => &[("rel", Self::Rel), ("src", Self::Src)],
            4 => &[
                ("href", Self::Href),
                ("name", Self::Name),
                ("type", Self::Type),
                ("face", Self::Color),
                ("size", Self::Color),
            ],
            5 => &[("color", Self::Color)],
            7 => &[("content", Self::Content), ("charset", Self::Charset)],
            8 => &[("encoding", Self::Encoding)],
            10 => &[("http-equiv", Self::HttpEquiv)],
            _ => return None,
        };
        known.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes())).map(|(_, name)| *name)
    }
}

/// The attributes of the last tag that was read. Its memory is used again for the next.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    places: [Option<Range<usize>>; NAMES],
    /// Values that are others than their letters.
    decoded: [String; NAMES],
    is_decoded: [bool; NAMES],
}

impl Attributes {
    /// Reads a tag from behind its name, and tells where it ends and whether in `/>`.
    pub(super) fn read(&mut self, text: &str, mut at: usize) -> Option<(usize, bool)> {
        self.places = [const { None }; NAMES];
        let bytes = text.as_bytes();
        loop {
            match next_part(bytes, at)? {
                (Part::Attribute(name, value), behind) => {
                    at = behind;
                    if let Some(name) = AttributeName::of(&bytes[name]) {
                        self.take(name, text, value);
                    }
                }
                (Part::End { self_closing }, behind) => return Some((behind, self_closing)),
            }
        }
    }

    fn take(&mut self, name: AttributeName, text: &str, value: Range<usize>) {
        let name = name as usize;
        if self.places[name].is_some() {
            return;
        }
        let raw = &text[value.clone()];
        self.is_decoded[name] = is_coded(raw);
        if self.is_decoded[name] {
            self.decoded[name].clear();
            decode(raw, Context::Attribute, &mut self.decoded[name]);
        }
        self.places[name] = Some(value);
    }

    /// The value of an attribute, of the text that it was read in.
    pub(super) fn get<'a>(&'a self, name: AttributeName, text: &'a str) -> Option<&'a str> {
        let name = name as usize;
        let place = self.places[name].clone()?;
        Some(if self.is_decoded[name] { &self.decoded[name] } else { &text[place] })
    }
}
