//! Hosts give way to hosts of other registrable domains, if their own has had more turns.
//!
//! A host gives way when it is taken from the front queue, so the turns counted at that moment decide. When the others have caught up, it
//! goes back there, one host with each call of [`next`](Frontier::next). A host that has answered is also taken directly when no other host
//! is due. [`Domains`](crate::frontier::queues::Domains) has the counts and the wait queues.
//!
//! | host | gives way |
//! |---|---|
//! | of a seed | never: the user named it |
//! | whose URLs are given up | never: it is not asked |
//! | that is to be asked for the robots.txt of others | never: they wait for it |
//! | that has answered | if another host is due |
//! | any other | until others have caught up, or nothing else is left to do |

use std::time::Duration;

use super::Frontier;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{HostId, HostState};
use crate::gate::domain;

/// A host that rests for longer than this does not compete: hosts that go first take no turn from it.
pub(super) const RIVAL_REST: Duration = Duration::from_secs(10);

impl<J: Journal> Frontier<J> {
    /// Whether any host may be asked now, by its own clock and its domain.
    #[inline]
    pub(super) fn is_any_due(&self) -> bool {
        self.front.len() > 0 || self.domains.spare() > 0
    }

    /// Takes off the host whose turn it is. Returns it with its priority and whether it has to give way: its domain is ahead of others, and
    /// it is new or another host is due.
    #[inline]
    pub(super) fn turn(&mut self) -> Option<(HostId, u8, bool)> {
        let seats = &mut self.state.seats();
        let Some((id, priority)) = self.front.pop(seats) else {
            return self.domains.take_spare(seats).map(|(id, priority)| (id, priority, false));
        };
        let gives_way = self.domains.is_ahead(id) && self.may_give_way(id);
        Some((id, priority, gives_way))
    }

    /// Whether a host whose domain is ahead lets others go first. A host that is given up is not asked, and a host to be asked for the
    /// robots.txt of others would keep these waiting.
    fn may_give_way(&self, id: HostId) -> bool {
        let host = self.state.host(id);
        let has_others = !host.has_answered || self.is_any_due();
        has_others && !self.is_over(host, id) && self.errands.errand_of(id).is_none()
    }

    /// Releases one host that has given way, if the others have caught up with its domain or nothing else is left to do.
    #[inline]
    pub(super) fn end_giving_way(&mut self) {
        if self.domains.waiting() == 0 {
            return;
        }
        let is_last = self.lent.all == 0 && !self.is_any_due() && self.earliest().is_none();
        let seats = &mut self.state.seats();
        if let Some((id, priority)) = self.domains.release(seats, is_last) {
            seats[id].state = HostState::Due(priority);
            self.front.push(seats, id, priority);
        }
    }

    /// Notes whether a host competes for turns from now on. Its domain is looked up the first time.
    #[inline]
    pub(super) fn compete(&mut self, id: HostId, competes: bool) {
        if competes && !self.domains.is_off() && !self.domains.knows(id) {
            let host = self.state.host(id).key.host();
            let is_seeds = self.state.gate().is_of_seed(host);
            self.domains.join(id, domain(host), is_seeds);
        }
        self.domains.compete(id, competes);
    }
}
