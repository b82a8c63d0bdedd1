//! The verified layout: nothing forgotten, nothing lost, at a Bloom filter's memory.

use std::collections::HashSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use crawler_frontier::address::{Fingerprint, FingerprintKey};
use crawler_frontier::seen::{Layout, SeenError, SeenOptions, SeenSet, Sighting, VerifiedStatistics};
use proptest::prelude::*;

fn key(count: u64) -> Fingerprint {
    FingerprintKey::from_u64(5).fingerprint_bytes(&count.to_le_bytes())
}

/// With a filter that errs often, so that there is much to verify.
fn options(directory: &Path, capacity: u64) -> SeenOptions {
    let mut options = SeenOptions::default();
    (options.layout, options.capacity, options.shards) = (Layout::Verified, capacity, 2);
    (options.false_positive_rate, options.directory) = (0.3, Some(directory.to_owned()));
    options
}

fn show(seen: &SeenSet, keys: std::ops::Range<u64>) {
    for count in keys {
        seen.insert(key(count));
    }
}

fn verified(seen: &SeenSet) -> VerifiedStatistics {
    seen.statistics().merged.verified.unwrap()
}

#[test]
fn nothing_is_lost_and_nothing_forgotten_through_many_merges() {
    const URLS: u64 = 400_000;
    let directory = tempfile::tempdir().unwrap();
    let seen = SeenSet::new(&options(directory.path(), URLS)).unwrap();
    let mut sightings = Vec::new();
    for start in (0..URLS).step_by(1000) {
        // Each page links back to pages long gone, and to some of its own.
        let batch: Vec<_> = (start..start + 1000).chain(start / 2..start / 2 + 500).chain(start..start + 9).collect();
        seen.insert_batch(&batch.iter().copied().map(key).collect::<Vec<_>>(), &mut sightings);
        for (place, (count, sighting)) in batch.iter().zip(&sightings).enumerate() {
            let is_new = place < 1000;
            assert_eq!(*sighting == Sighting::New, is_new, "{count}");
        }
    }
    assert!((0..URLS).all(|count| seen.insert(key(count)) == Sighting::Seen));
    assert!((URLS..2 * URLS).all(|count| !seen.contains(key(count))));

    let merged = seen.statistics().merged;
    assert_eq!((merged.inserted, merged.cardinality.to_bits()), (URLS, (URLS as f64).to_bits()));
    assert!(merged.false_positive_rate_estimated < 1e-12, "{merged:?}");
    assert!(merged.expected_lost < 1e-8 && merged.false_positive_rate_target.abs() < f64::MIN_POSITIVE);
    let verified = merged.verified.unwrap();
    // A tenth: the mean of the filter's rate on the way to 0.3.
    assert!(verified.rescued > URLS / 30 && verified.rescued < URLS / 5, "{verified:?}");
    assert!(verified.runs <= 2 * 4, "{verified:?}");
    assert!(verified.disk_bytes > URLS * 7 && verified.disk_bytes <= URLS * 8, "{verified:?}");
    assert!(verified.bytes_written < verified.disk_bytes * 20, "each is written a few times: {verified:?}");
    assert!(verified.pages_read < (verified.lookups - verified.from_memory) * 3, "{verified:?}");
    assert_eq!(verified.failures, 0);
    seen.check().unwrap();
    let bits = merged.bytes as f64 * 8.0 / URLS as f64;
    let filter = merged.bits as f64 / URLS as f64;
    assert!(bits < filter + 2.5, "{bits} bits a URL in memory, {filter} of them the filter's");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "the files have no names");
}

#[test]
fn repeats_are_answered_from_memory() {
    let directory = tempfile::tempdir().unwrap();
    let seen = SeenSet::new(&options(directory.path(), 100_000)).unwrap();
    show(&seen, 0..100_000);
    // Once from the disk; then from memory.
    for (round, from_memory) in [(0, 0), (1, 240)] {
        let before = verified(&seen);
        show(&seen, 5000..5300);
        let after = verified(&seen);
        assert_eq!(after.lookups - before.lookups, 300);
        assert!(after.from_memory - before.from_memory >= from_memory, "round {round}: {before:?}, {after:?}");
        assert!(round == 1 || after.pages_read - before.pages_read > 250);
        assert!(round == 0 || after.pages_read - before.pages_read < 120);
    }
    // The newest need no disk even when they come for the second time.
    let before = verified(&seen);
    show(&seen, 99_500..100_000);
    assert!(verified(&seen).pages_read - before.pages_read < 100, "{before:?}, {:?}", verified(&seen));
}

