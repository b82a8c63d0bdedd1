//! One URL that a sitemap or feed lists.

/// One URL that a sitemap or feed lists, with what it says of it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SitemapEntry {
    /// The URL as it is written, without the white space around it: it may be relative, or lack its scheme.
    pub url: String,
    /// What `xml:base` says it is relative to, from the outermost element in: each is relative to the one before it, and the first to the
    /// file's own URL. Mostly there is none.
    pub bases: Vec<String>,
    /// What it leads to.
    pub kind: SitemapEntryKind,
    /// When it was last changed, as it is written.
    pub lastmod: Option<String>,
    /// From 0 to 1; other values are left out.
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
    /// A page that a feed has as an item.
    Item,
    /// A page.
    #[default]
    Page,
    /// A further sitemap.
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
