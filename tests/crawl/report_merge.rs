//! Reports merged: of parts of a crawl, in any grouping, they say what one report of all would.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crawler::crawl::{Cost, CrawlOptions, Finished, PageRecord, Tally, Timings};
use crawler::frontier::{Frontier, Timestamp};
use crawler::report::{Report, read};
use proptest::prelude::*;
use serde_json::Value;

use crate::random::Random;

/// A report with other numbers in each field.
fn invented(seed: u64) -> Report {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/report.json");
    let mut value: Value = serde_json::from_slice(&fs::read(golden).unwrap()).unwrap();
    let mut random = Random(seed | 1);
    vary(&mut value, "", &mut random);
    let reasons = ["drained", "max_pages", "stopped", "unfinished", "storage_failed"];
    value["finish"] = reasons[usize::try_from(random.below(5)).unwrap()].into();
    for time in ["started", "finished"] {
        value[time] = Timestamp::from_micros(1_790_000_000_000_000 + random.below(3_000_000) * 1000).to_string().into();
    }
    // No host is in two parts.
    for (section, list, name) in [
        ("hosts", "top", "host"),
        ("hosts", "in_trouble", "host"),
        ("hosts", "refusing_hosts", "host"),
        ("urls", "failed_pages", "url"),
    ] {
        for row in value[section][list].as_array_mut().into_iter().flatten() {
            row[name] = format!("http://{}.{}.test", random.below(9), random.below(u64::MAX)).into();
        }
    }
    let shapes: serde_json::Map<_, _> =
        (0..random.below(8)).map(|_| (format!("{}.test/#", random.below(u64::MAX)), random.below(50).into())).collect();
    value["urls"]["refused_shapes"] = shapes.into();
    value["simulated"]["missed_by_filter"] = random.below(7).into();
    let mut elapsed = 0;
    let moments = value["timeline"]["moments"].as_array_mut().unwrap();
    moments.truncate(usize::try_from(1 + random.below(20)).unwrap());
    for moment in moments {
        elapsed += 1 + random.below(3_000_000);
        moment["elapsed_us"] = elapsed.into();
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), value.to_string()).unwrap();
    read(file.path()).unwrap()
}

/// Draws all numbers again. The sums of shares are exact.
fn vary(value: &mut Value, name: &str, random: &mut Random) {
    match value {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, value)| vary(value, &format!("{name}.{key}"), random));
        }
        Value::Array(list) => list.iter_mut().for_each(|one| vary(one, &format!("{name}[]"), random)),
        Value::Number(number) if number.is_f64() => *value = (random.below(1 << 20) as f64 / 1024.0 / 1024.0).into(),
        Value::Number(_) if name.starts_with(".settings.") => {}
        Value::Number(_) if name.ends_with("[].status") => *value = (100 + random.below(500)).into(),
        Value::Number(_) if [".version", ".hosts.by_requests[].from", ".hosts.by_requests[].to"].contains(&name) => {}
        Value::Number(_) => *value = random.below(1_000_000).into(),
        _ => {}
    }
}

fn json(report: &Report) -> Value {
    let mut json = Vec::new();
    report.write_json(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

fn merged(mut one: Report, other: &Report) -> Report {
    one.merge(other);
    one
}

/// All whole numbers of a report, by their names.
fn numbers(value: &Value, name: &str, found: &mut Vec<(String, u64)>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| numbers(value, &format!("{name}.{key}"), found));
        }
        Value::Number(number) => found.extend(number.as_u64().map(|number| (name.to_owned(), number))),
        _ => {}
    }
}

