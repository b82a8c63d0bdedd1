//! All contenders, measured on the same URLs.

use serde::Serialize;

use super::bits::bitmap;
use super::contender::Contender;
use super::experiment::{Curve, Row, Trial, curve, run};
use super::layouts::Seen;
use super::sets::{self, Strings};
use super::seven::{Reduction, seven_seeds};
use super::vectors;
use super::workload::{List, Source, Workload};
use crate::address::FingerprintKey;
use crate::seen::Layout;

/// The figures of the experiment.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) urls: Source,
    /// The contenders that take no rate.
    pub(super) any_rate: Vec<Row>,
    /// The other contenders at each rate, the highest first.
    pub(super) rates: Vec<AtRate>,
    /// Ways to hash vectors of 512 bytes, each with the same filter.
    pub(super) vectors: AtRate,
    /// The rate while filters fill, and beyond their capacity.
    pub(super) filling: Filling,
}

/// Contenders at one rate.
#[derive(Debug, Serialize)]
pub(super) struct AtRate {
    /// The rate that they were sized for.
    pub(super) target: f64,
    pub(super) rows: Vec<Row>,
}

/// Filters that get twice as many URLs as they are sized for.
#[derive(Debug, Serialize)]
pub(super) struct Filling {
    pub(super) capacity: u64,
    pub(super) target: f64,
    pub(super) curves: Vec<Curve>,
}

/// Layouts that take a rate.
const FILTERS: [Layout; 4] = [Layout::Blocked, Layout::Standard, Layout::Partitioned, Layout::Counting];

impl Comparison {
    /// Measures everything. `rates`: highest first, not empty.
    pub(super) fn new(list: List, rates: &[f64]) -> Self {
        let load = list.workload();
        let any_rate = any_rate(load);
        let at = |&target: &f64| AtRate { target, rows: at_rate(target, load) };
        let rates_measured = rates.iter().map(at).collect();
        let vectors = AtRate { target: vectors::RATE, rows: vectors::rows(load.shown.len()) };
        // At the highest rate, errors show soonest.
        let filling = filling(rates.first().copied().unwrap_or(vectors::RATE), load);
        Self { urls: list.source, any_rate, rates: rates_measured, vectors, filling }
    }
}

fn any_rate(load: Workload<'_, str>) -> Vec<Row> {
    let exact = || Seen::new(Layout::Exact, load.shown.len(), 0.5, FingerprintKey::fingerprint);
    // Its memory depends on the rate; its losses do not.
    let verified = || Seen::new(Layout::Verified, load.shown.len(), 0.01, FingerprintKey::fingerprint);
    vec![
        Row::new("exact", run(exact, load)),
        Row::new("exact, in batches", run(|| exact().map(Seen::batched), load)),
        Row::new("verified, at 1e-2", run(verified, load)),
        Row::new("verified, in batches", run(|| verified().map(Seen::batched), load)),
        Row::new("8-byte fingerprints", run(|| Ok(sets::fingerprints()), load)),
        Row::new("set of MD5 digests", run(|| Ok(sets::md5()), load)),
        Row::new("set of SHA-1 digests", run(|| Ok(sets::sha1()), load)),
        Row::new("set of strings", run(|| Ok(Strings::default()), load)),
        Row::new("SQLite table", sqlite(load)),
        Row::new("seven seeds, modulo", run(|| Ok(seven_seeds(Reduction::Modulo)), load)),
        Row::new("seven seeds, masked", run(|| Ok(seven_seeds(Reduction::Mask)), load)),
    ]
}

#[cfg(feature = "sqlite")]
fn sqlite(load: Workload<'_, str>) -> Trial {
    let Workload { shown, others, stream } = load;
    let few = |urls: usize| urls.min(super::sqlite::MAX_URLS);
    // A stream contains indexes into `shown`.
    let stream = if shown.len() > few(shown.len()) { &[] } else { &stream[..few(stream.len())] };
    run(
        super::sqlite::Table::new,
        Workload { shown: &shown[..few(shown.len())], others: &others[..few(others.len())], stream },
    )
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_: Workload<'_, str>) -> Trial {
    Trial::LeftOut { left_out: "not in this build: feature `sqlite`".to_owned() }
}

fn at_rate(rate: f64, load: Workload<'_, str>) -> Vec<Row> {
    let urls = load.shown.len();
    let seen = |layout| move || Seen::new(layout, urls, rate, FingerprintKey::fingerprint);
    let batched = || seen(Layout::Blocked)().map(Seen::batched);
    let mut rows: Vec<_> =
        FILTERS.iter().map(|&layout| Row::new(&layout.to_string(), run(seen(layout), load))).collect();
    rows.insert(1, Row::new("blocked, in batches", run(batched, load)));
    rows.push(Row::new("one-hash bitmap", run(|| bitmap(urls, rate), load)));
    rows
}

