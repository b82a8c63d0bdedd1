//! Saving a frontier in chunks, for a checkpoint; and the rule on which chunk already has which record.
//!
//! A chunk is what one call writes while the frontier is locked; between two calls the crawl goes on. So a checkpoint is not of one moment.
//! Each chunk is exact at the position where the journal ended then, and a resume applies the records after that to it: see
//! [`SavedAt`].
//!
//! A URL that is lent out is written as queued, since it is in its queue. So a checkpoint need not wait for leases to come back.

use std::io;

use super::{PendingParts, State};
use crate::bytes::varint;
use crate::frontier::durable::{Counts, Journal, image};
use crate::frontier::hosts::{Host, HostId, ServerAddress, Usage};
use crate::frontier::queues::second;
use crate::frontier::{Frontier, Timestamp};
use crate::gate::Position;

/// Host numbers in one chunk: the frontier is locked while one is written.
const SLICE: u32 = 2048;

/// A chunk of a frontier that is to be saved. The default is the first.
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
    /// Appends a chunk; returns the next one. The schedule goes first: a URL that leaves it before its piece is saved is in its host's
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
        Ok((Host { policy: self.hosts().politeness_table().number_for(&host.key), ..host }, usage))
    }
}

impl<J: Journal> Frontier<J> {
    /// Appends a chunk, of the schedule and then of the hosts with their queues. Returns the next one; `None` after the last. A URL that is
    /// lent out is written as queued.
    pub(crate) fn save(&self, slice: StateChunk, to: &mut Vec<u8>) -> Option<StateChunk> {
        self.state.save(slice, to)
    }

    /// Appends the address of each host of a chunk, in its order, as a [`varint`]; 0 if none is known. No record has
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

/// The end of the journal when each piece of a checkpoint was saved.
///
/// A checkpoint does not stop the crawl: its pieces are saved one after another while the crawl goes on, each at its own position. So there
/// is one rule on resume: *a record is new to the pieces that were saved before it was written, and to no others.*
///
/// The order is schedule, hosts, seen set, counts. A URL that left the schedule before its piece was saved is in its host's chunk, which
/// was saved later.
#[derive(Clone, Debug, Default)]
pub(super) struct SavedAt {
    /// For each chunk of hosts, one more than its last host's number, and where it was saved; ascending.
    pub(super) hosts: Vec<(u32, Position)>,
    /// The last second of each piece of the schedule, and where it was saved; ascending.
    pub(super) schedule: Vec<(u64, Position)>,
    /// Where each shard of the seen set was saved; empty if the layout cannot forget, since inserting twice then does no harm.
    pub(super) shards: Vec<Position>,
    /// Where the counts were taken.
    pub(super) counts: Position,
}

impl SavedAt {
    /// The parts to which a record is new that neither schedules nor remembers a URL. Of the parts besides the host, only the counts can
    /// have it already.
    pub(super) fn fresh(&self, at: Position) -> PendingParts {
        PendingParts { counts: at >= self.counts, ..PendingParts::ALL }
    }

    /// Whether the checkpoint's image of a host already has the record. A host that is new or was evicted is in no chunk, even if it reuses
    /// a number, and all of its records are new.
    pub(super) fn has_host(&self, id: HostId, at: Position) -> bool {
        let slice = self.hosts.partition_point(|(end, _)| *end <= id.number());
        self.hosts.get(slice).is_some_and(|(_, saved)| at < *saved)
    }

    /// Whether the saved schedule already reflects the record at this position, which put a URL there for a time.
    pub(super) fn has_scheduled(&self, time: Timestamp, at: Position) -> bool {
        self.has_second(second(time), at)
    }

    /// As [`has_scheduled`](Self::has_scheduled), by the second that the URL was put into.
    pub(super) fn has_second(&self, second: u64, at: Position) -> bool {
        let piece = self.schedule.iter().find(|(last, _)| second <= *last).or(self.schedule.last());
        piece.is_some_and(|(_, saved)| at < *saved)
    }

    /// Whether this shard of the seen set already reflects the record.
    pub(super) fn has_seen(&self, shard: usize, at: Position) -> bool {
        self.shards.get(shard).is_some_and(|saved| at < *saved)
    }
}
