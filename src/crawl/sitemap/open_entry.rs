//! An entry that is being read, the bases of a feed's open elements, and the meaning of element names in sitemaps and feeds.

use std::rc::Rc;

use super::summary::Sitemap;
use super::text::begins;
use super::{SitemapEntry, SitemapEntryKind, SitemapFormat};
use crate::crawl::date::day_of;

/// At most this many URLs of one entry are kept.
const MOST: usize = 1_000;

/// A `<url>`, `<sitemap>`, `<item>` or `<entry>` whose end is not reached.
#[derive(Default)]
pub(super) struct OpenEntry {
    pub(super) kind: SitemapEntryKind,
    /// The prefix of its tag's name.
    pub(super) prefix: String,
    /// The number of bases in effect around it.
    pub(super) bases_around: usize,
    /// Its URLs, in the order of the file.
    urls: Vec<EntryUrl>,
    /// A URL to use if there is no other.
    instead: Option<EntryUrl>,
    /// Its text outside of all child elements.
    bare: String,
    bare_at: u64,
    /// Where it begins.
    at: u64,
    lastmod: Option<String>,
    priority: Option<f32>,
}

/// A URL of an entry.
pub(super) struct EntryUrl {
    pub(super) kind: SitemapEntryKind,
    pub(super) url: String,
    pub(super) at: u64,
    pub(super) bases: Option<Chain>,
}

impl OpenEntry {
    /// An entry that begins at `at`.
    pub(super) fn at(at: u64, kind: SitemapEntryKind, prefix: &str, bases_around: usize) -> Self {
        Self { kind, prefix: prefix.to_owned(), bases_around, at, ..Self::default() }
    }

    /// Whether it has a URL of its own, not counting alternates.
    pub(super) fn has_url(&self) -> bool {
        self.urls.iter().any(|url| url.kind != SitemapEntryKind::Alternate)
    }

    /// Adds one of its URLs. Returns `false` if there is no room.
    pub(super) fn add(&mut self, url: EntryUrl) -> bool {
        let has_room = self.urls.len() < MOST;
        if has_room {
            self.urls.push(url);
        }
        has_room
    }

    /// Keeps a fallback for its URL, if that is absolute.
    pub(super) fn add_instead(&mut self, url: &str, at: u64) {
        if is_absolute(url) && self.instead.is_none() {
            self.instead = Some(EntryUrl { kind: self.kind, url: url.to_owned(), at, bases: None });
        }
    }

    /// Adds text that is in none of its child elements, up to `longest` bytes.
    pub(super) fn add_bare(&mut self, text: &str, at: u64, longest: usize) {
        if self.bare.len() + text.len() <= longest {
            if self.bare.trim().is_empty() {
                (self.bare_at, self.bare) = (at, String::new());
            }
            self.bare.push_str(text);
        }
    }

    /// Takes the text of one of its child elements. Returns `false` if there is no room for another URL.
    pub(super) fn take(&mut self, name: FieldName, text: &str, at: u64, bases: Option<Chain>) -> bool {
        match name {
            FieldName::Url => return self.add(EntryUrl { kind: self.kind, url: text.to_owned(), at, bases }),
            FieldName::Instead => self.add_instead(text, at),
            // The latest date counts: a feed also has the day when an item was written.
            FieldName::Changed if day_of(text) > self.lastmod.as_deref().and_then(day_of) || self.lastmod.is_none() => {
                self.lastmod = Some(text.to_owned());
            }
            FieldName::Priority => {
                self.priority = text.parse().ok().filter(|priority| (0.0..=1.0).contains(priority));
            }
            FieldName::Changed | FieldName::Other => {}
        }
        true
    }

    /// Passes the entry on, URL by URL. The fallback is used only if the entry is complete; if not, the file may have broken off before the
    /// entry's own URL.
    pub(super) fn finish(mut self, sitemap: &mut Sitemap<'_>, is_whole: bool) {
        if !self.has_url() && is_whole {
            let (bare, at) = (self.bare.trim().to_owned(), self.bare_at);
            if self.kind != SitemapEntryKind::Item {
                self.add_instead(&bare, at);
            }
            self.urls.extend(self.instead);
            // An item of a feed may have no URL, only text.
            if self.urls.is_empty() && self.kind != SitemapEntryKind::Item {
                sitemap.note(self.at, "an entry without a URL");
            }
        }
        for EntryUrl { kind, url, at, bases } in self.urls {
            let (lastmod, priority) = (self.lastmod.clone(), self.priority);
            let bases = bases.map(|bases| bases.to_vec()).unwrap_or_default();
            sitemap.pass(SitemapEntry { url, bases, kind, lastmod, priority, offset: at });
        }
    }
}

/// At most this many nested bases are kept.
const MOST_BASES: usize = 8;
/// At most this many bytes of a base are kept.
const LONGEST: usize = 2 * 1024;

