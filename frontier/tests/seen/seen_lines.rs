//! Fingerprints in lines: against a hash set, while they are split, and against the rate that is stated.

use std::collections::HashSet;

use crawler_frontier::address::Fingerprint;
use crawler_frontier::seen::{Layout, Removal, SeenOptions, SeenSet, Sighting};
use proptest::prelude::*;

fn lines(capacity: u64, shards: usize, identity_bits: u32) -> SeenOptions {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.shards) = (Layout::Exact, capacity, shards);
    options.identity_bits = identity_bits;
    options
}

/// The `count`th key.
fn key(count: u64) -> Fingerprint {
    let bits = count.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    Fingerprint::from_bits(bits ^ bits >> 31)
}

fn saved(seen: &SeenSet) -> Vec<u8> {
    let mut file = Vec::new();
    seen.save(&mut file).unwrap();
    file
}

/// Random acts on a set and on a model of it. Half of the keys are of a small range, so that much is shown, removed and shown again.
fn agrees_with_a_model(acts: u64) {
    let mut seen = SeenSet::new(&lines(1000, 4, 44)).unwrap();
    let (mut model, mut batch, mut sightings) = (HashSet::new(), Vec::new(), Vec::new());
    for act in 0..acts {
        let random = key(act | 1 << 50).bits();
        let range = if random & 1 == 0 { acts / 4 } else { 500 };
        let fingerprint = key((random >> 8) % range);
        match random >> 1 & 7 {
            0 => {
                let removal = if model.remove(&fingerprint) { Removal::Removed } else { Removal::Absent };
                assert_eq!(seen.remove(fingerprint).unwrap(), removal, "act {act}");
            }
            1 => assert_eq!(seen.contains(fingerprint), model.contains(&fingerprint), "act {act}"),
            2 | 3 => {
                let sighting = if model.insert(fingerprint) { Sighting::New } else { Sighting::Seen };
                assert_eq!(seen.insert(fingerprint), sighting, "act {act}");
            }
            _ => batch.push(fingerprint),
        }
        if batch.len() as u64 > random >> 40 & 255 {
            seen.insert_batch(&batch, &mut sightings);
            for (fingerprint, &sighting) in batch.drain(..).zip(&sightings) {
                assert_eq!(sighting == Sighting::New, model.insert(fingerprint), "act {act}");
            }
        }
        if act % (acts / 10) == acts / 20 {
            seen = SeenSet::load(&saved(&seen)[..], None).unwrap();
        }
    }
    let merged = seen.statistics().merged;
    assert_eq!(merged.inserted - merged.removed, model.len() as u64);
    assert!(model.iter().all(|&fingerprint| seen.contains(fingerprint)));
    assert!(merged.generations.len() > 3, "{:?}", merged.generations);
}

#[test]
fn a_million_acts_agree_with_a_model() {
    agrees_with_a_model(1_000_000);
}

#[test]
#[ignore = "takes a minute"]
fn ten_million_acts_agree_with_a_model() {
    agrees_with_a_model(10_000_000);
}

/// What a URL takes, from a first size on until there are a hundred times as many: the least, the mean over all sizes alike, and the most.
fn bytes_while_it_grows(from: u64) -> [f64; 3] {
    // The audit takes as much for each set, and is measured elsewhere.
    let mut unaudited = lines(from, 16, 38);
    unaudited.audit = 0;
    let seen = SeenSet::new(&unaudited).unwrap();
    let (mut shown, mut sightings, mut bytes) = (0, Vec::new(), Vec::new());
    while shown < from * 100 {
        let until = (shown + shown / 40).max(from);
        for start in (shown..until).step_by(8192) {
            let keys: Vec<_> = (start..until.min(start + 8192)).map(key).collect();
            seen.insert_batch(&keys, &mut sightings);
        }
        shown = until;
        bytes.push(seen.statistics().merged.bytes as f64 / shown as f64);
    }
    let mean = bytes.iter().sum::<f64>() / bytes.len() as f64;
    bytes.sort_by(f64::total_cmp);
    [bytes[0], mean, bytes[bytes.len() - 1]]
}

