//! Which part of a checkpoint already has which record.

use super::PendingParts;
use crate::frontier::Timestamp;
use crate::frontier::hosts::HostId;
use crate::frontier::queues::second;
use crate::gate::Position;

/// The end of the journal when each piece of a checkpoint was saved.
///
/// A checkpoint does not stop the crawl: its pieces are saved one after another while it goes on, each at its own position. So there is one
/// rule on resume: *a record is new to a piece that was saved before it was written, and to no other.*
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
    /// The parts that do not have a record that neither schedules nor remembers a URL. Besides the host, only the counts can have it.
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
