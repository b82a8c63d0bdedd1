//! Hosts that share a clock: those of a group, the ports of one server, and those on one IP address.
//!
//! ```text
//!   a host's own rest is over ──▶ Front ──▶ its circles are free? ── yes ──▶ Leased: the circles are taken
//!                                   ▲                 │ one is not              │ complete
//!                                   │                 ▼                         ▼
//!                              called, one ◀──────── Line ◀── the circle rests, then is free
//! ```
//!
//! A host whose turn comes while a circle of its rests, or has as many requests out as it may, stands in that circle's line. When the
//! circle is free, one host of the line is *called*: it goes to the front queue, and nobody else of the circle may take its place
//! meanwhile. A circle that rests is noted once by the time when it is free, however many stand in its line. So ten thousand hosts of
//! one group cost a request no more than two do.
//!
//! A host may be in three circles: its group's, its server's and its address's. If one of them calls it and it must stand in the line of
//! another, the one calls the next: no place is kept for a host that cannot take it. A host that one circle has called may take a place
//! that another keeps, since two hosts that keep a place from each other would wait for ever.
//!
//! The circles of groups are made at the start. That of an address or a server lasts while a host in memory has it, a request to it is
//! out, or it rests.
//!
//! Nothing of this is state: after a restart, each circle rests first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;

use super::CircleId;
use super::circle::{Bond, Circle, ServerPorts};
use crate::frontier::Timestamp;
use crate::frontier::hosts::{
    AddressSharing, HostBudget, HostId, HostState, Manners, Seats, ServerAddress, Sharing, Tie,
};

/// The groups of hosts and their addresses, with their clocks and lines.
#[derive(Debug, Default)]
pub(crate) struct Circles {
    all: Vec<Circle>,
    /// Circles that rest while hosts stand in their lines, by the time when they are free; the earliest is the greatest.
    notes: BinaryHeap<Reverse<(Timestamp, CircleId)>>,
    /// Hosts in all lines.
    waiting: usize,
    addresses: AHashMap<ServerAddress, CircleId>,
    /// By the names of which several ports are one server.
    servers: AHashMap<Box<str>, CircleId>,
    /// The circles of servers, of the hosts in memory that are in one.
    ports: AHashMap<HostId, CircleId>,
    /// Circles of servers and addresses that nobody has, for others.
    unused: Vec<CircleId>,
    /// With so many circles those that are unused are looked for.
    sweeps_at: usize,
    /// The rest and the connections of each address.
    sharing: AddressSharing,
    /// When this process began, where another was before.
    since: Option<Timestamp>,
}

/// Below so many circles, none is looked for that is unused.
const FEW: usize = 1024;

