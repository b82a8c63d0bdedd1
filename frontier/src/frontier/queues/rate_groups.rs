//! Rate groups: hosts that share a clock. They are the hosts of a group, the ports of one server, or the hosts on one IP address.
//!
//! ```text
//!   a host's own rest is over ──▶ Front ──▶ its rate groups are free? ── yes ──▶ Leased: the rate groups are taken
//!                                   ▲                 │ one is not              │ complete
//!                                   │                 ▼                         ▼
//!                              called, one ◀── wait queue ◀── the rate group rests, then is free
//! ```
//!
//! If a host's turn comes while one of its rate groups rests, or has as many requests out as it may, the host joins that rate group's wait
//! queue. When the rate group is free, one host of the queue is *called*: it goes to the front queue, and its place in the rate group is
//! reserved for it. However many hosts wait for a resting rate group, it is noted once, by the time when it is free. So a request costs no
//! more with ten thousand hosts in a group than with two.
//!
//! A host may be in three rate groups: its group's, its server's and its address's. If one of them calls it and it must wait for another,
//! the first calls its next host: no place stays reserved for a host that cannot take it. A host that one rate group has called may take a
//! place that another has reserved. Otherwise two hosts, each with a reserved place that the other needs, would wait for ever.
//!
//! The rate groups of host groups are made at the start. The rate group of an address or a server lasts while a host in memory is in it, a
//! request to it is out, or it rests.
//!
//! None of this is state: after a restart, each rate group first rests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;

use super::WaitQueue;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{
    AddressSharing, GroupKind, HostBudget, HostId, HostState, PolitenessTable, RateGroupId, SchedulingStates,
    ServerAddress, Sharing,
};

/// All rate groups, with their clocks and wait queues.
#[derive(Debug, Default)]
pub(crate) struct RateGroups {
    all: Vec<RateGroup>,
    /// Resting rate groups with hosts waiting, by the time when they are free; the earliest is at the top.
    notes: BinaryHeap<Reverse<(Timestamp, RateGroupId)>>,
    /// The number of hosts in all wait queues.
    waiting: usize,
    addresses: AHashMap<ServerAddress, RateGroupId>,
    /// The rate groups of servers, by the host name that their ports share.
    servers: AHashMap<Box<str>, RateGroupId>,
    /// For each host in memory that is a port of a server, the server's rate group.
    ports: AHashMap<HostId, RateGroupId>,
    /// The numbers of rate groups that no host is in, to be reused.
    unused: Vec<RateGroupId>,
    /// When there are this many rate groups, the next new one first searches for unused ones.
    sweeps_at: usize,
    /// The rest and the connections of each address.
    sharing: AddressSharing,
    /// When this process began, if there was another before it.
    since: Option<Timestamp>,
}

/// Below this many rate groups, unused ones are not searched for.
const FEW: usize = 1024;

impl RateGroups {
    /// One for each group, and none for addresses yet. Each rate group first rests from `since` on.
    pub(crate) fn new(politeness_table: &PolitenessTable, since: Option<Timestamp>) -> Self {
        let rate_group = |group: &Sharing| {
            let due = since.map_or(Timestamp::default(), |since| since + group.delay);
            RateGroup::new(Bond::Group(Arc::new(group.clone())), due)
        };
        let all = politeness_table.groups().iter().map(rate_group).collect();
        Self { all, since, sharing: politeness_table.addresses(), sweeps_at: FEW, ..Self::default() }
    }

    /// Whether there are no rate groups.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The number of waiting hosts. They are in no other queue, so a check whether anything is left to do must count them.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The number of addresses that have a host, or rest.
    pub(crate) fn addresses(&self) -> usize {
        self.addresses.len()
    }

    /// Bytes of memory held, about.
    pub(crate) fn memory(&self) -> usize {
        let of_map = size_of::<(ServerAddress, RateGroupId)>() + 1;
        // A server's name is stored in its key and in its bond.
        let of_server = size_of::<(Box<str>, RateGroupId)>() + size_of::<ServerPorts>() + size_of::<Sharing>() + 64;
        let of_port = size_of::<(HostId, RateGroupId)>() + size_of::<HostId>() + 1;
        let servers = self.servers.len() * of_server + self.ports.capacity() * of_port;
        self.all.capacity() * size_of::<RateGroup>() + self.addresses.capacity() * of_map + servers
    }

