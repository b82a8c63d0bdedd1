//! The comparison: all contenders, measured on the same URLs.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

use super::contenders::{self, Contender, Reduction, Seen, Strings, bitmap, seven_seeds};
use super::workload::{List, Source, Workload};
use crate::address::{Fingerprint, FingerprintKey};
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
    /// The rates of filters while they fill, and beyond their capacity.
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
const FILTERS: [Layout; 5] =
    [Layout::Blocked, Layout::Quotient, Layout::Standard, Layout::Partitioned, Layout::Counting];

impl Comparison {
    /// Measures everything. `rates` has the highest first, and is not empty.
    pub(super) fn new(list: List, rates: &[f64]) -> Self {
        let load = list.workload();
        let any_rate = any_rate(load);
        let at = |&target: &f64| AtRate { target, rows: at_rate(target, load) };
        let rates_measured = rates.iter().map(at).collect();
        let vectors = AtRate { target: VECTOR_RATE, rows: vector_rows(load.shown.len()) };
        // At the highest rate, errors show soonest.
        let filling = filling(rates.first().copied().unwrap_or(VECTOR_RATE), load);
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
        Row::new("8-byte fingerprints", run(|| Ok(contenders::fingerprints()), load)),
        Row::new("set of MD5 digests", run(|| Ok(contenders::md5()), load)),
        Row::new("set of SHA-1 digests", run(|| Ok(contenders::sha1()), load)),
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
    let batched = |layout| move || seen(layout)().map(Seen::batched);
    let mut rows: Vec<_> =
        FILTERS.iter().map(|&layout| Row::new(&layout.to_string(), run(seen(layout), load))).collect();
    rows.insert(1, Row::new("blocked, in batches", run(batched(Layout::Blocked), load)));
    rows.insert(3, Row::new("quotient, in batches", run(batched(Layout::Quotient), load)));
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

/// A contender and its result.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) outcome: Trial,
}

impl Row {
    pub(super) fn new(name: &str, outcome: Trial) -> Self {
        Self { name: name.to_owned(), outcome }
    }

