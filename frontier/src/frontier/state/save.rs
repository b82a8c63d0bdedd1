//! Saving a frontier in chunks, for a checkpoint; and the rule on which chunk already has which record.
//!
//! A chunk is what one call writes while the frontier is locked; between two calls the crawl goes on. So a checkpoint is not of one moment.
//! Each chunk is exact at the position where the journal ended then, and a resume applies the records after that to it: see
//! [`SavedAt`].
//!
//! A URL that is lent out is written as queued, since it is in its queue. So a checkpoint need not wait for leases to come back.

use std::io;

use super::{PendingParts, State};
use crate::frontier::Timestamp;
use crate::frontier::durable::image;
use crate::frontier::hosts::{Host, HostId, Usage};
use crate::frontier::queues::second;
use crate::gate::Position;

/// Host numbers in one chunk: the frontier is locked while one is written.
const CHUNK: u32 = 2048;

/// A chunk of a frontier that is to be saved. The default is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateChunk(Part);

/// The parts, in the order in which they are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The priorities of front queues.
    Priorities,
    /// The priorities of URLs that are in no host's queue, from this position on.
    Rescored(Position),
    /// The schedule, from this second on.
    Schedule(u64),
    /// Hosts, by the chunk's number.
    Hosts(u32),
}

impl Default for StateChunk {
    fn default() -> Self {
        Self(Part::Priorities)
    }
}

impl State {
    /// Appends a chunk; returns the next one. The priorities go first, so that a replay knows them for each host. Then the schedule: a URL
    /// that leaves it before its chunk is saved is in its host's chunk, which is saved later. There is no chunk for an empty schedule, for
    /// priorities that are the numbers of their front queues, nor for other priorities while no URL was ever moved.
    pub(crate) fn save(&self, chunk: StateChunk, to: &mut Vec<u8>) -> Option<StateChunk> {
        let hosts = self.hosts();
        let number = match self.part(chunk) {
            Part::Priorities => {
                self.back().priorities().save(to);
                return Some(StateChunk(Part::Rescored(Position::default())));
            }
            Part::Rescored(from) => {
                let next = self.rescored().save(from, to);
                return Some(StateChunk(next.map_or(Part::Schedule(0), Part::Rescored)));
            }
            Part::Schedule(from) => {
                let next = self.schedule().save(from, to);
                return Some(StateChunk(next.map_or(Part::Hosts(0), Part::Schedule)));
            }
            Part::Hosts(number) => number,
        };
        self.chunk_of_hosts(number).for_each(|(host, usage)| image::save(host, usage, self.back(), to));
        let next = number + 1;
        (next.saturating_mul(CHUNK) < hosts.end()).then_some(StateChunk(Part::Hosts(next)))
    }

    /// The part that a chunk covers: an empty schedule is skipped.
    fn part(&self, chunk: StateChunk) -> Part {
        match chunk.0 {
            Part::Priorities if !self.back().priorities().is_plain() => Part::Priorities,
            Part::Priorities | Part::Rescored(_) if self.rescored().has_moved() => match chunk.0 {
                Part::Rescored(from) => Part::Rescored(from),
                _ => Part::Rescored(Position::default()),
            },
            Part::Priorities | Part::Rescored(_) | Part::Schedule(_) if self.schedule().is_blank() => Part::Hosts(0),
            Part::Priorities | Part::Rescored(_) => Part::Schedule(0),
            part => part,
        }
    }

    /// The hosts of a chunk, in its order.
    pub(crate) fn hosts_of(&self, chunk: StateChunk) -> impl Iterator<Item = &Host> {
        let hosts = match self.part(chunk) {
            Part::Hosts(number) => Some(self.chunk_of_hosts(number)),
            Part::Priorities | Part::Rescored(_) | Part::Schedule(_) => None,
        };
        hosts.into_iter().flatten().map(|(host, _)| host)
    }

    fn chunk_of_hosts(&self, number: u32) -> impl Iterator<Item = (&Host, Usage)> {
        let first = number * CHUNK;
        self.hosts().range(first, first.saturating_add(CHUNK).min(self.hosts().end()))
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

/// The end of the journal when each chunk of a checkpoint was saved.
///
/// A checkpoint does not stop the crawl: its chunks are saved one after another while the crawl goes on, each at its own position. So there
/// is one rule on resume: *a record is new to the chunks that were saved before it was written, and to no others.*
///
/// The order is priorities, schedule, hosts, seen set, counts. A URL that left the schedule before its chunk was saved is in its host's
/// chunk, which was saved later. The chunks of [`Rescored`](super::Rescored) need no position: what the last record said of a URL counts.
#[derive(Clone, Debug, Default)]
pub(super) struct SavedAt {
    /// For each chunk of hosts, one more than its last host's number, and where it was saved; ascending.
    pub(super) hosts: Vec<(u32, Position)>,
    /// The last second of each chunk of the schedule, and where it was saved; ascending.
    pub(super) schedule: Vec<(u64, Position)>,
    /// Where each shard of the seen set was saved; empty if the layout cannot forget, since inserting twice then does no harm.
    pub(super) shards: Vec<Position>,
    /// Where the priorities were saved; 0 if they had no chunk.
    pub(super) priorities: Position,
    /// Where the counts were taken.
    pub(super) counts: Position,
}

impl SavedAt {
    /// The parts to which a record that neither schedules nor remembers a URL is new. Of the parts besides the host, only the counts can
    /// have it already.
    pub(super) fn fresh(&self, at: Position) -> PendingParts {
        PendingParts { counts: at >= self.counts, ..PendingParts::ALL }
    }

    /// Whether the checkpoint's image of a host already has the record. A host that is new or was evicted is in no chunk, even if it reuses
    /// a number, and all of its records are new.
    pub(super) fn has_host(&self, id: HostId, at: Position) -> bool {
        let chunk = self.hosts.partition_point(|(end, _)| *end <= id.number());
        self.hosts.get(chunk).is_some_and(|(_, saved)| at < *saved)
    }

    /// Whether the saved schedule already reflects the record at this position, which put a URL there for a time.
    pub(super) fn has_scheduled(&self, time: Timestamp, at: Position) -> bool {
        self.has_second(second(time), at)
    }

    /// As [`has_scheduled`](Self::has_scheduled), by the second that the URL was put into.
    pub(super) fn has_second(&self, second: u64, at: Position) -> bool {
        let chunk = self.schedule.iter().find(|(last, _)| second <= *last).or(self.schedule.last());
        chunk.is_some_and(|(_, saved)| at < *saved)
    }

    /// Whether this shard of the seen set already reflects the record.
    pub(super) fn has_seen(&self, shard: usize, at: Position) -> bool {
        self.shards.get(shard).is_some_and(|saved| at < *saved)
    }
}
