//! [`Tally`], a crawl's counters, and the traffic of each kind of request.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::answers::{AnswerCounts, Breakdown, NameCounts};
use super::counts::{DuplicateCounts, RecrawlCounts, SignedCounts, SitemapCounts, SourceCounts, UrlCounts, WaitTimes};
use super::failures::{Examples, FailedPages, HostAnswers, merge_examples, record_example};
use crate::crawl::counters::{Counter, counters};
use crate::crawl::http::ConnectionTimes;
use crate::crawl::latencies::Latencies;
use crate::crawl::media_types::essence;
use crate::crawl::records::{LinkCounts, PageRecord};

counters! {
    /// A crawl's counters. They take two or three hundred KiB, whatever servers answer: every map with keys from the web is bounded.
    #[non_exhaustive]
    pub struct Tally {
        /// Requests for pages and sitemaps, and their responses.
        pub pages: Traffic,
        /// Requests for robots.txt, and their responses.
        pub robots: Traffic,
        /// What became of the URLs.
        #[serde(flatten)]
        pub urls: UrlCounts,
        /// The final results of URLs: the complete answers of `fetched`, and the errors of `failed`.
        pub done: AnswerCounts,
        /// Requests for pages and sitemaps whose URL was then scheduled to be tried again.
        pub asked_again: AnswerCounts,
        /// Requests for guessed sitemaps that do not exist: they have no record.
        pub guesses: AnswerCounts,
        /// The first pages that failed.
        pub failed_pages: FailedPages,
        /// Hosts' answers to requests for pages: they show which hosts refuse us.
        pub answers: HostAnswers,
        /// Answers that were challenges, by the front end that sent them.
        pub challenges: NameCounts,
        /// Pages, by the uses that their sites prefer or deny.
        pub preferences: NameCounts,
        /// Signed requests.
        pub signed: SignedCounts,
        /// What became of the links on all pages.
        pub links: LinkCounts,
        /// Where admitted URLs were found.
        pub sources: SourceCounts,
        /// Sitemaps and feeds.
        pub sitemaps: SitemapCounts,
        /// Pages that repeat another page.
        pub duplicates: DuplicateCounts,
        /// Pages, by how they have changed since their last visit.
        pub recrawl: RecrawlCounts,
        /// Completed pages and sitemaps, by depth and type.
        pub breakdown: Breakdown,
        /// How long connecting to servers took.
        pub connections: ConnectionTimes,
        /// How long URLs and hosts waited.
        pub waits: WaitTimes,
        /// Links refused because a budget was spent, by the kind of budget.
        pub refused_shapes: NameCounts,
        /// Bytes of the keys of all records.
        pub key_bytes: u64,
    }
}

counters! {
    /// Requests of one kind, and what came back.
    #[non_exhaustive]
    pub struct Traffic {
        /// Requests. Retries count, and so do requests that reached no server.
        pub requests: u64,
        /// Requests after which the URL was to be tried again. Many retries mean trouble with the network or with hosts: see `errors`.
        pub retries: u64,
        /// Responses that pointed elsewhere.
        pub redirects: u64,
        /// Bodies cut at `fetch.max_body_bytes`.
        pub truncated: u64,
        /// Responses that were not framed as RFC 9112 requires, or not in the coding that they name, and were read as browsers read them.
        pub lenient: u64,
        /// Bytes of bodies on the wire.
        pub wire_bytes: u64,
        /// Bytes of bodies, decoded.
        pub decoded_bytes: u64,
        /// Responses by HTTP status: three digits, so at most a thousand.
        pub statuses: BTreeMap<u16, u64>,
        /// Requests without a whole response, by the kind of error.
        pub errors: NameCounts,
        /// Responses refused by type or size, or for the purpose of the crawl: `unwanted_type`, `too_large` and `preference`.
        #[serde(skip_serializing_if = "NameCounts::is_empty")]
        pub unwanted: NameCounts,
        /// The first requests without a whole response, by the kind of error: three of each.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        pub examples: Examples => merge_examples,
        /// Responses by media type. `missing` and `invalid` are not types. If there are too many types, `other` is the sum of the rare
        /// ones, and the count of a type is a lower bound.
        pub content_types: NameCounts,
        /// From the request sent to the response's head.
        pub first_byte: Latencies,
        /// From the request sent to the end of a whole body.
        pub whole: Latencies,
    }
}

