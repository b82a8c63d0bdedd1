//! Rate groups at work: whose turn it is among hosts that share a clock, because they are in one group, on one server or on one IP address.
//!
//! A host waits for its clocks one after the other: for its own on the agenda, then for those of its rate groups in their wait queues. It
//! comes to a wait queue only when its own rest is over, and is lent out only when all its rate groups are free.
//!
//! A retired host waits for none of them: it is not asked.
//!
//! # First pages come first
//!
//! In a wait queue, a host whose robots.txt has come goes before all others of its priority until it has been asked for a page. Otherwise a
//! thousand names on one address would all be asked for their robots.txt before any is asked for a page, and if all of them serve the same
//! pages, that would be noticed only then. Each robots.txt delays the other hosts by at most one page: no host is asked for its robots.txt
//! while such a host is in the wait queue.
//!
//! # Addresses are reported
//!
//! A group follows from the host's name. An address is known only once the name has been looked up, which the fetcher does. So a host
//! without a known address is lent out by its own clock and its group's. The fetcher looks the name up, reports what it [resolved
//! to](Frontier::resolved), and connects only if the address is free; otherwise it releases the lease, and the host joins the wait queue of
//! the address. However many hosts are new at once, none is connected to out of turn. From then on the host is lent out when the address is
//! free. The fetcher reports the addresses with each lease, since a name may move: the request then counts for the new address.
//!
//! An address is not state, and is not journaled: after a restart or an eviction, the host's next request reports it again.
//!
//! # The default ports of one name are one server
//!
//! A robots.txt belongs to an origin (RFC 9309 section 2.3), and so do queues and rules. But to its owner, the default ports of a name, 80
//! of http and 443 of https, are one server: they share a clock. The server's rest is the longer of the two, and a request that is out to
//! one port counts for the other. Other ports are hosts of their own. A host rule can join all ports of a name, or separate them
//! ([`one_server`](crate::frontier::HostRule::one_server)).
//!
//! They also share failures that are the server's: no answer in time, a status of too much load, a name that cannot be resolved. Such a
//! failure of one port counts as one more in a row for each port. A good answer resets only the count of its own port: if https answers and
//! http never does, http is retired in the end, while each of its failures counts as the first in a row for https. A port that takes no
//! connection, or has a bad certificate, says nothing about the others. If one port asks for a rest, all of them take it.
//!
//! A server's rate group is made when its second host comes into memory, or with its first if a rule joins all ports of the name: most
//! hosts never have one. When the host of one default port comes into memory, the other is brought back if it was evicted, so that the
//! longer rest holds. Everything that must outlive the process is stored in the hosts.

use std::time::Duration;

use super::HostQueues;
use crate::frontier::hosts::{GroupKind, Host, HostId, HostState, RateGroupId, ServerAddress};
use crate::frontier::lease::{Blame, OnAddress, Resolved};
use crate::frontier::state::State;
use crate::frontier::{Failure, Lease, Outcome, Timestamp};

impl HostQueues {
    /// The host of a lease that is out has this address; says whether it may be connected to now.
    pub(crate) fn resolved(
        &mut self,
        state: &mut State,
        lease: &mut Lease,
        address: ServerAddress,
        now: Timestamp,
    ) -> Resolved {
        // Hosts that wait for an address that has rested go before this one.
        self.wake(state, now);
        if let Some(before) = lease.address.take() {
            self.rate_groups.take_back(before.rate_group, false, now);
            self.call(state, before.rate_group, GroupKind::Address, now);
        }
        let rate_group = self.move_to(state, lease.host, address, now);
        if !self.rate_groups.is_free(rate_group, now) {
            return Resolved::Release;
        }
        self.rate_groups.lend(rate_group, now);
        lease.address = Some(OnAddress { rate_group, address, since: now });
        Resolved::Connect
    }

    /// Notes that a host has this address from now on. If it waits for its old address, it leaves that wait queue, or frees the place
    /// reserved for it there: the next host of that queue is called at once, since nothing else would call it.
    fn move_to(&mut self, state: &mut State, id: HostId, address: ServerAddress, now: Timestamp) -> RateGroupId {
        let rate_group = self.rate_groups.join_address(address, now);
        let scheduling = state.host(id).scheduling;
        let is_bound =
            scheduling.state.line().map(|(kind, _)| kind).or(scheduling.state.caller()) == Some(GroupKind::Address);
        let is_moving = is_bound && scheduling.address != Some(rate_group) && self.leaves_its_queue(state, id);
        state.scheduling()[id].address = Some(rate_group);
        if let Some(before) = scheduling.address {
            self.rate_groups.leave_address(before);
            self.call(state, before, GroupKind::Address, now);
        }
        if is_moving {
            self.place(state, id, now);
        }
        rate_group
    }

