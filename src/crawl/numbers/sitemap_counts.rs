//! Counts of sitemaps and feeds.

use serde::{Deserialize, Serialize};

use crate::crawl::records::{PageRecord, RecordKind};

/// Sitemaps and feeds, and what they list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct SitemapCounts {
    /// Records of URLs that were asked for as sitemaps.
    pub records: u64,
    /// Sitemaps that were read, those that were found as pages too.
    pub read: u64,
    /// Feeds that were read.
    pub feeds: u64,
    /// URLs that both list.
    pub listed: u64,
    /// Sitemaps and feeds with something wrong: they break off, are too long, or are no valid XML.
    pub faulty: u64,
    /// Files that are none, though a robots.txt or a sitemap names them as sitemaps.
    pub unknown: u64,
    /// Hosts whose robots.txt names none, and that have none.
    pub missing: u64,
}

impl SitemapCounts {
    /// Counts a completed record.
    pub(super) fn record(&mut self, record: &PageRecord) {
        let is_sitemap = record.kind == RecordKind::Sitemap;
        self.records += u64::from(is_sitemap);
        let Some(list) = &record.list else {
            self.unknown += u64::from(is_sitemap && record.redirect.is_none());
            return;
        };
        self.listed += list.urls + list.sitemaps;
        *match list.format.as_str() {
            "unknown" => &mut self.unknown,
            "rss" | "atom" => &mut self.feeds,
            _ => &mut self.read,
        } += 1;
        self.faulty += u64::from(list.problems > 0 && list.format != "unknown");
    }

    /// Adds the counts of another.
    pub(crate) fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.read += other.read;
        self.feeds += other.feeds;
        self.listed += other.listed;
        self.faulty += other.faulty;
        self.unknown += other.unknown;
        self.missing += other.missing;
    }
}
