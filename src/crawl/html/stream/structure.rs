//! The structure of a page, as far as that decides which tags count: its head, its body or its frames, and the open elements of `<svg>` and
//! `<math>`, in which tags have other meanings than in HTML.

use super::name::Name;
use super::tag::is_space;

/// The part of the page that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Phase {
    BeforeHead,
    InHead,
    InNoscript,
    AfterHead,
    Body,
    /// The number of open `<frameset>`s.
    Frameset(u32),
    AfterFrameset,
}

/// Decides by the tags so far which tags count: with a `<frameset>`, only frames count; without one, no frame does.
#[derive(Debug)]
pub(super) struct Outline {
    phase: Phase,
    /// Whether a `<frameset>` may still replace the body: nothing in it so far forbids that.
    may_have_frames: bool,
    /// The number of open templates: their contents say nothing about the page.
    templates: u32,
}

impl Outline {
    pub(super) fn new() -> Self {
        Self { phase: Phase::BeforeHead, may_have_frames: true, templates: 0 }
    }

    /// Whether the tags that count can no longer change.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.phase == Phase::Body && !self.may_have_frames
    }

    /// Whether text can change the state.
    pub(super) fn hears_text(&self) -> bool {
        self.may_have_frames && !self.has_frames() || self.phase < Phase::Body && self.templates == 0
    }

    /// Whether the page consists of frames.
    pub(super) fn has_frames(&self) -> bool {
        matches!(self.phase, Phase::Frameset(_) | Phase::AfterFrameset)
    }

    pub(super) fn is_in_template(&self) -> bool {
        self.templates > 0
    }

    /// Takes text whose references are already decoded.
    pub(super) fn text(&mut self, text: &str) {
        let has_ink = text.bytes().any(|byte| !is_space(byte) && byte != b'\0');
        if self.templates == 0 && self.phase < Phase::Body && (has_ink || text.contains('\0')) {
            self.phase = Phase::Body;
        }
        self.may_have_frames &= !has_ink;
    }

    /// Takes a start tag of HTML, and returns whether it counts. `is_hidden` says that an `<input>` is invisible.
    pub(super) fn start(&mut self, name: Name, is_hidden: bool) -> bool {
        let counts = if self.templates > 0 { name != Name::FRAME } else { self.advance(name) };
        if !counts || self.has_frames() {
            return counts;
        }
        if name == Name::TEMPLATE {
            self.templates += 1;
        }
        if name == Name::TEMPLATE || self.phase == Phase::Body && forbids_frames(name, is_hidden) {
            self.may_have_frames = false;
        }
        true
    }

    fn advance(&mut self, name: Name) -> bool {
        loop {
            self.phase = match (self.phase, name) {
                (Phase::Frameset(depth), Name::FRAMESET) => {
                    self.phase = Phase::Frameset(depth + 1);
                    return true;
                }
                (Phase::Frameset(_), _) => return matches!(name, Name::FRAME | Name::NOFRAMES),
                (Phase::AfterFrameset, _) => return name == Name::NOFRAMES,
                (_, Name::HTML) => return true,
                (Phase::BeforeHead, Name::HEAD) => {
                    self.phase = Phase::InHead;
                    return true;
                }
                (Phase::InHead | Phase::InNoscript | Phase::AfterHead, Name::HEAD)
                | (Phase::InNoscript, Name::NOSCRIPT) => return false,
                (Phase::InHead, Name::NOSCRIPT) => {
                    self.phase = Phase::InNoscript;
                    return true;
                }
                (
                    Phase::InHead | Phase::InNoscript | Phase::AfterHead,
                    Name::BASEFONT | Name::BGSOUND | Name::LINK | Name::META | Name::NOFRAMES | Name::STYLE,
                )
                | (Phase::InHead | Phase::AfterHead, Name::BASE | Name::SCRIPT | Name::TEMPLATE | Name::TITLE) => {
                    return true;
                }
                (Phase::BeforeHead | Phase::InNoscript, _) => Phase::InHead,
                (Phase::InHead, _) => Phase::AfterHead,
                (Phase::AfterHead, Name::BODY) => {
                    self.phase = Phase::Body;
                    self.may_have_frames = false;
                    return true;
                }
                (Phase::AfterHead, Name::FRAMESET) => {
                    self.phase = Phase::Frameset(1);
                    return true;
                }
                (Phase::AfterHead, _) => Phase::Body,
                (Phase::Body, Name::FRAMESET) => {
                    if self.may_have_frames {
                        self.phase = Phase::Frameset(1);
                    }
                    return self.may_have_frames;
                }
                (Phase::Body, _) => return name != Name::FRAME,
            };
        }
    }

    /// Takes an end tag of HTML.
    pub(super) fn end(&mut self, name: Name) {
        if self.templates > 0 {
            self.templates -= u32::from(name == Name::TEMPLATE);
            return;
        }
        loop {
            self.phase = match (self.phase, name) {
                (Phase::Frameset(1), Name::FRAMESET) => return self.phase = Phase::AfterFrameset,
                (Phase::Frameset(depth), Name::FRAMESET) => return self.phase = Phase::Frameset(depth - 1),
                (Phase::InHead, Name::HEAD) => return self.phase = Phase::AfterHead,
                (Phase::InNoscript, Name::NOSCRIPT) => return self.phase = Phase::InHead,
                (Phase::BeforeHead, Name::HEAD | Name::BODY | Name::HTML | Name::BR)
                | (Phase::InNoscript, Name::BR) => Phase::InHead,
                (Phase::InHead, Name::BODY | Name::HTML | Name::BR) => Phase::AfterHead,
                (Phase::AfterHead, Name::BODY | Name::HTML | Name::BR) => Phase::Body,
                (Phase::Body, Name::BR) => return self.may_have_frames = false,
                _ => return,
            };
        }
    }
}