/// Whole numbers that are not summed: other tests check them, or the lines below.
fn is_no_sum(name: &str) -> bool {
    let of_all = [".version", ".elapsed_us", ".hosts.longest_due_us", ".checkpoints.last_us", ".timeline.step_us"];
    let ends = ["p50_us", "p90_us", "p99_us", "max_us", "longest_pause_us"];
    let begins = [".settings.", ".politeness.worst.", ".seen.merged.", ".urls.refused_shapes."];
    of_all.contains(&name)
        || ends.iter().any(|end| name.ends_with(end))
        || begins.iter().any(|begin| name.starts_with(begin))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_what_is_merged_first(seeds: [u64; 3]) {
        let [a, b, c] = seeds.map(invented);
        let (left, right) = (merged(merged(a.clone(), &b), &c), merged(a.clone(), &merged(b.clone(), &c)));
        prop_assert_eq!(json(&left), json(&right));
        prop_assert_eq!(&left, &right);
        // In another order, everything but the values of the first part is equal.
        let (mut one, mut other) = (json(&merged(a.clone(), &b)), json(&merged(b, &a)));
        for value in [&mut one, &mut other] {
            for of_first in ["settings", "seen"] {
                value[of_first] = Value::Null;
            }
        }
        prop_assert_eq!(one, other);
    }

    #[test]
    fn each_count_is_summed(seeds: [u64; 2]) {
        let [a, b] = seeds.map(invented);
        let both = json(&merged(a.clone(), &b));
        let [a, b] = [json(&a), json(&b)];
        let mut found = Vec::new();
        numbers(&both, "", &mut found);
        let of = |report: &Value, name: &str| {
            let pointer = name.split('.').skip(1).fold((report, String::new()), |(value, key), part| {
                // Names of the web have dots in them.
                let key = if key.is_empty() { part.to_owned() } else { format!("{key}.{part}") };
                value.get(&key).map_or((value, key), |value| (value, String::new()))
            });
            pointer.0.as_u64().unwrap_or_default()
        };
        let mut sums = 0;
        for (name, number) in found.iter().filter(|(name, _)| !is_no_sum(name)) {
            prop_assert_eq!(*number, of(&a, name) + of(&b, name), "{}", name);
            sums += 1;
        }
        prop_assert!(sums > 130, "{} sums", sums);
        let shards = |report: &Value| report["seen"]["shards"].as_array().unwrap().len();
        prop_assert_eq!(shards(&both), shards(&a) + shards(&b));
        for name in ["inserted", "tests", "bytes", "capacity", "bits_set"] {
            let rows = both["seen"]["shards"].as_array().unwrap();
            let sum: u64 = rows.iter().map(|row| row[name].as_u64().unwrap()).sum();
            prop_assert_eq!(both["seen"]["merged"][name].as_u64(), Some(sum), "{}", name);
        }
        let last = |report: &Value| report["timeline"]["moments"].as_array().unwrap().last().unwrap().clone();
        for name in ["found", "fetched", "queued", "wire_bytes"] {
            let [a, b, both] = [&a, &b, &both].map(|report| last(report)[name].as_u64().unwrap());
            prop_assert_eq!(both, a + b, "the last moment's {}", name);
        }
        for name in ["started", "finished"] {
            let mut times = [a[name].as_str(), b[name].as_str()];
            times.sort_unstable();
            prop_assert_eq!(both[name].as_str(), if name == "started" { times[0] } else { times[1] });
        }
        prop_assert!(both["hosts"]["top"].as_array().unwrap().len() <= 10);
    }
}

/// The report of these pages. They take times of very different lengths.
fn report_of(pages: &[u64]) -> Report {
    let mut tally = Tally::default();
    for &page in pages {
        let mut record = PageRecord { status: Some(200), wire_bytes: page, ..PageRecord::default() };
        record.timings = Timings { first_byte_us: page * page % 7_000_001, total_us: page * 977 };
        tally.record_page(true, &record);
        tally.waits.queued.record(Duration::from_micros(page * 31));
    }
    let options = CrawlOptions::default();
    let frontier = Frontier::new(&options.frontier).unwrap();
    Report::of(&Finished::of(&frontier, tally, Timestamp::default()), &options, Cost::default(), None)
}

#[test]
fn parts_have_the_percentiles_of_the_whole_from_disk_too() {
    let pages: Vec<u64> = (0..5000).collect();
    let whole = report_of(&pages);
    let file = tempfile::NamedTempFile::new().unwrap();
    let parts = pages.chunks(700).map(|chunk| {
        report_of(chunk).save(file.path()).unwrap();
        read(file.path()).unwrap()
    });
    let merged = parts.reduce(|one, other| merged(one, &other)).unwrap();
    let times = whole.pages.first_byte.percentiles();
    assert!(times.p99_us > 10 * times.p50_us / 9, "{:?}", whole.pages.first_byte);
    assert_eq!(merged.pages, whole.pages);
    assert_eq!((merged.waits, merged.urls.counts.fetched), (whole.waits, 5000));
}