    /// The name of a rate group: `group cdn`, `address 192.0.2.1`.
    pub(crate) fn name(&self, id: RateGroupId) -> String {
        self[id].bond.to_string()
    }

    /// The time before which none of its hosts is asked.
    pub(crate) fn due(&self, id: RateGroupId) -> Timestamp {
        self[id].due
    }

    /// A budget leaves this many pages to the hosts of a rate group, so at most this many requests may be out, less the pages `in_hand`. If
    /// none is left, its hosts are not asked and need not wait, so there is no bound.
    pub(crate) fn leave_pages(&mut self, id: RateGroupId, left: u64, in_hand: u64) {
        let room = if left == 0 { u64::MAX } else { left.saturating_sub(in_hand) };
        self[id].left = u8::try_from(room).unwrap_or(u8::MAX);
    }

    /// Whether the rate group lets a host that was taken from the front queue be asked now. If the rate group has called the host, its
    /// reservation is over by then.
    pub(crate) fn is_free(&self, id: RateGroupId, now: Timestamp) -> bool {
        let rate_group = &self[id];
        rate_group.due <= now && rate_group.has_room(&self.sharing)
    }

    /// Whether the rate group lets a host that another rate group has called be asked now. Reservations are ignored: otherwise two hosts,
    /// each called by the rate group that the other needs too, would give way to each other for ever.
    pub(crate) fn is_open(&self, id: RateGroupId, now: Timestamp) -> bool {
        let rate_group = &self[id];
        rate_group.due <= now && rate_group.out < rate_group.most(&self.sharing)
    }

    /// A called host has been taken from the front queue, which ends its reservation. It may now be lent, or wait for its other rate group.
    pub(crate) fn answered(&mut self, id: RateGroupId) {
        self[id].called -= 1;
    }

    /// Puts a host that is in no queue into the wait queue, after all others of its priority, or before them. `at` is the priority, and
    /// whether the host goes first.
    pub(crate) fn stand(
        &mut self,
        id: RateGroupId,
        kind: GroupKind,
        hosts: &mut SchedulingStates<'_>,
        host: HostId,
        at: (u8, bool),
    ) {
        let (priority, is_first) = at;
        let queue = self[id].wait_queue();
        if is_first {
            queue.push_front(hosts, host, priority);
        } else {
            queue.push(hosts, host, priority);
        }
        hosts[host].state = HostState::in_line(kind, priority);
        self.waiting += 1;
    }

    /// A waiting host has a better URL: it moves after all other hosts of that URL's priority.
    pub(crate) fn promote(
        &mut self,
        id: RateGroupId,
        kind: GroupKind,
        hosts: &mut SchedulingStates<'_>,
        host: HostId,
        from: u8,
        to: u8,
    ) {
        let queue = self[id].wait_queue();
        queue.remove(hosts, host, from);
        queue.push(hosts, host, to);
        hosts[host].state = HostState::in_line(kind, to);
    }

    /// Takes a host of this priority out of the wait queue. O(rate groups) if no other host waits there.
    pub(crate) fn leave(&mut self, id: RateGroupId, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8) {
        let rate_group = &mut self[id];
        rate_group.wait_queue().remove(hosts, host, priority);
        let is_unnoted = !rate_group.is_waited_for() && std::mem::take(&mut rate_group.is_noted);
        self.waiting -= 1;
        if is_unnoted {
            self.notes.retain(|Reverse((_, noted))| *noted != id);
        }
    }

    /// A request to one of its hosts goes out. With several connections the rest begins here, otherwise at [`take_back`](Self::take_back).
    pub(crate) fn lend(&mut self, id: RateGroupId, now: Timestamp) {
        let sharing = self.sharing;
        let rate_group = &mut self[id];
        rate_group.out += 1;
        if rate_group.bond.connections(&sharing) > 1 {
            rate_group.rest_from(now, &sharing);
        }
    }

    /// The rest and the connections of a group or a server; `None` for an address.
    pub(crate) fn group(&self, id: RateGroupId) -> Option<Arc<Sharing>> {
        match &self[id].bond {
            Bond::Group(sharing) => Some(Arc::clone(sharing)),
            Bond::Server(server) => Some(Arc::clone(&server.sharing)),
            Bond::Address(_) => None,
        }
    }

