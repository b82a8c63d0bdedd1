//! Hosts by the time they may next be asked.
//!
//! ```text
//!   today: a heap ◀── the day comes ── later: lists, by the day's number
//!     │
//!     └── pop_due(now) ──▶ Front
//! ```
//!
//! Most rests have one length, so most hosts are noted at the end of the last list or close to it, and each is sorted once, among the hosts
//! of its own day.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::frontier::Timestamp;
use crate::frontier::hosts::HostId;

/// Hosts with URLs queued that may not be asked yet, by the time they may.
///
/// Time is cut into days of 16 milliseconds, as in a calendar queue (Brown 1988). Hosts of a later day are noted in no order, with one
/// write at the end of its list; when the day comes, its hosts are ordered at once. So with a million resting hosts only the few thousand
/// of one day are sorted, in cache, while a heap of all of them would be walked from top to bottom in memory for each.
///
/// Only due hosts are removed, or hosts removed [by hand](Self::remove). A resting host with nothing lent out cannot change. A host with
/// pages out may be told to rest longer meanwhile; it is then found too early, and put back.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// The hosts of this day and of earlier ones; empty only if there are no later ones either.
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

/// The earliest is the greatest; of notes due at the same time, the first made. Host numbers would not do to break ties: an evicted host
/// comes back with another number. If 2³² notes were made in between, the order of such a pair is reversed.
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

    /// Removes hosts, wherever they are. O(resting hosts): for operations that a user starts.
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
