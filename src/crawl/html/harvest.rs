//! The harvest of a page: links, title and directives, collected element by element.

use std::cell::Cell;

use ahash::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use memchr::memchr;

use super::charset::EncodingSource;
use super::page::{Link, LinkKind, LinkText, Page, PageLinks, RobotsTag, folded};
use crate::crawl::ParseOptions;

/// At most this many bytes of a text are taken as a URL, in a page, a sitemap or a plain text. This only bounds memory: the gate decides
/// which URLs are too long (`traps.url_bytes`), and counts them.
pub(in crate::crawl) const LONGEST_URL: usize = 64 << 10;

/// Room for this many links is reserved with the first one.
const MANY_LINKS: usize = 100;

/// Each link's hash and its index among the links; the index is out of range for a link over the limit.
type Places = HashTable<(u64, usize)>;

/// A table with room for more is not kept for the next page.
const MOST_KEPT: usize = 4096;

thread_local! {
    /// The table of the last page, cleared.
    static PLACES: Cell<Places> = const { Cell::new(Places::new()) };
}

/// The links, title and directives of a page so far.
pub(super) struct Harvest<'a> {
    options: &'a ParseOptions,
    links: PageLinks,
    /// The hash has a random key, so no page can force a collision; by chance, two of a million links collide once in 10^7 pages.
    places: Places,
    hasher: RandomState,
    links_over_limit: u32,
    links_too_long: u32,
    link_texts: Vec<LinkText>,
    canonical: Option<String>,
    base_href: Option<String>,
    title: Option<String>,
    robots: RobotsTag,
    is_ambiguous: bool,
}

impl<'a> Harvest<'a> {
    pub(super) fn new(options: &'a ParseOptions) -> Self {
        Self {
            options,
            links: PageLinks::default(),
            places: PLACES.take(),
            hasher: RandomState::new(),
            links_over_limit: 0,
            links_too_long: 0,
            link_texts: Vec::new(),
            canonical: None,
            base_href: None,
            title: None,
            robots: RobotsTag::default(),
            is_ambiguous: false,
        }
    }

    /// Takes an element that is not a title.
    pub(super) fn add_element(&mut self, element: &Element<'_>) {
        let nofollow = element.has_rel(&["nofollow"]);
        // An empty link leads to the page itself; an empty source leads nowhere.
        let is_link = matches!(element.kind, ElementKind::Anchor | ElementKind::Area | ElementKind::Base);
        let href = element.href.filter(|href| is_link || !href.trim_ascii().is_empty());
        let src = element.src.filter(|src| !src.trim_ascii().is_empty());
        match element.kind {
            ElementKind::Anchor => self.add_link(href, LinkKind::Anchor, nofollow),
            ElementKind::Area => self.add_link(href, LinkKind::Area, nofollow),
            ElementKind::Base if self.base_href.is_none() && !element.is_inert => {
                let href = href.map(str::trim_ascii).filter(|href| href.len() <= LONGEST_URL);
                self.base_href = href.map(str::to_owned);
            }
            ElementKind::Frame => self.add_link(src, LinkKind::Frame, false),
            ElementKind::Link
                if element.has_rel(&["alternate", "canonical", "next", "prev", "previous"])
                    && !element.has_rel(&["stylesheet"]) =>
            {
                let is_canonical = element.has_rel(&["canonical"]);
                if is_canonical && self.canonical.is_none() && !element.is_inert {
                    self.canonical = href.map(spelling).map(str::to_owned);
                }
                let kind = if is_canonical { LinkKind::Canonical } else { LinkKind::Relation };
                self.add_link(href, kind, nofollow);
            }
            ElementKind::Meta => {
                let content = element.content.unwrap_or_default();
                if element.http_equiv.is_some_and(|pragma| pragma.eq_ignore_ascii_case("refresh")) {
                    self.add_link(refresh(content), LinkKind::Refresh, false);
                }
                if let Some(name) = element.meta_name.filter(|_| !element.is_inert) {
                    self.robots.add_meta(name, content, &self.options.agent);
                }
            }
            _ if self.options.resources => self.add_resources(element),
            _ => {}
        }
        if self.options.link_texts {
            for href in [href, src].into_iter().flatten() {
                self.describe(href, element.rel);
            }
        }
    }