    /// The address that the hosts of a rate group are on.
    pub(crate) fn address(&self, id: RateGroupId) -> Option<ServerAddress> {
        match self[id].bond {
            Bond::Group(_) | Bond::Server(_) => None,
            Bond::Address(address) => Some(address),
        }
    }

    /// A request to one of its hosts is back; `was_sent` says whether it was sent at all.
    pub(crate) fn take_back(&mut self, id: RateGroupId, was_sent: bool, now: Timestamp) {
        let sharing = self.sharing;
        let rate_group = &mut self[id];
        rate_group.out -= 1;
        if was_sent && rate_group.bond.connections(&sharing) == 1 {
            rate_group.rest_from(now, &sharing);
        }
    }

    /// A request that did not come from here was sent to one of its hosts.
    pub(crate) fn was_asked(&mut self, id: RateGroupId, at: Timestamp) {
        let delay = self[id].bond.delay(&self.sharing);
        self.rest_until(id, at + delay);
    }

    /// One of its hosts has asked for a rest. O(rate groups), and rare.
    pub(crate) fn rest_until(&mut self, id: RateGroupId, until: Timestamp) {
        let rate_group = &mut self[id];
        if rate_group.due >= until {
            return;
        }
        rate_group.due = until;
        if rate_group.is_noted {
            // All hosts of its wait queue may have been called since it was noted.
            rate_group.is_noted = rate_group.is_waited_for();
            let is_waited_for = rate_group.is_noted;
            self.notes.retain(|Reverse((_, noted))| *noted != id);
            if is_waited_for {
                self.notes.push(Reverse((until, id)));
            }
        }
    }

    /// If the rate group is free, calls the next host of its wait queue and takes it out of there. If the rate group rests, notes it.
    pub(crate) fn call(
        &mut self,
        id: RateGroupId,
        hosts: &mut SchedulingStates<'_>,
        now: Timestamp,
    ) -> Option<(HostId, u8)> {
        let sharing = self.sharing;
        let rate_group = &mut self.all[id.place()];
        if !rate_group.is_waited_for() || !rate_group.has_room(&sharing) {
            return None;
        }
        if rate_group.due > now {
            if !rate_group.is_noted {
                rate_group.is_noted = true;
                self.notes.push(Reverse((rate_group.due, id)));
            }
            return None;
        }
        let called = rate_group.wait_queue().pop(hosts)?;
        rate_group.called += 1;
        self.waiting -= 1;
        Some(called)
    }

