//! A frontier in chunks, for a checkpoint.
//!
//! A chunk is what one call writes while the frontier is locked; between two calls the crawl goes on. So a checkpoint is not of one moment.
//! Each chunk is exact at the position where the journal ended then, and a resume applies the records after that to it: see
//! [`SavedAt`](super::saved_at::SavedAt).
//!
//! A URL that is lent out is written as queued, since it is in its queue. So a checkpoint need not wait for leases to come back.

use std::io;

use super::State;
use crate::bytes::varint;
use crate::frontier::Frontier;
use crate::frontier::durable::{Counts, Journal, image};
use crate::frontier::hosts::{Host, ServerAddress, Usage};
use crate::gate::Position;

/// Host numbers in one chunk: the frontier is locked while one is written.
const SLICE: u32 = 2048;

/// The part of a frontier that is saved next. The default is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateChunk(Part);

/// The parts, in the order in which they are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The schedule, from this second on.
    Schedule(u64),
    /// Hosts, by the chunk's number.
    Hosts(u32),
}

impl Default for StateChunk {
    fn default() -> Self {
        Self(Part::Schedule(0))
    }
}

impl State {
    /// Appends a chunk; returns the next one. The schedule goes first: a URL that leaves it during the checkpoint is then in its host's
    /// chunk, which is saved later. An empty schedule has no piece.
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

    /// The part that a chunk covers: an empty schedule is skipped.
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
    /// The evicted host with this key, from its image in the journal.
    ///
    /// # Errors
    /// If it is not an image of an evicted host, or is the image of another host.
    pub(crate) fn of_image(&self, image: &[u8], key: &str) -> io::Result<(Host, Usage)> {
        let (host, usage) = image::load_evicted(image, key)?;
        Ok((Host { treatment: self.hosts().politeness_table().number_for(&host.key), ..host }, usage))
    }
}

impl<J: Journal> Frontier<J> {
    /// Appends a chunk, of the schedule and then of the hosts with their queues. Returns the next one; `None` after the last. A URL that is
    /// lent out is written as queued.
    pub(crate) fn save(&self, slice: StateChunk, to: &mut Vec<u8>) -> Option<StateChunk> {
        self.state.save(slice, to)
    }

    /// Appends the address of each host of a chunk, in its order, as a [`varint`](crate::bytes::varint); 0 if none is known. No record has
    /// them and no resume needs them, since each host's address is reported again before it is connected to. They are for
    /// [`explain`](super::Resume::explain) on a job that is not running.
    pub(crate) fn save_addresses(&self, slice: StateChunk, to: &mut Vec<u8>) {
        let Part::Hosts(number) = self.state.part(slice) else { return };
        for (host, _) in self.state.slice_of_hosts(number) {
            let address = host.seat.address.and_then(|rate_group| self.rate_groups.address(rate_group));
            varint::put(to, address.map_or(0, ServerAddress::number));
        }
    }

    /// The counts at `position`, the journal's end. No URL may be passing the gate meanwhile.
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
