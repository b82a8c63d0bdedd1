//! Hosts that wait for another host to be asked for their robots.txt, and which files named queues have just asked for.

use std::collections::VecDeque;

use ahash::AHashMap;

use super::HostQueues;
use crate::address::HostKey;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{HostId, HostState, RobotsFile};
use crate::frontier::state::State;

/// Hosts that are to be asked for the robots.txt of others.
#[derive(Debug, Default)]
pub(super) struct RobotsForOthers {
    /// By the host that is to be asked.
    asked: AHashMap<HostId, VecDeque<AwaitedRobots>>,
    /// The number of hosts that wait for one of them.
    waiting: usize,
}

/// A robots.txt that hosts wait for.
#[derive(Debug)]
struct AwaitedRobots {
    /// Its wire URL.
    url: Box<str>,
    /// The hosts that wait for it. They have URLs queued, and are in no queue of hosts.
    waiting: Vec<HostId>,
    /// The priority of the first of them.
    priority: u8,
}

/// Named queues that have asked for a robots.txt and lent no page since, each with the file's origin. Such a file is good for one page of
/// the queue, however old it is by then. Otherwise a queue that rests for longer than `robots_ttl` would only ever ask for robots.txt.
#[derive(Debug, Default)]
pub(super) struct QueueRobots(AHashMap<HostId, HostKey>);

impl RobotsForOthers {
    /// The number of hosts that wait for others. They are in no queue.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    fn wait(&mut self, server: HostId, url: &str, id: HostId, priority: u8) {
        self.waiting += 1;
        let awaited = self.asked.entry(server).or_default();
        match awaited.iter_mut().find(|robots| &*robots.url == url) {
            Some(robots) => robots.waiting.push(id),
            None => awaited.push_back(AwaitedRobots { url: url.into(), waiting: vec![id], priority }),
        }
    }

    /// Removes and returns the hosts that wait for this URL.
    fn take(&mut self, server: HostId, url: &str) -> Vec<HostId> {
        let Some(awaited) = self.asked.get_mut(&server) else { return Vec::new() };
        let found = awaited.iter().position(|robots| &*robots.url == url).and_then(|at| awaited.remove(at));
        if awaited.is_empty() {
            self.asked.remove(&server);
        }
        let waiting = found.map_or_else(Vec::new, |robots| robots.waiting);
        self.waiting -= waiting.len();
        waiting
    }
}

impl HostQueues {
    /// The priority at which this host is to be asked for the robots.txt of others; `None` if it is not.
    #[inline]
    pub(crate) fn priority_for_others(&self, id: HostId) -> Option<u8> {
        if self.robots_for_others.asked.is_empty() {
            return None;
        }
        self.robots_for_others.asked.get(&id)?.front().map(|robots| robots.priority)
    }

    /// The URL that a host is asked for next, and the first host that waits for it.
    pub(crate) fn first_awaited_robots(&self, server: HostId) -> Option<(&str, HostId)> {
        let robots = self.robots_for_others.asked.get(&server)?.front()?;
        Some((&robots.url, *robots.waiting.first()?))
    }

    /// A host whose turn it is waits until `server` has been asked for this URL.
    pub(crate) fn wait_for(
        &mut self,
        state: &mut State,
        (id, priority): (HostId, u8),
        server: HostId,
        url: &str,
        now: Timestamp,
    ) {
        self.robots_for_others.wait(server, url, id, priority);
        state.scheduling()[id].state = HostState::RobotsElsewhere;
        // Its turn depends on another domain's.
        self.domains.compete(id, false);
        if state.host(server).scheduling.state == HostState::Idle {
            self.place(state, server, now);
        }
    }

    /// The hosts that wait until `server` has been asked for this URL go on.
    pub(crate) fn end_wait_for(&mut self, state: &mut State, server: HostId, url: &str, now: Timestamp) {
        for id in self.robots_for_others.take(server, url) {
            // It is in no list now, and has nothing out.
            state.scheduling()[id].state = HostState::Leased(0);
            self.place(state, id, now);
        }
    }
}

/// Robots.txt of named queues.
impl HostQueues {
    /// A queue has learned what an origin's robots.txt is.
    pub(crate) fn note_queue_robots(&mut self, queue: HostId, origin: HostKey) {
        self.queue_robots.0.insert(queue, origin);
    }

    /// A page of the queue is lent by the file, or the queue leaves memory, and its number goes to another.
    pub(crate) fn forget_queue_robots(&mut self, queue: HostId) {
        self.queue_robots.0.remove(&queue);
    }

    /// Whether the robots.txt of a page's origin must be fetched before the page: nothing is known of it, it is stale, or page after page of
    /// the queue breaks.
    pub(crate) fn wants_robots_of(&self, state: &State, by: HostId, of: Option<HostId>, now: Timestamp) -> bool {
        let Some(of) = of.filter(|_| !state.host(by).status.is_in_doubt()) else { return true };
        match state.host(of).robots {
            RobotsFile::Unknown | RobotsFile::Moved(_) => true,
            RobotsFile::Known { stale_at, .. } => {
                stale_at <= now && !self.is_queue_robots_fresh(by, &state.host(of).key)
            }
        }
    }

    /// Whether the file is good for one page of the queue, however old it is.
    fn is_queue_robots_fresh(&self, queue: HostId, origin: &HostKey) -> bool {
        self.queue_robots.0.get(&queue) == Some(origin)
    }
}
