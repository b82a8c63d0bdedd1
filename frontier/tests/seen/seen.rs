//! What a user of the seen set relies on: new is said once, nothing is forgotten, errors come at the stated rate.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;

use crawler_frontier::address::{Fingerprint, FingerprintKey};
use crawler_frontier::seen::{Layout, OnFull, Removal, SeenError, SeenOptions, SeenSet, Sighting, Sizing};
use proptest::prelude::*;

use crate::sets::{LAYOUTS, fingerprints, options, set};

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
                            match thread % 3 {
                                0 => seen.insert_batch(keys, &mut sightings),
                                1 => seen.insert_links(keys, &mut sightings),
                                _ => sightings = keys.iter().map(|&key| seen.insert(key)).collect(),
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
    assert!((6.2..13.5).contains(&bytes_per_url), "{bytes_per_url} bytes a URL");
    assert!((merged.cardinality - 300_000.0).abs() < 1e-2);
}

/// The share of keys never shown that the set takes for seen.
fn measured_rate(seen: &SeenSet, questions: usize) -> f64 {
    fingerprints(1).take(questions).filter(|&key| seen.contains(key)).count() as f64 / questions as f64
}

#[test]
fn the_rate_at_capacity_is_the_predicted_one() {
    const URLS: u32 = 200_000;
    for layout in [Layout::Blocked, Layout::Quotient, Layout::Standard, Layout::Partitioned] {
        for (shards, rate) in [1, 16, 256].into_iter().flat_map(|shards| [(shards, 0.01), (shards, 1e-5)]) {
            let mut options = options(layout, URLS.into(), rate, shards);
            options.on_full = OnFull::Warn;
            let seen = SeenSet::new(&options).unwrap();
            for (key, _) in fingerprints(0).zip(0..URLS) {
                seen.insert(key);
            }
            let shard = &seen.statistics().shards[0];
            let mut sizing = Sizing::new(layout, u64::from(URLS) / shards as u64, rate);
            (sizing.bits, sizing.probes) = (shard.bits, shard.probes);
            let predicted = sizing.rate(f64::from(URLS) / shards as f64);
            assert!(predicted <= rate * (1.0 + 1e-9), "{layout}: {predicted} for {rate}");
            // 5 % for the prediction, and 3.5 standard deviations of the count.
            let questions: usize = if rate < 1e-4 { 3_000_000 } else { 300_000 };
            let noise = 3.5 / (predicted * questions as f64).sqrt();
            let ratio = measured_rate(&seen, questions) / predicted;
            assert!(
                (0.95 - noise..1.05 + noise).contains(&ratio),
                "{layout}, {shards} shards, {rate}: {ratio} of the prediction"
            );
        }
    }
}

#[test]
fn what_is_removed_is_new_again_and_the_rest_is_not() {
    for layout in [Layout::Counting, Layout::Exact] {
        let seen = set(layout, 1000, 1e-6, 4);
        let keys: Vec<_> = fingerprints(0).take(3000).collect();
        let new: Vec<_> = keys.iter().copied().filter(|&key| seen.insert(key) == Sighting::New).collect();
        assert_eq!(new.len(), 3000);
        let (out, kept): (Vec<_>, Vec<_>) = new.iter().partition(|key| key.bits() % 3 == 0);
        let removed: Vec<_> =
            out.iter().copied().filter(|&key| seen.remove(key).unwrap() == Removal::Removed).collect();
        // Two layers may claim the same key, at their rate.
        assert!(out.len() - removed.len() <= 1, "{layout}: {} of {}", removed.len(), out.len());
        assert!(kept.iter().all(|&key| seen.contains(key)), "{layout} forgot a key that was not removed");
        assert!(removed.iter().all(|&key| seen.remove(key).unwrap() == Removal::Absent));
        assert!(removed.iter().all(|&key| seen.insert(key) == Sighting::New));
        assert_eq!(seen.statistics().merged.removed, removed.len() as u64);
    }
    for layout in [Layout::Blocked, Layout::Partitioned, Layout::Quotient, Layout::Standard, Layout::Verified] {
        let error = set(layout, 10, 0.1, 1).remove(Fingerprint::from_bits(7)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the {layout} layout cannot remove: each of its bits may be another URL's as well")
        );
    }
}