    /// Takes resources: parts of the page.
    fn add_resources(&mut self, element: &Element<'_>) {
        let (address, kind, images) = match element.kind {
            ElementKind::Image => (element.src, LinkKind::Image, element.srcset),
            ElementKind::Link => {
                let Some(kind) = element.linked_kind() else { return };
                let images = element.srcset.filter(|_| kind == LinkKind::Image && element.has_rel(&["preload"]));
                (element.href, kind, images)
            }
            ElementKind::Media => (element.src, LinkKind::Media, element.srcset),
            ElementKind::Script => (element.src, LinkKind::Script, None),
            _ => return,
        };
        self.add_resource(address, kind);
        self.add_resource(element.poster, LinkKind::Image);
        srcset_images(images.unwrap_or_default()).for_each(|image| self.add_resource(Some(image), LinkKind::Image));
    }

    /// Adds a part of the page if it is another file: not empty, and not a fragment of the page itself.
    fn add_resource(&mut self, href: Option<&str>, kind: LinkKind) {
        self.add_link(href.filter(|href| !spelling(href).is_empty()), kind, false);
    }

    /// Whether resources or link texts are wanted. In most crawls neither is.
    pub(super) fn wants_more(&self) -> bool {
        self.options.resources || self.options.link_texts
    }

    /// Whether link texts are wanted.
    pub(super) fn wants_texts(&self) -> bool {
        self.options.link_texts
    }

    /// Keeps the `rel` of a link that was added. Returns the link's index if it has no text yet.
    pub(super) fn describe(&mut self, href: &str, rel: Option<&str>) -> Option<usize> {
        let hash = self.hasher.hash_one(spelling(href));
        let (_, link) = *self.places.find(hash, |(other, _)| *other == hash)?;
        self.link_texts.resize_with(self.links.len(), LinkText::default);
        let said = self.link_texts.get_mut(link)?;
        if said.rel.is_none() {
            said.rel = rel.and_then(|rel| folded(rel.chars()));
        }
        said.text.is_none().then_some(link)
    }

    /// Sets the text of a link.
    pub(super) fn add_text(&mut self, link: usize, text: &str) {
        self.link_texts[link].text = folded(text.chars());
    }

    /// Takes an `<a>` with its `href` and `rel`.
    pub(super) fn add_anchor(&mut self, href: &str, rel: Option<&str>) {
        self.add_link(Some(href), LinkKind::Anchor, rel.is_some_and(|rel| has_token(rel, &["nofollow"])));
    }

    /// Sets the title. Call it only while [`has_title`](Self::has_title) is false: the first title with a text counts.
    pub(super) fn add_title(&mut self, text: impl Iterator<Item = char>) {
        self.title = folded(text);
    }

    pub(super) fn has_title(&self) -> bool {
        self.title.is_some()
    }

    fn add_link(&mut self, href: Option<&str>, kind: LinkKind, nofollow: bool) {
        let Some(href) = href.map(spelling) else { return };
        if href.len() > LONGEST_URL {
            self.links_too_long += 1;
            return;
        }
        let next = self.links.len();
        if next == 0 {
            self.places.reserve(MANY_LINKS, |(hash, _)| *hash);
            self.links.reserve(MANY_LINKS);
        }
        let hash = self.hasher.hash_one(href);
        match self.places.entry(hash, |(other, _)| *other == hash, |(hash, _)| *hash) {
            Entry::Occupied(place) => self.links.repeat(place.get().1, nofollow),
            Entry::Vacant(place) if next < self.options.max_links => {
                place.insert((hash, next));
                self.links.push(Link { href, kind, nofollow });
            }
            Entry::Vacant(place) => {
                place.insert((hash, usize::MAX));
                self.links_over_limit += 1;
            }
        }
    }

