//! The record of a response that repeats an earlier one: the page has not changed, or another one has the same payload.

use super::record::WarcRecord;
use crate::crawl::records::{PageRecord, RevisitOf};

/// The type of a revisit record.
pub(super) const REVISIT: &str = "revisit";
/// The profile of a 304's record (WARC 1.1 section 6.7.3).
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
/// The profile of a record whose payload was there before (WARC 1.1 section 6.7.2).
const IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The record type for a response.
pub(super) fn kind_of(page: &PageRecord) -> &'static str {
    if page.status == Some(304) || page.revisit_of.is_some() { REVISIT } else { "response" }
}

/// Adds a revisit's fields: its profile, and the response that it stands for. For a 304, that response is known only if the page was
/// compared with its last visit. `id` gives the record id of a response in this archive.
pub(super) fn revisited(record: WarcRecord, page: &PageRecord, id: impl Fn(&RevisitOf) -> String) -> WarcRecord {
    let refers = |record: WarcRecord, url: &str, date: &str| {
        record.with("WARC-Refers-To-Target-URI", url).with("WARC-Refers-To-Date", date)
    };
    if let Some(of) = &page.revisit_of {
        let record = record.with("WARC-Profile", IDENTICAL).with("WARC-Refers-To", &id(of));
        return refers(record, &of.url, &of.fetched_at);
    }
    let record = record.with("WARC-Profile", NOT_MODIFIED);
    match page.recrawl.as_ref().and_then(|recrawled| recrawled.since.as_deref()) {
        Some(since) => refers(record, &page.url, since),
        None => record,
    }
}
