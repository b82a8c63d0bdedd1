//! The queues of hosts: who may be asked now, who waits and for what, and what is lent out.
//!
//! [`HostQueues`] has all queues of hosts, the groups that share a clock, and the leases that are out. Its fields are its own: a host
//! changes its queue only through it. None of this is state. It follows from queues and clocks, and a resume places all hosts once.
//!
//! A host whose turn it is leaves the front queue as a [`FrontTurn`]. However the turn ends, by a lease, by none or by an error of the journal,
//! the host is placed, and each of its rate groups calls its next host. A rate group whose next host is not called would stand still for
//! ever, and so would a host in no queue.
//!
//! - `placing`: a host goes to the agenda, to the front queue, or to the hosts that are held or give way.
//! - `rate_groups`: hosts of one group, on one server or on one IP address share a clock, and wait for it in a queue.
//! - `lent`: the leases that are out, among them several pages of one host.
//! - `robots_for_others`: hosts that wait for another host to be asked for their robots.txt.
//! - `rows`: hosts come into memory, and leave it.
//! - `waits`: how long a sample of URLs and hosts wait.

mod lent;
mod placing;
mod rate_groups;
mod robots_for_others;
mod rows;
mod waits;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::{Frontier, FrontierOptions, FrontierStatistics};
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{FailingHosts, HostId, HostState, Patience, PolitenessTable, QueueOrder};
use crate::frontier::queues::{Agenda, Domains, Front, RateGroups};
use crate::frontier::state::State;
use crate::frontier::{Lease, Timestamp};
use crate::gate::Position;
use lent::Lent;
pub(super) use rate_groups::ServerNews;
use robots_for_others::{QueueRobots, RobotsForOthers};
use waits::Waits;

/// All hosts with URLs queued, each in one place, and what is lent out. Its calls take the state, which has the hosts themselves.
#[derive(Debug)]
pub(crate) struct HostQueues {
    politeness: Arc<PolitenessTable>,
    /// The order of hosts that have no rule about it.
    order: QueueOrder,
    /// Some hosts may have several requests out at once.
    lends_concurrently: bool,
    /// Hosts that may be asked now.
    front: Front,
    /// Hosts that are due and have never answered, held because the maximum of such hosts is lent out.
    held: Front,
    /// The most first contacts that may be lent out at once.
    most_first_contacts: u64,
    /// When this many pages are in hand, nothing more is lent.
    most_in_hand: u64,
    /// Hosts that rest.
    agenda: Agenda,
    /// Hosts on the agenda whose hours have not begun.
    asleep: usize,
    /// Groups, servers and addresses whose hosts share a clock, and the hosts that wait for it.
    rate_groups: RateGroups,
    /// The registrable domains of hosts with the turns they have had, and the hosts that give way.
    domains: Domains,
    /// Hosts that are to be asked for the robots.txt of others, which wait for it.
    robots_for_others: RobotsForOthers,
    /// Named queues that have asked for a robots.txt, and lent no page since.
    queue_robots: QueueRobots,
    /// The outstanding leases.
    lent: Lent,
    /// Hosts with URLs queued, including those lent out.
    busy: usize,
    /// Failing hosts, by their outlook.
    failing: FailingHosts,
    /// How long things wait.
    waits: Waits,
}

/// A host whose turn it is, in no queue. When the turn is dropped, each of the host's rate groups calls its next host, and the host is
/// placed unless it is lent out.
#[must_use]
pub(super) struct FrontTurn<'a, J: Journal> {
    frontier: &'a mut Frontier<J>,
    host: HostId,
    priority: u8,
    now: Timestamp,
}

impl<'a, J: Journal> FrontTurn<'a, J> {
    /// The turn of the next host that may be asked; `None` if there is none.
    #[inline]
    pub(super) fn begin(frontier: &'a mut Frontier<J>, now: Timestamp) -> Option<Self> {
        let (host, priority) = frontier.queues.take(&mut frontier.state, now)?;
        Some(Self { frontier, host, priority, now })
    }

