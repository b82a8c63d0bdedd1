//! The audit: the filter's true errors, counted while the set is in use.

use super::layouts::verified::ExactSet;
use super::layouts::window::{ProbeWindow, Sighting, Subset};
use super::statistics::AuditStatistics;
use crate::address::Fingerprint;

/// An exact set over a sample of all fingerprints, and the errors of the filter that it has found.
///
/// Every fingerprint that falls into the sample is also kept exactly. If the filter says `Seen` and the exact set does not hold the
/// fingerprint, a URL was lost. The fingerprint's last bits choose the sample. Probes come from all bits, mixed, so the filter treats the
/// sample like any other URL, and the sample's rate is that of the set.
///
/// # A sample that shrinks
///
/// All fingerprints are in the sample at first, so the errors of a small set are counted, not estimated. Whenever the sample has reached
/// its largest size, its share of the fingerprints is halved, and it drops the fingerprints outside, until the share is the smallest that
/// was asked for. From then on the sample grows with the set. With one URL in 1,024, which is the default, it holds at most 57,344
/// fingerprints up to some 59 million URLs, in 0.6 MB, and takes 1/10 of a bit for each URL beyond.
///
/// Each sample is part of the one before. So for each fingerprint in the sample it is known whether it was ever shown. A URL counts once,
/// when it is first shown, with the sample's share at that moment: if one in eight was in the sample, the URL stands for eight. The sums of
/// these numbers are unbiased, however the share changed meanwhile.
#[derive(Debug)]
pub(super) struct Audit {
    /// A fingerprint is in the sample if these last bits of it are 0. So the sample has one fingerprint in `mask + 1`.
    mask: u64,
    /// The mask of the smallest sample, at which halving stops.
    last_mask: u64,
    /// The size at which the sample's share is halved.
    most: usize,
    /// The sample: fingerprints that were shown and not removed.
    held: ExactSet,
    counts: AuditCounts,
}

/// The counts of an audit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AuditCounts {
    /// Distinct fingerprints that were shown while they were in the sample. Some may have been removed or dropped since, so fewer may be
    /// held.
    shown: u64,
    /// How many of these were new and the filter took them for seen.
    false_positives: u64,
    /// How many distinct fingerprints were shown, in the sample or not: the sum of the numbers that the fingerprints in the sample stand
    /// for.
    distinct: u64,
    /// How many of all distinct fingerprints were new and taken for seen: the same sum over false positives.
    lost: u64,
    /// The variance of `lost`: `n (n - 1)` for each false positive that stands for `n`.
    variance: u64,
}

impl AuditCounts {
    /// Each count, in the order of a snapshot.
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

/// The fingerprints in all shards' samples together at which they are halved: as many as a table of 65,536 slots holds.
const MOST: usize = (1 << 16) / 8 * 7;
/// No shard's sample is halved while it has fewer fingerprints than this.
const LEAST: usize = 16;

impl Audit {
    /// `coarsest`: the sample has at least one fingerprint in this many, a power of two. `shards`: how many shards share the memory.
    pub(super) fn new(coarsest: u32, shards: usize) -> Self {
        let (last_mask, most) = (u64::from(coarsest) - 1, (MOST / shards).max(LEAST));
        Self { mask: 0, last_mask, most, held: ExactSet::default(), counts: AuditCounts::default() }
    }

    /// Compares the filter's answer with the truth, for fingerprints in the sample.
    #[inline]
    pub(super) fn check(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.samples(fingerprint) {
            self.compare(fingerprint, answer);
        }
    }

    /// As [`check`](Self::check) for a whole window. In a large set 31 of 32 windows have no fingerprint of the sample. Such a window
    /// costs one branch, not one for each fingerprint.
    #[inline]
    pub(super) fn check_window(&mut self, window: ProbeWindow<'_>, new: Subset) {
        if window.fingerprints.iter().fold(false, |any, &fingerprint| any | self.samples(fingerprint)) {
            self.compare_window(window, new);
        }
    }

    /// Compares each answer of a window that has a fingerprint of the sample. Few windows do, so this is a function of its own.
    #[cold]
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

    /// Compares the filter's answer with that of the exact set.
    fn compare(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.held.insert(fingerprint) == Sighting::New {
            self.counts.count(self.sample(), answer);
            self.halve_where_full();
        }
    }

    /// Halves the sample's share until it has room, or its share is the smallest that was asked for.
    fn halve_where_full(&mut self) {
        while self.held.len() >= self.most && self.mask < self.last_mask {
            self.narrow(self.mask << 1 | 1);
        }
    }

    /// Drops the fingerprints that are outside the sample of this mask.
    fn narrow(&mut self, mask: u64) {
        if self.mask < mask {
            self.mask = mask;
            self.held.retain(|bits| bits & mask == 0);
        }
    }

    /// Adds the fingerprints that other audits hold, except those that `is_ours` rejects, which belong to other shards. The sample becomes
    /// the smallest of theirs and this one. Their counts are added by [`count_from`](Self::count_from).
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

    /// Adds the fingerprints of another audit, of the same sample or a larger one.
    fn hold(&mut self, held: impl IntoIterator<Item = u64>) {
        let mask = self.mask;
        self.held.extend(held.into_iter().filter(|bits| bits & mask == 0));
        self.halve_where_full();
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> AuditCounts {
        self.counts
    }

    /// Adds another audit's counts.
    pub(super) fn count_from(&mut self, counts: AuditCounts) {
        self.counts.add(counts);
    }

    /// What a snapshot keeps of it: one fingerprint in how many is in the sample, and the sample, ascending.
    pub(super) fn saved(&self) -> (u64, Vec<u64>) {
        (self.sample(), self.held.ascending())
    }

    /// Narrows the sample to a snapshot's, which has one fingerprint in this many. Returns `false` if no audit with these options has such a
    /// sample.
    #[must_use = "the snapshot is damaged where it is false"]
    pub(super) fn absorb_sample(&mut self, sample: u64) -> bool {
        let is_possible = sample.is_power_of_two() && sample - 1 <= self.last_mask;
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

    /// The counts. The numbers that follow from them are computed later, for each shard and for all.
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
