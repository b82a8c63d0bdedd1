//! The leases that are out, among them several pages of one host.
//!
//! [`Lent`] counts the leases that callers hold. After a crash this is lost, and not needed. A lease that is never completed keeps its
//! place for ever, and if its host has one connection, the host waits for ever.
//!
//! # Several pages of one host at once
//!
//! If [`connections_per_host`](crate::frontier::Politeness::connections_per_host) is more than one, a host goes back to the queues of hosts
//! as soon as one of its pages is lent out. From then on [`InFlight`] knows which of its pages are out, when its next request may start,
//! and which outstanding requests were sent before it failed. None of this is state.
//!
//! A host has one request at a time while it fails and for its robots.txt, and
//! [`first_contacts_per_host`](crate::frontier::Politeness::first_contacts_per_host) until it has answered. The robots.txt goes out when all pages
//! have come back, and no page goes out until it has come back.
//!
//! # Pages in hand
//!
//! A page whose host has [answered](crate::frontier::Frontier::answered) no longer takes one of the host's connections, but it is still in
//! its queue. So it is kept among the pages in flight, with the host's rest if that was not journaled. A host has at most [`MOST_OF_HOST`]
//! such pages before it waits for one of them: a lent page must be found near the front of its queue.
//!
//! # One outage is one failure
//!
//! Eight connections to a host that goes down fail one after another, from one cause. So only the first failure counts, and it begins a new
//! *failure epoch*: leases of an older epoch say nothing new about the host. Their failures do not count, but still make the host rest.
//! Their pages are as good as any other, but make the host neither well nor due earlier.
//!
//! # A slow host rests longer
//!
//! With [`adaptive_share`](crate::frontier::Politeness::adaptive_share) the rest of a host follows its latency: it grows at once with a
//! slow answer, and shrinks by half the difference with a quick one. Only a 2xx lets it shrink: an error often comes quickly because the
//! host is overloaded.
//!
//! The learned rest is not state: a host's status has only the time when it is due. After a restart or an eviction the host rests as if
//! nothing had been learned, until its next answer.

use std::time::Duration;

use ahash::AHashMap;

use super::HostQueues;
use crate::frontier::hosts::{Host, HostId, HostState, QueueOrder, Rest};
use crate::frontier::queues::Queued;
use crate::frontier::state::State;
use crate::frontier::{Lease, Outcome, Timestamp};
use crate::gate::Position;

/// Leases that are out.
#[derive(Debug, Default)]
pub(super) struct Lent {
    /// Leases of all kinds, without pages in hand.
    pub(super) all: u64,
    /// Leases of pages, with those in hand.
    pub(super) pages: u64,
    /// Pages in hand.
    pub(super) in_hand: u64,
    /// Of them, those of each group of hosts with a budget.
    in_hand_of: AHashMap<u16, u64>,
    /// Leases that are first contacts with their hosts.
    pub(super) first_contacts: u64,
    /// The outstanding pages of each host that may have several out, or has some in hand. For other hosts their state says everything, so this
    /// stays empty in a crawl with one connection a host.
    in_flight: AHashMap<HostId, InFlight>,
    /// How many of a host's outstanding pages are only to be given up: they are no requests.
    given_up: AHashMap<HostId, u8>,
}

/// The most pages of one host that are in hand before it waits for one of them. With as many requests out as there can be, all of them are
/// within the reach of a queue.
const MOST_OF_HOST: u8 = 128;

/// The outstanding pages of one host that may have several out, or has some in hand.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    /// In the order in which they went out, with those in hand.
    pages: Vec<Position>,
    /// When its next request may start: the start of the last one plus the delay, or the end of the rest after a page in hand.
    next: Timestamp,
    /// The end of a longer rest that a page in hand asked for, and that was not journaled.
    rest: Timestamp,
    /// How often it has failed since it last had no page out.
    failure_epoch: u32,
    /// It is a named queue whose next page has no known rules: their robots.txt goes out once no page of it is out.
    awaits_robots: bool,
}

impl InFlight {
    /// When its next request may start, as far as its status does not say so.
    fn rested(&self) -> Timestamp {
        self.next.max(self.rest)
    }
}

impl Lent {
    /// The outstanding pages of a host that may have several out, or has some in hand; `None` if it has none.
    fn in_flight(&self, host: HostId) -> Option<&InFlight> {
        self.in_flight.get(&host)
    }

