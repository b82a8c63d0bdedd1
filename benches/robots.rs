//! robots.txt: parsing a large file, rulings from small, large and hostile ones.

use std::hint::black_box;

use crawler::frontier::Robots;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// As large sites write them: sections, numbered pages, file types; one rule in ten with wildcards.
fn realistic(rules: u32) -> String {
    lines(rules, |n| match n % 10 {
        0 => format!("Disallow: /*/print-{n}$\n"),
        1 => format!("Allow: /s/{}/i{n}.htm$\n", n % 50),
        _ => format!("Disallow: /s/{}/{n}/\n", n % 50),
    })
}

fn lines(rules: u32, line: impl Fn(u32) -> String) -> String {
    let lines: Vec<String> = (0..rules).map(line).collect();
    format!("User-agent: *\n{}", lines.concat())
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("robots parse");
    for rules in [10, 20_000] {
        let file = realistic(rules);
        group.throughput(Throughput::Bytes(file.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(rules), |b| {
            b.iter(|| Robots::parse(black_box(file.as_bytes()), "crawler"));
        });
    }
    group.finish();
}

fn ruling(c: &mut Criterion) {
    let mut group = c.benchmark_group("robots ruling");
    let paths = [
        "/",
        "/s/7/207/page.html",
        "/s/1/i101.htm",
        "/news/2024/05/17/an-article-with-a-long-name/print-120",
        "/news/2024/05/17/an-article-with-a-long-name?utm_source=feed&utm_medium=rss",
        "/wiki/%C3%9Cbersicht",
    ];
    group.throughput(Throughput::Elements(paths.len() as u64));
    for rules in [10, 1000, 20_000] {
        let robots = Robots::parse(realistic(rules).as_bytes(), "crawler");
        group.bench_function(BenchmarkId::from_parameter(rules), |b| {
            b.iter(|| paths.iter().filter(|path| robots.ruling(black_box(path)).allowed).count());
        });
    }
    group.finish();
}

/// 20,000 rules with wildcards against a path of 8 KiB.
fn hostile(c: &mut Criterion) {
    let mut group = c.benchmark_group("robots hostile");
    group.sample_size(20);
    let missing = lines(20_000, |n| format!("Disallow: /*a*b*c{n}\n"));
    // Runs out of steps: three pieces are found at once, the last is looked for to the end and is not there.
    let last = lines(26 * 26 * 26, |n| {
        let [a, b, c] = [1, 26, 676].map(|place| char::from(b'a' + (n / place % 26) as u8));
        format!("Disallow: *{a}*{b}*{c}*ab\n")
    });
    let backwards: String = ('a'..='z').rev().chain(['/']).collect();
    for (name, rules, path) in [("a missing run", missing, "/abc"), ("out of steps", last, &backwards)] {
        let robots = Robots::parse(rules.as_bytes(), "crawler");
        let path: String = path.chars().cycle().take(8192).collect();
        group.bench_function(name, |b| b.iter(|| robots.ruling(black_box(&path)).allowed));
    }
    group.finish();
}

criterion_group!(benches, parse, ruling, hostile);
criterion_main!(benches);
