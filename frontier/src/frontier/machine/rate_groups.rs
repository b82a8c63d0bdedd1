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

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use super::{Frontier, FrontierError};
use crate::address::HostKey;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::RateGroupId;
use crate::frontier::hosts::{GroupKind, Host, HostId, HostState, HostUpdate, ServerAddress};
use crate::frontier::lease::{Blame, OnAddress, Resolved};
use crate::frontier::{Failure, Lease, Outcome, Timestamp};

impl<J: Journal> Frontier<J> {
    /// Notes the addresses to which the name of a lease's host resolves, before a connection is made: hosts on one address are asked like
    /// one server, by [`address_delay`](crate::frontier::Politeness::address_delay) and
    /// [`connections_per_address`](crate::frontier::Politeness::connections_per_address).
    ///
    /// The least address stands for all; of IPv6 addresses, the first 64 bits. Pass them with each lease: repeating them costs next to
    /// nothing. If they are not known, as behind a proxy, pass none: the request counts for no address.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Outcome, Resolved, Timestamp};
    ///
    /// let now = Timestamp::from_micros(0);
    /// let mut options = FrontierOptions::default();
    /// options.politeness.connections_per_address = 1;
    /// let mut frontier = Frontier::new(&options)?;
    /// for seed in ["https://a.example/", "https://b.example/"] {
    ///     frontier.seed(seed, now)?;
    /// }
    /// let Next::Fetch(mut a) = frontier.next(now)? else { panic!("it is due") };
    /// let Next::Fetch(mut b) = frontier.next(now)? else { panic!("it is due, as far as anybody knows") };
    /// let addresses = ["192.0.2.1".parse()?];
    /// assert_eq!(frontier.resolved(&mut a, &addresses, now)?, Resolved::Connect);
    /// assert_eq!(frontier.resolved(&mut b, &addresses, now)?, Resolved::Release);
    /// frontier.complete(b, Outcome::Released, now)?;
    /// assert!(matches!(frontier.next(now)?, Next::Busy));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ForeignLease`](FrontierError::ForeignLease).
    pub fn resolved(
        &mut self,
        lease: &mut Lease,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> Result<Resolved, FrontierError> {
        self.check_is_out(lease)?;
        let Some(address) = lease.address_among(addresses) else { return Ok(Resolved::Connect) };
        // Hosts that wait for an address that has rested go before this one.
        self.wake(now);
        if let Some(before) = lease.address.take() {
            self.rate_groups.take_back(before.rate_group, false, now);
            self.call(before.rate_group, GroupKind::Address, now);
        }
        let rate_group = self.move_to(lease.host, address, now);
        if !self.rate_groups.is_free(rate_group, now) {
            return Ok(Resolved::Release);
        }
        self.rate_groups.lend(rate_group, now);
        lease.address = Some(OnAddress { rate_group, address, since: now });
        Ok(Resolved::Connect)
    }

    /// Notes that a host has this address from now on. If it waits for its old address, it leaves that wait queue, or frees the place
    /// reserved for it there: the next host of that queue is called at once, since nothing else would call it.
    fn move_to(&mut self, id: HostId, address: ServerAddress, now: Timestamp) -> RateGroupId {
        let rate_group = self.rate_groups.join(address, now);
        let seat = self.state.host(id).seat;
        let is_bound = seat.state.line().map(|(kind, _)| kind).or(seat.state.caller()) == Some(GroupKind::Address);
        let is_moving = is_bound && seat.address != Some(rate_group) && self.leaves_its_queue(id);
        self.state.seats()[id].address = Some(rate_group);
        if let Some(before) = seat.address {
            self.rate_groups.part(before);
            self.call(before, GroupKind::Address, now);
        }
        if is_moving {
            self.place(id, now);
        }
        rate_group
    }

    /// A rate group of a host.
    fn rate_group(&self, id: HostId, kind: GroupKind) -> Option<RateGroupId> {
        match kind {
            GroupKind::Group => self.policy(id).group.map(RateGroupId::of_group),
            GroupKind::Address => self.state.host(id).seat.address,
            GroupKind::Server => self.rate_groups.server_of(id),
        }
    }

    /// The rate groups of a host: its group's, then its server's, then its address's. A host waits for them in that order.
    #[inline]
    fn rate_groups_of(&self, id: HostId) -> [Option<(RateGroupId, GroupKind)>; 3] {
        if self.rate_groups.is_empty() {
            return [None; 3];
        }
        [GroupKind::Group, GroupKind::Server, GroupKind::Address].map(|kind| Some((self.rate_group(id, kind)?, kind)))
    }

    /// Notes that a host was taken from the front queue, releases its reservation, and returns the kind of rate group that called it there.
    /// Call it for each host that is taken, before anything else is decided about it: a reservation that is never released blocks its rate
    /// group for ever.
    pub(crate) fn take_reservation(&mut self, id: HostId) -> Option<GroupKind> {
        let caller = self.state.host(id).seat.state.caller();
        if let Some(rate_group) = caller.and_then(|kind| self.rate_group(id, kind)) {
            self.rate_groups.answered(rate_group);
        }
        caller
    }

    /// Puts a host that was taken from the front queue into a rate group's wait queue, if it has to wait; says whether it has to. A host
    /// that is retired or has spent its budget does not wait: its pages are given up or set aside, and it is not asked.
    pub(crate) fn stands_in_line(
        &mut self,
        id: HostId,
        priority: u8,
        caller: Option<GroupKind>,
        now: Timestamp,
    ) -> bool {
        let mut rate_groups = self.rate_groups_of(id).into_iter().flatten();
        let is_taken = |&(rate_group, kind): &(RateGroupId, GroupKind)| match caller {
            Some(caller) if caller != kind => !self.rate_groups.is_open(rate_group, now),
            _ => !self.rate_groups.is_free(rate_group, now),
        };
        let Some((rate_group, kind)) = rate_groups.find(is_taken) else { return false };
        let host = self.state.host(id);
        if self.is_over(host, id) {
            return false;
        }
        let is_first = caller == Some(kind) || host.robots.is_unused();
        self.rate_groups.stand(rate_group, kind, &mut self.state.seats(), id, (priority, is_first));
        true
    }

    /// A host in a wait queue has a better URL: it goes after all hosts with an equally good one.
    pub(crate) fn promote(&mut self, id: HostId, kind: GroupKind, from: u8, to: u8) {
        let rate_group = self.rate_group(id, kind).expect("a host in a wait queue has a rate group");
        self.rate_groups.promote(rate_group, kind, &mut self.state.seats(), id, from, to);
    }

    /// Calls the next host of each of this host's rate groups that is free and has one waiting.
    #[inline]
    pub(crate) fn wake_groups(&mut self, id: HostId, now: Timestamp) {
        for (rate_group, kind) in self.rate_groups_of(id).into_iter().flatten() {
            self.call(rate_group, kind, now);
        }
    }

    /// Calls the next host of a rate group to the front queue, if the rate group is free and a host waits; says whether it called one.
    pub(crate) fn call(&mut self, rate_group: RateGroupId, kind: GroupKind, now: Timestamp) -> bool {
        let seats = &mut self.state.seats();
        let Some((host, priority)) = self.rate_groups.call(rate_group, seats, now) else { return false };
        seats[host].state = HostState::called(kind, priority);
        self.front.push(seats, host, priority);
        true
    }

    /// Takes a due host out of its queue; `false` if it is in none. It is then in no list, and has to be [placed](Self::place). A resting
    /// host stays on the agenda, which cannot cheaply remove one from its middle.
    pub(crate) fn leaves_its_queue(&mut self, id: HostId) -> bool {
        let state = self.state.host(id).seat.state;
        let kind = state.caller().or(state.line().map(|(kind, _)| kind));
        let rate_group = kind.and_then(|kind| self.rate_group(id, kind));
        let seats = &mut self.state.seats();
        match (state, rate_group) {
            (
                HostState::Called(priority)
                | HostState::CalledByAddress(priority)
                | HostState::CalledByServer(priority),
                Some(rate_group),
            ) => {
                self.front.remove(seats, id, priority);
                self.rate_groups.answered(rate_group);
            }
            (
                HostState::InLine(priority)
                | HostState::InLineOfAddress(priority)
                | HostState::InLineOfServer(priority),
                Some(rate_group),
            ) => {
                self.rate_groups.leave(rate_group, seats, id, priority);
            }
            (HostState::GivesWay(priority), _) => self.domains.leave(seats, id, priority, false),
            (HostState::NewGivesWay(priority), _) => self.domains.leave(seats, id, priority, true),
            (HostState::Due(priority), _) => self.front.remove(seats, id, priority),
            (HostState::Held(priority), _) => self.held.remove(seats, id, priority),
            _ => return false,
        }
        true
    }

    /// A request takes a place in each rate group of its host. A page to be given up is not requested, and takes none.
    pub(crate) fn take_places(&mut self, lease: &mut Lease) {
        if self.rate_groups.is_empty() || lease.trouble.is_some() {
            return;
        }
        if let Some(group) = self.rate_group(lease.host, GroupKind::Group) {
            self.rate_groups.lend(group, lease.lent_at);
            lease.group = self.rate_groups.group(group).map(|sharing| (group, sharing));
        }
        if let Some(server) = self.rate_groups.server_of(lease.host) {
            self.rate_groups.lend(server, lease.lent_at);
            lease.server = self.rate_groups.group(server);
        }
        if let Some(rate_group) = self.rate_group(lease.host, GroupKind::Address) {
            self.rate_groups.lend(rate_group, lease.lent_at);
            let since = lease.lent_at;
            lease.address =
                self.rate_groups.address(rate_group).map(|address| OnAddress { rate_group, address, since });
        }
    }

    /// A request is back, and frees its places. If the response asks for a rest, the whole group and the server rest; the address does not,
    /// since one host does not speak for the other hosts there.
    pub(crate) fn give_places_back(
        &mut self,
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
            self.call(group, GroupKind::Group, now);
        }
        if let Some(server) = self.rate_groups.server_of(lease.host).filter(|_| lease.trouble.is_none()) {
            self.rate_groups.take_back(server, was_sent, answered_at);
            if let Some(rest) = outcome.asks_for() {
                self.rate_groups.rest_until(server, answered_at + rest.min(self.politeness.max_retry_after));
            }
            self.call(server, GroupKind::Server, now);
        }
        if let Some(OnAddress { rate_group, .. }) = lease.address {
            self.rate_groups.take_back(rate_group, was_sent, answered_at);
            self.call(rate_group, GroupKind::Address, now);
        }
    }
}

