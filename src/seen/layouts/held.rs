//! Whole fingerprints in a hash table: the sample of the audit, and the verified layout's fingerprints that are not on disk yet.

use std::collections::HashSet;

use crate::address::Fingerprint;
use crate::seen::sighting::Sighting;

/// Fingerprints, all 64 bits of each.
#[derive(Debug, Default)]
pub(in crate::seen) struct Held(HashSet<u64, ahash::RandomState>);

impl Held {
    /// An empty table with room for this many fingerprints.
    pub(in crate::seen) fn for_urls(urls: u64) -> Self {
        let urls = usize::try_from(urls).expect("sizes are checked against the memory before");
        Self(HashSet::with_capacity_and_hasher(urls, ahash::RandomState::default()))
    }

    /// How many there are.
    pub(in crate::seen) fn len(&self) -> usize {
        self.0.len()
    }

    pub(in crate::seen) fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.0.contains(&fingerprint.bits())
    }

    pub(in crate::seen) fn insert(&mut self, fingerprint: Fingerprint) -> Sighting {
        if self.0.insert(fingerprint.bits()) { Sighting::New } else { Sighting::Seen }
    }

    pub(in crate::seen) fn remove(&mut self, fingerprint: Fingerprint) {
        self.0.remove(&fingerprint.bits());
    }

    /// Keeps the fingerprints for which `is_kept` is true, with memory for as many as there were.
    pub(in crate::seen) fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        // A new table: removed slots would count as taken, and the old table would double for them.
        let mut kept = Self::for_urls(self.len() as u64);
        kept.extend(self.iter().filter(|&bits| is_kept(bits)));
        *self = kept;
    }

    /// Inserts fingerprints from elsewhere.
    pub(in crate::seen) fn extend(&mut self, fingerprints: impl IntoIterator<Item = u64>) {
        self.0.extend(fingerprints);
    }

    /// All of them, in no order.
    pub(in crate::seen) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }

    /// All of them, ascending.
    pub(in crate::seen) fn ascending(&self) -> Vec<u64> {
        let mut all: Vec<_> = self.iter().collect();
        all.sort_unstable();
        all
    }

    /// Memory allocated, in bytes: 9 for each slot, of which 7 in 8 may be taken.
    pub(in crate::seen) fn bytes(&self) -> usize {
        self.0.capacity() / 7 * 8 * 9
    }
}
