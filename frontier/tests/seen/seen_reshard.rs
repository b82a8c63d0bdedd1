//! A set in another number of shards answers as before.

use std::fs;

use crawler_frontier::address::{Fingerprint, FingerprintKey};
use crawler_frontier::seen::{Layout, OnFull, Removal, SeenError, SeenOptions, SeenSet, SeenStatistics, Sighting};

fn key(count: u64) -> Fingerprint {
    FingerprintKey::from_u64(9).fingerprint_bytes(&count.to_le_bytes())
}

fn options(layout: Layout, capacity: u64, shards: usize) -> SeenOptions {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.shards) = (layout, capacity, shards);
    (options.false_positive_rate, options.audit) = (0.05, 4);
    options.directory = Some(std::env::temp_dir());
    options
}

fn filled(layout: Layout, capacity: u64, shards: usize, urls: u64) -> SeenSet {
    filled_as(&options(layout, capacity, shards), urls)
}

fn filled_as(options: &SeenOptions, urls: u64) -> SeenSet {
    let seen = SeenSet::new(options).unwrap();
    for count in 0..urls {
        seen.insert(key(count));
    }
    seen
}

/// Of keys shown and keys not shown, those that it takes for seen.
fn answers(seen: &SeenSet, urls: u64) -> Vec<bool> {
    (0..3 * urls).map(|count| seen.contains(key(count))).collect()
}

#[test]
fn lines_side_by_side_are_one_filter() {
    // Once in a single layer, and once in several, of which the shards have not all begun the last; and once of a set
    // of which a sample is audited, not all.
    for (capacity, urls) in [(20_000, 10_000), (2_000, 9_000), (160_000, 80_000)] {
        for shards in [8, 2, 1] {
            let seen = filled(Layout::Blocked, capacity, 16, urls);
            let (before, as_before) = (seen.statistics().merged, answers(&seen, urls));
            let seen = seen.reshard(shards).unwrap();
            assert_eq!(seen.options().shards, shards);
            assert!(answers(&seen, urls) == as_before, "{shards} shards of {urls}");
            let after = seen.statistics().merged;
            assert_eq!((after.bits_set, after.inserted, after.tests), (before.bits_set, before.inserted, before.tests));
            let (audit, audit_before) = (after.audit.clone().unwrap(), before.audit.unwrap());
            assert_eq!((audit.shown, audit.false_positives), (audit_before.shown, audit_before.false_positives));
            assert_eq!((audit.distinct, audit.lost), (audit_before.distinct, audit_before.lost));
            assert_eq!(audit.lost_variance > 0.0, urls == 80_000, "{audit:?}");
            assert!(after.false_positive_rate_estimated < 0.06, "{after:?}");
            // And it goes on, into further layers.
            let lost = (urls..4 * urls).filter(|&count| seen.insert(key(count)) == Sighting::Seen).count() as f64;
            assert!(lost / (3.0 * urls as f64) < 0.055, "{lost} lost");
            assert!((0..4 * urls).all(|count| seen.insert(key(count)) == Sighting::Seen));
            let audit = seen.statistics().merged.audit.unwrap();
            assert!((audit.distinct / (4 * urls) as f64 - 1.0).abs() < 0.01, "{audit:?} of {urls}");
        }
    }
}

#[test]
fn lines_that_divide_make_more_shards() {
    for urls in [10_000, 90_000] {
        let seen = filled(Layout::Blocked, 2 * urls, 16, urls).reshard(1).unwrap();
        let (before, as_before) = (seen.statistics().merged, answers(&seen, urls));
        let seen = seen.reshard(16).unwrap();
        assert!(answers(&seen, urls) == as_before);
        let statistics = seen.statistics();
        assert_eq!(statistics.merged.bits_set, before.bits_set);
        assert_eq!(statistics.merged.inserted, before.inserted);
        let audited = before.audit.unwrap();
        assert_eq!(statistics.merged.audit.unwrap(), audited);
        assert_eq!(audited.sample > 1, urls == 90_000);
        let share = |bits_set: u64| bits_set as f64 / before.bits_set as f64 * 16.0;
        assert!(statistics.shards.iter().all(|shard| (0.8..1.2).contains(&share(shard.bits_set))));
        // The audit knows those shown before, wherever they are now.
        for count in 0..urls {
            seen.insert(key(count));
        }
        let again = seen.statistics().merged;
        assert_eq!(again.audit.unwrap(), audited);
    }

    let odd = filled(Layout::Blocked, 20_000, 1, 0).reshard(1 << 10).map(drop).unwrap_err();
    assert_eq!(
        odd.to_string(),
        "the blocked layout cannot reshard: its lines do not divide evenly among this number of shards"
    );
}