impl<J: Journal> Frontier<J> {
    /// The host of the other default port, brought back to memory if it was evicted; `None` if there is none, or if a rule separates the
    /// two.
    pub(super) fn twin_of(&mut self, key: &HostKey, now: Timestamp) -> io::Result<Option<HostId>> {
        let Some(twin) = twin_origin(key) else { return Ok(None) };
        let number = self.politeness.number_for(key);
        if self.politeness.policy(number).one_server == Some(false) {
            return Ok(None);
        }
        if let Some(id) = self.state.hosts().find(&twin) {
            return Ok(Some(id));
        }
        let Some(image) = self.journal.host(&twin)? else { return Ok(None) };
        let (mut host, usage) = self.state.of_image(image, &twin)?;
        self.state.evicted().set_clock(&mut host, &self.politeness, now);
        Ok(Some(self.state.bring_back(host, usage)))
    }

    /// A host has come into memory. It shares the clock of its server's other ports, if there are any.
    pub(super) fn join_server(&mut self, id: HostId, twin: Option<HostId>, now: Timestamp) {
        let policy = *self.policy(id);
        let is_joined = policy.one_server == Some(true);
        if !is_joined && twin.is_none() {
            return;
        }
        let name = self.state.host(id).key.host();
        let known = self.rate_groups.server_named(name);
        let rate_group = known.unwrap_or_else(|| self.rate_groups.add_server(name, policy.connections, now));
        for port in twin.into_iter().chain([id]) {
            self.add_port(rate_group, port, now);
        }
        if !is_joined {
            self.rate_groups.all_here(rate_group);
        }
        self.rate_groups.set_delay(rate_group, self.server_delay(rate_group), None);
    }

