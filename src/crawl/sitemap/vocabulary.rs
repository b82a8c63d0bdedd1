//! The names in sitemaps and feeds.

use super::{SitemapEntryKind, SitemapFormat};

/// Other vocabularies in sitemaps, whose `loc` is not a page's.
pub(super) const FOREIGN: [&str; 7] = ["image", "mobile", "news", "pagemap", "video", "xhtml", "media"];
/// The prefix of a relation's full name (RFC 4287 section 4.2.7.2).
const RELATIONS: &str = "http://www.iana.org/assignments/relation/";

/// The meaning of an element's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldName {
    /// The entry's URL.
    Url,
    /// Possibly its URL.
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
    let begins = |with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    (begins("http://") || begins("https://")) && !text.contains(char::is_whitespace)
}
