//! A saved seen set comes back as it was, or with an error that says why not; two of a kind make one.

use std::error::Error;
use std::path::Path;

use crawler_frontier::address::{Fingerprint, FingerprintKey};
use crawler_frontier::seen::{Layout, OnFull, SeenOptions, SeenSet, SeenStatistics, Sighting, SnapshotError};
use proptest::prelude::*;

fn key(count: u64) -> Fingerprint {
    FingerprintKey::from_u64(1).fingerprint_bytes(&count.to_le_bytes())
}

fn options(layout: Layout, capacity: u64) -> SeenOptions {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.shards) = (layout, capacity, 2);
    (options.audit, options.key) = (4, FingerprintKey::from_u64(42));
    options.directory = (layout == Layout::Verified).then(std::env::temp_dir);
    options
}

fn filled(options: &SeenOptions, keys: impl IntoIterator<Item = u64>) -> SeenSet {
    let seen = SeenSet::new(options).unwrap();
    for count in keys {
        seen.insert(key(count));
    }
    seen
}

fn saved(seen: &SeenSet) -> Vec<u8> {
    let mut file = Vec::new();
    seen.save(&mut file).unwrap();
    file
}

fn load(file: &[u8]) -> Result<SeenSet, SnapshotError> {
    SeenSet::load_in(file, None, Some(&std::env::temp_dir()))
}

/// Both ways to make one of two.
fn united(one: SeenSet, other: &SeenSet, in_memory: bool) -> Result<SeenSet, SnapshotError> {
    if in_memory { one.union(other) } else { one.merge(&saved(other)[..]) }
}

/// Without where the fingerprints of the verified layout lie: in memory, or in how many runs.
fn statistics(seen: &SeenSet) -> SeenStatistics {
    let mut statistics = seen.statistics();
    for row in statistics.shards.iter_mut().chain([&mut statistics.merged]) {
        if let Some(verified) = &mut row.verified {
            (verified.runs, verified.disk_bytes, verified.bytes_written) = (0, 0, 0);
            (row.bytes, row.bytes_bookkeeping) = (0, 0);
        }
    }
    statistics
}

#[test]
fn an_audit_of_a_sample_comes_back_and_goes_on() {
    let mut options = options(Layout::Blocked, 100_000);
    (options.audit, options.false_positive_rate) = (1024, 0.1);
    let audit = |seen: &SeenSet| seen.statistics().merged.audit.unwrap();
    let seen = filled(&options, 0..90_000);
    let again = load(&saved(&seen)).unwrap();
    assert_eq!((audit(&seen).sample, audit(&again)), (2, audit(&seen)));
    for count in 45_000..250_000 {
        assert_eq!(seen.insert(key(count)), again.insert(key(count)));
    }
    assert_eq!((audit(&seen).sample, audit(&again)), (8, audit(&seen)));

    // Of a set that is audited throughout, and of one with a sample: neither is counted again.
    for in_memory in [true, false] {
        let (all, sample) = (filled(&options, 0..20_000), filled(&options, 20_000..160_000));
        let [one, other] = [audit(&all), audit(&sample)];
        assert_eq!((one.sample, other.sample), (1, 4));
        let (large, small) = if in_memory { (sample, all) } else { (all, sample) };
        let union = united(large, &small, in_memory).unwrap();
        for count in 0..160_000 {
            union.insert(key(count));
        }
        let of_both = audit(&union);
        assert_eq!((of_both.shown, of_both.sample), (one.shown + other.shown, 4));
        assert_eq!((of_both.lost, of_both.distinct), (one.lost + other.lost, one.distinct + other.distinct));
        let variance = (of_both.lost_variance - other.lost_variance).abs();
        assert!(variance <= f64::EPSILON * other.lost_variance, "{variance}");
    }
}