    /// Adds a host to its server. It may have been asked already, or be lent out: every request that is out counts, and so will its return.
    /// A page that is out to be given up is no request, even if its host is no longer retired.
    fn add_port(&mut self, rate_group: RateGroupId, id: HostId, now: Timestamp) {
        if self.rate_groups.server_of(id).is_some() {
            return;
        }
        let host = self.state.host(id);
        let is_asked = host.seat.state == HostState::LeasedRobots;
        let out = host.seat.out - self.lent.given_up(id) + u8::from(is_asked);
        let rested = self.rested(host).min(now + host.delay(&self.politeness));
        self.rate_groups.join_server(rate_group, id, out);
        self.rate_groups.rest_until(rate_group, rested);
    }

    /// When the rest after a host's last answer is over, as far as its clock tells. If the host rests longer because it fails, that longer
    /// rest is not the server's.
    fn rested(&self, host: &Host) -> Timestamp {
        let delay = host.delay(&self.politeness);
        match &host.ill {
            Some(ill) if host.failures > 0 && !ill.is_patient => {
                let backoff = self.politeness.backoff_of(host.failures.into());
                Timestamp::default() + host.due.since(Timestamp::default() + delay.max(backoff)) + delay
            }
            _ => host.due,
        }
    }

    /// The longest rest of a server's ports.
    fn server_delay(&self, rate_group: RateGroupId) -> Duration {
        let delays = self.rate_groups.ports(rate_group).iter().map(|id| self.state.host(*id).delay(&self.politeness));
        delays.max().unwrap_or_default()
    }

