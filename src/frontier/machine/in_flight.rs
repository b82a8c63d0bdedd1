//! Several pages of one host out at once.
//!
//! If [`connections_per_host`](crate::frontier::Politeness::connections_per_host) is more than one, a host goes back to the queues of hosts
//! as soon as one of its pages is lent out. Meanwhile three things are kept for it, none of which is state: which pages are out, when its
//! next request may start, and which outstanding requests were sent before it failed.
//!
//! A host has one request at a time until it has answered, while it fails, and for its robots.txt: that goes out when all pages have come
//! back, and no page goes out until it has come back.
//!
//! # One outage is one failure
//!
//! Eight connections to a host that goes down fail one after another, from one cause. So only the first failure counts, and it begins a new
//! *failure epoch*: leases of an older epoch say nothing new about the host. Their failures do not count, but still make the host rest;
//! their answers are pages like any other, but make the host neither well nor due earlier.

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

    /// Whether several pages of this host may be out at once.
    #[inline]
    pub(crate) fn lends_concurrently(&self, id: HostId) -> bool {
        self.lends_concurrently && self.treatment(id).connections > 1
    }

    /// The host's next URL that is not out.
    #[inline]
    pub(crate) fn first_free(&self, host: &Host, id: HostId) -> Option<Queued> {
        match host.seat.out {
            0 => host.queue.first(),
            _ => self.state.back().first_but(&host.queue, self.lent.pages_of(id)),
        }
    }

    /// When a host with pages out may be asked for a further one, and for which; `None` if one must come back first.
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

    /// Whether a host taken from the front must wait after all, because a lease has come back since it was put there.
    pub(crate) fn must_wait(&self, id: HostId, now: Timestamp) -> bool {
        let host = self.state.host(id);
        match host.seat.out {
            0 => host.due > now && !self.is_over(host, id),
            _ => self.further(id, now).is_none_or(|(due, _)| due > now),
        }
    }

    /// The rest of a host whose lease comes back now. With one request at a time, the rest begins at the response; otherwise it began at
    /// the start of the last request, and rests that other leases brought still hold.
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
