//! The seen set in numbers, for reports and for programs.

use super::counts::add;
use super::maths::arithmetic::share;
use super::maths::interval::not_sampled;

/// What one shard holds and costs; in the merged row the sums and means of these.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ShardStatistics {
    /// The partition that has the shard, of a crawl on many machines; `None` in all shards as one, and
    /// elsewhere.
    #[cfg_attr(feature = "crawl", serde(default, skip_serializing_if = "Option::is_none"))]
    pub partition: Option<u32>,
    /// URLs it is sized for.
    pub capacity: u64,
    /// Fingerprints answered `New`: URLs.
    pub inserted: u64,
    /// Questions that were asked to be remembered: URLs, repeated ones each time.
    pub tests: u64,
    /// Fingerprints that were removed: URLs.
    pub removed: u64,
    /// Times that someone had to wait for the shard's lock. Where it is a good part of `batches`:
    /// more `seen.shards`.
    pub lock_waits: u64,
    /// Times that the shard was locked for a batch.
    pub batches: u64,
    /// Questions asked in these batches: URLs.
    pub batched: u64,
    /// Filters: one for each shard, and one more each time it grew.
    pub layers: u64,
    /// Shards beyond their capacity that do not grow: 0 or 1 in a shard's row. Where it is not 0, more
    /// is lost than was asked for: give `seen.capacity` more, or `auto`.
    pub full: u64,
    /// Bits of all layers, `m` (of the counting layout: counters of 4 bits; of the exact one: 512 a
    /// line).
    pub bits: u64,
    /// Bits that are set.
    pub bits_set: u64,
    /// Bits looked at for each URL, `k`, in the layer with the most.
    pub probes: u32,
    /// Memory allocated in all, in bytes.
    pub bytes: u64,
    /// The part of `bytes` that is not filters: the audit and the counters.
    pub bytes_bookkeeping: u64,
    /// Share of bits set, 0 to 1.
    pub fill_ratio: f64,
    /// Distinct URLs shown, estimated from the fill. URLs that were taken for seen are among them.
    pub cardinality: f64,
    /// Share of new URLs that may be taken for seen at capacity, and beyond it while the set grows,
    /// 0 to 1: the rate that was asked for. In the exact layout it is what the first lines have
    /// when they are full, and in the verified one 0.
    pub false_positive_rate_target: f64,
    /// Share of new URLs taken for seen now, estimated from the fill, 0 to 1.
    pub false_positive_rate_estimated: f64,
    /// Share of new URLs taken for seen, as a mean over the fill from empty to now, 0 to 1.
    /// `expected_lost` follows from it.
    pub false_positive_rate_mean: f64,
    /// URLs that the filter took for seen so far, though they were new. An expectation, not a
    /// count. Where it is too many: a lower `seen.false_positive_rate`, or a layout that loses nothing.
    pub expected_lost: f64,
    /// The same as it was measured; `None` where no sample is audited.
    pub audit: Option<AuditStatistics>,
    /// What it took to verify the filter's answers; `None` in other layouts than the verified one.
    pub verified: Option<VerifiedStatistics>,
    /// The fingerprints by their length, the shortest first; empty in other layouts than the exact
    /// one.
    #[cfg_attr(feature = "crawl", serde(default))]
    pub generations: Vec<GenerationStatistics>,
}

/// Fingerprints of the exact layout that are of one length: those that came between two doublings
/// of a shard.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GenerationStatistics {
    /// Bits that are left of each, beside the number of its line.
    pub identity_bits: u32,
    /// How many there are.
    pub urls: u64,
    /// The share of its shard's new URLs that each of them takes for seen, 0 to 1.
    pub covers: f64,
}

impl GenerationStatistics {
    /// Adds another shard's, which are as long.
    fn add(&mut self, other: &Self) {
        let urls = self.urls + other.urls;
        self.covers = share(self.covers * self.urls as f64 + other.covers * other.urls as f64, urls as f64);
        self.urls = urls;
    }

    /// The share of new URLs that these take for seen together, and how many were taken for seen while they were inserted, one generation
    /// after the other.
    ///
    /// Fingerprints fall into lines at random, so the number of fingerprints that cover a new URL is Poisson distributed, and the rate is
    /// the chance that it is not 0.
    pub(super) fn rate_and_lost(generations: &[Self]) -> (f64, f64) {
        let (mut covered, mut lost) = (0.0, 0.0);
        for Self { urls, covers, .. } in generations {
            let urls = *urls as f64;
            lost += urls * (covered + covers * urls / 2.0);
            covered += covers * urls;
        }
        (-(-covered).exp_m1(), lost)
    }
}

/// What the verified layout did to lose nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VerifiedStatistics {
    /// Times that the filter took a URL for seen, so that it was looked up.
    pub lookups: u64,
    /// Lookups that were answered from memory, since the URL was inserted or looked up not long
    /// ago.
    pub from_memory: u64,
    /// URLs that were new though the filter took them for seen. The filter alone would have lost
    /// them.
    pub rescued: u64,
    /// Pages of 4 KiB asked from the operating system, which may have them in its cache.
    pub pages_read: u64,
    /// Sorted runs that the fingerprints on disk are in.
    pub runs: u64,
    /// What the runs take on disk, in bytes.
    pub disk_bytes: u64,
    /// What was written to keep the runs few, in bytes.
    pub bytes_written: u64,
    /// Reads and writes that failed. From the first on, URLs may be lost at the filter's rate: look at
    /// the disk.
    pub failures: u64,
}

