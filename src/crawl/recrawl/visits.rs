//! The output that keeps what the next visit of a page needs.

use crate::crawl::records::{DonePage, Sink};
use crate::job::VISITS;

/// Keeps each page's `ETag`, `Last-Modified`, body digest and links in `pages.visits`, so that a later crawl can ask whether it has
/// changed. Pass it to [`Crawl::open_with`](crate::crawl::Crawl::open_with).
#[derive(Clone, Copy, Debug, Default)]
pub struct Visits;

impl Sink for Visits {
    fn name(&self) -> &'static str {
        VISITS
    }

    fn keeps_visits(&self) -> bool {
        true
    }

    fn write(&self, page: &DonePage<'_>, to: &mut Vec<u8>) {
        to.extend_from_slice(page.visit);
    }
}