    /// A host's outstanding pages; empty for a host with one lease at a time.
    fn pages_of(&self, host: HostId) -> &[Position] {
        self.in_flight.get(&host).map_or(&[], |in_flight| &in_flight.pages)
    }

    /// Adds a page that goes out to the others of its host.
    fn add(&mut self, lease: &mut Lease, page: Position) {
        let in_flight = self.in_flight.entry(lease.host).or_default();
        in_flight.pages.push(page);
        lease.failure_epoch = in_flight.failure_epoch;
        if lease.trouble.is_none() {
            in_flight.next = lease.lent_at + lease.delay;
        }
    }

    /// A page is back. With the last one, the host's entry goes.
    fn remove(&mut self, host: HostId, page: Position) {
        if let Some(in_flight) = self.in_flight.get_mut(&host) {
            in_flight.pages.retain(|out| *out != page);
            if in_flight.pages.is_empty() {
                self.in_flight.remove(&host);
            }
        }
    }

    /// A page goes out to be given up.
    fn give_up(&mut self, host: HostId) {
        *self.given_up.entry(host).or_default() += 1;
    }

    /// A page that went out to be given up is back.
    fn take_given_up(&mut self, host: HostId) {
        if let Some(pages) = self.given_up.get_mut(&host) {
            *pages -= 1;
            if *pages == 0 {
                self.given_up.remove(&host);
            }
        }
    }

    /// How many of a host's outstanding pages are to be given up.
    pub(super) fn given_up(&self, host: HostId) -> u8 {
        self.given_up.get(&host).copied().unwrap_or_default()
    }

    /// A host's rest is now `by` longer than when its last page went out.
    fn rest_longer(&mut self, host: HostId, by: Duration) {
        if let Some(in_flight) = self.in_flight.get_mut(&host) {
            in_flight.next = in_flight.next + by;
        }
    }

    /// A host has failed: this begins a failure epoch, and requests that were sent before say nothing new.
    fn begin_failure_epoch(&mut self, host: HostId) {
        if let Some(in_flight) = self.in_flight.get_mut(&host) {
            in_flight.failure_epoch += 1;
        }
    }
}

impl HostQueues {
    /// The number of leases that are out, with pages in hand.
    pub(crate) fn leased(&self) -> u64 {
        self.lent.all + self.lent.in_hand
    }

    /// The number of leases that hold their hosts: they are out, and not in hand.
    pub(crate) fn hold_hosts(&self) -> u64 {
        self.lent.all
    }

    /// Whether as many pages are in hand as may be, so that nothing more is lent.
    #[inline]
    pub(crate) fn are_hands_full(&self) -> bool {
        self.lent.in_hand >= self.most_in_hand
    }

    /// Whether several pages of this host may be out at once.
    #[inline]
    pub(crate) fn lends_concurrently(&self, state: &State, id: HostId) -> bool {
        self.lends_concurrently && self.politeness.policy(state.host(id).policy).connections > 1
    }

    /// The pages of a host that are out; empty for a host with one lease at a time.
    pub(crate) fn pages_of(&self, id: HostId) -> &[Position] {
        self.lent.pages_of(id)
    }

    /// Whether the last of this host's URLs goes first.
    pub(crate) fn is_lifo(&self, state: &State, id: HostId) -> bool {
        self.politeness.policy(state.host(id).policy).order.unwrap_or(self.order) == QueueOrder::Lifo
    }

    /// How many URLs of its host and priority a URL that is queued now goes after; `None` for all.
    #[inline]
    pub(crate) fn place_of_new(&self, state: &State, id: HostId, priority: u8) -> Option<u16> {
        self.is_lifo(state, id).then(|| self.first_place(state, id, priority))
    }

    /// The place of a new URL of this host within its priority, if the last goes first: after the pages that are out or were tried, which
    /// keep their places.
    pub(crate) fn first_place(&self, state: &State, id: HostId, priority: u8) -> u16 {
        let is_alone = self.alone_out(state, id) == Some(priority);
        state.back().first_place(&state.host(id).queue, priority, self.lent.pages_of(id)).max(is_alone.into())
    }