#[test]
fn what_was_saved_comes_back() {
    for layout in Layout::ALL {
        // Beyond its capacity, so that there are layers.
        let seen = filled(&options(layout, 500), 0..3000);
        seen.insert(Fingerprint::from_bits(0));
        let same = Some(FingerprintKey::from_u64(42));
        let back = SeenSet::load_in(&saved(&seen)[..], same, Some(&std::env::temp_dir())).unwrap();
        assert_eq!(back.options().capacity, seen.options().capacity);
        assert_eq!(statistics(&back), statistics(&seen), "{layout}");
        assert!((0..3000).all(|count| back.contains(key(count))));
        // And goes on as the one that was saved, into further layers.
        for count in 3000..6000 {
            assert_eq!(back.insert(key(count)), seen.insert(key(count)), "{layout}");
        }
        assert_eq!(back.statistics().merged.bits_set, seen.statistics().merged.bits_set);
    }
}

#[test]
fn the_verified_layout_comes_back_where_it_is_told_to() {
    let seen = filled(&options(Layout::Verified, 500), 0..3000);
    let file = saved(&seen);
    let error = SeenSet::load(&file[..], None).unwrap_err();
    let source = error.source().unwrap().to_string();
    assert_eq!(source, "directory = none: the verified layout needs one for its fingerprints");
    // Whatever way it came to hold them, and in whatever runs they lie.
    let backwards = filled(&options(Layout::Verified, 500), (0..3000).rev());
    assert_eq!(statistics(&load(&saved(&load(&file).unwrap())).unwrap()), statistics(&seen));
    for set in [&load(&file).unwrap(), &backwards] {
        assert!((0..3000).all(|count| set.contains(key(count)) && !set.contains(key(count + 3000))));
        assert_eq!(set.statistics().merged.cardinality.to_bits(), 3000_f64.to_bits());
    }
    let unordered = with_words(&file, |words| words.swap(0, 1));
    let error = load(&unordered).unwrap_err().to_string();
    assert!(error.ends_with("fingerprints that do not ascend"), "{error}");
}

/// The same file with a change in its last frame of words, under a right checksum.
fn with_words(file: &[u8], change: impl Fn(&mut Vec<[u8; 8]>)) -> Vec<u8> {
    let mut frames = Vec::new();
    let mut at = 12;
    while at < file.len() {
        let length = u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        frames.push(at..at + 12 + length);
        at += 12 + length;
    }
    // The last frame is empty.
    let (number, frame) = frames.iter().enumerate().rev().nth(1).unwrap();
    let mut words = file[frame.start + 4..frame.end - 8].as_chunks().0.to_vec();
    change(&mut words);
    let payload = words.as_flattened();
    let checksum = FingerprintKey::from_u64(number as u64).fingerprint_bytes(payload).bits();
    let mut changed = file.to_vec();
    changed[frame.start + 4..frame.end - 8].copy_from_slice(payload);
    changed[frame.end - 8..frame.end].copy_from_slice(&checksum.to_le_bytes());
    changed
}

#[test]
fn a_full_set_comes_back_full() {
    let mut options = options(Layout::Blocked, 100);
    (options.on_full, options.bits_per_url, options.probes) = (OnFull::Stop, Some(30.0), Some(16));
    let seen = filled(&options, 0..300);
    assert!(seen.is_full());
    let back = load(&saved(&seen)).unwrap();
    assert!(back.is_full());
    options.directory.clone_from(&back.options().directory);
    assert!(back.options() == &options);
}

/// What is in the files under `tests/data` was written by format version 2, the first with a sample of its own in each audit.
#[test]
fn version_2_is_read_and_written_as_ever() {
    for layout in Layout::ALL {
        let seen = filled(&options(layout, 20), 0..40);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/data/seen-2-{layout}"));
        if std::env::var_os("WRITE_GOLDEN").is_some() {
            std::fs::write(&path, saved(&seen)).unwrap();
        }
        let golden = std::fs::read(&path).unwrap();
        assert_eq!(statistics(&load(&golden).unwrap()), statistics(&seen), "{layout}");
        assert!(saved(&seen) == golden, "{layout} is written differently");
    }
}