#[test]
fn what_two_layers_claim_is_kept_and_no_other_forgotten() {
    let seen = set(Layout::Counting, 100, 0.3, 1);
    let new: Vec<_> = fingerprints(0).take(4000).filter(|&key| seen.insert(key) == Sighting::New).collect();
    let (out, stay) = new.split_at(new.len() / 2);
    let kept = out.iter().filter(|&&key| seen.remove(key).unwrap() == Removal::Kept).count();
    assert!(kept > 0, "layers that err this often claim some key together");
    assert!(stay.iter().all(|&key| seen.contains(key)), "a key was forgotten that was not removed");
}

/// Inserts `urls` distinct keys; returns how many were lost, by tens of the way.
fn lost_on_the_way(seen: &SeenSet, urls: usize) -> Vec<usize> {
    let mut keys = fingerprints(0);
    (0..10).map(|_| keys.by_ref().take(urls / 10).filter(|&key| seen.insert(key) == Sighting::Seen).count()).collect()
}

#[test]
fn growth_keeps_the_compound_rate() {
    for (layout, open_ended) in LAYOUTS.into_iter().flat_map(|layout| [(layout, false), (layout, true)]) {
        let mut options = options(layout, 2000, 0.01, 2);
        options.open_ended = open_ended;
        let seen = SeenSet::new(&options).unwrap();
        let lost: usize = lost_on_the_way(&seen, 200_000).iter().sum();
        let merged = seen.statistics().merged;
        if layout != Layout::Exact {
            assert!(merged.layers >= 2 * if open_ended { 5 } else { 6 }, "{layout}: {} layers", merged.layers);
        }
        let rate = measured_rate(&seen, 100_000);
        // 3 standard deviations of the count are 10 % of it.
        assert!(rate <= 0.011, "{layout}, {open_ended}: {rate}");
        let lost = lost as f64;
        // A layer of 2,000 URLs may fill a little faster than the mean of all such layers.
        assert!(merged.false_positive_rate_estimated <= 0.0105, "{layout}, {open_ended}: {merged:?}");
        assert!(
            (merged.expected_lost - lost).abs() <= 5.0 * lost.sqrt() + 1.0,
            "{} expected, {lost}",
            merged.expected_lost
        );
        assert!((merged.cardinality / 200_000.0 - 1.0).abs() < 0.02, "{layout}: {} distinct", merged.cardinality);
        assert!(!seen.is_full());
        assert!(fingerprints(0).take(200_000).all(|key| seen.contains(key)), "{layout} forgot");
    }
}

/// Of a capacity that nobody knows: at the start, on the way, and beyond the hundred times that it is planned for.
#[test]
fn growth_from_a_start_stays_below_the_rate_all_the_way() {
    let layouts = [Layout::Blocked, Layout::Counting, Layout::Partitioned, Layout::Quotient, Layout::Standard];
    for (layout, target) in layouts.into_iter().flat_map(|layout| [(layout, 0.01), (layout, 0.002)]) {
        let mut options = options(layout, 1000, target, 4);
        options.open_ended = true;
        let seen = SeenSet::new(&options).unwrap();
        let (mut shown, mut lost) = (0, 0);
        for urls in [1000, 10_000, 100_000, 250_000] {
            let more = fingerprints(0).skip(shown).take(urls - shown);
            lost += more.filter(|&key| seen.insert(key) == Sighting::Seen).count();
            shown = urls;
            let rate = measured_rate(&seen, 50_000);
            assert!(rate < target, "{layout}: {rate} for {target} at {urls} URLs");
            let estimated = seen.statistics().merged.false_positive_rate_estimated;
            let noise = 4.0 * (estimated / 50_000.0).sqrt() + 1e-4;
            assert!((estimated - rate).abs() < noise, "{layout}: {rate}, {estimated} estimated");
        }
        assert!((lost as f64) < target * shown as f64, "{layout}: {lost} of {shown}");
    }
}