    /// A rate group of a host.
    pub(super) fn rate_group(&self, state: &State, id: HostId, kind: GroupKind) -> Option<RateGroupId> {
        match kind {
            GroupKind::Group => state.policy(id).group.map(RateGroupId::of_group),
            GroupKind::Address => state.host(id).scheduling.address,
            GroupKind::Server => self.rate_groups.server_of(id),
        }
    }

    /// The rate groups of a host: its group's, then its server's, then its address's. A host waits for them in that order.
    #[inline]
    fn rate_groups_of(&self, state: &State, id: HostId) -> [Option<(RateGroupId, GroupKind)>; 3] {
        if self.rate_groups.is_empty() {
            return [None; 3];
        }
        [GroupKind::Group, GroupKind::Server, GroupKind::Address]
            .map(|kind| Some((self.rate_group(state, id, kind)?, kind)))
    }

    /// Notes that a host was taken from the front queue, releases its reservation, and returns the kind of rate group that called it there.
    /// Call it for each host that is taken, before anything else is decided about it: a reservation that is never released blocks its rate
    /// group for ever.
    pub(super) fn take_reservation(&mut self, state: &State, id: HostId) -> Option<GroupKind> {
        let caller = state.host(id).scheduling.state.caller();
        if let Some(rate_group) = caller.and_then(|kind| self.rate_group(state, id, kind)) {
            self.rate_groups.answered(rate_group);
        }
        caller
    }

    /// Puts a host that was taken from the front queue into a rate group's wait queue, if it has to wait; says whether it has to. A host
    /// that is retired or has spent its budget does not wait: its pages are given up or set aside, and it is not asked.
    pub(super) fn stands_in_line(
        &mut self,
        state: &mut State,
        id: HostId,
        priority: u8,
        caller: Option<GroupKind>,
        now: Timestamp,
    ) -> bool {
        let mut rate_groups = self.rate_groups_of(state, id).into_iter().flatten();
        let is_taken = |&(rate_group, kind): &(RateGroupId, GroupKind)| match caller {
            Some(caller) if caller != kind => !self.rate_groups.is_open(rate_group, now),
            _ => !self.rate_groups.is_free(rate_group, now),
        };
        let Some((rate_group, kind)) = rate_groups.find(is_taken) else { return false };
        let host = state.host(id);
        if self.is_over(state, id) {
            return false;
        }
        let is_first = caller == Some(kind) || (host.robots.is_unused() && host.in_hand == 0);
        self.rate_groups.stand(rate_group, kind, &mut state.scheduling(), id, (priority, is_first));
        true
    }

    /// A host in a wait queue has a better URL: it goes after all hosts with an equally good one.
    pub(super) fn promote(&mut self, state: &mut State, id: HostId, kind: GroupKind, from: u8, to: u8) {
        let rate_group = self.rate_group(state, id, kind).expect("a host in a wait queue has a rate group");
        self.rate_groups.promote(rate_group, kind, &mut state.scheduling(), id, from, to);
    }

    /// Calls the next host of each of this host's rate groups that is free and has one waiting.
    #[inline]
    pub(crate) fn wake_groups(&mut self, state: &mut State, id: HostId, now: Timestamp) {
        for (rate_group, kind) in self.rate_groups_of(state, id).into_iter().flatten() {
            self.call(state, rate_group, kind, now);
        }
    }

    /// Calls the next host of a rate group to the front queue, if the rate group is free and a host waits; says whether it called one.
    pub(super) fn call(&mut self, state: &mut State, rate_group: RateGroupId, kind: GroupKind, now: Timestamp) -> bool {
        let hosts = &mut state.scheduling();
        let Some((host, priority)) = self.rate_groups.call(rate_group, hosts, now) else { return false };
        hosts[host].state = HostState::called(kind, priority);
        self.front.push(hosts, host, priority);
        true
    }

    /// A request takes a place in each rate group of its host. A page to be given up is not requested, and takes none.
    pub(super) fn take_places(&mut self, state: &State, lease: &mut Lease) {
        if self.rate_groups.is_empty() || lease.trouble.is_some() {
            return;
        }
        if let Some(group) = self.rate_group(state, lease.host, GroupKind::Group) {
            self.rate_groups.lend(group, lease.lent_at);
            lease.group = self.rate_groups.group(group).map(|sharing| (group, sharing));
        }
        if let Some(server) = self.rate_groups.server_of(lease.host) {
            self.rate_groups.lend(server, lease.lent_at);
            lease.server = self.rate_groups.group(server);
        }
        if let Some(rate_group) = self.rate_group(state, lease.host, GroupKind::Address) {
            self.rate_groups.lend(rate_group, lease.lent_at);
            let since = lease.lent_at;
            lease.address =
                self.rate_groups.address(rate_group).map(|address| OnAddress { rate_group, address, since });
        }
    }