    /// Removes and returns a noted rate group whose rest is over. The caller has to [call](Self::call) its hosts, which notes it again if
    /// necessary.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(RateGroupId, GroupKind)> {
        let &Reverse((_, id)) = self.notes.peek().filter(|Reverse((due, _))| *due <= now)?;
        self.notes.pop();
        self[id].is_noted = false;
        Some((id, self.kind(id)))
    }

    /// When the first rate group with hosts waiting is free.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.notes.peek().map(|&Reverse((due, _))| due)
    }

    /// A host has this address from now on. Makes the rate group for the first one. O(1), amortized.
    pub(crate) fn join_address(&mut self, address: ServerAddress, now: Timestamp) -> RateGroupId {
        let id = self.addresses.get(&address).copied().unwrap_or_else(|| self.add(address, now));
        self[id].members += 1;
        id
    }

    /// A host no longer has this address, or is evicted. The rate group stays until it has rested, and is then reused.
    pub(crate) fn leave_address(&mut self, id: RateGroupId) {
        self[id].members -= 1;
    }

    /// The kind of this rate group.
    pub(crate) fn kind(&self, id: RateGroupId) -> GroupKind {
        match self[id].bond {
            Bond::Group(_) => GroupKind::Group,
            Bond::Server(_) => GroupKind::Server,
            Bond::Address(_) => GroupKind::Address,
        }
    }

    /// The rate group of a host's server, if it has one.
    #[inline]
    pub(crate) fn server_of(&self, id: HostId) -> Option<RateGroupId> {
        if self.ports.is_empty() { None } else { self.ports.get(&id).copied() }
    }

    /// The rate group of the server with this name.
    pub(crate) fn server_named(&self, name: &str) -> Option<RateGroupId> {
        self.servers.get(name).copied()
    }

    /// A server's hosts in memory.
    pub(crate) fn ports(&self, id: RateGroupId) -> &[HostId] {
        if let Bond::Server(server) = &self[id].bond { &server.ports } else { &[] }
    }

    /// Makes a rate group for the ports of this name.
    pub(crate) fn add_server(&mut self, name: &str, connections: u8, now: Timestamp) -> RateGroupId {
        let name_of = format!("server {name}").into();
        let budget = HostBudget::default();
        let sharing = Sharing { name: name_of, delay: Duration::ZERO, connections, budget };
        let server = ServerPorts { sharing: Arc::new(sharing), ports: Vec::new(), gone: Duration::ZERO };
        let id = self.put(RateGroup::new(Bond::Server(Box::new(server)), Timestamp::default()), now);
        self.servers.insert(name.into(), id);
        id
    }

    /// A host becomes one of this server's, with `out` requests to it out.
    pub(crate) fn join_server(&mut self, id: RateGroupId, host: HostId, out: u8) {
        self.ports.insert(host, id);
        let rate_group = &mut self[id];
        (rate_group.members, rate_group.out) = (rate_group.members + 1, rate_group.out + out);
        if let Bond::Server(server) = &mut rate_group.bond {
            server.ports.push(host);
        }
    }

    /// A host with this delay is evicted. Its server still rests as if the host were in memory. The rate group stays until no host is in it
    /// and it has rested, as an address's does.
    pub(crate) fn leave_server(&mut self, host: HostId, delay: Duration) {
        let Some(id) = self.ports.remove(&host) else { return };
        let rate_group = &mut self[id];
        rate_group.members -= 1;
        if let Bond::Server(server) = &mut rate_group.bond {
            server.ports.retain(|port| *port != host);
            server.gone = server.gone.max(delay);
        }
    }

    /// Notes that all hosts of a server are in memory.
    pub(crate) fn all_here(&mut self, id: RateGroupId) {
        if let Bond::Server(server) = &mut self[id].bond {
            server.gone = Duration::ZERO;
        }
    }

    /// Sets the rest of a server to this, the longest of its hosts in memory, or to a longer one of an evicted host. `asked` is when one of
    /// them has just answered, if one has.
    pub(crate) fn set_delay(&mut self, id: RateGroupId, delay: Duration, asked: Option<Timestamp>) {
        let since = self.since;
        let Bond::Server(server) = &mut self[id].bond else { return };
        let delay = delay.max(server.gone);
        if server.sharing.delay != delay {
            Arc::make_mut(&mut server.sharing).delay = delay;
        }
        let asked = asked.filter(|_| server.sharing.connections == 1).max(since);
        if let Some(asked) = asked {
            self.rest_until(id, asked + delay);
        }
    }

    fn add(&mut self, address: ServerAddress, now: Timestamp) -> RateGroupId {
        // An earlier process may have asked it just before this one began.
        let due = self.since.map_or(Timestamp::default(), |since| since + self.sharing.delay);
        let id = self.put(RateGroup::new(Bond::Address(address), due), now);
        self.addresses.insert(address, id);
        id
    }

    /// Gives a rate group its place.
    fn put(&mut self, rate_group: RateGroup, now: Timestamp) -> RateGroupId {
        if self.unused.is_empty() && self.all.len() >= self.sweeps_at {
            self.sweep(now);
        }
        if let Some(id) = self.unused.pop() {
            self[id] = rate_group;
            return id;
        }
        self.all.push(rate_group);
        RateGroupId::at(self.all.len() - 1)
    }

    /// Forgets addresses and servers that no host has. The number of the others may double before the next sweep.
    fn sweep(&mut self, now: Timestamp) {
        let (all, unused) = (&self.all, &mut self.unused);
        let mut stays = |id: RateGroupId| {
            let is_over = all[id.place()].is_over(now);
            unused.extend(is_over.then_some(id));
            !is_over
        };
        self.addresses.retain(|_, id| stays(*id));
        self.servers.retain(|_, id| stays(*id));
        self.sweeps_at = FEW.max(2 * (self.all.len() - self.unused.len()));
    }
}

impl std::ops::Index<RateGroupId> for RateGroups {
    type Output = RateGroup;

    fn index(&self, id: RateGroupId) -> &RateGroup {
        &self.all[id.place()]
    }
}