    /// The priority of the page that is out, if its host has one lease at a time. The page is the first of that priority.
    pub(crate) fn alone_out(&self, state: &State, id: HostId) -> Option<u8> {
        let scheduling = state.host(id).scheduling;
        match scheduling.state {
            HostState::Leased(priority) if scheduling.out > 0 && self.lent.pages_of(id).is_empty() => Some(priority),
            _ => None,
        }
    }

    /// The host's next URL that is not out.
    #[inline]
    pub(crate) fn first_free(&self, state: &State, id: HostId) -> Option<Queued> {
        let host = state.host(id);
        match (host.scheduling.out, host.in_hand) {
            (0, 0) => host.queue.first(),
            _ => state.back().first_but(&host.queue, self.lent.pages_of(id)),
        }
    }

    /// When a host may be asked next, and at which priority; `None` if it has nothing to be asked for, or one of its pages must come back
    /// first.
    #[inline]
    pub(super) fn turn(&self, state: &State, id: HostId, now: Timestamp) -> Option<(Timestamp, u8)> {
        let host = state.host(id);
        if host.scheduling.out > 0 {
            return self.further(state, id, now).map(|(due, first)| (due, first.priority));
        }
        let best = self.best(state, id)?;
        if self.is_over(state, id) {
            // A host that is not asked need not rest.
            return Some((now, best));
        }
        if host.in_hand == 0 {
            return Some((host.status.due, best));
        }
        let has_room = has_hand_left(state, id) || self.priority_for_others(id).is_some();
        has_room.then(|| (self.rested(host, id), best))
    }

    /// When a host's rest is over: the one in its status, or one that was not journaled while its pages are in hand.
    pub(crate) fn rested(&self, host: &Host, id: HostId) -> Timestamp {
        self.unrecorded_rest(host, id).map_or(host.status.due, |unrecorded| unrecorded.max(host.status.due))
    }

    /// When a rest is over that was not journaled; `None` if none of the host's pages is in hand.
    #[inline]
    pub(super) fn unrecorded_rest(&self, host: &Host, id: HostId) -> Option<Timestamp> {
        if host.in_hand == 0 { None } else { self.lent.in_flight(id).map(InFlight::rested) }
    }

    /// A host's rest that was not journaled ends at this time at the latest.
    pub(crate) fn cut_rest(&mut self, id: HostId, by: Timestamp) {
        if let Some(in_flight) = self.lent.in_flight.get_mut(&id) {
            (in_flight.next, in_flight.rest) = (in_flight.next.min(by), in_flight.rest.min(by));
        }
    }

    /// When a host with pages out may be asked for a further one, and for which; `None` if one must come back first.
    pub(super) fn further(&self, state: &State, id: HostId, now: Timestamp) -> Option<(Timestamp, Queued)> {
        let in_flight = self.lent.in_flight(id)?;
        let host = state.host(id);
        let policy = self.politeness.policy(host.policy);
        let is_trusted = host.status.failures == 0 && !host.status.is_retired();
        let is_known = if policy.is_queue {
            // The queue's turn has shown whether its next page has known rules.
            !(in_flight.awaits_robots || policy.robots && host.status.is_in_doubt())
        } else {
            !policy.robots || !host.wants_robots(now)
        };
        let first_contacts = if host.status.has_answered { u8::MAX } else { self.politeness.first_contacts_per_host };
        let most = policy.connections.min(first_contacts);
        let has_room = host.scheduling.out < most && has_hand_left(state, id);
        let due = host.status.due.max(in_flight.rested());
        let is_for_others = self.priority_for_others(id).is_some();
        (is_trusted && is_known && has_room && !is_for_others)
            .then(|| self.first_free(state, id).map(|first| (due, first)))
            .flatten()
    }

    /// Whether a host taken from the front must wait after all: since it was put there, one of its leases has come back, or other software
    /// has asked it.
    #[inline]
    pub(super) fn must_wait(&self, state: &State, id: HostId, now: Timestamp) -> bool {
        let host = state.host(id);
        match (host.scheduling.out, host.in_hand) {
            (0, 0) => self.rests_alone(state, id, now),
            _ => self.turn(state, id, now).is_none_or(|(due, _)| due > now),
        }
    }