#[test]
fn of_many_threads_with_one_key_one_hears_new() {
    const THREADS: usize = 4;
    let directory = tempfile::tempdir().unwrap();
    let keys: Vec<_> = (0..30_000).map(key).collect();
    let seen = SeenSet::new(&options(directory.path(), 30_000)).unwrap();
    let barrier = Barrier::new(THREADS);
    let news: usize = thread::scope(|scope| {
        let worker = |thread: usize| {
            let (seen, keys, barrier) = (&seen, &keys, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let mut sightings = Vec::new();
                let batches = keys.chunks(100 + thread);
                batches
                    .map(|batch| {
                        seen.insert_batch(batch, &mut sightings);
                        sightings.iter().filter(|&&sighting| sighting == Sighting::New).count()
                    })
                    .sum::<usize>()
            })
        };
        let workers: Vec<_> = (0..THREADS).map(worker).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(news, keys.len());
}

#[test]
fn without_a_directory_or_with_too_many_shards_it_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = |change: &dyn Fn(&mut SeenOptions)| {
        let mut options = options(directory.path(), 1000);
        change(&mut options);
        SeenSet::new(&options).unwrap_err().to_string()
    };
    assert_eq!(error(&|o| o.directory = None), "directory = none: the verified layout needs one for its fingerprints");
    assert_eq!(error(&|o| o.shards = 128), "shards = 128: at most 64 in the verified layout: each holds files open");
}

#[test]
fn a_directory_is_made_when_it_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("a/b");
    let seen = SeenSet::new(&options(&below, 1000)).unwrap();
    assert!(!below.exists());
    show(&seen, 0..5000);
    assert!(below.exists());
    seen.check().unwrap();
}

#[test]
fn where_the_disk_cannot_be_written_nothing_is_lost_and_it_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "no directory").unwrap();
    for shards in [1, 2] {
        let mut options = options(&file, 1000);
        options.shards = shards;
        let seen = SeenSet::new(&options).unwrap();
        assert!((0..100).all(|count| seen.insert(key(count)) == Sighting::New));
        seen.check().unwrap();
        assert!((100..20_000).all(|count| seen.insert(key(count)) == Sighting::New), "they stay in memory");
        assert!((0..20_000).all(|count| seen.insert(key(count)) == Sighting::Seen));
        let error = seen.check().unwrap_err();
        assert!(matches!(error, SeenError::Disk { .. }));
        assert!(error.source().is_some());
        let failures = verified(&seen).failures;
        // Each shard tries again when what it holds has doubled.
        let shards = shards as u64;
        assert!((shards..=shards * 6).contains(&failures), "{failures} failures");
        assert_eq!(verified(&seen).disk_bytes, 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Any mixture of batches, single ones and questions answers as the naive set does.
    #[test]
    fn it_answers_as_the_naive_set(
        acts in prop::collection::vec((0_u8..3, 0_u64..6000, 1_u64..3000), 1..30),
        capacity in 1_u64..5000,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let seen = SeenSet::new(&options(directory.path(), capacity)).unwrap();
        let mut model = HashSet::new();
        let mut sightings = Vec::new();
        let key = |count| if count == 17 { Fingerprint::from_bits(0) } else { key(count) };
        for (act, start, count) in acts {
            let keys: Vec<_> = (start..start + count).map(key).collect();
            match act {
                0 => seen.insert_batch(&keys, &mut sightings),
                1 => sightings = keys.iter().map(|&key| seen.insert(key)).collect(),
                _ => {
                    for &key in &keys {
                        prop_assert_eq!(seen.contains(key), model.contains(&key));
                    }
                    continue;
                }
            }
            for (&key, &sighting) in keys.iter().zip(&sightings) {
                prop_assert_eq!(sighting == Sighting::New, model.insert(key));
            }
        }
        prop_assert_eq!(seen.statistics().merged.inserted, model.len() as u64);
    }
}
