//! What an output of a crawl beside its page records is: some bytes for each page that is done.

use std::fmt::Debug;

use super::page_record::PageRecord;
use crate::crawl::http::Exchange;

/// One more output of a job beside `pages.jsonl`: a file of its own, to which each page that is done adds some bytes.
///
/// The crawl owns the file. It appends, in the order in which pages are done; it says in each page's record
/// [where its bytes stand](PageRecord::outputs); and when it goes on after a crash, it cuts off what no record speaks of. A page is
/// done only where its record and all its bytes are: so each page is in each output exactly once, whatever kills the crawl.
pub trait Sink: Debug + Send + Sync + 'static {
    /// The file's name in the job's directory, the same in each run: `pages.warc`.
    fn name(&self) -> &str;

    /// Whether it wants responses as they came. Where no output does, they are not kept.
    fn needs_exchange(&self) -> bool {
        false
    }

    /// Appends to `to` what the file gets for one page, or nothing. What became of the page's links is not in `record` yet, and
    /// there is no `exchange` of a page that got no response.
    ///
    /// Many tasks call it at once. It runs on a thread that other pages wait for, so it must not block. A page on which it
    /// panics is tried again.
    fn write(&self, record: &PageRecord, exchange: Option<&Exchange>, to: &mut Vec<u8>);
}
