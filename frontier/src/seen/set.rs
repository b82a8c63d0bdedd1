//! The seen set: all shards together, each with its lock.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::groups::{Busy, Groups};
use super::growth::Growth;
use super::hints::Hint;
use super::layouts::window::{Removal, Sighting};
use super::options::{Layout, SeenError, SeenOptions};
use super::probes::{Probes, shard};
use super::recent::Recent;
use super::shard::Shard;
use super::statistics::{SeenStatistics, ShardStatistics};
use crate::address::Fingerprint;

/// A set of fingerprints that says whether one was shown before. Threads share it by reference.
///
/// A shard is locked for one test, or for one group of a batch, and no code ever holds the locks of two shards: there is no order in which
/// they must be taken.
pub struct SeenSet {
    growth: Arc<Growth>,
    /// Whether any shard is full, and whether any has failed: copies, so that reading them takes no lock.
    full: AtomicBool,
    failed: AtomicBool,
    shards: Box<[Locked]>,
    /// Where each shard's memory is.
    hints: Box<[Hint]>,
    /// How many shards there are, as a power of two.
    shard_bits: u32,
    /// Its number among the sets of this process, for the [caches](Recent) of threads. From 1 on.
    number: u64,
    /// Tests that the caches of threads have answered.
    recent_hits: AtomicU64,
}

/// The most fingerprints of a short run, such as the links of a page. It has few for each shard, so the memory of the next shards is
/// prefetched while one is tested; a longer run has enough for a shard to do so alone.
const SHORT: usize = 256;

/// How many fingerprints of a short run are asked for ahead. A processor core has some two dozen places for lines that are on their way,
/// and one that finds none left drops what it should prefetch.
const AHEAD: usize = 16;

/// How many sets were made in this process.
static SETS: AtomicU64 = AtomicU64::new(0);

/// A shard on its own cache lines, so that a thread in one shard does not slow down a thread in the next one. It is aligned to two
/// lines, since processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Locked(Mutex<Shard>);

/// Shows only the options: the filters have millions of words.
impl fmt::Debug for SeenSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeenSet").field("options", self.options()).finish_non_exhaustive()
    }
}

impl SeenSet {
    /// Checks the options and allocates. The operating system provides the memory when it is first touched.
    ///
    /// # Errors
    /// If an option is out of its range, or there is not enough memory.
    pub fn new(options: &SeenOptions) -> Result<Self, SeenError> {
        let growth = Arc::new(Growth::of(options)?);
        let shards = (0..options.shards).map(|_| Shard::new(&growth)).collect();
        Ok(Self::from_shards(growth, shards))
    }

    /// A set of shards that were made elsewhere, by the plan of `growth`.
    pub(super) fn from_shards(growth: Arc<Growth>, shards: Vec<Shard>) -> Self {
        let full = AtomicBool::new(shards.iter().any(Shard::is_full));
        let shard_bits = shards.len().trailing_zeros();
        let hints = shards.iter().map(|shard| Hint::of(&shard.layers)).collect();
        let shards = shards.into_iter().map(|shard| Locked(Mutex::new(shard))).collect();
        let number = SETS.fetch_add(1, Ordering::Relaxed) + 1;
        let (failed, recent_hits) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { growth, full, failed, shards, hints, shard_bits, number, recent_hits }
    }

