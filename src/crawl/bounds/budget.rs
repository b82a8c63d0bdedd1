//! How many pages a crawl may still record.

use std::sync::{Arc, Mutex};

use crate::crawl::lock::lock;

/// How many pages a crawl may still record. A page is reserved for each lease, and spent when its record is made. So `max_pages` is met
/// exactly, however many fetches are in flight, fail, or are for a robots.txt.
#[derive(Debug)]
pub(in crate::crawl) struct Budget(Mutex<Pages>);

#[derive(Debug)]
struct Pages {
    /// Pages neither spent nor reserved; `None` for no limit.
    left: Option<u64>,
    reserved: u64,
}

/// A page that may be recorded. If it is dropped unspent, another page may take its place.
#[derive(Debug)]
#[must_use = "dropped, another page may be recorded in its place"]
pub(in crate::crawl) struct Reservation {
    budget: Arc<Budget>,
    is_spent: bool,
}

impl Budget {
    /// `before` pages were recorded by earlier runs of the job.
    pub(in crate::crawl) fn new(max_pages: Option<u64>, before: u64) -> Arc<Self> {
        let left = max_pages.map(|pages| pages.saturating_sub(before));
        Arc::new(Self(Mutex::new(Pages { left, reserved: 0 })))
    }

    /// Whether every allowed page was spent.
    pub(in crate::crawl) fn is_spent(&self) -> bool {
        let pages = lock(&self.0);
        pages.left == Some(0) && pages.reserved == 0
    }

    /// Reserves a page, if one is left.
    pub(in crate::crawl) fn reserve(self: &Arc<Self>) -> Option<Reservation> {
        let mut pages = lock(&self.0);
        match &mut pages.left {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        pages.reserved += 1;
        Some(Reservation { budget: Arc::clone(self), is_spent: false })
    }
}

impl Reservation {
    /// Marks the page as recorded.
    pub(in crate::crawl) fn spend(mut self) {
        self.is_spent = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut pages = lock(&self.budget.0);
        pages.reserved -= 1;
        if !self.is_spent {
            pages.left = pages.left.map(|left| left + 1);
        }
    }
}
