//! Pages of one host that are out side by side.
//!
//! If [`connections_per_host`](crate::frontier::Politeness::connections_per_host) is more than one, a host takes its next place in the
//! queues of hosts as soon as one of its pages is lent out. Three things are kept for it meanwhile, and none of them is state: which
//! pages are out, when its next request may start, and which of the requests that are out were sent before it failed.
//!
//! A host is asked one thing at a time until it has answered, while it fails, and for its robots.txt: that goes out when all
//! pages have come back, and no page goes out until it has.
//!
//! # One outage is one failure
//!
//! Eight connections to a host that goes down fail one after another, and have one cause. So the first of them counts, and it begins
//! a new *wave*: what an older wave still brings says nothing new of the host. A failure of it does not count, but its rest is kept; an
//! answer of it is a page like any other, and makes the host neither well nor due earlier.

use super::Frontier;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{Host, HostId, HostPolicy, Rest};
use crate::frontier::queues::Queued;
use crate::frontier::{Lease, Timestamp};

impl<J: Journal> Frontier<J> {
    /// How a host is treated.
    #[inline]
    pub(crate) fn treatment(&self, id: HostId) -> &HostPolicy {
        self.politeness.treatment(self.state.host(id).treatment)
    }

    /// Whether pages of this host may be out side by side.
    #[inline]
    pub(crate) fn lends_concurrently(&self, id: HostId) -> bool {
        self.lends_concurrently && self.treatment(id).connections > 1
    }

    /// The URL of a host that goes next of those that are not out.
    #[inline]
    pub(crate) fn first_free(&self, host: &Host, id: HostId) -> Option<Queued> {
        match host.seat.out {
            0 => host.queue.first(),
            _ => self.state.back().first_but(&host.queue, self.lent.pages_of(id)),
        }
    }

    /// When a host may be asked for a further page, of which some are out, and for which; `None` where it may not, before one of
    /// them is back.
    pub(crate) fn further(&self, id: HostId, now: Timestamp) -> Option<(Timestamp, Queued)> {
        let beside = self.lent.beside(id)?;
        let host = self.state.host(id);
        let treatment = self.politeness.treatment(host.treatment);
        let is_trusted = host.has_answered && host.failures == 0 && !host.is_retired();
        let is_known = !treatment.robots || !host.wants_robots(now);
        let has_room = host.seat.out < treatment.connections && u64::from(host.seat.out) < self.pages_left(id);
        let due = host.due.max(beside.next);
        let is_for_others = self.errands.errand_of(id).is_some();
        (is_trusted && is_known && has_room && !is_for_others)
            .then(|| self.first_free(host, id).map(|first| (due, first)))
            .flatten()
    }

    /// Whether a host that was taken from the front must wait after all: something has come back since it was put there.
    pub(crate) fn must_wait(&self, id: HostId, now: Timestamp) -> bool {
        let host = self.state.host(id);
        match host.seat.out {
            0 => host.due > now && !self.is_over(host, id),
            _ => self.further(id, now).is_none_or(|(due, _)| due > now),
        }
    }

    /// The clock of a host of which a lease comes back now. Where one thing is asked at a time, the rest begins with
    /// the response; else it began with the start of the last request, and what other leases brought holds.
    pub(crate) fn rest(&self, lease: &Lease, now: Timestamp) -> Rest {
        let host = self.state.host(lease.host);
        match self.lent.beside(lease.host) {
            None => Rest { over: now + host.delay(&self.politeness), is_late: false },
            Some(beside) => {
                Rest { over: host.due.max(beside.next), is_late: beside.failure_epoch != lease.failure_epoch }
            }
        }
    }
}
