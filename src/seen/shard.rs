use std::sync::Arc;

use super::audit::Audit;
use super::filter::Filter;
use super::growth::{Growth, Plan};
use super::options::is_to_be_had;
use super::probes::Probes;
use super::{Layout, OnFull, Removal, ShardStatistics, Sighting};
use crate::address::Fingerprint;

/// One part of the seen set: layers of filters, the audit, and the counters. Its lock is outside.
#[derive(Debug)]
pub(super) struct Shard {
    growth: Arc<Growth>,
    /// How many shards there are, as a power of two.
    split_bits: u32,
    /// Oldest first; there is always one.
    layers: Vec<Layer>,
    audit: Option<Audit>,
    full: bool,
    counts: Counts,
}

#[derive(Debug)]
struct Layer {
    filter: Filter,
    plan: Plan,
    inserted: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    inserted: u64,
    removed: u64,
    tests: u64,
    lock_waits: u64,
    batches: u64,
    batched: u64,
}

/// Fingerprints whose lines are asked for before the first is tested. A processor core waits for 10 to 20 lines at a time, so more would not
/// make it faster, and must not drop out of the first cache level.
const RUN: usize = 32;

impl Shard {
    pub(super) fn new(growth: &Arc<Growth>) -> Self {
        let options = growth.options();
        let split_bits = options.shards.trailing_zeros();
        let audited = options.audit > 0 && options.layout != Layout::Exact;
        let mut shard = Self {
            growth: Arc::clone(growth),
            split_bits,
            layers: Vec::new(),
            audit: audited.then(|| Audit::new(options.audit, options.capacity / options.shards as u64, split_bits)),
            full: false,
            counts: Counts::default(),
        };
        shard.grow();
        shard
    }

    pub(super) fn insert(&mut self, fingerprint: Fingerprint) -> Sighting {
        self.answer(fingerprint, self.probes(fingerprint))
    }

    /// As [`insert`](Self::insert) for each, in `order`, which are places in `fingerprints` and in `sightings`.
    ///
    /// Memory answers after a hundred nanoseconds, but many questions at once: so the lines of a whole run are loaded before the
    /// first is tested.
    pub(super) fn insert_run(&mut self, fingerprints: &[Fingerprint], order: &[u16], sightings: &mut [Sighting]) {
        self.counts.batches += 1;
        self.counts.batched += order.len() as u64;
        for run in order.chunks(RUN) {
            let mut probes = [Probes::default(); RUN];
            let mut loaded = 0;
            for (probes, &place) in probes.iter_mut().zip(run) {
                *probes = self.probes(fingerprints[usize::from(place)]);
                loaded ^= self.layers.iter().fold(0, |loaded, layer| loaded ^ layer.filter.touch(*probes));
            }
            // Used, or the optimizer would drop the loads.
            std::hint::black_box(loaded);
            for (&probes, &place) in probes.iter().zip(run) {
                sightings[usize::from(place)] = self.answer(fingerprints[usize::from(place)], probes);
            }
        }
    }

    pub(super) fn contains(&self, fingerprint: Fingerprint) -> bool {
        let probes = self.probes(fingerprint);
        self.layers.iter().rev().any(|layer| layer.filter.contains(fingerprint, probes))
    }

    /// For layouts that can.
    pub(super) fn remove(&mut self, fingerprint: Fingerprint) -> Removal {
        let probes = self.probes(fingerprint);
        let mut claiming = self.layers.iter_mut().filter(|layer| layer.filter.contains(fingerprint, probes));
        let removal = match (claiming.next(), claiming.next()) {
            (None, _) => Removal::Absent,
            (Some(layer), None) => {
                layer.inserted = layer.inserted.saturating_sub(1);
                layer.filter.remove(fingerprint, probes)
            }
            (Some(_), Some(_)) => Removal::Kept,
        };
        if removal == Removal::Removed {
            self.counts.removed += 1;
            if let Some(audit) = self.audit.as_mut().filter(|audit| audit.samples(fingerprint)) {
                audit.remove(fingerprint);
            }
        }
        removal
    }

    /// A layer reached its capacity, and no further one followed.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Someone had to wait for this shard's lock.
    pub(super) fn count_wait(&mut self) {
        self.counts.lock_waits += 1;
    }

    pub(super) fn statistics(&self) -> ShardStatistics {
        let Counts { inserted, removed, tests, lock_waits, batches, batched } = self.counts;
        let mut row = ShardStatistics { inserted, tests, removed, lock_waits, batches, batched, ..Default::default() };
        row.layers = self.layers.len() as u64;
        row.full = u64::from(self.full);
        // The share of new URLs that no older layer takes for seen.
        let mut passed = 1.0;
        for Layer { filter, plan, .. } in &self.layers {
            let (cells_set, cells) = filter.cells(plan.sizing);
            let sizing = super::Sizing { bits: cells, ..plan.sizing };
            // Of the URLs shown while this layer was the newest, those that came to it. A full filter cannot tell more than its bits.
            let came = sizing.cardinality(cells_set as f64 / cells as f64).min(cells as f64);
            row.capacity += plan.capacity;
            row.bits += cells;
            row.bits_set += cells_set;
            row.probes = row.probes.max(sizing.probes);
            row.bytes += filter.bytes() as u64;
            row.cardinality += came / passed;
            row.expected_lost += sizing.expected_lost(came) + came / passed - came;
            passed *= 1.0 - sizing.rate(came);
        }
        if self.growth.options().layout != Layout::Exact {
            row.false_positive_rate_target = self.growth.rate();
        }
        row.false_positive_rate_estimated = 1.0 - passed;
        row.bytes_bookkeeping = (size_of::<Self>() + self.layers.capacity() * size_of::<Layer>()) as u64;
        if let Some(audit) = &self.audit {
            row.bytes_bookkeeping += audit.bytes() as u64;
            row.audit = Some(audit.statistics());
        }
        row.bytes += row.bytes_bookkeeping;
        row.finish();
        row
    }

    fn probes(&self, fingerprint: Fingerprint) -> Probes {
        Probes::new(fingerprint, self.split_bits)
    }

    /// Looks into the newest layer first: it is the largest, and what was seen lately is seen most.
    fn answer(&mut self, fingerprint: Fingerprint, probes: Probes) -> Sighting {
        let (newest, older) = self.layers.split_last_mut().expect("a shard has a layer from the start");
        let seen_before = !older.is_empty()
            && (newest.filter.contains(fingerprint, probes)
                || older.iter().rev().any(|layer| layer.filter.contains(fingerprint, probes)));
        let sighting = if seen_before { Sighting::Seen } else { newest.filter.insert(fingerprint, probes) };
        self.counts.tests += 1;
        if sighting == Sighting::New {
            self.counts.inserted += 1;
            newest.inserted += 1;
            if newest.inserted == newest.plan.room {
                self.grow();
            }
        }
        if let Some(audit) = self.audit.as_mut().filter(|audit| audit.samples(fingerprint)) {
            audit.check(fingerprint, sighting);
        }
        sighting
    }

    /// Adds the next layer, or, where there is none, is full.
    #[cold]
    fn grow(&mut self) {
        let options = self.growth.options();
        if options.layout == Layout::Exact && !self.layers.is_empty() {
            // Its table has grown by itself.
            self.full = options.on_full != OnFull::Grow;
            return;
        }
        match self.growth.layer(self.layers.len()).filter(|plan| is_to_be_had(plan.sizing.bytes().into())) {
            Some(plan) => {
                self.layers.push(Layer { filter: Filter::new(plan.sizing, self.split_bits), plan, inserted: 0 });
            }
            None => self.full = true,
        }
    }
}
