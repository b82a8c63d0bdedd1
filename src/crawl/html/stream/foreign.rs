//! The open elements of `<svg>` and `<math>`, in which tags have other meanings than in HTML.

use super::name::Name;

/// At most this many elements are kept. A deeper one makes the page [unclear](Kind::Unclear); when guessing, it counts as closed. Drawings
/// nest less, and browsers stop at 512.
const MAX_DEPTH: usize = 256;

/// How to read a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As an element of `<svg>` or `<math>`.
    Foreign,
    /// As HTML.
    Html,
    /// As HTML, but only the elements around it tell what it opens or closes.
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

/// The open elements of foreign content. HTML inside them is never kept: the page is then [unclear](Kind::Unclear).
#[derive(Debug, Default)]
pub(super) struct Foreign(Vec<Element>);

impl Foreign {
    /// Whether the text is HTML.
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
            self.pop_to_html();
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
            self.pop_to_html();
            return Kind::Html;
        }
        match self.0.iter().rposition(|element| element.name == name) {
            Some(at) => {
                self.0.truncate(at);
                Kind::Foreign
            }
            // It may close an element around this content, and this content with it.
            None => Kind::Unclear,
        }
    }

    fn pop_to_html(&mut self) {
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

/// Whether an HTML element in foreign content leaves the open elements unchanged.
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
