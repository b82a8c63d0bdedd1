//! Extracts links from a page in one pass over its bytes, without a tree: the tokenizer of the HTML standard, and as much of its tree
//! construction as decides which tags count.
//!
//! # What is read, and what is skipped
//!
//! | step | module |
//! |---|---|
//! | find the next `<`, and skip nearly all tags without looking at their letters | `Scan`, `marks` |
//! | read a tag's name as one number | `name` |
//! | read the attributes of a tag that may have a link, skip all others | `tag` |
//! | skip comments, and the text of scripts, styles and the like | `text` |
//! | ignore the tags that do not count: a `<frame>` in a body, everything but frames in a `<frameset>` | `structure` |
//! | read `<svg>` and `<math>` by their own rules | `structure` |
//!
//! # What only a tree knows
//!
//! On nearly all pages, the links do not depend on which elements are open. There are three exceptions: HTML within `<svg>` or `<math>`
//! that stays open, an HTML end tag while one of these is open, and a `<col>` in a `<template>`. Such a page is
//! [ambiguous](crate::crawl::Page::is_ambiguous), and is read as if it were well formed.
//!
//! Memory is the decoded values of one tag, the names of 256 elements of `<svg>` and `<math>`, and seven bits for each byte of 2 KiB of the
//! text.

mod marks;
mod name;
mod structure;
mod tag;
mod text;

use std::convert::Infallible;

use memchr::memchr;

use super::charset::in_content;
use super::harvest::{Element, ElementKind, Harvest};
use super::tree::boundary;
use marks::Marks;
use name::{Name, may_count};
use structure::{Foreign, Kind, Namespace, Outline};
use tag::{AttributeName, Attributes, Context, decoded};
use text::anchor_text;

/// At most this many bytes of a title are read.
const TITLE: usize = 4 * 1024;

/// How far a text was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Up to a `<meta>` that changes how the text is decoded.
    Declared,
    /// To its end.
    Whole,
}

/// Reads a text, with scripting off.
///
/// Calls `declares` with the label of each encoding that the page declares. If it returns true, the text must be decoded differently, and
/// reading ends.
pub(super) fn read(text: &str, harvest: &mut Harvest<'_>, declares: impl FnMut(&str) -> bool) -> End {
    if harvest.wants_more() {
        Scan::<_, true>::of(text, harvest, declares)
    } else {
        Scan::<_, false>::of(text, harvest, declares)
    }
}

/// Why reading stops. A text that ends within a tag, a comment or the like has nothing more in it.
type Step<T = ()> = Result<T, End>;

/// A scan of one text. With `MORE`, it also reads the tags of resources and the texts of links. Without `MORE`, these cost nothing.
struct Scan<'t, 'h, 'o, D, const MORE: bool> {
    text: &'t str,
    marks: Marks<'t>,
    at: usize,
    harvest: &'h mut Harvest<'o>,
    declares: D,
    outline: Outline,
    foreign: Foreign,
    attributes: Attributes,
}

impl<'t, 'h, 'o, D: FnMut(&str) -> bool, const MORE: bool> Scan<'t, 'h, 'o, D, MORE> {
    fn of(text: &'t str, harvest: &'h mut Harvest<'o>, declares: D) -> End {
        let scan = Self {
            text,
            marks: Marks::new(text.as_bytes()),
            at: 0,
            harvest,
            declares,
            outline: Outline::new(),
            foreign: Foreign::default(),
            attributes: Attributes::default(),
        };
        let Err(end) = scan.run();
        end
    }

    fn run(mut self) -> Step<Infallible> {
        let bytes = self.text.as_bytes();
        loop {
            let is_settled = self.outline.is_settled() && !self.outline.is_in_template() && self.foreign.is_empty();
            let open = if is_settled { self.next_that_may_count() } else { self.marks.open(self.at) };
            let open = open.ok_or(End::Whole)?;
            if !is_settled && self.outline.hears_text() {
                self.hear(self.at, open);
            }
            self.at = open + 1;
            if is_settled && let Some(after) = anchor(bytes, self.at) {
                self.anchor(after)?;
                continue;
            }
            match bytes.get(self.at).ok_or(End::Whole)? {
                first if first.is_ascii_alphabetic() => self.start_tag()?,
                b'/' => self.end_tag()?,
                b'!' => self.declaration().ok_or(End::Whole)?,
                b'?' => self.bogus_comment().ok_or(End::Whole)?,
                _ => self.outline.text("<"),
            }
        }
    }