impl Tally {
    /// Counts one request for a page by its record, or a URL that was given up without a request. The page is done, or will be tried again
    /// and its record is not written.
    pub fn record_page(&mut self, is_done: bool, record: &PageRecord) {
        if record.given_up {
            self.urls.unreachable.add(record.error.as_deref().unwrap_or_default(), 1);
            return;
        }
        self.record_request(is_done, record);
        self.answers.record(record);
        if is_done {
            self.done.record(record);
            self.failed_pages.record(record);
            self.breakdown.record(record, &type_of(record));
            self.key_bytes += record.key.len() as u64;
            self.sitemaps.record(record);
            self.duplicates.record(record);
            self.recrawl.record(record);
            for said in record.preferences.iter().flat_map(|preferences| preferences.split(", ")) {
                self.preferences.add(said, 1);
            }
            let count = match &record.error {
                None => &mut self.urls.fetched,
                Some(_) if record.is_unwanted() => &mut self.urls.unwanted,
                Some(_) => &mut self.urls.failed,
            };
            *count += 1;
        } else {
            self.asked_again.record(record);
        }
    }

    /// Counts a request for a robots.txt. The sitemaps that it names count as found URLs.
    pub(in crate::crawl) fn record_robots(&mut self, is_done: bool, record: &PageRecord) {
        self.robots.record(is_done, record);
        self.record_refusal(record);
        self.sources.sitemaps += record.links.admitted;
    }

    /// Counts a request for a guessed sitemap that does not exist: it has no record.
    pub(in crate::crawl) fn record_guess(&mut self, record: &PageRecord) {
        self.record_request(true, record);
        self.guesses.record(record);
        self.sitemaps.missing += u64::from(record.redirect.is_none());
    }

    fn record_request(&mut self, is_done: bool, record: &PageRecord) {
        self.pages.record(is_done, record);
        self.record_refusal(record);
        self.links.merge_with(&record.links);
        self.sources.record(record);
    }

    fn record_refusal(&mut self, record: &PageRecord) {
        self.signed.record(record);
        if let Some(by) = &record.challenge {
            self.challenges.add(by, 1);
        }
    }

    /// The number of records, without those of URLs that were given up.
    pub fn records(&self) -> u64 {
        self.urls.records()
    }

    /// The number of page records, without those of sitemaps.
    pub(crate) fn page_records(&self) -> u64 {
        self.records().saturating_sub(self.sitemaps.records)
    }

    /// Whether this record, already counted, is the first failure of its kind.
    pub(in crate::crawl) fn is_first_failure(&self, record: &PageRecord) -> bool {
        let of = |error: &str| self.pages.errors.of(error) + self.robots.errors.of(error);
        record.error.as_deref().is_some_and(|error| of(error) == 1) && !record.given_up
    }
}

impl Traffic {
    /// Counts one request by its record.
    pub fn record(&mut self, is_done: bool, record: &PageRecord) {
        self.requests += 1;
        self.retries += u64::from(!is_done);
        self.redirects += u64::from(record.redirect.is_some());
        self.truncated += u64::from(record.truncated);
        self.lenient += u64::from(record.lenient);
        self.wire_bytes += record.wire_bytes;
        self.decoded_bytes += record.bytes;
        if let Some(status) = record.status {
            *self.statuses.entry(status).or_default() += 1;
            self.content_types.add(&type_of(record), 1);
            self.first_byte.record(Duration::from_micros(record.timings.first_byte_us));
        }
        match &record.error {
            Some(error) if record.is_unwanted() => self.unwanted.add(error, 1),
            Some(error) => {
                self.errors.add(error, 1);
                record_example(&mut self.examples, record);
            }
            None => self.whole.record(Duration::from_micros(record.timings.total_us)),
        }
    }
}

fn type_of(record: &PageRecord) -> Cow<'_, str> {
    media_type(record.content_type.as_deref())
}

