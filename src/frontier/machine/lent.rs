//! Leases that are out.
//!
//! None of this is known after a crash, and none of it need be. A lease is given to one caller and moves back into the call that
//! completes it, so what is counted here is what callers hold. One that is never completed keeps its place for ever, and a host that
//! has one connection then waits for ever.

use std::time::Duration;

use ahash::AHashMap;

use crate::frontier::hosts::HostId;
use crate::frontier::{Lease, Timestamp};
use crate::gate::Position;

/// Leases that are out.
#[derive(Debug, Default)]
pub(crate) struct Lent {
    /// Leases of all kinds.
    pub(crate) all: u64,
    /// Leases of pages.
    pub(crate) pages: u64,
    /// Leases that are first contacts with their hosts.
    pub(crate) first_contacts: u64,
    /// The pages of each host of which any is out, where a host may have several. Else a host's seat says all, and this stays empty:
    /// a polite crawl pays nothing for it.
    beside: AHashMap<HostId, InFlight>,
}

/// The pages of one host that are out side by side.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// In the order in which they went out.
    pages: Vec<Position>,
    /// When its next request may start, by the start of the last.
    pub(crate) next: Timestamp,
    /// How often it has failed since the first of them went out.
    pub(crate) failure_epoch: u32,
}

impl Lent {
    /// A host of which several pages may be out, and one is.
    pub(crate) fn beside(&self, host: HostId) -> Option<&InFlight> {
        self.beside.get(&host)
    }

    /// The pages of a host that are out; none where a host has one lease at a time.
    pub(crate) fn pages_of(&self, host: HostId) -> &[Position] {
        self.beside.get(&host).map_or(&[], |beside| &beside.pages)
    }

    /// A page goes out, beside those of its host that are out already.
    pub(crate) fn add(&mut self, lease: &mut Lease, page: Position) {
        let beside = self.beside.entry(lease.host).or_default();
        beside.pages.push(page);
        lease.failure_epoch = beside.failure_epoch;
        if lease.trouble.is_none() {
            beside.next = lease.lent_at + lease.delay;
        }
    }

    /// A page is back. With a host's last one all that is kept of it goes.
    pub(crate) fn remove(&mut self, host: HostId, page: Position) {
        if let Some(beside) = self.beside.get_mut(&host) {
            beside.pages.retain(|out| *out != page);
            if beside.pages.is_empty() {
                self.beside.remove(&host);
            }
        }
    }

    /// The rest of a host is longer by so much than it was when the last of these went out.
    pub(crate) fn rest_longer(&mut self, host: HostId, by: Duration) {
        if let Some(beside) = self.beside.get_mut(&host) {
            beside.next = beside.next + by;
        }
    }

    /// A host has failed: what was sent to it before says nothing new.
    pub(crate) fn begin_wave(&mut self, host: HostId) {
        if let Some(beside) = self.beside.get_mut(&host) {
            beside.failure_epoch += 1;
        }
    }
}
