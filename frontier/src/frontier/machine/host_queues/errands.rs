//! Hosts that wait for another host to be asked for their robots.txt, and copies of what was answered.

use std::collections::VecDeque;
use std::sync::Arc;

use ahash::AHashMap;

use crate::frontier::Timestamp;
use crate::frontier::hosts::HostId;
use crate::frontier::lease::Setback;

/// The most copies that are kept.
const MOST_COPIES: usize = 1024;
/// The most bytes of the lines of all copies.
const MOST_BYTES: usize = 4 << 20;

/// Hosts that are to be asked for the robots.txt of others, and copies of what they answered lately.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    /// By the host that is to be asked.
    asked: AHashMap<HostId, VecDeque<Errand>>,
    /// The number of hosts that wait for one of them.
    waiting: usize,
    copies: AHashMap<Box<str>, RobotsCopy>,
    /// The copies, the oldest first.
    order: VecDeque<Box<str>>,
    /// Bytes of the lines of all copies.
    bytes: usize,
}

/// A robots.txt that hosts wait for.
#[derive(Debug)]
struct Errand {
    /// Its wire URL.
    url: Box<str>,
    /// The hosts that wait for it. They have URLs queued, and are in no queue of hosts.
    waiting: Vec<HostId>,
    /// The priority of the first of them.
    priority: u8,
}

/// What was answered for a URL.
#[derive(Debug)]
pub(in crate::frontier::machine) struct RobotsCopy {
    pub(in crate::frontier::machine) answer: SharedRobots,
    /// When it came.
    pub(in crate::frontier::machine) at: Timestamp,
    /// Until when other hosts may take it.
    pub(in crate::frontier::machine) fresh_until: Timestamp,
}

/// A [`RobotsNews`] that several hosts take.
#[derive(Clone, Debug)]
pub(in crate::frontier::machine) enum SharedRobots {
    Rules(Arc<[u8]>),
    Missing,
    Moved(Arc<str>),
    Failed(Arc<Setback>),
}

impl Errands {
    /// The priority at which this host is to be asked for the robots.txt of others; `None` if it is not.
    #[inline]
    pub(in crate::frontier::machine) fn errand_of(&self, id: HostId) -> Option<u8> {
        if self.asked.is_empty() {
            return None;
        }
        self.asked.get(&id)?.front().map(|errand| errand.priority)
    }

    /// The number of hosts that wait for others. They are in no queue.
    pub(in crate::frontier::machine) fn waiting(&self) -> usize {
        self.waiting
    }

    /// A host waits until `server` has been asked for this URL.
    pub(in crate::frontier::machine) fn wait(&mut self, server: HostId, url: &str, id: HostId, priority: u8) {
        self.waiting += 1;
        let errands = self.asked.entry(server).or_default();
        match errands.iter_mut().find(|errand| &*errand.url == url) {
            Some(errand) => errand.waiting.push(id),
            None => errands.push_back(Errand { url: url.into(), waiting: vec![id], priority }),
        }
    }

    /// The URL that a host is asked for next, and the first host that waits for it.
    pub(in crate::frontier::machine) fn first(&self, server: HostId) -> Option<(&str, HostId)> {
        let errand = self.asked.get(&server)?.front()?;
        Some((&errand.url, *errand.waiting.first()?))
    }

    /// Removes and returns the hosts that wait for this URL.
    pub(in crate::frontier::machine) fn take(&mut self, server: HostId, url: &str) -> Vec<HostId> {
        let Some(errands) = self.asked.get_mut(&server) else { return Vec::new() };
        let found = errands.iter().position(|errand| &*errand.url == url).and_then(|at| errands.remove(at));
        if errands.is_empty() {
            self.asked.remove(&server);
        }
        let waiting = found.map_or_else(Vec::new, |errand| errand.waiting);
        self.waiting -= waiting.len();
        waiting
    }

    /// Keeps the answer for a URL, in place of the previous one.
    pub(in crate::frontier::machine) fn keep(&mut self, url: &str, copy: RobotsCopy) {
        self.bytes += copy.answer.len();
        match self.copies.insert(url.into(), copy) {
            Some(before) => self.bytes -= before.answer.len(),
            None => self.order.push_back(url.into()),
        }
        while self.copies.len() > MOST_COPIES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.copies.remove(&oldest).map_or(0, |copy| copy.answer.len());
        }
    }

    /// The answer for this URL and when it came, if it is still fresh.
    pub(in crate::frontier::machine) fn copy(&self, url: &str, now: Timestamp) -> Option<(SharedRobots, Timestamp)> {
        self.copies.get(url).filter(|copy| now < copy.fresh_until).map(|copy| (copy.answer.clone(), copy.at))
    }
}

impl SharedRobots {
    fn len(&self) -> usize {
        if let Self::Rules(lines) = self { lines.len() } else { 0 }
    }
}
