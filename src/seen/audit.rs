//! The filter's true errors, counted while it is used.

use super::layouts::held::Held;
use super::layouts::window::{ProbeWindow, Subset};
use super::sighting::Sighting;
use super::statistics::AuditStatistics;
use crate::address::Fingerprint;

/// The filter's true errors, counted over a sample of all fingerprints.
///
/// Every URL whose fingerprint falls into the sample is also kept exactly. Where the filter says
/// `Seen` and the exact set has never heard of the URL, a URL was lost. The sample is chosen by the
/// fingerprint's last bits. Probes come from all bits, mixed, so the sample is treated as any other
/// URL is, and its rate is that of the set.
///
/// # A sample that shrinks
///
/// All fingerprints are in the sample at first, so the errors of a small set are counted, not
/// estimated. Whenever the sample has reached its size, its share of the fingerprints is halved, and
/// it drops what is outside, until the share is the smallest that was asked for. From then on the
/// sample grows with the set. With one URL in 1,024, which is the default, it holds 57,344 URLs
/// up to some 59 million, in 0.6 MB, and takes 1/10 of a bit for each URL beyond.
///
/// Each sample is part of the one before. So of each fingerprint in the sample it is known whether it
/// was ever shown, and a URL counts once, when it is first shown, with the share of that
/// moment: where one in eight was in the sample, it stands for eight. The sums of these are
/// without bias, whatever the rate did meanwhile.
#[derive(Debug)]
pub(super) struct Audit {
    /// The last bits of a fingerprint: where they are 0, it is in the sample. So the sample has one
    /// fingerprint in `mask + 1`.
    mask: u64,
    /// The mask that is never widened.
    widest: u64,
    /// What the sample holds before its share is halved.
    most: usize,
    /// The sample: fingerprints that were shown and not removed.
    held: Held,
    counts: AuditCounts,
}

/// What an audit has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AuditCounts {
    /// Distinct fingerprints that were shown while they were in the sample. More than are held where
    /// some were removed or dropped.
    shown: u64,
    /// How many of these the filter took for seen when they were new.
    false_positives: u64,
    /// How many distinct fingerprints were shown, in the sample or not: the sum of what each fingerprint in
    /// the sample stands for.
    distinct: u64,
    /// How many of all were taken for seen when they were new: the same sum over false positives.
    lost: u64,
    /// The variance of `lost`: `n (n - 1)` for each false positive that stands for `n`.
    variance: u64,
}

impl AuditCounts {
    /// Each count, in the order in which a snapshot has them.
    pub(super) fn all(&mut self) -> [&mut u64; 5] {
        [&mut self.shown, &mut self.false_positives, &mut self.distinct, &mut self.lost, &mut self.variance]
    }

    /// Adds another audit's.
    pub(super) fn add(&mut self, mut other: Self) {
        for (count, other) in self.all().into_iter().zip(other.all()) {
            *count = count.saturating_add(*other);
        }
    }

    /// Adds a distinct fingerprint that stands for this many.
    fn count(&mut self, stands_for: u64, answer: Sighting) {
        self.shown += 1;
        self.distinct = self.distinct.saturating_add(stands_for);
        if answer == Sighting::Seen {
            self.false_positives += 1;
            self.lost = self.lost.saturating_add(stands_for);
            self.variance = self.variance.saturating_add(stands_for * (stands_for - 1));
        }
    }
}

/// What the samples of all shards hold before they are halved: what a table of 65,536 slots has room for.
const MOST: usize = (1 << 16) / 8 * 7;
/// What the sample of a shard holds at least before it is halved.
const LEAST: usize = 16;

impl Audit {
    /// `coarsest`: the sample has at least one fingerprint in this many, a power of two. `shards`: how
    /// many share the memory.
    pub(super) fn new(coarsest: u32, shards: usize) -> Self {
        let (widest, most) = (u64::from(coarsest) - 1, (MOST / shards).max(LEAST));
        Self { mask: 0, widest, most, held: Held::default(), counts: AuditCounts::default() }
    }

    /// Compares the filter's answer with the truth, for fingerprints in the sample.
    #[inline]
    pub(super) fn check(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.samples(fingerprint) {
            self.compare(fingerprint, answer);
        }
    }

