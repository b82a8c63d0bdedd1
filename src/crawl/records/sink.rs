//! Another output of a crawl: some bytes for each page that is done.

use std::fmt::Debug;

use super::done_page::DonePage;
use super::page_record::PageRecord;
use crate::crawl::http::Exchange;

/// An output of a job beside `pages.jsonl`: a file, or a series of files, to which each page that is done adds some bytes.
///
/// The crawl owns the files. It appends in the order in which pages are done, and says in each page's record [where its bytes
/// are](PageRecord::outputs). After a crash it cuts off bytes that belong to no page that is done. A page is done only if its record and
/// all its bytes are there, so each page is in each output exactly once, whatever kills the crawl.
pub trait Sink: Debug + Send + Sync + 'static {
    /// The file's name in the job's directory, the same in each run: `links.jsonl`. In a series, each file's name adds the position in the
    /// output where the file begins: `pages-000001073700112.warc.gz` is a file of `pages.warc.gz`.
    fn name(&self) -> &str;

    /// Whether it wants responses as they came. They are kept only if an output does.
    fn needs_exchange(&self) -> bool {
        false
    }

    /// Whether it wants the links of pages. They are kept only if an output does.
    fn needs_links(&self) -> bool {
        false
    }

    /// Whether it also wants responses that have no page record: a host's robots.txt, a redirect to another spelling of the same key. What
    /// they add goes before what the next page adds. It is written at most once: a kill may take it, and so may the end of a crawl if no
    /// page follows.
    fn wants_others(&self) -> bool {
        false
    }

    /// Whether it keeps what a later crawl needs to ask if pages have changed, as [`Visits`](crate::crawl::Visits) does.
    fn keeps_visits(&self) -> bool {
        false
    }

    /// Whether it wants to [`remember`](Self::remember) pages, including those of earlier runs.
    fn remembers(&self) -> bool {
        false
    }

    /// Called once a page's bytes are in the output. Bytes that [`write`](Self::write) returns for later pages always follow them, and a
    /// crash takes those later bytes first. A resume calls it with the records of earlier runs, the last 256 MiB of them, in order. It must
    /// be quick: locks are held.
    fn remember(&self, record: &PageRecord) {
        let _ = record;
    }

    /// Adds to a page's record what this sink knows of the response. It is called before [`write`](Self::write) of this output and all
    /// others, and must not block either.
    fn describe(&self, exchange: &Exchange, record: &mut PageRecord) {
        let _ = (exchange, record);
    }

    /// A file of a series ends before it would exceed this many bytes; `None` if the output is one file.
    fn max_file_bytes(&self) -> Option<u64> {
        None
    }

    /// Appends to `to` what each file of a series begins with. `file` is its name, without the `.open` of a file that may still change;
    /// `first` is its first page. It must not block.
    fn begin(&self, file: &str, first: &PageRecord, to: &mut Vec<u8>) {
        let _ = (file, first, to);
    }

    /// Appends to `to` what a page adds to the output, if anything.
    ///
    /// Many tasks call it at once. It must not block, because other pages wait for its thread. With a response of more than 128 KiB it has
    /// a thread of its own. If it panics, the page is tried again.
    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>);
}