#[test]
fn every_flipped_bit_and_every_missing_end_is_noticed() {
    for layout in [Layout::Blocked, Layout::Exact, Layout::Verified] {
        let file = saved(&filled(&options(layout, 20), 0..40));
        // Each load makes files; frames are checked before what is in them, whatever the layout.
        let step = if layout == Layout::Verified { 7 } else { 1 };
        for place in (0..file.len()).step_by(step) {
            let mut flipped = file.clone();
            flipped[place] ^= 1 << (place % 8);
            let error = load(&flipped).unwrap_err();
            match place {
                0..8 => assert!(matches!(error, SnapshotError::Unknown)),
                8..12 => assert!(matches!(error, SnapshotError::Version { .. })),
                _ => assert!(
                    matches!(error, SnapshotError::Damaged { .. } | SnapshotError::Short { .. }),
                    "byte {place}: {error}"
                ),
            }
            let error = load(&file[..place]).unwrap_err();
            assert!(matches!(error, SnapshotError::Short { .. }), "{place} bytes: {error}");
        }
        let longer = [&file[..], &[0]].concat();
        let error = load(&longer).unwrap_err();
        assert_eq!(error.to_string(), format!("damaged at byte {}: bytes after the end", file.len()));
    }
}

/// The same file with a header that says something else, under a right checksum.
fn with_header(file: &[u8], change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut file = file.to_vec();
    let length = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    change(&mut file[16..16 + length]);
    let checksum = FingerprintKey::from_u64(0).fingerprint_bytes(&file[16..16 + length]).bits();
    file[16 + length..][..8].copy_from_slice(&checksum.to_le_bytes());
    file
}

#[test]
fn what_this_version_cannot_read_is_refused() {
    let file = saved(&filled(&options(Layout::Blocked, 20), 0..40));
    let error = |file: &[u8]| load(file).unwrap_err().to_string();
    let mut newer = file.clone();
    newer[8] = 3;
    assert_eq!(error(&newer), "format version 3 is unknown to this version, which has 2");
    let strategy = with_header(&file, |header| header[0] = 9);
    assert_eq!(error(&strategy), "hash strategy 9 is unknown to this version, which has 1");
    let strategy = with_header(&file, |header| header[4] = 7);
    assert_eq!(error(&strategy), "probe strategy 7 is unknown to this version, which has 1");
    assert_eq!(error(&with_header(&file, |header| header[16] = 99)), "damaged at byte 12: an unknown code");
    let shards = with_header(&file, |header| header[19] = 3);
    let refused = load(&shards).unwrap_err();
    assert_eq!(refused.source().unwrap().to_string(), "shards = 3: a power of two from 1 to 65536");
    assert_eq!(error(b"<html>\r\n\r\n"), "not a snapshot of a seen set");
    assert!(load(&with_header(&file, |_| ())).is_ok());

    let other = SeenSet::load(&file[..], Some(FingerprintKey::from_u64(43))).unwrap_err();
    assert!(matches!(other, SnapshotError::Key));
}

#[test]
fn sets_that_differ_are_not_merged() {
    let base = options(Layout::Blocked, 1000);
    let refused = |change: &dyn Fn(&mut SeenOptions)| {
        let mut options = base.clone();
        change(&mut options);
        let other = filled(&options, 0..10);
        let [one, two] = [true, false].map(|in_memory| united(filled(&base, 0..10), &other, in_memory).unwrap_err());
        assert_eq!(one.to_string(), two.to_string());
        one.to_string()
    };
    assert_eq!(refused(&|o| o.layout = Layout::Exact), "cannot be merged: the layouts differ");
    assert_eq!(refused(&|o| o.shards = 4), "cannot be merged: the numbers of shards differ");
    assert_eq!(refused(&|o| o.audit = 0), "cannot be merged: the audits' samples differ");
    assert_eq!(refused(&|o| o.capacity = 2000), "cannot be merged: a layer's sizes differ");
    assert_eq!(refused(&|o| o.key = FingerprintKey::from_u64(1)), "its fingerprint key is not this job's");
    let counting = filled(&options(Layout::Counting, 100), 0..10);
    let other = filled(&options(Layout::Counting, 100), 0..10);
    assert_eq!(
        counting.union(&other).unwrap_err().to_string(),
        "cannot be merged: a URL in both would be counted twice, and outlive its removal"
    );
    let longer = [&saved(&filled(&base, 0..10))[..], &[0]].concat();
    let error = filled(&base, 0..10).merge(&longer[..]).unwrap_err();
    assert!(matches!(error, SnapshotError::Damaged { reason: "bytes after the end", .. }), "{error}");
}

