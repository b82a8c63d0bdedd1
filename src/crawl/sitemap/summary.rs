//! The result of reading a sitemap, with its format and its problems; the limits; and the sitemap that is being read.

use super::{SitemapEntry, SitemapEntryKind};

/// The result of reading a sitemap, and its problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SitemapSummary {
    /// Its format.
    pub format: SitemapFormat,
    /// Entries that were passed on.
    pub passed: u64,
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

/// A sitemap that is being read.
pub(super) struct Sitemap<'a> {
    pub(super) limits: &'a SitemapLimits,
    pub(super) is_cut: bool,
    pub(super) format: SitemapFormat,
    summary: SitemapSummary,
    take: &'a mut dyn FnMut(SitemapEntry),
}

impl<'a> Sitemap<'a> {
    /// A sitemap of unknown format. Passes its entries to `take`.
    pub(super) fn new(limits: &'a SitemapLimits, take: &'a mut dyn FnMut(SitemapEntry)) -> Self {
        let (format, summary) = (SitemapFormat::Unknown, SitemapSummary::default());
        Self { limits, is_cut: limits.is_cut, format, summary, take }
    }

    /// The summary of what was read.
    pub(super) fn summary(self) -> SitemapSummary {
        SitemapSummary { format: self.format, ..self.summary }
    }

    /// Passes an entry on, or counts it if it is beyond the limit.
    pub(super) fn pass(&mut self, entry: SitemapEntry) {
        if entry.kind == SitemapEntryKind::Alternate && !self.limits.alternates {
            return;
        }
        if self.summary.passed < self.limits.max_urls as u64 {
            self.summary.passed += 1;
            (self.take)(entry);
        } else {
            self.summary.beyond += 1;
        }
    }

    /// Notes a problem.
    pub(super) fn note(&mut self, offset: u64, words: &str) {
        self.summary.problems += 1;
        self.summary.problem.get_or_insert_with(|| SitemapProblem { offset, words: words.to_owned() });
    }
}
