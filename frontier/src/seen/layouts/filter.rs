//! The memory of one layer, in any layout. Only this file imports all of them.

use super::bloom::{Blocked, Flat};
use super::cache_lines::CacheLine;
use super::lines::{Geometry, Lines};
use super::quotient::{Packing, Quotient};
use super::window::{ProbeWindow, Removal, Sighting, Subset};
use crate::seen::options::Shape;
use crate::seen::probes::{LINE_BITS, Probes};
use crate::seen::sizing::Sizing;

/// A filter, or the table that stands for one.
///
/// It is an enum and not a trait object, so that calls stay inlined. Choosing the layout costs a branch that is always predicted.
#[derive(Debug)]
pub(in crate::seen) enum Filter {
    Blocked(Blocked),
    Flat(Flat),
    Lines(Box<Lines>),
    Quotient(Box<Quotient>),
}

const POSSIBLE: &str = "a size is computed, or checked when it is read";

/// Evaluates an expression for the layout that it is.
macro_rules! each {
    ($filter:expr, $layout:ident => $answer:expr) => {
        match $filter {
            Filter::Blocked($layout) => $answer,
            Filter::Flat($layout) => $answer,
            Filter::Lines($layout) => $answer,
            Filter::Quotient($layout) => $answer,
        }
    };
}

impl Filter {
    /// An empty filter. `shard_bits`: how many shards there are, as a power of two.
    pub(in crate::seen) fn new(sizing: Sizing, shard_bits: u32) -> Self {
        match sizing.layout.shape() {
            Shape::Lines => Self::Blocked(Blocked::new(sizing.bits, sizing.probes)),
            Shape::Cells { apart, width } => Self::Flat(Flat::new(sizing.bits, sizing.probes, apart, width)),
            Shape::Slots => {
                let geometry = Geometry::of(sizing.identity_bits);
                Self::Lines(Box::new(Lines::new(geometry, sizing.bits / LINE_BITS, shard_bits)))
            }
            Shape::Remainders => Self::Quotient(Box::new(Quotient::new(sizing.levels().expect(POSSIBLE)))),
        }
    }

    /// Prefetches the memory that a test reads.
    pub(in crate::seen) fn prefetch(&self, probes: Probes) {
        each!(self, layout => layout.prefetch(probes));
    }

    /// The lines in which a test begins, at the fingerprint's [slot](Probes::slot). `None` for a flat filter, which has no lines, and for a
    /// table that is being split, which has them in two places.
    #[inline]
    pub(in crate::seen) fn first_lines(&self) -> Option<&[CacheLine]> {
        match self {
            Self::Blocked(blocked) => Some(blocked.lines()),
            Self::Flat(_) => None,
            Self::Lines(lines) => lines.homes(),
            Self::Quotient(quotient) => Some(quotient.first_level()),
        }
    }

    /// Whether a fingerprint was inserted, or is taken for one that was.
    #[inline(never)]
    pub(in crate::seen) fn contains(&self, probes: Probes) -> bool {
        each!(self, layout => layout.contains(probes))
    }

    /// The same test. If the answer is no, the fingerprint is inserted.
    #[inline]
    pub(in crate::seen) fn insert(&mut self, probes: Probes) -> Sighting {
        each!(self, layout => layout.insert(probes))
    }

    /// Inserts a fingerprint that was answered `New` before, whatever the answer would be now. Counters need it, since each URL is removed as
    /// often as it was inserted; in the other layouts a second insertion changes nothing.
    pub(in crate::seen) fn insert_again(&mut self, probes: Probes) {
        match self {
            Self::Flat(flat) => flat.add(probes),
            Self::Blocked(_) | Self::Lines(_) | Self::Quotient(_) => _ = self.insert(probes),
        }
    }

    /// The places of a window that it contains, while the memory of the next window is fetched.
    pub(in crate::seen) fn find_window(&self, window: ProbeWindow<'_>) -> Subset {
        match self {
            Self::Blocked(blocked) => blocked.find_window(window),
            Self::Quotient(quotient) => quotient.find_window(window),
            Self::Flat(flat) => window.choose_ahead(|probes, _, ahead| {
                ahead.inspect(|ahead| flat.prefetch(*ahead));
                flat.contains(probes)
            }),
            // A shard has one table, and no older one.
            Self::Lines(lines) => window.choose(|probes, _| lines.contains(probes)),
        }
    }

    /// Inserts the fingerprints of a window that were not `seen` elsewhere, in order, while the memory of the next window is fetched.
    /// Returns the new ones.
    pub(in crate::seen) fn insert_window(&mut self, window: ProbeWindow<'_>, seen: Subset) -> Subset {
        match self {
            Self::Blocked(blocked) => blocked.insert_window(window, seen),
            Self::Quotient(quotient) => quotient.insert_window(window, seen),
            Self::Flat(flat) => window.choose_ahead(|probes, place, ahead| {
                ahead.inspect(|ahead| flat.prefetch(*ahead));
                !seen.has(place) && flat.insert(probes) == Sighting::New
            }),
            Self::Lines(lines) => lines.insert_window(window, seen),
        }
    }

    /// Takes back an insertion. Called only for layouts that can: exact and counting.
    pub(in crate::seen) fn remove(&mut self, probes: Probes) -> Removal {
        match self {
            Self::Blocked(_) | Self::Quotient(_) => Removal::Kept,
            Self::Flat(flat) => flat.remove(probes),
            Self::Lines(lines) => lines.remove(probes),
        }
    }

    /// How many cells are set, and how many there are. Cells are bits or counters; of lines with fingerprints, the bits of the taken slots,
    /// and of all lines.
    pub(in crate::seen) fn cells(&self, sizing: Sizing) -> (u64, u64) {
        match self {
            Self::Blocked(blocked) => (blocked.bits_set(), sizing.bits),
            Self::Flat(flat) => (flat.cells_set(), sizing.bits),
            Self::Lines(lines) => {
                let slots = u64::from(lines.geometry().slots);
                (lines.len() * LINE_BITS / slots, lines.lines() as u64 * LINE_BITS)
            }
            Self::Quotient(quotient) => {
                let slots = u64::from(Packing::of(sizing.identity_bits).slots);
                ((quotient.len() - quotient.overflow().len() as u64) * LINE_BITS / slots, sizing.bits)
            }
        }
    }

    /// The cells, the first in the lowest bits; none for lines with fingerprints, which may be in two tables.
    pub(in crate::seen) fn words(&self) -> &[u64] {
        match self {
            Self::Blocked(blocked) => blocked.words(),
            Self::Flat(flat) => flat.words(),
            Self::Lines(_) => &[],
            Self::Quotient(quotient) => quotient.words(),
        }
    }

    /// The lines with fingerprints, in the layout that has them.
    pub(in crate::seen) fn lines(&self) -> Option<&Lines> {
        if let Self::Lines(lines) = self { Some(lines) } else { None }
    }

    /// Adds the words of another filter of the same size, from word `at` on.
    ///
    /// # Errors
    /// If no filter can have these words.
    pub(in crate::seen) fn absorb(&mut self, at: usize, words: &[u64]) -> Result<(), &'static str> {
        match self {
            Self::Blocked(blocked) => blocked.absorb(at, words),
            Self::Flat(flat) => flat.absorb(at, words),
            Self::Lines(_) => {}
            Self::Quotient(quotient) => return quotient.absorb(at, words),
        }
        Ok(())
    }

    /// Memory allocated, in bytes.
    pub(in crate::seen) fn bytes(&self) -> usize {
        each!(self, layout => layout.bytes())
    }
}
