//! The queues of hosts: those that may be asked now, those that wait for their rate group or their domain, and those that rest.
//!
//! # Front: hosts that may be asked now
//!
//! A priority is one byte here, the number of a front queue: see [`Priorities`]. There are 256 lists, and one bit for each by its rank, so
//! the best priority is found in four words of memory.
//!
//! # Wait queues: hosts that wait for their rate group or their domain
//!
//! They wait by the priority of their best URLs. The lists run through the hosts, as those of [`Front`] do, so a host in a wait queue is in
//! no other queue. A wait queue has lists only for priorities that a host has, since there may be many wait queues.
//!
//! Each host's state says which kind of wait queue it is in, and by which priority. State and queue change together.
//!
//! # Agenda: hosts by the time they may next be asked
//!
//! ```text
//!   today: a heap ◀── the day comes ── later: lists, by the day's number
//!     │
//!     └── pop_due(now) ──▶ Front
//! ```
//!
//! Most rests have one length. So most hosts are noted in the last list or close to it, and each host is sorted once, among the hosts of
//! its own day.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::frontier::hosts::{HostId, ListLink, SchedulingStates};
use crate::frontier::{Priorities, Timestamp};

/// The front queues: hosts that may be asked now, by the priority of their best URL; first come, first served within a priority.
///
/// Mercator's front queues hold URLs, and a host's back queue is filled from them only when it runs empty, so a host's order is fixed
/// before better URLs for it are found, and a front queue full of one host's URLs starves the rest. Here the back queues hold all URLs,
/// each host's best first, and the front queues hold each due host once: the best URL of all due hosts goes first, and only hosts that may
/// be asked at once are ever looked at.
///
/// Every operation is O(1). The lists run through the hosts, because a host moves up from the middle of its list when a better URL is found
/// for it.
#[derive(Debug)]
pub(crate) struct Front {
    /// A list of hosts for each priority.
    queues: Box<[ListLink; 256]>,
    /// One bit for each priority, by its rank: whether its list has a host.
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
    pub(crate) fn push(&mut self, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8) {
        let last = self.queues[usize::from(priority)].previous;
        hosts[host].link = ListLink { previous: last, next: HostId::NONE };
        self.link_to_next(hosts, last, priority).next = host;
        self.queues[usize::from(priority)].previous = host;
        self.occupy(hosts.priorities().rank(priority));
        self.len += 1;
    }

    /// Takes a host out of the queue of this priority, which it must be in.
    pub(crate) fn remove(&mut self, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8) {
        let ListLink { previous, next } = hosts[host].link;
        self.link_to_next(hosts, previous, priority).next = next;
        if next == HostId::NONE {
            self.queues[usize::from(priority)].previous = previous;
        } else {
            hosts[next].link.previous = previous;
        }
        if self.queues[usize::from(priority)].next == HostId::NONE {
            let rank = hosts.priorities().rank(priority);
            self.occupied[usize::from(rank) / 64] &= !(1 << (rank % 64));
        }
        self.len -= 1;
    }

    /// Removes the host that has waited longest among those of the best priority; returns it with the priority.
    pub(crate) fn pop(&mut self, hosts: &mut SchedulingStates<'_>) -> Option<(HostId, u8)> {
        let priority = self.best(hosts.priorities())?;
        let host = self.queues[usize::from(priority)].next;
        self.remove(hosts, host, priority);
        Some((host, priority))
    }

    /// The host that [`pop`](Self::pop) would take.
    pub(crate) fn first(&self, priorities: &Priorities) -> Option<HostId> {
        self.best(priorities).map(|priority| self.queues[usize::from(priority)].next)
    }

    /// The number of hosts that may be asked now.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The order of priorities has changed. O(priorities).
    pub(crate) fn reorder(&mut self, priorities: &Priorities) {
        self.occupied = [0; 4];
        for front in 0..=u8::MAX {
            if self.queues[usize::from(front)].next != HostId::NONE {
                self.occupy(priorities.rank(front));
            }
        }
    }

    fn occupy(&mut self, rank: u8) {
        self.occupied[usize::from(rank) / 64] |= 1 << (rank % 64);
    }