    /// As [`check`](Self::check) for a whole window. In a large set 31 of 32 windows have none of
    /// the sample, and that is found out without a branch for each fingerprint.
    #[inline]
    pub(super) fn check_window(&mut self, window: ProbeWindow<'_>, new: Subset) {
        if window.fingerprints.iter().fold(false, |any, &fingerprint| any | self.samples(fingerprint)) {
            self.compare_window(window, new);
        }
    }

    #[cold]
    /// Out of the way of the windows that have none of the sample, which are most.
    fn compare_window(&mut self, window: ProbeWindow<'_>, new: Subset) {
        for (place, &fingerprint) in window.fingerprints.iter().enumerate() {
            self.check(fingerprint, new.sighting(place));
        }
    }

    /// Forgets a fingerprint that was removed from the set, so that it counts as new when it is
    /// shown again.
    pub(super) fn remove(&mut self, fingerprint: Fingerprint) {
        if self.samples(fingerprint) {
            self.held.remove(fingerprint);
        }
    }

    /// Whether a fingerprint is in the sample.
    fn samples(&self, fingerprint: Fingerprint) -> bool {
        fingerprint.bits() & self.mask == 0
    }

    /// One fingerprint in this many is in the sample.
    fn sample(&self) -> u64 {
        self.mask + 1
    }

    /// The exact set says whether it is new, and the filter's answer is held against that.
    fn compare(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.held.insert(fingerprint) == Sighting::New {
            self.counts.count(self.sample(), answer);
            self.halve_where_full();
        }
    }

    /// Halves the sample's share until it has room, or its share is the smallest that was asked for.
    fn halve_where_full(&mut self) {
        while self.held.len() >= self.most && self.mask < self.widest {
            self.narrow(self.mask << 1 | 1);
        }
    }

    /// Drops what this mask has not in the sample.
    fn narrow(&mut self, mask: u64) {
        if self.mask < mask {
            self.mask = mask;
            self.held.retain(|bits| bits & mask == 0);
        }
    }

    /// Holds what other audits hold, and takes over their counts; the sample is then the smallest of theirs
    /// and its own. The fingerprints that `is_ours` refuses belong to other shards.
    pub(super) fn absorb<'a>(
        &mut self,
        others: impl IntoIterator<Item = &'a Self> + Clone,
        is_ours: impl Fn(u64) -> bool,
    ) {
        let smallest = others.clone().into_iter().map(|other| other.mask).max().unwrap_or(0);
        self.narrow(smallest);
        for other in others {
            self.hold(other.held.iter().filter(|&bits| is_ours(bits)));
        }
    }

    /// Adds what was shown to another audit, of the same sample or a larger one.
    fn hold(&mut self, held: impl IntoIterator<Item = u64>) {
        let mask = self.mask;
        self.held.extend(held.into_iter().filter(|bits| bits & mask == 0));
        self.halve_where_full();
    }

    /// What it has counted.
    pub(super) fn counts(&self) -> AuditCounts {
        self.counts
    }

    /// Adds what another audit has counted.
    pub(super) fn count_from(&mut self, counts: AuditCounts) {
        self.counts.add(counts);
    }

    /// What a snapshot has of it: the size of its sample, and the fingerprints in it, ascending.
    pub(super) fn saved(&self) -> (u64, Vec<u64>) {
        (self.sample(), self.held.ascending())
    }

    /// Makes ready to hold the fingerprints of a snapshot, in whose sample was one in this many.
    /// `false`: no audit of these options has such a sample.
    #[must_use = "the snapshot is damaged where it is false"]
    pub(super) fn absorb_sample(&mut self, sample: u64) -> bool {
        let is_possible = sample.is_power_of_two() && sample - 1 <= self.widest;
        if is_possible {
            self.narrow(sample - 1);
        }
        is_possible
    }

    /// Holds fingerprints of a snapshot.
    pub(super) fn absorb_held(&mut self, words: &[u64]) {
        self.hold(words.iter().copied());
    }

    /// Memory allocated, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.held.bytes()
    }

    /// The counts. What follows from them is filled in later, for each shard and for all.
    pub(super) fn statistics(&self) -> AuditStatistics {
        let AuditCounts { shown, false_positives, distinct, lost, variance } = self.counts;
        AuditStatistics {
            sample: u32::try_from(self.sample()).unwrap_or(u32::MAX),
            shown,
            false_positives,
            distinct: distinct as f64,
            lost: lost as f64,
            lost_variance: variance as f64,
            ..AuditStatistics::default()
        }
    }
}
