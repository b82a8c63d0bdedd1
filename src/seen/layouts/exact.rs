use super::filter::Memory;
use super::window::prefetch;
use crate::address::Fingerprint;
use crate::seen::probes::Probes;
use crate::seen::{Removal, Sighting};

/// Every fingerprint of a shard, in one table with open addressing: 10.7 to 13.4 bytes a URL once it grows.
///
/// Fingerprints are keyed and even already, so they are not hashed again: a slot follows from the fingerprint's place in the
/// shard, and a larger table is filled from a smaller one front to back.
#[derive(Debug)]
pub(in crate::seen) struct Exact {
    slots: Vec<u64>,
    len: usize,
    /// The fingerprint 0, since 0 means an empty slot.
    holds_zero: bool,
    split_bits: u32,
}

/// Slots for each 3 fingerprints: linear probing at a load of 3/4 looks at 8.5 neighbors for a new one (Knuth, vol. 3, 6.4).
const SLOTS_FOR_THREE: usize = 4;

/// Slots that hold `capacity` fingerprints without growing.
pub(in crate::seen) fn slots_for(capacity: u64) -> u64 {
    (capacity.saturating_mul(SLOTS_FOR_THREE as u64) / 3).saturating_add(1)
}

impl Exact {
    pub(in crate::seen) fn new(slots: u64, split_bits: u32) -> Self {
        let slots = usize::try_from(slots).expect("sizes are checked against the memory before");
        Self { slots: vec![0; slots.max(2)], len: 0, holds_zero: false, split_bits }
    }

    /// With room for so many.
    pub(in crate::seen) fn for_urls(capacity: u64, split_bits: u32) -> Self {
        Self::new(slots_for(capacity), split_bits)
    }

    pub(in crate::seen) fn len(&self) -> usize {
        self.len + usize::from(self.holds_zero)
    }

    pub(in crate::seen) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(in crate::seen) fn words(&self) -> &[u64] {
        &self.slots
    }

    pub(in crate::seen) fn holds_zero(&self) -> bool {
        self.holds_zero
    }

    /// All fingerprints, in no order.
    pub(in crate::seen) fn iter(&self) -> impl Iterator<Item = u64> {
        let zero = self.holds_zero.then_some(0);
        self.slots.iter().copied().filter(|&bits| bits != 0).chain(zero)
    }

    /// Inserts the fingerprints of another table's slots.
    pub(in crate::seen) fn absorb(&mut self, slots: &[u64]) {
        for &bits in slots.iter().filter(|&&bits| bits != 0) {
            self.insert(Fingerprint::from_bits(bits));
        }
    }

    pub(in crate::seen) fn absorb_table(&mut self, other: &Self) {
        self.absorb(&other.slots);
        self.holds_zero |= other.holds_zero;
    }

    pub(in crate::seen) fn absorb_zero(&mut self) {
        self.holds_zero = true;
    }

    pub(in crate::seen) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    pub(in crate::seen) fn contains(&self, fingerprint: Fingerprint) -> bool {
        match fingerprint.bits() {
            0 => self.holds_zero,
            bits => self.slots[self.find(bits)] == bits,
        }
    }

    pub(in crate::seen) fn insert(&mut self, fingerprint: Fingerprint) -> Sighting {
        let bits = fingerprint.bits();
        if bits == 0 {
            return if std::mem::replace(&mut self.holds_zero, true) { Sighting::Seen } else { Sighting::New };
        }
        let slot = self.find(bits);
        if self.slots[slot] == bits {
            return Sighting::Seen;
        }
        self.slots[slot] = bits;
        self.len += 1;
        if self.len * SLOTS_FOR_THREE > self.slots.len() * 3 {
            self.grow();
        }
        Sighting::New
    }

    pub(in crate::seen) fn remove(&mut self, fingerprint: Fingerprint) -> Removal {
        let bits = fingerprint.bits();
        if !self.contains(fingerprint) {
            return Removal::Absent;
        }
        if bits == 0 {
            self.holds_zero = false;
            return Removal::Removed;
        }
        let mut free = self.find(bits);
        self.slots[free] = 0;
        self.len -= 1;
        // Those that were pushed past the slot now free move up to it, or a search would end there before it reaches them.
        let mut slot = self.next(free);
        while self.slots[slot] != 0 {
            let home = self.home(self.slots[slot]);
            // From its home around the end, does the search for it come by the free slot?
            if self.distance(home, free) <= self.distance(home, slot) {
                self.slots.swap(free, slot);
                free = slot;
            }
            slot = self.next(slot);
        }
        Removal::Removed
    }

    /// The slot that holds `bits`, or the empty one where they belong; there always is one, since the load stays below one.
    fn find(&self, bits: u64) -> usize {
        let mut slot = self.home(bits);
        while self.slots[slot] != 0 && self.slots[slot] != bits {
            slot = self.next(slot);
        }
        slot
    }

    /// Where the search for `bits` begins.
    fn home(&self, bits: u64) -> usize {
        Probes::new(Fingerprint::from_bits(bits), self.split_bits).slot(self.slots.len())
    }

    fn next(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }

    /// Steps from one slot to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.slots.len() - from }
    }

    /// A quarter more slots: the load falls to 3/5, and a fingerprint is moved 4 times on average over the table's life.
    fn grow(&mut self) {
        let slots = self.slots.len() + self.slots.len() / 4 + 1;
        let old = std::mem::replace(&mut self.slots, vec![0; slots]);
        for bits in old.into_iter().filter(|&bits| bits != 0) {
            let slot = self.find(bits);
            self.slots[slot] = bits;
        }
    }
}

impl Memory for Exact {
    fn touch(&self, probes: Probes) {
        prefetch(&self.slots, probes.slot(self.slots.len()));
    }

    fn contains(&self, probes: Probes) -> bool {
        self.contains(probes.fingerprint)
    }

    #[inline(never)]
    fn insert(&mut self, probes: Probes) -> Sighting {
        self.insert(probes.fingerprint)
    }
}
