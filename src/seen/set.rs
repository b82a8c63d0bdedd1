use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::groups::{Busy, Groups};
use super::maths::growth::Growth;
use super::probes::shard;
use super::recent::Recent;
use super::shard::Shard;
use super::{SeenError, SeenOptions, SeenStatistics, ShardStatistics};
use crate::address::Fingerprint;

/// The answer of the URL-seen test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sighting {
    /// Not shown before. Said once for each fingerprint.
    New,
    /// Shown before, or, at the stated rate, taken for it.
    Seen,
}

/// What became of a fingerprint that was to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// It was not remembered.
    Absent,
    /// It is still remembered: two layers claim to hold it, and to take it from the wrong one would make the set forget another.
    Kept,
    /// It is no longer remembered, unless by error.
    Removed,
}

/// All shards together: shared by reference among threads.
#[derive(Debug)]
pub struct SeenSet {
    growth: Arc<Growth>,
    full: AtomicBool,
    failed: AtomicBool,
    shards: Box<[Locked]>,
    shard_bits: u32,
    /// Of all sets in this process, from 1 on.
    number: u64,
    recent_hits: AtomicU64,
}

/// How many were made.
static SETS: AtomicU64 = AtomicU64::new(0);

/// A shard on cache lines of its own (two, since processors fetch them in pairs), so that neighbors do not wait for each other.
#[derive(Debug)]
#[repr(align(128))]
struct Locked(Mutex<Shard>);

impl SeenSet {
    /// Checks the options and allocates. Memory is zeroed by the operating system where it is first touched.
    ///
    /// # Errors
    /// Where an option is out of its range, or the memory cannot be had.
    pub fn new(options: &SeenOptions) -> Result<Self, SeenError> {
        let growth = Arc::new(options.check()?);
        let shards = (0..options.shards).map(|_| Shard::new(&growth)).collect();
        Ok(Self::from_shards(growth, shards))
    }

    pub(super) fn from_shards(growth: Arc<Growth>, shards: Vec<Shard>) -> Self {
        let full = AtomicBool::new(shards.iter().any(Shard::is_full));
        let shard_bits = shards.len().trailing_zeros();
        let shards = shards.into_iter().map(|shard| Locked(Mutex::new(shard))).collect();
        let number = SETS.fetch_add(1, Ordering::Relaxed) + 1;
        let (failed, recent_hits) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { growth, full, failed, shards, shard_bits, number, recent_hits }
    }

