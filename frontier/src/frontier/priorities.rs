//! The priority that each front queue stands for: priorities are any numbers, and front queues are bytes.
//!
//! At first each front queue stands for its own number, so a crawl by depth changes nothing here. A priority that no front queue stands for
//! takes one that has no URL, and a record says so. While URLs are in a front queue, what it stands for does not change. So a URL that waits
//! needs only the byte, and up to 256 priorities in use are kept exactly. Beyond that a URL goes to the front queue whose priority is
//! closest.
//!
//! Front queues go by their *rank*, the order of their priorities, and not by their numbers.
//!
//! # Bytes in a checkpoint
//!
//! ```text
//! piece:   PRIORITIES, then for each front queue that stands for another number than its own:
//!          the front queue, 1 byte; the step from its own number to its priority, a varint
//! ```

use crate::bytes::varint::{number, put, step, walk};

/// The first byte of a piece with priorities. No host begins with it: a key is longer.
pub(crate) const PRIORITIES: u8 = 1;

/// Which priority each front queue stands for, and the order that follows.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    /// By front queue; no two are equal.
    values: [i64; 256],
    /// The front queues, the best first.
    order: [u8; 256],
    /// Of each front queue, its place in `order`.
    ranks: [u8; 256],
}

/// The front queue for a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontQueue {
    /// It stands for this priority.
    Exact(u8),
    /// It has no URL, and is to stand for this priority.
    Free(u8),
    /// All front queues have URLs, and this one's priority is closest.
    Closest(u8),
}

impl Default for Priorities {
    fn default() -> Self {
        let own = std::array::from_fn(|place| u8::try_from(place).expect("a place of 256"));
        Self { values: own.map(i64::from), order: own, ranks: own }
    }
}

impl Priorities {
    /// The priority that a front queue stands for.
    pub(crate) fn of(&self, front: u8) -> i64 {
        self.values[usize::from(front)]
    }

    /// A front queue's place among all: 0 goes first.
    #[inline]
    pub(crate) fn rank(&self, front: u8) -> u8 {
        self.ranks[usize::from(front)]
    }

    /// The front queue at a place.
    #[inline]
    pub(crate) fn at(&self, rank: u8) -> u8 {
        self.order[usize::from(rank)]
    }

    /// The front queue for a priority; `is_free` says whether one has no URL.
    #[inline]
    pub(crate) fn find(&self, priority: i64, is_free: impl Fn(u8) -> bool) -> FrontQueue {
        if let Ok(own) = u8::try_from(priority)
            && self.of(own) == priority
        {
            return FrontQueue::Exact(own);
        }
        self.search(priority, is_free)
    }

    /// The same, for a priority that is not the number of its front queue. The free one with the greatest number is taken: the others may
    /// be needed for depths.
    fn search(&self, priority: i64, is_free: impl Fn(u8) -> bool) -> FrontQueue {
        if let Some(exact) = self.exact(priority) {
            return FrontQueue::Exact(exact);
        }
        if let Some(free) = (0..=u8::MAX).rev().find(|front| is_free(*front)) {
            return FrontQueue::Free(free);
        }
        FrontQueue::Closest(self.closest(priority))
    }

    /// The front queue that stands for a priority, if one does.
    pub(crate) fn exact(&self, priority: i64) -> Option<u8> {
        let front = self.closest(priority);
        (self.of(front) == priority).then_some(front)
    }

    /// The front queue whose priority is this or closest to it, whether it has URLs or not.
    pub(crate) fn closest(&self, priority: i64) -> u8 {
        let place = self.order.partition_point(|front| self.of(*front) < priority);
        let [better, worse] = [place.checked_sub(1), Some(place)].map(|place| self.order.get(place?).copied());
        let away = |front: &u8| self.of(*front).abs_diff(priority);
        better.into_iter().chain(worse).min_by_key(away).expect("there are 256")
    }

    /// Lets a front queue without URLs stand for a priority. O(front queues).
    pub(crate) fn set(&mut self, front: u8, priority: i64) {
        self.values[usize::from(front)] = priority;
        let values = &self.values;
        self.order.sort_by_key(|front| values[usize::from(*front)]);
        for (rank, front) in (0..=u8::MAX).zip(self.order) {
            self.ranks[usize::from(front)] = rank;
        }
    }

    /// Whether each front queue stands for its own number.
    pub(crate) fn is_plain(&self) -> bool {
        self.changed().next().is_none()
    }

    /// The front queues that stand for other numbers than their own.
    fn changed(&self) -> impl Iterator<Item = (u8, i64)> {
        (0..=u8::MAX).zip(self.values).filter(|(front, priority)| i64::from(*front) != *priority)
    }

    /// Appends its piece.
    pub(crate) fn save(&self, to: &mut Vec<u8>) {
        to.push(PRIORITIES);
        for (front, priority) in self.changed() {
            to.push(front);
            put(to, step(front.into(), priority.cast_unsigned()));
        }
    }

    /// Reads its piece; `None` if it is not valid.
    pub(crate) fn load(mut piece: &[u8]) -> Option<Self> {
        let mut priorities = Self::default();
        piece.split_off_first().filter(|mark| **mark == PRIORITIES)?;
        while let Some(&front) = piece.split_off_first() {
            priorities.values[usize::from(front)] = walk(front.into(), number(&mut piece)?).cast_signed();
        }
        let (front, priority) = (0, priorities.of(0));
        priorities.set(front, priority);
        Some(priorities)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Against a sorted set: front queues in use keep what they stand for, and rank as their priorities do.
        #[test]
        fn priorities_in_use_are_exact_and_in_order(
            acts in prop::collection::vec((prop_oneof![any::<i64>(), -300..300i64], any::<bool>()), 0..600),
        ) {
            let mut priorities = Priorities::default();
            let mut used: BTreeSet<(i64, u8)> = BTreeSet::new();
            for (priority, is_left) in acts {
                if is_left {
                    used.pop_first();
                }
                let found = priorities.find(priority, |front| !used.iter().any(|(_, other)| *other == front));
                let is_there = used.iter().any(|(other, _)| *other == priority);
                match found {
                    FrontQueue::Exact(front) => _ = used.insert((priority, front)),
                    FrontQueue::Free(front) => {
                        prop_assert!(!is_there);
                        priorities.set(front, priority);
                        used.insert((priority, front));
                    }
                    FrontQueue::Closest(front) => {
                        prop_assert!(used.len() == 256 && !is_there);
                        let least = used.iter().map(|(other, _)| other.abs_diff(priority)).min().unwrap();
                        prop_assert_eq!(priorities.of(front).abs_diff(priority), least);
                    }
                }
                prop_assert!(used.iter().all(|(priority, front)| priorities.of(*front) == *priority));
                prop_assert!(used.iter().map(|(_, front)| priorities.rank(*front)).is_sorted());
                prop_assert!((0..=255).all(|rank| priorities.rank(priorities.at(rank)) == rank));
            }
            let mut piece = Vec::new();
            priorities.save(&mut piece);
            let again = Priorities::load(&piece).unwrap();
            prop_assert_eq!((again.values, again.order, again.ranks), (priorities.values, priorities.order, priorities.ranks));
            prop_assert_eq!(priorities.is_plain(), piece.len() == 1);
        }
    }
}
