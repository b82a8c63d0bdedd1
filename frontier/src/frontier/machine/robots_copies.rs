//! What hosts answered lately when they were asked for the robots.txt of others.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::AHashMap;

use crate::frontier::Timestamp;
use crate::frontier::lease::Setback;

/// The most copies that are kept.
const MOST_COPIES: usize = 1024;
/// The most bytes of the lines of all copies.
const MOST_BYTES: usize = 4 << 20;

/// What hosts answered lately when they were asked for the robots.txt of others.
#[derive(Debug, Default)]
pub(super) struct RobotsCopies {
    /// By the URL.
    all: AHashMap<Box<str>, RobotsCopy>,
    /// The copies, the oldest first.
    order: VecDeque<Box<str>>,
    /// Bytes of the lines of all copies.
    bytes: usize,
}

/// What was answered for a URL.
#[derive(Debug)]
pub(super) struct RobotsCopy {
    pub(super) answer: SharedRobots,
    /// When it came.
    pub(super) at: Timestamp,
    /// Until when other hosts may take it.
    pub(super) fresh_until: Timestamp,
}

/// What an answer says about a robots.txt, as several hosts take it.
#[derive(Clone, Debug)]
pub(super) enum SharedRobots {
    Rules(Arc<[u8]>),
    Missing,
    Moved(Arc<str>),
    Failed(Arc<Setback>),
}

impl RobotsCopies {
    /// Keeps the answer for a URL, in place of the previous one.
    pub(super) fn keep(&mut self, url: &str, copy: RobotsCopy) {
        self.bytes += copy.answer.len();
        match self.all.insert(url.into(), copy) {
            Some(before) => self.bytes -= before.answer.len(),
            None => self.order.push_back(url.into()),
        }
        while self.all.len() > MOST_COPIES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.all.remove(&oldest).map_or(0, |copy| copy.answer.len());
        }
    }

    /// The answer for this URL and when it came, if it is still fresh.
    pub(super) fn get(&self, url: &str, now: Timestamp) -> Option<(SharedRobots, Timestamp)> {
        self.all.get(url).filter(|copy| now < copy.fresh_until).map(|copy| (copy.answer.clone(), copy.at))
    }
}

impl SharedRobots {
    fn len(&self) -> usize {
        if let Self::Rules(lines) = self { lines.len() } else { 0 }
    }
}
