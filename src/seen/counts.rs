//! What a shard counts while it is used. All of it stands in a snapshot, and is added up when sets
//! are merged.

/// What any shard counts. The [statistics](super::ShardStatistics) say what each number means.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShardCounts {
    pub(super) inserted: u64,
    pub(super) removed: u64,
    pub(super) tests: u64,
    pub(super) lock_waits: u64,
    pub(super) batches: u64,
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
    pub(super) lookups: u64,
    pub(super) from_memory: u64,
    pub(super) rescued: u64,
    pub(super) pages_read: u64,
    pub(super) bytes_written: u64,
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

fn add(ours: [&mut u64; 6], theirs: [&mut u64; 6]) {
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        *ours = ours.saturating_add(*theirs);
    }
}