fn forbids_frames(name: Name, is_hidden: bool) -> bool {
    match name {
        Name::INPUT => !is_hidden,
        Name::APPLET
        | Name::AREA
        | Name::BODY
        | Name::BR
        | Name::BUTTON
        | Name::DD
        | Name::DT
        | Name::EMBED
        | Name::HR
        | Name::IFRAME
        | Name::IMAGE
        | Name::IMG
        | Name::KEYGEN
        | Name::LI
        | Name::LISTING
        | Name::MARQUEE
        | Name::OBJECT
        | Name::PRE
        | Name::SELECT
        | Name::TABLE
        | Name::TEXTAREA
        | Name::WBR
        | Name::XMP => true,
        _ => false,
    }
}

/// At most this many open elements are kept. A deeper element is [unclear](Kind::Unclear) and counts as closed. Drawings nest less, and
/// browsers stop at 512.
const MAX_DEPTH: usize = 256;

/// How to read a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As an element of `<svg>` or `<math>`.
    Foreign,
    /// As HTML.
    Html,
    /// As HTML, although only the elements around it tell what it opens or closes.
    Unclear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Math,
    Svg,
}

#[derive(Debug)]
struct Element {
    name: Name,
    space: Space,
}

/// The open elements of foreign content. HTML elements inside them are not recorded: a tag that may close one is [unclear](Kind::Unclear).
#[derive(Debug, Default)]
pub(super) struct Foreign(Vec<Element>);

impl Foreign {
    /// Whether no foreign element is open, so that the text is HTML.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Leaves foreign content completely.
    pub(super) fn leave(&mut self) {
        self.0.clear();
    }

    /// Takes a start tag in foreign content. `is_marked` says whether the attributes of a `<font>` or an `<annotation-xml>` mark it as
    /// HTML.
    pub(super) fn start(&mut self, name: Name, self_closing: bool, is_marked: bool) -> Kind {
        let Some(top) = self.0.last() else { return Kind::Html };
        let space = top.space;
        if top.holds_html(name) {
            return kind_within(name);
        }
        if is_html_only(name) || name == Name::FONT && is_marked {
            self.leave_to_html();
            return if self.is_empty() { Kind::Html } else { kind_within(name) };
        }
        match name {
            Name::ANNOTATION_XML if space == Space::Math && is_marked => Kind::Unclear,
            _ if self_closing => Kind::Foreign,
            _ => self.open(name, space),
        }
    }

