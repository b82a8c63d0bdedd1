//! How much of a sitemap is read.

/// How much of a sitemap is read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SitemapLimits {
    /// At most this many entries are passed on; the others are counted. The protocol allows 50,000.
    pub max_urls: usize,
    /// At most this many bytes of text, after gzip is undone. The protocol allows 50 MiB.
    pub max_bytes: usize,
    /// Alternates in other languages or for other devices are entries too.
    pub alternates: bool,
    /// The body did not reach its end, so its last line may be incomplete.
    pub is_cut: bool,
}

impl Default for SitemapLimits {
    fn default() -> Self {
        Self { max_urls: 50_000, max_bytes: 50 << 20, alternates: false, is_cut: false }
    }
}
