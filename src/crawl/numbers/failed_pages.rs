//! The first pages that failed, each with the page that links to it.

use serde::{Deserialize, Serialize};

use super::examples::cut;
use crate::crawl::records::PageRecord;

/// A page that failed: its record has an error, or a status of 400 or more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct FailedPage {
    /// Its wire URL; a long one is cut.
    pub url: String,
    /// The HTTP status; `null` where no whole answer came.
    pub status: Option<u16>,
    /// The error; `null` where an answer came.
    pub error: Option<String>,
    /// The wire URL of the page on which it was found first; `null` for a seed. A long one is cut.
    pub referrer: Option<String>,
}

/// The first ten pages that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailedPages(Vec<FailedPage>);

impl FailedPages {
    /// At most this many pages are listed.
    const MOST: usize = 10;

    /// Takes the record of a completed page. A page that failed before and has now succeeded is removed.
    pub(super) fn record(&mut self, record: &PageRecord) {
        let has_failed = record.has_failed();
        if has_failed && self.0.len() >= Self::MOST || !has_failed && self.0.is_empty() {
            return;
        }
        let url = cut(&record.url);
        self.0.retain(|page| page.url != url);
        if has_failed {
            let status = record.status.filter(|_| record.error.is_none());
            let referrer = record.referrer.as_deref().map(cut);
            self.0.push(FailedPage { url, status, error: record.error.clone(), referrer });
        }
    }

    /// Adds the pages of another list, as far as there is room.
    pub(super) fn merge(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
        self.0.truncate(Self::MOST);
    }

    /// The pages, in the order in which they failed.
    pub fn pages(&self) -> &[FailedPage] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ten_are_told_and_one_that_came_later_is_not() {
        let mut failed = FailedPages::default();
        let page = |number: u32, status| PageRecord {
            url: format!("http://a.test/{number}"),
            status: Some(status),
            referrer: Some("http://a.test/".to_owned()),
            ..PageRecord::default()
        };
        (0..30).for_each(|number| failed.record(&page(number, if number % 2 == 0 { 404 } else { 200 })));
        assert_eq!(failed.pages().len(), 10);
        failed.record(&page(4, 200));
        let urls: Vec<_> = failed.pages().iter().map(|page| &*page.url).collect();
        assert!(urls.len() == 9 && !urls.contains(&"http://a.test/4"), "{urls:?}");
        assert_eq!(failed.pages()[0].referrer.as_deref(), Some("http://a.test/"));
    }
}