impl Circles {
    /// One for each group, and none for addresses yet. No host of a circle is asked before that has rested from `since` on.
    pub(crate) fn new(manners: &Manners, since: Option<Timestamp>) -> Self {
        let circle = |group: &Sharing| {
            let due = since.map_or(Timestamp::default(), |since| since + group.delay);
            Circle::new(Bond::Group(Arc::new(group.clone())), due)
        };
        let all = manners.groups().iter().map(circle).collect();
        Self { all, since, sharing: manners.addresses(), sweeps_at: FEW, ..Self::default() }
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Hosts that stand in lines. They are in no other queue, so whoever asks whether anything is left to do must count them.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Addresses that any host has, or that rest.
    pub(crate) fn addresses(&self) -> usize {
        self.addresses.len()
    }

    /// Bytes of memory held for addresses, about.
    pub(crate) fn memory(&self) -> usize {
        let of_map = size_of::<(ServerAddress, CircleId)>() + 1;
        // A server's name stands in its key and in its bond.
        let of_server = size_of::<(Box<str>, CircleId)>() + size_of::<ServerPorts>() + size_of::<Sharing>() + 64;
        let of_port = size_of::<(HostId, CircleId)>() + size_of::<HostId>() + 1;
        let servers = self.servers.len() * of_server + self.ports.capacity() * of_port;
        self.all.capacity() * size_of::<Circle>() + self.addresses.capacity() * of_map + servers
    }

    /// The name of a circle: `group cdn`, `address 192.0.2.1`.
    pub(crate) fn name(&self, id: CircleId) -> String {
        self[id].bond.to_string()
    }

    /// The time before which none of its hosts is asked.
    pub(crate) fn due(&self, id: CircleId) -> Timestamp {
        self[id].due
    }

    /// A budget leaves so many pages to the hosts of a circle: no more requests are out. Where none is left, its hosts are asked nothing, and
    /// need not wait to be told so.
    pub(crate) fn leave_pages(&mut self, id: CircleId, left: u64) {
        let left = u8::try_from(left).unwrap_or(u8::MAX);
        self[id].left = if left == 0 { u8::MAX } else { left };
    }

    /// Whether a host of the circle may be asked now that was taken from the front queue. If it was called, its place was kept.
    pub(crate) fn is_free(&self, id: CircleId, now: Timestamp) -> bool {
        let circle = &self[id];
        circle.due <= now && circle.has_room(&self.sharing)
    }

    /// Whether a host of the circle may be asked now that another circle has called. No place is kept from it: two that were called, each
    /// by the circle that the other one needs too, would give way to one another for ever.
    pub(crate) fn is_open(&self, id: CircleId, now: Timestamp) -> bool {
        let circle = &self[id];
        circle.due <= now && circle.out < circle.most(&self.sharing)
    }

    /// A host that was called has been taken from the front queue: its place is no longer kept. Whoever takes it may now be lent, or stand in
    /// the line of its other circle.
    pub(crate) fn answered(&mut self, id: CircleId) {
        self[id].called -= 1;
    }

    /// A host, that is in no queue, stands in the line: at this priority, and where it is said to be the first, before all others of that.
    pub(crate) fn stand(&mut self, id: CircleId, tie: Tie, seats: &mut Seats<'_>, host: HostId, at: (u8, bool)) {
        let (priority, is_first) = at;
        let line = self[id].line();
        if is_first {
            line.push_front(seats, host, priority);
        } else {
            line.push(seats, host, priority);
        }
        seats[host].state = HostState::in_line(tie, priority);
        self.waiting += 1;
    }

    /// A host of the line has a better URL: it stands behind all of that priority.
    pub(crate) fn promote(&mut self, id: CircleId, tie: Tie, seats: &mut Seats<'_>, host: HostId, from: u8, to: u8) {
        let line = self[id].line();
        line.remove(seats, host, from);
        line.push(seats, host, to);
        seats[host].state = HostState::in_line(tie, to);
    }

    /// Takes a host of this priority out of the line. O(circles) where it was the last.
    pub(crate) fn leave(&mut self, id: CircleId, seats: &mut Seats<'_>, host: HostId, priority: u8) {
        let circle = &mut self[id];
        circle.line().remove(seats, host, priority);
        let is_unnoted = !circle.is_waited_for() && std::mem::take(&mut circle.is_noted);
        self.waiting -= 1;
        if is_unnoted {
            self.notes.retain(|Reverse((_, noted))| *noted != id);
        }
    }

    /// A request to one of its hosts goes out. With several connections the rest counts from here, else from
    /// [`take_back`](Self::take_back).
    pub(crate) fn lend(&mut self, id: CircleId, now: Timestamp) {
        let sharing = self.sharing;
        let circle = &mut self[id];
        circle.out += 1;
        if circle.bond.connections(&sharing) > 1 {
            circle.due = now + circle.bond.delay(&sharing);
        }
    }

    /// The rest and the connections of a group or a server; `None` of an address.
    pub(crate) fn group(&self, id: CircleId) -> Option<Arc<Sharing>> {
        match &self[id].bond {
            Bond::Group(sharing) => Some(Arc::clone(sharing)),
            Bond::Server(server) => Some(Arc::clone(&server.sharing)),
            Bond::Address(_) => None,
        }
    }

    /// The address that the hosts of a circle are on.
    pub(crate) fn address(&self, id: CircleId) -> Option<ServerAddress> {
        match self[id].bond {
            Bond::Group(_) | Bond::Server(_) => None,
            Bond::Address(address) => Some(address),
        }
    }

    /// A request to one of its hosts is back; `was_sent` unless nothing was sent.
    pub(crate) fn take_back(&mut self, id: CircleId, was_sent: bool, now: Timestamp) {
        let sharing = self.sharing;
        let circle = &mut self[id];
        // A request to a retired host that went out before its server's circle was made was not counted.
        circle.out = circle.out.saturating_sub(1);
        if was_sent && circle.bond.connections(&sharing) == 1 {
            circle.due = now + circle.bond.delay(&sharing);
        }
    }

    /// One of its hosts has asked for a rest. O(circles), and seldom.
    pub(crate) fn rest_until(&mut self, id: CircleId, until: Timestamp) {
        let circle = &mut self[id];
        if circle.due >= until {
            return;
        }
        circle.due = until;
        if circle.is_noted {
            self.notes.retain(|Reverse((_, noted))| *noted != id);
            self.notes.push(Reverse((until, id)));
        }
    }

    /// The host of a circle's line that goes next, if the circle is free: called, and taken out of the line. A circle that rests is
    /// noted.
    pub(crate) fn call(&mut self, id: CircleId, seats: &mut Seats<'_>, now: Timestamp) -> Option<(HostId, u8)> {
        let sharing = self.sharing;
        let circle = &mut self.all[id.place()];
        if !circle.is_waited_for() || !circle.has_room(&sharing) {
            return None;
        }
        if circle.due > now {
            if !circle.is_noted {
                circle.is_noted = true;
                self.notes.push(Reverse((circle.due, id)));
            }
            return None;
        }
        let called = circle.line().pop(seats)?;
        circle.called += 1;
        self.waiting -= 1;
        Some(called)
    }

    /// A circle whose rest is over, noted no more. The caller has to [call](Self::call) its line, which notes it again where it must.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<(CircleId, Tie)> {
        let &Reverse((_, id)) = self.notes.peek().filter(|Reverse((due, _))| *due <= now)?;
        self.notes.pop();
        self[id].is_noted = false;
        Some((id, self.tie(id)))
    }

