//! A shard: one part of the seen set, under one lock. Its layers are filters, each with its plan.

use std::io;
use std::sync::Arc;

use super::audit::Audit;
use super::growth::{Growth, Plan};
use super::layouts::filter::Filter;
use super::layouts::verified::Verified;
use super::layouts::window::{ProbeWindow, Removal, Sighting, Subset};
use super::options::{Layout, OnFull, SeenError};
use super::probes::Probes;
use super::sizing::{Sizing, can_be_had, to_u64};
use super::statistics::{GenerationStatistics, ShardCounts, ShardStatistics};
use crate::address::Fingerprint;

/// Layers of filters, the verifier of their answers, the audit, and the counters.
///
/// The lock is outside, in [`SeenSet`](super::SeenSet): a caller with a `&mut Shard` holds it.
///
/// # What always holds
///
/// - There is a layer, and only the newest takes new fingerprints. Only a removal changes older ones.
/// - `inserted` of the counts is how often `New` was said, by any layer.
/// - The audit, if there is one, was shown each test of its sample, with the answer that was given.
#[derive(Debug)]
pub(super) struct Shard {
    /// The plans of its layers, which all shards share.
    growth: Arc<Growth>,
    /// How many shards there are, as a power of two.
    #[expect(clippy::struct_field_names, reason = "it has this name in all of `seen`")]
    pub(super) shard_bits: u32,
    /// The oldest first. There is always one.
    pub(super) layers: Vec<Layer>,
    /// Counts the filters' errors; `None` if they make none, or no audit was asked for.
    pub(super) audit: Option<Audit>,
    /// Verifies the filters' answers, in the verified layout.
    pub(super) verified: Option<Verified>,
    /// A layer reached its capacity, and no further one could be added.
    pub(super) full: bool,
    pub(super) counts: ShardCounts,
}

impl Shard {
    /// An empty shard with its first layer.
    pub(super) fn new(growth: &Arc<Growth>) -> Self {
        let mut shard = Self::empty(growth);
        shard.grow();
        shard
    }

    /// A shard without a layer, which the caller fills at once.
    pub(super) fn empty(growth: &Arc<Growth>) -> Self {
        let options = growth.options();
        let shard_bits = options.shards.trailing_zeros();
        let audited = options.audit > 0 && options.layout.loses();
        let directory = options.directory.clone().filter(|_| options.layout == Layout::Verified);
        Self {
            growth: Arc::clone(growth),
            shard_bits,
            layers: Vec::new(),
            audit: audited.then(|| Audit::new(options.audit, options.shards)),
            verified: directory.map(|directory| Verified::new(directory, shard_bits)),
            full: false,
            counts: ShardCounts::default(),
        }
    }

    /// Was this fingerprint shown before? The shard remembers it either way.
    #[inline]
    pub(super) fn insert(&mut self, fingerprint: Fingerprint) -> Sighting {
        self.answer(self.probes(fingerprint))
    }

    /// Remembers a fingerprint that was answered `New` before. It counts as new again, even if fingerprints that came later then, and
    /// earlier now, make it look seen.
    pub(super) fn insert_again(&mut self, fingerprint: Fingerprint) {
        let probes = self.probes(fingerprint);
        let newest = self.layers.last_mut().expect(ALWAYS_ONE);
        newest.filter.insert_again(probes);
        newest.inserted += 1;
        self.counts.tests += 1;
        self.counts.inserted += 1;
        if newest.inserted >= newest.plan.room {
            self.fill(Sighting::New);
        }
        if let Some(audit) = &mut self.audit {
            audit.check(fingerprint, Sighting::New);
        }
    }

    /// As [`insert`](Self::insert) for each fingerprint, in order. `new` gets the places of the new ones.
    ///
    /// This is done window by window: while one is tested, the memory of the next is fetched. The caller fetches the first one's, by
    /// [`prefetch_batch`](Self::prefetch_batch). Equal fingerprints in one batch are answered as if they came one by one: the first is new,
    /// the others are seen.
    pub(super) fn insert_batch(&mut self, fingerprints: &[Fingerprint], mut new: impl FnMut(usize)) {
        self.counts.batches += 1;
        self.counts.batched += fingerprints.len() as u64;
        for (number, window) in ProbeWindow::all_of(fingerprints, self.shard_bits).enumerate() {
            for place in self.insert_window(window).places() {
                new(number * ProbeWindow::MAX + place);
            }
        }
    }