    /// The figures, if it was measured.
    pub(super) fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Trial::LeftOut { .. } => None,
            Trial::Measured(measured) => Some(measured),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Trial {
    LeftOut { left_out: String },
    Measured(Measured),
}

/// The figures of one contender. Times are medians of [`PASSES`] passes, and include hashing the key.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    /// Distinct keys shown.
    pub(super) shown: u64,
    /// Memory in use once all keys are in.
    pub(super) bytes: u64,
    /// The same per key, in bits.
    pub(super) bits_per_key: f64,
    /// Distinct keys queried that were not shown.
    pub(super) trials: u64,
    /// Of these, the keys that were taken for seen.
    pub(super) false_positives: u64,
    /// Their share.
    pub(super) rate: f64,
    /// The same, by theory.
    pub(super) rate_predicted: f64,
    /// Keys that were taken for seen while they were inserted.
    pub(super) lost: u64,
    /// The same, by theory.
    pub(super) lost_expected: f64,
    /// Inserted keys that are not found: anything but zero is a bug.
    pub(super) forgotten: u64,
    /// Time to insert a new key.
    pub(super) insert_ns: f64,
    /// Time to find an inserted key.
    pub(super) hit_ns: f64,
    /// Time to find that a key was not inserted.
    pub(super) miss_ns: f64,
    /// Time to insert one key of the stream; `null` if there is no stream.
    pub(super) stream_ns: Option<f64>,
}

/// How often each measurement is repeated.
pub(super) const PASSES: usize = 5;

/// Measures a contender: for each pass, builds a new one, fills it and queries it.
pub(super) fn run<K: ?Sized, C: Contender<K>>(
    mut make: impl FnMut() -> Result<C, String>,
    load: Workload<'_, K>,
) -> Trial {
    match measure(&mut make, load) {
        Ok(measured) => Trial::Measured(measured),
        Err(left_out) => Trial::LeftOut { left_out },
    }
}

fn measure<K: ?Sized, C: Contender<K>>(
    make: &mut impl FnMut() -> Result<C, String>,
    load: Workload<'_, K>,
) -> Result<Measured, String> {
    let Workload { shown, others, stream } = load;
    let keys = shown.len() as f64;
    let (mut inserts, mut hits, mut misses, mut links) = ([0.0; PASSES], [0.0; PASSES], [0.0; PASSES], [0.0; PASSES]);
    let mut measured = None;
    for pass in 0..PASSES {
        let mut contender = make()?;
        let (new, insert_ns) = timed(shown.len(), || contender.insert_all(shown.iter().map(Box::as_ref)));
        let (held, hit_ns) = timed(shown.len(), || contender.count(shown.iter().map(Box::as_ref)));
        let (false_positives, miss_ns) = timed(others.len(), || contender.count(others.iter().map(Box::as_ref)));
        (inserts[pass], hits[pass], misses[pass]) = (insert_ns, hit_ns, miss_ns);
        let bytes = contender.bytes();
        // All passes see the same keys, and give the same answers.
        measured = Some(Measured {
            shown: shown.len() as u64,
            bytes,
            bits_per_key: bytes as f64 * 8.0 / keys,
            trials: others.len() as u64,
            false_positives,
            rate: false_positives as f64 / others.len() as f64,
            rate_predicted: contender.rate(keys),
            lost: shown.len() as u64 - new,
            lost_expected: contender.expected_lost(keys),
            forgotten: shown.len() as u64 - held,
            insert_ns: 0.0,
            hit_ns: 0.0,
            miss_ns: 0.0,
            stream_ns: None,
        });
        drop(contender);
        if !stream.is_empty() {
            let mut contender = make()?;
            let keys = stream.iter().map(|&place| &*shown[place]);
            links[pass] = timed(stream.len(), || contender.insert_all(keys)).1;
        }
    }
    let measured = measured.expect("there is a pass");
    Ok(Measured {
        insert_ns: median(inserts),
        hit_ns: median(hits),
        miss_ns: median(misses),
        stream_ns: (!stream.is_empty()).then(|| median(links)),
        ..measured
    })
}

/// The result of `work`, and its time per key.
fn timed(keys: usize, work: impl FnOnce() -> u64) -> (u64, f64) {
    let start = Instant::now();
    let answer = black_box(work());
    (answer, start.elapsed().as_secs_f64() * 1e9 / keys.max(1) as f64)
}

fn median(mut times: [f64; PASSES]) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[PASSES / 2]
}

/// The rate of a contender while it fills.
#[derive(Debug, Serialize)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
}

/// A contender at one point of its filling.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Point {
    /// Distinct keys shown so far.
    pub(super) shown: u64,
    pub(super) rate: f64,
    pub(super) rate_predicted: f64,
}

/// The number of points of a curve.
const STEPS: usize = 16;

/// Fills a contender step by step, and after each step queries all keys that it was not given.
pub(super) fn curve<K: ?Sized>(name: &str, mut contender: impl Contender<K>, load: Workload<'_, K>) -> Curve {
    let mut shown = 0;
    let points = load
        .shown
        .chunks(load.shown.len().div_ceil(STEPS))
        .map(|step| {
            shown += step.len();
            contender.insert_all(step.iter().map(Box::as_ref));
            let false_positives = contender.count(load.others.iter().map(Box::as_ref));
            Point {
                shown: shown as u64,
                rate: false_positives as f64 / load.others.len() as f64,
                rate_predicted: contender.rate(shown as f64),
            }
        })
        .collect();
    Curve { name: name.to_owned(), points }
}

/// Words in a vector.
const WORDS: u32 = 128;
/// Maximum number of vectors that are shown, and of vectors that are not: 51 MB in all.
const MAX_VECTORS: usize = 50_000;
/// Low enough for a filter, and high enough to be measurable with so few vectors.
const VECTOR_RATE: f64 = 1e-3;

/// Measures each way to hash with the same filter.
fn vector_rows(urls: usize) -> Vec<Row> {
    let count = urls.clamp(1, MAX_VECTORS);
    let vectors: Vec<Box<[u32]>> = (0..2 * count as u64).map(vector).collect();
    let (shown, others) = vectors.split_at(count);
    let load = Workload { shown, others, stream: &[] };
    vec![
        vector_row("a byte at a time", by_bytes, load),
        vector_row("a word at a time", by_words, load),
        vector_row("insert_words", FingerprintKey::fingerprint_words, load),
    ]
}

