use super::blocked::Blocked;
use super::exact::Exact;
use super::flat::Flat;
use super::window::{Subset, Window};
use crate::seen::probes::Probes;
use crate::seen::{Layout, Removal, Sighting, Sizing};

/// What each layout does with a fingerprint.
pub(in crate::seen) trait Memory {
    /// Asks for what a test will look at, and does not wait.
    fn touch(&self, probes: Probes);
    /// Was it inserted, or is taken for it?
    fn contains(&self, probes: Probes) -> bool;
    /// The same, and it is inserted where it was not.
    fn insert(&mut self, probes: Probes) -> Sighting;

    /// Those of a window that it contains, while the memory of the next window is asked for.
    fn find_window(&self, window: Window<'_>) -> Subset {
        let mut ahead = window.ahead();
        window.choose(|probes, _| {
            ahead.next().inspect(|next| self.touch(*next));
            self.contains(probes)
        })
    }

    /// As [`insert`](Self::insert) for each, in order, but for those that others have seen; returns the new ones.
    fn insert_window(&mut self, window: Window<'_>, seen: Subset) -> Subset {
        let mut ahead = window.ahead();
        window.choose(|probes, place| {
            ahead.next().inspect(|next| self.touch(*next));
            !seen.has(place) && self.insert(probes) == Sighting::New
        })
    }
}

/// One layer's memory, in any of the layouts.
#[derive(Debug)]
pub(in crate::seen) enum Filter {
    Blocked(Blocked),
    Exact(Exact),
    Flat(Flat),
}

impl Filter {
    /// `split_bits`: how many shards there are, as a power of two.
    pub(in crate::seen) fn new(sizing: Sizing, split_bits: u32) -> Self {
        let flat = |apart, width| Self::Flat(Flat::new(sizing.bits, sizing.probes, apart, width));
        match sizing.layout {
            Layout::Blocked | Layout::Verified => Self::Blocked(Blocked::new(sizing.bits, sizing.probes)),
            Layout::Counting => flat(false, 4),
            Layout::Exact => Self::Exact(Exact::new(sizing.bits / 64, split_bits)),
            Layout::Partitioned => flat(true, 1),
            Layout::Standard => flat(false, 1),
        }
    }

    /// Asks for what a test will look at, and does not wait.
    pub(in crate::seen) fn touch(&self, probes: Probes) {
        match self {
            Self::Blocked(blocked) => blocked.touch(probes),
            Self::Exact(exact) => exact.touch(probes),
            Self::Flat(flat) => flat.touch(probes),
        }
    }

    #[inline(never)]
    pub(in crate::seen) fn contains(&self, probes: Probes) -> bool {
        match self {
            Self::Blocked(blocked) => blocked.contains(probes),
            Self::Exact(exact) => Memory::contains(exact, probes),
            Self::Flat(flat) => flat.contains(probes),
        }
    }

    #[inline]
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        match self {
            Self::Blocked(blocked) => blocked.insert(probes),
            Self::Exact(exact) => Memory::insert(exact, probes),
            Self::Flat(flat) => flat.insert(probes),
        }
    }

    /// Those of a window that it contains, while the memory of the next window is asked for.
    pub(in crate::seen) fn find_window(&self, window: Window<'_>) -> Subset {
        match self {
            Self::Blocked(blocked) => blocked.find_window(window),
            Self::Exact(exact) => exact.find_window(window),
            Self::Flat(flat) => flat.find_window(window),
        }
    }

    /// As [`insert`](Self::insert) for each, in order, but for those that others have seen, while the memory of the next window is
    /// asked for; returns the new ones.
    pub(in crate::seen) fn insert_window(&mut self, window: Window<'_>, seen: Subset) -> Subset {
        match self {
            Self::Blocked(blocked) => blocked.insert_window(window, seen),
            Self::Exact(exact) => exact.insert_window(window, seen),
            Self::Flat(flat) => flat.insert_window(window, seen),
        }
    }

    /// Called only of layouts that can: exact and counting.
    pub(in crate::seen) fn remove(&mut self, probes: Probes) -> Removal {
        match self {
            Self::Blocked(_) => Removal::Kept,
            Self::Exact(exact) => exact.remove(probes.fingerprint),
            Self::Flat(flat) => flat.remove(probes),
        }
    }

    /// Cells that are not clear, and all cells: bits, counters, or, of the exact layout, 64 for each slot.
    pub(in crate::seen) fn cells(&self, sizing: Sizing) -> (u64, u64) {
        match self {
            Self::Blocked(blocked) => (blocked.bits_set(), sizing.bits),
            Self::Exact(exact) => (exact.len() as u64 * 64, exact.slots() as u64 * 64),
            Self::Flat(flat) => (flat.cells_set(), sizing.bits),
        }
    }

    /// The cells, the first in the lowest bits; of the exact layout the slots.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        match self {
            Self::Blocked(blocked) => blocked.words(),
            Self::Exact(exact) => exact.words(),
            Self::Flat(flat) => flat.words(),
        }
    }

    /// Whether the exact layout holds the fingerprint that means an empty slot.
    pub(in crate::seen) fn holds_zero(&self) -> bool {
        matches!(self, Self::Exact(exact) if exact.holds_zero())
    }

    /// Adds what another filter of the same size holds in its words from `at` on.
    pub(in crate::seen) fn absorb(&mut self, at: usize, words: &[u64]) {
        match self {
            Self::Blocked(blocked) => blocked.absorb(at, words),
            Self::Exact(exact) => exact.absorb(words),
            Self::Flat(flat) => flat.absorb(at, words),
        }
    }

    /// Memory allocated.
    pub(in crate::seen) fn bytes(&self) -> usize {
        match self {
            Self::Blocked(blocked) => blocked.bytes(),
            Self::Exact(exact) => exact.bytes(),
            Self::Flat(flat) => size_of_val(flat.words()),
        }
    }
}
