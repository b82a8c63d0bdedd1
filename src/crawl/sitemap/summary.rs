//! The result of reading a sitemap, and its problems.

use super::SitemapFormat;

/// The result of reading a sitemap, and its problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SitemapSummary {
    /// Its format.
    pub format: SitemapFormat,
    /// Entries that were passed on.
    pub told: u64,
    /// Entries beyond the limit, which were not passed on.
    pub beyond: u64,
    /// The number of problems.
    pub problems: u64,
    /// The first problem.
    pub problem: Option<SitemapProblem>,
}

impl SitemapSummary {
    /// The number of entries beyond the limit, in words; `None` if there are none.
    pub(crate) fn excess(&self, max_urls: usize) -> Option<String> {
        (self.beyond > 0).then(|| format!("{} URLs beyond sitemaps.max_urls = {max_urls}", self.beyond))
    }

    /// The first problem of any kind, in words.
    pub(crate) fn first_problem(&self, max_urls: usize) -> Option<String> {
        let is_empty = self.format == SitemapFormat::Unknown && self.problem.is_none();
        let problem = self.problem.as_ref().map(ToString::to_string);
        problem.or_else(|| is_empty.then(|| "it is empty".to_owned())).or_else(|| self.excess(max_urls))
    }
}

/// A problem of a sitemap. Everything readable was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {words}")]
#[non_exhaustive]
pub struct SitemapProblem {
    /// Where: bytes of its text as UTF-8, gzip undone.
    pub offset: u64,
    /// What.
    pub words: String,
}
