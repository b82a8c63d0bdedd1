//! One key at a time, in the second level's cache.

use std::hint::black_box;

use crawler::address::FingerprintKey;
use criterion::{Criterion, Throughput};

use crate::entries::{options, set};
use crate::keys::nth;

pub(crate) fn small_steps(criterion: &mut Criterion) {
    let key = FingerprintKey::from_u64(7);
    let url = "https://www.example.org/catalogue/books/fiction/page-42.html?a=1&b=22x";
    assert_eq!(url.len(), 70);
    let mut group = criterion.benchmark_group("seen");
    group.throughput(Throughput::Elements(1));
    group.bench_function("fingerprint of 70 bytes", |b| b.iter(|| key.fingerprint(black_box(url))));
    group.bench_function("insert, new", |b| {
        let seen = set(&options(1_000_000));
        let mut count = 0;
        b.iter(|| {
            count += 1;
            seen.insert(nth(count))
        });
    });
    group.bench_function("insert, seen", |b| {
        let seen = set(&options(1_000_000));
        let mut count = 0;
        for count in 1..=100_000 {
            seen.insert(nth(count));
        }
        b.iter(|| {
            count = count % 100_000 + 1;
            seen.insert(nth(count))
        });
    });
    group.bench_function("insert_batch, the 64 links of a page, seen", |b| {
        let seen = set(&options(1_000_000));
        let links: Vec<_> = (1..=64).map(nth).collect();
        let mut sightings = Vec::new();
        b.iter(|| seen.insert_batch(&links, &mut sightings));
    });
    group.finish();
}