    /// Records that only a tree could tell the meaning of a tag.
    pub(super) fn add_ambiguity(&mut self) {
        self.is_ambiguous = true;
    }

    pub(super) fn into_page(mut self, encoding: &'static str, encoding_source: EncodingSource) -> Page {
        if self.options.link_texts {
            self.link_texts.resize_with(self.links.len(), LinkText::default);
        }
        if self.places.capacity() <= MOST_KEPT {
            self.places.clear();
            PLACES.set(self.places);
        }
        Page {
            links: self.links,
            links_over_limit: self.links_over_limit,
            links_too_long: self.links_too_long,
            link_texts: self.link_texts,
            canonical: self.canonical,
            base_href: self.base_href,
            title: self.title,
            robots: self.robots,
            encoding,
            encoding_source,
            is_ambiguous: self.is_ambiguous,
        }
    }
}

/// The elements that give links or directives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementKind {
    Anchor,
    Area,
    Base,
    /// `<frame>` or `<iframe>`.
    Frame,
    /// `<img>`, `<input type=image>`, an `<image>` or `<use>` in a drawing, or an element with a background.
    Image,
    Link,
    /// `<audio>`, `<video>`, `<source>`, `<track>`, `<embed>` or `<object>`.
    Media,
    Meta,
    Script,
}

/// An element, with the attributes that give links or directives.
#[derive(Debug)]
pub(super) struct Element<'e> {
    pub(super) kind: ElementKind,
    pub(super) content: Option<&'e str>,
    /// The purpose of a `<link>`'s file: its `as`.
    pub(super) destination: Option<&'e str>,
    pub(super) href: Option<&'e str>,
    pub(super) http_equiv: Option<&'e str>,
    /// Whether it is in a template or in foreign content. Its links count then, but nothing else does.
    pub(super) is_inert: bool,
    /// Its attribute `name`.
    pub(super) meta_name: Option<&'e str>,
    pub(super) poster: Option<&'e str>,
    pub(super) rel: Option<&'e str>,
    /// The address of its file, whatever its attribute is called: `data` on an `<object>`, `background` on a `<td>`.
    pub(super) src: Option<&'e str>,
    /// The addresses of its file in several sizes: `srcset`, or `imagesrcset` on a `<link>`.
    pub(super) srcset: Option<&'e str>,
}

impl Element<'_> {
    /// The kind of resource that a `<link>` loads.
    fn linked_kind(&self) -> Option<LinkKind> {
        const ICONS: [&str; 4] = ["icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"];
        let is_preload = self.has_rel(&["preload"]);
        let is_for =
            |wanted: &str| is_preload && self.destination.is_some_and(|wants| wants.eq_ignore_ascii_case(wanted));
        if self.has_rel(&["stylesheet"]) || is_for("style") {
            Some(LinkKind::Style)
        } else if self.has_rel(&ICONS) || is_for("image") {
            Some(LinkKind::Image)
        } else if self.has_rel(&["modulepreload"]) || is_for("script") {
            Some(LinkKind::Script)
        } else {
            (is_preload || self.has_rel(&["manifest"])).then_some(LinkKind::Media)
        }
    }

    /// Whether one of these link types is among the tokens of `rel`.
    fn has_rel(&self, wanted: &[&str]) -> bool {
        self.rel.is_some_and(|rel| has_token(rel, wanted))
    }
}

/// Whether one of the wanted words is among the tokens. The standard separates tokens only by white space; many pages use commas, and
/// search engines accept them.
fn has_token(tokens: &str, wanted: &[&str]) -> bool {
    let mut tokens = tokens.as_bytes().split(|byte| byte.is_ascii_whitespace() || *byte == b',');
    tokens.any(|token| wanted.iter().any(|wanted| wanted.as_bytes().eq_ignore_ascii_case(token)))
}

