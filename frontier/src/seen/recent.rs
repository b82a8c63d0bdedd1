//! A small cache for each thread, in front of the seen set's shards: the fingerprints that the thread showed last.

use std::cell::RefCell;

use super::layouts::window::Sighting;
use crate::address::Fingerprint;

/// The fingerprints that this thread showed to a set lately. If one is shown again, the answer is `Seen`, and no shard is locked.
///
/// Whole fingerprints are compared, so the cache changes no answer of a set that never forgets. Of a page's links, nine in ten repeat one
/// of the last thousand. Each repeat costs one load instead of its share of a shard's lock.
pub(super) struct Recent {
    /// The number of the set; 0 is none.
    set: u64,
    /// The latest fingerprint that fell into each slot.
    slots: [u64; SLOTS],
    /// The fingerprints of a batch that are not in the slots, their places in the batch, and the answers to them. They are kept here so
    /// that nothing is allocated for each batch.
    missing: Vec<Fingerprint>,
    places: Vec<usize>,
    sightings: Vec<Sighting>,
}

/// Together 8 KiB, which stay in the processor's first-level cache.
const SLOTS: usize = 1024;

/// Each slot starts with a fingerprint that belongs to another slot, so no lookup matches it.
const EMPTY: [u64; SLOTS] = {
    let mut slots = [0; SLOTS];
    let mut slot = 0;
    while slot < SLOTS {
        slots[slot] = !(slot as u64);
        slot += 1;
    }
    slots
};

// One for each thread. It serves one set at a time, the last that the thread used.
thread_local! {
    static RECENT: RefCell<Recent> = const {
        RefCell::new(Recent { set: 0, slots: EMPTY, missing: Vec::new(), places: Vec::new(), sightings: Vec::new() })
    };
}

impl Recent {
    /// Answers `Seen` for the fingerprints that this thread showed to the set of this number lately, and lets `ask` answer for the others.
    /// Returns how many went to `ask`.
    pub(super) fn sift(
        set: u64,
        fingerprints: &[Fingerprint],
        sightings: &mut Vec<Sighting>,
        ask: impl FnOnce(&[Fingerprint], &mut Vec<Sighting>),
    ) -> usize {
        sightings.clear();
        sightings.resize(fingerprints.len(), Sighting::Seen);
        RECENT.with_borrow_mut(|recent| {
            recent.turn_to(set);
            recent.note(fingerprints);
            ask(&recent.missing, &mut recent.sightings);
            for (&place, &sighting) in recent.places.iter().zip(&recent.sightings) {
                sightings[place] = sighting;
            }
            recent.missing.len()
        })
    }

    /// Forgets everything if the thread turns to another set.
    fn turn_to(&mut self, set: u64) {
        if self.set != set {
            (self.set, self.slots) = (set, EMPTY);
        }
    }

    /// Collects the missing fingerprints, and puts them into the slots at once: they will be shown to the set before the next lookup.
    fn note(&mut self, fingerprints: &[Fingerprint]) {
        self.missing.clear();
        self.places.clear();
        for (place, &fingerprint) in fingerprints.iter().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "the last bits are wanted")]
            let slot = &mut self.slots[fingerprint.bits() as usize % SLOTS];
            if *slot != fingerprint.bits() {
                *slot = fingerprint.bits();
                self.missing.push(fingerprint);
                self.places.push(place);
            }
        }
    }
}
