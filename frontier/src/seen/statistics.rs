//! The seen set in numbers, for reports and for programs, the counts that these are made of, and the bounds of a measured number.

use super::sizing::share;

/// What one shard holds and costs; in the merged row the sums and means of these.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ShardStatistics {
    /// The partition that has the shard, in a crawl on many machines; `None` in the merged row, and in other crawls.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "none")))]
    pub partition: Option<u32>,
    /// URLs it is sized for.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub capacity: u64,
    /// Fingerprints answered `New`: URLs.
    pub inserted: u64,
    /// Tests that also insert: URLs, repeated ones each time.
    pub tests: u64,
    /// Fingerprints that were removed: URLs.
    pub removed: u64,
    /// Times that a thread had to wait for the shard's lock. If this is a good part of `batches`, raise `seen.shards`.
    pub lock_waits: u64,
    /// Times that the shard was locked for a batch.
    pub batches: u64,
    /// Tests in these batches: URLs.
    pub batched: u64,
    /// Filters: one for each shard, and one more each time it grew.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub layers: u64,
    /// Shards beyond their capacity that do not grow: 0 or 1 in a shard's row. If this is not 0, more URLs are lost than the target rate
    /// allows: raise `seen.capacity`, or set it to `auto`.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub full: u64,
    /// Bits of all layers, `m`; in the counting layout, counters of 4 bits; in the exact one, 512 for each line.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub bits: u64,
    /// Bits that are set.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub bits_set: u64,
    /// Bits checked for each URL, `k`, in the layer with the most.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub probes: u32,
    /// Memory allocated in all, in bytes.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub bytes: u64,
    /// The part of `bytes` that is not filters: the audit and the counters.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub bytes_bookkeeping: u64,
    /// Share of bits set, 0 to 1.
    pub fill_ratio: f64,
    /// Distinct URLs shown, estimated from the fill. URLs that were taken for seen are among them.
    pub cardinality: f64,
    /// Share of new URLs that may be taken for seen at capacity, and beyond it while the set grows, 0 to 1: the target rate. In the exact
    /// layout it is the rate of the first table when it is full, and in the verified one 0.
    pub false_positive_rate_target: f64,
    /// Share of new URLs taken for seen now, estimated from the fill, 0 to 1.
    pub false_positive_rate_estimated: f64,
    /// Share of new URLs taken for seen, as a mean over the fill from empty to now, 0 to 1.
    /// `expected_lost` follows from it.
    pub false_positive_rate_mean: f64,
    /// URLs that the filter took for seen so far, though they were new. An expectation, not a count. If this is too many, choose a lower
    /// `seen.false_positive_rate`, or a layout that loses nothing.
    pub expected_lost: f64,
    /// The measured rate and loss; `None` if no sample is audited.
    pub audit: Option<AuditStatistics>,
    /// The cost of verifying the filter's answers; `None` in other layouts than the verified one.
    pub verified: Option<VerifiedStatistics>,
    /// The fingerprints by their length, the shortest first; empty in other layouts than the exact
    /// one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub generations: Vec<GenerationStatistics>,
}

/// Fingerprints of the exact layout that have one length: they were inserted between two doublings of a shard.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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
    /// Adds the generation of another shard whose fingerprints have the same length.
    fn add(&mut self, other: &Self) {
        let urls = self.urls + other.urls;
        self.covers = share(self.covers * self.urls as f64 + other.covers * other.urls as f64, urls as f64);
        self.urls = urls;
    }

    /// The share of new URLs that all generations together take for seen, and how many URLs were taken for seen while the generations were
    /// inserted, one after the other.
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

/// The work of the verified layout to lose nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub runs: u64,
    /// Bytes of the runs on disk.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub disk_bytes: u64,
    /// Bytes that were written to keep the runs few.
    pub bytes_written: u64,
    /// Reads and writes that failed. From the first on, URLs may be lost at the filter's rate: check the disk.
    pub failures: u64,
}

