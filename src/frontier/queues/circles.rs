//! Hosts that share a clock.
//!
//! ```text
//!   a host's own rest is over ──▶ Front ──▶ its circle is free? ── yes ──▶ Leased: the circle is taken
//!                                   ▲                 │ no                      │ complete
//!                                   │                 ▼                         ▼
//!                              called, one ◀──────── Line ◀── the circle rests, then is free
//! ```
//!
//! A host whose turn comes while its circle rests, or has as many requests out as it may, stands in the circle's line. When the circle is
//! free, one host of the line is *called*: it goes to the front queue, and nobody else of the circle may take its place meanwhile. A
//! circle that rests is noted once by the time when it is free, however many stand in its line. So ten thousand hosts of one group cost
//! a request no more than two do.
//!
//! Nothing of this is state: after a restart, each circle rests first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::Line;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{HostId, HostState, Seats, Sharing};

/// The number of a circle: its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CircleId(pub(crate) u16);

/// A group of hosts, with the clock that they share.
#[derive(Debug)]
struct Circle {
    sharing: Arc<Sharing>,
    /// The time before which none of its hosts is asked.
    due: Timestamp,
    /// Requests to its hosts that are out.
    out: u32,
    /// Hosts of its line that were called, and are in the front queue.
    called: u32,
    line: Line,
    is_noted: bool,
}

/// The groups of hosts, with their clocks and lines.
#[derive(Debug, Default)]
pub(crate) struct Circles {
    all: Vec<Circle>,
    /// Circles that rest while hosts stand in their lines, by the time when they are free; the earliest is the greatest.
    notes: BinaryHeap<Reverse<(Timestamp, CircleId)>>,
    /// Hosts in all lines.
    waiting: usize,
}

impl Circle {
    /// Whether a further request may go out, once the circle has rested. Whoever was called goes before, and the circle rests behind it.
    fn has_room(&self) -> bool {
        let is_kept = self.called > 0 && !self.sharing.delay.is_zero();
        !is_kept && self.out + self.called < self.sharing.connections.into()
    }
}

impl Circles {
    /// One for each group. None of their hosts is asked before its group has rested from `since` on.
    pub(crate) fn new(groups: &[Sharing], since: Option<Timestamp>) -> Self {
        let circle = |sharing: &Sharing| Circle {
            due: since.map_or(Timestamp::default(), |since| since + sharing.delay),
            sharing: Arc::new(sharing.clone()),
            out: 0,
            called: 0,
            line: Line::default(),
            is_noted: false,
        };
        Self { all: groups.iter().map(circle).collect(), ..Self::default() }
    }

    /// Whether there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Hosts that stand in lines.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The time before which none of its hosts is asked.
    pub(crate) fn due(&self, id: CircleId) -> Timestamp {
        self.all[usize::from(id.0)].due
    }

    /// Whether a host of the circle may be asked now that was taken from the front queue. If it was called, its place was kept.
    pub(crate) fn is_free(&self, id: CircleId, now: Timestamp) -> bool {
        let circle = &self.all[usize::from(id.0)];
        circle.due <= now && circle.has_room()
    }

    /// A host that was called has been taken from the front queue.
    pub(crate) fn answered(&mut self, id: CircleId) {
        self.all[usize::from(id.0)].called -= 1;
    }

    /// A host, that is in no queue, stands in the line; before all others of its priority where it was called before.
    pub(crate) fn stand(&mut self, id: CircleId, seats: &mut Seats<'_>, host: HostId, priority: u8, was_called: bool) {
        let line = &mut self.all[usize::from(id.0)].line;
        if was_called {
            line.push_front(seats, host, priority);
        } else {
            line.push(seats, host, priority);
        }
        seats[host].state = HostState::InLine(priority);
        self.waiting += 1;
    }

    /// Takes a host of this priority out of the line. O(circles) where it was the last.
    pub(crate) fn leave(&mut self, id: CircleId, seats: &mut Seats<'_>, host: HostId, priority: u8) {
        let circle = &mut self.all[usize::from(id.0)];
        circle.line.remove(seats, host, priority);
        self.waiting -= 1;
        if circle.line.len() == 0 && std::mem::take(&mut circle.is_noted) {
            self.notes.retain(|Reverse((_, noted))| *noted != id);
        }
    }

    /// A request to one of its hosts goes out. Says what the circle may do.
    pub(crate) fn lend(&mut self, id: CircleId, now: Timestamp) -> Arc<Sharing> {
        let circle = &mut self.all[usize::from(id.0)];
        circle.out += 1;
        if circle.sharing.connections > 1 {
            circle.due = now + circle.sharing.delay;
        }
        Arc::clone(&circle.sharing)
    }

    /// A request to one of its hosts is back; `was_sent` unless nothing was sent.
    pub(crate) fn take_back(&mut self, id: CircleId, was_sent: bool, now: Timestamp) {
        let circle = &mut self.all[usize::from(id.0)];
        circle.out -= 1;
        if circle.sharing.connections == 1 && was_sent {
            circle.due = now + circle.sharing.delay;
        }
    }

    /// The host of a circle's line that goes next, if the circle is free: called, and taken out of the line. A circle that rests is
    /// noted.
    pub(crate) fn call(&mut self, id: CircleId, seats: &mut Seats<'_>, now: Timestamp) -> Option<(HostId, u8)> {
        let circle = &mut self.all[usize::from(id.0)];
        if circle.line.len() == 0 || !circle.has_room() {
            return None;
        }
        if circle.due > now {
            if !circle.is_noted {
                circle.is_noted = true;
                self.notes.push(Reverse((circle.due, id)));
            }
            return None;
        }
        let called = circle.line.pop(seats)?;
        circle.called += 1;
        self.waiting -= 1;
        Some(called)
    }

    /// A circle whose rest is over, noted no more.
    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<CircleId> {
        let &Reverse((_, id)) = self.notes.peek().filter(|Reverse((due, _))| *due <= now)?;
        self.notes.pop();
        self.all[usize::from(id.0)].is_noted = false;
        Some(id)
    }

    /// When the first circle is free for which a host waits.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        self.notes.peek().map(|&Reverse((due, _))| due)
    }
}