    /// When the first circle is free for which a host waits.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.notes.peek().map(|&Reverse((due, _))| due)
    }

    /// A host has this address from here on. The first one makes its circle. O(1), amortized.
    pub(crate) fn join(&mut self, address: ServerAddress, now: Timestamp) -> CircleId {
        let id = self.addresses.get(&address).copied().unwrap_or_else(|| self.add(address, now));
        self[id].members += 1;
        id
    }

    /// A host has this address no more, or leaves memory. The circle stays until it has rested, and is then another's.
    pub(crate) fn part(&mut self, id: CircleId) {
        self[id].members -= 1;
    }

    /// Which of its circles it is to its hosts.
    pub(crate) fn tie(&self, id: CircleId) -> Tie {
        match self[id].bond {
            Bond::Group(_) => Tie::Group,
            Bond::Server(_) => Tie::Server,
            Bond::Address(_) => Tie::Address,
        }
    }

    /// The circle of a host's server, where it has one.
    #[inline]
    pub(crate) fn server_of(&self, id: HostId) -> Option<CircleId> {
        if self.ports.is_empty() { None } else { self.ports.get(&id).copied() }
    }

    /// The circle of the server of this name.
    pub(crate) fn server_named(&self, name: &str) -> Option<CircleId> {
        self.servers.get(name).copied()
    }

    /// The hosts in memory of a server.
    pub(crate) fn ports(&self, id: CircleId) -> &[HostId] {
        if let Bond::Server(server) = &self[id].bond { &server.ports } else { &[] }
    }

    /// A circle for the ports of this name.
    pub(crate) fn add_server(&mut self, name: &str, connections: u8, now: Timestamp) -> CircleId {
        let name_of = format!("server {name}").into();
        let budget = HostBudget::default();
        let sharing = Sharing { name: name_of, delay: Duration::ZERO, connections, budget };
        let server = ServerPorts { sharing: Arc::new(sharing), ports: Vec::new(), gone: Duration::ZERO };
        let id = self.put(Circle::new(Bond::Server(Box::new(server)), Timestamp::default()), now);
        self.servers.insert(name.into(), id);
        id
    }

    /// A host is one of this server's, and so many requests to it are out.
    pub(crate) fn join_server(&mut self, id: CircleId, host: HostId, out: u8) {
        self.ports.insert(host, id);
        let circle = &mut self[id];
        (circle.members, circle.out) = (circle.members + 1, circle.out + out);
        if let Bond::Server(server) = &mut circle.bond {
            server.ports.push(host);
        }
    }

    /// A host that rests for so long leaves memory. Its server rests as if it were there, and the circle stays as those of addresses do.
    pub(crate) fn leave_server(&mut self, host: HostId, delay: Duration) {
        let Some(id) = self.ports.remove(&host) else { return };
        let circle = &mut self[id];
        circle.members -= 1;
        if let Bond::Server(server) = &mut circle.bond {
            server.ports.retain(|port| *port != host);
            server.gone = server.gone.max(delay);
        }
    }

    /// All hosts of a server are in memory.
    pub(crate) fn all_here(&mut self, id: CircleId) {
        if let Bond::Server(server) = &mut self[id].bond {
            server.gone = Duration::ZERO;
        }
    }

    /// The slowest rest of a server's hosts in memory is this, and it was asked last at `asked`, where it was.
    pub(crate) fn set_delay(&mut self, id: CircleId, delay: Duration, asked: Option<Timestamp>) {
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

    fn add(&mut self, address: ServerAddress, now: Timestamp) -> CircleId {
        // Nobody knows whether the process before has asked it.
        let due = self.since.map_or(Timestamp::default(), |since| since + self.sharing.delay);
        let id = self.put(Circle::new(Bond::Address(address), due), now);
        self.addresses.insert(address, id);
        id
    }

    /// Gives a circle its place.
    fn put(&mut self, circle: Circle, now: Timestamp) -> CircleId {
        if self.unused.is_empty() && self.all.len() >= self.sweeps_at {
            self.sweep(now);
        }
        if let Some(id) = self.unused.pop() {
            self[id] = circle;
            return id;
        }
        self.all.push(circle);
        CircleId::at(self.all.len() - 1)
    }

    /// Forgets addresses and servers that nobody has. What is left may grow by as much again before the next sweep.
    fn sweep(&mut self, now: Timestamp) {
        let (all, unused) = (&self.all, &mut self.unused);
        let mut stays = |id: CircleId| {
            let is_over = all[id.place()].is_over(now);
            unused.extend(is_over.then_some(id));
            !is_over
        };
        self.addresses.retain(|_, id| stays(*id));
        self.servers.retain(|_, id| stays(*id));
        self.sweeps_at = FEW.max(2 * (self.all.len() - self.unused.len()));
    }
}

impl std::ops::Index<CircleId> for Circles {
    type Output = Circle;

    fn index(&self, id: CircleId) -> &Circle {
        &self.all[id.place()]
    }
}

impl std::ops::IndexMut<CircleId> for Circles {
    fn index_mut(&mut self, id: CircleId) -> &mut Circle {
        &mut self.all[id.place()]
    }
}
