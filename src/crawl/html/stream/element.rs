//! Passes what an element's attributes say to the harvest.

use super::Scan;
use super::anchor_text::anchor_text;
use super::attributes::{AttributeName, Attributes};
use super::name::Name;
use crate::crawl::html::harvest::{Element, ElementKind};
use crate::crawl::html::prescan::in_content;

impl<D, const MORE: bool> Scan<'_, '_, '_, D, MORE> {
    /// Keeps the text and `rel` of the `<a>` whose attributes were just read.
    #[cold]
    pub(super) fn add_text(&mut self, is_foreign: bool) {
        if self.harvest.wants_texts()
            && let Some(href) = self.attributes.href(self.text, is_foreign)
            && let Some(link) = self.harvest.describe(href, self.attributes.get(AttributeName::Rel, self.text))
        {
            self.harvest.add_text(link, &anchor_text(self.text, self.at));
        }
    }

    pub(super) fn attribute(&self, key: AttributeName) -> Option<&str> {
        self.attributes.get(key, self.text)
    }

    /// Whether the attributes of a tag in foreign content make it HTML, or make it contain HTML.
    pub(super) fn is_marked(&self, name: Name) -> bool {
        match name {
            Name::ANNOTATION_XML => self.attribute(AttributeName::Encoding).is_some_and(|encoding| {
                ["application/xhtml+xml", "text/html"].iter().any(|html| html.eq_ignore_ascii_case(encoding))
            }),
            Name::FONT => self.attribute(AttributeName::Color).is_some(),
            _ => false,
        }
    }

    /// Takes an element of HTML or foreign content whose attributes were just read.
    pub(super) fn add(&mut self, name: Name, is_foreign: bool) {
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
pub(super) fn declared<'a>(meta: &'a Attributes, text: &'a str) -> Option<&'a str> {
    let get = |key| meta.get(key, text);
    get(AttributeName::Charset).or_else(|| {
        let is_pragma = get(AttributeName::HttpEquiv).is_some_and(|pragma| pragma.eq_ignore_ascii_case("content-type"));
        let label =
            get(AttributeName::Content).filter(|_| is_pragma).and_then(|content| in_content(content.as_bytes()))?;
        std::str::from_utf8(label).ok()
    })
}
