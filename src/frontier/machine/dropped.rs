//! How a crawl takes the URLs that were [dropped](super::drops).
//!
//! Embedders do not have these calls: they see the links they find, and for the rest `explain` tells what robots.txt says. A crawl with
//! `--skipped` takes the list after each lease, so that it stays short.

use super::Frontier;
use super::drops::Dropped;
use crate::frontier::durable::Journal;

impl<J: Journal> Frontier<J> {
    /// From now on, URLs that robots.txt turns away at their turn are kept for [`take_dropped`](Self::take_dropped).
    pub(crate) fn keep_dropped(&mut self) {
        self.drops.is_kept = true;
    }

    /// The URLs turned away since the last call, at most 4,096, and how many more there were.
    pub(crate) fn take_dropped(&mut self) -> (Vec<Dropped>, u32) {
        (std::mem::take(&mut self.drops.kept), std::mem::take(&mut self.drops.further))
    }
}
