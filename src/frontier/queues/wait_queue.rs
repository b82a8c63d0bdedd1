//! Hosts that wait for their rate group or their domain, by the priority of their best URLs.
//!
//! The lists run through the hosts, as those of [`Front`](super::Front) do: a host in a wait queue is in no other queue. A wait queue has
//! lists only for the priorities that it holds, since there may be many wait queues.
//!
//! A wait queue holds no host itself. Each host's seat says which wait queue it is in and by which priority, and both change together.

use super::ListLink;
use crate::frontier::hosts::{HostId, HostSlots};

/// Waiting hosts by priority; first come, first served within a priority. Every operation is O(priorities in use), mostly one to three.
#[derive(Debug, Default)]
pub(crate) struct WaitQueue {
    /// A list for each priority that any host has, the best first. No list is empty.
    levels: Vec<(u8, ListLink)>,
}

impl WaitQueue {
    /// Puts a host that is in no queue after all others of its priority.
    pub(crate) fn push(&mut self, seats: &mut HostSlots<'_>, host: HostId, priority: u8) {
        let level = self.level(priority);
        let last = std::mem::replace(&mut level.before, host);
        if last == HostId::NONE {
            level.behind = host;
        } else {
            seats[last].link.behind = host;
        }
        seats[host].link = ListLink { before: last, behind: HostId::NONE };
    }

    /// Puts a host that is in no queue before all others of its priority.
    pub(crate) fn push_front(&mut self, seats: &mut HostSlots<'_>, host: HostId, priority: u8) {
        let level = self.level(priority);
        let first = std::mem::replace(&mut level.behind, host);
        if first == HostId::NONE {
            level.before = host;
        } else {
            seats[first].link.before = host;
        }
        seats[host].link = ListLink { before: HostId::NONE, behind: first };
    }

    /// Takes a host out of the list of this priority, which it must be in. Its own link stays as it was: the next queue that takes the host
    /// writes it.
    pub(crate) fn remove(&mut self, seats: &mut HostSlots<'_>, host: HostId, priority: u8) {
        let ListLink { before, behind } = seats[host].link;
        let level = self.level(priority);
        if before == HostId::NONE {
            level.behind = behind;
        } else {
            seats[before].link.behind = behind;
        }
        if behind == HostId::NONE {
            level.before = before;
        } else {
            seats[behind].link.before = before;
        }
        if level.behind == HostId::NONE {
            self.levels.retain(|(of, _)| *of != priority);
        }
    }

    /// Removes the host that has waited longest among those of the best priority; returns it with the priority.
    pub(crate) fn pop(&mut self, seats: &mut HostSlots<'_>) -> Option<(HostId, u8)> {
        let &(priority, level) = self.levels.first()?;
        self.remove(seats, level.behind, priority);
        Some((level.behind, priority))
    }

    /// The best priority that has a host.
    pub(crate) fn best(&self) -> Option<u8> {
        self.levels.first().map(|(priority, _)| *priority)
    }

    /// Whether no host waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The list of a priority; makes one if there is none, which the caller must not leave empty.
    fn level(&mut self, priority: u8) -> &mut ListLink {
        let at = match self.levels.binary_search_by_key(&priority, |(of, _)| *of) {
            Ok(at) => at,
            Err(at) => {
                self.levels.insert(at, (priority, ListLink::default()));
                at
            }
        };
        &mut self.levels[at].1
    }
}
