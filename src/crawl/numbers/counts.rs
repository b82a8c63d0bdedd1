//! Small counters: what became of URLs, where URLs were found, sitemaps and feeds, changed pages, duplicates, seeds, and waiting times.

use super::answers::NameCounts;
use super::failures::{origin, refusal};
use crate::crawl::counters::counters;
use crate::crawl::latencies::Latencies;
use crate::crawl::records::{Duplicate, PageChange, PageRecord, RecordKind};
use crate::driver::Waited;
#[cfg(feature = "cluster")]
use crate::gate::Via;

counters! {
    /// What became of the URLs. Each is counted once, by its last try.
    #[derive(Eq)]
    #[non_exhaustive]
    pub struct UrlCounts {
        /// Fetched, whatever the status: records without an error.
        pub fetched: u64,
        /// Tried without getting a whole response: records with an error other than those of `unwanted`.
        pub failed: u64,
        /// Refused once their heads had come: by `fetch.types`, `fetch.max_bytes` and `politeness.purpose`.
        pub unwanted: u64,
        /// Given up because their hosts could not be reached, by the kind of error. A resume fetches them.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub unreachable: NameCounts,
    }
}

impl UrlCounts {
    /// Records, without those of URLs that were given up.
    pub fn records(&self) -> u64 {
        self.fetched + self.failed + self.unwanted
    }
}

counters! {
    /// URLs that were new and in scope, by where they were found first. Seeds, which are counted by themselves, are not among them.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct SourceCounts {
        /// Links of pages.
        pub links: u64,
        /// Targets of redirects.
        pub redirects: u64,
        /// In sitemaps, or as sitemaps.
        pub sitemaps: u64,
        /// Items of feeds.
        pub feeds: u64,
    }
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
}

counters! {
    /// Sitemaps and feeds, and what they list.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct SitemapCounts {
        /// Records of URLs that were asked for as sitemaps.
        pub records: u64,
        /// Sitemaps that were read, including those that were found as pages.
        pub read: u64,
        /// Feeds that were read.
        pub feeds: u64,
        /// URLs that both list.
        pub listed: u64,
        /// Sitemaps and feeds with a fault: they break off, are too long, or are not valid XML.
        pub faulty: u64,
        /// Files that a robots.txt or a sitemap names as sitemaps, but that are not.
        pub unknown: u64,
        /// Hosts without a sitemap: their robots.txt names none, and there is none at the usual place.
        pub missing: u64,
    }
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
}

counters! {
    /// Requests that were answered and had a signature of the crawl's identity, robots.txt and sitemaps included.
    #[derive(Eq)]
    #[non_exhaustive]
    pub struct SignedCounts {
        /// The requests.
        pub requests: u64,
        /// How many of them were refused all the same: with 401, 403, 407, 429, 451 or a challenge.
        pub refused: u64,
        /// The refusals by host; the rarest hosts are counted together.
        pub refused_by: NameCounts,
    }
}

impl SignedCounts {
    /// Counts an answer.
    pub(super) fn record(&mut self, record: &PageRecord) {
        if !record.signed {
            return;
        }
        self.requests += 1;
        if refusal(record).is_some() {
            self.refused += 1;
            self.refused_by.add(origin(&record.key), 1);
        }
    }
}

counters! {
    /// How pages have changed since their last visit. All but `not_modified` count only pages that are done.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct RecrawlCounts {
        /// Pages that were not known.
        pub new: u64,
        /// Pages with another body.
        pub changed: u64,
        /// Pages with the same body, 304s among them.
        pub unchanged: u64,
        /// Pages that are a 404 or 410 now.
        pub gone: u64,
        /// Known pages that could not be compared: no whole response, or a status that says nothing about the page.
        pub failed: u64,
        /// Answers with a 304, which have no body.
        pub not_modified: u64,
    }
}

impl RecrawlCounts {
    /// Counts a completed record.
    pub(super) fn record(&mut self, record: &PageRecord) {
        let Some(recrawled) = &record.recrawl else { return };
        self.not_modified += u64::from(record.status == Some(304) && record.error.is_none());
        *match recrawled.change {
            PageChange::Changed => &mut self.changed,
            PageChange::Failed => &mut self.failed,
            PageChange::Gone => &mut self.gone,
            PageChange::New => &mut self.new,
            PageChange::Unchanged => &mut self.unchanged,
        } += 1;
    }

    /// Visits of known pages.
    pub fn met(&self) -> u64 {
        self.changed + self.unchanged + self.gone + self.failed
    }
}

counters! {
    /// Pages that repeat an earlier page.
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct DuplicateCounts {
        /// Pages with the same body as another page.
        pub same: u64,
        /// Pages with the same words as another page, apart from numbers.
        pub near: u64,
    }
}

impl DuplicateCounts {
    /// Counts a completed page by its record.
    pub(super) fn record(&mut self, record: &PageRecord) {
        match record.duplicate {
            Some(Duplicate::Same) => self.same += 1,
            Some(Duplicate::Near) => self.near += 1,
            None => {}
        }
    }
}

counters! {
    /// The seeds that the user gave.
    #[derive(Copy, Eq)]
    pub struct SeedCounts {
        /// Seeds that were queued.
        pub taken: u64,
        /// Lines that are not URLs, and URLs that were refused or given twice.
        pub refused: u64,
    }
}

counters! {
    /// How long URLs and hosts waited before a request: a sample, if there are many. Waits across a restart are not included.
    #[non_exhaustive]
    pub struct WaitTimes {
        /// URLs in the queue, from their admission on, in one run.
        pub queued: Latencies,
        /// Hosts with URLs, for the end of their rest: what politeness cost.
        pub rested: Latencies,
        /// Hosts whose rest was over, for their turn: for a place among the fetches under way, for their group or address, or for the rate
        /// of the crawl. If this is long, the machine or its limits are slow, not the hosts.
        pub due: Latencies,
    }
}

impl WaitTimes {
    pub(in crate::crawl) fn record(&mut self, waited: Waited) {
        let Waited { queued, rested, due } = waited;
        for (times, time) in [(&mut self.queued, queued), (&mut self.rested, rested), (&mut self.due, due)] {
            if let Some(time) = time {
                times.record(time);
            }
        }
    }
}
