//! The names in sitemaps and feeds.

use super::{SitemapEntryKind, SitemapFormat};

/// Other vocabularies that stand in a sitemap, whose `loc` is none of a page.
pub(super) const FOREIGN: [&str; 7] = ["image", "mobile", "news", "pagemap", "video", "xhtml", "media"];
/// What stands before a relation's name, in full (RFC 4287 section 4.2.7.2).
const RELATIONS: &str = "http://www.iana.org/assignments/relation/";

/// What the text of an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldName {
    /// The entry's URL.
    Url,
    /// Maybe its URL.
    Instead,
    Changed,
    Priority,
    /// Nothing that is wanted.
    Other,
}

/// The format of a file whose first element has this name; `None` where it is none that is read.
pub(super) fn format_of(name: &str) -> Option<SitemapFormat> {
    Some(match name {
        "urlset" | "url" => SitemapFormat::UrlSet,
        "sitemapindex" | "sitemap" => SitemapFormat::Index,
        "rss" | "rdf" => SitemapFormat::Rss,
        "feed" | "entry" => SitemapFormat::Atom,
        _ => return None,
    })
}

/// Whether an element of this name is an entry.
pub(super) fn is_entry(format: SitemapFormat, name: &str) -> bool {
    match format {
        SitemapFormat::Atom => name == "entry",
        SitemapFormat::Rss => name == "item",
        _ => name == "url" || name == "sitemap",
    }
}

/// What an entry of this name leads to.
pub(super) fn kind_of(entry: &str) -> SitemapEntryKind {
    match entry {
        "sitemap" => SitemapEntryKind::Sitemap,
        "url" => SitemapEntryKind::Page,
        _ => SitemapEntryKind::Item,
    }
}

/// Whether what stands in an element of this name is no entry's: in a feed, where an item is from, and what it says.
pub(super) fn is_passed_over(format: SitemapFormat, name: &str) -> bool {
    match format {
        SitemapFormat::Atom => name == "source" || name == "content",
        SitemapFormat::Rss => name == "source",
        _ => false,
    }
}

/// What the text of an element of this name is.
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

/// Whether a link of this relation leads to the entry itself.
pub(super) fn is_alternate(relation: &str) -> bool {
    relation.strip_prefix(RELATIONS).unwrap_or(relation).eq_ignore_ascii_case("alternate")
}

/// Whether a text is a URL of the web with its scheme.
pub(super) fn is_absolute(text: &str) -> bool {
    let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    (begins("http://") || begins("https://")) && !text.contains(char::is_whitespace)
}
