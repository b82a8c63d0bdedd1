/// What one shard holds and costs; sums and means of these for the merged row.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ShardStatistics {
    /// URLs it is sized for.
    pub capacity: u64,
    /// Fingerprints answered `New`.
    pub inserted: u64,
    /// Questions asked.
    pub tests: u64,
}

/// The seen set in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SeenStatistics {
    /// All shards as one.
    pub merged: ShardStatistics,
    /// One row a shard.
    pub shards: Vec<ShardStatistics>,
}
