//! The questions to a layer, in windows of a batch, and its answers. While one window is tested, the memory of the next is fetched.

use std::iter::once;

use crate::address::Fingerprint;
use crate::seen::probes::Probes;

/// Fingerprints of one shard that are tested together, at most [`ProbeWindow::MAX`].
///
/// Memory answers after a hundred nanoseconds, but a processor core can wait for 10 to 20 cache lines at the same time. So each test
/// prefetches the memory of a later one, a window ahead. Prefetching everything at once would fill the queue, and the tests would wait for
/// it.
#[derive(Clone, Copy, Debug)]
pub(in crate::seen) struct ProbeWindow<'a> {
    pub(in crate::seen) fingerprints: &'a [Fingerprint],
    /// The fingerprints of the next window; none after the last.
    ahead: &'a [Fingerprint],
    /// How many shards there are, as a power of two.
    shard_bits: u32,
}

impl<'a> ProbeWindow<'a> {
    /// The most fingerprints in a window. The word of a [`Subset`] has a bit for each.
    pub(in crate::seen) const MAX: usize = 32;

    /// Cuts a batch into windows.
    pub(in crate::seen) fn all_of(fingerprints: &'a [Fingerprint], shard_bits: u32) -> impl Iterator<Item = Self> {
        let next = fingerprints.chunks(Self::MAX).skip(1).chain(once(&[][..]));
        fingerprints.chunks(Self::MAX).zip(next).map(move |(fingerprints, ahead)| Self {
            fingerprints,
            ahead,
            shard_bits,
        })
    }

    /// The window before the first one of a batch: nothing to test, and the first window ahead.
    pub(in crate::seen) fn before(fingerprints: &'a [Fingerprint], shard_bits: u32) -> Self {
        let ahead = &fingerprints[..fingerprints.len().min(Self::MAX)];
        Self { fingerprints: &[], ahead, shard_bits }
    }

    /// How many fingerprints are to be tested.
    pub(in crate::seen) fn len(self) -> usize {
        self.fingerprints.len()
    }

    /// The next window's fingerprints, in order.
    pub(in crate::seen) fn ahead(self) -> impl Iterator<Item = Probes> {
        self.ahead.iter().map(move |&fingerprint| Probes::new(fingerprint, self.shard_bits))
    }

    /// The fingerprint at a place.
    pub(in crate::seen) fn probes(self, place: usize) -> Probes {
        Probes::new(self.fingerprints[place], self.shard_bits)
    }

    /// The places that are not in a subset.
    pub(in crate::seen) fn all_but(self, subset: Subset) -> Subset {
        Subset(!subset.0 & ((1 << self.len()) - 1))
    }

    /// The places for which `is_one` says yes. It is called for each in order, with the place as well.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what is asked may use instructions that only the caller may use")]
    pub(in crate::seen) fn choose(self, mut is_one: impl FnMut(Probes, usize) -> bool) -> Subset {
        let mut chosen = 0;
        for (place, &fingerprint) in self.fingerprints.iter().enumerate() {
            chosen |= u64::from(is_one(Probes::new(fingerprint, self.shard_bits), place)) << place;
        }
        Subset(chosen)
    }

    /// As [`choose`](Self::choose); `is_one` also gets one fingerprint of the next window, to prefetch its memory.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `choose`")]
    pub(in crate::seen) fn choose_ahead(self, mut is_one: impl FnMut(Probes, usize, Option<Probes>) -> bool) -> Subset {
        let mut ahead = self.ahead();
        self.choose(|probes, place| is_one(probes, place, ahead.next()))
    }
}

/// Prefetches the memory of one slot, without waiting for it. A hint that changes no answer, and does nothing on some machines.
///
/// A plain load would need no crate. But a load that waits for memory holds up everything after it: tests and memory would take turns
/// instead of overlapping, and a batch would take a quarter longer at 20 M URLs.
#[inline]
pub(in crate::seen) fn prefetch<T>(slots: &[T], slot: usize) {
    prefetch_index::prefetch_index(slots, slot);
}

/// As [`prefetch`], by an address. Whatever is there now, or nothing, a hint does no harm.
#[inline]
pub(in crate::seen) fn prefetch_address(address: usize) {
    const NOTHING: &[u8] = &[];
    prefetch(NOTHING, address.wrapping_sub(NOTHING.as_ptr().addr()));
}

/// Some of a window's fingerprints, by their places.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::seen) struct Subset(
    /// One bit for each place, the first in the lowest.
    pub(in crate::seen) u64,
);

impl FromIterator<usize> for Subset {
    fn from_iter<T: IntoIterator<Item = usize>>(places: T) -> Self {
        Self(places.into_iter().fold(0, |all, place| all | 1 << place))
    }
}

impl Subset {
    /// The places that are in either.
    pub(in crate::seen) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(in crate::seen) fn has(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
    }

    /// The places, ascending.
    pub(in crate::seen) fn places(mut self) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let place = self.0.trailing_zeros();
            self.0 &= self.0.wrapping_sub(1);
            (place < u64::BITS).then_some(place as usize)
        })
    }

    /// How many there are.
    pub(in crate::seen) fn count(self) -> u64 {
        self.0.count_ones().into()
    }

    /// The answer for one place, if this is the subset of the new ones.
    pub(in crate::seen) fn sighting(self, place: usize) -> Sighting {
        if self.has(place) { Sighting::New } else { Sighting::Seen }
    }
}

/// The answer of the URL-seen test.
///
/// `New` is said exactly once for each fingerprint, however many threads ask at the same time: the thread that is told `New` owns the URL.
/// `Seen` may be wrong at the rate that the set was made for, since a Bloom filter errs in this direction only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sighting {
    /// It was not shown before.
    New,
    /// It was shown before, or is taken for one that was.
    Seen,
}

/// The result of forgetting a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removal {
    /// It was not remembered.
    Absent,
    /// It is still remembered. Two layers claim to hold it, one of them by error, and the set cannot tell which: taking it from the wrong
    /// one would make the set forget another URL.
    Kept,
    /// It is no longer remembered. It may still be taken for seen, as any new URL may.
    Removed,
}
