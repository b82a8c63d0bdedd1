//! What a shard counts while it is used. All of it stands in a snapshot, and is added up when sets
//! are merged.

/// What any shard counts. The [statistics](super::ShardStatistics) say what each number means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShardCounts {
    /// Answered `New`.
    pub(super) inserted: u64,
    /// Taken back.
    pub(super) removed: u64,
    /// Asked to be remembered.
    pub(super) tests: u64,
    /// Times that a thread had to wait for the lock.
    pub(super) lock_waits: u64,
    /// Times that the lock was taken for a batch.
    pub(super) batches: u64,
    /// Asked in these batches.
    pub(super) batched: u64,
}

impl ShardCounts {
    /// All of them, in the order in which a snapshot has them.
    pub(super) fn all(&mut self) -> [&mut u64; 6] {
        let Self { inserted, removed, tests, lock_waits, batches, batched } = self;
        [inserted, removed, tests, lock_waits, batches, batched]
    }

    pub(super) fn add(&mut self, mut other: Self) {
        add(self.all(), other.all());
    }
}

/// What a shard of the verified layout counts beside that. The
/// [statistics](super::VerifiedStatistics) say what each number means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VerifiedCounts {
    /// Taken for seen by the filter, and looked up.
    pub(super) lookups: u64,
    /// Lookups that took no read.
    pub(super) from_memory: u64,
    /// Lookups that found nothing: the filter was wrong.
    pub(super) rescued: u64,
    /// Pages of 4 KiB that lookups read.
    pub(super) pages_read: u64,
    /// Bytes of all runs that were ever written.
    pub(super) bytes_written: u64,
    /// Reads and writes that failed.
    pub(super) failures: u64,
}

impl VerifiedCounts {
    /// All of them, in the order in which a snapshot has them.
    pub(super) fn all(&mut self) -> [&mut u64; 6] {
        let Self { lookups, from_memory, rescued, pages_read, bytes_written, failures } = self;
        [lookups, from_memory, rescued, pages_read, bytes_written, failures]
    }

    pub(super) fn add(&mut self, mut other: Self) {
        add(self.all(), other.all());
    }
}

/// Adds each count to that at the same place. Counts from a file may be anything, so they saturate.
fn add(ours: [&mut u64; 6], theirs: [&mut u64; 6]) {
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        *ours = ours.saturating_add(*theirs);
    }
}
