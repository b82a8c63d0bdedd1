//! Hosts that are to be evicted once a checkpoint has them.

use std::ops::Range;

use crate::frontier::{IdleHost, Timestamp, idle_hosts};

/// Chooses the hosts that leave memory: of those that are idle, so many that have rested for longest.
#[derive(Debug)]
pub(super) struct Leavers {
    most: usize,
    /// Images one after another.
    images: Vec<u8>,
    /// Each host's clock, and where its image is.
    hosts: Vec<(Timestamp, Range<usize>)>,
}

impl Leavers {
    pub(super) fn up_to(most: u64) -> Self {
        Self { most: usize::try_from(most).unwrap_or(usize::MAX), images: Vec::new(), hosts: Vec::new() }
    }

    /// Takes the idle hosts of a slice. Without a word where it is none: a slice that cannot be read is told when it is.
    pub(super) fn look_at(&mut self, slice: &[u8]) {
        if self.most == 0 {
            return;
        }
        for host in idle_hosts(slice) {
            let begin = self.images.len();
            self.images.extend_from_slice(host.image);
            self.hosts.push((host.due, begin..self.images.len()));
        }
        // Not all that are idle are held at once: each image is moved once or twice.
        if self.hosts.len() / 2 > self.most {
            self.choose();
        }
    }

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

    pub(super) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Those chosen, in no order.
    pub(super) fn hosts(&mut self) -> impl Iterator<Item = IdleHost<'_>> {
        self.choose();
        idle_hosts(&self.images)
    }
}