fn filling(target: f64, load: Workload<'_, str>) -> Filling {
    let capacity = load.shown.len().div_ceil(2);
    let mut curves = Vec::new();
    for layout in FILTERS {
        let seen = Seen::new(layout, capacity, target, FingerprintKey::fingerprint);
        fill(&layout.to_string(), seen, load, &mut curves);
    }
    fill("one-hash bitmap", bitmap(capacity, target), load, &mut curves);
    fill("seven seeds, modulo", Ok(seven_seeds(Reduction::Modulo)), load, &mut curves);
    fill("seven seeds, masked", Ok(seven_seeds(Reduction::Mask)), load, &mut curves);
    Filling { capacity: capacity as u64, target, curves }
}

/// Adds a curve. A contender that cannot be built has none; its row says why.
fn fill(name: &str, contender: Result<impl Contender<str>, String>, load: Workload<'_, str>, curves: &mut Vec<Curve>) {
    curves.extend(contender.map(|contender| curve(name, contender, load)));
}

#[cfg(test)]
mod tests {
    use super::super::experiment::Measured;
    use super::*;

    fn measured<'a>(rows: &'a [Row], name: &str) -> &'a Measured {
        rows.iter().find(|row| row.name == name).and_then(Row::measured).unwrap()
    }

    #[test]
    fn what_is_measured_is_what_was_predicted() {
        let list = List::generated(20_000, 0.01).unwrap();
        let comparison = Comparison::new(list, &[0.1, 0.01]);
        for AtRate { target, rows } in &comparison.rates {
            assert_eq!(rows.len(), 6);
            for row in rows {
                let name = &row.name;
                let figures = row.measured().unwrap();
                assert_eq!((figures.shown, figures.trials, figures.forgotten), (20_000, 20_000, 0), "{name}");
                assert!((figures.rate_predicted / target - 1.0).abs() < 0.02, "{name}: {figures:?}");
                // Five standard deviations of a count.
                let near = |count: u64, expected: f64| (count as f64 - expected).abs() < 5.0 * expected.sqrt();
                assert!(near(figures.false_positives, target * 20_000.0), "{name}: {figures:?}");
                assert!(near(figures.lost, figures.lost_expected), "{name}: {figures:?}");
                assert!(figures.insert_ns > 0.0 && figures.hit_ns > 0.0 && figures.miss_ns > 0.0);
            }
        }
        for name in [
            "exact",
            "verified, at 1e-2",
            "verified, in batches",
            "8-byte fingerprints",
            "set of MD5 digests",
            "set of SHA-1 digests",
            "set of strings",
        ] {
            let figures = measured(&comparison.any_rate, name);
            assert_eq!((figures.false_positives, figures.lost, figures.forgotten), (0, 0, 0), "{name}");
        }
        let bits = |name| measured(&comparison.any_rate, name).bits_per_key;
        assert!(bits("exact") < bits("8-byte fingerprints") && bits("8-byte fingerprints") < bits("set of strings"));
        // 20,000 URLs fill all 8,192 places.
        let masked = measured(&comparison.any_rate, "seven seeds, masked");
        assert!(masked.lost > 10_000 && masked.rate > 0.9, "{masked:?}");
        for row in &comparison.vectors.rows {
            let figures = row.measured().unwrap();
            assert!((figures.false_positives as f64 - 20.0).abs() < 25.0, "{}: {figures:?}", row.name);
        }
    }

    #[test]
    fn a_filter_fills_as_predicted_and_beyond() {
        let list = List::generated(20_000, 0.01).unwrap();
        let filling = filling(0.01, list.workload());
        assert_eq!((filling.capacity, filling.curves.len()), (10_000, 7));
        for curve in filling.curves.iter().filter(|curve| !curve.name.starts_with("seven")) {
            assert_eq!(curve.points.len(), 16);
            let (half, full) = (&curve.points[7], &curve.points[15]);
            assert_eq!((half.shown, full.shown), (10_000, 20_000));
            assert!((half.rate / 0.01 - 1.0).abs() < 0.4, "{}: {half:?}", curve.name);
            assert!((full.rate / full.rate_predicted - 1.0).abs() < 0.3, "{}: {full:?}", curve.name);
            assert!(full.rate > 1.8 * half.rate, "{}: overfilled", curve.name);
        }
    }
}