#[test]
fn a_set_that_must_not_grow_says_when_it_is_full() {
    for (layout, on_full) in LAYOUTS.into_iter().flat_map(|layout| [(layout, OnFull::Stop), (layout, OnFull::Warn)]) {
        let mut options = options(layout, 10_000, 0.01, 16);
        options.on_full = on_full;
        let seen = SeenSet::new(&options).unwrap();
        lost_on_the_way(&seen, 10_000);
        assert!(!seen.is_full(), "{layout} is full before its capacity");
        let more: Vec<_> = fingerprints(2).take(3000).collect();
        if on_full == OnFull::Stop {
            seen.insert_batch(&more, &mut Vec::new());
        } else {
            for &key in &more {
                seen.insert(key);
            }
        }
        assert!(seen.is_full(), "{layout}");
        let merged = seen.statistics().merged;
        assert!(merged.full > 0 && merged.layers == 16);
    }
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
    let refused = |layout, bits, probes, audit| {
        let mut options = options(layout, 1000, 0.01, 1);
        (options.bits_per_url, options.probes, options.audit) = (bits, probes, audit);
        SeenSet::new(&options).map(drop).unwrap_err().to_string()
    };
    for audit in [3, 1025] {
        let told = refused(Layout::Blocked, None, None, audit);
        assert_eq!(told, format!("audit = {audit}: a power of two, or 0 for none"));
    }
    for bits in [0.0, -1.0, 4097.0, f64::NAN] {
        let told = refused(Layout::Standard, Some(bits), None, 0);
        assert_eq!(told, format!("bits_per_url = {bits}: above 0 and at most 4096"));
    }
    let told = refused(Layout::Exact, Some(10.0), None, 0);
    assert_eq!(told, "bits_per_url = 10: the exact layout has identity_bits instead");
    for bits in [0, 15, 57] {
        let mut options = options(Layout::Exact, 1000, 0.01, 1);
        options.identity_bits = bits;
        let told = SeenSet::new(&options).map(drop).unwrap_err().to_string();
        assert_eq!(told, format!("identity_bits = {bits}: from 16 to 56"));
    }
    assert_eq!(refused(Layout::Blocked, None, Some(8), 0), "probes = 8: only with bits_per_url");
    for (layout, probes, reason) in [
        (Layout::Blocked, 9, "8 or 16 in the blocked layout"),
        (Layout::Verified, 0, "8 or 16 in the blocked layout"),
        (Layout::Standard, 0, "from 1 to 64"),
        (Layout::Counting, 65, "from 1 to 64"),
    ] {
        assert_eq!(refused(layout, Some(10.0), Some(probes), 0), format!("probes = {probes}: {reason}"), "{layout}");
    }
    let huge = SeenSet::new(&options(Layout::Blocked, 1_000_000_000_000_000, 1e-4, 1)).map(drop).unwrap_err();
    assert!(matches!(huge, SeenError::Memory { bytes: 2_900_000_000_000_000..3_000_000_000_000_000, .. }), "{huge}");
    for (capacity, rate) in [(u64::MAX, 1e-4), (u64::MAX, 1e-300), (1, 1e-300)] {
        for layout in LAYOUTS.into_iter().filter(|&layout| layout != Layout::Verified) {
            let is_refused_before = layout == Layout::Quotient && rate < 1e-12;
            if (layout, capacity) != (Layout::Exact, 1) && !is_refused_before {
                let error = SeenSet::new(&options(layout, capacity, rate, 1 << 16)).map(drop).unwrap_err();
                assert!(matches!(error, SeenError::Memory { .. }), "{error}");
            }
        }
    }
}

