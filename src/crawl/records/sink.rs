//! A further output of a crawl: some bytes for each page that is done.

use std::fmt::Debug;

use super::done_page::DonePage;
use super::page_record::PageRecord;
use crate::crawl::http::Exchange;

/// An output of a job beside `pages.jsonl`, to which each page that is done adds some bytes: a file of its own, or a series of them.
///
/// The crawl owns the files. It appends in the order in which pages are done, and says in each page's record
/// [where its bytes are](PageRecord::outputs). After a crash it cuts off what belongs to no page that is done. A page is done only if
/// its record and all its bytes are there, so each page is in each output exactly once, whatever kills the crawl.
pub trait Sink: Debug + Send + Sync + 'static {
    /// The file's name in the job's directory, the same in each run: `links.jsonl`. Those of a series bear it with the place in the
    /// output where they begin: `pages-000001073700112.warc.gz` is a file of `pages.warc.gz`.
    fn name(&self) -> &str;

    /// Whether it wants responses as they came. They are not kept where no output does.
    fn needs_exchange(&self) -> bool {
        false
    }

    /// Whether it wants the links of pages. They are not kept where no output does.
    fn needs_links(&self) -> bool {
        false
    }

    /// Whether it wants responses that have no page record, too: a host's robots.txt, a redirect to another spelling of the same key.
    /// What they add goes in front of what the next page adds.
    /// It is there at most once: a kill may take it, and so may the end of a crawl after which no page comes.
    fn wants_others(&self) -> bool {
        false
    }

    /// Whether it keeps what a later crawl needs to ask whether pages have changed, as [`Visits`](crate::crawl::Visits) does.
    fn keeps_visits(&self) -> bool {
        false
    }

    /// Whether it wants to [`remember`](Self::remember) pages, of earlier runs too.
    fn remembers(&self) -> bool {
        false
    }

    /// Takes note of a page that is in the output: whatever [`write`](Self::write) makes of it is in front of what pages add that come
    /// later, and a crash takes those first. A resume calls it with the records of earlier runs, the last 256 MiB of them, in
    /// their order. It must be quick: locks are held.
    fn remember(&self, record: &PageRecord) {
        let _ = record;
    }

    /// Adds to a page's record what it says of the response. It comes before [`write`](Self::write), of this output and all others,
    /// and must wait for nothing either.
    fn describe(&self, exchange: &Exchange, record: &mut PageRecord) {
        let _ = (exchange, record);
    }

    /// Bytes of a file after which the next one begins, where it is a series of files; `None` where it is one.
    fn max_file_bytes(&self) -> Option<u64> {
        None
    }

    /// Appends to `to` what each file of a series begins with. `file` is its name, without the `.open` that it bears while it may
    /// change; `first` the page that is first in it. It must not block.
    fn begin(&self, file: &str, first: &PageRecord, to: &mut Vec<u8>) {
        let _ = (file, first, to);
    }

    /// Appends to `to` what a page adds to the output, if anything.
    ///
    /// Many tasks call it at once. It must not wait for anything, because other pages wait for its thread. With a response of more
    /// than 128 KiB it has a thread for itself. If it panics, the page is tried again.
    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>);
}
