use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Timestamp;

/// Hosts with URLs queued that may not be asked yet, by the time they may.
///
/// A binary heap without removal: a host that rests is not lent, so nothing that would change its time or its life can
/// happen to it before it is due.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Reverse<(Timestamp, u32)>>,
}

impl Agenda {
    /// Notes a host that is not noted. O(log hosts).
    pub(super) fn push(&mut self, due: Timestamp, host: u32) {
        self.heap.push(Reverse((due, host)));
    }

    /// The host that has been due for longest, taken off; hosts due at the same time by number. O(log hosts).
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<u32> {
        let &Reverse((due, host)) = self.heap.peek()?;
        (due <= now).then(|| {
            self.heap.pop();
            host
        })
    }

    /// When the first of them is due.
    pub(super) fn earliest(&self) -> Option<Timestamp> {
        self.heap.peek().map(|&Reverse((due, _))| due)
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.heap.capacity() * size_of::<Reverse<(Timestamp, u32)>>()
    }
}
