//! Which part of a checkpoint has which record already.

use super::PendingParts;
use crate::frontier::Timestamp;
use crate::frontier::hosts::HostId;
use crate::frontier::queues::second;
use crate::gate::Position;

/// Where the journal ended when each piece of a checkpoint was saved.
///
/// A checkpoint holds nobody up: its pieces are saved one after another while the crawl goes on, each at a position of its own. So
/// there is one rule on resume: *a record is new to a piece that was saved before it was written, and to no other.*
///
/// The order is schedule, hosts, seen set, counts. A URL that left the schedule before its piece was saved is in its host's slice,
/// which was saved later.
#[derive(Clone, Debug, Default)]
pub(super) struct SavedAt {
    /// For each slice of hosts one more than its last host's number, and where it was saved; ascending.
    pub(super) hosts: Vec<(u32, Position)>,
    /// The last second of each piece of the schedule, and where it was saved; ascending.
    pub(super) schedule: Vec<(u64, Position)>,
    /// Where each shard of the seen set was saved; none where the layout cannot forget, and it does no harm to insert twice.
    pub(super) shards: Vec<Position>,
    /// Where the counts were taken.
    pub(super) counts: Position,
}

impl SavedAt {
    /// The parts that do not have a record which neither schedules nor remembers a URL. Beside the host, only the counts can have it.
    pub(super) fn fresh(&self, at: Position) -> PendingParts {
        PendingParts { counts: at >= self.counts, ..PendingParts::ALL }
    }

    /// Whether a host has the record already. A host that was evicted when the checkpoint began, or that is new, and got the
    /// number of a host in a slice that was saved before, is in no slice, and all of its records are new.
    pub(super) fn has_host(&self, id: HostId, at: Position) -> bool {
        let slice = self.hosts.partition_point(|(end, _)| *end <= id.number());
        self.hosts.get(slice).is_some_and(|(_, saved)| at < *saved)
    }

    /// Whether the schedule has a URL that the record at this position put there for a time, or had it.
    pub(super) fn has_scheduled(&self, time: Timestamp, at: Position) -> bool {
        self.has_second(second(time), at)
    }

    /// As [`has_scheduled`](Self::has_scheduled), by the second of the schedule that the URL was put into.
    pub(super) fn has_second(&self, second: u64, at: Position) -> bool {
        let piece = self.schedule.iter().find(|(last, _)| second <= *last).or(self.schedule.last());
        piece.is_some_and(|(_, saved)| at < *saved)
    }

    /// Whether this shard of the seen set knows what the record says of a fingerprint in it.
    pub(super) fn has_seen(&self, shard: usize, at: Position) -> bool {
        self.shards.get(shard).is_some_and(|saved| at < *saved)
    }
}
