//! The exact layout: a hash table of fingerprints. The audit and the verified layout keep theirs in
//! one, too.

use super::window::prefetch;
use crate::address::Fingerprint;
use crate::seen::maths::sizing::{SLOTS_FOR_THREE, slots_for};
use crate::seen::probes::Probes;
use crate::seen::sighting::{Removal, Sighting};

/// Every fingerprint of a shard, in one table with open addressing: 10.7 to 13.4 bytes a URL once
/// it grows.
///
/// Fingerprints are keyed and even already, so they are not hashed again. A slot follows from the
/// fingerprint's place in the shard, so the table is nearly sorted, and a larger table is filled
/// from a smaller one front to back.
#[derive(Debug)]
pub(in crate::seen) struct Exact {
    /// A fingerprint each, or 0.
    slots: Vec<u64>,
    /// Slots that are taken.
    len: usize,
    /// Whether the fingerprint 0 is in the set. It has no slot, since 0 means that a slot is empty.
    holds_zero: bool,
    /// How many shards there are, as a power of two: the leading bits that all of them share.
    split_bits: u32,
}

impl Exact {
    /// An empty table of this many slots; it grows. `split_bits`: how many shards there are, as a
    /// power of two.
    pub(in crate::seen) fn new(slots: u64, split_bits: u32) -> Self {
        let slots = usize::try_from(slots).expect("sizes are checked against the memory before");
        Self { slots: vec![0; slots.max(2)], len: 0, holds_zero: false, split_bits }
    }

    /// An empty table with room for this many fingerprints.
    pub(in crate::seen) fn for_urls(capacity: u64, split_bits: u32) -> Self {
        Self::new(slots_for(capacity), split_bits)
    }

    /// How many fingerprints it holds.
    pub(in crate::seen) fn len(&self) -> usize {
        self.len + usize::from(self.holds_zero)
    }

    /// How many slots there are, taken or not.
    pub(in crate::seen) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// All slots: a fingerprint each, or 0.
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

    /// Inserts all of another table.
    pub(in crate::seen) fn absorb_table(&mut self, other: &Self) {
        self.absorb(&other.slots);
        self.holds_zero |= other.holds_zero;
    }

    /// Inserts the fingerprint 0.
    pub(in crate::seen) fn absorb_zero(&mut self) {
        self.holds_zero = true;
    }

    pub(in crate::seen) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    /// Whether it holds this fingerprint.
    pub(in crate::seen) fn contains(&self, fingerprint: Fingerprint) -> bool {
        match fingerprint.bits() {
            0 => self.holds_zero,
            bits => self.slots[self.find(bits)] == bits,
        }
    }

    /// Inserts a fingerprint, and makes room for more where the table is fuller than 3/4.
    #[inline(never)]
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

    /// Takes a fingerprint out. No mark is left in its slot: the others move up, so that a table
    /// from which much was removed is as fast as before.
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
        // Fingerprints that were pushed past this slot when it was taken move up to it. Else a
        // search for them would end here.
        let mut slot = self.next(free);
        while self.slots[slot] != 0 {
            let home = self.home(self.slots[slot]);
            // Does the search for it, from its home on and around the end, come by the free slot?
            if self.distance(home, free) <= self.distance(home, slot) {
                self.slots.swap(free, slot);
                free = slot;
            }
            slot = self.next(slot);
        }
        Removal::Removed
    }

    /// The slot that holds `bits`, or the empty one where they belong. There always is an empty
    /// one, since the table is never full.
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

    /// The slot after this one, around the end.
    fn next(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() { 0 } else { slot + 1 }
    }

    /// Steps from one slot forward to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.slots.len() - from }
    }

    /// Makes a table of a quarter more slots. The load falls from 3/4 to 3/5, and over the table's
    /// life a fingerprint is moved 4 times on average.
    fn grow(&mut self) {
        let slots = self.slots.len() + self.slots.len() / 4 + 1;
        let old = std::mem::replace(&mut self.slots, vec![0; slots]);
        for bits in old.into_iter().filter(|&bits| bits != 0) {
            let slot = self.find(bits);
            self.slots[slot] = bits;
        }
    }

    /// Asks for the slot at which a search begins. The others that it looks at are in the same line
    /// of memory, or the next.
    pub(in crate::seen) fn prefetch(&self, probes: Probes) {
        prefetch(&self.slots, probes.slot(self.slots.len()));
    }
}
