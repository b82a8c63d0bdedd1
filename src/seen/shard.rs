use super::blocked::Blocked;
use super::exact::Exact;
use super::probes::Probes;
use super::{Layout, SeenOptions, ShardStatistics, Sighting, Sizing};
use crate::address::Fingerprint;

/// One part of the seen set: a filter and its counters. Its lock is outside.
#[derive(Debug)]
pub(super) struct Shard {
    filter: Filter,
    sizing: Sizing,
    capacity: u64,
    target: f64,
    /// How many shards there are, as a power of two.
    split_bits: u32,
    inserted: u64,
    tests: u64,
}

#[derive(Debug)]
enum Filter {
    Blocked(Blocked),
    Exact(Exact),
}

impl Shard {
    pub(super) fn new(options: &SeenOptions, sizing: Sizing) -> Self {
        let split_bits = options.shards.trailing_zeros();
        let filter = match sizing.layout {
            Layout::Blocked => Filter::Blocked(Blocked::new(sizing.bits, sizing.probes)),
            Layout::Exact => Filter::Exact(Exact::new(sizing.bits / 64, split_bits)),
        };
        let target = if sizing.layout == Layout::Exact { 0.0 } else { options.false_positive_rate };
        Self { filter, sizing, capacity: options.shard_capacity(), target, split_bits, inserted: 0, tests: 0 }
    }

    pub(super) fn insert(&mut self, fingerprint: Fingerprint) -> Sighting {
        self.answer(fingerprint, Probes::new(fingerprint, self.split_bits))
    }

    /// As [`insert`](Self::insert) for each, in order; `answer` gets each one's place in the iterator's order.
    ///
    /// Memory answers a load after a hundred nanoseconds, but ten at once: so the lines of a run of fingerprints are all asked for
    /// before the first is tested.
    pub(super) fn insert_run(&mut self, fingerprints: &[Fingerprint], order: &[u16], sightings: &mut [Sighting]) {
        const RUN: usize = 32;
        for run in order.chunks(RUN) {
            let mut probes = [Probes::default(); RUN];
            let mut loaded = 0;
            for (probes, &place) in probes.iter_mut().zip(run) {
                *probes = Probes::new(fingerprints[usize::from(place)], self.split_bits);
                loaded ^= self.touch(*probes);
            }
            // Used, or the optimizer would drop the loads.
            std::hint::black_box(loaded);
            for (&probes, &place) in probes.iter().zip(run) {
                sightings[usize::from(place)] = self.answer(fingerprints[usize::from(place)], probes);
            }
        }
    }

    pub(super) fn contains(&self, fingerprint: Fingerprint) -> bool {
        match &self.filter {
            Filter::Blocked(blocked) => blocked.contains(Probes::new(fingerprint, self.split_bits)),
            Filter::Exact(exact) => exact.contains(fingerprint),
        }
    }

    pub(super) fn statistics(&self) -> ShardStatistics {
        let (bits, bits_set, bytes) = match &self.filter {
            Filter::Blocked(blocked) => (self.sizing.bits, blocked.bits_set(), blocked.bytes()),
            Filter::Exact(exact) => (exact.slots() as u64 * 64, exact.len() as u64 * 64, exact.bytes()),
        };
        let sizing = Sizing { bits, ..self.sizing };
        let fill_ratio = bits_set as f64 / bits as f64;
        // A full filter cannot tell more than its number of bits.
        let cardinality = sizing.cardinality(fill_ratio).min(bits as f64);
        ShardStatistics {
            capacity: self.capacity,
            inserted: self.inserted,
            tests: self.tests,
            bits,
            bits_set,
            probes: sizing.probes,
            bytes: bytes as u64,
            fill_ratio,
            cardinality,
            false_positive_rate_target: self.target,
            false_positive_rate_estimated: sizing.rate(cardinality),
            false_positive_rate_mean: sizing.mean_rate(cardinality),
            expected_lost: sizing.expected_lost(cardinality),
        }
    }

    fn touch(&self, probes: Probes) -> u64 {
        match &self.filter {
            Filter::Blocked(blocked) => blocked.touch(probes),
            Filter::Exact(exact) => exact.touch(probes),
        }
    }

    fn answer(&mut self, fingerprint: Fingerprint, probes: Probes) -> Sighting {
        let sighting = match &mut self.filter {
            Filter::Blocked(blocked) => blocked.insert(probes),
            Filter::Exact(exact) => exact.insert(fingerprint),
        };
        self.tests += 1;
        self.inserted += u64::from(sighting == Sighting::New);
        sighting
    }
}