    /// Prefetches the memory for the first window of a batch.
    pub(super) fn prefetch_batch(&self, fingerprints: &[Fingerprint]) {
        self.prefetch(ProbeWindow::before(fingerprints, self.shard_bits));
    }

    /// Prefetches the memory of the window ahead.
    fn prefetch(&self, window: ProbeWindow<'_>) {
        for probes in window.ahead() {
            self.layers.iter().for_each(|layer| layer.filter.prefetch(probes));
        }
    }

    /// Inserts a window, with the same result as one by one, and returns which were new.
    fn insert_window(&mut self, window: ProbeWindow<'_>) -> Subset {
        let (newest, older) = self.layers.split_last_mut().expect(ALWAYS_ONE);
        if newest.inserted + window.len() as u64 >= newest.plan.room {
            // The shard may grow on the way, so the fingerprints are inserted one by one.
            self.prefetch(window);
            return window.choose(|probes, _| self.answer(probes) == Sighting::New);
        }
        // Layer by layer, the newest last: older layers do not change.
        let seen = older.iter().map(|layer| layer.filter.find_window(window)).fold(Subset::default(), Subset::or);
        let mut new = newest.filter.insert_window(window, seen);
        if let Some(verified) = &mut self.verified {
            new = window.choose(|probes, place| verified.check(probes, new.sighting(place)) == Sighting::New);
        }
        newest.inserted += new.count();
        self.counts.inserted += new.count();
        self.counts.tests += window.len() as u64;
        if let Some(audit) = &mut self.audit {
            audit.check_window(window, new);
        }
        new
    }

    /// Was this fingerprint shown before? It is not remembered, and only the cost of a lookup on disk is counted.
    pub(super) fn contains(&mut self, fingerprint: Fingerprint) -> bool {
        let probes = self.probes(fingerprint);
        hold(&self.layers, probes) && self.verified.as_mut().is_none_or(|verified| verified.holds(probes))
    }

    /// Forgets a fingerprint. It is called only for layouts that can. If more than one layer claims the fingerprint, the set cannot tell
    /// which has it, and it is [kept](Removal::Kept): taking it out of the wrong layer would make other URLs new.
    pub(super) fn remove(&mut self, fingerprint: Fingerprint) -> Removal {
        let probes = self.probes(fingerprint);
        let mut claiming = self.layers.iter_mut().filter(|layer| layer.filter.contains(probes));
        let removal = match (claiming.next(), claiming.next()) {
            (None, _) => Removal::Absent,
            (Some(layer), None) => {
                layer.inserted = layer.inserted.saturating_sub(1);
                layer.filter.remove(probes)
            }
            (Some(_), Some(_)) => Removal::Kept,
        };
        if removal == Removal::Removed {
            self.counts.removed += 1;
            if let Some(audit) = &mut self.audit {
                audit.remove(fingerprint);
            }
        }
        removal
    }