#[test]
fn a_set_that_does_not_fit_leaves_the_other_as_it_is() {
    for (layout, others) in [(Layout::Blocked, 2000), (Layout::Standard, 900), (Layout::Counting, 1000)] {
        let (known, other) = (filled(&options(layout, 1000), 0..10), filled(&options(layout, others), 0..3000));
        let before = known.statistics();
        assert!(matches!(known.absorb(&other), Err(SnapshotError::Geometry(_))), "{layout}");
        assert_eq!(known.statistics(), before, "{layout}");
    }
}

#[test]
fn a_set_remembers_what_it_was_told_and_not_what_it_has_forgotten() {
    for layout in Layout::ALL {
        let seen = filled(&options(layout, 1000), (0..500).chain(0..500));
        let known = seen.statistics().merged.inserted;
        assert_eq!(seen.remembered(), known, "{layout}");
        assert_eq!(load(&saved(&seen)).unwrap().remembered(), known, "{layout}");
        if layout.forgets() {
            seen.remove(key(7)).unwrap();
            assert_eq!(seen.remembered(), known - 1);
        } else {
            seen.absorb(&filled(&options(layout, 1000), 400..600)).unwrap();
            assert!(seen.remembered().abs_diff(600) < 30, "{layout}: {}", seen.remembered());
        }
    }
}

#[test]
fn a_union_has_counted_what_both_have() {
    for (layout, in_memory) in Layout::ALL.into_iter().flat_map(|layout| [(layout, true), (layout, false)]) {
        if layout == Layout::Counting {
            continue;
        }
        let mut options = options(layout, 1000);
        options.false_positive_rate = 0.3;
        let (one, other) = (filled(&options, (0..700).chain(0..10)), filled(&options, 600..1500));
        other.insert(Fingerprint::from_bits(0));
        let mut sightings = Vec::new();
        for seen in [&one, &other] {
            seen.insert_batch(&(550..650).map(key).collect::<Vec<_>>(), &mut sightings);
        }
        let [before, theirs] = [&one, &other].map(|seen| seen.statistics().merged);
        let union = united(one, &other, in_memory).unwrap();
        let after = union.statistics().merged;
        assert_eq!((after.tests, after.inserted), (710 + 901 + 200, before.inserted + theirs.inserted), "{layout}");
        assert_eq!((after.batches, after.batched), (before.batches + theirs.batches, 200));
        assert!(union.contains(Fingerprint::from_bits(0)));
        if let (Some(all), Some(before), Some(theirs)) = (after.verified, before.verified, theirs.verified) {
            assert!(before.lookups > 0 && before.rescued > 0 && theirs.from_memory > 0);
            assert_eq!(all.lookups, before.lookups + theirs.lookups);
            assert_eq!(
                (all.rescued, all.from_memory),
                (before.rescued + theirs.rescued, before.from_memory + theirs.from_memory)
            );
        }
        if let (Some(audit), Some(before), Some(theirs)) = (after.audit, before.audit, theirs.audit) {
            assert_eq!(audit.shown, before.shown + theirs.shown);
            assert_eq!(audit.false_positives, before.false_positives + theirs.false_positives);
            assert!(before.false_positives > 0 || layout == Layout::Exact);
            union.insert(Fingerprint::from_bits(0));
            for count in 0..1500 {
                union.insert(key(count));
            }
            assert_eq!(union.statistics().merged.audit.unwrap().shown, audit.shown, "all of both are held");
        } else {
            assert_eq!(layout, Layout::Verified);
        }
    }
}

