//! The choice of the hosts that are evicted once a checkpoint holds them.
//!
//! The slices of a checkpoint are examined as they are written, so nothing is read again, and the frontier is not locked. Only hosts
//! with nothing queued or leased are chosen: a host that has URLs is asked soon, and would come back at once.
//!
//! The host with the longest rest goes first, by the time at which it might have been asked again. That is nearly what an LRU cache
//! would choose, without a list of hosts in the order of their use.

use std::ops::Range;

use crate::frontier::{IdleHost, Timestamp, idle_hosts};

/// Chooses the hosts that are evicted: up to a number of idle hosts, the longest rested first.
#[derive(Debug)]
pub(super) struct Eviction {
    most: usize,
    /// The images of the hosts, one after another.
    images: Vec<u8>,
    /// When each host may be asked again, and where its image is.
    hosts: Vec<(Timestamp, Range<usize>)>,
}

impl Eviction {
    /// A choice of at most this many hosts.
    pub(super) fn up_to(most: u64) -> Self {
        Self { most: usize::try_from(most).unwrap_or(usize::MAX), images: Vec::new(), hosts: Vec::new() }
    }

    /// Adds the idle hosts of a slice to the choice. A slice that cannot be read is skipped: its reader reports it.
    pub(super) fn look_at(&mut self, slice: &[u8]) {
        if self.most == 0 {
            return;
        }
        for host in idle_hosts(slice) {
            let begin = self.images.len();
            self.images.extend_from_slice(host.image);
            self.hosts.push((host.due, begin..self.images.len()));
        }
        // Choosing early keeps at most twice as many as are wanted. Each image is moved once or twice.
        if self.hosts.len() / 2 > self.most {
            self.choose();
        }
    }

    /// Keeps only the longest-rested hosts and their images. O(hosts): a selection, not a sort.
    fn choose(&mut self) {
        if self.hosts.len() <= self.most {
            return;
        }
        self.hosts.select_nth_unstable_by_key(self.most, |(due, _)| *due);
        self.hosts.truncate(self.most);
        let mut images = Vec::new();
        for (_, image) in &mut self.hosts {
            let begin = images.len();
            images.extend_from_slice(&self.images[image.clone()]);
            *image = begin..images.len();
        }
        self.images = images;
    }

    /// Whether no host is to be evicted: then no run is written.
    pub(super) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The chosen hosts, in no particular order.
    pub(super) fn hosts(&mut self) -> impl Iterator<Item = IdleHost<'_>> {
        self.choose();
        idle_hosts(&self.images)
    }
}