fn vector_row(
    name: &str,
    hash: impl Fn(FingerprintKey, &[u32]) -> Fingerprint + Copy,
    load: Workload<'_, [u32]>,
) -> Row {
    Row::new(name, run(|| Seen::new(Layout::Blocked, load.shown.len(), VECTOR_RATE, hash), load))
}

/// A vector of small counts, like a vector of features, derived from `number`.
fn vector(number: u64) -> Box<[u32]> {
    (0..u64::from(WORDS)).map(|word| mix(number << 7 | word) % 1000).collect()
}

/// Evenly spread bits (Steele, Lea and Flood 2014, `SplitMix`), the upper 32.
fn mix(number: u64) -> u32 {
    let bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    u32::try_from((bits ^ bits >> 31) >> 32).expect("32 bits are left")
}

fn by_bytes(_: FingerprintKey, words: &[u32]) -> Fingerprint {
    fnv(words.iter().flat_map(|word| word.to_le_bytes()).map(u64::from))
}

fn by_words(_: FingerprintKey, words: &[u32]) -> Fingerprint {
    fnv(words.iter().copied().map(u64::from))
}

/// FNV-1a in 64 bits (Fowler, Noll, Vo; RFC 9923), over units of any size.
fn fnv(units: impl Iterator<Item = u64>) -> Fingerprint {
    Fingerprint::from_bits(units.fold(0xcbf2_9ce4_8422_2325, |hash, unit| (hash ^ unit).wrapping_mul(0x0100_0000_01b3)))
}

#[cfg(test)]
mod tests {
    use super::{Measured, *};

    fn measured<'a>(rows: &'a [Row], name: &str) -> &'a Measured {
        rows.iter().find(|row| row.name == name).and_then(Row::measured).unwrap()
    }

    #[test]
    fn what_is_measured_is_what_was_predicted() {
        let list = List::generated(20_000, 0.01).unwrap();
        let comparison = Comparison::new(list, &[0.1, 0.01]);
        for AtRate { target, rows } in &comparison.rates {
            assert_eq!(rows.len(), 8);
            for row in rows {
                let name = &row.name;
                let figures = row.measured().unwrap();
                assert_eq!((figures.shown, figures.trials, figures.forgotten), (20_000, 20_000, 0), "{name}");
                // Slots of whole bits, and chosen by what is lost on the way, keep a lower rate.
                let least = if name.starts_with("quotient") { 0.2 } else { 0.98 };
                assert!((least..1.02).contains(&(figures.rate_predicted / target)), "{name}: {figures:?}");
                // Five standard deviations of a count.
                let near = |count: u64, expected: f64| (count as f64 - expected).abs() < 5.0 * expected.sqrt();
                assert!(near(figures.false_positives, figures.rate_predicted * 20_000.0), "{name}: {figures:?}");
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
        assert_eq!((filling.capacity, filling.curves.len()), (10_000, 8));
        for curve in filling.curves.iter().filter(|curve| !curve.name.starts_with("seven")) {
            assert_eq!(curve.points.len(), 16);
            let (half, full) = (&curve.points[7], &curve.points[15]);
            assert_eq!((half.shown, full.shown), (10_000, 20_000));
            assert!((half.rate / half.rate_predicted - 1.0).abs() < 0.4, "{}: {half:?}", curve.name);
            assert!(half.rate_predicted < 0.0101, "{}: {half:?}", curve.name);
            assert!((full.rate / full.rate_predicted - 1.0).abs() < 0.3, "{}: {full:?}", curve.name);
            assert!(full.rate > 1.8 * half.rate, "{}: overfilled", curve.name);
        }
    }

    #[test]
    fn fnv_is_fnv() {
        // From the reference test vectors.
        assert_eq!(fnv(std::iter::empty()).bits(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(b"foobar".iter().copied().map(u64::from)).bits(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn vectors_differ() {
        let vectors: std::collections::HashSet<_> = (0..5000).map(vector).collect();
        assert_eq!(vectors.len(), 5000);
        assert!(vectors.iter().all(|vector| size_of_val(&**vector) == 512));
    }
}
