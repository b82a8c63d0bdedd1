//! The front queues: hosts that may be asked now.
//!
//! A priority is one byte, and 0 goes first. With 256 lists and one bit for each, the best host is found in four words of memory.

use super::ListLink;
use crate::frontier::hosts::{HostId, HostSlots};

/// The front queues: hosts that may be asked now, by the priority of their best URL; first come, first served within a priority.
///
/// Mercator's front queues hold URLs, and a host's back queue is filled from them only when it runs empty, so a host's order is fixed
/// before better URLs for it are found, and a front queue full of one host's URLs starves the rest. Here the back queues hold all URLs,
/// each host's best first, and the front queues hold each due host once: the best URL of all due hosts goes first, and only hosts that may
/// be asked at once are ever looked at.
///
/// Every operation is O(1). The queues are lists through the hosts, because a host moves up from the middle of its queue when
/// a better URL is found for it.
#[derive(Debug)]
pub(crate) struct Front {
    /// A list of hosts for each priority.
    queues: Box<[ListLink; 256]>,
    /// One bit for each priority: whether its list has a host. So the best priority is found in four words.
    occupied: [u64; 4],
    /// The number of hosts in all lists.
    len: usize,
}

impl Default for Front {
    fn default() -> Self {
        Self { queues: Box::new([ListLink::default(); 256]), occupied: [0; 4], len: 0 }
    }
}

impl Front {
    /// Puts a host that is in no queue after all others of its priority.
    pub(crate) fn push(&mut self, seats: &mut HostSlots<'_>, host: HostId, priority: u8) {
        let last = self.queues[usize::from(priority)].before;
        seats[host].link = ListLink { before: last, behind: HostId::NONE };
        self.after(seats, last, priority).behind = host;
        self.queues[usize::from(priority)].before = host;
        self.occupied[usize::from(priority) / 64] |= 1 << (priority % 64);
        self.len += 1;
    }

    /// Takes a host out of the queue of this priority, which it must be in.
    pub(crate) fn remove(&mut self, seats: &mut HostSlots<'_>, host: HostId, priority: u8) {
        let ListLink { before, behind } = seats[host].link;
        self.after(seats, before, priority).behind = behind;
        if behind == HostId::NONE {
            self.queues[usize::from(priority)].before = before;
        } else {
            seats[behind].link.before = before;
        }
        if self.queues[usize::from(priority)].behind == HostId::NONE {
            self.occupied[usize::from(priority) / 64] &= !(1 << (priority % 64));
        }
        self.len -= 1;
    }

    /// Removes the host that has waited longest among those of the best priority; returns it with the priority.
    pub(crate) fn pop(&mut self, seats: &mut HostSlots<'_>) -> Option<(HostId, u8)> {
        let priority = self.best()?;
        let host = self.queues[usize::from(priority)].behind;
        self.remove(seats, host, priority);
        Some((host, priority))
    }

    /// The host that [`pop`](Self::pop) would take.
    pub(crate) fn first(&self) -> Option<HostId> {
        self.best().map(|priority| self.queues[usize::from(priority)].behind)
    }

    /// The number of hosts that may be asked now.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The best priority that has a host.
    fn best(&self) -> Option<u8> {
        let word = (0..4u8).find(|&word| self.occupied[usize::from(word)] != 0)?;
        let bit = self.occupied[usize::from(word)].trailing_zeros();
        Some(word * 64 + u8::try_from(bit).expect("a word has 64 bits"))
    }

    /// The link that says which host comes after this one; for no host, the queue's own link.
    fn after<'a>(&'a mut self, seats: &'a mut HostSlots<'_>, host: HostId, priority: u8) -> &'a mut ListLink {
        if host == HostId::NONE { &mut self.queues[usize::from(priority)] } else { &mut seats[host].link }
    }
}