    /// Whether a host whose turn has come rests after all. If its server rests as long, because another port has failed, it waits in the
    /// server's line instead: on the agenda it would be due together with the port that failed, and might come after it each time.
    #[inline]
    pub(super) fn rests_alone(&self, state: &State, id: HostId, now: Timestamp) -> bool {
        let due = self.rested(state.host(id), id);
        let is_servers = || self.server_of(id).is_some_and(|server| self.rate_groups.due(server) >= due);
        due > now && !self.is_over(state, id) && !is_servers()
    }

    /// The rest of a host whose lease comes back now. With one request at a time, the rest begins at the response; otherwise it began at
    /// the start of the last request. Rests that began meanwhile, by other leases or by what others asked, still hold.
    pub(crate) fn rest(&self, host: &Host, lease: &Lease, now: Timestamp) -> Rest {
        let is_alone = self.politeness.policy(host.policy).connections == 1;
        match self.lent.in_flight(lease.host).filter(|_| !is_alone) {
            None => {
                let delay = match &lease.queue {
                    None => host.delay(&self.politeness),
                    Some(queue) => host.delay_by(&self.politeness, queue.crawl_delay),
                };
                Rest { over: self.rested(host, lease.host).max(now + delay), is_late: false }
            }
            Some(in_flight) => Rest {
                over: host.status.due.max(in_flight.rested()),
                is_late: in_flight.failure_epoch != lease.failure_epoch,
            },
        }
    }

    /// Learns from a page that came back how long its host is to rest.
    pub(crate) fn adapt(&mut self, state: &mut State, lease: &Lease, outcome: &Outcome) {
        let was_asked = lease.trouble.is_none() && !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        if lease.position.is_none() || !was_asked {
            return;
        }
        let wanted = lease.took.and_then(|took| self.politeness.adaptive_delay(took, lease.connections > 1));
        let Some(wanted) = wanted.map(|rest| u32::try_from(rest.as_micros().div_ceil(1000)).unwrap_or(u32::MAX)) else {
            return;
        };
        let before = state.host(lease.host).delay(&self.politeness);
        let learned = &mut state.scheduling()[lease.host].learned_ms;
        if wanted >= *learned {
            *learned = wanted;
        } else if matches!(outcome, Outcome::Response { status: 200..=299, .. }) {
            *learned = u32::midpoint(*learned, wanted);
        }
        let after = state.host(lease.host).delay(&self.politeness);
        self.lent.rest_longer(lease.host, after.saturating_sub(before));
    }

    /// A host has failed: this begins a failure epoch, and requests that were sent before say nothing new.
    pub(crate) fn begin_failure_epoch(&mut self, host: HostId) {
        self.lent.begin_failure_epoch(host);
    }

    /// Counts a lease that goes out, and marks its host as leased. The page is likely to link to its own host, so the host is noted in the
    /// table's cache.
    pub(crate) fn note_lent(&mut self, state: &mut State, lease: &mut Lease) {
        self.note_lent_before(state, lease);
        lease.waited = self.waits.lent(lease.host, lease.position, lease.lent_at);
        if lease.trouble.is_none() {
            self.domains.count(lease.host);
        }
        state.note_recent(lease.host);
    }

    /// The next page of a named queue that has pages out has no known rules.
    pub(crate) fn await_robots(&mut self, id: HostId) {
        if let Some(in_flight) = self.lent.in_flight.get_mut(&id) {
            in_flight.awaits_robots = true;
        }
    }

    /// Counts a lease that went out before this process, when its host is not placed yet: [`place_all`](Self::place_all) does that.
    pub(crate) fn note_lent_before(&mut self, state: &mut State, lease: &mut Lease) {
        if lease.queue.is_some()
            && state.host(lease.host).scheduling.out == 0
            && let Some(in_flight) = self.lent.in_flight.get_mut(&lease.host)
        {
            in_flight.awaits_robots = false;
        }
        let notes_pages = self.lends_concurrently(state, lease.host) || state.host(lease.host).in_hand > 0;
        let scheduling = &mut state.scheduling()[lease.host];
        if let Some(page) = lease.position {
            scheduling.state = HostState::Leased(lease.priority);
            scheduling.out += 1;
            self.lent.pages += 1;
            if notes_pages {
                self.lent.add(lease, page);
            }
            if lease.trouble.is_some() {
                self.lent.give_up(lease.host);
            }
        } else {
            scheduling.state = HostState::LeasedRobots;
        }
        self.take_places(state, lease);
        self.lent.all += 1;
        self.lent.first_contacts += u64::from(lease.is_first_contact && lease.trouble.is_none());
    }