/// The media type of a Content-Type header, by the grammar of names in RFC 6838 section 4.2.
fn media_type(header: Option<&str>) -> Cow<'_, str> {
    if header.is_none() {
        return "missing".into();
    }
    let essence = essence(header);
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    match essence.split_once('/') {
        Some((kind, name)) if essence.len() <= 128 && is_name(kind) && is_name(name) => {
            if essence.bytes().any(|byte| byte.is_ascii_uppercase()) {
                essence.to_ascii_lowercase().into()
            } else {
                essence.into()
            }
        }
        _ => "invalid".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::Timings;

    fn page(status: u16, content_type: &str) -> PageRecord {
        PageRecord {
            status: Some(status),
            content_type: Some(content_type.to_owned()),
            bytes: 1000,
            wire_bytes: 300,
            timings: Timings { first_byte_us: 12_000, total_us: 20_000 },
            links: LinkCounts { found: 7, admitted: 2, seen: 4, refused: 1, userinfo: 3, sent: 5 },
            ..PageRecord::default()
        }
    }

    fn timeout() -> PageRecord {
        PageRecord { error: Some("timeout".to_owned()), ..PageRecord::default() }
    }

    #[test]
    fn each_request_is_counted_once() {
        let mut tally = Tally::default();
        tally.robots.record(true, &page(404, "text/plain"));
        tally.record_page(true, &page(200, "Text/HTML; charset=utf-8"));
        tally.record_page(false, &timeout());
        tally.record_page(true, &timeout());
        let moved = PageRecord { redirect: Some("https://example.org/".to_owned()), ..page(301, "text/html") };
        tally.record_page(true, &moved);

        assert_eq!((tally.robots.requests, tally.pages.requests), (1, 4));
        assert_eq!((tally.urls.fetched, tally.urls.failed), (2, 1));
        assert_eq!((tally.pages.retries, tally.pages.redirects), (1, 1));
        assert_eq!(tally.pages.statuses, BTreeMap::from([(200, 1), (301, 1)]));
        assert_eq!(tally.pages.errors.most_first(), [("timeout", 2)]);
        assert_eq!(tally.pages.content_types.most_first(), [("text/html", 2)]);
        assert_eq!((tally.pages.wire_bytes, tally.pages.decoded_bytes), (600, 2000));
        assert_eq!((tally.pages.first_byte.count(), tally.pages.whole.count()), (2, 2));
        assert_eq!(tally.links, LinkCounts { found: 14, admitted: 4, seen: 8, refused: 2, userinfo: 6, sent: 10 });
    }

    #[test]
    fn a_page_that_will_be_asked_again_is_not_fetched_yet() {
        let mut tally = Tally::default();
        let busy = PageRecord { content_type: None, links: LinkCounts::default(), ..page(503, "") };
        tally.record_page(false, &busy);
        assert_eq!((tally.urls.fetched, tally.urls.failed, tally.pages.retries), (0, 0, 1));
        assert_eq!(tally.pages.content_types.most_first(), [("missing", 1)]);
    }

    #[test]
    fn a_body_that_broke_off_has_a_status_and_an_error() {
        let mut tally = Tally::default();
        let broken = PageRecord { error: Some("incomplete".to_owned()), truncated: true, ..page(200, "text/html") };
        tally.record_page(true, &broken);
        assert_eq!((tally.pages.first_byte.count(), tally.pages.whole.count()), (1, 0));
        assert_eq!((tally.urls.fetched, tally.urls.failed, tally.pages.truncated), (0, 1, 1));
        assert_eq!(tally.pages.statuses, BTreeMap::from([(200, 1)]));
    }

    #[test]
    fn merged_tallies_are_one_tally() {
        let (mut left, mut right, mut both) = (Tally::default(), Tally::default(), Tally::default());
        for i in 0..1000_u16 {
            let mut record =
                if i % 5 == 0 { timeout() } else { page(200 + i % 7, ["a/b", "c/d", "e/f"][usize::from(i % 3)]) };
            record.timings.total_us = u64::from(i) * 3700;
            for tally in [if i % 2 == 0 { &mut left } else { &mut right }, &mut both] {
                if i % 11 == 0 { tally.robots.record(true, &record) } else { tally.record_page(true, &record) }
            }
        }
        left.merge_with(&right);
        assert_eq!(left, both);
    }

    #[test]
    fn media_types_are_counted_by_name_or_as_invalid() {
        for (header, expected) in [
            ("text/html", "text/html"),
            ("  Application/XHTML+XML ;charset=x", "application/xhtml+xml"),
            ("text/html, text/html", "text/html"),
            ("text/html (utf-8)", "text/html"),
            ("", "invalid"),
            ("text", "invalid"),
            ("text/", "invalid"),
            ("text/ht ml", "invalid"),
            ("text/\u{1b}[31m", "invalid"),
            ("a/b/c", "invalid"),
        ] {
            assert_eq!(media_type(Some(header)), expected, "{header:?}");
        }
        assert_eq!(media_type(None), "missing");
        assert_eq!(media_type(Some(&format!("a/{}", "b".repeat(200)))), "invalid");
    }
}
