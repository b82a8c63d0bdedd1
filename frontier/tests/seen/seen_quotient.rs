//! The quotient layout: against a hash set, against the rate that is stated, and through files.

use std::collections::HashSet;

use crawler_frontier::address::Fingerprint;
use crawler_frontier::seen::{Layout, OnFull, SeenOptions, SeenSet, Sighting, Sizing};
use proptest::prelude::*;

use crate::sets::{fingerprints, options};

fn quotient(capacity: u64, rate: f64, shards: usize) -> SeenOptions {
    options(Layout::Quotient, capacity, rate, shards)
}

fn saved(seen: &SeenSet) -> Vec<u8> {
    let mut file = Vec::new();
    seen.save(&mut file).unwrap();
    file
}

fn loaded(file: &[u8]) -> SeenSet {
    SeenSet::load(file, None).unwrap()
}

/// Shows keys in batches of changing lengths, one by one, or asks for them only, and compares each answer with a hash set's. Half of the keys
/// are of a small range, so that they repeat within a batch, too. At a rate of 1e-9 none of them is lost.
fn agrees_with_a_model(options: &SeenOptions, acts: usize) -> SeenSet {
    let mut seen = SeenSet::new(options).unwrap();
    let keys: Vec<_> = fingerprints(3).take(acts).collect();
    let (mut model, mut batch, mut sightings) = (HashSet::new(), Vec::new(), Vec::new());
    for (act, random) in (0..acts).zip(fingerprints(4)) {
        let random = random.bits();
        let range = if random & 1 == 0 { acts } else { 50 + act / 10 };
        let key = keys[(random >> 8) as usize % range];
        match random >> 1 & 7 {
            0 => assert_eq!(seen.contains(key), model.contains(&key), "act {act}"),
            1 => assert_eq!(seen.insert(key) == Sighting::New, model.insert(key), "act {act}"),
            _ => batch.push(key),
        }
        if batch.len() > (random >> 40) as usize & 511 {
            seen.insert_batch(&batch, &mut sightings);
            for (key, &sighting) in batch.drain(..).zip(&sightings) {
                assert_eq!(sighting == Sighting::New, model.insert(key), "act {act}");
            }
        }
        if act % (acts / 10 + 1) == acts / 20 {
            let file = saved(&seen);
            seen = loaded(&file);
            assert!(saved(&seen) == file);
        }
    }
    assert!(model.iter().all(|&key| seen.contains(key)));
    assert_eq!(seen.remembered(), model.len() as u64);
    seen
}

#[test]
fn answers_are_those_of_a_hash_set() {
    for (capacity, shards, layers) in [(40_000, 4, 4), (40_000, 1, 1), (500, 2, 14)] {
        let seen = agrees_with_a_model(&quotient(capacity, 1e-9, shards), 60_000);
        assert_eq!(seen.statistics().merged.layers, layers);
    }
    // Far beyond what the lines have room for: the rest is kept beside them.
    let mut options = quotient(2000, 1e-9, 1);
    options.on_full = OnFull::Warn;
    assert!(agrees_with_a_model(&options, 40_000).is_full());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// For whatever sizes and rates: what was shown once is never new again, and a file answers as the set did.
    #[test]
    fn what_was_shown_is_seen(
        bits in proptest::collection::vec(any::<u64>(), 1..400), copies in 1_usize..4, capacity in 1_u64..400,
        rate in 1_u32..12, shard_bits in 0_u32..5, grows: bool,
    ) {
        let mut options = quotient(capacity, 0.1_f64.powi(rate.cast_signed()), 1 << shard_bits);
        options.on_full = if grows { OnFull::Grow } else { OnFull::Warn };
        let seen = SeenSet::new(&options).unwrap();
        // Crowded into few lines, as no hash would have them.
        let keys: Vec<_> = bits.iter().map(|bits| Fingerprint::from_bits(bits >> (bits & 31))).collect();
        let (mut new, mut sightings) = (HashSet::new(), Vec::new());
        for _ in 0..copies {
            seen.insert_batch(&keys, &mut sightings);
            for (&key, &sighting) in keys.iter().zip(&sightings) {
                prop_assert!(sighting == Sighting::Seen || new.insert(key), "{key:?} is new twice");
            }
        }
        let file = saved(&seen);
        let again = loaded(&file);
        prop_assert!(saved(&again) == file);
        for &key in &keys {
            prop_assert!(seen.contains(key) && again.contains(key));
        }
    }
}

