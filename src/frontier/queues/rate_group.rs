//! One rate group: hosts that share a clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::WaitQueue;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{AddressSharing, HostId, ServerAddress, Sharing};

/// What the hosts of a rate group have in common.
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
    /// The slowest rest of its evicted hosts.
    pub(super) gone: Duration,
}

/// Hosts that share a clock, and the clock. A crawl has as many as servers.
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
    /// Boxed, since most servers have one host, which never waits for others.
    line: Option<Box<WaitQueue>>,
    /// Whether it is noted by the time when it is free.
    pub(super) is_noted: bool,
}

// There is one for each server of the crawl: with its place in the map of addresses it takes 75 bytes.
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
        Self { bond, due, out: 0, called: 0, left: u8::MAX, members: 0, line: None, is_noted: false }
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
    pub(super) fn line(&mut self) -> &mut WaitQueue {
        self.line.get_or_insert_default()
    }

    /// Whether any host waits for it.
    pub(super) fn is_waited_for(&self) -> bool {
        self.line.as_ref().is_some_and(|line| !line.is_empty())
    }

    /// Whether this is an address or a server that no host in memory has and that need not rest, so that its place can be reused. A resting
    /// one must stay, or a host that comes back would be asked too early.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        let is_group = matches!(self.bond, Bond::Group(_));
        !is_group && self.members == 0 && self.out == 0 && self.called == 0 && self.due <= now
    }
}