    /// [Lends](Frontier::lend) the host, if there is anything to lend.
    ///
    /// # Errors
    /// If the journal fails. Nothing is lent then.
    #[inline]
    pub(super) fn lend(&mut self, drops: &mut u32) -> io::Result<Option<Lease>> {
        self.frontier.lend(self.host, self.priority, self.now, drops)
    }
}

impl<J: Journal> Drop for FrontTurn<'_, J> {
    #[inline]
    fn drop(&mut self) {
        self.frontier.queues.end_turn(&mut self.frontier.state, self.host, self.now);
    }
}

/// Why a host whose turn has come is not asked.
enum Hindrance {
    /// It is in a wait queue now.
    Waits,
    /// It is in no queue, and has to be placed.
    Rests,
}

impl HostQueues {
    /// No host is in a queue. Rate groups first rest from `since` on, if another process was there before.
    pub(super) fn new(politeness: Arc<PolitenessTable>, options: &FrontierOptions, since: Option<Timestamp>) -> Self {
        Self {
            order: options.order,
            most_in_hand: options.pages_in_hand as u64,
            rate_groups: RateGroups::new(&politeness, since),
            domains: Domains::new(options.traps.domain_lead),
            lends_concurrently: politeness.lends_concurrently(),
            politeness,
            front: Front::default(),
            held: Front::default(),
            most_first_contacts: u64::MAX,
            agenda: Agenda::default(),
            asleep: 0,
            robots_for_others: RobotsForOthers::default(),
            queue_robots: QueueRobots::default(),
            lent: Lent::default(),
            busy: 0,
            failing: FailingHosts::default(),
            waits: Waits::default(),
        }
    }

    /// At most `most` hosts that have never answered are lent out at once.
    pub(super) fn limit_first_contacts(&mut self, most: usize) {
        self.most_first_contacts = most.max(1) as u64;
    }

    /// Takes the next host that may be asked out of its queue, with its priority. Hosts before it that have to wait are placed. Only a
    /// [`FrontTurn`] may take it: a host that is taken is in no queue.
    #[inline]
    fn take(&mut self, state: &mut State, now: Timestamp) -> Option<(HostId, u8)> {
        loop {
            let (host, priority, gives_way) = self.pop(state)?;
            let Some(hindrance) = self.hinders(state, (host, priority, gives_way), now) else {
                return Some((host, priority));
            };
            self.wake_groups(state, host, now);
            if let Hindrance::Rests = hindrance {
                self.place(state, host, now);
            }
        }
    }

    /// Takes the host whose turn it is from the front queue; if that is empty, a known host that gives way. Returns it with its priority,
    /// and whether it has to give way: its domain is ahead, and it is new or another host is due.
    #[inline]
    fn pop(&mut self, state: &mut State) -> Option<(HostId, u8, bool)> {
        let hosts = &mut state.scheduling();
        let Some((id, priority)) = self.front.pop(hosts) else {
            return self.domains.take_spare(hosts).map(|(id, priority)| (id, priority, false));
        };
        let gives_way = self.domains.is_ahead(id) && self.may_give_way(state, id);
        Some((id, priority, gives_way))
    }

    /// Why a host that was taken from the front queue is not asked now, if it is not. Ends the reservation that a rate group has made for
    /// it.
    #[inline]
    fn hinders(
        &mut self,
        state: &mut State,
        (host, priority, gives_way): (HostId, u8, bool),
        now: Timestamp,
    ) -> Option<Hindrance> {
        let caller = self.take_reservation(state, host);
        if self.is_outside_its_hours(state, host, now) {
            return Some(Hindrance::Rests);
        }
        if gives_way {
            let is_new = !state.host(host).status.has_answered;
            self.domains.give_way(&mut state.scheduling(), host, priority, is_new);
            return Some(Hindrance::Waits);
        }
        if self.is_to_be_held(state, host) {
            self.hold(state, host, priority);
            return Some(Hindrance::Waits);
        }
        if self.must_wait(state, host, now) {
            return Some(Hindrance::Rests);
        }
        self.stands_in_line(state, host, priority, caller, now).then_some(Hindrance::Waits)
    }

