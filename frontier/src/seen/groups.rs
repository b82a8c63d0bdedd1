//! A batch, sorted by shard, so that each shard is locked once.

use std::cell::RefCell;
use std::ops::Range;

use super::probes::shard;
use crate::address::Fingerprint;

/// Fingerprints of a batch by shard, and inside a shard in the order of the batch. That order decides which of two equal ones is new.
pub(super) struct Groups {
    fingerprints: [Fingerprint; Groups::MAX],
    /// The place of each in the batch.
    places: [u16; Groups::MAX],
    /// The groups whose shard was busy.
    put_off: Vec<Range<usize>>,
}

/// How many of the shard bits a counting sort uses.
const BUCKET_BITS: u32 = 8;

thread_local! {
    /// One for each thread. It is never cleared, since that would cost more than the tests of a short batch.
    static SCRATCH: RefCell<Groups> = const {
        RefCell::new(Groups {
            fingerprints: [Fingerprint::from_bits(0); Groups::MAX],
            places: [0; Groups::MAX],
            put_off: Vec::new(),
        })
    };
}

impl Groups {
    /// The most fingerprints that are grouped at one time. With their places they take 40 KB.
    pub(super) const MAX: usize = 4096;

    /// The most fingerprints of a short run, whose memory is fetched ahead of all tests. That of a longer one cannot be fetched at once:
    /// when the last shard's is requested, the first shard's has left the nearest caches.
    pub(super) const SHORT: usize = 256;

    /// Shows `each` the fingerprints of each shard that has any, with their places in the `run`. If `each` answers `false` because the
    /// shard is busy, it is shown the same group again after all others, and must then wait for the shard.
    ///
    /// A short run has few fingerprints for each shard, and a shard could not fetch the memory of some while it tests others. So `ahead` is
    /// shown all groups first, to fetch the memory of all shards at once.
    pub(super) fn of(
        run: &[Fingerprint],
        shard_bits: u32,
        mut ahead: impl FnMut(&[Fingerprint]),
        mut each: impl FnMut(&[Fingerprint], &[u16], Busy) -> bool,
    ) {
        SCRATCH.with_borrow_mut(|groups| {
            if (2..=Self::SHORT).contains(&run.len()) {
                groups.sort(run, shard_bits, |group, _| {
                    ahead(group);
                    false
                });
                let Self { fingerprints, places, put_off } = groups;
                put_off.retain(|group| !each(&fingerprints[group.clone()], &places[group.clone()], Busy::PutOff));
            } else {
                groups.sort(run, shard_bits, |group, places| each(group, places, Busy::PutOff));
            }
            let Self { fingerprints, places, put_off } = groups;
            for group in put_off.drain(..) {
                each(&fingerprints[group.clone()], &places[group], Busy::Wait);
            }
        });
    }

    /// A counting sort by the first shard bits, and a comparison sort by the rest. O(batch) up to 256 shards; beyond that the few
    /// fingerprints of one bucket are sorted, stably.
    ///
    /// At most [`MAX`](Self::MAX) at a time: the set cuts a longer batch into runs.
    fn sort(&mut self, run: &[Fingerprint], shard_bits: u32, mut each: impl FnMut(&[Fingerprint], &[u16]) -> bool) {
        // The remainders here and below change no value, and save bounds checks.
        let bucket_bits = shard_bits.min(BUCKET_BITS);
        let bucket = |fingerprint| shard(fingerprint, bucket_bits) % (1 << BUCKET_BITS);
        let mut ends = [0_u16; 1 << BUCKET_BITS];
        for &fingerprint in run {
            ends[bucket(fingerprint)] += 1;
        }
        let mut start = 0;
        for count in &mut ends[..1 << bucket_bits] {
            start += std::mem::replace(count, start);
        }
        for (place, &fingerprint) in (0..).zip(run) {
            let end = &mut ends[bucket(fingerprint)];
            self.fingerprints[usize::from(*end) % Self::MAX] = fingerprint;
            self.places[usize::from(*end) % Self::MAX] = place;
            *end += 1;
        }
        self.put_off.clear();
        let mut start = 0;
        for end in ends[..1 << bucket_bits].iter().map(|&end| usize::from(end)) {
            let (fingerprints, places) = (&mut self.fingerprints[start..end], &mut self.places[start..end]);
            if shard_bits <= BUCKET_BITS {
                if !places.is_empty() && !each(fingerprints, places) {
                    self.put_off.push(start..end);
                }
                start = end;
                continue;
            }
            places.sort_by_key(|&place| shard(run[usize::from(place)], shard_bits));
            for (fingerprint, &place) in fingerprints.iter_mut().zip(&*places) {
                *fingerprint = run[usize::from(place)];
            }
            let mut places = &*places;
            for group in fingerprints.chunk_by(|&a, &b| shard(a, shard_bits) == shard(b, shard_bits)) {
                let (these, rest) = places.split_at(group.len());
                if !each(group, these) {
                    self.put_off.push(start..start + group.len());
                }
                (places, start) = (rest, start + group.len());
            }
        }
    }
}

