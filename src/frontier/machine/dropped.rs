//! The calls by which a crawl takes the URLs that were [dropped](super::drops).
//!
//! An embedder has them not: it sees what it found, and `explain` says of the rest what robots.txt does. A crawl with `--skipped` takes
//! them after each lease, so that the list stays short.

use super::Frontier;
use super::drops::Dropped;
use crate::frontier::durable::Journal;

impl<J: Journal> Frontier<J> {
    /// From here on, URLs that robots.txt turns away when their turn comes are kept for [`take_dropped`](Self::take_dropped).
    pub(crate) fn keep_dropped(&mut self) {
        self.drops.is_kept = true;
    }

    /// The URLs that robots.txt turned away since this was last asked, at most 4,096, and how many there were beyond.
    pub(crate) fn take_dropped(&mut self) -> (Vec<Dropped>, u32) {
        (std::mem::take(&mut self.drops.kept), std::mem::take(&mut self.drops.further))
    }
}