/// Of the usual slots at 1e-4, whose rate is a third of that, and of others: at capacity, and on the way there.
#[test]
fn the_rate_is_the_stated_one() {
    const URLS: usize = 1_000_000;
    for (rate, slot_bits, questions) in [(1e-2, 10, 4_000_000), (1e-3, 13, 4_000_000), (1e-4, 15, 8_000_000)] {
        let mut options = quotient(URLS as u64, rate, 1);
        options.on_full = OnFull::Warn;
        let seen = SeenSet::new(&options).unwrap();
        let (mut lost, mut sightings) = (0, Vec::new());
        let keys: Vec<_> = fingerprints(5).take(URLS).collect();
        for batch in keys.chunks(5000) {
            seen.insert_batch(batch, &mut sightings);
            lost += sightings.iter().filter(|&&sighting| sighting == Sighting::Seen).count();
        }
        let sizing = Sizing::new(Layout::Quotient, URLS as u64, rate);
        assert_eq!((sizing.identity_bits, sizing.bits), (slot_bits, seen.statistics().merged.bits));
        let found = fingerprints(6).take(questions).filter(|&key| seen.contains(key)).count();
        for (counted, stated) in
            [(found, sizing.rate(URLS as f64) * questions as f64), (lost, sizing.expected_lost(URLS as f64))]
        {
            let counted = counted as f64;
            assert!((counted - stated).abs() < 0.03 * stated + 3.5 * stated.sqrt(), "{rate}: {counted} for {stated}");
        }
        assert!(sizing.rate(URLS as f64) <= rate);
        assert!((seen.statistics().merged.expected_lost / sizing.expected_lost(URLS as f64) - 1.0).abs() < 0.02);
        assert!(keys.iter().all(|&key| seen.contains(key)));
    }
}

/// What it is for: a fifth less memory than blocked at 1e-4, and a third less at 1e-6, for a loss that is about the same.
#[test]
fn it_is_a_fifth_smaller_than_blocked() {
    for (rate, at_most) in [(1e-3, 1.01), (1e-4, 0.79), (1e-5, 0.79), (1e-6, 0.71)] {
        let [blocked, ours] = [Layout::Blocked, Layout::Quotient].map(|layout| Sizing::new(layout, 10_000_000, rate));
        assert!(ours.rate(1e7) <= rate && ours.expected_lost(1e7) <= 1.15 * blocked.expected_lost(1e7), "{rate}");
        let share = ours.bits as f64 / blocked.bits as f64;
        assert!(share < at_most && share > at_most - 0.1, "{rate}: {share}");
    }
}

#[test]
fn unions_of_other_sizes_are_refused() {
    let [small, large] = [1000, 2000].map(|capacity| SeenSet::new(&quotient(capacity, 1e-4, 1)).unwrap());
    let error = small.union(&large).unwrap_err().to_string();
    assert_eq!(error, "cannot be merged: a layer's sizes differ");
    let [short, long] = [1e-3, 1e-4].map(|rate| SeenSet::new(&quotient(1000, rate, 1)).unwrap());
    assert!(short.merge(&saved(&long)[..]).is_err());
}

#[test]
fn options_that_it_does_not_have_are_refused() {
    let error = |options| SeenSet::new(&options).unwrap_err().to_string();
    let mut options = quotient(1000, 1e-13, 1);
    let least = "false_positive_rate = 0.0000000000001: at least 1e-12 in the quotient layout";
    assert_eq!(error(options.clone()), least);
    (options.false_positive_rate, options.bits_per_url) = (1e-4, Some(20.0));
    assert_eq!(error(options), "bits_per_url = 20: the quotient layout's bits follow from the rate");
}
