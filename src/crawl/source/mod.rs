//! What can be leased, and what the crawl does with each kind: the one place where the kinds are told apart.
//!
//! A source is a file here that implements [`UrlSource`], and a line in [`source_of`]. It says what a whole response means to the
//! frontier, whether links are read in it, and where it is counted. All else is the same for all kinds: how a URL is asked for,
//! how redirects and failures are handled, and how links go through the gate.
//!
//! # Sitemaps
//!
//! A sitemap is a URL like any other: it passes the gate, waits for its host, obeys its robots.txt, is tried again, and has a record.
//! Only its kind is another. So nothing of it is kept beside the journal, and a resume needs no word more.
//!
//! | found | by |
//! |---|---|
//! | as a line of a robots.txt, whenever one is fetched | `robots` |
//! | as `/sitemap.xml` of a host whose robots.txt names none, but in a crawl of all hosts. Where that is none, it has no record | `robots` |
//! | the same, of a host whose robots.txt nobody asks for, with the first page that it answers | `list` |
//! | in another sitemap, two deep | `list` |
//!
//! A page that turns out to be a sitemap or feed is read as one, by `list` too; and a sitemap that turns out to be a page, as a page. So it
//! does not matter who finds it first.

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

/// Takes links from a response, whose URL is the base.
pub(super) type ReadLinks = fn(&Response, BaseUrl, &ReadOptions, &mut Extract);

/// What the crawl does with leases of one kind.
pub(super) trait UrlSource: Sync {
    /// Whether each URL that is done has a record in the outputs. Without one its refused links are not listed either.
    fn is_recorded(&self) -> bool;

    /// Whether this one has.
    fn is_worth_a_record(&self, _: &Lease, _: &PageRecord) -> bool {
        self.is_recorded()
    }

    /// Whether it counts among the pages after which a crawl ends.
    fn is_page(&self) -> bool {
        false
    }

    /// Tells the bodies that are wanted as a whole by how they begin. `None` where all are.
    fn takes(&self, options: &ReadOptions) -> Option<TakesBody>;

    /// Whether a body counts as far as it came, where its length or coding says otherwise.
    fn reads_so_far(&self) -> bool {
        false
    }

    /// Bytes of a body that are taken; `None` for as many as of any page.
    fn max_bytes(&self, _: &ReadOptions) -> Option<usize> {
        None
    }

    /// The host whose robots.txt names a sitemap, or is being read.
    fn named_by(&self, _: &Lease) -> Option<Box<str>> {
        None
    }

    /// What a whole response means to the frontier. A redirect is another outcome.
    fn outcome(&self, response: &Response) -> Outcome;

    /// How the links of a response are read that is no redirect; `None` where it has none. Its body may have broken off.
    fn links(&self, lease: &Lease, response: &Response, options: &ReadOptions) -> Option<ReadLinks>;

    /// Counts a request by its record. It is done, or will be tried again.
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