#[test]
fn what_differs_is_named() {
    let base = options(Layout::Blocked, 1000, 0.01, 4);
    let told = |change: &dyn Fn(&mut SeenOptions)| {
        let mut other = base.clone();
        change(&mut other);
        base.changed(&other)
    };
    assert_eq!(told(&|o| (o.key, o.directory) = (FingerprintKey::from_u64(77), None)), None);
    assert_eq!(told(&|o| o.layout = Layout::Exact), Some("layout"));
    assert_eq!(told(&|o| o.capacity = 1001), Some("capacity"));
    assert_eq!(told(&|o| o.open_ended = true), Some("open_ended"));
    assert_eq!(told(&|o| o.false_positive_rate = 0.02), Some("false_positive_rate"));
    assert_eq!(told(&|o| o.shards = 8), Some("shards"));
    assert_eq!(told(&|o| o.on_full = OnFull::Warn), Some("on_full"));
    assert_eq!(told(&|o| o.audit = 2), Some("audit"));
    assert_eq!(told(&|o| o.bits_per_url = Some(10.0)), Some("bits_per_url"));
    assert_eq!(told(&|o| o.probes = Some(8)), Some("probes"));
    assert_eq!(told(&|o| o.identity_bits = 20), Some("identity_bits"));
}

#[test]
fn bytes_words_and_urls_are_keyed_alike() {
    let mut options = SeenOptions::default();
    options.key = FingerprintKey::from_u64(3);
    let seen = SeenSet::new(&options).unwrap();
    assert_eq!(seen.insert_bytes(b"https://a.example/"), Sighting::New);
    assert_eq!(seen.insert(options.key.fingerprint("https://a.example/")), Sighting::Seen);
    assert_eq!(seen.insert_words(&[1, 2]), Sighting::New);
    assert_eq!(seen.insert_words(&[2, 1]), Sighting::New);
    assert_eq!(seen.insert_bytes(&[1, 0, 0, 0, 2, 0, 0, 0]), Sighting::Seen);
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

    /// What a thread knows of its recent links is of one set, and of no layout that can forget.
    #[test]
    fn links_answer_as_the_naive_set_does(
        pages in prop::collection::vec((0_usize..2, 0_usize..1500, prop::collection::vec(0_usize..40, 0..80)), 1..60),
        layout in prop::sample::select(&LAYOUTS[..]),
    ) {
        // Some fall into one slot of those that are recent.
        let all: Vec<_> = [0, 1 << 50, u64::MAX].map(Fingerprint::from_bits).into_iter().chain(fingerprints(0)).take(1600).collect();
        let sets = [0, 1].map(|_| set(layout, 1600, 1e-12, 4));
        let mut models = [HashSet::new(), HashSet::new()];
        let (mut sightings, mut asked) = (Vec::new(), [0, 0]);
        for (which, start, links) in pages {
            let page: Vec<_> = links.iter().map(|link| all[start + link]).collect();
            sets[which].insert_links(&page, &mut sightings);
            let model = &mut models[which];
            let expected: Vec<_> =
                page.iter().map(|key| if model.insert(*key) { Sighting::New } else { Sighting::Seen }).collect();
            prop_assert_eq!(&sightings, &expected);
            asked[which] += page.len() as u64;
            if let (Some(key), Layout::Counting | Layout::Exact) = (page.first(), layout) {
                prop_assert_eq!(sets[which].remove(*key).unwrap(), Removal::Removed);
                model.remove(key);
            }
        }
        for (set, asked) in sets.iter().zip(asked) {
            let statistics = set.statistics();
            prop_assert_eq!(statistics.merged.tests + statistics.recent_hits, asked);
        }
    }
}

#[test]
fn recent_links_need_no_shard() {
    let keys: Vec<_> = fingerprints(0).take(400).collect();
    for layout in LAYOUTS {
        let seen = set(layout, 1000, 1e-6, 4);
        let mut sightings = Vec::new();
        (0..10).for_each(|_| seen.insert_links(&keys, &mut sightings));
        let expected = if matches!(layout, Layout::Counting | Layout::Exact) { 0 } else { 2000 };
        assert!(seen.statistics().recent_hits >= expected, "{layout}: {}", seen.statistics().recent_hits);
        assert!(expected > 0 || seen.statistics().recent_hits == 0, "what is removed would still be seen");
    }
}
