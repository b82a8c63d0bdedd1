//! How a fingerprint's 64 bits are spent. No other file decides that.
//!
//! ```text
//! fingerprint   s s s s p p p p p p p p p p p p ...................................... a a a a a a a a a a
//!               shard   place in its memory: a line, or a slot                        is it in the audit's sample?
//! mixed         all 64 bits again, for the probes: 6 bits a lane, or a start and a step
//! ```
//!
//! The leading bits choose the shard, and the bits after them the place inside the shard's memory.
//! Inside a shard, or a line, those bits are constant, so they must not choose the probes as well.
//! Probes come from all 64 bits, mixed again.

use crate::address::Fingerprint;

/// The version of this way to spend the bits, which is in every saved file. A released strategy never changes: another way gets another
/// number, and a file with an unknown number is refused.
pub(super) const STRATEGY: u32 = 1;

/// Bits in a cache line.
pub(super) const LINE_BITS: u64 = 512;
/// Lanes of a cache line: words of 64 bits. Each is probed separately.
pub(super) const LANES: usize = 8;

/// The probes of a URL that has one in each lane.
pub(super) const LANE_PROBES: u32 = 8;

/// The most probes that a URL may take. A rate of 1e-19 takes that many.
pub(super) const MAX_PROBES: u32 = 64;

/// Which of `2^shard_bits` shards a fingerprint belongs to.
pub(super) fn shard(fingerprint: Fingerprint, shard_bits: u32) -> usize {
    // In two steps, since a shift by 64 bits is not defined.
    let index = fingerprint.bits() >> 1 >> (63 - shard_bits);
    usize::try_from(index).expect("at most 16 shard bits")
}

/// A fingerprint inside its shard: its place, and the bits that its probes are made from. It is two words long, so that it is passed in
/// registers, and each layout computes only what it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probes {
    pub(super) fingerprint: Fingerprint,
    shard_bits: u32,
}

impl Probes {
    /// `shard_bits`: how many shards there are, as a power of two.
    pub(super) fn new(fingerprint: Fingerprint, shard_bits: u32) -> Self {
        Self { fingerprint, shard_bits }
    }

    /// Which of `slots` it belongs to. Slots are in the order of fingerprints and get even shares. A multiplication replaces the division
    /// (Lemire 2019, "Fast random integer generation in an interval").
    pub(super) fn slot(self, slots: usize) -> usize {
        scale(self.fingerprint.bits() << self.shard_bits, slots)
    }

    /// As [`slot`](Self::slot), and the bits after it: the place within the slot, as a share of 2^64. With twice as many slots, the first
    /// of these bits is the last of the slot's number.
    #[inline]
    pub(super) fn slot_and_rest(self, slots: usize) -> (usize, u64) {
        let place = u128::from(self.fingerprint.bits() << self.shard_bits) * slots as u128;
        #[expect(clippy::cast_possible_truncation, reason = "below `slots`, and the lower half")]
        let halves = ((place >> 64) as usize, place as u64);
        halves
    }

    /// One bit in each lane of a line, from 48 bits.
    pub(super) fn lanes(self) -> Lanes {
        Lanes(self.first())
    }

    /// A second bit in each lane, from 48 fresh bits. It may be the same as the first.
    pub(super) fn lanes_again(self) -> Lanes {
        Lanes(self.second())
    }

    /// `probes` of `cells` cells. One hash makes all of them, by double hashing (Kirsch and Mitzenmacher 2006). The step changes on the way
    /// (Dillinger and Manolios 2004): with a fixed step the rate of a small filter cannot fall below a floor.
    pub(super) fn steps(self, cells: usize, probes: u32) -> impl Iterator<Item = usize> + use<> {
        let (mut at, mut step) = (self.first(), self.second());
        let change = step.rotate_left(32) | 1;
        (0..probes).map(move |_| {
            let cell = scale(at, cells);
            at = at.wrapping_add(step);
            step = step.wrapping_add(change);
            cell
        })
    }

    /// The bits for the first probes.
    fn first(self) -> u64 {
        mix(self.fingerprint.bits())
    }

    /// Fresh bits for the second probes: the first ones, mixed once more.
    fn second(self) -> u64 {
        mix(self.first() ^ 0x9e37_79b9_7f4a_7c15)
    }
}

/// The next place of an item that found no room in a line: from a fingerprint of both, all of whose bits count.
#[inline]
pub(super) fn remix(line: u64, item: u64) -> Probes {
    Probes::new(Fingerprint::from_bits(mix(mix(line) ^ item)), 0)
}

/// One bit in each lane, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lanes(u64);

impl Lanes {
    /// The position of each lane's six bits.
    pub(super) const SHIFTS: [u64; LANES] = [0, 6, 12, 18, 24, 30, 36, 42];

    /// The number of this lane's bit, 0 to 63.
    pub(super) fn bit(self, lane: usize) -> u64 {
        self.0 >> Self::SHIFTS[lane] & 63
    }

    /// The numbers of all lanes in one word, for code that shifts and masks all lanes at once.
    pub(super) fn word(self) -> u64 {
        self.0
    }
}

/// `place / 2^64` of `slots`, rounded down.
fn scale(place: u64, slots: usize) -> usize {
    let slot = (u128::from(place) * slots as u128) >> 64;
    #[expect(clippy::cast_possible_truncation, reason = "below `slots`")]
    let slot = slot as usize;
    slot
}

/// A bijection in which each bit of the result depends on all of the argument's: the finalizer of
/// `MurmurHash3` with the constants of D. Stafford's "Mix13".
fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_take_the_leading_bits() {
        let fingerprint = Fingerprint::from_bits(0xABCD_0000_0000_0001);
        assert_eq!(shard(fingerprint, 0), 0);
        assert_eq!(shard(fingerprint, 4), 0xA);
        assert_eq!(shard(fingerprint, 16), 0xABCD);
    }

    #[test]
    fn slots_cover_their_range_in_order_and_evenly() {
        let slot = |bits| Probes::new(Fingerprint::from_bits(bits), 4).slot(10);
        let slots: Vec<_> = (0..20).map(|i| slot((0xB << 60) + i * ((1 << 60) / 20) + 20)).collect();
        assert_eq!(slots, (0..20).map(|i| i / 2).collect::<Vec<_>>());
    }

    #[test]
    fn probes_do_not_depend_on_the_shard_bits() {
        let fingerprint = Fingerprint::from_bits(0x0123_4567_89AB_CDEF);
        assert_eq!(Probes::new(fingerprint, 0).lanes(), Probes::new(fingerprint, 16).lanes());
        assert_ne!(Probes::new(fingerprint, 0).lanes(), Probes::new(fingerprint, 0).lanes_again());
    }
}
