//! What can be leased, and what the crawl does with each kind: the only place that distinguishes the kinds.
//!
//! A source is a file here that implements [`UrlSource`], and a line in [`source_of`]. It says what a complete response means to the
//! frontier, whether links are read from it, and where it is counted. Everything else is the same for all kinds: how a URL is requested,
//! how redirects and failures are handled, and how links go through the gate.
//!
//! # Sitemaps
//!
//! A sitemap is a URL like any other: it passes the gate, waits for its host, obeys its robots.txt, is tried again, and has a record. Only
//! its kind differs. So nothing about it is kept outside the journal, and a resume needs nothing more.
//!
//! | found | by |
//! |---|---|
//! | in a line of a robots.txt, whenever one is fetched | `robots` |
//! | as `/sitemap.xml` of a host whose robots.txt names none, except in a crawl of all hosts. If it does not exist, it has no record | `robots` |
//! | the same, for a host whose robots.txt is not fetched, with the first page that it answers | `list` |
//! | in another sitemap, up to two levels deep | `list` |
//!
//! A page that turns out to be a sitemap or feed is also read as one, by `list`; a sitemap that turns out to be a page is read as a page.
//! So it does not matter which kind of link finds it first.

mod extract;
mod html;
mod list;
mod page;
mod read_options;
mod robots;
mod sitemap;
mod text;

pub(super) use extract::Extract;
pub(super) use list::guess as guess_sitemap;
pub(super) use read_options::ReadOptions;

use page::PageSource;
use robots::RobotsSource;
use sitemap::SitemapSource;

use super::http::{Response, TakesBody};
use super::numbers::Tally;
use super::records::PageRecord;
use crate::address::BaseUrl;
use crate::frontier::{Lease, LeaseKind, Outcome};

/// Takes links from a response; its URL is the base.
pub(super) type ReadLinks = fn(&Response, BaseUrl, &ReadOptions, &mut Extract);

/// What the crawl does with leases of one kind.
pub(super) trait UrlSource: Sync {
    /// Whether each completed URL has a record in the outputs. If not, its refused links are not listed either.
    fn is_recorded(&self) -> bool;

    /// Whether this URL has a record.
    fn is_worth_a_record(&self, _: &Lease, _: &PageRecord) -> bool {
        self.is_recorded()
    }

    /// Whether it counts toward `max_pages`.
    fn is_page(&self) -> bool {
        false
    }

    /// Recognizes the bodies that are wanted completely, by their beginning. `None` if all are.
    fn takes(&self, options: &ReadOptions) -> Option<TakesBody>;

    /// Whether a body counts as far as it came even if its length or coding says that it is incomplete.
    fn reads_so_far(&self) -> bool {
        false
    }

    /// At most this many bytes of a body are taken; `None` for the limit of pages.
    fn max_bytes(&self, _: &ReadOptions) -> Option<usize> {
        None
    }

    /// The host whose robots.txt names a sitemap, or is being read.
    fn named_by(&self, _: &Lease) -> Option<Box<str>> {
        None
    }

    /// What a complete response means to the frontier. A redirect is another outcome.
    fn outcome(&self, response: &Response) -> Outcome;

    /// The function that reads the links of a response that is not a redirect; `None` if it has none. The body may have broken off.
    fn links(&self, lease: &Lease, response: &Response, options: &ReadOptions) -> Option<ReadLinks>;

    /// Counts a request by its record. The request is done, or will be tried again.
    fn count(&self, tally: &mut Tally, is_done: bool, has_record: bool, record: &PageRecord);
}

/// The source of leases of this kind.
pub(super) fn source_of(kind: LeaseKind) -> &'static dyn UrlSource {
    match kind {
        LeaseKind::Page => &PageSource,
        LeaseKind::Robots => &RobotsSource,
        LeaseKind::Sitemap => &SitemapSource,
    }
}
