//! How much of a sitemap is read.

/// How much of a sitemap is read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SitemapLimits {
    /// Entries that are told; the others are counted. The protocol allows 50,000.
    pub max_urls: usize,
    /// Bytes of its text, gzip undone. The protocol allows 50 MiB.
    pub max_bytes: usize,
    /// Alternates in other languages or for other devices are entries as well.
    pub alternates: bool,
    /// The body did not come to its end, so that its last line may be a part of one.
    pub is_cut: bool,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self { max_urls: 50_000, max_bytes: 50 << 20, alternates: false, is_cut: false }
    }
}
