//! What a user of the seen set relies on: new is said once, nothing is forgotten, errors come at the stated rate.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;

use crawler::address::Fingerprint;
use crawler::seen::{Layout, SeenError, SeenOptions, SeenSet, SeenStatistics, Sighting, Sizing};
use proptest::prelude::*;

const LAYOUTS: [Layout; 2] = [Layout::Blocked, Layout::Exact];

/// Distinct fingerprints, even over their space, as a keyed hash would give them (`SplitMix64`, a bijection of the count).
fn fingerprints(stream: u64) -> impl Iterator<Item = Fingerprint> {
    (stream << 40..).map(|count: u64| {
        let bits = count.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (bits ^ bits >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let bits = (bits ^ bits >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Fingerprint::from_bits(bits ^ bits >> 32)
    })
}

fn options(layout: Layout, capacity: u64, rate: f64, shards: usize) -> SeenOptions {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.false_positive_rate, options.shards) = (layout, capacity, rate, shards);
    options
}

fn set(layout: Layout, capacity: u64, rate: f64, shards: usize) -> SeenSet {
    SeenSet::new(&options(layout, capacity, rate, shards)).unwrap()
}

#[test]
fn of_many_threads_with_one_key_one_hears_new() {
    const THREADS: usize = 8;
    let keys: Vec<_> = fingerprints(0).take(20_000).collect();
    for layout in LAYOUTS {
        let seen = set(layout, 20_000, 1e-9, 4);
        let barrier = Barrier::new(THREADS);
        let news: Vec<usize> = thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let (keys, seen, barrier) = (&keys, &seen, &barrier);
                    scope.spawn(move || {
                        barrier.wait();
                        let mut sightings = Vec::new();
                        let mut new = Vec::new();
                        for (batch, keys) in keys.chunks(100).enumerate() {
                            if thread % 2 == 0 {
                                seen.insert_batch(keys, &mut sightings);
                            } else {
                                sightings.clear();
                                sightings.extend(keys.iter().map(|&key| seen.insert(key)));
                            }
                            let places = (batch * 100..).zip(&sightings);
                            new.extend(places.filter(|(_, s)| **s == Sighting::New).map(|(place, _)| place));
                        }
                        new
                    })
                })
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        assert_eq!(news.iter().collect::<HashSet<_>>().len(), news.len(), "{layout:?}: a key was new twice");
        assert_eq!(news.len(), keys.len(), "{layout:?}: a key was new to nobody");
        let merged = seen.statistics().merged;
        assert_eq!((merged.inserted, merged.tests), (20_000, 20_000 * THREADS as u64));
    }
}

#[test]
fn what_was_inserted_is_never_new_again() {
    for layout in LAYOUTS {
        // Far beyond its capacity: it errs more, and still forgets nothing.
        let seen = set(layout, 1000, 0.01, 2);
        for key in fingerprints(0).take(5000) {
            seen.insert(key);
        }
        for key in fingerprints(0).take(5000) {
            assert!(seen.contains(key));
            assert_eq!(seen.insert(key), Sighting::Seen);
        }
    }
}

#[test]
fn the_exact_layout_loses_nothing() {
    let seen = set(Layout::Exact, 1000, 0.5, 16);
    assert!(fingerprints(0).take(300_000).all(|key| seen.insert(key) == Sighting::New));
    let merged = seen.statistics().merged;
    let bytes_per_url = merged.bytes as f64 / 300_000.0;
    assert!((10.6..13.5).contains(&bytes_per_url), "{bytes_per_url} bytes a URL");
    assert!((merged.cardinality - 300_000.0).abs() < 1e-6);
}

/// The share of keys never shown that the set takes for seen.
fn measured_rate(seen: &SeenSet, questions: usize) -> f64 {
    fingerprints(1).take(questions).filter(|&key| seen.contains(key)).count() as f64 / questions as f64
}

#[test]
fn the_rate_at_capacity_is_the_predicted_one() {
    for shards in [1, 16, 256] {
        for (rate, capacity) in [(0.01, 200_000_u32), (1e-5, 200_000)] {
            let seen = set(Layout::Blocked, capacity.into(), rate, shards);
            for (key, _) in fingerprints(0).zip(0..capacity) {
                seen.insert(key);
            }
            let shard = &seen.statistics().shards[0];
            let mut sizing = Sizing::new(Layout::Blocked, 1, rate);
            sizing.bits = shard.bits;
            let predicted = sizing.rate(f64::from(capacity) / shards as f64);
            // 3.5 standard deviations of the count on either side, and 5 % for the prediction itself.
            let questions: usize = if rate < 1e-4 { 4_000_000 } else { 1_000_000 };
            let noise = 3.5 / (predicted * questions as f64).sqrt();
            let ratio = measured_rate(&seen, questions) / predicted;
            assert!(
                (1.0 / 1.05 - noise..1.05 + noise).contains(&ratio),
                "{shards} shards, {rate}: {ratio} of the prediction"
            );
            assert!(predicted <= rate);
        }
    }
}