    /// A host's turn is over. It is lent out, or has to be placed; with further connections both.
    #[inline]
    fn end_turn(&mut self, state: &mut State, host: HostId, now: Timestamp) {
        self.wake_groups(state, host, now);
        let is_out = match state.host(host).scheduling.state {
            HostState::LeasedRobots => true,
            HostState::Leased(_) => !self.lends_concurrently(state, host),
            _ => false,
        };
        if !is_out {
            self.place(state, host, now);
        }
    }
}

/// Questions.
impl HostQueues {
    /// Whether any host may be asked now, by its own clock and its domain.
    #[inline]
    pub(super) fn is_any_due(&self) -> bool {
        self.front.len() > 0 || self.domains.spare() > 0
    }

    /// The same, or a host that gives way may go.
    pub(super) fn has_turn(&self) -> bool {
        self.front.len() > 0 || self.domains.has_turn()
    }

    /// Whether a host gives way.
    pub(super) fn gives_any_way(&self) -> bool {
        self.domains.waiting() > 0
    }

    /// When the first host that waits for its own clock or a rate group's may be asked.
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        let rate_group = self.rate_groups.earliest();
        self.agenda
            .earliest()
            .map_or(rate_group, |host| Some(rate_group.map_or(host, |rate_group| rate_group.min(host))))
    }

    /// If nothing is out and all remaining hosts sleep until their hours begin: when the first may be asked, and how many there are.
    pub(super) fn sleeps_until(&self) -> Option<(Timestamp, usize)> {
        let all_sleep = self.asleep > 0 && self.asleep == self.active_hosts() && self.leased() == 0;
        // A rate group whose last host has left may still be noted.
        self.agenda.earliest().filter(|_| all_sleep).map(|until| (until, self.asleep))
    }

    /// Hosts with URLs queued that are not lent out. If there are none and nothing is out, the frontier has drained, except for its
    /// schedule.
    fn active_hosts(&self) -> usize {
        let in_line = self.rate_groups.waiting() + self.domains.waiting() + self.robots_for_others.waiting();
        self.agenda.len() + self.front.len() + self.held.len() + in_line
    }

    /// The hosts whose turn is probably next, after that, and third.
    #[inline]
    pub(super) fn ahead(&self, state: &State) -> [Option<HostId>; 3] {
        if let Some(next) = self.front.first(state.back().priorities()) {
            return [Some(next), state.host(next).scheduling.link.next(), None];
        }
        let mut resting = self.agenda.first_three();
        [resting.next(), resting.next(), resting.next()]
    }

    /// The order of priorities has changed.
    pub(super) fn reorder(&mut self, state: &State) {
        self.front.reorder(state.back().priorities());
        self.held.reorder(state.back().priorities());
    }

    /// The groups, servers and addresses that share a clock.
    pub(super) fn rate_groups(&self) -> &RateGroups {
        &self.rate_groups
    }

    /// The numbers that follow from queues and leases; the others are 0. `is_limited` says whether the whole crawl has a rate.
    pub(super) fn statistics(&self, is_limited: bool) -> FrontierStatistics {
        FrontierStatistics {
            leased: self.leased(),
            leased_robots: self.leased() - self.lent.pages,
            in_hand: self.lent.in_hand,
            active_hosts: self.active_hosts() as u64,
            resting_hosts: self.agenda.len() as u64,
            sleeping_hosts: self.asleep as u64,
            next_due: self.agenda.earliest(),
            hosts_in_line: self.rate_groups.waiting() as u64,
            hosts_giving_way: self.domains.waiting() as u64,
            held_by_rate: if is_limited { self.front.len() as u64 } else { 0 },
            addresses: self.rate_groups.addresses() as u64,
            failing_hosts: self.failing.failing() as u64,
            memory: (self.agenda.memory() + self.rate_groups.memory() + self.domains.memory()) as u64,
            ..FrontierStatistics::default()
        }
    }

    /// Whether the crawl only waits for failing hosts, and until when it will.
    ///
    /// The wait begins when every host with URLs queued or lent out fails, and nothing is scheduled. It ends after `politeness.patience`,
    /// or at once if no failing host could be asked before that.
    #[inline]
    pub(super) fn patience(&mut self, state: &State, now: Timestamp) -> Patience {
        let failing = self.failing.failing();
        if failing == 0 || failing < self.busy || state.schedule().len() > 0 {
            self.failing.since = None;
            return Patience::Unasked;
        }
        let until = *self.failing.since.get_or_insert(now) + self.politeness.patience;
        let may_come = self.leased() > 0 || self.is_any_due() || self.earliest().is_some_and(|due| due <= until);
        if self.failing.struggling > 0 && now < until && may_come { Patience::Until(until) } else { Patience::Over }
    }
}