    /// The best priority that has a host.
    fn best(&self, priorities: &Priorities) -> Option<u8> {
        let word = (0..4u8).find(|&word| self.occupied[usize::from(word)] != 0)?;
        let bit = self.occupied[usize::from(word)].trailing_zeros();
        Some(priorities.at(word * 64 + u8::try_from(bit).expect("a word has 64 bits")))
    }

    /// The link that says which host comes after this one; for no host, the queue's own link.
    fn link_to_next<'a>(
        &'a mut self,
        hosts: &'a mut SchedulingStates<'_>,
        host: HostId,
        priority: u8,
    ) -> &'a mut ListLink {
        if host == HostId::NONE { &mut self.queues[usize::from(priority)] } else { &mut hosts[host].link }
    }
}

/// Waiting hosts by priority; first come, first served within a priority. Every operation is O(priorities in use), mostly one to three.
#[derive(Debug, Default)]
pub(crate) struct WaitQueue {
    /// A list for each priority that any host has, the best first. No list is empty.
    levels: Vec<(u8, ListLink)>,
}

impl WaitQueue {
    /// Puts a host that is in no queue after all others of its priority.
    pub(crate) fn push(&mut self, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8) {
        let level = self.level(hosts.priorities(), priority);
        let last = std::mem::replace(&mut level.previous, host);
        if last == HostId::NONE {
            level.next = host;
        } else {
            hosts[last].link.next = host;
        }
        hosts[host].link = ListLink { previous: last, next: HostId::NONE };
    }

    /// Puts a host that is in no queue before all others of its priority.
    pub(crate) fn push_front(&mut self, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8) {
        let level = self.level(hosts.priorities(), priority);
        let first = std::mem::replace(&mut level.next, host);
        if first == HostId::NONE {
            level.previous = host;
        } else {
            hosts[first].link.previous = host;
        }
        hosts[host].link = ListLink { previous: HostId::NONE, next: first };
    }

    /// Takes a host out of the list of this priority, which it must be in. Its own link stays as it was: the next queue that takes the host
    /// writes it.
    pub(crate) fn remove(&mut self, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8) {
        let ListLink { previous, next } = hosts[host].link;
        let level = self.level(hosts.priorities(), priority);
        if previous == HostId::NONE {
            level.next = next;
        } else {
            hosts[previous].link.next = next;
        }
        if next == HostId::NONE {
            level.previous = previous;
        } else {
            hosts[next].link.previous = previous;
        }
        if level.next == HostId::NONE {
            self.levels.retain(|(of, _)| *of != priority);
        }
    }

    /// Removes the host that has waited longest among those of the best priority; returns it with the priority.
    pub(crate) fn pop(&mut self, hosts: &mut SchedulingStates<'_>) -> Option<(HostId, u8)> {
        let &(priority, level) = self.levels.first()?;
        self.remove(hosts, level.next, priority);
        Some((level.next, priority))
    }

    /// The best priority that has a host.
    pub(crate) fn best(&self) -> Option<u8> {
        self.levels.first().map(|(priority, _)| *priority)
    }

    /// Whether no host waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The list of a priority; makes one if there is none, which the caller must not leave empty.
    fn level(&mut self, priorities: &Priorities, priority: u8) -> &mut ListLink {
        let at = self.levels.iter().position(|(of, _)| *of == priority).unwrap_or_else(|| {
            let rank = priorities.rank(priority);
            let at = self.levels.partition_point(|(of, _)| priorities.rank(*of) < rank);
            self.levels.insert(at, (priority, ListLink::default()));
            at
        });
        &mut self.levels[at].1
    }
}

/// Hosts with URLs queued that may not be asked yet, by the time they may.
///
/// Time is cut into days of 16 milliseconds, as in a calendar queue (Brown 1988). A host of a later day is noted with one write at the end
/// of that day's list, in no order; when the day comes, its hosts are ordered at once. So with a million resting hosts only the few
/// thousand of one day are sorted, in cache. A heap of all of them would be walked from top to bottom, in memory, for each host.
///
/// [`pop_due`](Self::pop_due) removes hosts that are due; only [`remove`](Self::remove), which is rare, removes others. A resting host with
/// nothing lent out cannot change. A host with pages out may be told to rest longer meanwhile: it is then removed too early, and put back.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// The hosts of this day and of earlier ones; empty only if no host rests.
    today: BinaryHeap<Note>,
    /// The number of this day: microseconds, shifted by [`DAY`].
    day: u64,
    /// The hosts of later days, by the day's number.
    later: BTreeMap<u64, Vec<Note>>,
    /// The number of hosts of all days.
    len: usize,
    /// The number of notes ever made, modulo 2³².
    made: u32,
}