/// The filter's errors as the audit of a sample measured them, not as they are expected.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AuditStatistics {
    /// One URL in this many is in the sample now: 1 up to some 57,000 URLs, then ever more. In the
    /// merged row the largest of the shards'.
    #[cfg_attr(feature = "schemars", schemars(extend("x-metric" = "gauge")))]
    pub sample: u32,
    /// Distinct URLs that were shown while they were in the sample.
    pub shown: u64,
    /// URLs of the sample that were taken for seen when they were new.
    pub false_positives: u64,
    /// Distinct URLs that were shown, in the sample or not: exact if `sample` is 1, else estimated.
    pub distinct: f64,
    /// Share of new URLs taken for seen, as a mean over the fill so far, 0 to 1: measured.
    pub rate: f64,
    /// Lower bound of the 95 % interval of `rate`.
    pub rate_low: f64,
    /// Upper bound of the 95 % interval of `rate`.
    pub rate_high: f64,
    /// URLs lost in the whole set: counted if `sample` is 1, else estimated. Each false positive of the sample stands for the URLs that
    /// were outside it at the time.
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
    /// The shard's own counts, in the order of a snapshot: all but the number and the size of the runs.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SeenStatistics {
    /// All shards as one.
    pub merged: ShardStatistics,
    /// One row a shard, in the shards' order.
    pub shards: Vec<ShardStatistics>,
    /// Tests that no shard was asked, since the same thread had just shown the same URL: URLs, since the set was made or loaded. See
    /// [`SeenSet::insert_links`](super::SeenSet::insert_links).
    #[cfg_attr(feature = "serde", serde(default))]
    pub recent_hits: u64,
}