    /// All shards, for a caller with exclusive access, which needs no lock.
    pub(super) fn shards_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.shards.iter_mut().map(|locked| locked.0.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// All shards, of a set that is no longer needed.
    pub(super) fn into_shards(self) -> impl Iterator<Item = Shard> {
        self.shards.into_iter().map(|locked| locked.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The options that it was made from.
    pub fn options(&self) -> &SeenOptions {
        self.growth.options()
    }

    /// Was this fingerprint shown before? The set remembers it either way.
    pub fn insert(&self, fingerprint: Fingerprint) -> Sighting {
        let mut shard = self.lock(self.shard_of(fingerprint));
        let sighting = shard.insert(fingerprint);
        self.note(&shard);
        sighting
    }

    /// Remembers a fingerprint that a journal has as admitted. A counting set counts it as new whatever its counters say: it was new then, and
    /// URLs may be journaled in another order than they were shown in. In the other layouts this is [`insert`](Self::insert), since a
    /// checkpoint may have it already.
    pub(crate) fn insert_again(&self, fingerprint: Fingerprint) {
        if self.options().layout != Layout::Counting {
            self.insert(fingerprint);
            return;
        }
        let mut shard = self.lock(self.shard_of(fingerprint));
        shard.insert_again(fingerprint);
        self.note(&shard);
    }

    /// As [`insert`](Self::insert), but it never waits: `None` if another thread has the shard's lock. Then nothing has changed.
    ///
    /// It is for a caller that holds another lock, and gives that up before it waits for this one.
    pub fn try_insert(&self, fingerprint: Fingerprint) -> Option<Sighting> {
        let mut shard = self.try_lock(self.shard_of(fingerprint))?;
        let sighting = shard.insert(fingerprint);
        self.note(&shard);
        Some(sighting)
    }

    /// As [`insert`](Self::insert), for any bytes: a URL's key, a user name, an address.
    pub fn insert_bytes(&self, bytes: &[u8]) -> Sighting {
        self.insert(self.options().key.fingerprint_bytes(bytes))
    }

    /// As [`insert`](Self::insert), for a vector of integers, which is hashed without a copy of the whole.
    pub fn insert_words(&self, words: &[u32]) -> Sighting {
        self.insert(self.options().key.fingerprint_words(words))
    }

    /// As [`insert`](Self::insert) for each fingerprint, in order. The answers replace `sightings`.
    ///
    /// This is much faster than one by one, since many memory accesses overlap. Fingerprints are grouped by shard, and each shard is locked
    /// once for each 4,096 fingerprints; a shard that another thread has locked comes last. The more fingerprints a shard gets at once, the
    /// faster. Of a batch of up to 256, such as the links of a page, the memory is prefetched before its shard is locked.
    ///
    /// ```
    /// # use crawler_frontier::address::FingerprintKey;
    /// # use crawler_frontier::seen::{SeenOptions, SeenSet, Sighting};
    /// let seen = SeenSet::new(&SeenOptions::default())?;
    /// let key = FingerprintKey::from_u64(7);
    /// let links = ["/a", "/b", "/a"].map(|link| key.fingerprint(link));
    /// let mut sightings = Vec::new();
    /// seen.insert_batch(&links, &mut sightings);
    /// assert_eq!(sightings, [Sighting::New, Sighting::New, Sighting::Seen]);
    /// # Ok::<(), crawler_frontier::seen::SeenError>(())
    /// ```
    pub fn insert_batch(&self, fingerprints: &[Fingerprint], sightings: &mut Vec<Sighting>) {
        sightings.clear();
        sightings.resize(fingerprints.len(), Sighting::Seen);
        if let [_] = *self.shards {
            self.insert_group(0, self.lock(0), fingerprints, true, |place| sightings[place] = Sighting::New);
            return;
        }
        for (run, sightings) in fingerprints.chunks(Groups::MAX).zip(sightings.chunks_mut(Groups::MAX)) {
            let (is_short, mut asked) = (run.len() <= SHORT, 0);
            Groups::of(run, self.shard_bits, |group, busy| {
                let (fingerprints, places) = (group.fingerprints(), group.places);
                if is_short {
                    self.prefetch(group.ahead(AHEAD, &mut asked));
                }
                let index = self.shard_of(fingerprints[0]);
                let locked = if busy == Busy::Wait { Some(self.lock(index)) } else { self.try_lock(index) };
                let Some(shard) = locked else { return false };
                let is_ahead = is_short && self.hints[index].is_known();
                let new = |place| sightings[usize::from(places[place])] = Sighting::New;
                self.insert_group(index, shard, fingerprints, !is_ahead, new);
                true
            });
        }
    }

    /// Prefetches the memory that the tests of these fingerprints read first, without a lock.
    fn prefetch(&self, fingerprints: &[Fingerprint]) {
        for &fingerprint in fingerprints {
            self.hints[self.shard_of(fingerprint)].prefetch(Probes::new(fingerprint, self.shard_bits));
        }
    }

    /// As [`insert_batch`](Self::insert_batch), for a stream in which most fingerprints repeat one of the last thousand, as the links of
    /// pages do. Each thread answers repeats from its own cache, except in layouts that can [`remove`](Self::remove).
    ///
    /// On the links of two manuals, 90 % and 96 % of them repeats, it took half and a quarter of the time.
    pub fn insert_links(&self, fingerprints: &[Fingerprint], sightings: &mut Vec<Sighting>) {
        if self.options().layout.forgets() {
            return self.insert_batch(fingerprints, sightings);
        }
        let missing = Recent::sift(self.number, fingerprints, sightings, |missing, sightings| {
            self.insert_batch(missing, sightings);
        });
        self.recent_hits.fetch_add((fingerprints.len() - missing) as u64, Ordering::Relaxed);
    }

    /// Counts fingerprints that the caller did not show again, since it knew the answer.
    pub(crate) fn note_recent(&self, fingerprints: u64) {
        if fingerprints > 0 {
            self.recent_hits.fetch_add(fingerprints, Ordering::Relaxed);
        }
    }

    /// Shows a group to its shard. `prefetch` says that the caller has not prefetched its memory, so that this does it first.
    fn insert_group(
        &self,
        index: usize,
        mut shard: MutexGuard<'_, Shard>,
        group: &[Fingerprint],
        prefetch: bool,
        new: impl FnMut(usize),
    ) {
        if prefetch {
            shard.prefetch_batch(group);
        }
        shard.insert_batch(group, new);
        self.hints[index].follow(&shard.layers);
        self.note(&shard);
    }

    /// Was this fingerprint shown before? The set is unchanged.
    pub fn contains(&self, fingerprint: Fingerprint) -> bool {
        let mut shard = self.lock(self.shard_of(fingerprint));
        let contained = shard.contains(fingerprint);
        self.note(&shard);
        contained
    }

    /// As [`contains`](Self::contains), but it never waits, as [`try_insert`](Self::try_insert).
    pub fn try_contains(&self, fingerprint: Fingerprint) -> Option<bool> {
        let mut shard = self.try_lock(self.shard_of(fingerprint))?;
        let contained = shard.contains(fingerprint);
        self.note(&shard);
        Some(contained)
    }

    /// Which shard a fingerprint belongs to, by number.
    pub fn shard_of(&self, fingerprint: Fingerprint) -> usize {
        shard(fingerprint, self.shard_bits)
    }

    /// The statistics of one shard: a row of [`statistics`](Self::statistics), without the work for the others.
    ///
    /// # Panics
    /// If there is no shard of that number.
    pub(crate) fn shard_statistics(&self, shard: usize) -> ShardStatistics {
        self.lock(shard).statistics()
    }

    /// Forgets a fingerprint, so that it is new when it is next shown.
    ///
    /// Call it once for an insertion that was answered `New`. In the counting layout, removing a fingerprint that was never inserted may
    /// make the set forget another URL.
    ///
    /// ```
    /// # use crawler_frontier::seen::{Layout, Removal, SeenOptions, SeenSet, Sighting};
    /// let mut options = SeenOptions::default();
    /// options.layout = Layout::Counting;
    /// let seen = SeenSet::new(&options)?;
    /// let url = options.key.fingerprint("https://example.org/");
    /// assert_eq!(seen.insert(url), Sighting::New);
    /// assert_eq!(seen.remove(url)?, Removal::Removed);
    /// assert_eq!(seen.insert(url), Sighting::New);
    /// # Ok::<(), crawler_frontier::seen::SeenError>(())
    /// ```
    ///
    /// # Errors
    /// If the layout cannot forget. Only counting and exact can.
    pub fn remove(&self, fingerprint: Fingerprint) -> Result<Removal, SeenError> {
        let layout = self.options().layout;
        if layout.forgets() {
            return Ok(self.lock(shard(fingerprint, self.shard_bits)).remove(fingerprint));
        }
        Err(SeenError::Unsupported { layout, act: "remove", reason: "each of its bits may be another URL's as well" })
    }

    /// Whether a shard is beyond its capacity and does not grow, by its options or for lack of memory. The rate is about to rise beyond its
    /// target. Takes no lock, so it can be called after each insertion.
    ///
    /// ```
    /// # use crawler_frontier::seen::{OnFull, SeenOptions, SeenSet};
    /// let mut options = SeenOptions::default();
    /// (options.capacity, options.shards, options.on_full) = (1000, 1, OnFull::Stop);
    /// let seen = SeenSet::new(&options)?;
    /// let stopped = (0..2000_u64).find(|number| {
    ///     seen.insert_bytes(&number.to_le_bytes());
    ///     seen.is_full()
    /// });
    /// assert!((950..1000).contains(&stopped.unwrap()));
    /// # Ok::<(), crawler_frontier::seen::SeenError>(())
    /// ```
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Whether the verified layout's disk has worked so far. Takes no lock unless it failed, so it can be called after each insertion.
    ///
    /// A fingerprint that could not be looked up counts as seen if the filter says so. `New` is still said once, and URLs are lost at the
    /// filter's rate, as in the blocked layout. Fingerprints that could not be written stay in memory.
    ///
    /// # Errors
    /// The first failure of a shard.
    pub fn check(&self) -> Result<(), SeenError> {
        if !self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        (0..self.shards.len()).try_for_each(|index| self.lock(index).failure().map_or(Ok(()), Err))
    }

    /// What the set holds and what it costs, as a whole and for each shard. Shards are locked one after the other, so while the set is in
    /// use their rows are of slightly different moments.
    pub fn statistics(&self) -> SeenStatistics {
        let shards = (0..self.shards.len()).map(|index| self.lock(index).statistics()).collect();
        SeenStatistics::new(shards, self.recent_hits.load(Ordering::Relaxed))
    }

    /// How many tests that also insert were made, repetitions included: one number of the [`statistics`](Self::statistics).
    pub fn tests(&self) -> u64 {
        (0..self.shards.len()).map(|index| self.lock(index).counts.tests).sum()
    }

    /// URLs that were answered `New` and not removed since. In a union of two Bloom filters it is an estimate from the fill.
    ///
    /// ```
    /// # use crawler_frontier::seen::{SeenOptions, SeenSet};
    /// let seen = SeenSet::new(&SeenOptions::default())?;
    /// ["a", "b", "a"].map(|text| seen.insert_bytes(text.as_bytes()));
    /// assert_eq!(seen.remembered(), 2);
    /// # Ok::<(), crawler_frontier::seen::SeenError>(())
    /// ```
    pub fn remembered(&self) -> u64 {
        (0..self.shards.len()).map(|index| self.lock(index).remembered()).sum()
    }

    /// Memory allocated, in bytes: one number of the [`statistics`](Self::statistics).
    pub fn bytes(&self) -> u64 {
        (0..self.shards.len()).map(|index| self.lock(index).bytes()).sum()
    }

    /// The fingerprints of the exact layout, in order: as many leading bits of each as all of them have.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> Vec<u64> {
        let mut kept = Vec::new();
        for index in 0..self.shards.len() {
            let shard = self.lock(index);
            let lines = shard.layers.iter().filter_map(|layer| layer.filter.lines());
            kept.extend(lines.flat_map(|lines| lines.ranges(index)).map(|range| range.first >> 28));
        }
        kept.sort_unstable();
        kept
    }

    /// Locks a shard, and counts the wait if another thread had it.
    pub(super) fn lock(&self, index: usize) -> MutexGuard<'_, Shard> {
        self.try_lock(index).unwrap_or_else(|| {
            let mut shard = self.shards[index].0.lock().unwrap_or_else(PoisonError::into_inner);
            shard.count_wait();
            shard
        })
    }

    /// Locks a shard unless another thread has it. A thread that panicked while it held the lock
    /// left the shard whole: no code panics between two writes that belong together.
    fn try_lock(&self, index: usize) -> Option<MutexGuard<'_, Shard>> {
        match self.shards[index].0.try_lock() {
            Ok(shard) => Some(shard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Updates the copies of the shard's flags.
    pub(super) fn note(&self, shard: &Shard) {
        if shard.is_full() {
            self.full.store(true, Ordering::Relaxed);
        }
        if shard.has_failed() {
            self.failed.store(true, Ordering::Relaxed);
        }
    }

    /// Sets whether a shard is full.
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
    fn what_never_waits_changes_nothing_where_it_would() {
        let seen = SeenSet::new(&SeenOptions { shards: 2, ..SeenOptions::default() }).unwrap();
        let [first, second] = [0, u64::MAX].map(Fingerprint::from_bits);
        assert_eq!([first, second].map(|fingerprint| seen.shard_of(fingerprint)), [0, 1]);
        let held = seen.lock(0);
        assert_eq!((seen.try_insert(first), seen.try_contains(first)), (None, None));
        assert_eq!((seen.try_insert(second), seen.try_contains(second)), (Some(Sighting::New), Some(true)));
        drop(held);
        assert_eq!((seen.try_contains(first), seen.try_insert(first)), (Some(false), Some(Sighting::New)));
        assert_eq!((seen.try_insert(first), seen.remembered()), (Some(Sighting::Seen), 2));
    }

    /// Whatever a batch does to a shard's memory, the hint says where that is. A table that is being split is in two places, and has no hint.
    #[test]
    fn hints_follow_their_shards() {
        for (layout, known, unknown) in [
            (Layout::Blocked, true, false),
            (Layout::Quotient, true, false),
            (Layout::Exact, true, true),
            (Layout::Standard, false, true),
        ] {
            let seen =
                SeenSet::new(&SeenOptions { layout, capacity: 400, shards: 2, ..SeenOptions::default() }).unwrap();
            let (mut states, mut sightings) = (Vec::new(), Vec::new());
            for batch in 0..600_u64 {
                let keys = (0..20 + batch % 60).map(|count| (batch << 8 | count).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                seen.insert_batch(&keys.map(Fingerprint::from_bits).collect::<Vec<_>>(), &mut sightings);
                for (index, hint) in seen.hints.iter().enumerate() {
                    let now = Hint::of(&seen.lock(index).layers);
                    assert_eq!(format!("{hint:?}"), format!("{now:?}"), "{layout}");
                    states.push(hint.is_known());
                }
            }
            assert_eq!((states.contains(&true), states.contains(&false)), (known, unknown), "{layout}");
            assert_eq!(seen.lock(0).layers.len() > 4, layout != Layout::Exact);
        }
    }

    #[test]
    fn who_waits_for_a_lock_is_counted() {
        let seen = SeenSet::new(&SeenOptions { shards: 1, ..SeenOptions::default() }).unwrap();
        // A waiting thread cannot be observed, so it is tried until one has waited.
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