    pub(super) fn shards_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.shards.iter_mut().map(|locked| locked.0.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn into_shards(self) -> impl Iterator<Item = Shard> {
        self.shards.into_iter().map(|locked| locked.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// What it was made from.
    pub fn options(&self) -> &SeenOptions {
        self.growth.options()
    }

    /// Was this fingerprint shown before? Remembers it either way.
    pub fn insert(&self, fingerprint: Fingerprint) -> Sighting {
        let mut shard = self.lock(shard(fingerprint, self.shard_bits));
        let sighting = shard.insert(fingerprint);
        self.note(&shard);
        sighting
    }

    /// As [`insert`](Self::insert), of any bytes: a URL's key, a user name, an address.
    pub fn insert_bytes(&self, bytes: &[u8]) -> Sighting {
        self.insert(self.options().key.fingerprint_bytes(bytes))
    }

    /// As [`insert`](Self::insert), of a vector of integers, hashed words at a time.
    pub fn insert_words(&self, words: &[u32]) -> Sighting {
        self.insert(self.options().key.fingerprint_words(words))
    }

    /// As [`insert`](Self::insert) for each, in order; the answers replace `sightings`.
    ///
    /// Fingerprints are grouped by shard and each shard's lock is taken once (once for each 4,096 fingerprints); a shard that another
    /// thread has comes last. Much faster than one by one, since the memory of many is asked for at the same time; the more a shard
    /// gets at once, the faster.
    pub fn insert_batch(&self, fingerprints: &[Fingerprint], sightings: &mut Vec<Sighting>) {
        sightings.clear();
        sightings.resize(fingerprints.len(), Sighting::Seen);
        if let [_] = *self.shards {
            self.insert_group(self.lock(0), fingerprints, |place| sightings[place] = Sighting::New);
            return;
        }
        for (run, sightings) in fingerprints.chunks(Groups::MAX).zip(sightings.chunks_mut(Groups::MAX)) {
            Groups::of(run, self.shard_bits, |group, places, busy| {
                let index = shard(group[0], self.shard_bits);
                let locked = if busy == Busy::Wait { Some(self.lock(index)) } else { self.try_lock(index) };
                let Some(shard) = locked else { return false };
                self.insert_group(shard, group, |place| sightings[usize::from(places[place])] = Sighting::New);
                true
            });
        }
    }

    /// As [`insert_batch`](Self::insert_batch), for a stream in which most repeat one of the last thousand, as pages' links do: each thread
    /// answers these by itself, but in layouts that can [`remove`](Self::remove). Half and a
    /// quarter of the time on the links of two manuals, of which 90 % and 96 % were recent.
    pub fn insert_links(&self, fingerprints: &[Fingerprint], sightings: &mut Vec<Sighting>) {
        if self.options().layout.forgets() {
            return self.insert_batch(fingerprints, sightings);
        }
        let missing = Recent::sift(self.number, fingerprints, sightings, |missing, sightings| {
            self.insert_batch(missing, sightings);
        });
        self.recent_hits.fetch_add((fingerprints.len() - missing) as u64, Ordering::Relaxed);
    }

    /// Shows all of these to one shard.
    fn insert_group(&self, mut shard: MutexGuard<'_, Shard>, group: &[Fingerprint], new: impl FnMut(usize)) {
        shard.insert_batch(group, new);
        self.note(&shard);
    }

    /// Was this fingerprint shown before? Remembers nothing.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        let mut shard = self.lock(shard(fingerprint, self.shard_bits));
        let contained = shard.contains(fingerprint);
        self.note(&shard);
        contained
    }

    /// Which shard a fingerprint belongs to, by number.
    pub fn shard_of(&self, fingerprint: Fingerprint) -> usize {
        shard(fingerprint, self.shard_bits)
    }

    /// What one shard holds and costs: a row of [`statistics`](Self::statistics), at the cost of that row.
    ///
    /// # Panics
    /// Where there is no shard of that number.
    pub fn shard_statistics(&self, shard: usize) -> ShardStatistics {
        self.lock(shard).statistics()
    }

    /// Forgets a fingerprint, so that it is new when it is next shown.
    ///
    /// To be called once for an insertion that was answered `New`: to remove what was never inserted may, in the counting layout,
    /// make the set forget another URL.
    ///
    /// # Errors
    /// Where the layout cannot forget: all but counting and exact.
    pub fn remove(&self, fingerprint: Fingerprint) -> Result<Removal, SeenError> {
        let layout = self.options().layout;
        if layout.forgets() {
            return Ok(self.lock(shard(fingerprint, self.shard_bits)).remove(fingerprint));
        }
        Err(SeenError::Unsupported { layout, act: "remove", reason: "each of its bits may be another URL's as well" })
    }

    /// A shard is beyond its capacity and does not grow, by its options or for want of memory: the rate is about to rise beyond its
    /// target. Costs a load; asked by who can stop the crawl.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Whether the verified layout's disk has served so far. From the first failure on, where a fingerprint could not be looked up, it is seen
    /// where the filter says so: `New` is still said once, and URLs are lost at the filter's rate, as in the blocked layout. Where
    /// fingerprints could not be written, they stay in memory. Costs a load; asked by who can stop the crawl.
    ///
    /// # Errors
    /// The first failure of a shard.
    pub fn check(&self) -> Result<(), SeenError> {
        if !self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        (0..self.shards.len()).try_for_each(|index| self.lock(index).failure().map_or(Ok(()), Err))
    }

    /// What it holds and what it costs, merged and a shard. Each shard is locked for itself, so of a set in use the rows are a
    /// moment apart.
    pub fn statistics(&self) -> SeenStatistics {
        let shards = (0..self.shards.len()).map(|index| self.lock(index).statistics()).collect();
        SeenStatistics::new(shards, self.recent_hits.load(Ordering::Relaxed))
    }

    /// Questions asked that are remembered, repeated ones each time: as in the [`statistics`](Self::statistics), without the rest.
    pub fn tests(&self) -> u64 {
        (0..self.shards.len()).map(|index| self.lock(index).counts.tests).sum()
    }

    /// Memory allocated, in bytes: as in the [`statistics`](Self::statistics), without the rest.
    pub fn bytes(&self) -> u64 {
        (0..self.shards.len()).map(|index| self.lock(index).bytes()).sum()
    }

    pub(super) fn lock(&self, index: usize) -> MutexGuard<'_, Shard> {
        self.try_lock(index).unwrap_or_else(|| {
            let mut shard = self.shards[index].0.lock().unwrap_or_else(PoisonError::into_inner);
            shard.count_wait();
            shard
        })
    }

    /// `None` where someone else has it. A shard is whole whenever its lock is free: no code under it panics between two writes that
    /// belong together.
    fn try_lock(&self, index: usize) -> Option<MutexGuard<'_, Shard>> {
        match self.shards[index].0.try_lock() {
            Ok(shard) => Some(shard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn note(&self, shard: &Shard) {
        if shard.is_full() {
            self.full.store(true, Ordering::Relaxed);
        }
        if shard.has_failed() {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn who_waits_for_a_lock_is_counted() {
        let seen = SeenSet::new(&SeenOptions { shards: 1, ..SeenOptions::default() }).unwrap();
        // Nobody can tell when the other one is there: so again, until it is.
        let waited = (0..1000).any(|count| {
            let (begins, began) = mpsc::channel();
            let held = seen.lock(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    begins.send(()).unwrap();
                    seen.insert(Fingerprint::from_bits(count))
                });
                began.recv().unwrap();
                (0..count).for_each(|_| thread::yield_now());
                drop(held);
            });
            seen.statistics().merged.lock_waits > 0
        });
        assert!(waited);
    }
}
