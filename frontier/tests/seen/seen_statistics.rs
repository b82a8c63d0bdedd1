//! The seen set in numbers: what it says is what there is.

use std::collections::HashSet;

use crawler_frontier::address::Fingerprint;
use crawler_frontier::seen::{
    Layout, OnFull, Removal, SeenSet, SeenStatistics, ShardStatistics, Sighting, VerifiedStatistics,
};

use crate::sets::{LAYOUTS, fingerprints, options, set};

/// Shows so many distinct ones; how many were lost.
fn show(seen: &SeenSet, urls: usize) -> usize {
    fingerprints(0).take(urls).filter(|&key| seen.insert(key) == Sighting::Seen).count()
}

type Count = fn(&ShardStatistics) -> u64;

/// A crawl of 18,638 pages was once told that it had lost "0 measured (0 to 3,727)".
#[test]
fn the_audit_counts_all_that_a_small_set_lost() {
    for (shards, urls) in [(16, 18_638), (1, 50_000), (256, 40_000)] {
        let seen = set(Layout::Blocked, 5_000, 0.05, shards);
        let lost = show(&seen, urls) as f64;
        let audit = seen.statistics().merged.audit.unwrap();
        assert!(lost > 20.0, "{lost}");
        assert_eq!((audit.sample, audit.shown), (1, urls as u64));
        assert_eq!((audit.lost_low, audit.lost, audit.lost_high), (lost, lost, lost));
        assert!(audit.tells());
    }
}

/// From a set that is audited throughout to one of which a URL in 64 is.
#[test]
fn the_audit_measures_what_was_lost() {
    for (shards, urls) in [(16, 80_000), (1, 300_000), (16, 2_000_000)] {
        let seen = set(Layout::Blocked, urls as u64 / 4, 0.05, shards);
        let lost = show(&seen, urls) as f64;
        let audit = seen.statistics().merged.audit.unwrap();
        assert!((57_000..300_000).contains(&audit.shown), "{audit:?}");
        assert!(audit.sample > 1 && f64::from(audit.sample) < urls as f64 / 20_000.0, "{audit:?}");
        assert!((audit.distinct / urls as f64 - 1.0).abs() < 0.02, "{audit:?}");
        assert!(audit.lost_low < lost && lost < audit.lost_high, "{audit:?} of {lost}");
        assert!(audit.tells() && audit.lost_high / audit.lost_low < 1.8, "{audit:?}");
        // A URL that is shown again is not counted again.
        show(&seen, urls);
        assert_eq!(seen.statistics().merged.audit.unwrap().shown, audit.shown);
    }
    assert_eq!(set(Layout::Verified, 10, 0.1, 1).statistics().merged.audit, None);
}

/// What an interval says that is wider than the number it is for: nothing.
#[test]
fn an_interval_that_says_nothing_does_not_tell() {
    let seen = set(Layout::Blocked, 1_000_000, 1e-6, 16);
    show(&seen, 400_000);
    let audit = seen.statistics().merged.audit.unwrap();
    assert_eq!((audit.false_positives, audit.tells()), (0, false), "{audit:?}");
    assert!(audit.lost_high < 400_000.0 * 2e-4, "{audit:?}");
}

#[test]
fn the_audits_interval_covers_the_truth() {
    // In a set of this number of shards each holds 56 URLs of its sample at most.
    const URLS: usize = 100_000;
    let mut options = options(Layout::Blocked, URLS as u64 / 8, 0.04, 1024);
    options.open_ended = false;
    let (mut off, mut variance) = (0.0, 0.0);
    let trials = 300;
    let covered = (0..trials)
        .filter(|&trial| {
            let seen = SeenSet::new(&options).unwrap();
            let keys: Vec<_> = fingerprints(100 + trial).take(URLS).collect();
            let mut sightings = Vec::new();
            seen.insert_batch(&keys, &mut sightings);
            let lost = sightings.iter().filter(|&&sighting| sighting == Sighting::Seen).count() as f64;
            let audit = seen.statistics().merged.audit.unwrap();
            (off, variance) = (off + audit.lost - lost, variance + audit.lost_variance);
            (audit.lost_low..=audit.lost_high).contains(&lost)
        })
        .count();
    assert!(off.abs() < 3.5 * f64::sqrt(variance), "the estimate is without bias: off by {off}, {variance}");
    // Of 300 trials 285 are expected where 95 % are; the interval may cover a little more, but not everything.
    assert!((274..300).contains(&covered), "{covered} of {trials}");
}

