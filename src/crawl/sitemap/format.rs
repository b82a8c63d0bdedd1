//! The formats of sitemaps.

/// The format of a sitemap, from its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SitemapFormat {
    /// An Atom feed.
    Atom,
    /// A list of sitemaps.
    Index,
    /// An RSS feed of any version.
    Rss,
    /// A URL a line.
    Text,
    /// None of these, such as an error page.
    #[default]
    Unknown,
    /// A list of pages.
    UrlSet,
}

impl SitemapFormat {
    /// Its name in records: `urlset`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Atom => "atom",
            Self::Index => "index",
            Self::Rss => "rss",
            Self::Text => "text",
            Self::Unknown => "unknown",
            Self::UrlSet => "urlset",
        }
    }
}
