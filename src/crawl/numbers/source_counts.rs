//! Where admitted URLs were found.

use serde::{Deserialize, Serialize};

use crate::crawl::records::PageRecord;
#[cfg(feature = "cluster")]
use crate::gate::Via;

/// URLs that were new and in scope, by where they were found first. Seeds, which are counted by themselves, are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct SourceCounts {
    /// Links of pages.
    pub links: u64,
    /// Where responses point to.
    pub redirects: u64,
    /// In sitemaps, or as sitemaps.
    pub sitemaps: u64,
    /// Items of feeds.
    pub feeds: u64,
}

impl SourceCounts {
    /// Counts the URLs admitted from a response.
    pub(super) fn record(&mut self, record: &PageRecord) {
        let is_feed = |format: &str| format == "rss" || format == "atom";
        let count = match (&record.redirect, &record.list) {
            (Some(_), _) => &mut self.redirects,
            (None, Some(list)) if is_feed(&list.format) => &mut self.feeds,
            (None, Some(_)) => &mut self.sitemaps,
            (None, None) => &mut self.links,
        };
        *count += record.links.admitted;
    }

    /// Counts one URL that another partition of the crawl has found.
    #[cfg(feature = "cluster")]
    pub(in crate::crawl) fn add(&mut self, via: Via) {
        match via {
            Via::Feed => self.feeds += 1,
            Via::Link => self.links += 1,
            Via::Listed | Via::Sitemap => self.sitemaps += 1,
            Via::Redirect => self.redirects += 1,
            Via::Seed => {}
        }
    }

    /// Adds the counts of another.
    pub(crate) fn merge(&mut self, other: Self) {
        self.links += other.links;
        self.redirects += other.redirects;
        self.sitemaps += other.sitemaps;
        self.feeds += other.feeds;
    }
}