#[test]
fn the_set_costs_what_it_says() {
    let bits_per_url = |layout, urls: u64, open_ended| {
        let mut options = options(layout, urls, 1e-4, 16);
        options.open_ended = open_ended;
        SeenSet::new(&options).unwrap().statistics().merged.bytes as f64 * 8.0 / urls as f64
    };
    // Nothing is touched, so the size costs no time.
    let blocked = bits_per_url(Layout::Blocked, 100_000_000, false);
    assert!((23.6..24.0).contains(&blocked), "{blocked}");
    assert!((19.2..19.6).contains(&bits_per_url(Layout::Standard, 100_000_000, false)));
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

/// In shards of different sizes, with layers, repetitions, batches and removals.
#[test]
fn the_merged_row_is_made_of_the_shards_rows() {
    for layout in LAYOUTS {
        let mut options = options(layout, 1000, 0.1, 4);
        options.audit = 4;
        let seen = SeenSet::new(&options).unwrap();
        assert_eq!((seen.tests(), seen.statistics().merged.inserted), (0, 0));
        // Into the first shard most fall, and into the second none.
        let keys: Vec<_> = fingerprints(0).take(9000).filter(|&key| seen.shard_of(key) != 1).collect();
        let first: Vec<_> =
            keys.iter().copied().filter(|&key| seen.shard_of(key) == 0 || key.bits() % 3 == 0).collect();
        seen.insert_batch(&first, &mut Vec::new());
        seen.insert_batch(&first[..1000], &mut Vec::new());
        for (place, &key) in keys.iter().enumerate() {
            if place % 5 == 0 {
                seen.insert(key);
            } else if place < 200 && layout.forgets() {
                seen.remove(key).unwrap();
            }
        }

        let SeenStatistics { merged, shards, .. } = seen.statistics();
        assert_eq!((seen.tests(), seen.bytes()), (merged.tests, merged.bytes), "{layout}");
        let sums: [(&str, Count); 12] = [
            ("capacity", |row| row.capacity),
            ("inserted", |row| row.inserted),
            ("tests", |row| row.tests),
            ("removed", |row| row.removed),
            ("batches", |row| row.batches),
            ("batched", |row| row.batched),
            ("layers", |row| row.layers),
            ("full", |row| row.full),
            ("bits", |row| row.bits),
            ("bits_set", |row| row.bits_set),
            ("bytes", |row| row.bytes),
            ("bytes_bookkeeping", |row| row.bytes_bookkeeping),
        ];
        for (name, count) in sums {
            assert_eq!(count(&merged), shards.iter().map(count).sum::<u64>(), "{layout}: {name}");
        }
        let close = |name: &str, merged: f64, expected: f64| {
            assert!((merged - expected).abs() <= 1e-9 * expected, "{layout}: {name} {merged}, not {expected}");
        };
        let sum = |value: fn(&ShardStatistics) -> f64| shards.iter().map(value).sum::<f64>();
        close("cardinality", merged.cardinality, sum(|row| row.cardinality));
        close("expected_lost", merged.expected_lost, sum(|row| row.expected_lost));
        let rate = |row: &ShardStatistics| row.false_positive_rate_estimated;
        close("rate", rate(&merged), sum(|row| row.false_positive_rate_estimated) / 4.0);
        for row in shards.iter().chain([&merged]) {
            close("fill", row.fill_ratio, row.bits_set as f64 / row.bits as f64);
            close("mean rate", row.false_positive_rate_mean, row.expected_lost / row.cardinality.max(1e-9));
            close("target", row.false_positive_rate_target, shards[3].false_positive_rate_target);
        }
        assert_eq!(Some(merged.probes), shards.iter().map(|row| row.probes).max());
        let audits: Vec<_> = shards.iter().filter_map(|row| row.audit.as_ref()).collect();
        if let Some(audit) = &merged.audit {
            assert_eq!((audit.sample, audits.len()), (1, 4));
            assert_eq!(audit.shown, audits.iter().map(|audit| audit.shown).sum::<u64>());
            assert_eq!(audit.false_positives, audits.iter().map(|audit| audit.false_positives).sum::<u64>());
            close("audited", audit.rate, audit.false_positives as f64 / audit.shown as f64);
            close("audited", audit.lost, audit.false_positives as f64);
            close("audited", audit.distinct, audit.shown as f64);
        }
        let each: Vec<_> = shards.iter().filter_map(|row| row.verified.as_ref()).collect();
        if let Some(verified) = &merged.verified {
            let sum = |count: fn(&VerifiedStatistics) -> u64| each.iter().map(|row| count(row)).sum::<u64>();
            assert_eq!((verified.lookups, verified.rescued), (sum(|row| row.lookups), sum(|row| row.rescued)));
            assert_eq!((verified.runs, verified.disk_bytes), (sum(|row| row.runs), sum(|row| row.disk_bytes)));
            assert_eq!(
                (verified.pages_read, verified.from_memory),
                (sum(|row| row.pages_read), sum(|row| row.from_memory))
            );
            assert_eq!((verified.bytes_written, verified.failures), (sum(|row| row.bytes_written), 0));
        }
        // What there is to merge is there.
        assert!(merged.batches >= 2 && shards[1].tests == 0, "{merged:?}");
        assert_eq!(shards[0].layers > 1, layout != Layout::Exact);
        assert_eq!(
            merged
                .audit
                .is_some_and(|audit| audit.shown > 500 && (audit.false_positives > 5) == (layout != Layout::Exact)),
            audits.len() == 4
        );
        assert_eq!(merged.removed > 0, layout.forgets());
        assert!(layout != Layout::Verified || merged.verified.is_some_and(|row| row.runs > 1 && row.lookups > 1000));
    }
}

#[test]
fn a_batch_takes_the_lock_of_each_of_its_shards_once() {
    for shards in [1, 4, 256, 512, 4096] {
        let seen = set(Layout::Blocked, 10_000, 0.01, shards);
        let keys: Vec<_> = fingerprints(0).take(2 * 4096).collect();
        seen.insert_batch(&keys, &mut Vec::new());
        let distinct = |keys: &[Fingerprint]| keys.iter().map(|&key| seen.shard_of(key)).collect::<HashSet<_>>().len();
        let locks = if shards == 1 { 1 } else { keys.chunks(4096).map(distinct).sum() };
        let merged = seen.statistics().merged;
        assert_eq!((merged.batches, merged.batched), (locks as u64, 8192), "{shards} shards");
    }
}

/// Layer after layer, errors of the filter and all: a batch is a faster way to ask the same.
#[test]
fn batches_leave_what_their_urls_leave_one_by_one() {
    for (layout, (rate, shards)) in
        LAYOUTS.into_iter().flat_map(|layout| [(0.1, 1), (1e-2, 4), (1e-5, 2)].map(|of| (layout, of)))
    {
        let mut options = options(layout, 1000, rate, shards);
        options.audit = 2;
        let [together, apart] = [(); 2].map(|()| SeenSet::new(&options).unwrap());
        let keys: Vec<_> = fingerprints(0).take(12_000).collect();
        // Each is shown again, most of them when there are more layers.
        let keys: Vec<_> =
            keys.iter().zip(&keys[..6000]).flat_map(|(new, old)| [*new, *old]).chain(keys.clone()).collect();
        let mut sightings = Vec::new();
        for batch in keys.chunks(700) {
            together.insert_batch(batch, &mut sightings);
            let expected: Vec<_> = batch.iter().map(|&key| apart.insert(key)).collect();
            assert_eq!(sightings, expected, "{layout}, {rate}");
        }
        let [one, other] = [together, apart].map(|seen| {
            let mut rows = seen.statistics().shards;
            for row in &mut rows {
                (row.batches, row.batched, row.lock_waits) = (0, 0, 0);
            }
            rows
        });
        assert_eq!(one, other, "{layout}, {rate}");
        assert!(layout == Layout::Exact || one.iter().all(|row| row.layers > 2), "{one:?}");
    }
}

#[test]
fn what_is_removed_makes_room_and_is_new_to_the_audit() {
    for layout in [Layout::Counting, Layout::Exact] {
        let mut options = options(layout, 1000, 0.01, 1);
        (options.on_full, options.audit) = (OnFull::Stop, 1);
        let seen = SeenSet::new(&options).unwrap();
        let keys: Vec<_> = fingerprints(0).take(1500).collect();
        let new: Vec<_> = keys[..900].iter().copied().filter(|&key| seen.insert(key) == Sighting::New).collect();
        for &key in &new[..600] {
            seen.remove(key).unwrap();
        }
        for &key in &keys[1000..] {
            seen.insert(key);
        }
        assert!(!seen.is_full(), "{layout}: 300 and 500 of 1000");
        let shown = |seen: &SeenSet| seen.statistics().merged.audit.map(|audit| audit.shown);
        let before = shown(&seen);
        assert!(before.is_none_or(|shown| shown == 1400), "{before:?}");
        for &key in &new[..100] {
            seen.insert(key);
        }
        assert_eq!(shown(&seen), before.map(|shown| shown + 100));
    }
}

#[test]
fn of_what_is_removed_nothing_stays() {
    for layout in [Layout::Counting, Layout::Exact] {
        let seen = set(layout, 1000, 1e-6, 2);
        let keys: Vec<_> = fingerprints(0).take(400).collect();
        assert_eq!(keys[0].bits(), 0, "which is kept apart");
        assert!(keys.iter().all(|&key| seen.insert(key) == Sighting::New));
        assert!(seen.statistics().merged.bits_set > 400);
        assert!(keys.iter().all(|&key| seen.remove(key).unwrap() == Removal::Removed));
        let merged = seen.statistics().merged;
        assert_eq!((merged.bits_set, merged.removed), (0, 400), "{layout}");
        assert!(keys.iter().all(|&key| !seen.contains(key)));
    }
}

/// What older layers took for seen never came to the newest, and is in the numbers nevertheless.
#[test]
fn layers_that_err_much_are_reckoned_with() {
    for layout in [Layout::Blocked, Layout::Partitioned, Layout::Standard] {
        let mut options = options(layout, 2000, 0.4, 1);
        options.open_ended = true;
        let seen = SeenSet::new(&options).unwrap();
        let probes = seen.statistics().merged.probes;
        let lost = show(&seen, 200_000) as f64;
        let merged = seen.statistics().merged;
        assert!(lost > 10_000.0 && merged.layers > 3, "{lost} of {} layers", merged.layers);
        assert!((merged.cardinality / 200_000.0 - 1.0).abs() < 0.01, "{layout}: {} distinct", merged.cardinality);
        assert!((merged.expected_lost / lost - 1.0).abs() < 0.05, "{layout}: {} for {lost}", merged.expected_lost);
        // The first has the lowest rate, and so the most.
        assert_eq!(merged.probes, probes, "{layout}");
    }
}

#[test]
fn a_filter_that_is_full_says_a_number() {
    for layout in LAYOUTS {
        let mut options = options(layout, 1, 0.9, 1);
        options.on_full = OnFull::Warn;
        let seen = SeenSet::new(&options).unwrap();
        show(&seen, 20_000);
        let merged = seen.statistics().merged;
        assert!(merged.cardinality <= 20_000.01 && merged.cardinality > 0.0, "{merged:?}");
        assert!(merged.expected_lost.is_finite() && merged.false_positive_rate_estimated <= 1.0, "{merged:?}");
        assert_eq!(merged.false_positive_rate_estimated < 1e-8, matches!(layout, Layout::Exact | Layout::Verified));
    }
}

#[test]
fn what_stands_beside_the_filter_is_in_the_bytes() {
    let beside = |layout, audit| {
        let mut options = options(layout, 32_000, 0.01, 16);
        options.audit = audit;
        SeenSet::new(&options).unwrap().statistics().merged.bytes_bookkeeping
    };
    let without = beside(Layout::Blocked, 0);
    assert!(without < 16 * 1024, "{without}");
    // Nothing before the first URL; then 9 bytes for each slot of a table of 65,536, in parts.
    assert!(beside(Layout::Blocked, 1024) - without < 5000);
    let bytes = |urls| {
        let seen = set(Layout::Blocked, 1_000_000, 0.01, 16);
        show(&seen, urls);
        seen.statistics().merged.bytes_bookkeeping - without
    };
    for urls in [50_000, 200_000, 1_000_000] {
        assert!((9 << 15..(9 << 16) + 6000).contains(&bytes(urls)), "{}", bytes(urls));
    }
    let verified = beside(Layout::Verified, 2) - without;
    assert!((16 * 12_000..16 * 18_000).contains(&verified), "{verified}");
}
