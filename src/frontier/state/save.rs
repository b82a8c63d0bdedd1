//! A frontier in slices, for a checkpoint.

use crate::frontier::Frontier;
use crate::frontier::durable::{Counts, Journal, image};
use crate::gate::Position;

/// Numbers of hosts in one slice.
const SLICE: u32 = 2048;

/// Which part of a frontier is saved next. The default is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice(Part);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The schedule, from a second on.
    Schedule(u64),
    /// Hosts, by the slice's number.
    Hosts(u32),
}

impl Default for Slice {
    fn default() -> Self {
        Self(Part::Schedule(0))
    }
}

impl<J: Journal> Frontier<J> {
    /// Appends a slice, of the schedule and then of the hosts with their queues, and says which follows; `None` where this was
    /// the last.
    pub fn save(&self, slice: Slice, to: &mut Vec<u8>) -> Option<Slice> {
        let number = match slice.0 {
            Part::Schedule(from) if self.schedule.len() + self.schedule.parked() > 0 => {
                let next = self.schedule.save(from, to);
                return Some(Slice(next.map_or(Part::Hosts(0), Part::Schedule)));
            }
            Part::Schedule(_) => 0,
            Part::Hosts(number) => number,
        };
        let first = number * SLICE;
        let end = first.saturating_add(SLICE).min(self.hosts.end());
        self.hosts.range(first, end).for_each(|host| image::save(host, &self.back, to));
        (end < self.hosts.end()).then(|| Slice(Part::Hosts(number + 1)))
    }

    /// The counts, where the journal ends at `position`. Nobody may be at the gate.
    pub fn counts(&self, position: Position) -> Counts {
        Counts {
            position,
            admitted: self.gate.admitted(),
            refused: self.gate.refusals().iter().filter(|(_, count)| *count > 0).collect(),
            completed: self.count.completed,
            retries: self.count.retries,
            output: self.count.output,
            leased: self.count.leased,
            roots: self.gate.roots(),
        }
    }
}