/// The sample of waits.
impl HostQueues {
    /// A URL is queued.
    #[inline]
    pub(super) fn url_came(&mut self, url: Position, now: Timestamp) {
        self.waits.queued(url, now);
    }

    /// A URL left its queue without being lent out.
    #[inline]
    pub(super) fn url_left(&mut self, url: Position) {
        self.waits.dropped(url);
    }

    /// The longest time that a host of the sample has been due; `None` if none is due.
    pub(super) fn longest_due(&self, now: Timestamp) -> Option<Duration> {
        self.waits.longest_due(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::{HostGroup, Next, Outcome};
    use crate::gate::{Refusal, ScopeKind};

    /// A rest of the group, after which its next host may be asked.
    const REST: Duration = Duration::from_secs(2);

    /// Three hosts of one group, with one page each and without robots.txt. One of them has been asked; the others wait for the group.
    fn group() -> (Frontier, Timestamp) {
        let mut options = FrontierOptions::default();
        (options.scope.kind, options.politeness.robots) = (ScopeKind::Any, false);
        let hosts = vec!["*.cdn.test".to_owned()];
        let group = HostGroup { hosts, delay: Some(REST), connections: Some(1), ..HostGroup::default() };
        options.rules.groups.insert("cdn".to_owned(), group);
        let (mut frontier, now) = (Frontier::new(&options).unwrap(), Timestamp::from_micros(1_000_000));
        for host in ["a", "b", "c"] {
            assert_eq!(frontier.seed(&*format!("http://{host}.cdn.test/"), now).unwrap(), None);
        }
        asked(&mut frontier, now);
        assert!(matches!(frontier.next(now).unwrap(), Next::Wait(until) if until == now + REST));
        (frontier, now + REST)
    }

    /// Asks the next host, and returns its origin.
    fn asked(frontier: &mut Frontier, now: Timestamp) -> String {
        let next = frontier.next(now).unwrap();
        let Next::Fetch(lease) = next else { panic!("the group stands still: {next:?}") };
        let (origin, outcome) = (lease.origin().to_owned(), Outcome::response(&lease, 404, b""));
        frontier.complete(lease, outcome, now).unwrap();
        origin
    }

    #[test]
    fn a_turn_that_ends_early_leaves_its_group_going() {
        // However its host is left: with its page, or without any, so that it does not come back by itself.
        for loses_its_page in [false, true] {
            let (mut frontier, now) = group();
            frontier.queues.wake(&mut frontier.state, now);
            let turn = FrontTurn::begin(&mut frontier, now).expect("the group has rested");
            let host = turn.host;
            if loses_its_page {
                let first = turn.frontier.queues.first_free(&turn.frontier.state, host).unwrap();
                turn.frontier.set_aside(host, first, Refusal::Dropped).unwrap();
            }
            // As an error does that is returned at once.
            drop(turn);
            let (early, scheduling) =
                (frontier.state.host(host).key.to_string(), frontier.state.host(host).scheduling.state);
            assert_eq!(matches!(scheduling, HostState::Idle), loses_its_page, "{scheduling:?}");
            let first = asked(&mut frontier, now);
            if loses_its_page {
                assert_ne!(first, early);
            } else {
                assert_ne!(asked(&mut frontier, now + REST + REST), first);
            }
            assert!(matches!(frontier.next(now).unwrap(), Next::Drained));
        }
    }

    #[test]
    fn a_panic_in_a_turn_leaves_its_group_going() {
        let (mut frontier, now) = group();
        frontier.queues.wake(&mut frontier.state, now);
        let panics = std::panic::AssertUnwindSafe(|| {
            let _turn = FrontTurn::begin(&mut frontier, now).expect("the group has rested");
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        let first = asked(&mut frontier, now);
        assert_ne!(asked(&mut frontier, now + REST + REST), first);
    }
}
