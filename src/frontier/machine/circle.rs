//! Hosts of one group: whose turn it is among them.
//!
//! A host of a group passes two clocks, one after the other: its own, in the agenda, and then its group's, in the group's line. What
//! both say holds at once, since a host comes to the line only when its own rest is over, and is lent out only when its group is free.
//!
//! A host that is given up passes none: it is not asked.

use super::Frontier;
use crate::frontier::Timestamp;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{HostId, HostState};
use crate::frontier::queues::CircleId;

impl<J: Journal> Frontier<J> {
    /// The circle of a host, if it shares a clock with others.
    #[inline]
    pub(crate) fn circle_of(&self, id: HostId) -> Option<CircleId> {
        if self.circles.is_empty() { None } else { self.treatment(id).group.map(CircleId) }
    }

    /// Takes note that a host of a circle was taken from the front queue; says whether it had been called there.
    pub(crate) fn came_when_called(&mut self, id: HostId, circle: CircleId) -> bool {
        let was_called = matches!(self.state.host(id).seat.state, HostState::Called(_));
        if was_called {
            self.circles.answered(circle);
        }
        was_called
    }

    /// Whether a host that was taken from the front queue had to stand in the line of its circle.
    pub(crate) fn stands_in_line(
        &mut self,
        id: HostId,
        priority: u8,
        circle: CircleId,
        was_called: bool,
        now: Timestamp,
    ) -> bool {
        if self.state.host(id).is_retired() || self.circles.is_free(circle, now) {
            return false;
        }
        self.circles.stand(circle, &mut self.state.seats(), id, priority, was_called);
        true
    }

    /// Calls the next host of a circle to the front queue, where the circle is free and one stands in its line.
    pub(crate) fn call(&mut self, circle: Option<CircleId>, now: Timestamp) {
        let seats = &mut self.state.seats();
        if let Some(circle) = circle
            && let Some((host, priority)) = self.circles.call(circle, seats, now)
        {
            seats[host].state = HostState::Called(priority);
            self.front.push(seats, host, priority);
        }
    }
}
