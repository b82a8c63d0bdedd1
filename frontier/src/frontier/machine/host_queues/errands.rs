//! Hosts that wait for another host to be asked for their robots.txt.

use std::collections::VecDeque;

use ahash::AHashMap;

use super::HostQueues;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{HostId, HostState};
use crate::frontier::state::State;

/// Hosts that are to be asked for the robots.txt of others.
#[derive(Debug, Default)]
pub(super) struct Errands {
    /// By the host that is to be asked.
    asked: AHashMap<HostId, VecDeque<Errand>>,
    /// The number of hosts that wait for one of them.
    waiting: usize,
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

impl Errands {
    /// The number of hosts that wait for others. They are in no queue.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    fn wait(&mut self, server: HostId, url: &str, id: HostId, priority: u8) {
        self.waiting += 1;
        let errands = self.asked.entry(server).or_default();
        match errands.iter_mut().find(|errand| &*errand.url == url) {
            Some(errand) => errand.waiting.push(id),
            None => errands.push_back(Errand { url: url.into(), waiting: vec![id], priority }),
        }
    }

    /// Removes and returns the hosts that wait for this URL.
    fn take(&mut self, server: HostId, url: &str) -> Vec<HostId> {
        let Some(errands) = self.asked.get_mut(&server) else { return Vec::new() };
        let found = errands.iter().position(|errand| &*errand.url == url).and_then(|at| errands.remove(at));
        if errands.is_empty() {
            self.asked.remove(&server);
        }
        let waiting = found.map_or_else(Vec::new, |errand| errand.waiting);
        self.waiting -= waiting.len();
        waiting
    }
}

impl HostQueues {
    /// The priority at which this host is to be asked for the robots.txt of others; `None` if it is not.
    #[inline]
    pub(crate) fn errand_of(&self, id: HostId) -> Option<u8> {
        if self.errands.asked.is_empty() {
            return None;
        }
        self.errands.asked.get(&id)?.front().map(|errand| errand.priority)
    }

    /// The URL that a host is asked for next, and the first host that waits for it.
    pub(crate) fn first_errand(&self, server: HostId) -> Option<(&str, HostId)> {
        let errand = self.errands.asked.get(&server)?.front()?;
        Some((&errand.url, *errand.waiting.first()?))
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
        self.errands.wait(server, url, id, priority);
        state.seats()[id].state = HostState::RobotsElsewhere;
        // Its turn depends on another domain's.
        self.domains.compete(id, false);
        if state.host(server).scheduling.state == HostState::Idle {
            self.place(state, server, now);
        }
    }

    /// The hosts that wait until `server` has been asked for this URL go on.
    pub(crate) fn end_errand(&mut self, state: &mut State, server: HostId, url: &str, now: Timestamp) {
        for id in self.errands.take(server, url) {
            // It is in no list now, and has nothing out.
            state.seats()[id].state = HostState::Leased(0);
            self.place(state, id, now);
        }
    }
}