impl std::ops::IndexMut<RateGroupId> for RateGroups {
    fn index_mut(&mut self, id: RateGroupId) -> &mut RateGroup {
        &mut self.all[id.place()]
    }
}

/// What the hosts of a rate group have in common. It gives the rate group its name, its rest and its connections.
#[derive(Clone, Debug)]
pub(super) enum Bond {
    Group(Arc<Sharing>),
    Server(Box<ServerPorts>),
    Address(ServerAddress),
}

/// The ports of one name.
#[derive(Clone, Debug)]
pub(super) struct ServerPorts {
    pub(super) sharing: Arc<Sharing>,
    /// Its hosts in memory.
    pub(super) ports: Vec<HostId>,
    /// The longest rest of its evicted hosts.
    pub(super) gone: Duration,
}

/// Hosts that share a clock, and the clock.
#[derive(Debug)]
pub(crate) struct RateGroup {
    pub(super) bond: Bond,
    /// The time before which none of its hosts is asked.
    pub(super) due: Timestamp,
    /// Outstanding requests to its hosts.
    pub(super) out: u8,
    /// Called hosts that are in the front queue.
    pub(super) called: u8,
    /// Requests that a budget leaves to it; `u8::MAX` if that is no bound.
    pub(super) left: u8,
    /// Hosts in memory that have this address, or are ports of this server.
    pub(super) members: u32,
    /// The hosts that wait. Boxed, since most addresses have one host, which never waits for others.
    wait_queue: Option<Box<WaitQueue>>,
    /// Whether it is among the notes, by the time when it is free.
    pub(super) is_noted: bool,
}

// A crawl has one for each IP address: with its place in the map of addresses it takes 75 bytes.
const _: () = assert!(size_of::<RateGroup>() == 40);

impl Bond {
    /// The rest between two requests to any of its hosts. All addresses have the same.
    pub(super) fn delay(&self, sharing: &AddressSharing) -> Duration {
        match self {
            Self::Group(group) => group.delay,
            Self::Server(server) => server.sharing.delay,
            Self::Address(_) => sharing.delay,
        }
    }

    /// Requests to its hosts that may be out at once.
    pub(super) fn connections(&self, sharing: &AddressSharing) -> u8 {
        match self {
            Self::Group(group) => group.connections,
            Self::Server(server) => server.sharing.connections,
            Self::Address(_) => sharing.connections,
        }
    }
}

impl fmt::Display for Bond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => f.write_str(&group.name),
            Self::Server(server) => f.write_str(&server.sharing.name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl RateGroup {
    /// A rate group without hosts. Hosts that join are not asked before `due`.
    pub(super) fn new(bond: Bond, due: Timestamp) -> Self {
        Self { bond, due, out: 0, called: 0, left: u8::MAX, members: 0, wait_queue: None, is_noted: false }
    }

    /// A request to one of its hosts begins or ends, and a rest with it. A longer rest still holds.
    fn rest_from(&mut self, now: Timestamp, sharing: &AddressSharing) {
        self.due = self.due.max(now + self.bond.delay(sharing));
    }

    /// Whether a further request may go out, once the rate group has rested. A called host goes first; the group rests after it.
    pub(super) fn has_room(&self, sharing: &AddressSharing) -> bool {
        let is_kept = self.called > 0 && !self.bond.delay(sharing).is_zero();
        !is_kept && self.out + self.called < self.most(sharing)
    }

    /// Requests that may be out at once: no more than a budget leaves.
    pub(super) fn most(&self, sharing: &AddressSharing) -> u8 {
        self.bond.connections(sharing).min(self.left)
    }

    /// The hosts that wait for it.
    pub(super) fn wait_queue(&mut self) -> &mut WaitQueue {
        self.wait_queue.get_or_insert_default()
    }

    /// Whether any host waits for it.
    pub(super) fn is_waited_for(&self) -> bool {
        self.wait_queue.as_ref().is_some_and(|queue| !queue.is_empty())
    }

    /// Whether this is an address or a server that no host in memory has and that does not rest, so that its place can be reused. While it
    /// rests it must stay, or a host that comes back would be asked too early.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        let is_group = matches!(self.bond, Bond::Group(_));
        !is_group && self.members == 0 && self.out == 0 && self.called == 0 && self.due <= now
    }
}