/// A shard made of shards, or of a part of one, has room for what it was made from, and no more.
#[test]
fn layers_have_the_room_of_those_they_were_made_of() {
    for (before, after) in [(16, 16), (16, 4), (16, 1), (4, 16), (1, 4)] {
        // The lines of 16 shards, side by side, divide again.
        let seen = filled(Layout::Blocked, 20_000, 16, 10_000).reshard(before).unwrap();
        let seen = seen.reshard(after).unwrap();
        let statistics = seen.statistics();
        assert_eq!(statistics.merged.capacity, 20_000, "{before} to {after}");
        assert!(statistics.shards.iter().all(|shard| shard.capacity == 20_000 / after as u64));
        let layers = |seen: &SeenSet| seen.statistics().merged.layers;
        for count in 10_000..18_000 {
            seen.insert(key(count));
        }
        assert_eq!(layers(&seen), after as u64, "{before} to {after}: nine tenths full");
        for count in 18_000..24_000 {
            seen.insert(key(count));
        }
        assert_eq!(layers(&seen), 2 * after as u64, "{before} to {after}: a fifth too many");
    }
}

#[test]
fn a_set_that_is_full_stays_so() {
    let mut options = options(Layout::Blocked, 20_000, 16);
    options.on_full = OnFull::Stop;
    for (before, after) in [(16, 4), (16, 1), (4, 16), (1, 4)] {
        for (urls, full) in [(10_000, 0), (25_000, after)] {
            let seen = filled_as(&options, urls).reshard(before).unwrap().reshard(after).unwrap();
            seen.insert(key(1 << 40));
            assert_eq!(seen.is_full(), full > 0, "{before} to {after} with {urls}");
            assert_eq!(seen.statistics().merged.full, full as u64, "{before} to {after} with {urls}");
        }
    }
}

#[test]
fn fingerprints_that_are_kept_go_anywhere() {
    for layout in [Layout::Exact, Layout::Verified] {
        for (from, to) in [(16, 4), (4, 16), (1, 64), (64, 1)] {
            let seen = filled(layout, 10_000, from, 30_000);
            seen.insert(Fingerprint::from_bits(0));
            if layout.forgets() {
                seen.insert(key(1 << 40));
                assert_eq!(seen.remove(key(1 << 40)).unwrap(), Removal::Removed);
            }
            // Some once more: of that only the counts know.
            (0..1000).for_each(|count| assert_eq!(seen.insert(key(count)), Sighting::Seen));
            let SeenStatistics { merged: before, shards, .. } = seen.statistics();
            let seen = seen.reshard(to).unwrap();
            let after = seen.statistics();
            assert_eq!(after.shards.len(), to);
            for (index, shard) in after.shards.iter().enumerate() {
                // A shard has what its parts had, and of parts the first all.
                let parts = shards.iter().enumerate().filter(|(old, _)| old * to / from == index);
                assert_eq!(shard.tests, parts.map(|(_, old)| old.tests).sum::<u64>(), "{from} to {to}: {index}");
            }
            assert_eq!((after.merged.inserted, after.merged.tests), (before.inserted, before.tests));
            assert_eq!(after.merged.removed, u64::from(layout.forgets()));
            assert!((after.merged.cardinality - before.cardinality).abs() < 1e-2);
            let looked_up =
                |row: &crawler_frontier::seen::ShardStatistics| row.verified.as_ref().map(|verified| verified.lookups);
            assert_eq!(looked_up(&after.merged), looked_up(&before));
            assert!((0..30_000).all(|count| seen.contains(key(count)) && !seen.contains(key(count + 30_000))));
            assert!(seen.contains(Fingerprint::from_bits(0)));
        }
    }
}

#[test]
fn a_disk_that_fails_on_the_way_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("below");
    let mut options = options(Layout::Verified, 10_000, 4);
    options.directory = Some(below.clone());
    let seen = filled_as(&options, 10_000);
    fs::remove_dir(&below).unwrap();
    fs::write(&below, "no directory").unwrap();
    assert!(matches!(seen.reshard(2).unwrap_err(), SeenError::Disk { .. }));
}

#[test]
fn bits_without_a_place_stay_where_they_are() {
    for layout in [Layout::Counting, Layout::Partitioned, Layout::Standard] {
        let error = filled(layout, 1000, 4, 100).reshard(2).map(drop).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the {layout} layout cannot reshard: a bit does not tell which shard its URL belongs to")
        );
        assert!(filled(layout, 1000, 4, 100).reshard(4).is_ok(), "as many as there are");
    }
    let error = filled(Layout::Quotient, 1000, 4, 100).reshard(2).map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the quotient layout cannot reshard: an item of its further levels does not tell which shard its URL belongs to"
    );
    let error = filled(Layout::Blocked, 1000, 4, 100).reshard(3).map(drop).unwrap_err();
    assert!(matches!(error, SeenError::Option { option: "shards", .. }));
    let error = filled(Layout::Verified, 1000, 4, 100).reshard(128).map(drop).unwrap_err();
    assert!(matches!(error, SeenError::Option { option: "shards", .. }));
}