    /// A lease is back, and has changed the status of its host. Changes the status of the server's other ports too, as far as the outcome
    /// concerns them. If the journal cannot take a record, the ports that are left keep their status until the next failure.
    pub(super) fn share_standing(
        &mut self,
        lease: &Lease,
        ServerNews { failures, fails, asks }: ServerNews,
        answered_at: Timestamp,
        now: Timestamp,
    ) {
        let Some(rate_group) = self.rate_groups.server_of(lease.host) else { return };
        self.rate_groups.set_delay(rate_group, self.server_delay(rate_group), Some(answered_at));
        let asked = HostUpdate::of(self.state.host(lease.host));
        let fails = fails && asked.failures > failures;
        if !fails && asks.is_none() {
            return;
        }
        // An evicted port comes back, because an evicted host cannot change.
        let key = self.state.host(lease.host).key.clone();
        if let Ok(Some(twin)) = self.twin_of(&key, now) {
            self.join_server(twin, Some(lease.host), now);
        }
        let ports = self.rate_groups.ports(rate_group).to_vec();
        let row =
            ports.iter().filter(|id| **id != lease.host).map(|id| self.state.host(*id).failures.saturating_add(1));
        let row = row.chain([asked.failures]).min().unwrap_or_default();
        let rest = asks
            .map_or_else(|| self.politeness.backoff_of(row.into()), |rest| rest.min(self.politeness.max_retry_after));
        let until = answered_at + rest;
        self.rate_groups.rest_until(rate_group, until);
        for id in ports.into_iter().filter(|id| *id != lease.host) {
            let mut update = HostUpdate::of(self.state.host(id));
            if update.is_retired() {
                continue;
            }
            if let Some(ill) = asked.ill.as_ref().filter(|_| fails) {
                update.fail_with(ill, &self.politeness);
            }
            update.due = update.due.max(until);
            if self.note_host(id, &update, false).is_err() {
                return;
            }
            if fails {
                self.lent.begin_wave(id);
            }
            if update.is_retired() && self.leaves_its_queue(id) {
                self.wake_groups(id, now);
                self.place(id, now);
            } else {
                self.count_outlook(id);
            }
        }
    }

    /// What a lease's outcome may mean for the other ports of its server. Taken before the outcome is judged.
    #[inline]
    pub(super) fn server_news(&self, lease: &Lease, outcome: &Outcome) -> Option<ServerNews> {
        let was_sent = lease.trouble.is_none() && !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        self.rate_groups.server_of(lease.host).filter(|_| was_sent)?;
        let fails = match outcome {
            Outcome::Failed(trouble) => is_servers(trouble.failure),
            Outcome::Response { status, .. } | Outcome::Robots { status, .. } => Blame::of_status(*status).is_some(),
            _ => false,
        };
        Some(ServerNews { failures: self.state.host(lease.host).failures, fails, asks: outcome.asks_for() })
    }
}

/// What an outcome at one port means for the server's other ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerNews {
    /// The port's failures in a row before the outcome.
    failures: u16,
    /// It failed, and the failure may be the server's.
    fails: bool,
    /// The rest that it asked for.
    asks: Option<Duration>,
}

/// Whether a failure is the server's, and not only one port's.
const fn is_servers(failure: Failure) -> bool {
    matches!(failure, Failure::Dns | Failure::NoSuchHost | Failure::Timeout)
}

/// The same name at the default port of the other scheme; `None` at other ports.
fn twin_origin(key: &HostKey) -> Option<String> {
    let name = key.host();
    match key.as_str().strip_suffix(name)? {
        "http://" => Some(format!("https://{name}")),
        "https://" => Some(format!("http://{name}")),
        _ => None,
    }
}
