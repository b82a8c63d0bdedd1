//! The leases that are out.

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
    /// The outstanding pages of each host that may have several out. For other hosts the seat says everything, so this stays empty in a
    /// crawl with one connection a host.
    beside: AHashMap<HostId, InFlight>,
    /// How many of a host's outstanding pages are only to be given up: they are no requests.
    given_up: AHashMap<HostId, u8>,
}

/// The outstanding pages of one host that may have several out.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    /// In the order in which they went out.
    pages: Vec<Position>,
    /// When its next request may start: the start of the last, plus the delay.
    pub(crate) next: Timestamp,
    /// How often it has failed since it last had no page out.
    pub(crate) failure_epoch: u32,
}

impl Lent {
    /// The outstanding pages of a host that may have several out; `None` if it has none.
    pub(crate) fn beside(&self, host: HostId) -> Option<&InFlight> {
        self.beside.get(&host)
    }

    /// A host's outstanding pages; empty for a host with one lease at a time.
    pub(crate) fn pages_of(&self, host: HostId) -> &[Position] {
        self.beside.get(&host).map_or(&[], |beside| &beside.pages)
    }

    /// Adds a page that goes out to the others of its host.
    pub(crate) fn add(&mut self, lease: &mut Lease, page: Position) {
        let beside = self.beside.entry(lease.host).or_default();
        beside.pages.push(page);
        lease.failure_epoch = beside.failure_epoch;
        if lease.trouble.is_none() {
            beside.next = lease.lent_at + lease.delay;
        }
    }

    /// A page is back. With the last one, the host's entry goes.
    pub(crate) fn remove(&mut self, host: HostId, page: Position) {
        if let Some(beside) = self.beside.get_mut(&host) {
            beside.pages.retain(|out| *out != page);
            if beside.pages.is_empty() {
                self.beside.remove(&host);
            }
        }
    }

    /// A page goes out to be given up.
    pub(crate) fn give_up(&mut self, host: HostId) {
        *self.given_up.entry(host).or_default() += 1;
    }

    /// A page that went out to be given up is back.
    pub(crate) fn take_given_up(&mut self, host: HostId) {
        if let Some(pages) = self.given_up.get_mut(&host) {
            *pages -= 1;
            if *pages == 0 {
                self.given_up.remove(&host);
            }
        }
    }

    /// How many of a host's outstanding pages are to be given up.
    pub(crate) fn given_up(&self, host: HostId) -> u8 {
        self.given_up.get(&host).copied().unwrap_or_default()
    }

    /// A host's rest is now `by` longer than when its last page went out.
    pub(crate) fn rest_longer(&mut self, host: HostId, by: Duration) {
        if let Some(beside) = self.beside.get_mut(&host) {
            beside.next = beside.next + by;
        }
    }

    /// A host has failed: this begins a failure epoch, and requests that were sent before say nothing new.
    pub(crate) fn begin_wave(&mut self, host: HostId) {
        if let Some(beside) = self.beside.get_mut(&host) {
            beside.failure_epoch += 1;
        }
    }
}
