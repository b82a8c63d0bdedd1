//! The structure of a page, as far as that decides which tags count: its head, its body or its frames, and the open elements of `<svg>` and
//! `<math>`, in which tags have other meanings than in HTML.

use super::name::Name;
use super::tag::is_space;

/// The insertion mode of the HTML standard's tree construction, as far as it decides which tags count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum InsertionMode {
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    /// The number of open `<frameset>`s.
    InFrameset(u32),
    AfterFrameset,
}

/// Decides by the tags so far which tags count: with a `<frameset>`, only frames count; without one, no frame does.
#[derive(Debug)]
pub(super) struct Outline {
    mode: InsertionMode,
    /// The standard's frameset-ok flag: whether a `<frameset>` may still replace the body.
    frameset_ok: bool,
    /// The number of open templates: their contents say nothing about the page.
    templates: u32,
}

impl Outline {
    pub(super) fn new() -> Self {
        Self { mode: InsertionMode::BeforeHead, frameset_ok: true, templates: 0 }
    }

    /// Whether the tags that count can no longer change.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.mode == InsertionMode::InBody && !self.frameset_ok
    }

    /// Whether text can change the state.
    pub(super) fn hears_text(&self) -> bool {
        self.frameset_ok && !self.has_frames() || self.mode < InsertionMode::InBody && self.templates == 0
    }

    /// Whether the page consists of frames.
    pub(super) fn has_frames(&self) -> bool {
        matches!(self.mode, InsertionMode::InFrameset(_) | InsertionMode::AfterFrameset)
    }

    pub(super) fn is_in_template(&self) -> bool {
        self.templates > 0
    }

    /// Takes text whose character references are already decoded.
    pub(super) fn text(&mut self, text: &str) {
        let has_ink = text.bytes().any(|byte| !is_space(byte) && byte != b'\0');
        if self.templates == 0 && self.mode < InsertionMode::InBody && (has_ink || text.contains('\0')) {
            self.mode = InsertionMode::InBody;
        }
        self.frameset_ok &= !has_ink;
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
        if name == Name::TEMPLATE || self.mode == InsertionMode::InBody && forbids_frames(name, is_hidden) {
            self.frameset_ok = false;
        }
        true
    }

    fn advance(&mut self, name: Name) -> bool {
        loop {
            self.mode = match (self.mode, name) {
                (InsertionMode::InFrameset(depth), Name::FRAMESET) => {
                    self.mode = InsertionMode::InFrameset(depth + 1);
                    return true;
                }
                (InsertionMode::InFrameset(_), _) => return matches!(name, Name::FRAME | Name::NOFRAMES),
                (InsertionMode::AfterFrameset, _) => return name == Name::NOFRAMES,
                (_, Name::HTML) => return true,
                (InsertionMode::BeforeHead, Name::HEAD) => {
                    self.mode = InsertionMode::InHead;
                    return true;
                }
                (InsertionMode::InHead | InsertionMode::InHeadNoscript | InsertionMode::AfterHead, Name::HEAD)
                | (InsertionMode::InHeadNoscript, Name::NOSCRIPT) => return false,
                (InsertionMode::InHead, Name::NOSCRIPT) => {
                    self.mode = InsertionMode::InHeadNoscript;
                    return true;
                }
                (
                    InsertionMode::InHead | InsertionMode::InHeadNoscript | InsertionMode::AfterHead,
                    Name::BASEFONT | Name::BGSOUND | Name::LINK | Name::META | Name::NOFRAMES | Name::STYLE,
                )
                | (
                    InsertionMode::InHead | InsertionMode::AfterHead,
                    Name::BASE | Name::SCRIPT | Name::TEMPLATE | Name::TITLE,
                ) => {
                    return true;
                }
                (InsertionMode::BeforeHead | InsertionMode::InHeadNoscript, _) => InsertionMode::InHead,
                (InsertionMode::InHead, _) => InsertionMode::AfterHead,
                (InsertionMode::AfterHead, Name::BODY) => {
                    self.mode = InsertionMode::InBody;
                    self.frameset_ok = false;
                    return true;
                }
                (InsertionMode::AfterHead, Name::FRAMESET) => {
                    self.mode = InsertionMode::InFrameset(1);
                    return true;
                }
                (InsertionMode::AfterHead, _) => InsertionMode::InBody,
                (InsertionMode::InBody, Name::FRAMESET) => {
                    if self.frameset_ok {
                        self.mode = InsertionMode::InFrameset(1);
                    }
                    return self.frameset_ok;
                }
                (InsertionMode::InBody, _) => return name != Name::FRAME,
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
            self.mode = match (self.mode, name) {
                (InsertionMode::InFrameset(1), Name::FRAMESET) => return self.mode = InsertionMode::AfterFrameset,
                (InsertionMode::InFrameset(depth), Name::FRAMESET) => {
                    return self.mode = InsertionMode::InFrameset(depth - 1);
                }
                (InsertionMode::InHead, Name::HEAD) => return self.mode = InsertionMode::AfterHead,
                (InsertionMode::InHeadNoscript, Name::NOSCRIPT) => return self.mode = InsertionMode::InHead,
                (InsertionMode::BeforeHead, Name::HEAD | Name::BODY | Name::HTML | Name::BR)
                | (InsertionMode::InHeadNoscript, Name::BR) => InsertionMode::InHead,
                (InsertionMode::InHead, Name::BODY | Name::HTML | Name::BR) => InsertionMode::AfterHead,
                (InsertionMode::AfterHead, Name::BODY | Name::HTML | Name::BR) => InsertionMode::InBody,
                (InsertionMode::InBody, Name::BR) => return self.frameset_ok = false,
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

/// The namespace of a foreign element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Namespace {
    Math,
    Svg,
}

#[derive(Debug)]
struct Element {
    name: Name,
    namespace: Namespace,
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
        let namespace = top.namespace;
        if top.holds_html(name) {
            return kind_within(name);
        }
        if is_html_only(name) || name == Name::FONT && is_marked {
            self.leave_to_html();
            return if self.is_empty() { Kind::Html } else { kind_within(name) };
        }
        match name {
            Name::ANNOTATION_XML if namespace == Namespace::Math && is_marked => Kind::Unclear,
            _ if self_closing => Kind::Foreign,
            _ => self.open(name, namespace),
        }
    }

    /// Opens an element.
    pub(super) fn open(&mut self, name: Name, namespace: Namespace) -> Kind {
        if self.0.len() == MAX_DEPTH {
            return Kind::Unclear;
        }
        self.0.push(Element { name, namespace });
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
        match self.namespace {
            Namespace::Math => matches!(self.name, Name::MI | Name::MO | Name::MN | Name::MS | Name::MTEXT),
            Namespace::Svg => matches!(self.name, Name::FOREIGN_OBJECT | Name::DESC | Name::TITLE),
        }
    }

    /// Whether a start tag with this name is HTML inside the element.
    fn holds_html(&self, name: Name) -> bool {
        match self.namespace {
            Namespace::Math if self.name == Name::ANNOTATION_XML => name == Name::SVG,
            Namespace::Math => self.is_integration_point() && !matches!(name, Name::MALIGNMARK | Name::MGLYPH),
            Namespace::Svg => self.is_integration_point(),
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
