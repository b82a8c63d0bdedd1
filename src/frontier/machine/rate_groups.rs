//! Hosts that share a clock, of one group or on one IP address: whose turn it is among them.
//!
//! A host passes its clocks one after the other: its own, in the agenda, and then those of its rate groups, in their lines. What all of them
//! say holds at once, since a host comes to a line only when its own rest is over, and is lent out only when its rate groups are free.
//!
//! A host that is given up passes none: it is not asked.
//!
//! # First pages come first
//!
//! A host whose robots.txt has come stands before all of its priority until it was asked for a page. Else a thousand names on one address
//! would all be asked for their robots.txt before any is asked for a page, and a domain of which each name says the same would be found
//! out when that is paid for. Others wait for one page more for each robots.txt that goes before them, and for no more: nobody is asked
//! for robots.txt while one of these stands in line.
//!
//! # Addresses are told
//!
//! A group follows from the host's name. An address is known only when the name has been looked up, and that is the fetcher's to do. So
//! a host of which no address is known is lent out by its own clock and its group's. The fetcher looks the name up, tells what it
//! [resolved to](Frontier::resolved), and connects only if the address is free; else the lease comes back, and the host stands in the
//! line of the address. However many hosts are new at once, none is connected to out of its turn. From then on the host is lent out
//! when the address is free, and the fetcher goes on telling, since a name may move: the request then counts for the new address.
//!
//! An address is no state. Nothing is written down of it: after a restart, or an eviction, the host's next request tells it again.

use std::net::IpAddr;

use super::{Frontier, FrontierError};
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{GroupKind, HostId, HostState, ServerAddress};
use crate::frontier::lease::{OnAddress, Resolved};
use crate::frontier::queues::RateGroupId;
use crate::frontier::{Lease, Outcome, Timestamp};

impl<J: Journal> Frontier<J> {
    /// Takes note of the addresses to which the name of a lease's host resolves, before anything is connected to: hosts on one address
    /// are asked like one server, by [`address_delay`](crate::frontier::Politeness::address_delay) and
    /// [`connections_per_address`](crate::frontier::Politeness::connections_per_address).
    ///
    /// The least address stands for all; of IPv6 addresses, their first 64 bits. Tell them with each lease: a name that was told before
    /// costs next to nothing. Where they are not known, as behind a proxy, tell none: the request counts for no address.
    ///
    /// ```
    /// use crawler::frontier::{Frontier, FrontierOptions, Next, Outcome, Resolved, Timestamp};
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
        // Hosts in line whose address has rested meanwhile go before this one.
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

    /// Notes that a host has this address from here on. If it stands in the line of its old one, it leaves that, and so does a place that the
    /// old one keeps for it: the next host of that line is called at once, or nobody would call it.
    fn move_to(&mut self, id: HostId, address: ServerAddress, now: Timestamp) -> RateGroupId {
        let rate_group = self.rate_groups.join(address, now);
        let seat = self.state.host(id).seat;
        let is_bound = seat.state.line().map(|(tie, _)| tie).or(seat.state.caller()) == Some(GroupKind::Address);
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
    fn rate_group(&self, id: HostId, tie: GroupKind) -> Option<RateGroupId> {
        match tie {
            GroupKind::Group => self.treatment(id).group.map(RateGroupId::of_group),
            GroupKind::Address => self.state.host(id).seat.address,
            GroupKind::Server => self.rate_groups.server_of(id),
        }
    }

    /// The rate groups that a host is in, its group's first, then its server's. In that order a host stands in line for them.
    #[inline]
    fn rate_groups_of(&self, id: HostId) -> [Option<(RateGroupId, GroupKind)>; 3] {
        if self.rate_groups.is_empty() {
            return [None; 3];
        }
        [GroupKind::Group, GroupKind::Server, GroupKind::Address].map(|tie| Some((self.rate_group(id, tie)?, tie)))
    }

    /// Takes note that a host was taken from the front queue, and says who had called it there. Each host that is taken must be told here
    /// before anything else is decided of it: a place that stays kept keeps its rate group still for ever.
    pub(crate) fn take_reservation(&mut self, id: HostId) -> Option<GroupKind> {
        let caller = self.state.host(id).seat.state.caller();
        if let Some(rate_group) = caller.and_then(|tie| self.rate_group(id, tie)) {
            self.rate_groups.answered(rate_group);
        }
        caller
    }

    /// Whether a host that was taken from the front queue had to stand in the line of a rate group. One that is retired or has spent its
    /// budget does not: its pages are given up or set aside, and nobody asks it anything.
    pub(crate) fn stands_in_line(
        &mut self,
        id: HostId,
        priority: u8,
        caller: Option<GroupKind>,
        now: Timestamp,
    ) -> bool {
        let mut rate_groups = self.rate_groups_of(id).into_iter().flatten();
        let is_taken = |&(rate_group, tie): &(RateGroupId, GroupKind)| match caller {
            Some(caller) if caller != tie => !self.rate_groups.is_open(rate_group, now),
            _ => !self.rate_groups.is_free(rate_group, now),
        };
        let Some((rate_group, tie)) = rate_groups.find(is_taken) else { return false };
        let host = self.state.host(id);
        if self.is_over(host, id) {
            return false;
        }
        let is_first = caller == Some(tie) || host.robots.is_unused();
        self.rate_groups.stand(rate_group, tie, &mut self.state.seats(), id, (priority, is_first));
        true
    }

    /// A host that stands in line has a better URL: it stands behind all that have one as good.
    pub(crate) fn promote(&mut self, id: HostId, tie: GroupKind, from: u8, to: u8) {
        let rate_group = self.rate_group(id, tie).expect("a host in a line has a circle");
        self.rate_groups.promote(rate_group, tie, &mut self.state.seats(), id, from, to);
    }

    /// Calls the next host of each rate group of this one, where it is free and one stands in its line.
    #[inline]
    pub(crate) fn wake_groups(&mut self, id: HostId, now: Timestamp) {
        for (rate_group, tie) in self.rate_groups_of(id).into_iter().flatten() {
            self.call(rate_group, tie, now);
        }
    }

    /// Calls the next host of a rate group to the front queue, where the rate group is free and one stands in its line; says whether it did.
    pub(crate) fn call(&mut self, rate_group: RateGroupId, tie: GroupKind, now: Timestamp) -> bool {
        let seats = &mut self.state.seats();
        let Some((host, priority)) = self.rate_groups.call(rate_group, seats, now) else { return false };
        seats[host].state = HostState::called(tie, priority);
        self.front.push(seats, host, priority);
        true
    }

    /// Takes a host that is due out of the queue that it is in; `false` where it is in none of these. It is nowhere then, and has to be
    /// [placed](Self::place). One that rests stays on the agenda, which takes nobody out of its middle.
    pub(crate) fn leaves_its_queue(&mut self, id: HostId) -> bool {
        let state = self.state.host(id).seat.state;
        let tie = state.caller().or(state.line().map(|(tie, _)| tie));
        let rate_group = tie.and_then(|tie| self.rate_group(id, tie));
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

    /// A request that goes out takes a place in each rate group of its host. A page that is given up is not asked for, and takes none.
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

    /// A request is back, and its places are free for others. If the response asks for a rest, the whole group takes it; the address does
    /// not, since one of its hosts does not speak for the others.
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
