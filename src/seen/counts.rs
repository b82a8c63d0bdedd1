//! What a shard counts while it is used. All counts are in a snapshot, and are added up when sets are merged.

/// The counts of any shard. The [statistics](super::ShardStatistics) say what each number means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShardCounts {
    /// Tests that were answered `New`.
    pub(super) inserted: u64,
    /// Fingerprints that were removed.
    pub(super) removed: u64,
    /// Tests that also insert.
    pub(super) tests: u64,
    /// Times that a thread had to wait for the lock.
    pub(super) lock_waits: u64,
    /// Times that the lock was taken for a batch.
    pub(super) batches: u64,
    /// Tests in these batches.
    pub(super) batched: u64,
}

impl ShardCounts {
    /// All counts, in the order of a snapshot.
    pub(super) fn all(&mut self) -> [&mut u64; 6] {
        let Self { inserted, removed, tests, lock_waits, batches, batched } = self;
        [inserted, removed, tests, lock_waits, batches, batched]
    }

    pub(super) fn add(&mut self, mut other: Self) {
        add(self.all(), other.all());
    }
}

/// Adds each count to the one at the same place. Counts from a file may be anything, so they saturate.
pub(super) fn add<const N: usize>(ours: [&mut u64; N], theirs: [&mut u64; N]) {
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        *ours = ours.saturating_add(*theirs);
    }
}
