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

impl SitemapSummary {
    /// How many entries there are beyond the limit, in words; `None` where there are none.
    pub(crate) fn excess(&self, max_urls: usize) -> Option<String> {
        (self.beyond > 0).then(|| format!("{} URLs beyond sitemaps.max_urls = {max_urls}", self.beyond))
    }

    /// The first thing that is wrong, in words, whatever it is.
    pub(crate) fn first_problem(&self, max_urls: usize) -> Option<String> {
        let is_empty = self.format == SitemapFormat::Unknown && self.problem.is_none();
        let problem = self.problem.as_ref().map(ToString::to_string);
        problem.or_else(|| is_empty.then(|| "it is empty".to_owned())).or_else(|| self.excess(max_urls))
    }
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