/// The `xml:base` of the open elements (XML Base, RFC 4287 section 2), outermost first.
#[derive(Default)]
pub(super) struct Bases(Vec<(usize, Chain)>);

/// The bases in effect at one place, outermost first. Many URLs share one chain.
pub(super) type Chain = Rc<[String]>;

impl Bases {
    /// Adds the base of an element at this depth. Returns `false` if it is too long, or one too many.
    #[must_use = "what is not taken is a problem of the file"]
    pub(super) fn open(&mut self, depth: usize, base: String) -> bool {
        let around = self.chain().filter(|_| !is_absolute(&base));
        let around = around.as_deref().unwrap_or_default();
        let has_room = around.len() < MOST_BASES && base.len() <= LONGEST;
        if has_room {
            let chain = around.iter().cloned().chain([base]).collect();
            self.0.push((depth, chain));
        }
        has_room
    }

    /// Drops the bases of elements deeper than this: they are closed.
    pub(super) fn close(&mut self, depth: usize) {
        while self.0.last().is_some_and(|(own, _)| *own > depth) {
            self.0.pop();
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Keeps only the outermost `count`.
    pub(super) fn keep(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// All bases in effect at the current place.
    pub(super) fn chain(&self) -> Option<Chain> {
        self.0.last().map(|(_, chain)| Rc::clone(chain))
    }
}

/// Other vocabularies in sitemaps, whose `loc` is not a page's.
pub(super) const FOREIGN: [&str; 7] = ["image", "mobile", "news", "pagemap", "video", "xhtml", "media"];
/// The prefix of a relation's full name (RFC 4287 section 4.2.7.2).
const RELATIONS: &str = "http://www.iana.org/assignments/relation/";

/// The meaning of an element's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldName {
    /// The entry's URL.
    Url,
    /// A fallback for the entry's URL.
    Instead,
    Changed,
    Priority,
    /// Not needed.
    Other,
}

/// The format of a file whose first element has this name; `None` if it is not a format that is read.
pub(super) fn format_of(name: &str) -> Option<SitemapFormat> {
    Some(match name {
        "urlset" | "url" => SitemapFormat::UrlSet,
        "sitemapindex" | "sitemap" => SitemapFormat::Index,
        "rss" | "rdf" => SitemapFormat::Rss,
        "feed" | "entry" => SitemapFormat::Atom,
        _ => return None,
    })
}

/// Whether an element with this name is an entry.
pub(super) fn is_entry(format: SitemapFormat, name: &str) -> bool {
    match format {
        SitemapFormat::Atom => name == "entry",
        SitemapFormat::Rss => name == "item",
        _ => name == "url" || name == "sitemap",
    }
}

/// What an entry with this name leads to.
pub(super) fn kind_of(entry: &str) -> SitemapEntryKind {
    match entry {
        "sitemap" => SitemapEntryKind::Sitemap,
        "url" => SitemapEntryKind::Page,
        _ => SitemapEntryKind::Item,
    }
}

/// Whether the content of an element with this name is ignored: in a feed, an item's source and content.
pub(super) fn is_passed_over(format: SitemapFormat, name: &str) -> bool {
    match format {
        SitemapFormat::Atom => name == "source" || name == "content",
        SitemapFormat::Rss => name == "source",
        _ => false,
    }
}

/// The meaning of the text of an element with this name.
pub(super) fn field_of(format: SitemapFormat, name: &str) -> Option<FieldName> {
    match (format, name) {
        (SitemapFormat::Rss, "guid") | (SitemapFormat::Atom, "id") => Some(FieldName::Instead),
        (SitemapFormat::Rss, "pubdate" | "date")
        | (SitemapFormat::Atom, "updated" | "published" | "created" | "issued" | "modified")
        | (SitemapFormat::Index | SitemapFormat::UrlSet, "lastmod") => Some(FieldName::Changed),
        (SitemapFormat::Atom | SitemapFormat::Rss, "link") | (SitemapFormat::Index | SitemapFormat::UrlSet, "loc") => {
            Some(FieldName::Url)
        }
        (SitemapFormat::Index | SitemapFormat::UrlSet, "priority") => Some(FieldName::Priority),
        (SitemapFormat::Index | SitemapFormat::UrlSet, "changefreq") => Some(FieldName::Other),
        _ => None,
    }
}

/// Whether a link with this relation leads to the entry itself.
pub(super) fn is_alternate(relation: &str) -> bool {
    relation.strip_prefix(RELATIONS).unwrap_or(relation).eq_ignore_ascii_case("alternate")
}

/// Whether a text is a web URL with its scheme.
pub(super) fn is_absolute(text: &str) -> bool {
    (begins(text, "http://") || begins(text, "https://")) && !text.contains(char::is_whitespace)
}
