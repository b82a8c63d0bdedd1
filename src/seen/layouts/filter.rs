//! The memory of one layer, in any layout. Only this file knows all of them.

use super::blocked::Blocked;
use super::exact::Exact;
use super::flat::Flat;
use super::window::{ProbeWindow, Subset};
use crate::seen::layout::Shape;
use crate::seen::maths::sizing::Sizing;
use crate::seen::probes::Probes;
use crate::seen::sighting::{Removal, Sighting};

/// A filter, or the table that stands for one.
///
/// An enum and no trait object: which layout it is costs a branch that is always guessed right, and
/// what is inlined stays so.
#[derive(Debug)]
pub(in crate::seen) enum Filter {
    Blocked(Blocked),
    Exact(Exact),
    Flat(Flat),
}

/// The same expression for each of them.
macro_rules! each {
    ($filter:expr, $layout:ident => $answer:expr) => {
        match $filter {
            Filter::Blocked($layout) => $answer,
            Filter::Exact($layout) => $answer,
            Filter::Flat($layout) => $answer,
        }
    };
}

impl Filter {
    /// An empty one. `split_bits`: how many shards there are, as a power of two.
    pub(in crate::seen) fn new(sizing: Sizing, split_bits: u32) -> Self {
        match sizing.layout.shape() {
            Shape::Lines => Self::Blocked(Blocked::new(sizing.bits, sizing.probes)),
            Shape::Cells { apart, width } => Self::Flat(Flat::new(sizing.bits, sizing.probes, apart, width)),
            Shape::Slots => Self::Exact(Exact::new(sizing.bits / 64, split_bits)),
        }
    }

    /// Asks for the memory that a test will look at, and does not wait for it.
    pub(in crate::seen) fn prefetch(&self, probes: Probes) {
        each!(self, layout => layout.prefetch(probes));
    }

    /// Was it inserted, or is it taken for one that was?
    #[inline(never)]
    pub(in crate::seen) fn contains(&self, probes: Probes) -> bool {
        match self {
            Self::Blocked(blocked) => blocked.contains(probes),
            Self::Exact(exact) => exact.contains(probes.fingerprint),
            Self::Flat(flat) => flat.contains(probes),
        }
    }

    /// The same question; inserts it where the answer is no.
    #[inline]
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        match self {
            Self::Blocked(blocked) => blocked.insert(probes),
            Self::Exact(exact) => exact.insert(probes.fingerprint),
            Self::Flat(flat) => flat.insert(probes),
        }
    }

    /// The places of a window that it contains, while the memory of the next window is fetched.
    pub(in crate::seen) fn find_window(&self, window: ProbeWindow<'_>) -> Subset {
        match self {
            Self::Blocked(blocked) => blocked.find_window(window),
            Self::Exact(exact) => window.choose_ahead(|probes, _, ahead| {
                ahead.inspect(|ahead| exact.prefetch(*ahead));
                exact.contains(probes.fingerprint)
            }),
            Self::Flat(flat) => window.choose_ahead(|probes, _, ahead| {
                ahead.inspect(|ahead| flat.prefetch(*ahead));
                flat.contains(probes)
            }),
        }
    }

    /// Inserts those of a window that were not `seen` elsewhere, in order, while the memory of the
    /// next window is asked for. Returns the ones that are new.
    pub(in crate::seen) fn insert_window(&mut self, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        match self {
            Self::Blocked(blocked) => blocked.insert_window(window, seen),
            Self::Exact(exact) => window.choose_ahead(|probes, place, ahead| {
                ahead.inspect(|ahead| exact.prefetch(*ahead));
                !seen.has(place) && exact.insert(probes.fingerprint) == Sighting::New
            }),
            Self::Flat(flat) => window.choose_ahead(|probes, place, ahead| {
                ahead.inspect(|ahead| flat.prefetch(*ahead));
                !seen.has(place) && flat.insert(probes) == Sighting::New
            }),
        }
    }

    /// Takes back an insertion. Called only of layouts that can: exact and counting.
    pub(in crate::seen) fn remove(&mut self, probes: Probes) -> Removal {
        match self {
            Self::Blocked(_) => Removal::Kept,
            Self::Exact(exact) => exact.remove(probes.fingerprint),
            Self::Flat(flat) => flat.remove(probes),
        }
    }

    /// Cells that are set, and all cells: bits, counters, or, of a table, 64 for each slot.
    pub(in crate::seen) fn cells(&self, sizing: Sizing) -> (u64, u64) {
        match self {
            Self::Blocked(blocked) => (blocked.bits_set(), sizing.bits),
            Self::Exact(exact) => (exact.len() as u64 * 64, exact.slots() as u64 * 64),
            Self::Flat(flat) => (flat.cells_set(), sizing.bits),
        }
    }

    /// The cells, the first in the lowest bits; of a table the slots.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        each!(self, layout => layout.words())
    }

    /// Whether it is a table that holds the fingerprint 0, which looks like an empty slot.
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

    /// Memory allocated, in bytes.
    pub(in crate::seen) fn bytes(&self) -> usize {
        each!(self, layout => layout.bytes())
    }
}
