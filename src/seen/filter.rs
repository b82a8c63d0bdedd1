use super::blocked::Blocked;
use super::exact::Exact;
use super::flat::Flat;
use super::probes::Probes;
use super::{Layout, Removal, Sighting, Sizing};
use crate::address::Fingerprint;

/// One layer's memory, in any of the layouts.
#[derive(Debug)]
pub(super) enum Filter {
    Blocked(Blocked),
    Exact(Exact),
    Flat(Flat),
}

impl Filter {
    /// `split_bits`: how many shards there are, as a power of two.
    pub(super) fn new(sizing: Sizing, split_bits: u32) -> Self {
        let flat = |apart, width| Self::Flat(Flat::new(sizing.bits, sizing.probes, apart, width));
        match sizing.layout {
            Layout::Blocked => Self::Blocked(Blocked::new(sizing.bits, sizing.probes)),
            Layout::Counting => flat(false, 4),
            Layout::Exact => Self::Exact(Exact::new(sizing.bits / 64, split_bits)),
            Layout::Partitioned => flat(true, 1),
            Layout::Standard => flat(false, 1),
        }
    }

    /// Loads what a test will look at first; the value means nothing.
    pub(super) fn touch(&self, probes: Probes) -> u64 {
        match self {
            Self::Blocked(blocked) => blocked.touch(probes),
            Self::Exact(exact) => exact.touch(probes),
            Self::Flat(flat) => flat.touch(probes),
        }
    }

    pub(super) fn contains(&self, fingerprint: Fingerprint, probes: Probes) -> bool {
        match self {
            Self::Blocked(blocked) => blocked.contains(probes),
            Self::Exact(exact) => exact.contains(fingerprint),
            Self::Flat(flat) => flat.contains(probes),
        }
    }

    pub(super) fn insert(&mut self, fingerprint: Fingerprint, probes: Probes) -> Sighting {
        match self {
            Self::Blocked(blocked) => blocked.insert(probes),
            Self::Exact(exact) => exact.insert(fingerprint),
            Self::Flat(flat) => flat.insert(probes),
        }
    }

    /// Called only of layouts that can: exact and counting.
    pub(super) fn remove(&mut self, fingerprint: Fingerprint, probes: Probes) -> Removal {
        match self {
            Self::Blocked(_) => Removal::Kept,
            Self::Exact(exact) => exact.remove(fingerprint),
            Self::Flat(flat) => flat.remove(probes),
        }
    }

    /// Cells that are not clear, and all cells: bits, counters, or, of the exact layout, 64 for each slot.
    pub(super) fn cells(&self, sizing: Sizing) -> (u64, u64) {
        match self {
            Self::Blocked(blocked) => (blocked.bits_set(), sizing.bits),
            Self::Exact(exact) => (exact.len() as u64 * 64, exact.slots() as u64 * 64),
            Self::Flat(flat) => (flat.cells_set(), sizing.bits),
        }
    }

    /// Memory allocated.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Blocked(blocked) => blocked.bytes(),
            Self::Exact(exact) => exact.bytes(),
            Self::Flat(flat) => size_of_val(flat.words()),
        }
    }
}
