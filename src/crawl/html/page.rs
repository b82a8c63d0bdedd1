//! What is taken from a page.

use super::charset::{EncodingSource, query_encoder};
use super::link_kind::LinkKind;
use super::link_text::LinkText;
use super::robots_tag::RobotsTag;
use crate::address::QueryEncoder;

/// What was taken from one page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Its links, each spelling once, in the order of the page; at most [`ParseOptions::max_links`](crate::crawl::ParseOptions::max_links).
    pub links: PageLinks,
    /// The number of other distinct links, which are not in [`Self::links`].
    pub links_over_limit: u32,
    /// The number of links of more than 64 KiB, which cannot be URLs; not in [`Self::links`] either.
    pub links_too_long: u32,
    /// The texts of its links, in the order of [`Self::links`]; empty without
    /// [`ParseOptions::link_texts`](crate::crawl::ParseOptions::link_texts).
    pub link_texts: Vec<LinkText>,
    /// The first `<link rel=canonical>` outside of templates and drawings, as written.
    pub canonical: Option<String>,
    /// The first `<base href>` outside of templates and drawings, as written: the links are relative to it if it resolves to http(s).
    pub base_href: Option<String>,
    /// The first `<title>` outside of templates and drawings: white space folded, cut at 512 bytes.
    pub title: Option<String>,
    /// The directives of `<meta name=robots>`.
    pub robots: RobotsTag,
    /// Its encoding, by its name in the Encoding standard: `UTF-8`, `windows-1252`.
    pub encoding: &'static str,
    /// Where the encoding was found.
    pub encoding_source: EncodingSource,
    /// How it was read.
    pub reading: Reading,
}

impl Page {
    /// How to write the queries of its links, for [`BaseUrl::with_query_encoder`](crate::address::BaseUrl::with_query_encoder): in the
    /// page's own encoding. `None` if that is UTF-8.
    pub fn query_encoder(&self) -> Option<QueryEncoder> {
        query_encoder(self.encoding)
    }
}

/// The links of a page, in one block of memory.
///
/// ```
/// use crawler::crawl::{ParseOptions, parse};
///
/// let page = parse(b"<a href=b#1>B</a> <a href=b>again</a> <a href=/c>C</a>", None, &ParseOptions::default());
/// let hrefs: Vec<&str> = page.links.iter().map(|link| link.href).collect();
/// assert_eq!(hrefs, ["b", "/c"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageLinks {
    /// All hrefs, concatenated.
    hrefs: String,
    places: Vec<LinkPlace>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LinkPlace {
    /// Where the href ends.
    end: usize,
    kind: LinkKind,
    nofollow: bool,
}

impl PageLinks {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The links in the order of the page.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Link<'_>> {
        let mut start = 0;
        self.places.iter().map(move |&LinkPlace { end, kind, nofollow }| {
            let href = &self.hrefs[start..end];
            start = end;
            Link { href, kind, nofollow }
        })
    }

    pub(super) fn push(&mut self, Link { href, kind, nofollow }: Link<'_>) {
        self.hrefs.push_str(href);
        self.places.push(LinkPlace { end: self.hrefs.len(), kind, nofollow });
    }

    /// Notes that a link occurs again on the page. Ignores an index that is out of range.
    pub(super) fn repeat(&mut self, link: usize, nofollow: bool) {
        if let Some(place) = self.places.get_mut(link) {
            place.nofollow &= nofollow;
        }
    }
}

/// A link as the page wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'p> {
    /// Not yet resolved; without surrounding white space and fragment.
    pub href: &'p str,
    /// Where it was first found.
    pub kind: LinkKind,
    /// Whether it has `rel=nofollow` everywhere on the page.
    pub nofollow: bool,
}

/// How a page was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// As a document, by the tree builder.
    Document,
    /// As a stream of tags.
    Stream,
}