/// What the audit of a sample measured: the filter's errors as they were, not as they are expected.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AuditStatistics {
    /// One URL in this many is in the sample now: 1 up to some 57,000 URLs, then ever more. In the
    /// merged row the largest of the shards'.
    pub sample: u32,
    /// Distinct URLs that were shown while they were in the sample.
    pub shown: u64,
    /// URLs of the sample that were taken for seen when they were new.
    pub false_positives: u64,
    /// Distinct URLs that were shown, in the sample or not: estimated, and exact where `sample` is 1.
    pub distinct: f64,
    /// Share of new URLs taken for seen, as a mean over the fill so far, 0 to 1: measured.
    pub rate: f64,
    /// Lower bound of the 95 % interval of `rate`.
    pub rate_low: f64,
    /// Upper bound of the 95 % interval of `rate`.
    pub rate_high: f64,
    /// URLs lost in the whole set, estimated: each false positive of the sample stands for the URLs outside it at the
    /// time. Where `sample` is 1, the count.
    pub lost: f64,
    /// The variance of `lost` that comes from sampling: URLs, squared.
    pub lost_variance: f64,
    /// Lower bound of the 95 % interval of `lost`.
    pub lost_low: f64,
    /// Upper bound of the 95 % interval of `lost`.
    pub lost_high: f64,
}

impl AuditStatistics {
    /// Whether the interval of `lost` is meaningful: at most as wide as the number is large. Otherwise the sample has too few false
    /// positives.
    pub fn tells(&self) -> bool {
        self.lost_high - self.lost_low <= self.lost
    }

    /// Adds another shard's counts.
    pub(super) fn add(&mut self, other: &Self) {
        self.sample = self.sample.max(other.sample);
        self.shown += other.shown;
        self.false_positives += other.false_positives;
        self.distinct += other.distinct;
        self.lost += other.lost;
        self.lost_variance += other.lost_variance;
    }

    /// Computes the fields that follow from the counts.
    pub(super) fn finish(&mut self) {
        let counted = self.false_positives as f64;
        let (low, high) = not_sampled(self.lost - counted, self.lost_variance, f64::from(self.sample));
        (self.lost_low, self.lost_high) = (counted + low, counted + high);
        let of_all = |lost| share(lost, self.distinct);
        (self.rate, self.rate_low, self.rate_high) = (of_all(self.lost), of_all(self.lost_low), of_all(self.lost_high));
    }
}

impl VerifiedStatistics {
    /// The shard's own counts, in the order of a snapshot: all but the runs' numbers.
    pub(super) fn counts(&mut self) -> [&mut u64; 6] {
        let Self { lookups, from_memory, rescued, pages_read, bytes_written, failures, .. } = self;
        [lookups, from_memory, rescued, pages_read, bytes_written, failures]
    }

    /// Adds another shard's counts and runs.
    pub(super) fn add(&mut self, other: &Self) {
        add(self.counts(), other.clone().counts());
        self.runs += other.runs;
        self.disk_bytes += other.disk_bytes;
    }
}

impl ShardStatistics {
    /// Computes the fields that follow from the others.
    pub(super) fn finish(&mut self) {
        self.fill_ratio = share(self.bits_set as f64, self.bits as f64);
        self.false_positive_rate_mean = share(self.expected_lost, self.cardinality);
        self.audit.iter_mut().for_each(AuditStatistics::finish);
    }
}

/// The seen set in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SeenStatistics {
    /// All shards as one.
    pub merged: ShardStatistics,
    /// One row a shard, in the shards' order.
    pub shards: Vec<ShardStatistics>,
    /// Questions that no shard was asked, since the same thread had just asked the same: URLs,
    /// since the set was made or loaded. See
    /// [`SeenSet::insert_links`](super::SeenSet::insert_links).
    #[cfg_attr(feature = "crawl", serde(default))]
    pub recent_hits: u64,
}

impl SeenStatistics {
    /// Merges the rows. A new URL falls into each shard with the same chance, so rates are plain
    /// means.
    pub(crate) fn new(shards: Vec<ShardStatistics>, recent_hits: u64) -> Self {
        let mut merged = ShardStatistics::default();
        for shard in &shards {
            merged.capacity += shard.capacity;
            merged.inserted += shard.inserted;
            merged.tests += shard.tests;
            merged.removed += shard.removed;
            merged.lock_waits += shard.lock_waits;
            merged.batches += shard.batches;
            merged.batched += shard.batched;
            merged.layers += shard.layers;
            merged.full += shard.full;
            merged.bits += shard.bits;
            merged.bits_set += shard.bits_set;
            merged.probes = merged.probes.max(shard.probes);
            merged.bytes += shard.bytes;
            merged.bytes_bookkeeping += shard.bytes_bookkeeping;
            merged.cardinality += shard.cardinality;
            merged.false_positive_rate_target = shard.false_positive_rate_target;
            merged.false_positive_rate_estimated += shard.false_positive_rate_estimated / shards.len() as f64;
            merged.expected_lost += shard.expected_lost;
            if let Some(audit) = &shard.audit {
                merged.audit.get_or_insert_default().add(audit);
            }
            if let Some(verified) = &shard.verified {
                merged.verified.get_or_insert_default().add(verified);
            }
            for generation in &shard.generations {
                match merged.generations.binary_search_by_key(&generation.identity_bits, |row| row.identity_bits) {
                    Ok(at) => merged.generations[at].add(generation),
                    Err(at) => merged.generations.insert(at, generation.clone()),
                }
            }
        }
        merged.finish();
        Self { merged, shards, recent_hits }
    }
}
