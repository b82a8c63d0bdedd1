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

/// Adds each count to that at the same place. Counts from a file may be anything, so they saturate.
pub(super) fn add<const N: usize>(ours: [&mut u64; N], theirs: [&mut u64; N]) {
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        *ours = ours.saturating_add(*theirs);
    }
}
