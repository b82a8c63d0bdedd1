//! What a sitemap was, and what was wrong with it.

use super::SitemapFormat;

/// What a sitemap was, and what was wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SitemapSummary {
    /// Its format.
    pub format: SitemapFormat,
    /// Entries that were told.
    pub told: u64,
    /// Entries beyond the limit, which were not.
    pub beyond: u64,
    /// How many things were wrong with it.
    pub problems: u64,
    /// The first of them.
    pub problem: Option<SitemapProblem>,
}

/// Something that is wrong with a sitemap. What could be read of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {words}")]
#[non_exhaustive]
pub struct SitemapProblem {
    /// Where: bytes of its text as UTF-8, gzip undone.
    pub offset: u64,
    /// What.
    pub words: String,
}