#[test]
fn a_url_takes_six_to_fourteen_bytes_while_it_grows() {
    // In small shards the space between the lines counts too.
    let [least, mean, most] = bytes_while_it_grows(50_000);
    assert!(least > 6.0 && mean < 9.7 && most < 14.5, "{least:.2}, {mean:.2}, {most:.2}");
}

#[test]
#[ignore = "takes a minute and a gigabyte; measures"]
fn what_a_url_takes_up_to_a_hundred_million() {
    let [least, mean, most] = bytes_while_it_grows(1_000_000);
    println!("{least:.2} to {most:.2} bytes a URL, {mean:.2} on average");
    assert!(least > 6.0 && mean <= 9.0 && most <= 12.6, "{least:.2}, {mean:.2}, {most:.2}");
}

/// With 38 bits of identity, in a table that is as full as it gets and one that has doubled three times.
#[test]
#[ignore = "takes a minute; measures, so in release"]
fn none_of_a_billion_is_lost() {
    for (capacity, asked) in [(80_000, 800_000_000_u64), (10_000, 200_000_000)] {
        let seen = SeenSet::new(&lines(capacity, 4, 38)).unwrap();
        let keys: Vec<_> = (0..80_000).map(key).collect();
        seen.insert_batch(&keys, &mut Vec::new());
        let stated = seen.statistics().merged.false_positive_rate_estimated * asked as f64;
        let lost = (1..=asked).filter(|count| seen.contains(key(count << 20))).count();
        println!("{lost} of {asked} lost; {stated:.4} are stated");
        assert_eq!(lost, 0, "{stated} are stated");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of any length, from any size on, and however often it is saved on the way: what was shown is seen, what was removed is not, and
    /// without an error of the filter all is as in a hash set.
    #[test]
    fn it_answers_as_a_hash_set(
        acts in prop::collection::vec((0_u8..5, 0_u64..4000, 1_u64..1500), 1..25),
        capacity in 1_u64..3000,
        identity_bits in 40_u32..=56,
        shard_bits in 0_u32..4,
    ) {
        let mut seen = SeenSet::new(&lines(capacity, 1 << shard_bits, identity_bits)).unwrap();
        let (mut model, mut sightings) = (HashSet::new(), Vec::new());
        for (act, start, count) in acts {
            let keys: Vec<_> = (start..start + count).map(key).collect();
            match act {
                0 => {
                    for key in keys {
                        prop_assert_eq!(seen.remove(key).unwrap() == Removal::Removed, model.remove(&key));
                    }
                    continue;
                }
                1 => seen.insert_batch(&keys, &mut sightings),
                2 => sightings = keys.iter().map(|&key| seen.insert(key)).collect(),
                3 => {
                    seen = SeenSet::load(&saved(&seen)[..], None).unwrap();
                    continue;
                }
                _ => {
                    prop_assert!(keys.iter().all(|key| seen.contains(*key) == model.contains(key)));
                    continue;
                }
            }
            for (&key, &sighting) in keys.iter().zip(&sightings) {
                prop_assert_eq!(sighting == Sighting::New, model.insert(key));
            }
        }
        let kept: u64 = seen.statistics().merged.generations.iter().map(|generation| generation.urls).sum();
        prop_assert_eq!(kept, model.len() as u64);
    }
}

/// Two sets of any sizes, grown or not, become one that has seen what either has.
#[test]
fn a_union_of_different_sizes_holds_both() {
    for (ours, theirs) in [(1000, 1000), (1000, 16_000), (30_000, 700), (5, 12_345)] {
        for identity_bits in [16, 38, 56] {
            let [one, other] = [(ours, 0..20_000), (theirs, 15_000..40_000)].map(|(capacity, keys)| {
                let seen = SeenSet::new(&lines(capacity, 4, identity_bits)).unwrap();
                keys.for_each(|count| {
                    seen.insert(key(count));
                });
                seen
            });
            let file = saved(&other);
            let union = one.union(&other).unwrap();
            assert!((0..40_000).all(|count| union.contains(key(count))), "{ours} and {theirs}, {identity_bits}");
            let new = (40_000..140_000).filter(|&count| !union.contains(key(count))).count() as f64;
            let stated = union.statistics().merged.false_positive_rate_estimated;
            let off = (100_000.0 - new) - stated * 1e5;
            assert!(off.abs() < 5.0 * (stated * 1e5).sqrt() + 3.0, "{new} are new, {stated} is stated");
            if identity_bits > 16 {
                assert!(stated < 1e-4, "{stated} for {ours} and {theirs}");
                let merged = union.merge(&file[..]).unwrap();
                assert!((0..40_000).all(|count| merged.contains(key(count))));
                assert_eq!(merged.remove(key(17_000)).unwrap(), Removal::Removed);
                assert!(!merged.contains(key(17_000)));
            }
        }
    }
    let [one, other] = [38, 40].map(|bits| SeenSet::new(&lines(100, 4, bits)).unwrap());
    assert_eq!(one.union(&other).unwrap_err().to_string(), "cannot be merged: the identity bits differ");
}

#[test]
fn shards_are_dealt_out_without_the_urls() {
    for (capacity, from, to) in [(30_000, 16, 1), (30_000, 1, 16), (500, 4, 64), (500, 64, 2), (1, 1, 1024)] {
        let seen = SeenSet::new(&lines(capacity, from, 38)).unwrap();
        (0..30_000).for_each(|count| {
            seen.insert(key(count));
        });
        let before = seen.statistics().merged;
        let seen = seen.reshard(to).unwrap();
        let after = seen.statistics().merged;
        assert!((0..30_000).all(|count| seen.contains(key(count))), "{capacity}: {from} to {to}");
        assert!((30_000..60_000).all(|count| !seen.contains(key(count))), "{capacity}: {from} to {to}");
        assert_eq!((after.inserted, after.tests), (before.inserted, before.tests));
        let stated = after.false_positive_rate_estimated / before.false_positive_rate_estimated;
        assert!(stated < 4.0, "{capacity}: {from} to {to}: {stated} times the rate");
        assert_eq!(seen.remove(key(5)).unwrap(), Removal::Removed);
        assert!(!seen.contains(key(5)));
    }
}

/// Over eight doublings, at three lengths, questions that were never shown are answered `seen` as often as is stated, for the whole and
/// for the audit's sample.
#[test]
fn the_rate_is_the_stated_one_over_eight_doublings() {
    for (identity_bits, asked) in [(16, 1_000_000_u64), (18, 3_000_000), (20, 8_000_000)] {
        let mut options = lines(1000, 2, identity_bits);
        options.audit = 8;
        let seen = SeenSet::new(&options).unwrap();
        let (mut shown, mut sightings, mut false_positives, mut expected) = (0_u64, Vec::new(), 0_u64, 0.0);
        for doubling in 0..=8 {
            let until = 900 << doubling;
            let keys: Vec<_> = (shown..until).map(key).collect();
            seen.insert_batch(&keys, &mut sightings);
            shown = until;
            // More questions where the rate is lower, and fresh ones.
            let questions = asked / 9;
            let start = (doubling + 1) << 40;
            let found = (start..start + questions).filter(|&count| seen.contains(key(count))).count() as u64;
            let stated = seen.statistics().merged.false_positive_rate_estimated;
            false_positives += found;
            expected += stated * questions as f64;
            let sigma = (stated * questions as f64).sqrt();
            assert!(
                (found as f64 - stated * questions as f64).abs() < 5.0 * sigma + 3.0,
                "{identity_bits}: {doubling}"
            );
        }
        let ratio = false_positives as f64 / expected;
        assert!((0.95..1.05).contains(&ratio), "{identity_bits} bits: {false_positives}, and {expected} are stated");
        let merged = seen.statistics().merged;
        assert!(merged.generations.len() >= 8, "{:?}", merged.generations);
        let lost = shown - merged.inserted;
        assert!(
            (lost as f64 - merged.expected_lost).abs() < 5.0 * merged.expected_lost.sqrt(),
            "{lost} lost: {merged:?}"
        );
        let audit = merged.audit.unwrap();
        assert!(audit.sample > 1, "it was not audited throughout: {audit:?}");
        let (stated, off) = (merged.expected_lost, audit.lost - merged.expected_lost);
        let sigma = (stated + audit.lost_variance).sqrt();
        assert!(off.abs() < 5.0 * sigma + 1.0, "{identity_bits} bits: {stated} are stated: {audit:?}");
    }
}

/// Sized, a URL takes 6.4 bytes at most; grown, between that and twice as much.
#[test]
fn bytes_a_url_are_as_stated() {
    let sized = SeenSet::new(&lines(2_000_000, 16, 38)).unwrap();
    let grown = SeenSet::new(&lines(10_000, 16, 38)).unwrap();
    let mut sightings = Vec::new();
    for start in (0..2_000_000).step_by(8192) {
        let keys: Vec<_> = (start..(start + 8192).min(2_000_000)).map(key).collect();
        for seen in [&sized, &grown] {
            seen.insert_batch(&keys, &mut sightings);
            assert!(sightings.iter().all(|&sighting| sighting == Sighting::New));
        }
        if start > 100_000 {
            let row = grown.statistics().merged;
            let each = (row.bytes - row.bytes_bookkeeping) as f64 / row.inserted as f64;
            assert!((6.2..12.8).contains(&each), "{each} bytes at {start}");
        }
    }
    let row = sized.statistics().merged;
    let each = (row.bytes - row.bytes_bookkeeping) as f64 / 2e6;
    assert!(each <= 6.45, "{each} bytes");
    assert_eq!(row.generations.len(), 1);
}

/// A fingerprint that was split more often than it has bits stands in both halves, and is not lost.
#[test]
fn what_has_no_bits_left_is_still_seen() {
    let seen = SeenSet::new(&lines(1, 1, 16)).unwrap();
    let keys: Vec<_> = (0..1_500_000).map(key).collect();
    seen.insert_batch(&keys, &mut Vec::new());
    assert_eq!(seen.statistics().merged.generations[0].identity_bits, 0);
    assert!(keys.iter().all(|&key| seen.contains(key)));
}

/// No insert waits for a doubling; the first ones do wait, for the huge pages of a table that was made at once. What else goes on in the
/// machine holds inserts up too, but not the same ones in each of several runs.
#[test]
#[ignore = "takes a minute and 1.3 GB; measures, so in release"]
fn no_insert_waits_for_a_doubling() {
    const MOST: u128 = 50_000;
    let urls = 100_000_000;
    let mut slow: Option<std::collections::BTreeMap<u64, u128>> = None;
    let mut longest = Vec::new();
    for _ in 0..4 {
        // Of sizes at which all shards double once, and then once more at the end.
        let seen = SeenSet::new(&lines(26_000_000, 16, 38)).unwrap();
        let mut these = std::collections::BTreeMap::new();
        for count in 0..urls {
            let fingerprint = key(count);
            let start = std::time::Instant::now();
            seen.insert(fingerprint);
            let took = start.elapsed().as_nanos();
            if took > MOST / 10 && count > urls / 10 {
                these.insert(count, took);
            }
        }
        longest.push(these.values().copied().max().unwrap_or(0));
        let both = |before: std::collections::BTreeMap<u64, u128>| {
            let least = |(count, took)| these.get(&count).map(|&now| (count, now.min(took)));
            before.into_iter().filter_map(least).collect()
        };
        slow = Some(slow.map_or_else(|| these.clone(), both));
        assert!(seen.statistics().merged.generations.len() > 2);
    }
    let slow = slow.unwrap();
    let most = slow.values().copied().max().unwrap_or(0);
    println!(
        "longest of each run, in ns: {longest:?}; slow in all of them: {} inserts, the longest {most} ns",
        slow.len()
    );
    assert!(most <= MOST, "{slow:?}");
}

/// Where a union has made slots that stand for much, a border between the most shards lies inside some of them.
#[test]
fn what_lies_across_a_border_of_shards_is_dealt_to_both_sides() {
    let [one, other] = [(1000, 0..3000), (700, 3000..6000)].map(|(capacity, keys)| {
        let seen = SeenSet::new(&lines(capacity, 1, 16)).unwrap();
        keys.for_each(|count| {
            seen.insert(key(count));
        });
        seen
    });
    let union = one.union(&other).unwrap();
    let slots = |seen: &SeenSet| seen.statistics().merged.generations.iter().map(|of| of.urls).sum::<u64>();
    let before = slots(&union);
    let seen = union.reshard(1 << 16).unwrap();
    assert!((0..6000).all(|count| seen.contains(key(count))));
    assert!(slots(&seen) > before, "none lies across a border");
}