    /// Whether the last layer that may be added has reached its capacity.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether the verified layout's disk has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.verified.as_ref().is_some_and(|verified| verified.failure().is_some())
    }

    /// How the disk has failed, as a new error: the system's own error stays here for the next caller.
    pub(super) fn failure(&self) -> Option<SeenError> {
        let error = self.verified.as_ref()?.failure()?;
        Some(self.disk_error(io::Error::new(error.kind(), error.to_string())))
    }

    /// An error of the disk, with the directory in which it happened.
    pub(super) fn disk_error(&self, source: io::Error) -> SeenError {
        SeenError::Disk { directory: self.growth.options().directory.clone().unwrap_or_default(), source }
    }

    /// Counts that a thread had to wait for this shard's lock.
    pub(super) fn count_wait(&mut self) {
        self.counts.lock_waits += 1;
    }

    /// What the shard holds and what it costs. Rates and cardinality are computed here, from the fill of each layer.
    pub(super) fn statistics(&self) -> ShardStatistics {
        let ShardCounts { inserted, removed, tests, lock_waits, batches, batched } = self.counts;
        let mut row = ShardStatistics { inserted, tests, removed, lock_waits, batches, batched, ..Default::default() };
        row.layers = self.layers.len() as u64;
        row.full = u64::from(self.full);
        // The share of new URLs that none of the layers so far takes for seen.
        let mut passed = 1.0;
        for layer in &self.layers {
            let Layer { filter, plan, .. } = layer;
            let (cells_set, cells) = filter.cells(plan.sizing);
            let (sizing, distinct) = layer.distinct();
            row.capacity += plan.capacity;
            row.bits += cells;
            row.bits_set += cells_set;
            row.probes = row.probes.max(sizing.probes);
            row.cardinality += distinct / passed;
            row.expected_lost += sizing.expected_lost(distinct) + distinct / passed - distinct;
            passed *= 1.0 - sizing.rate(distinct);
        }
        row.false_positive_rate_estimated = 1.0 - passed;
        if let Some(lines) = self.layers.first().and_then(|layer| layer.filter.lines()) {
            row.generations = lines.generations();
            let (rate, lost) = GenerationStatistics::rate_and_lost(&row.generations);
            (row.false_positive_rate_estimated, row.expected_lost) = (rate, lost);
            row.false_positive_rate_target = first_rate(&self.growth);
            row.cardinality += lost;
        } else if self.growth.options().layout.loses() {
            row.false_positive_rate_target = self.growth.rate();
        }
        row.audit = self.audit.as_ref().map(Audit::statistics);
        if let Some(verified) = &self.verified {
            let urls = verified.len() as f64;
            let sizing = Sizing { layout: Layout::Verified, bits: row.bits, probes: row.probes, identity_bits: 0 };
            (row.cardinality, row.expected_lost) = (urls, sizing.expected_lost(urls));
            row.false_positive_rate_estimated = sizing.rate(urls);
            row.verified = Some(verified.statistics());
        }
        (row.bytes, row.bytes_bookkeeping) = (self.bytes(), self.bytes_bookkeeping());
        row.finish();
        row
    }

    /// URLs that were shown and are not forgotten, as far as the layers tell; the verified layout knows each.
    pub(super) fn remembered(&self) -> u64 {
        let layers = || self.layers.iter().map(|layer| layer.inserted).sum();
        self.verified.as_ref().map_or_else(layers, Verified::len)
    }

    /// Memory allocated, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let filters: usize = self.layers.iter().map(|layer| layer.filter.bytes()).sum();
        filters as u64 + self.bytes_bookkeeping()
    }

    /// The part of the memory that is not filters.
    fn bytes_bookkeeping(&self) -> u64 {
        let audit = self.audit.as_ref().map_or(0, Audit::bytes);
        let verified = self.verified.as_ref().map_or(0, Verified::bytes);
        (size_of::<Self>() + self.layers.capacity() * size_of::<Layer>() + audit + verified) as u64
    }

    /// A fingerprint, as the filters of this shard use it.
    fn probes(&self, fingerprint: Fingerprint) -> Probes {
        Probes::new(fingerprint, self.shard_bits)
    }

    /// Answers one test and remembers the fingerprint. The newest layer is checked first: it is the largest, and recent URLs are seen most
    /// often.
    #[inline]
    fn answer(&mut self, probes: Probes) -> Sighting {
        let (newest, older) = self.layers.split_last_mut().expect(ALWAYS_ONE);
        let seen_before = !older.is_empty() && (newest.filter.contains(probes) || hold(older, probes));
        let mut sighting = if seen_before { Sighting::Seen } else { newest.filter.insert(probes) };
        if let Some(verified) = &mut self.verified {
            sighting = verified.check(probes, sighting);
        }
        // No branch on the answer: it would be mispredicted.
        let new = u64::from(sighting == Sighting::New);
        self.counts.tests += 1;
        self.counts.inserted += new;
        newest.inserted += new;
        if newest.inserted >= newest.plan.room {
            self.fill(sighting);
        }
        if let Some(audit) = &mut self.audit {
            audit.check(probes.fingerprint, sighting);
        }
        sighting
    }

    /// The newest layer has no more room. Only a new URL needs the next layer.
    #[cold]
    #[inline(never)]
    fn fill(&mut self, sighting: Sighting) {
        if sighting == Sighting::New {
            self.grow();
        }
    }

    /// Adds the next layer. If there is none, the shard is full, and the newest layer gets unlimited room: it goes on answering, with more
    /// false positives than it was made for.
    ///
    /// It checks first that the memory can be had; a layer without memory counts as none.
    fn grow(&mut self) {
        let options = self.growth.options();
        // The exact layout's table grows by itself.
        let is_table = options.layout == Layout::Exact && !self.layers.is_empty();
        let next = if is_table { None } else { self.growth.layer(self.layers.len()) };
        if let Some(plan) = next.filter(|plan| can_be_had(plan.sizing.bytes().into())) {
            self.layers.push(Layer::new(plan, self.shard_bits));
        } else if let Some(newest) = self.layers.last_mut() {
            newest.plan.room = u64::MAX;
            self.full = !(is_table && options.on_full == OnFull::Grow);
        }
    }
}

