//! How many pages a crawl may still record.

use std::sync::Mutex;

use crate::crawl::lock::lock;

/// How many pages a crawl may still record. A page is reserved for each lease, and spent when it has its record. So `max_pages` is met
/// exactly, however many fetches are in flight, fail, or are of a robots.txt.
#[derive(Debug)]
pub(in crate::crawl) struct Budget(Mutex<Pages>);

#[derive(Debug)]
struct Pages {
    /// Neither spent nor reserved; `None` is no limit.
    left: Option<u64>,
    reserved: u64,
}

impl Budget {
    /// `before` pages were recorded by earlier runs of the job.
    pub(in crate::crawl) fn new(max_pages: Option<u64>, before: u64) -> Self {
        let left = max_pages.map(|pages| pages.saturating_sub(before));
        Self(Mutex::new(Pages { left, reserved: 0 }))
    }

    /// Whether a page may be reserved now.
    pub(in crate::crawl) fn has_left(&self) -> bool {
        lock(&self.0).left != Some(0)
    }

    /// Whether all pages that are allowed were spent.
    pub(in crate::crawl) fn is_spent(&self) -> bool {
        let pages = lock(&self.0);
        pages.left == Some(0) && pages.reserved == 0
    }

    /// Reserves a page.
    pub(in crate::crawl) fn reserve(&self) {
        let mut pages = lock(&self.0);
        pages.left = pages.left.map(|left| left.saturating_sub(1));
        pages.reserved += 1;
    }

    /// A reserved page has its record.
    pub(in crate::crawl) fn spend(&self) {
        lock(&self.0).reserved -= 1;
    }

    /// A reserved page has no record.
    pub(in crate::crawl) fn give_back(&self) {
        let mut pages = lock(&self.0);
        pages.left = pages.left.map(|left| left + 1);
        pages.reserved -= 1;
    }
}
