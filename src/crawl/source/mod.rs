//! What can be leased, and what the crawl does with each kind: the one place where the kinds are told apart.
//!
//! A source is a file here that implements [`UrlSource`], and a line in [`source_of`]. It says what a whole response means to the
//! frontier, whether links are read in it, and where it is counted. All else is the same for all kinds: how a URL is asked for,
//! how redirects and failures are handled, and how links go through the gate.

mod extract;
mod page;
mod robots;

pub(super) use extract::Extract;

use page::PageSource;
use robots::RobotsSource;

use super::http::Response;
use super::numbers::Tally;
use super::options::ParseOptions;
use super::records::PageRecord;
use crate::address::BaseUrl;
use crate::frontier::{LeaseKind, Outcome};

/// Takes links from a response, whose URL is the base.
pub(super) type ReadLinks = fn(&Response, BaseUrl, &ParseOptions, &mut Extract);

/// What the crawl does with leases of one kind.
pub(super) trait UrlSource: Sync {
    /// Whether each URL that is done has a record in the outputs. Without one its refused links are not listed either.
    fn is_recorded(&self) -> bool;

    /// Whether only the start of a body is wanted where that is no HTML.
    fn wants_html(&self) -> bool;

    /// What a whole response means to the frontier. A redirect is another outcome.
    fn outcome(&self, response: &Response) -> Outcome;

    /// How the links of a response are read that is no redirect; `None` where it has none. Its body may have broken off.
    fn links(&self, response: &Response) -> Option<ReadLinks>;

    /// Counts a request by its record. It is done, or will be tried again.
    fn count(&self, tally: &mut Tally, is_done: bool, record: &PageRecord);
}

/// The source of leases of this kind.
pub(super) fn source_of(kind: LeaseKind) -> &'static dyn UrlSource {
    match kind {
        LeaseKind::Page => &PageSource,
        LeaseKind::Robots => &RobotsSource,
    }
}
