//! Results of requests, counted by status, by error, by class of status, and by the depth and type of their pages.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::crawl::counters::{Counter, counters};
use crate::crawl::records::PageRecord;

counters! {
    /// Requests of one kind, counted by their results: each is counted once, by the status of its complete answer or by its error.
    #[derive(Eq)]
    #[non_exhaustive]
    pub struct AnswerCounts {
        /// Whole answers, by HTTP status.
        pub statuses: BTreeMap<u16, u64>,
        /// Requests without a whole answer, and answers that could not be used, by the kind of error. Refusals by type or size are not included.
        pub errors: NameCounts,
    }
}

impl AnswerCounts {
    /// Counts a request by its record.
    pub(super) fn record(&mut self, record: &PageRecord) {
        match (&record.error, record.status) {
            (Some(_), _) if record.is_unwanted() => {}
            (Some(error), _) => self.errors.add(error, 1),
            (None, Some(status)) => *self.statuses.entry(status).or_default() += 1,
            (None, None) => self.errors.add("none", 1),
        }
    }

    /// The number of all requests.
    pub fn total(&self) -> u64 {
        self.statuses.values().sum::<u64>() + self.errors.total()
    }
}

/// Counts by names that servers choose. Keeps at most [`NameCounts::MOST`] names, and counts rare names together as `other`, which is the
/// name of no error and no media type.
///
/// When one more name arrives, the rarer half is merged into `other`. A merged name that comes back starts from zero. So a name's count is
/// a lower bound if there is an `other`. The sum is always exact. It reads like the map that it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct NameCounts(BTreeMap<String, u64>);

/// The name of the sum of all rare names.
const OTHER: &str = "other";

impl FromIterator<(String, u64)> for NameCounts {
    fn from_iter<I: IntoIterator<Item = (String, u64)>>(counts: I) -> Self {
        let mut all = Self::default();
        counts.into_iter().for_each(|(name, count)| all.add(&name, count));
        all
    }
}

impl Deref for NameCounts {
    type Target = BTreeMap<String, u64>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Counter for NameCounts {
    fn merge_with(&mut self, other: &Self) {
        self.0.merge_with(&other.0);
        while self.named() > Self::MOST {
            self.fold();
        }
    }
}

impl NameCounts {
    /// At most this many distinct names. With names of up to 128 bytes they take 40 KiB.
    pub const MOST: usize = 256;

    /// Adds `count` to a name.
    pub fn add(&mut self, name: &str, count: u64) {
        if let Some(counted) = self.0.get_mut(name) {
            *counted += count;
            return;
        }
        if self.named() == Self::MOST {
            self.fold();
        }
        self.0.insert(name.to_owned(), count);
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The count of a name.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Names and counts, most first, then by name. The sum of the rare names is not among them.
    pub fn most_first(&self) -> Vec<(&str, u64)> {
        let named = self.0.iter().filter(|(name, _)| *name != OTHER);
        let mut counts: Vec<_> = named.map(|(name, &count)| (&**name, count)).collect();
        counts.sort_by_key(|&(_, count)| Reverse(count));
        counts
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, count| count.saturating_add(sum))
    }

    fn named(&self) -> usize {
        self.0.len() - usize::from(self.0.contains_key(OTHER))
    }