    /// Notes the places that a lease has, which went out before; `address` is the rate group of its address.
    pub(crate) fn places_of(&self, state: &State, lease: &mut Lease, address: Option<RateGroupId>) {
        if self.rate_groups.is_empty() || lease.trouble.is_some() {
            return;
        }
        if let Some(group) = self.rate_group(state, lease.host, GroupKind::Group) {
            lease.group = self.rate_groups.group(group).map(|sharing| (group, sharing));
        }
        lease.server = self.rate_groups.server_of(lease.host).and_then(|server| self.rate_groups.group(server));
        lease.address = address.and_then(|rate_group| {
            let address = self.rate_groups.address(rate_group)?;
            Some(OnAddress { rate_group, address, since: lease.lent_at })
        });
    }

    /// A request is back, and frees its places. If the response asks for a rest, the whole group and the server rest; the address does not,
    /// since one host does not speak for the other hosts there.
    pub(super) fn give_places_back(
        &mut self,
        state: &mut State,
        lease: &Lease,
        outcome: &Outcome,
        answered_at: Timestamp,
        now: Timestamp,
    ) {
        let was_sent = !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        if let Some((group, _)) = lease.group {
            self.rate_groups.take_back(group, was_sent, answered_at);
            if let Some(rest) = outcome.asks_for() {
                self.rate_groups.rest_until(group, answered_at + rest.min(self.politeness.max_retry_after));
            }
            self.call(state, group, GroupKind::Group, now);
        }
        if let Some(server) = self.rate_groups.server_of(lease.host).filter(|_| lease.trouble.is_none()) {
            self.rate_groups.take_back(server, was_sent, answered_at);
            if let Some(rest) = outcome.asks_for() {
                self.rate_groups.rest_until(server, answered_at + rest.min(self.politeness.max_retry_after));
            }
            self.call(state, server, GroupKind::Server, now);
        }
        if let Some(OnAddress { rate_group, .. }) = lease.address {
            self.rate_groups.take_back(rate_group, was_sent, answered_at);
            self.call(state, rate_group, GroupKind::Address, now);
        }
    }

    /// A host has come into memory. It shares the clock of its server's other ports, if there are any.
    pub(crate) fn join_server(&mut self, state: &State, id: HostId, other_port: Option<HostId>, now: Timestamp) {
        let policy = *state.policy(id);
        let is_joined = policy.one_server == Some(true);
        if !is_joined && other_port.is_none() {
            return;
        }
        let name = state.host(id).key.host();
        let known = self.rate_groups.server_named(name);
        let rate_group = known.unwrap_or_else(|| self.rate_groups.add_server(name, policy.connections, now));
        for port in other_port.into_iter().chain([id]) {
            self.add_port(state, rate_group, port, now);
        }
        if !is_joined {
            self.rate_groups.all_here(rate_group);
        }
        self.rate_groups.set_delay(rate_group, self.server_delay(state, rate_group), None);
    }

    /// Adds a host to its server. It may have been asked already, or be lent out: every request that is out counts, and so will its return.
    /// A page that is out to be given up is no request, even if its host is no longer retired.
    fn add_port(&mut self, state: &State, rate_group: RateGroupId, id: HostId, now: Timestamp) {
        if self.rate_groups.server_of(id).is_some() {
            return;
        }
        let host = state.host(id);
        let is_asked = host.scheduling.state == HostState::LeasedRobots;
        let out = host.scheduling.out - self.lent.given_up(id) + u8::from(is_asked);
        let rested = self.rested_as_server(host);
        let rested = self.unrecorded_rest(host, id).map_or(rested, |unrecorded| unrecorded.max(rested));
        let rested = rested.min(now + host.delay(&self.politeness));
        self.rate_groups.join_server(rate_group, id, out);
        self.rate_groups.rest_until(rate_group, rested);
    }

    /// When the rest after a host's last answer is over, as far as its clock tells. If the host rests longer because it fails, that longer
    /// rest is not the server's.
    fn rested_as_server(&self, host: &Host) -> Timestamp {
        let delay = host.delay(&self.politeness);
        match &host.status.failure_state {
            Some(failure_state) if host.status.failures > 0 && !failure_state.is_patient => {
                let backoff = self.politeness.backoff_of(host.status.failures.into());
                Timestamp::default() + host.status.due.since(Timestamp::default() + delay.max(backoff)) + delay
            }
            _ => host.status.due,
        }
    }