#[test]
fn a_union_is_full_where_either_is_and_when_both_fill_it() {
    for (layout, in_memory) in Layout::ALL.into_iter().flat_map(|layout| [(layout, true), (layout, false)]) {
        if layout == Layout::Counting {
            continue;
        }
        let mut options = options(layout, 1000);
        options.on_full = OnFull::Stop;
        let filled = |keys| filled(&options, keys);
        for full in [filled(0..1500), filled(0..100)] {
            let is_full = full.is_full();
            let union = united(filled(0..100), &full, in_memory).unwrap();
            assert_eq!(union.is_full(), is_full, "{layout}");
            assert_eq!(union.statistics().merged.full, full.statistics().merged.full);
            assert_eq!(united(full, &filled(0..100), in_memory).unwrap().is_full(), is_full);
        }
        // Half and half, and then the few that are too many.
        let union = united(filled(0..480), &filled(480..960), in_memory).unwrap();
        assert!(!union.is_full());
        for count in 1000..1400 {
            union.insert(key(count));
        }
        assert!(union.is_full(), "{layout}");
    }
}

#[test]
fn a_union_beyond_its_capacity_grows() {
    let options = options(Layout::Blocked, 1000);
    for in_memory in [true, false] {
        let union = united(filled(&options, 0..700), &filled(&options, 700..1400), in_memory).unwrap();
        for count in 0..1400 {
            assert_eq!(union.insert(key(count)), Sighting::Seen);
        }
        assert_eq!(union.statistics().merged.layers, 2, "what is in it needs no more");
        for count in 2000..2050 {
            union.insert(key(count));
        }
        assert_eq!(union.statistics().merged.layers, 4, "both shards hold 700 URLs in a layer for 500");
    }
}

/// A filter that errs much takes fewer for new than it was shown, and has room for those only.
#[test]
fn a_union_has_the_room_that_one_set_would_have() {
    for in_memory in [true, false] {
        let mut options = options(Layout::Blocked, 1000);
        (options.shards, options.false_positive_rate, options.on_full) = (1, 0.5, OnFull::Stop);
        let (one, other) = (filled(&options, 0..450), filled(&options, 450..900));
        let union = united(one, &other, in_memory).unwrap();
        let both = filled(&options, 0..900);
        let mut fullness = Vec::new();
        for count in 2000..2300 {
            assert_eq!(union.insert(key(count)), both.insert(key(count)));
            fullness.push((union.is_full(), both.is_full()));
        }
        let filled_at = |full: fn(&(bool, bool)) -> bool| fullness.iter().position(full).unwrap();
        let (estimated, counted) = (filled_at(|full| full.0), filled_at(|full| full.1));
        assert!(estimated > 20 && estimated.abs_diff(counted) < 60, "after {estimated} and {counted} more");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever either has seen, the union has; where nothing grew, it is the set that was shown both.
    #[test]
    fn a_union_is_the_set_that_was_shown_both(
        one in 0_u64..1500, start in 0_u64..1500, two in 0_u64..1500, layout in 0_usize..6, small: bool, in_memory: bool,
    ) {
        let layouts = [Layout::Exact, Layout::Partitioned, Layout::Quotient, Layout::Standard, Layout::Verified];
        let layout = layouts.get(layout).copied().unwrap_or(Layout::Blocked);
        let options = options(layout, if small { 200 } else { 4000 });
        let keys = || (0..one).chain(start..start + two);
        let other = filled(&options, start..start + two);
        let unite = || united(filled(&options, 0..one), &other, in_memory).unwrap();
        let union = unite();
        prop_assert!(keys().all(|count| union.contains(key(count))));
        if !small {
            let both = filled(&options, keys());
            for count in 10_000..12_000 {
                prop_assert_eq!(union.contains(key(count)), both.contains(key(count)));
            }
            let (union, both) = (union.statistics().merged, both.statistics().merged);
            prop_assert_eq!(union.bits_set, both.bits_set);
            prop_assert!((union.cardinality - both.cardinality).abs() < 1e-6);
        }
        // And it goes on: nothing new is forgotten.
        let union = load(&saved(&unite())).unwrap();
        for count in 20_000..21_000 {
            union.insert(key(count));
        }
        prop_assert!((20_000..21_000).all(|count| union.insert(key(count)) == Sighting::Seen));
    }
}
