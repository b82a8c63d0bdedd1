/// How a shard remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// A Bloom filter in cache lines: one line of 64 bytes touched a URL.
    #[default]
    Blocked,
    /// Every fingerprint kept: no false positives, 12 to 15 bytes a URL.
    Exact,
}

/// What a seen set is made from; checked once, in [`SeenSet::new`](super::SeenSet::new).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SeenOptions {
    /// How a shard remembers.
    pub layout: Layout,
    /// URLs that the set is sized for, over all shards.
    pub capacity: u64,
    /// Share of new URLs that may be taken for seen when the set is at capacity; between 0 and 1, exclusive.
    pub false_positive_rate: f64,
    /// How many parts, each with its own lock; a power of two.
    pub shards: usize,
}

impl Default for SeenOptions {
    fn default() -> Self {
        Self { layout: Layout::default(), capacity: 1_000_000, false_positive_rate: 1e-4, shards: 16 }
    }
}

/// Why a seen set cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeenError {
    /// An option is out of its range.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// The field of [`SeenOptions`].
        option: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        reason: &'static str,
    },
}
