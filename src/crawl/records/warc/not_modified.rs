//! The record of an answer that has no body, because the page has not changed.

use super::record::WarcRecord;
use crate::crawl::records::PageRecord;

/// The profile of such a record (WARC 1.1 section 6.7.3).
const PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// The type of the record that an answer has.
pub(super) fn kind_of(page: &PageRecord) -> &'static str {
    if page.status == Some(304) { "revisit" } else { "response" }
}

/// Adds what a revisit says: its profile, and which response it stands for, where a page was compared with its last visit.
pub(super) fn revisited(record: WarcRecord, page: &PageRecord) -> WarcRecord {
    let record = record.with("WARC-Profile", PROFILE);
    let since = page.recrawl.as_ref().and_then(|recrawled| recrawled.since.as_deref());
    match since {
        Some(since) => record.with("WARC-Refers-To-Target-URI", &page.url).with("WARC-Refers-To-Date", since),
        None => record,
    }
}