    /// Opens an element.
    pub(super) fn open(&mut self, name: Name, space: Space) -> Kind {
        if self.0.len() == MAX_DEPTH {
            return Kind::Unclear;
        }
        self.0.push(Element { name, space });
        Kind::Foreign
    }

    /// Takes an end tag in foreign content.
    pub(super) fn end(&mut self, name: Name) -> Kind {
        if matches!(name, Name::BR | Name::P) {
            self.leave_to_html();
            return Kind::Html;
        }
        match self.0.iter().rposition(|element| element.name == name) {
            Some(at) => {
                self.0.truncate(at);
                Kind::Foreign
            }
            // The tag may close an element around the foreign content, and the content with it.
            None => Kind::Unclear,
        }
    }

    /// Leaves foreign content up to the innermost element that may hold HTML, which no end tag of HTML closes.
    pub(super) fn leave_to_html(&mut self) {
        while self.0.pop_if(|top| !top.is_integration_point()).is_some() {}
    }
}

impl Element {
    fn is_integration_point(&self) -> bool {
        match self.space {
            Space::Math => matches!(self.name, Name::MI | Name::MO | Name::MN | Name::MS | Name::MTEXT),
            Space::Svg => matches!(self.name, Name::FOREIGN_OBJECT | Name::DESC | Name::TITLE),
        }
    }

    /// Whether a start tag with this name is HTML inside the element.
    fn holds_html(&self, name: Name) -> bool {
        match self.space {
            Space::Math if self.name == Name::ANNOTATION_XML => name == Name::SVG,
            Space::Math => self.is_integration_point() && !matches!(name, Name::MALIGNMARK | Name::MGLYPH),
            Space::Svg => self.is_integration_point(),
        }
    }
}

/// How to read an HTML element inside foreign content: as HTML if it leaves the open elements unchanged.
fn kind_within(name: Name) -> Kind {
    match name {
        Name::AREA
        | Name::BASE
        | Name::BASEFONT
        | Name::BGSOUND
        | Name::BR
        | Name::EMBED
        | Name::HR
        | Name::IFRAME
        | Name::IMAGE
        | Name::IMG
        | Name::INPUT
        | Name::KEYGEN
        | Name::LINK
        | Name::MATH
        | Name::META
        | Name::NOEMBED
        | Name::NOFRAMES
        | Name::PARAM
        | Name::SCRIPT
        | Name::SOURCE
        | Name::STYLE
        | Name::SVG
        | Name::TEXTAREA
        | Name::TITLE
        | Name::TRACK
        | Name::WBR
        | Name::XMP => Kind::Html,
        _ => Kind::Unclear,
    }
}

/// Start tags that end foreign content.
fn is_html_only(name: Name) -> bool {
    matches!(
        name,
        Name::B
            | Name::BIG
            | Name::BLOCKQUOTE
            | Name::BODY
            | Name::BR
            | Name::CENTER
            | Name::CODE
            | Name::DD
            | Name::DIV
            | Name::DL
            | Name::DT
            | Name::EM
            | Name::EMBED
            | Name::H1
            | Name::H2
            | Name::H3
            | Name::H4
            | Name::H5
            | Name::H6
            | Name::HEAD
            | Name::HR
            | Name::I
            | Name::IMG
            | Name::LI
            | Name::LISTING
            | Name::MENU
            | Name::META
            | Name::NOBR
            | Name::OL
            | Name::P
            | Name::PRE
            | Name::RUBY
            | Name::S
            | Name::SMALL
            | Name::SPAN
            | Name::STRIKE
            | Name::STRONG
            | Name::SUB
            | Name::SUP
            | Name::TABLE
            | Name::TT
            | Name::U
            | Name::UL
            | Name::VAR
    )
}
