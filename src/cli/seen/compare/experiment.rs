//! One contender, measured.

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;

use super::contender::Contender;
use super::workload::Workload;

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
