//! Sinks: outputs of a job besides `pages.jsonl`, to which each page that is done adds some bytes; and one of them, the list of links,
//! `links.jsonl`.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use super::page_record::{PageRecord, add_line};
use crate::crawl::http::Exchange;

/// An output of a job besides `pages.jsonl`: a file, or a series of files, to which each page that is done adds some bytes.
///
/// The crawl owns the files. It appends in the order in which pages are done, and says in each page's record [where its bytes
/// are](PageRecord::outputs). After a crash it cuts off bytes that belong to no page that is done. A page is done only if its record and
/// all its bytes are there, so each page is in each output exactly once, whatever kills the crawl.
pub trait Sink: Debug + Send + Sync + 'static {
    /// The file's name in the job's directory, the same in each run: `links.jsonl`. In a series, each file's name adds the position in the
    /// output where the file begins: `pages-000001073700112.warc.gz` is a file of `pages.warc.gz`.
    fn name(&self) -> &str;

    /// Whether it wants responses as they came. These are kept only if a sink wants them.
    fn needs_exchange(&self) -> bool {
        false
    }

    /// Whether it wants the links of pages. These are kept only if a sink wants them.
    fn needs_links(&self) -> bool {
        false
    }

    /// Whether it also wants responses that have no page record: a host's robots.txt, a redirect to another spelling of the same key. Their
    /// bytes go before those of the next page. They are written at most once: a kill may take them, and so may the end of a crawl if no
    /// page follows.
    fn wants_others(&self) -> bool {
        false
    }

    /// Whether it keeps what a later crawl needs in order to request pages only if they have changed, as [`Visits`](crate::crawl::Visits)
    /// does.
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

    /// Adds to a page's record what this sink knows of the response. It is called before [`write`](Self::write) of this sink and of all
    /// others. It must not block.
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

/// A completed page, as outputs receive it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DonePage<'a> {
    /// The page's record, which does not yet say what became of its links.
    pub record: &'a PageRecord,
    /// The response as it came, if there is one and an output [needs it](super::Sink::needs_exchange).
    pub exchange: Option<&'a Exchange>,
    /// Its links, if an output [needs them](super::Sink::needs_links).
    pub links: &'a [Edge],
    /// What its next visit needs, if an output [keeps visits](super::Sink::keeps_visits).
    pub(in crate::crawl) visit: &'a [u8],
}

/// A link of a page to a URL, whether the gate admits it or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edge {
    /// The wire URL that it leads to.
    pub to: String,
    /// Where it was found: `a`, `area`, `canonical`, `frame`, `img`, `link`, `media`, `refresh`, `script`, `style` on a page; `header` in a
    /// `Link` or `Refresh` header; `redirect`, `sitemap` or `feed`; `json_ld` in structured data; `text` in plain text; `unchanged` for a
    /// page that answered 304, whose links are those of its last visit.
    pub kind: &'static str,
    /// The text of its `<a>`: white space folded, cut at 512 bytes.
    pub text: Option<String>,
    /// The `rel` of its element, likewise.
    pub rel: Option<String>,
}

impl Edge {
    /// Bytes of memory that it takes.
    pub(in crate::crawl) fn memory(&self) -> usize {
        let texts = [&self.text, &self.rel].map(|text| text.as_ref().map_or(0, String::len));
        size_of::<Self>() + self.to.len() + texts[0] + texts[1]
    }
}

/// The output's name.
const NAME: &str = "links.jsonl";
/// Most lines are no longer than this many bytes.
const LINE: usize = 256;

/// One line of `links.jsonl`: a link of a page. Every key is present in every line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct LinkRecord {
    /// The wire URL of its page, as in the page's record.
    pub from: String,
    /// The wire URL that it leads to.
    pub to: String,
    /// What it was found on, by [`Edge::kind`].
    pub kind: String,
    /// The text of its `<a>`.
    pub text: Option<String>,
    /// The `rel` of its element.
    pub rel: Option<String>,
}

/// Writes the links of each page to `links.jsonl` in the job, one [`LinkRecord`] a line. Each spelling of a link is listed once per page,
/// in the page's order.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LinkList;

/// A [`LinkRecord`] that borrows.
#[derive(Serialize)]
struct Line<'a> {
    from: &'a str,
    to: &'a str,
    kind: &'a str,
    text: Option<&'a str>,
    rel: Option<&'a str>,
}

impl Sink for LinkList {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs_links(&self) -> bool {
        true
    }

    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>) {
        let from = &page.record.url;
        if let Some(redirect) = &page.record.redirect {
            add_line(&Line { from, to: redirect, kind: "redirect", text: None, rel: None }, to);
        }
        to.reserve(page.links.len() * LINE);
        for Edge { to: target, kind, text, rel } in page.links {
            add_line(&Line { from, to: target, kind, text: text.as_deref(), rel: rel.as_deref() }, to);
        }
    }
}
