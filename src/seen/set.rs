use std::sync::{Mutex, MutexGuard, PoisonError};

use super::probes::shard;
use super::shard::Shard;
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

/// All shards together: shared by reference among threads.
#[derive(Debug)]
pub struct SeenSet {
    shards: Box<[Locked]>,
    shard_bits: u32,
}

/// A shard on cache lines of its own (two, since processors fetch them in pairs), so that neighbors do not wait for each other.
#[derive(Debug)]
#[repr(align(128))]
struct Locked(Mutex<Shard>);

/// Fingerprints of a batch that are grouped by shard at one time.
const RUN: usize = 4096;

impl SeenSet {
    /// Checks the options and allocates. Memory is zeroed by the operating system where it is first touched.
    ///
    /// # Errors
    /// Where an option is out of its range, or the memory cannot be had.
    pub fn new(options: &SeenOptions) -> Result<Self, SeenError> {
        let sizing = options.sizing()?;
        let shards = (0..options.shards).map(|_| Locked(Mutex::new(Shard::new(options, sizing)))).collect();
        Ok(Self { shards, shard_bits: options.shards.trailing_zeros() })
    }

    /// Was this fingerprint shown before? Remembers it either way.
    pub fn insert(&self, fingerprint: Fingerprint) -> Sighting {
        self.lock(shard(fingerprint, self.shard_bits)).insert(fingerprint)
    }

    /// As [`insert`](Self::insert) for each, in order; the answers replace `sightings`.
    ///
    /// Fingerprints are grouped by shard and each shard's lock is taken once (once for each 4,096 fingerprints). Much faster than
    /// one by one, since the memory of many is asked for at the same time; the more a shard gets at once, the faster.
    pub fn insert_batch(&self, fingerprints: &[Fingerprint], sightings: &mut Vec<Sighting>) {
        sightings.clear();
        sightings.resize(fingerprints.len(), Sighting::Seen);
        let mut order = Vec::new();
        for (run, sightings) in fingerprints.chunks(RUN).zip(sightings.chunks_mut(RUN)) {
            self.group(run, &mut order);
            for group in order.chunk_by(|&a, &b| self.shard_of(run, a) == self.shard_of(run, b)) {
                self.lock(self.shard_of(run, group[0])).insert_run(run, group, sightings);
            }
        }
    }

    /// Was this fingerprint shown before? Remembers nothing.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        self.lock(shard(fingerprint, self.shard_bits)).contains(fingerprint)
    }

    /// What it holds and what it costs, merged and a shard. Each shard is locked for itself, so of a set in use the rows are a
    /// moment apart.
    pub fn statistics(&self) -> SeenStatistics {
        SeenStatistics::new((0..self.shards.len()).map(|index| self.lock(index).statistics()).collect())
    }

    /// A shard is whole whenever its lock is free: no code under it panics between two writes that belong together.
    fn lock(&self, index: usize) -> MutexGuard<'_, Shard> {
        self.shards[index].0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shard_of(&self, run: &[Fingerprint], place: u16) -> usize {
        shard(run[usize::from(place)], self.shard_bits)
    }

    /// Places of the run's fingerprints, by shard and inside a shard in order: a counting sort by the first 8 shard bits, and a
    /// comparing one for the rest.
    fn group(&self, run: &[Fingerprint], order: &mut Vec<u16>) {
        let bucket_bits = self.shard_bits.min(8);
        let mut starts = [0_u16; 256];
        for &fingerprint in run {
            starts[shard(fingerprint, bucket_bits)] += 1;
        }
        let mut start = 0;
        for count in &mut starts[..1 << bucket_bits] {
            start += std::mem::replace(count, start);
        }
        order.clear();
        order.resize(run.len(), 0);
        for (place, &fingerprint) in (0..).zip(run) {
            let start = &mut starts[shard(fingerprint, bucket_bits)];
            order[usize::from(*start)] = place;
            *start += 1;
        }
        if self.shard_bits > bucket_bits {
            order.sort_by_key(|&place| self.shard_of(run, place));
        }
    }
}
