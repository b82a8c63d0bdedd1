//! Counts of responses by status class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::crawl::records::PageRecord;

/// What came back, by the class of its status (RFC 9110 section 15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct StatusClasses {
    /// 2xx: the page.
    pub ok: u64,
    /// 3xx: it is elsewhere, or has not changed.
    pub redirects: u64,
    /// 4xx: there is none, or none for us.
    pub client_errors: u64,
    /// 5xx: the server could not.
    pub server_errors: u64,
    /// Other statuses, and none at all: no response, or not a whole one.
    pub failed: u64,
}

/// What came back for pages, by how deep they are and of what kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Breakdown {
    /// Pages that are done, by the links from a seed; 16 stands for all that are deeper. Many errors at one depth are pages of one make that link to
    /// what is not there.
    pub by_depth: BTreeMap<u32, StatusClasses>,
    /// Pages that are done, by the kind of what came: `html`, `pdf`, `image` and so on; `other`, and `none` where no type was named.
    pub by_type: BTreeMap<String, StatusClasses>,
}

/// Deeper pages count at this depth.
const DEEPEST: u32 = 16;

impl StatusClasses {
    fn add(&mut self, other: Self) {
        self.ok += other.ok;
        self.redirects += other.redirects;
        self.client_errors += other.client_errors;
        self.server_errors += other.server_errors;
        self.failed += other.failed;
    }

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
        self.by_depth.entry(record.depth.min(DEEPEST)).or_default().add(classes);
        let kind = kind(media_type);
        match self.by_type.get_mut(kind) {
            Some(counted) => counted.add(classes),
            None => _ = self.by_type.insert(kind.to_owned(), classes),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (depth, classes) in &other.by_depth {
            self.by_depth.entry(*depth).or_default().add(*classes);
        }
        for (kind, classes) in &other.by_type {
            self.by_type.entry(kind.clone()).or_default().add(*classes);
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
        left.merge(&right);
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