/// An href without surrounding white space (HTML standard, "valid URL potentially surrounded by spaces") and without its fragment, which is
/// never sent: links to many parts of one page are all one URL.
fn spelling(href: &str) -> &str {
    let href = href.trim_ascii();
    match memchr(b'#', href.as_bytes()) {
        // White space before the fragment belongs to the path; without the fragment it would be at the end, and be removed.
        Some(at) if !href[..at].ends_with(|letter: char| letter <= ' ') => &href[..at],
        _ => href,
    }
}

/// The target of a `<meta http-equiv=refresh content>` (HTML standard, "shared declarative refresh steps"); `None` for a plain reload.
pub(in crate::crawl) fn refresh(content: &str) -> Option<&str> {
    let rest = content.trim_ascii_start();
    let after_time = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    if after_time.len() == rest.len() {
        return None;
    }
    let rest = after_time.trim_ascii_start();
    if rest.len() == after_time.len() && !rest.starts_with([';', ',']) {
        return None;
    }
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_ascii_start();
    let named = rest.get(..3).filter(|name| name.eq_ignore_ascii_case("url"));
    let value = named.and_then(|_| rest[3..].trim_ascii_start().strip_prefix('=')).map_or(rest, str::trim_ascii_start);
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let href = match quote {
        Some(quote) => value[1..].split(quote).next().unwrap_or_default(),
        None => value,
    };
    Some(href).filter(|href| !href.is_empty())
}

/// The addresses of the images in a `srcset` (HTML standard, "parse a srcset attribute"), whatever their sizes.
pub(super) fn srcset_images(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|letter: char| letter == ',' || letter.is_ascii_whitespace());
        let end = rest.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len());
        let url = &rest[..end];
        let bare = url.trim_end_matches(',');
        // After a comma at its end, no size can follow.
        rest = if bare.len() < url.len() { &rest[end..] } else { after_size(&rest[end..]) };
        (!bare.is_empty()).then_some(bare)
    })
}

/// The text after a size. A size ends at a comma outside of parentheses.
fn after_size(text: &str) -> &str {
    let mut is_nested = false;
    let end = text.find(|letter| {
        is_nested = letter == '(' || is_nested && letter != ')';
        letter == ',' && !is_nested
    });
    end.map_or("", |end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refresh_is_read_as_browsers_do() {
        let cases = [
            ("0;url=/a", Some("/a")),
            ("5; URL='/a b'x", Some("/a b")),
            (" 3.7 , Url = \"b\"", Some("b")),
            ("0 /c", Some("/c")),
            ("0;/d", Some("/d")),
            ("0;url", Some("url")),
            ("0;url=", None),
            ("30", None),
            ("30;", None),
            ("url=/e", None),
            ("x;url=/f", None),
            ("0x;url=/g", None),
            ("", None),
        ];
        for (content, href) in cases {
            assert_eq!(refresh(content), href, "{content}");
        }
    }

    #[test]
    fn a_spelling_has_no_fragment() {
        for (href, expected) in
            [(" /a \n", "/a"), ("/a#b", "/a"), ("#top", ""), ("", ""), ("/a #b", "/a #b"), ("?q#", "?q")]
        {
            assert_eq!(spelling(href), expected, "{href:?}");
        }
    }

    #[test]
    fn addresses_are_found_as_browsers_find_them() {
        for (srcset, expected) in [
            ("a.png", &["a.png"][..]),
            ("a.png 1x, b.png 2x", &["a.png", "b.png"]),
            (" a.png 100w,\n\tb.png 200w ,c.png", &["a.png", "b.png", "c.png"]),
            ("a.png, b.png", &["a.png", "b.png"]),
            ("a,b.png 2x", &["a,b.png"]),
            ("a.png,b.png", &["a.png,b.png"]),
            ("data:image/png;base64,AA== 1x, b.png 2x", &["data:image/png;base64,AA==", "b.png"]),
            ("a.png (1x, 2x), b.png", &["a.png", "b.png"]),
            ("a.png (1x, b.png", &["a.png"]),
            (",, a.png 1x ,,", &["a.png"]),
            ("", &[]),
            (" , ", &[]),
        ] {
            assert_eq!(srcset_images(srcset).collect::<Vec<_>>(), expected, "{srcset}");
        }
    }
}
