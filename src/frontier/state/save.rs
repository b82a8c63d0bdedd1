//! A frontier in slices, for a checkpoint.
//!
//! A slice is what one call writes while the frontier is held, and between two calls the crawl goes on. So a checkpoint is never of
//! one moment. Each slice is exact at the position where the journal ended then, and a resume gives it the records behind that: see
//! [`SavedAt`](super::saved_at::SavedAt).
//!
//! A URL that is lent out is written as queued, since it stands in its queue. So a checkpoint needs no leases to come back first.

use std::io;

use super::State;
use crate::bytes::varint;
use crate::frontier::Frontier;
use crate::frontier::durable::{Counts, Journal, image};
use crate::frontier::hosts::{Host, ServerAddress, Usage};
use crate::gate::Position;

/// Numbers of hosts in one slice: the frontier is held for as long as one takes.
const SLICE: u32 = 2048;

/// Which part of a frontier is saved next. The default is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateChunk(Part);

/// What there is to save, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The schedule, from a second on.
    Schedule(u64),
    /// Hosts, by the slice's number.
    Hosts(u32),
}

impl Default for StateChunk {
    fn default() -> Self {
        Self(Part::Schedule(0))
    }
}

impl State {
    /// Appends a slice, and says which follows. The schedule goes first: a URL that leaves it while slices are saved is then in its
    /// host's slice, which is saved later. An empty schedule has no piece.
    fn save(&self, slice: StateChunk, to: &mut Vec<u8>) -> Option<StateChunk> {
        let hosts = self.hosts();
        let number = match self.part(slice) {
            Part::Schedule(from) => {
                let next = self.schedule().save(from, to);
                return Some(StateChunk(next.map_or(Part::Hosts(0), Part::Schedule)));
            }
            Part::Hosts(number) => number,
        };
        self.slice_of_hosts(number).for_each(|(host, usage)| image::save(host, usage, self.back(), to));
        let next = number + 1;
        (next.saturating_mul(SLICE) < hosts.end()).then_some(StateChunk(Part::Hosts(next)))
    }

    /// What a slice is of: an empty schedule is passed over.
    fn part(&self, slice: StateChunk) -> Part {
        match slice.0 {
            Part::Schedule(_) if self.schedule().is_blank() => Part::Hosts(0),
            part => part,
        }
    }

    fn slice_of_hosts(&self, number: u32) -> impl Iterator<Item = (&Host, Usage)> {
        let first = number * SLICE;
        self.hosts().range(first, first.saturating_add(SLICE).min(self.hosts().end()))
    }
}

impl State {
    /// The evicted host with this key, of which a journal has the image.
    ///
    /// # Errors
    /// If it is no image of an evicted host, or one of another.
    pub(crate) fn of_image(&self, image: &[u8], key: &str) -> io::Result<(Host, Usage)> {
        let (host, usage) = image::load_evicted(image, key)?;
        Ok((Host { treatment: self.hosts().politeness_table().number_for(&host.key), ..host }, usage))
    }
}

impl<J: Journal> Frontier<J> {
    /// Appends a slice, of the schedule and then of the hosts with their queues, and says which follows; `None` where this was
    /// the last. A URL that is lent out is in it as queued.
    pub(crate) fn save(&self, slice: StateChunk, to: &mut Vec<u8>) -> Option<StateChunk> {
        self.state.save(slice, to)
    }

    /// Appends the address of each host of a slice, in its order, as a [`varint`](crate::bytes::varint); 0 where none is known. No record has
    /// them and no resume needs them, since each host tells its own again before it is connected to: whoever looks at a frontier that was
    /// left behind is told them.
    pub(crate) fn save_addresses(&self, slice: StateChunk, to: &mut Vec<u8>) {
        let Part::Hosts(number) = self.state.part(slice) else { return };
        for (host, _) in self.state.slice_of_hosts(number) {
            let address = host.seat.address.and_then(|rate_group| self.rate_groups.address(rate_group));
            varint::put(to, address.map_or(0, ServerAddress::number));
        }
    }

    /// The counts, where the journal ends at `position`. Nobody may be at the gate.
    pub(crate) fn counts(&self, position: Position) -> Counts {
        let (gate, count) = (self.gate(), self.state.count());
        Counts {
            position,
            admitted: gate.admitted(),
            refused: gate.refusals().iter().filter(|(_, count)| *count > 0).collect(),
            completed: count.completed,
            retries: count.retries,
            output: count.output,
            leased: self.lent.all,
            rules: self.state.rules(),
            scope: gate.scope_kind(),
            roots: gate.roots(),
            originals: gate.budgets().originals(),
            evidence: gate.budgets().slots(),
        }
    }
}
