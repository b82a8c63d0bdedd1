/// What one shard holds and costs; sums and means of these for the merged row.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ShardStatistics {
    /// URLs it is sized for.
    pub capacity: u64,
    /// Fingerprints answered `New`: URLs.
    pub inserted: u64,
    /// Questions asked that are remembered: URLs, repeated ones each time.
    pub tests: u64,
    /// Bits of the filter, `m`.
    pub bits: u64,
    /// Bits of the filter that are set.
    pub bits_set: u64,
    /// Bits looked at for each URL, `k`.
    pub probes: u32,
    /// Memory allocated, in bytes.
    pub bytes: u64,
    /// Share of bits set, 0 to 1 (for the exact layout: of slots taken).
    pub fill_ratio: f64,
    /// Distinct URLs shown, estimated from the fill; those taken for seen are in it.
    pub cardinality: f64,
    /// Share of new URLs that may be taken for seen at capacity: what was asked for, 0 to 1; 0 for the exact layout.
    pub false_positive_rate_target: f64,
    /// Share of new URLs taken for seen now, estimated from the fill, 0 to 1.
    pub false_positive_rate_estimated: f64,
    /// The same, as a mean over the fill from empty to now, 0 to 1.
    pub false_positive_rate_mean: f64,
    /// URLs lost to the filter so far: taken for seen, though they were new. An expectation, not a count.
    pub expected_lost: f64,
}

/// The seen set in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct SeenStatistics {
    /// All shards as one.
    pub merged: ShardStatistics,
    /// One row a shard, in the shards' order.
    pub shards: Vec<ShardStatistics>,
}

impl SeenStatistics {
    /// Merges the rows: a new URL falls into each shard with the same chance, so rates are plain means.
    pub(super) fn new(shards: Vec<ShardStatistics>) -> Self {
        let mut merged = ShardStatistics::default();
        for shard in &shards {
            merged.capacity += shard.capacity;
            merged.inserted += shard.inserted;
            merged.tests += shard.tests;
            merged.bits += shard.bits;
            merged.bits_set += shard.bits_set;
            merged.probes = merged.probes.max(shard.probes);
            merged.bytes += shard.bytes;
            merged.cardinality += shard.cardinality;
            merged.false_positive_rate_target = shard.false_positive_rate_target;
            merged.false_positive_rate_estimated += shard.false_positive_rate_estimated / shards.len() as f64;
            merged.expected_lost += shard.expected_lost;
        }
        merged.fill_ratio = share(merged.bits_set as f64, merged.bits as f64);
        merged.false_positive_rate_mean = share(merged.expected_lost, merged.cardinality);
        Self { merged, shards }
    }
}

/// `part / whole`, and 0 of nothing.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
