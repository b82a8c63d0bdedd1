use super::Sighting;
use super::layouts::exact::Exact;
use super::layouts::window::{Subset, Window};
use super::maths::interval::clopper_pearson;
use super::maths::sizing::share;
use crate::address::Fingerprint;

/// The filter's true errors, counted over a small sample of fingerprint space.
///
/// Every URL whose fingerprint falls into the sample is also kept exactly. Where the filter says `Seen` and the exact set has never heard of
/// it, that is a URL lost. The sample is chosen by the fingerprint's last bits, which drive no probe of their own.
#[derive(Debug)]
pub(super) struct Audit {
    /// One fingerprint in so many; a power of two.
    sample: u32,
    pub(super) held: Exact,
    /// Distinct ones shown, since that may differ from those held now.
    pub(super) shown: u64,
    pub(super) false_positives: u64,
}

impl Audit {
    /// `sample`: a power of two. `capacity`: URLs of the shard; the audit grows on by itself.
    pub(super) fn new(sample: u32, capacity: u64, split_bits: u32) -> Self {
        let held = Exact::for_urls(capacity / u64::from(sample), split_bits);
        Self { sample, held, shown: 0, false_positives: 0 }
    }

    /// Compares the filter's answer with the truth, for fingerprints in the sample.
    #[inline]
    pub(super) fn check(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.samples(fingerprint) {
            self.compare(fingerprint, answer);
        }
    }

    /// As [`check`](Self::check) for a whole window: of 32 windows, 31 have none of the sample, which is found out without a branch for each.
    #[inline]
    pub(super) fn check_window(&mut self, window: Window<'_>, new: Subset) {
        if window.fingerprints.iter().fold(false, |any, &fingerprint| any | self.samples(fingerprint)) {
            self.compare_window(window, new);
        }
    }

    #[cold]
    fn compare_window(&mut self, window: Window<'_>, new: Subset) {
        for (place, &fingerprint) in window.fingerprints.iter().enumerate() {
            self.check(fingerprint, new.sighting(place));
        }
    }

    pub(super) fn remove(&mut self, fingerprint: Fingerprint) {
        if self.samples(fingerprint) {
            self.held.remove(fingerprint);
        }
    }

    fn samples(&self, fingerprint: Fingerprint) -> bool {
        fingerprint.bits() & u64::from(self.sample - 1) == 0
    }

    fn compare(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.held.insert(fingerprint) == Sighting::New {
            self.shown += 1;
            self.false_positives += u64::from(answer == Sighting::Seen);
        }
    }

    /// Adds what another sample holds, and counted.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.held.absorb_table(&other.held);
        self.count_from(other);
    }

    /// Adds what another one counted.
    pub(super) fn count_from(&mut self, other: &Self) {
        self.shown += other.shown;
        self.false_positives += other.false_positives;
    }

    pub(super) fn bytes(&self) -> usize {
        self.held.bytes()
    }

    pub(super) fn statistics(&self) -> AuditStatistics {
        AuditStatistics {
            sample: self.sample,
            shown: self.shown,
            false_positives: self.false_positives,
            ..Default::default()
        }
    }
}

/// What the audit of a sample measured: the filter's errors as they were, not as they are expected.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct AuditStatistics {
    /// One URL in so many is in the sample.
    pub sample: u32,
    /// Distinct URLs of the sample that were shown.
    pub shown: u64,
    /// Of these, taken for seen when they were new: URLs.
    pub false_positives: u64,
    /// Share of new URLs taken for seen, as a mean over the fill so far, 0 to 1: measured.
    pub rate: f64,
    /// Lower bound of the 95 % confidence interval of `rate` (Clopper and Pearson).
    pub rate_low: f64,
    /// Upper bound.
    pub rate_high: f64,
    /// URLs lost in the whole set: the rate times the distinct URLs shown.
    pub lost: f64,
    /// Lower bound of the 95 % confidence interval of `lost`.
    pub lost_low: f64,
    /// Upper bound.
    pub lost_high: f64,
}

impl AuditStatistics {
    /// Adds another shard's counts.
    pub(super) fn add(&mut self, other: &Self) {
        self.sample = other.sample;
        self.shown += other.shown;
        self.false_positives += other.false_positives;
    }

    /// Fills in what follows from the counts, for a set that was shown so many distinct URLs.
    pub(super) fn over(self, cardinality: f64) -> Self {
        let rate = share(self.false_positives as f64, self.shown as f64);
        let (rate_low, rate_high) = clopper_pearson(self.false_positives, self.shown);
        let (lost, lost_low, lost_high) = (rate * cardinality, rate_low * cardinality, rate_high * cardinality);
        Self { rate, rate_low, rate_high, lost, lost_low, lost_high, ..self }
    }
}
