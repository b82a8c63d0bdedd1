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
    /// Which of them are a group: all groups, and in the end those whose shard was busy.
    ranges: Vec<Range<usize>>,
}

/// How many of the shard bits a counting sort uses.
const BUCKET_BITS: u32 = 8;

thread_local! {
    /// One for each thread. It is never cleared, since that would cost more than the tests of a short batch.
    static SCRATCH: RefCell<Groups> = const {
        RefCell::new(Groups {
            fingerprints: [Fingerprint::from_bits(0); Groups::MAX],
            places: [0; Groups::MAX],
            ranges: Vec::new(),
        })
    };
}

impl Groups {
    /// The most fingerprints that are grouped at one time. With their places they take 40 KB.
    pub(super) const MAX: usize = 4096;

    /// Shows `each` the group of each shard that has any. If `each` answers `false` because the shard is busy, it is shown the same group
    /// again after all others, and must then wait for the shard.
    pub(super) fn of(run: &[Fingerprint], shard_bits: u32, mut each: impl FnMut(ShardGroup<'_>, Busy) -> bool) {
        SCRATCH.with_borrow_mut(|groups| {
            groups.sort(run, shard_bits);
            let Self { fingerprints, places, ranges } = groups;
            let run = &fingerprints[..run.len()];
            let mut show = |range: &Range<usize>, busy| {
                each(ShardGroup { run, range: range.clone(), places: &places[range.clone()] }, busy)
            };
            ranges.retain(|range| !show(range, Busy::PutOff));
            for range in ranges.drain(..) {
                show(&range, Busy::Wait);
            }
        });
    }

    /// A counting sort by the first shard bits, and a comparison sort by the rest. O(batch) up to 256 shards; beyond that the few
    /// fingerprints of one bucket are sorted, stably.
    ///
    /// At most [`MAX`](Self::MAX) at a time: the set cuts a longer batch into runs.
    fn sort(&mut self, run: &[Fingerprint], shard_bits: u32) {
        self.ranges.clear();
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
        let mut start = 0;
        for end in ends[..1 << bucket_bits].iter().map(|&end| usize::from(end)) {
            let bucket = start..end;
            start = end;
            if bucket.is_empty() {
                continue;
            }
            if shard_bits <= BUCKET_BITS {
                self.ranges.push(bucket);
                continue;
            }
            let (places, mut start) = (&mut self.places[bucket.clone()], bucket.start);
            places.sort_by_key(|&place| shard(run[usize::from(place)], shard_bits));
            let fingerprints = &mut self.fingerprints[bucket];
            for (fingerprint, &place) in fingerprints.iter_mut().zip(&*places) {
                *fingerprint = run[usize::from(place)];
            }
            for group in fingerprints.chunk_by(|&a, &b| shard(a, shard_bits) == shard(b, shard_bits)) {
                self.ranges.push(start..start + group.len());
                start += group.len();
            }
        }
    }
}

/// The fingerprints of one shard.
#[derive(Clone, Debug)]
pub(super) struct ShardGroup<'a> {
    /// Those of all shards, group after group.
    run: &'a [Fingerprint],
    /// Which of them are this group's.
    range: Range<usize>,
    /// The place of each of the group in the batch.
    pub(super) places: &'a [u16],
}

impl<'a> ShardGroup<'a> {
    /// In the order of the batch. There is at least one.
    pub(super) fn fingerprints(&self) -> &'a [Fingerprint] {
        &self.run[self.range.clone()]
    }

    /// Those of the group and the next ones, up to this many after it, without the first `asked` of the run; `asked` grows by them.
    pub(super) fn ahead(&self, most: usize, asked: &mut usize) -> &'a [Fingerprint] {
        let until = self.run.len().min(self.range.end + most).max(*asked);
        &self.run[std::mem::replace(asked, until)..until]
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
    /// The memory of each is asked for once, and before it is shown.
    #[test]
    fn what_is_put_off_comes_last_and_once() {
        // Some shards have many and some have one.
        let spread = |count: u64| Fingerprint::from_bits(count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (count % 7));
        let all: Vec<_> = (0..3000).map(spread).collect();
        let cases = [2, 8, 9, 12].into_iter().flat_map(|bits| [1, 3, 100].map(|one_in| (bits, one_in)));
        for ((shard_bits, one_in), length) in cases.flat_map(|case| [1, 2, 64, 256, 3000].map(|length| (case, length)))
        {
            let run = &all[..length];
            let (mut shown, mut calls, mut put_off) = (Vec::new(), 0, 0);
            let (mut asked, mut ahead) = (0, Vec::new());
            Groups::of(run, shard_bits, |group, busy| {
                let fingerprints = group.fingerprints();
                let shards: Vec<_> = fingerprints.iter().map(|&fingerprint| shard(fingerprint, shard_bits)).collect();
                assert!(!shards.is_empty() && shards.iter().all(|&shard| shard == shards[0]));
                assert!(group.places.is_sorted());
                assert!(fingerprints.iter().eq(group.places.iter().map(|&place| &run[usize::from(place)])));
                ahead.extend(group.ahead(16, &mut asked).iter().map(|fingerprint| fingerprint.bits()));
                assert_eq!(ahead.len(), asked);
                assert!(asked <= run.len() && (busy == Busy::Wait || asked >= run.len().min(group.range.end + 16)));
                calls += 1;
                if busy == Busy::PutOff && calls % one_in == 0 {
                    put_off += 1;
                    return false;
                }
                put_off -= i32::from(busy == Busy::Wait);
                shown.extend(group.places.iter().map(|&place| (place, busy == Busy::Wait)));
                true
            });
            assert_eq!((shown.len(), put_off), (run.len(), 0), "{shard_bits} bits, one in {one_in} is busy");
            assert!(shown.is_sorted_by_key(|&(_, waited)| waited));
            let mut places: Vec<_> = shown.into_iter().map(|(place, _)| usize::from(place)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..run.len()));
            let mut all: Vec<_> = run.iter().map(|fingerprint| fingerprint.bits()).collect();
            all.sort_unstable();
            ahead.sort_unstable();
            assert!(ahead == all, "{shard_bits} bits");
        }
    }
}
