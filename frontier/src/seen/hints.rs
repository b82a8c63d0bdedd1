//! Where the memory of each shard is, so that it can be prefetched without the shard's lock.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::layouts::cache_lines::CacheLine;
use super::layouts::window::prefetch_address;
use super::probes::Probes;
use super::shard::Layer;

/// Where the newest layers of a shard have their lines: a copy, which is changed under the shard's lock and read without it.
///
/// A copy may be out of date: only batches update it. Then a prefetch is in vain, and no answer is another one. It is on its own cache line,
/// which threads that take the shard's lock leave alone.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Hint([LinesAt; NEWEST]);

/// Older layers are much smaller, and are read with the others while their window is tested.
const NEWEST: usize = 4;

/// The address of a layer's lines, and how many lines may be a fingerprint's first one; 0 if there is no such layer.
#[derive(Debug, Default)]
struct LinesAt {
    address: AtomicUsize,
    lines: AtomicUsize,
}

impl Hint {
    /// The hint for a shard with these layers, the oldest first.
    pub(super) fn of(layers: &[Layer]) -> Self {
        let hint = Self::default();
        hint.set(layers);
        hint
    }

    /// Whether there is anything to prefetch: a layout without lines has no hints.
    pub(super) fn is_known(&self) -> bool {
        self.0[0].lines.load(Ordering::Relaxed) > 0
    }

    /// Prefetches the lines that a test of this fingerprint reads first.
    #[inline]
    pub(super) fn prefetch(&self, probes: Probes) {
        for LinesAt { address, lines } in &self.0 {
            let lines = lines.load(Ordering::Relaxed);
            if lines == 0 {
                break;
            }
            let line = probes.slot(lines) * size_of::<CacheLine>();
            prefetch_address(address.load(Ordering::Relaxed).wrapping_add(line));
        }
    }

    /// Follows the shard if it has another newest layer, or that has moved. To be called with the shard's lock.
    #[inline]
    pub(super) fn follow(&self, layers: &[Layer]) {
        let newest = layers.last().map(lines_at);
        if newest != Some(self.0[0].load()) {
            self.set(layers);
        }
    }

    #[cold]
    fn set(&self, layers: &[Layer]) {
        let layers = layers.iter().rev().map(lines_at);
        for (hint, (address, lines)) in self.0.iter().zip(layers.chain(std::iter::repeat((0, 0)))) {
            hint.address.store(address, Ordering::Relaxed);
            hint.lines.store(lines, Ordering::Relaxed);
        }
    }
}

impl LinesAt {
    fn load(&self) -> (usize, usize) {
        (self.address.load(Ordering::Relaxed), self.lines.load(Ordering::Relaxed))
    }
}

/// The address of a layer's lines, and their number.
#[inline]
fn lines_at(layer: &Layer) -> (usize, usize) {
    layer.filter.first_lines().map_or((0, 0), |lines| (lines.as_ptr().addr(), lines.len()))
}
