//! The filter's true errors, counted while it is used.

use super::layouts::held::Held;
use super::layouts::window::{ProbeWindow, Subset};
use super::sighting::Sighting;
use super::statistics::AuditStatistics;
use crate::address::Fingerprint;

/// The filter's true errors, counted over a small sample of all fingerprints.
///
/// Every URL whose fingerprint falls into the sample is also kept exactly. Where the filter says
/// `Seen` and the exact set has never heard of the URL, a URL was lost. The sample is chosen by the
/// fingerprint's last bits. Probes come from all bits, mixed, so the sample is treated as any other
/// URL is, and its rate is that of the set.
///
/// With one URL in 1,024, which is the default, the audit takes 1/10 of a bit for each URL.
#[derive(Debug)]
pub(super) struct Audit {
    /// One fingerprint in this many is in the sample. A power of two.
    sample: u32,
    /// The sample: fingerprints that were shown and not removed.
    pub(super) held: Held,
    /// Distinct fingerprints that were shown. More than are held where some were removed.
    pub(super) shown: u64,
    /// How many of the distinct ones the filter took for seen when they were new.
    pub(super) false_positives: u64,
}

impl Audit {
    /// `sample`: a power of two. `capacity`: URLs that the shard is for; the audit grows further by
    /// itself.
    pub(super) fn new(sample: u32, capacity: u64) -> Self {
        Self { sample, held: Held::for_urls(capacity / u64::from(sample)), shown: 0, false_positives: 0 }
    }

    /// Compares the filter's answer with the truth, for fingerprints in the sample.
    #[inline]
    pub(super) fn check(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.samples(fingerprint) {
            self.compare(fingerprint, answer);
        }
    }

    /// As [`check`](Self::check) for a whole window. Of 32 windows 31 have none of the sample, and
    /// that is found out without a branch for each fingerprint.
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
        fingerprint.bits() & u64::from(self.sample - 1) == 0
    }

    /// The exact set says whether it is new, and the filter's answer is held against that.
    fn compare(&mut self, fingerprint: Fingerprint, answer: Sighting) {
        if self.held.insert(fingerprint) == Sighting::New {
            self.shown += 1;
            self.false_positives += u64::from(answer == Sighting::Seen);
        }
    }

    /// Adds what another audit holds and has counted.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.held.extend(other.held.iter());
        self.count_from(other);
    }

    /// Adds what another audit has counted.
    pub(super) fn count_from(&mut self, other: &Self) {
        self.shown += other.shown;
        self.false_positives += other.false_positives;
    }

    /// Memory allocated, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.held.bytes()
    }

    /// The counts. What follows from them depends on the whole set, so it is filled in later.
    pub(super) fn statistics(&self) -> AuditStatistics {
        AuditStatistics::of(self.sample, self.shown, self.false_positives)
    }
}
