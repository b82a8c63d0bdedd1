//! What remembering some number of URLs would take, in each layout and in common alternatives.

use super::arithmetic::to_u64;
use super::sizing::Sizing;
use crate::seen::layout::Layout;
use crate::seen::layouts::lines::Geometry;
use crate::seen::options::SeenOptions;
use crate::seen::probes::LINE_BITS;
use crate::seen::statistics::GenerationStatistics;

/// The cost of one way to remember URLs: a row of [`plan`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "crawl", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PlanRow {
    /// The layout's name, or the alternative's.
    pub name: &'static str,
    /// Whether it is one of the seen set's layouts. The others are there for comparison.
    pub is_layout: bool,
    /// Memory, in bytes.
    pub bytes: u64,
    /// Memory a URL, in bits.
    pub bits_per_url: f64,
    /// Cells or slots checked for each URL, `k`.
    pub probes: u32,
    /// Share of new URLs taken for seen at capacity, 0 to 1.
    pub rate: f64,
    /// The same, as a mean over the fill from empty.
    pub mean_rate: f64,
    /// URLs lost on the way to capacity: an expectation.
    pub expected_lost: f64,
}

/// What `urls` URLs, above 0, take at a false-positive rate between 0 and 1: in each layout, and in common alternatives. Nothing is
/// allocated.
///
/// The hash sets are those of Rust's standard library: a control byte for each slot, a power of two
/// of slots, and at most 7/8 of them taken. A string is a 16-byte handle in its slot and an
/// allocation of its own.
///
/// ```
/// let rows = crawler::seen::plan(1_000_000_000, 1e-4);
/// let gigabytes = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.bytes / 1_000_000_000);
/// assert_eq!(gigabytes("blocked"), Some(2));
/// assert_eq!(gigabytes("set of 50-character URLs"), Some(100));
/// ```
pub fn plan(urls: u64, rate: f64) -> Vec<PlanRow> {
    let count = urls as f64;
    let layouts = Layout::ALL.map(|layout| {
        let sizing = Sizing::new(layout, urls, rate);
        PlanRow {
            is_layout: true,
            probes: sizing.probes,
            rate: sizing.rate(count),
            expected_lost: sizing.expected_lost(count),
            ..PlanRow::of(layout.name(), urls, sizing.bytes() as f64)
        }
    });
    let of_lines = |name, sizing: Sizing| {
        let row = PlanRow { is_layout: true, ..PlanRow::of(name, urls, sizing.bytes() as f64) };
        PlanRow { rate: sizing.rate(count), expected_lost: sizing.expected_lost(count), ..row }
    };
    let by_rate = of_lines("exact, bits for the rate", Sizing::exact_at_rate(urls, rate));
    let grown = grown(urls, of_lines);
    let slots = ((count * 8.0 / 7.0).log2().ceil()).exp2();
    // An allocation of 50 bytes takes 64: the allocator adds 8 of its own, and rounds up to 16.
    let strings = PlanRow::of("set of 50-character URLs", urls, slots * 17.0 + count * 64.0);
    let digests = |name, bytes: i32| {
        let collides = 2_f64.powi(-8 * bytes);
        let (rate, expected_lost) = (count * collides, count * count * collides / 2.0);
        PlanRow { rate, expected_lost, ..PlanRow::of(name, urls, slots * f64::from(bytes + 1)) }
    };
    let half_full =
        PlanRow { bytes: urls.saturating_mul(16), bits_per_url: 128.0, ..digests("8-byte fingerprints, half full", 8) };
    // One probe: the bitmap's fill is its rate, so m = -1 / ((1 - p)^(1/n) - 1).
    let bits = -1.0 / ((-rate).ln_1p() / count).exp_m1();
    let bitmap =
        PlanRow { rate, expected_lost: count - bits * rate, ..PlanRow::of("one-hash bitmap", urls, bits / 8.0) };
    let others = [strings, digests("set of MD5 digests", 16), digests("set of SHA-1 digests", 20), half_full, bitmap];
    let mut rows: Vec<_> = layouts.into_iter().chain([grown, by_rate]).chain(others).collect();
    for row in &mut rows {
        row.mean_rate = row.expected_lost / count;
    }
    rows
}

/// The exact layout, if it began with a million.
fn grown(urls: u64, of_lines: impl Fn(&'static str, Sizing) -> PlanRow) -> PlanRow {
    let first = Sizing::exact(urls.min(1_000_000), SeenOptions::default().identity_bits);
    let geometry = Geometry::of(first.identity_bits);
    let (mut generations, mut sizing, mut held) = (Vec::new(), first, 0);
    loop {
        let lines = sizing.bits / LINE_BITS;
        let until = geometry.room(lines).min(urls);
        let covers = 2_f64.powi(-first.identity_bits.cast_signed()) / lines as f64;
        generations.push(GenerationStatistics { identity_bits: first.identity_bits, urls: until - held, covers });
        held = until;
        if held == urls {
            break;
        }
        sizing.bits = sizing.bits.saturating_mul(2);
    }
    let (rate, expected_lost) = GenerationStatistics::rate_and_lost(&generations);
    PlanRow { rate, expected_lost, ..of_lines("exact, grown from 1 M", sizing) }
}

impl PlanRow {
    /// A row of a way that loses nothing.
    fn of(name: &'static str, urls: u64, bytes: f64) -> Self {
        let (bytes, bits_per_url) = (to_u64(bytes.ceil()), bytes * 8.0 / urls as f64);
        Self { name, is_layout: false, bytes, bits_per_url, probes: 1, rate: 0.0, mean_rate: 0.0, expected_lost: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(urls: u64, rate: f64, name: &str) -> PlanRow {
        plan(urls, rate).into_iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn a_billion_urls_at_one_in_a_million() {
        let gib = |name| row(1_000_000_000, 1e-6, name).bytes as f64 / 2_f64.powi(30);
        for (name, expected) in [
            ("blocked", 4.54),
            ("standard", 3.35),
            ("counting", 13.39),
            ("8-byte fingerprints, half full", 14.9),
            ("set of MD5 digests", 34.0),
            ("set of SHA-1 digests", 42.0),
            ("set of 50-character URLs", 93.6),
            ("one-hash bitmap", 116_415.3),
        ] {
            assert!((gib(name) / expected - 1.0).abs() < 0.005, "{name}: {} GiB", gib(name));
        }
    }

    #[test]
    fn each_row_keeps_the_rate() {
        for row in plan(1_000_000, 0.01) {
            assert!(row.rate <= 0.01 * (1.0 + 1e-9), "{row:?}");
            assert!(row.mean_rate <= row.rate / 2.0 * 1.01, "{row:?}");
            assert!((row.bits_per_url * 1e6 / 8.0 - row.bytes as f64).abs() <= 1.0, "{row:?}");
        }
        // Half of the loss rate at the end, since the bitmap's rate grows evenly.
        let bitmap = row(1_000_000, 0.01, "one-hash bitmap");
        assert!((bitmap.expected_lost - 5000.0).abs() < 30.0, "{bitmap:?}");
    }
}