#[test]
fn statistics_say_what_was_lost() {
    let seen = set(Layout::Blocked, 100_000, 0.02, 16);
    let new = fingerprints(0).take(100_000).filter(|&key| seen.insert(key) == Sighting::New).count();
    let SeenStatistics { merged, shards, .. } = seen.statistics();
    assert_eq!(shards.len(), 16);
    assert_eq!(merged.inserted, new as u64);
    assert_eq!(merged.inserted, shards.iter().map(|shard| shard.inserted).sum::<u64>());
    let lost = 100_000.0 - new as f64;
    assert!((merged.expected_lost - lost).abs() < 4.0 * lost.sqrt(), "{} expected, {lost} lost", merged.expected_lost);
    assert!((merged.cardinality / 100_000.0 - 1.0).abs() < 0.005, "{} distinct", merged.cardinality);
    assert!(merged.false_positive_rate_estimated < merged.false_positive_rate_target);
    assert!(merged.false_positive_rate_mean < merged.false_positive_rate_estimated / 2.0);
    assert!(merged.fill_ratio > 0.3 && merged.fill_ratio < 0.7, "{}", merged.fill_ratio);
}

#[test]
fn wrong_options_are_named() {
    let error = |layout, capacity, rate, shards| {
        SeenSet::new(&options(layout, capacity, rate, shards)).map(drop).unwrap_err().to_string()
    };
    assert_eq!(error(Layout::Blocked, 0, 0.1, 1), "capacity = 0: at least 1 URL");
    for rate in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        assert_eq!(error(Layout::Blocked, 1, rate, 1), format!("false_positive_rate = {rate}: above 0 and below 1"));
    }
    for shards in [0, 3, 1 << 17] {
        assert_eq!(error(Layout::Exact, 1, 0.1, shards), format!("shards = {shards}: a power of two from 1 to 65536"));
    }
    let huge = SeenSet::new(&options(Layout::Blocked, 1_000_000_000_000_000, 1e-4, 1)).map(drop).unwrap_err();
    assert!(matches!(huge, SeenError::Memory { bytes: 2_900_000_000_000_000..3_000_000_000_000_000, .. }), "{huge}");
    for (capacity, rate) in [(u64::MAX, 1e-4), (u64::MAX, 1e-300), (1, 1e-300)] {
        for layout in LAYOUTS {
            if (layout, capacity) != (Layout::Exact, 1) {
                let error = SeenSet::new(&options(layout, capacity, rate, 1 << 16)).map(drop).unwrap_err();
                assert!(matches!(error, SeenError::Memory { .. }), "{error}");
            }
        }
    }
}

#[test]
fn as_many_shards_as_allowed() {
    let seen = set(Layout::Blocked, 1, 0.999_999, 1 << 16);
    let keys: Vec<_> = fingerprints(0).take(10_000).collect();
    let mut sightings = Vec::new();
    seen.insert_batch(&keys, &mut sightings);
    seen.insert_batch(&keys, &mut sightings);
    assert_eq!(sightings, vec![Sighting::Seen; 10_000]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any mixture of batches answers as the naive set does, repetitions inside a batch included.
    #[test]
    fn a_batch_answers_as_one_by_one(
        keys in prop::collection::vec(0_usize..600, 0..6000),
        cuts in prop::collection::vec(1_usize..5000, 1..8),
        shard_bits in 0_u32..11,
        exact: bool,
    ) {
        let all: Vec<_> = fingerprints(0).take(600).chain([Fingerprint::from_bits(0), Fingerprint::from_bits(u64::MAX)]).collect();
        let keys: Vec<_> = keys.into_iter().map(|key| all[(key * 7) % all.len()]).collect();
        let seen = set(if exact { Layout::Exact } else { Layout::Blocked }, 600, 1e-12, 1 << shard_bits);
        let mut model = HashSet::new();
        let mut sightings = Vec::new();
        let mut rest = &keys[..];
        for cut in cuts.iter().cycle() {
            let (batch, left) = rest.split_at((*cut).min(rest.len()));
            seen.insert_batch(batch, &mut sightings);
            let expected: Vec<_> =
                batch.iter().map(|key| if model.insert(*key) { Sighting::New } else { Sighting::Seen }).collect();
            prop_assert_eq!(&sightings, &expected);
            rest = left;
            if rest.is_empty() { break; }
        }
    }
}