    /// The longest rest of a server's ports.
    fn server_delay(&self, state: &State, rate_group: RateGroupId) -> Duration {
        let delays = self.rate_groups.ports(rate_group).iter().map(|id| state.host(*id).delay(&self.politeness));
        delays.max().unwrap_or_default()
    }

    /// Tells the rate groups of host groups what their budgets leave. Called once, before anything is lent.
    pub(crate) fn leave_pages(&mut self, state: &State) {
        for (number, group) in (0..).zip(self.politeness.groups()) {
            let left = group.budget.pages_left(state.group_usage(number));
            self.rate_groups.leave_pages(RateGroupId::of_group(number), left, 0);
        }
    }

    /// Tells the rate group of a host's group how many pages its budget leaves beside those in hand.
    pub(crate) fn count_left(&mut self, state: &State, id: HostId) {
        let Some(number) = state.policy(id).group.filter(|_| self.politeness.has_budgets()) else { return };
        let left = self.politeness.groups()[usize::from(number)].budget.pages_left(state.group_usage(number));
        self.rate_groups.leave_pages(RateGroupId::of_group(number), left, self.in_hand_of(number));
    }

    /// A lease of a host is back and counted; `was_spent` says whether its budget was spent before. Tells the rate group of its group how
    /// many pages are left. If the group's budget is now spent, its resting hosts need not rest any more: a failing one would delay the end
    /// of the crawl by its rest. That is O(hosts in memory), once for each group.
    pub(crate) fn note_spent(&mut self, state: &mut State, id: HostId, was_spent: bool, now: Timestamp) {
        let Some(number) = state.policy(id).group.filter(|_| self.politeness.has_budgets()) else { return };
        self.count_left(state, id);
        if was_spent || !state.spent(id).is_some_and(|spent| spent.is_of_group) {
            return;
        }
        let is_resting = |id: &HostId| {
            let host = state.host(*id);
            let is_resting = matches!(host.scheduling.state, HostState::Asleep | HostState::Snoozed);
            is_resting && self.politeness.policy(host.policy).group == Some(number)
        };
        let resting: Vec<HostId> = state.hosts().ids().filter(is_resting).collect();
        self.end_rests(state, &resting, now);
    }

    /// The rate group of a host's server, if it has one.
    #[inline]
    pub(crate) fn server_of(&self, id: HostId) -> Option<RateGroupId> {
        self.rate_groups.server_of(id)
    }

    /// A port of this server has answered. The server rests for the longest of its ports' delays.
    pub(crate) fn server_answered(&mut self, state: &State, server: RateGroupId, answered_at: Timestamp) {
        self.rate_groups.set_delay(server, self.server_delay(state, server), Some(answered_at));
    }

    /// Somebody else asked this host.
    pub(crate) fn was_asked(&mut self, state: &State, id: HostId, at: Timestamp) {
        for (rate_group, _) in self.rate_groups_of(state, id).into_iter().flatten() {
            self.rate_groups.was_asked(rate_group, at);
        }
    }

    /// What a lease's outcome may mean for the other ports of its server. Taken before the outcome is judged.
    #[inline]
    pub(crate) fn server_news(&self, state: &State, lease: &Lease, outcome: &Outcome) -> Option<ServerNews> {
        let was_sent = lease.trouble.is_none() && !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        self.server_of(lease.host).filter(|_| was_sent)?;
        let fails = match outcome {
            Outcome::Failed(trouble) => is_servers(trouble.failure),
            Outcome::Response { status, .. } | Outcome::Robots { status, .. } => Blame::of_status(*status).is_some(),
            _ => false,
        };
        Some(ServerNews { failures: state.host(lease.host).status.failures, fails, asks: outcome.asks_for() })
    }

    /// A server asked for a rest, or failed.
    pub(crate) fn rest_server(&mut self, server: RateGroupId, until: Timestamp) {
        self.rate_groups.rest_until(server, until);
    }

    /// An idle host is about to be evicted.
    pub(super) fn forget(&mut self, state: &State, id: HostId) {
        let host = state.host(id);
        if let Some(address) = host.scheduling.address {
            self.rate_groups.leave_address(address);
        }
        self.domains.evict(id);
        self.rate_groups.leave_server(id, host.delay(&self.politeness));
        self.forget_queue_robots(id);
    }
}

/// What an outcome at one port means for the server's other ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServerNews {
    /// The port's failures in a row before the outcome.
    pub(crate) failures: u16,
    /// It failed, and the failure may be the server's.
    pub(crate) fails: bool,
    /// The rest that it asked for.
    pub(crate) asks: Option<Duration>,
}

/// Whether a failure is the server's, and not only one port's.
const fn is_servers(failure: Failure) -> bool {
    matches!(failure, Failure::Dns | Failure::NoSuchHost | Failure::Timeout)
}
