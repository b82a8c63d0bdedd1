//! The pages that the user allows.

use std::sync::Mutex;

use crate::crawl::lock::lock;

/// The pages that the user allows: one is reserved for each lease that is taken and spent with its record, so that
/// `max_pages` is met exactly, however many fetches are in flight, fail, or turn out to be robots.txt.
#[derive(Debug)]
pub(in crate::crawl) struct Budget(Mutex<Pages>);

#[derive(Debug)]
struct Pages {
    /// Neither spent nor reserved; `None` is no limit.
    left: Option<u64>,
    reserved: u64,
}

impl Budget {
    /// `before` are the pages of the job's runs before this one.
    pub(in crate::crawl) fn new(max_pages: Option<u64>, before: u64) -> Self {
        let left = max_pages.map(|pages| pages.saturating_sub(before));
        Self(Mutex::new(Pages { left, reserved: 0 }))
    }

    /// Whether one more may be reserved now.
    pub(in crate::crawl) fn has_left(&self) -> bool {
        lock(&self.0).left != Some(0)
    }

    /// Whether as many pages were spent as are allowed.
    pub(in crate::crawl) fn is_spent(&self) -> bool {
        let pages = lock(&self.0);
        pages.left == Some(0) && pages.reserved == 0
    }

    /// Sets one aside.
    pub(in crate::crawl) fn reserve(&self) {
        let mut pages = lock(&self.0);
        pages.left = pages.left.map(|left| left.saturating_sub(1));
        pages.reserved += 1;
    }

    /// One that was set aside has its record.
    pub(in crate::crawl) fn spend(&self) {
        lock(&self.0).reserved -= 1;
    }

    /// One that was set aside has none.
    pub(in crate::crawl) fn give_back(&self) {
        let mut pages = lock(&self.0);
        pages.left = pages.left.map(|left| left + 1);
        pages.reserved -= 1;
    }
}