impl SeenStatistics {
    /// Merges the rows. A new URL falls into each shard with the same chance, so rates are plain
    /// means.
    pub fn new(shards: Vec<ShardStatistics>, recent_hits: u64) -> Self {
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

/// How many URLs were lost outside a sample: the bounds that hold the true number in 95 of 100 cases.
///
/// `mean` is the estimate from the sample and `variance` its variance: a false positive that stands for `n` URLs adds `n - 1`
/// and `n (n - 1)`. `sample` is the number that the next one would stand for.
///
/// If all false positives stand for `n`, the sample has each lost URL with the chance `1 / n`. So the number that it missed before it had
/// found `r` has the negative binomial distribution of `r`. If the true number were at a bound, finding as few or as many would have a
/// chance of 2.5 % (as Clopper and Pearson 1934 do for a share). If the false positives stand for different numbers, the negative binomial
/// distribution of the same mean and variance is used. The upper bound has one more false positive, as if one had nearly been found (as Fay
/// and Feuer 1997 do for sums of Poisson numbers with weights).
///
/// The usual bounds by the normal distribution are of no use, since false positives are rare: for a few hits in a million they are wrong,
/// and for no hit they say that there can be none.
pub(super) fn not_sampled(mean: f64, variance: f64, sample: f64) -> (f64, f64) {
    const TAIL: f64 = 0.025;
    let low = missed(TAIL, mean, variance, 1.0);
    let high = missed(1.0 - TAIL, mean + (sample - 1.0), variance + sample * (sample - 1.0), 0.0);
    (low, high)
}

/// The number at which the negative binomial distribution of this mean and variance reaches `share`, minus `below`.
fn missed(share: f64, mean: f64, variance: f64, below: f64) -> f64 {
    if mean <= 0.0 || variance <= mean {
        return mean.max(0.0);
    }
    let (found, chance) = (mean * mean / (variance - mean), mean / variance);
    let reached = |missed: f64| beta(chance, found, missed) >= share;
    let (mut low, mut high) = (0.0, below.max(mean));
    // Bounded, since a forged snapshot may have numbers for which it is never reached.
    for _ in 0..64 {
        if reached(high) {
            break;
        }
        (low, high) = (high, high * 2.0);
    }
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if reached(middle) { high = middle } else { low = middle }
    }
    (high - below).max(0.0)
}

/// The regularized incomplete beta function `I_x(a, b)`, for `x` inside 0 to 1 and `a`, `b` above
/// 0.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    let front = (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on this side of the mean, and the fraction of the complement on the other.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. It
/// takes some `sqrt(max(a, b))` steps, and the bound leaves room for more than a million trials.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for step in 1..20_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = value;
        for term in [even, odd] {
            below = 1.0 / nonzero(1.0 + term * below);
            above = nonzero(1.0 + term / above);
            value *= above * below;
        }
        if (value / before - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// ln Γ(x) for `x` above 0: by Stirling's series (DLMF 5.11.1) from 10 on, where five terms give 15
/// digits, and below 10 by Γ(x + 1) = x Γ(x).
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 1.0);
    while x < 10.0 {
        shift *= x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series =
        1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0)));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series / x - f64::ln(shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, tabulated: f64) {
        assert!((value - tabulated).abs() <= 1e-8 * tabulated.abs().max(1e-3), "{value} is not {tabulated}");
    }

    /// For a sample in which each false positive stands for `n`.
    fn bounds(found: u32, n: f64) -> (f64, f64) {
        let found = f64::from(found);
        not_sampled(found * (n - 1.0), found * n * (n - 1.0), n)
    }

    #[test]
    fn at_the_bounds_what_was_found_is_a_chance_of_2_5_percent() {
        // None found of `missed`: (1 - 1 / n) ^ missed.
        for n in [2.0, 8.0, 1024.0_f64] {
            let (low, high) = bounds(0, n);
            assert!(low.abs() < 1e-9);
            close(high, 0.025_f64.ln() / (-1.0 / n).ln_1p());
        }
        // One found of one; or of `missed + 1` in one way of each.
        let (low, high) = bounds(1, 2.0);
        assert!(low.abs() < 1e-9, "half of all times nothing is missed");
        close((high + 1.0) * 0.5_f64.powf(high + 1.0) + 0.5_f64.powf(high + 1.0), 0.025);
        let (low, high) = bounds(1, 1024.0);
        close(low, 0.975_f64.ln() / (-1.0 / 1024.0_f64).ln_1p() - 1.0);
        assert!((5600.0..5750.0).contains(&high), "5.57 of a Poisson number, by 1024: {high}");
    }

    #[test]
    fn what_was_counted_has_no_bounds() {
        assert_eq!(not_sampled(0.0, 0.0, 1.0), (0.0, 0.0));
        // 900 were counted, and 100 of a sample of one in two stand for another 100.
        let (low, high) = not_sampled(100.0, 200.0, 2.0);
        assert!((70.0..80.0).contains(&low) && (125.0..135.0).contains(&high), "{low} to {high}");
    }

    #[test]
    fn numbers_that_cannot_be_have_some_bounds() {
        for (mean, variance) in [(-3.0, 5.0), (1e19, 1.8e19), (1.0, 1.8e19), (1e19, 1.0)] {
            let (low, high) = not_sampled(mean, variance, 2_147_483_648.0);
            assert!(low >= 0.0 && high >= 0.0, "{low} to {high}");
        }
    }

    #[test]
    fn beta_is_the_tabulated_one() {
        // scipy.stats.binomtest(hits, trials).proportion_ci(method="exact"), at whose ends it is 2.5 and 97.5 %
        for (hits, trials, low, high) in BOUNDS {
            let (hit, missed) = (f64::from(hits), f64::from(trials - hits));
            // A share of 0 has no lower bound, and one of 1 no upper one.
            let tail = |share: f64, is: f64| assert!((share - is).abs() < 1e-8, "{hits} of {trials}: {share}");
            if hits > 0 {
                tail(beta(low, hit, missed + 1.0), 0.025);
            }
            if hits < trials {
                tail(beta(high, hit + 1.0, missed), 0.975);
            }
        }
    }

    const BOUNDS: [(u32, u32, f64, f64); 10] = [
        (0, 10, 0.0, 0.308_497_107_818_763),
        (1, 10, 0.002_528_578_544_462_573, 0.445_016_117_028_195),
        (5, 10, 0.187_086_028_447_404_5, 0.812_913_971_552_595_5),
        (10, 10, 0.691_502_892_181_237_1, 1.0),
        (0, 1000, 0.0, 0.003_682_083_896_639_526),
        (3, 1000, 0.000_619_099_931_649_917_3, 0.008_742_023_238_657_654),
        (12, 97_656, 6.349_561_198_051_061e-5, 0.000_214_637_331_196_169_8),
        (500, 1000, 0.468_549_172_971_792, 0.531_450_827_028_208),
        (9765, 9_765_000, 0.000_980_272_722_387_474, 0.001_020_024_093_269_9),
        (100, 1_000_000, 8.136_470_856_580_56e-5, 0.000_121_625_478_717_209_8),
    ];

    #[test]
    fn ln_gamma_is_of_factorials() {
        close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        close(ln_gamma(1.0), 0.0);
        close(ln_gamma(6.0), 120_f64.ln());
        close(ln_gamma(171.0), 706.573_062_245_787_5);
    }
}
