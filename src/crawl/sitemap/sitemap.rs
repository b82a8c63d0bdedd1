//! A sitemap that is being read.

use super::{SitemapEntry, SitemapEntryKind, SitemapFormat, SitemapLimits, SitemapProblem, SitemapSummary};

/// A sitemap that is being read.
pub(super) struct Sitemap<'a> {
    pub(super) limits: &'a SitemapLimits,
    pub(super) is_cut: bool,
    pub(super) format: SitemapFormat,
    summary: SitemapSummary,
    tell: &'a mut dyn FnMut(SitemapEntry),
}

impl<'a> Sitemap<'a> {
    /// A sitemap of unknown format. Passes its entries to `tell`.
    pub(super) fn new(limits: &'a SitemapLimits, tell: &'a mut dyn FnMut(SitemapEntry)) -> Self {
        let (format, summary) = (SitemapFormat::Unknown, SitemapSummary::default());
        Self { limits, is_cut: limits.is_cut, format, summary, tell }
    }

    /// The summary of what was read.
    pub(super) fn summary(self) -> SitemapSummary {
        SitemapSummary { format: self.format, ..self.summary }
    }

    /// Passes an entry on, or counts it if it is beyond the limit.
    pub(super) fn tell(&mut self, entry: SitemapEntry) {
        if entry.kind == SitemapEntryKind::Alternate && !self.limits.alternates {
            return;
        }
        if self.summary.told < self.limits.max_urls as u64 {
            self.summary.told += 1;
            (self.tell)(entry);
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