    /// The next `<` in a settled body, except those of tags that do not matter. Nearly all tags of a page are skipped here.
    fn next_that_may_count(&mut self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            let open = self.marks.open(at)?;
            let Some(&[first, second, third]) = bytes[open + 1..].first_chunk() else { return Some(open) };
            let is_end = first == b'/';
            let may_count =
                if is_end { !second.is_ascii_alphabetic() } else { may_count::<MORE>([first, second, third]) };
            if may_count {
                return Some(open);
            }
            let name = open + 1 + usize::from(is_end);
            at = name;
            // A plain tag contains no other tag, so the next tag may be searched for before the end of this one is known.
            if !self.marks.is_plain_tag(name) {
                (at, _) = tag::skip(bytes, &mut self.marks, name)?;
            }
        }
    }

    /// Takes text that may change the outline of the page.
    #[cold]
    fn hear(&mut self, from: usize, to: usize) {
        let raw = &self.text[from..to];
        if !raw.contains('&') {
            return self.outline.text(raw);
        }
        // The outline treats a NUL and U+FFFD differently, and `decode` would turn the former into the latter.
        for piece in raw.split_inclusive('\0') {
            let (letters, nul) = piece.strip_suffix('\0').map_or((piece, ""), |letters| (letters, "\0"));
            self.outline.text(&decoded(letters, Context::Title));
            self.outline.text(nul);
        }
    }

    /// `<!`: a comment, a document type, or a section of text.
    fn declaration(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        let rest = &bytes[self.at + 1..];
        if rest.starts_with(b"--") {
            self.at = text::comment(bytes, self.at + 3)?;
        } else if rest.starts_with(b"[CDATA[") && !self.foreign.is_empty() {
            let start = self.at + 1 + b"[CDATA[".len();
            let (end, after) = text::cdata(bytes, start)?;
            self.outline.text(&self.text[start..end]);
            self.at = after;
        } else {
            self.at += memchr(b'>', rest)? + 2;
        }
        Some(())
    }

    /// Something that is not a tag but ends like one.
    fn bogus_comment(&mut self) -> Option<()> {
        self.at += memchr(b'>', &self.text.as_bytes()[self.at..])? + 1;
        Some(())
    }

    fn end_tag(&mut self) -> Step {
        let bytes = self.text.as_bytes();
        self.at += 1;
        if !bytes.get(self.at).ok_or(End::Whole)?.is_ascii_alphabetic() {
            return self.bogus_comment().ok_or(End::Whole);
        }
        let (name, _) = Name::read(&bytes[self.at..]);
        self.skip().ok_or(End::Whole)?;
        let kind = if self.foreign.is_empty() { Kind::Html } else { self.foreign.end(name) };
        match kind {
            Kind::Foreign => return Ok(()),
            Kind::Html => {}
            Kind::Unclear => {
                self.harvest.add_ambiguity();
                self.foreign.leave_to_html();
            }
        }
        self.outline.end(name);
        Ok(())
    }

    fn start_tag(&mut self) -> Step {
        let bytes = self.text.as_bytes();
        let (name, length) = Name::read(&bytes[self.at..]);
        let after = self.at + length;
        let self_closing;
        (self.at, self_closing) = match name {
            Name::A
            | Name::ANNOTATION_XML
            | Name::AREA
            | Name::BASE
            | Name::FONT
            | Name::FRAME
            | Name::IFRAME
            | Name::INPUT
            | Name::LINK
            | Name::META => self.attributes.read(self.text, &mut self.marks, after),
            _ if MORE && name.is_resource() => self.attributes.read(self.text, &mut self.marks, after),
            _ => tag::skip(bytes, &mut self.marks, self.at),
        }
        .ok_or(End::Whole)?;
        let mut kind = Kind::Html;
        if !self.foreign.is_empty() {
            kind = self.foreign.start(name, self_closing, self.is_marked(name));
        } else if name == Name::COL && self.outline.is_in_template() {
            kind = Kind::Unclear;
        }
        if kind == Kind::Unclear {
            self.harvest.add_ambiguity();
            kind = Kind::Html;
        }
        if kind == Kind::Foreign {
            self.add(name, true);
            return Ok(());
        }
        if !self.outline.is_settled() || matches!(name, Name::FRAME | Name::TEMPLATE) {
            let is_hidden = name == Name::INPUT
                && self.attribute(AttributeName::Type).is_some_and(|value| value.eq_ignore_ascii_case("hidden"));
            if !self.outline.start(name, is_hidden) {
                return Ok(());
            }
            if self.outline.has_frames() {
                self.foreign.leave();
            }
        }
        self.html(name, self_closing)
    }

    /// Reads an `<a>` in a settled body, from after its name.
    fn anchor(&mut self, after: usize) -> Step {
        (self.at, _) = self.attributes.read(self.text, &mut self.marks, after).ok_or(End::Whole)?;
        let get = |key| self.attributes.get(key, self.text);
        if let Some(href) = get(AttributeName::Href) {
            self.harvest.add_anchor(href, get(AttributeName::Rel));
        }
        if MORE {
            self.add_text(false);
        }
        Ok(())
    }

    /// Takes a start tag of HTML that counts.
    fn html(&mut self, name: Name, self_closing: bool) -> Step {
        match name {
            Name::A | Name::AREA | Name::BASE | Name::FRAME | Name::LINK => self.add(name, false),
            Name::META => {
                self.add(name, false);
                if let Some(label) = declared(&self.attributes, self.text)
                    && (self.declares)(label)
                {
                    return Err(End::Declared);
                }
            }
            Name::IFRAME => {
                self.add(name, false);
                return self.raw_text("iframe").ok_or(End::Whole);
            }
            Name::MATH if !self_closing => self.open(name, Namespace::Math),
            Name::SVG if !self_closing => self.open(name, Namespace::Svg),
            Name::NOEMBED => return self.raw_text("noembed").ok_or(End::Whole),
            Name::NOFRAMES => return self.raw_text("noframes").ok_or(End::Whole),
            Name::PLAINTEXT => return Err(End::Whole),
            Name::SCRIPT => {
                if MORE {
                    self.add(name, false);
                }
                return self.script().ok_or(End::Whole);
            }
            Name::STYLE => return self.raw_text("style").ok_or(End::Whole),
            Name::TEXTAREA => return self.raw_text("textarea").ok_or(End::Whole),
            Name::TITLE => return self.title().ok_or(End::Whole),
            Name::XMP => return self.raw_text("xmp").ok_or(End::Whole),
            _ if MORE => self.add(name, false),
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, name: Name, namespace: Namespace) {
        if self.foreign.open(name, namespace) == Kind::Unclear {
            self.harvest.add_ambiguity();
        }
    }

    fn script(&mut self) -> Option<()> {
        self.at = text::script(self.text.as_bytes(), self.at)?;
        self.close()
    }

    /// Skips the text of an element, and its end tag.
    fn raw_text(&mut self, name: &str) -> Option<()> {
        self.at = text::text(self.text.as_bytes(), self.at, name)?;
        self.close()
    }

    fn title(&mut self) -> Option<()> {
        let end = text::text(self.text.as_bytes(), self.at, "title");
        if !self.harvest.has_title() && !self.outline.is_in_template() {
            let raw = &self.text[self.at..end.unwrap_or(self.text.len())];
            self.harvest.add_title(decoded(&raw[..boundary(raw, TITLE)], Context::Title).chars());
        }
        self.at = end?;
        self.close()
    }

    /// Skips the end tag that begins at the current place.
    fn close(&mut self) -> Option<()> {
        self.at += 2;
        self.skip()
    }

    /// Skips the tag whose name begins at the current place.
    fn skip(&mut self) -> Option<()> {
        (self.at, _) = tag::skip(self.text.as_bytes(), &mut self.marks, self.at)?;
        Some(())
    }
}

