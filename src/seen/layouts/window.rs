use std::iter::once;

use crate::address::Fingerprint;
use crate::seen::Sighting;
use crate::seen::probes::Probes;

/// Fingerprints of one shard that are tested together, at most [`Window::MAX`].
///
/// Memory answers after a hundred nanoseconds, but a processor core can wait for 10 to 20 lines at a time. So with each test the memory
/// of a later one is asked for, a window ahead: all at once would fill the queue, and the tests would wait behind it.
#[derive(Clone, Copy, Debug)]
pub(in crate::seen) struct Window<'a> {
    pub(in crate::seen) fingerprints: &'a [Fingerprint],
    /// Those of the next; none after the last.
    ahead: &'a [Fingerprint],
    /// How many shards there are, as a power of two.
    shard_bits: u32,
}

impl<'a> Window<'a> {
    /// At most as many as a word has bits.
    pub(in crate::seen) const MAX: usize = 32;

    /// All of these, in windows.
    pub(in crate::seen) fn all_of(fingerprints: &'a [Fingerprint], shard_bits: u32) -> impl Iterator<Item = Self> {
        let next = fingerprints.chunks(Self::MAX).skip(1).chain(once(&[][..]));
        fingerprints.chunks(Self::MAX).zip(next).map(move |(fingerprints, ahead)| Self {
            fingerprints,
            ahead,
            shard_bits,
        })
    }

    /// The first of these, to be asked for and not tested.
    pub(in crate::seen) fn before(fingerprints: &'a [Fingerprint], shard_bits: u32) -> Self {
        let ahead = &fingerprints[..fingerprints.len().min(Self::MAX)];
        Self { fingerprints: &[], ahead, shard_bits }
    }

    pub(in crate::seen) fn len(self) -> usize {
        self.fingerprints.len()
    }

    pub(in crate::seen) fn ahead(self) -> impl Iterator<Item = Probes> {
        self.ahead.iter().map(move |&fingerprint| Probes::new(fingerprint, self.shard_bits))
    }

    /// Those for which `is_one` says so, asked of each in order; it gets the place as well.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "what is asked may use instructions that only the caller may use")]
    pub(in crate::seen) fn choose(self, mut is_one: impl FnMut(Probes, usize) -> bool) -> Subset {
        let mut chosen = 0;
        for (place, &fingerprint) in self.fingerprints.iter().enumerate() {
            chosen |= u64::from(is_one(Probes::new(fingerprint, self.shard_bits), place)) << place;
        }
        Subset(chosen)
    }
}

/// Asks for the memory of one of these, without waiting for it. A hint that changes no answer; not everywhere more than nothing.
///
/// A load would do without the crate. But a load that waits holds up all that follows it, so that tests and memory take turns instead of
/// overlapping, and a batch takes a quarter longer at 20 M URLs.
#[inline]
pub(in crate::seen) fn prefetch<T>(slots: &[T], slot: usize) {
    prefetch_index::prefetch_index(slots, slot);
}

/// Some of a window.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::seen) struct Subset(
    /// One bit each, the first in the lowest.
    pub(in crate::seen) u64,
);

impl Subset {
    /// Those of either.
    pub(in crate::seen) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[inline]
    pub(in crate::seen) fn has(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
    }

    pub(in crate::seen) fn places(mut self) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            let place = self.0.trailing_zeros();
            self.0 &= self.0.wrapping_sub(1);
            (place < u64::BITS).then_some(place as usize)
        })
    }

    pub(in crate::seen) fn count(self) -> u64 {
        self.0.count_ones().into()
    }

    /// Of those that are new: what each one's answer is.
    pub(in crate::seen) fn sighting(self, place: usize) -> Sighting {
        if self.has(place) { Sighting::New } else { Sighting::Seen }
    }
}