    fn fold(&mut self) {
        let mut rarest: Vec<_> = self.most_first().into_iter().map(|(name, count)| (count, name.to_owned())).collect();
        rarest.sort_unstable();
        for (count, name) in rarest.drain(..Self::MOST / 2) {
            self.0.remove(&name);
            self.0.entry(OTHER.to_owned()).or_default().merge_with(&count);
        }
    }
}

counters! {
    /// What came back, by the class of its status (RFC 9110 section 15).
    #[derive(Copy, Eq)]
    #[non_exhaustive]
    pub struct StatusClasses {
        /// 2xx: the page.
        pub ok: u64,
        /// 3xx: it is elsewhere, or has not changed.
        pub redirects: u64,
        /// 4xx: there is no such page, or not for us.
        pub client_errors: u64,
        /// 5xx: the server failed.
        pub server_errors: u64,
        /// Other statuses, and requests without a whole response.
        pub failed: u64,
    }
}

counters! {
    /// Responses for pages, by depth and kind.
    #[derive(Eq)]
    #[non_exhaustive]
    pub struct Breakdown {
        /// Pages that are done, by the links from a seed; 16 stands for all that are deeper. Many errors at one depth come from one template that links to
        /// missing pages.
        pub by_depth: BTreeMap<u32, StatusClasses>,
        /// Pages that are done, by the kind of their content: `html`, `pdf`, `image` and so on; `other`, and `none` if no type was named.
        pub by_type: BTreeMap<String, StatusClasses>,
    }
}

/// Deeper pages count at this depth.
const DEEPEST: u32 = 16;

impl StatusClasses {
    fn of(record: &PageRecord) -> Self {
        let mut classes = Self::default();
        let class = match record.status.filter(|_| record.error.is_none() || record.is_unwanted()) {
            Some(200..300) => &mut classes.ok,
            Some(300..400) => &mut classes.redirects,
            Some(400..500) => &mut classes.client_errors,
            Some(500..600) => &mut classes.server_errors,
            _ => &mut classes.failed,
        };
        *class = 1;
        classes
    }
}

impl Breakdown {
    /// Counts a completed page by its record, and by the media type of the response.
    pub(super) fn record(&mut self, record: &PageRecord, media_type: &str) {
        let classes = StatusClasses::of(record);
        self.by_depth.entry(record.depth.min(DEEPEST)).or_default().merge_with(&classes);
        let kind = kind(media_type);
        match self.by_type.get_mut(kind) {
            Some(counted) => counted.merge_with(&classes),
            None => _ = self.by_type.insert(kind.to_owned(), classes),
        }
    }
}

/// The common name of a media type. The media type must be in lower case.
fn kind(media_type: &str) -> &'static str {
    match media_type {
        "missing" => "none",
        "text/html" | "application/xhtml+xml" => "html",
        "text/css" => "css",
        "application/pdf" => "pdf",
        _ if media_type.ends_with("javascript") => "script",
        _ if media_type.ends_with("/json") || media_type.ends_with("+json") => "json",
        _ if media_type.starts_with("image/") => "image",
        _ if media_type.ends_with("/xml") || media_type.ends_with("+xml") => "xml",
        _ if media_type.starts_with("text/") => "text",
        _ if media_type.starts_with("audio/") => "audio",
        _ if media_type.starts_with("video/") => "video",
        _ if media_type.starts_with("font/") => "font",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_common_ones_stay_exact() {
        let mut counts = NameCounts::default();
        for i in 0..10_000 {
            counts.add(&format!("x/{i}"), 1);
            counts.add(if i % 4 == 0 { "image/png" } else { "text/html" }, 1);
        }
        assert!(counts.named() <= NameCounts::MOST);
        assert_eq!(counts.most_first()[..2], [("text/html", 7_500), ("image/png", 2_500)]);
        assert_eq!(counts.total(), 20_000);
    }

    #[test]
    fn merging_loses_no_count() {
        let halves = [0, 1].map(|half| {
            let mut counts = NameCounts::default();
            (0..1_000).for_each(|i| counts.add(&format!("{half}/{i}"), i));
            counts.add("both", 1_000_000);
            counts
        });
        let [mut merged, right] = halves;
        merged.merge_with(&right);
        assert_eq!(merged.total(), 2 * (999 * 500 + 1_000_000));
        assert_eq!(merged.most_first()[0], ("both", 2_000_000));
        assert!(merged.named() <= NameCounts::MOST);
    }

    #[test]
    fn each_request_counts_once_by_its_depth_and_once_by_its_type() {
        let (mut left, mut right, mut both) = (Breakdown::default(), Breakdown::default(), Breakdown::default());
        let requests = [
            (0, Some(200), "text/html"),
            (3, Some(301), "text/html"),
            (16, Some(404), "image/svg+xml"),
            (99, Some(503), "application/ld+json"),
            (99, None, "missing"),
            (1, Some(101), "x/y"),
        ];
        for (number, (depth, status, media_type)) in requests.into_iter().enumerate() {
            let record = PageRecord { status, depth, ..PageRecord::default() };
            for breakdown in [if number % 2 == 0 { &mut left } else { &mut right }, &mut both] {
                breakdown.record(&record, media_type);
            }
        }
        left.merge_with(&right);
        assert_eq!(left, both);
        let classes = |ok, redirects, client_errors, server_errors, failed| StatusClasses {
            ok,
            redirects,
            client_errors,
            server_errors,
            failed,
        };
        let by_depth = [
            (0, classes(1, 0, 0, 0, 0)),
            (1, classes(0, 0, 0, 0, 1)),
            (3, classes(0, 1, 0, 0, 0)),
            (16, classes(0, 0, 1, 1, 1)),
        ];
        assert_eq!(both.by_depth, BTreeMap::from(by_depth));
        let kinds: Vec<&str> = both.by_type.keys().map(String::as_str).collect();
        assert_eq!(kinds, ["html", "image", "json", "none", "other"]);
        // A body that broke off is not a page.
        let broken = PageRecord { status: Some(200), error: Some("incomplete".to_owned()), ..PageRecord::default() };
        assert_eq!(StatusClasses::of(&broken).failed, 1);
    }
}