    /// A lease is back: it frees its places before its outcome is judged, so that hosts in a wait queue are called before its own host
    /// is [placed](Self::place_returned).
    pub(crate) fn take_back(
        &mut self,
        state: &mut State,
        lease: &Lease,
        outcome: &Outcome,
        answered_at: Timestamp,
        now: Timestamp,
    ) {
        self.lent.all -= 1;
        self.lent.first_contacts -= u64::from(lease.is_first_contact && lease.trouble.is_none());
        self.give_places_back(state, lease, outcome, answered_at, now);
    }

    /// A page's host has answered: its place is free, and it is in hand from now on. The host rests until `over`, and
    /// until `asked` if its answer asked for more and that was not journaled.
    pub(crate) fn take_in_hand(
        &mut self,
        state: &mut State,
        (id, page): (HostId, Position),
        (over, asked): (Timestamp, Timestamp),
    ) {
        state.scheduling()[id].out -= 1;
        self.note_in_hand(state, id, page);
        let in_flight = self.lent.in_flight.entry(id).or_default();
        (in_flight.next, in_flight.rest) = (in_flight.next.max(over), in_flight.rest.max(asked));
    }

    /// Counts a page that was in hand before this process, when its host is not placed yet.
    pub(crate) fn note_in_hand_before(&mut self, state: &mut State, id: HostId, page: Position) {
        self.lent.pages += 1;
        self.note_in_hand(state, id, page);
        self.count_left(state, id);
    }

    /// Counts a page in hand.
    fn note_in_hand(&mut self, state: &mut State, id: HostId, page: Position) {
        *state.scheduling().in_hand(id) += 1;
        self.lent.in_hand += 1;
        if let Some(group) = state.policy(id).group.filter(|_| self.politeness.has_budgets()) {
            *self.lent.in_hand_of.entry(group).or_default() += 1;
        }
        let pages = &mut self.lent.in_flight.entry(id).or_default().pages;
        if !pages.contains(&page) {
            pages.push(page);
        }
    }

    /// A page in hand is complete, or was taken back. It keeps its place in the host's queue until the host is
    /// [placed](Self::place_returned).
    pub(crate) fn leaves_hand(&mut self, state: &State, id: HostId) {
        self.lent.in_hand -= 1;
        if let Some(group) = state.policy(id).group
            && let Some(pages) = self.lent.in_hand_of.get_mut(&group)
        {
            *pages -= 1;
        }
    }

    /// The pages in hand of a group of hosts that has a budget.
    pub(super) fn in_hand_of(&self, group: u16) -> u64 {
        self.lent.in_hand_of.get(&group).copied().unwrap_or_default()
    }

    /// Places the host of a returned lease. A host with several connections may already be placed; a page that is to be tried again may
    /// then move it up.
    pub(crate) fn place_returned(&mut self, state: &mut State, lease: &Lease, now: Timestamp) {
        let mut hosts = state.scheduling();
        if let Some(page) = lease.position {
            if lease.is_in_hand {
                *hosts.in_hand(lease.host) -= 1;
            } else {
                hosts[lease.host].out -= 1;
            }
            self.lent.pages -= 1;
            self.lent.remove(lease.host, page);
            if lease.trouble.is_some() {
                self.lent.take_given_up(lease.host);
            }
        } else {
            hosts[lease.host].state = HostState::Leased(0);
        }
        self.place_again(state, lease.host, now);
    }

    /// Places a host after one of its pages came back, or was answered. The host may be placed already, or be out for a robots.txt.
    pub(crate) fn place_again(&mut self, state: &mut State, id: HostId, now: Timestamp) {
        if matches!(state.host(id).scheduling.state, HostState::Leased(_)) {
            self.place(state, id, now);
            return;
        }
        self.count_outlook(state, id);
        if let Some(first) = self.first_free(state, id) {
            self.arrived(state, id, first.priority, now);
        }
    }
}

/// Whether one more page of a host may go out: its budget allows it, and fewer than [`MOST_OF_HOST`] pages are in hand.
fn has_hand_left(state: &State, id: HostId) -> bool {
    let host = state.host(id);
    let lent = u64::from(host.scheduling.out) + u64::from(host.in_hand);
    host.in_hand < MOST_OF_HOST && lent < state.pages_left(id)
}