/// The earliest note is the greatest; of notes due at the same time, the one made first. Host numbers would not do to break ties: an
/// evicted host comes back with another number. If the count of notes wraps between two of them, their order is reversed.
type Note = Reverse<(Timestamp, u32, HostId)>;

const _: () = assert!(size_of::<Note>() == 16);

/// A day is 2¹⁴ microseconds: of a million hosts that rest for seconds, a few thousand fall on one day.
const DAY: u32 = 14;

impl Agenda {
    /// Notes a host that is not yet noted. O(log hosts), and mostly O(1).
    pub(crate) fn push(&mut self, due: Timestamp, host: HostId) {
        let day = due.as_micros() >> DAY;
        let note = Reverse((due, self.made, host));
        self.made = self.made.wrapping_add(1);
        self.len += 1;
        if day <= self.day {
            self.today.push(note);
        } else {
            self.later.entry(day).or_default().push(note);
            self.turn();
        }
    }

    /// Removes and returns the host that has been due for longest; of hosts due at the same time, the first noted. O(log hosts), amortized.
    #[inline]
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<HostId> {
        self.earliest().filter(|&due| due <= now).and_then(|_| self.pop())
    }

    fn pop(&mut self) -> Option<HostId> {
        let Reverse((_, _, host)) = self.today.pop()?;
        self.turn();
        self.len -= 1;
        Some(host)
    }

    /// Removes hosts, wherever they are. O(resting hosts): for a host that is dropped, and for a group whose budget is spent.
    pub(crate) fn remove(&mut self, is_gone: impl Fn(HostId) -> bool) {
        let stays = |note: &Note| !is_gone(note.0.2);
        self.today.retain(stays);
        self.later.values_mut().for_each(|hosts| hosts.retain(stays));
        self.later.retain(|_, hosts| !hosts.is_empty());
        self.len = self.today.len() + self.later.values().map(Vec::len).sum::<usize>();
        self.turn();
    }

    /// When the first of them is due.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.today.peek().map(|&Reverse((due, ..))| due)
    }

    /// The host that is due first, then two more, one of which is usually due second.
    pub(crate) fn first_three(&self) -> impl Iterator<Item = HostId> {
        self.today.as_slice().iter().take(3).map(|&Reverse((_, _, host))| host)
    }

    /// Hosts that rest.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of memory held, about: a growing list may be half empty.
    pub(crate) fn memory(&self) -> usize {
        self.len * size_of::<Note>() * 2
    }

    /// Goes on to the next day that has hosts, once today has none.
    fn turn(&mut self) {
        if self.today.is_empty()
            && let Some((day, hosts)) = self.later.pop_first()
        {
            self.day = day;
            self.today = hosts.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_agrees_with_a_sorted_set(notes in prop::collection::vec((0..200_000u64, 0..30_000u64), 0..300)) {
            let mut agenda = Agenda::default();
            let mut model = BTreeSet::new();
            let mut now = 0;
            // The later a host is noted, the lower its number: of hosts due at the same time, the first noted must still go first.
            for (nth, (ahead, passed)) in (0..).zip(notes) {
                let (due, host) = (Timestamp::from_micros((now + ahead) / 100 * 100), HostId::new(1000 - nth));
                agenda.push(due, host);
                model.insert((due, nth));
                now += passed;
                let at = Timestamp::from_micros(now);
                while let Some(&first) = model.first().filter(|(due, _)| *due <= at) {
                    prop_assert_eq!(agenda.earliest(), Some(first.0));
                    prop_assert_eq!(agenda.pop_due(at), Some(HostId::new(1000 - first.1)));
                    model.remove(&first);
                }
                prop_assert_eq!(agenda.pop_due(at), None);
                prop_assert_eq!(agenda.earliest(), model.first().map(|&(due, _)| due));
                prop_assert_eq!(agenda.len(), model.len());
            }
        }
    }
}