/// The rate of a full first layer. It is the exact layout's target, since its table has no other layers.
fn first_rate(growth: &Growth) -> f64 {
    growth.layer(0).map_or(0.0, |plan| plan.sizing.rate(plan.room as f64))
}

const ALWAYS_ONE: &str = "a shard has a layer from the start";

/// Whether one of these layers has seen a fingerprint.
fn hold(layers: &[Layer], probes: Probes) -> bool {
    layers.iter().rev().any(|layer| layer.filter.contains(probes))
}

/// A filter, its plan, and its number of insertions. A shard has one from the start, and adds a larger one whenever its newest is full.
#[derive(Debug)]
pub(super) struct Layer {
    /// The filter itself.
    pub(super) filter: Filter,
    /// Its plan. If the shard cannot grow further, its room is made unlimited.
    pub(super) plan: Plan,
    /// URLs answered `New` while this layer was the newest, which are still remembered.
    pub(super) inserted: u64,
}

impl Layer {
    /// An empty layer. `shard_bits`: how many shards there are, as a power of two.
    pub(super) fn new(plan: Plan, shard_bits: u32) -> Self {
        Self { filter: Filter::new(plan.sizing, shard_bits), plan, inserted: 0 }
    }

    /// The present size, which changes while a table grows, and an estimate of the distinct URLs that came to this layer.
    ///
    /// A URL came to a layer if it was shown while the layer was the newest, and no older layer took it for seen. The estimate is the
    /// number that would explain the cells that are set. A full filter explains any large number; the estimate is then its number of cells.
    pub(super) fn distinct(&self) -> (Sizing, f64) {
        let (cells_set, cells) = self.filter.cells(self.plan.sizing);
        let sizing = Sizing { bits: cells, ..self.plan.sizing };
        if let Some(lines) = self.filter.lines() {
            return (sizing, lines.len() as f64);
        }
        if let Filter::Quotient(quotient) = &self.filter {
            // A URL whose item was there already left no trace. These are few, and their number is the expected loss.
            let items = quotient.len() as f64;
            return (sizing, items + sizing.expected_lost(items));
        }
        (sizing, sizing.cardinality(cells_set as f64 / cells as f64).min(cells as f64))
    }

    /// Estimates `inserted` from the cells that are set: the new URLs of a union were not counted.
    pub(super) fn estimate_inserted(&mut self) {
        let (sizing, distinct) = self.distinct();
        self.inserted = to_u64((distinct - sizing.expected_lost(distinct)).round());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::options::SeenOptions;

    /// 46 million times as large, and no further: then it says that it is full.
    #[test]
    fn a_shard_that_cannot_grow_further_is_full() {
        let options = SeenOptions { capacity: 1, shards: 1, false_positive_rate: 0.5, ..SeenOptions::default() };
        for (layout, layers) in [(Layout::Blocked, 24), (Layout::Standard, 24), (Layout::Exact, 1)] {
            let growth = Growth::new(&SeenOptions { layout, ..options.clone() });
            let mut shard = Shard::new(&Arc::new(growth));
            for _ in 0..23 {
                shard.grow();
            }
            assert_eq!((shard.layers.len(), shard.full), (layers, false));
            shard.grow();
            assert_eq!((shard.layers.len(), shard.full), (layers, layout != Layout::Exact));
            assert_eq!(shard.layers[layers - 1].plan.room, u64::MAX);
        }
    }
}
