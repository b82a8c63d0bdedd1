//! One circle: hosts that share a clock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Line;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{AddressSharing, ServerAddress, Sharing};

/// What the hosts of a circle have in common.
#[derive(Clone, Debug)]
pub(super) enum Bond {
    Group(Arc<Sharing>),
    Address(ServerAddress),
}

/// Hosts that share a clock, with that. A crawl has as many as servers.
#[derive(Debug)]
pub(crate) struct Circle {
    pub(super) bond: Bond,
    /// The time before which none of its hosts is asked.
    pub(super) due: Timestamp,
    /// Requests to its hosts that are out.
    pub(super) out: u8,
    /// Hosts of its line that were called, and are in the front queue.
    pub(super) called: u8,
    /// Requests that a budget leaves to it, as far as that is fewer than any circle may have out.
    pub(super) left: u8,
    /// Hosts in memory that have this address.
    pub(super) members: u32,
    /// In a box, since most servers have one host, that never waits for others.
    line: Option<Box<Line>>,
    /// It is noted by the time when it is free.
    pub(super) is_noted: bool,
}

// There is one for each server of the crawl: with its place in the map of addresses it takes 75 bytes.
const _: () = assert!(size_of::<Circle>() == 40);

impl Bond {
    /// The rest between two requests to any of its hosts. All addresses have the same.
    pub(super) fn delay(&self, sharing: &AddressSharing) -> Duration {
        match self {
            Self::Group(group) => group.delay,
            Self::Address(_) => sharing.delay,
        }
    }

    /// Requests to its hosts that may be out at once.
    pub(super) fn connections(&self, sharing: &AddressSharing) -> u8 {
        match self {
            Self::Group(group) => group.connections,
            Self::Address(_) => sharing.connections,
        }
    }
}

impl fmt::Display for Bond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(group) => f.write_str(&group.name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl Circle {
    /// A circle without hosts. None of those that come is asked before `due`.
    pub(super) fn new(bond: Bond, due: Timestamp) -> Self {
        Self { bond, due, out: 0, called: 0, left: u8::MAX, members: 0, line: None, is_noted: false }
    }

    /// Whether a further request may go out, once the circle has rested. Whoever was called goes before, and the circle rests behind it.
    pub(super) fn has_room(&self, sharing: &AddressSharing) -> bool {
        let is_kept = self.called > 0 && !self.bond.delay(sharing).is_zero();
        !is_kept && self.out + self.called < self.most(sharing)
    }

    /// Requests that may be out at once: no more than a budget leaves.
    pub(super) fn most(&self, sharing: &AddressSharing) -> u8 {
        self.bond.connections(sharing).min(self.left)
    }

    /// The hosts that wait for it.
    pub(super) fn line(&mut self) -> &mut Line {
        self.line.get_or_insert_default()
    }

    /// Whether any host stands in its line.
    pub(super) fn is_waited_for(&self) -> bool {
        self.line.as_ref().is_some_and(|line| !line.is_empty())
    }

    /// An address that nobody has, and that need not rest: its circle may be another's. One that rests must stay, or a host that comes back
    /// would be asked too early.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        let is_address = matches!(self.bond, Bond::Address(_));
        is_address && self.members == 0 && self.out == 0 && self.called == 0 && self.due <= now
    }
}