/// The end of the name of an `<a>`, if one begins at `name`.
fn anchor(bytes: &[u8], name: usize) -> Option<usize> {
    match bytes[name..] {
        [b'a' | b'A', after, ..] if tag::is_space(after) || after == b'>' => Some(name + 1),
        _ => None,
    }
}

impl<D, const MORE: bool> Scan<'_, '_, '_, D, MORE> {
    /// Keeps the text and `rel` of the `<a>` whose attributes were just read.
    #[cold]
    fn add_text(&mut self, is_foreign: bool) {
        if self.harvest.wants_texts()
            && let Some(href) = self.attributes.href(self.text, is_foreign)
            && let Some(link) = self.harvest.describe(href, self.attributes.get(AttributeName::Rel, self.text))
        {
            self.harvest.add_text(link, &anchor_text(self.text, self.at));
        }
    }

    fn attribute(&self, key: AttributeName) -> Option<&str> {
        self.attributes.get(key, self.text)
    }

    /// Whether the attributes of a tag in foreign content make it HTML, or make it contain HTML.
    fn is_marked(&self, name: Name) -> bool {
        match name {
            Name::ANNOTATION_XML => self.attribute(AttributeName::Encoding).is_some_and(|encoding| {
                ["application/xhtml+xml", "text/html"].iter().any(|html| html.eq_ignore_ascii_case(encoding))
            }),
            Name::FONT => self.attribute(AttributeName::Color).is_some(),
            _ => false,
        }
    }

    /// Takes an element of HTML or foreign content whose attributes were just read.
    fn add(&mut self, name: Name, is_foreign: bool) {
        let kind = match name {
            Name::A => ElementKind::Anchor,
            Name::AREA => ElementKind::Area,
            Name::BASE => ElementKind::Base,
            Name::FRAME | Name::IFRAME => ElementKind::Frame,
            Name::LINK => ElementKind::Link,
            Name::META => ElementKind::Meta,
            Name::AUDIO | Name::EMBED | Name::OBJECT | Name::SOURCE | Name::TRACK | Name::VIDEO if MORE => {
                ElementKind::Media
            }
            Name::IMG | Name::IMAGE if MORE => ElementKind::Image,
            Name::USE if MORE && is_foreign => ElementKind::Image,
            _ if MORE && name.has_background() => ElementKind::Image,
            Name::INPUT if MORE && self.is_image() => ElementKind::Image,
            Name::SCRIPT if MORE => ElementKind::Script,
            _ => return,
        };
        let get = |key| self.attributes.get(key, self.text);
        let href = self.attributes.href(self.text, is_foreign);
        let src = match name {
            Name::IMAGE | Name::SCRIPT | Name::USE if MORE && is_foreign => href,
            Name::OBJECT if MORE => get(AttributeName::Data),
            _ if MORE && name.has_background() => get(AttributeName::Background),
            _ => get(AttributeName::Src),
        };
        let srcset = if name == Name::LINK { AttributeName::Imagesrcset } else { AttributeName::Srcset };
        self.harvest.add_element(&Element {
            kind,
            content: get(AttributeName::Content),
            destination: get(AttributeName::As),
            href,
            http_equiv: get(AttributeName::HttpEquiv),
            is_inert: is_foreign || self.outline.is_in_template(),
            meta_name: get(AttributeName::Name),
            poster: get(AttributeName::Poster),
            rel: get(AttributeName::Rel),
            src,
            srcset: get(srcset),
        });
        if MORE && kind == ElementKind::Anchor {
            self.add_text(is_foreign);
        }
    }

    /// Whether an `<input>` is an image.
    fn is_image(&self) -> bool {
        self.attribute(AttributeName::Type).is_some_and(|value| value.eq_ignore_ascii_case("image"))
    }
}

/// The label of the encoding that a `<meta>` declares.
fn declared<'a>(meta: &'a Attributes, text: &'a str) -> Option<&'a str> {
    let get = |key| meta.get(key, text);
    get(AttributeName::Charset).or_else(|| {
        let is_pragma = get(AttributeName::HttpEquiv).is_some_and(|pragma| pragma.eq_ignore_ascii_case("content-type"));
        let label =
            get(AttributeName::Content).filter(|_| is_pragma).and_then(|content| in_content(content.as_bytes()))?;
        std::str::from_utf8(label).ok()
    })
}