/// What to do if another thread has the shard's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    /// Leave the group for later.
    PutOff,
    /// Wait for the lock.
    Wait,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever shards are busy, each fingerprint is shown once and in its place, and no group is waited for before all others are done.
    #[test]
    fn what_is_put_off_comes_last_and_once() {
        // Some shards have many and some have one.
        let spread = |count: u64| Fingerprint::from_bits(count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (count % 7));
        let run: Vec<_> = (0..3000).map(spread).collect();
        for (shard_bits, one_in) in [2, 8, 9, 12].into_iter().flat_map(|bits| [1, 3, 100].map(|one_in| (bits, one_in)))
        {
            let (mut shown, mut asked, mut put_off) = (Vec::new(), 0, 0);
            Groups::of(
                &run,
                shard_bits,
                |_| panic!("the run is long"),
                |group, places, busy| {
                    let shards: Vec<_> = group.iter().map(|&fingerprint| shard(fingerprint, shard_bits)).collect();
                    assert!(!shards.is_empty() && shards.iter().all(|&shard| shard == shards[0]));
                    assert!(
                        places.is_sorted() && group.iter().eq(places.iter().map(|&place| &run[usize::from(place)]))
                    );
                    asked += 1;
                    if busy == Busy::PutOff && asked % one_in == 0 {
                        put_off += 1;
                        return false;
                    }
                    put_off -= i32::from(busy == Busy::Wait);
                    shown.extend(places.iter().map(|&place| (place, busy == Busy::Wait)));
                    true
                },
            );
            assert_eq!((shown.len(), put_off), (run.len(), 0), "{shard_bits} bits, one in {one_in} is busy");
            assert!(shown.is_sorted_by_key(|&(_, waited)| waited));
            let mut places: Vec<_> = shown.into_iter().map(|(place, _)| usize::from(place)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..run.len()));
        }
    }

    /// The memory of all shards is fetched before the first test, of each once; whichever are busy, all are tested.
    #[test]
    fn all_of_a_short_run_are_shown_ahead() {
        let spread = |count: u64| Fingerprint::from_bits(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for (length, shard_bits, one_in) in [(2, 4, 1), (64, 4, 3), (Groups::SHORT as u64, 9, 2), (64, 12, 100)] {
            let run: Vec<_> = (0..length).map(spread).collect();
            let (shown, mut tested, mut asked) = (RefCell::new(Vec::new()), Vec::new(), 0);
            let ahead = |group: &[Fingerprint]| shown.borrow_mut().extend(group.iter().map(|key| key.bits()));
            Groups::of(&run, shard_bits, ahead, |group, places, busy| {
                assert_eq!(shown.borrow().len(), run.len(), "all before the first test");
                assert!(group.iter().eq(places.iter().map(|&place| &run[usize::from(place)])));
                asked += 1;
                let is_tested = busy == Busy::Wait || asked % one_in != 0;
                if is_tested {
                    tested.extend(group.iter().map(|key| key.bits()));
                }
                is_tested
            });
            let mut all: Vec<_> = run.iter().map(|key| key.bits()).collect();
            let mut shown = shown.into_inner();
            for keys in [&mut all, &mut shown, &mut tested] {
                keys.sort_unstable();
            }
            assert!(shown == all && tested == all, "{length}, {shard_bits} bits, one in {one_in}");
        }
    }
}
