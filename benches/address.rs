//! The cost of an address, compared with a bare parse of the same text.

use std::hint::black_box;

use crawler::address::{Canonicalizer, FingerprintKey, KeyRules};
use criterion::{Criterion, criterion_group, criterion_main};

/// 70 bytes each, but for what there is to change: nothing to do; a query in order; every rule at work.
const CLEAN: &str = "https://www.example.org/catalogue/books/fiction/history/page-0042.html";
const QUERY: &str = "https://www.example.org/catalogue/books/search.html?author=ann&page=42";
const CHANGED: &str = "HTTPS://www.Example.org.:443/a/./b%7e%c3%a9;jsessionid=1F?utm_id=2&b=2&&a=1#top";

fn canonicalize(criterion: &mut Criterion) {
    let canonicalizer = Canonicalizer::new(&KeyRules::default());
    let mut group = criterion.benchmark_group("canonicalize");
    for (name, text) in [("clean", CLEAN), ("query", QUERY), ("changed", CHANGED)] {
        group.bench_function(name, |bencher| bencher.iter(|| canonicalizer.canonicalize(black_box(text))));
        group.bench_function(format!("{name}, parse alone"), |bencher| {
            bencher.iter(|| url::Url::parse(black_box(text)));
        });
    }
    let base = canonicalizer.base(CLEAN).expect("an address");
    let plain = url::Url::parse(CLEAN).expect("an address");
    for (name, href) in [
        ("relative", "../history/page-0043.html"),
        ("file", "page-0043.html"),
        ("root", "/catalogue/books/fiction/page-0043.html"),
        ("query", "?page=43"),
        ("other host", "https://books.example/fiction/history/"),
        ("escaped", "../h%69story/page-%2e.html"),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| canonicalizer.join(&base, black_box(href))));
        group.bench_function(format!("{name}, join alone"), |bencher| bencher.iter(|| plain.join(black_box(href))));
    }
    group.bench_function("page and base", |bencher| bencher.iter(|| canonicalizer.page(black_box(CLEAN))));
    group.finish();
}

fn fingerprint(criterion: &mut Criterion) {
    let key = FingerprintKey::random();
    criterion.bench_function("fingerprint", |bencher| bencher.iter(|| key.fingerprint(black_box(CLEAN))));
}

criterion_group!(benches, canonicalize, fingerprint);
criterion_main!(benches);
