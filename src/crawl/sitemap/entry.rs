//! One URL that a sitemap or feed lists.

/// One URL that a sitemap or feed lists, with its details.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SitemapEntry {
    /// The URL as written, without surrounding white space: it may be relative, or lack its scheme.
    pub url: String,
    /// The bases given by `xml:base`, outermost element first: each is relative to the one before it, and the first to the file's own URL.
    /// Usually empty.
    pub bases: Vec<String>,
    /// What it leads to.
    pub kind: SitemapEntryKind,
    /// When it was last changed, as written.
    pub lastmod: Option<String>,
    /// From 0 to 1; `None` for other values.
    pub priority: Option<f32>,
    /// Where it begins in the file: bytes of its text as UTF-8, gzip undone.
    pub offset: u64,
}

/// What an entry leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SitemapEntryKind {
    /// The page in another language or for another device: `<xhtml:link rel="alternate">`.
    Alternate,
    /// A page listed as an item of a feed.
    Item,
    /// A page.
    #[default]
    Page,
    /// Another sitemap.
    Sitemap,
}

impl SitemapEntryKind {
    /// Its name in output: `page`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Alternate => "alternate",
            Self::Item => "item",
            Self::Page => "page",
            Self::Sitemap => "sitemap",
        }
    }
}
