//! A further output of a crawl: some bytes for each page that is done.

use std::fmt::Debug;

use super::page_record::PageRecord;
use crate::crawl::http::Exchange;

/// An output of a job beside `pages.jsonl`: a file of its own, to which each page that is done adds some bytes.
///
/// The crawl owns the file. It appends in the order in which pages are done, and says in each page's record
/// [where its bytes are](PageRecord::outputs). After a crash it cuts off what belongs to no page that is done. A page is done only if
/// its record and all its bytes are there, so each page is in each output exactly once, whatever kills the crawl.
pub trait Sink: Debug + Send + Sync + 'static {
    /// The file's name in the job's directory, the same in each run: `pages.warc`.
    fn name(&self) -> &str;

    /// Whether it wants responses as they came. They are not kept where no output does.
    fn needs_exchange(&self) -> bool {
        false
    }

    /// Appends to `to` what a page adds to the file, if anything. `record` does not say yet what became of the page's links. A page
    /// without a response has no `exchange`.
    ///
    /// Many tasks call it at once. It must not block, because other pages wait for its thread. If it panics, the page is tried again.
    fn write(&self, record: &PageRecord, exchange: Option<&Exchange>, to: &mut Vec<u8>);
}
