//! How a set grows: the layers of a shard, planned ahead. Also here: [`plan`], a table for people of the memory that a number of URLs takes
//! in each layout and in common alternatives.

use std::sync::OnceLock;

use super::layouts::lines::Geometry;
use super::options::{Layout, OnFull, SeenError, SeenOptions};
use super::probes::LINE_BITS;
use super::sizing::{Sizing, can_be_had, to_u64};
use super::statistics::GenerationStatistics;

/// The plan of each layer of a shard, before it is added. It is the same for all shards of a set.
///
/// **How large.** Three layers make a decade, so the bits that are allocated before they are needed stay within a factor of 2.2. If the
/// capacity is not known, and growth is normal, two layers make a decade: more would divide the rate further, and each costs a test another
/// line of memory.
///
/// **How exact.** Each layer may use a share of the target rate, and the shares add up to 1. So the
/// compound rate stays below the target however far the set grows (Almeida, Baquero, Preguiça and
/// Hutchison 2007, "Scalable Bloom filters": the first layer gets p·(1−r), and each later one r
/// times the share of the one before).
///
/// A set of known capacity gives nearly all of the rate to its first layer, since it should need no other. A set of unknown capacity gives
/// most to the layer that ends at a hundred times the start, and less to the layers before and after it: a small layer costs little even at
/// a very low rate, and few crawls outgrow all of them. At a hundred times the start, such a set costs at most 1.35 times the bits of a set
/// of known capacity, at any rate from 1e-2 down. It costs little more if it ends earlier or later.
#[derive(Debug)]
pub(super) struct Growth {
    /// The options of the set.
    options: SeenOptions,
    /// The target rate: the one that was asked for, or the one that follows from the bits that were asked for.
    rate: f64,
    /// Planned when they are first needed.
    layers: [OnceLock<Plan>; MAX_LAYERS],
}

/// One layer of one shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Bits and probes of its filter.
    pub(super) sizing: Sizing,
    /// URLs that it is planned for: the shard's share of the set's.
    pub(super) capacity: u64,
    /// It is full after this many `New` answers.
    pub(super) room: u64,
}

/// How much larger the set is with each layer: 10^(1/3).
const GROWTH: f64 = 2.154_434_690_031_884;
/// The same if the capacity is not known: 10^(1/2).
const OPEN_ENDED_GROWTH: f64 = 3.162_277_660_168_379_5;

/// The most layers of a shard. With three a decade they hold 4.6e7 times the first layer's
/// capacity.
pub(super) const MAX_LAYERS: usize = 24;

/// The share of the target rate that a first layer of known capacity leaves to later ones. It costs 0.12 bits a URL at 1e-4.
const RESERVE: f64 = 1.0 / 32.0;

/// The layer that ends at a hundred times the start if the capacity is not known, and its share of the target rate.
const MOST: usize = 4;
const MOST_SHARE: f64 = 0.277;

impl Growth {
    /// Checks the options, and that the memory for the first layer of each shard can be had.
    pub(super) fn of(options: &SeenOptions) -> Result<Self, SeenError> {
        options.check()?;
        let growth = Self::new(options);
        let bytes = growth.layer(0).map_or(0, |first| u128::from(first.sizing.bytes()) * options.shards as u128);
        if can_be_had(bytes) { Ok(growth) } else { Err(SeenError::Memory { capacity: options.capacity, bytes }) }
    }

    /// The growth for options that were checked.
    pub(super) fn new(options: &SeenOptions) -> Self {
        let layers = [const { OnceLock::new() }; MAX_LAYERS];
        let mut growth = Self { options: options.clone(), rate: options.false_positive_rate, layers };
        if options.bits_per_url.is_some() {
            let first = growth.plan(0);
            growth.rate = first.sizing.rate(growth.first_urls() as f64) / growth.share(0);
        }
        growth
    }

    /// The share of new URLs that may be taken for seen while the set grows as planned.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn options(&self) -> &SeenOptions {
        &self.options
    }

    /// The plan of a layer, counted from 0; `None` if a shard must not grow that far.
    pub(super) fn layer(&self, index: usize) -> Option<Plan> {
        if index > 0 && self.options.on_full != OnFull::Grow {
            return None;
        }
        self.layers.get(index).map(|layer| *layer.get_or_init(|| self.plan(index)))
    }

    /// Computes the plan of a layer. The search for its size is slow, so each is computed once.
    fn plan(&self, index: usize) -> Plan {
        let options = &self.options;
        let first = options.capacity.div_ceil(options.shards as u64);
        let (capacity, urls) = if index == 0 {
            (first, self.first_urls())
        } else {
            let growth = if options.open_ended { OPEN_ENDED_GROWTH } else { GROWTH };
            let until = |layers: usize| first as f64 * growth.powf(layers as f64);
            let more = to_u64((until(index) - until(index - 1)).ceil());
            (more, more)
        };
        let layout = options.layout.of_filter();
        let sizing = match options.bits_per_url {
            Some(bits) if index == 0 => Sizing::with_bits(layout, urls, bits, options.probes),
            _ if layout == Layout::Exact => Sizing::exact(urls, options.identity_bits),
            _ => Sizing::new(layout, urls, self.rate * self.share(index)),
        };
        // URLs that are taken for seen count towards the capacity, but not towards the room, which counts `New` answers. The verified layout
        // answers `New` for them, too.
        let lost = if options.layout == Layout::Verified { 0.0 } else { sizing.expected_lost(urls as f64) };
        let room = urls - to_u64(lost.ceil()).min(urls - 1);
        Plan { sizing, capacity, room }
    }

    /// The number of URLs that a shard's first layer is sized for. Fingerprints fall into shards at random, so it gets four standard
    /// deviations more than its share. At 100 M URLs in 16 shards this takes 0.2 % more bits.
    fn first_urls(&self) -> u64 {
        let part = self.options.capacity.div_ceil(self.options.shards as u64);
        if self.options.shards == 1 { part } else { part.saturating_add(part.isqrt().saturating_mul(4)) }
    }

    /// A layer's share of the target rate.
    fn share(&self, index: usize) -> f64 {
        match (self.options.on_full, self.options.open_ended) {
            (OnFull::Grow, true) if index <= MOST => MOST_SHARE * (2.0_f64 / 3.0).powf((MOST - index) as f64),
            (OnFull::Grow, true) => MOST_SHARE * 0.5_f64.powf((index - MOST) as f64),
            (OnFull::Grow, false) if index == 0 => 1.0 - RESERVE,
            (OnFull::Grow, false) => RESERVE * 0.5_f64.powf(index as f64),
            (OnFull::Stop | OnFull::Warn, _) => 1.0,
        }
    }
}

/// The cost of one way to remember URLs: a row of [`plan`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    /// The mean of that share, from empty to capacity.
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
/// let rows = crawler_frontier::driver::plan(1_000_000_000, 1e-4);
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

/// The row of the exact layout if the table was made for a million URLs and grew.
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
    /// The row of an alternative that loses nothing.
    fn of(name: &'static str, urls: u64, bytes: f64) -> Self {
        let (bytes, bits_per_url) = (to_u64(bytes.ceil()), bytes * 8.0 / urls as f64);
        Self { name, is_layout: false, bytes, bits_per_url, probes: 1, rate: 0.0, mean_rate: 0.0, expected_lost: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(open_ended: bool) -> Growth {
        let options = SeenOptions { open_ended, shards: 1, ..SeenOptions::default() };
        Growth::new(&options)
    }

    #[test]
    fn shares_add_up_to_less_than_one() {
        for open_ended in [false, true] {
            let growth = growth(open_ended);
            let sum: f64 = (0..MAX_LAYERS).map(|index| growth.share(index)).sum();
            assert!((0.9..1.0).contains(&sum), "{sum}");
        }
    }

    #[test]
    fn a_first_layer_is_sized_for_its_part_and_has_room_for_what_it_takes_for_new() {
        let first = |layout, shards| {
            let options =
                SeenOptions { layout, shards, capacity: 160_000, false_positive_rate: 0.01, ..Default::default() };
            let plan = Growth::new(&options).layer(0).unwrap();
            assert_eq!(plan.capacity, 160_000 / shards as u64);
            (plan.sizing, plan.room)
        };
        let sized = |urls| Sizing::new(Layout::Blocked, urls, 0.01 * (1.0 - RESERVE));
        let lost = |sizing: Sizing, urls: u64| to_u64(sizing.expected_lost(urls as f64).ceil());
        let whole = sized(160_000);
        assert_eq!(first(Layout::Blocked, 1), (whole, 160_000 - lost(whole, 160_000)));
        assert_eq!(first(Layout::Verified, 1), (whole, 160_000), "it loses none");
        // Four standard deviations of 10,000.
        let part = sized(10_400);
        assert_eq!(first(Layout::Blocked, 16), (part, 10_400 - lost(part, 10_400)));
        assert!(lost(part, 10_400) > 5);
    }

    /// Given bits imply a rate, of which the first layer gets its share.
    #[test]
    fn given_bits_have_the_rate_that_would_ask_for_them() {
        for on_full in [OnFull::Grow, OnFull::Stop] {
            let options = SeenOptions { shards: 1, on_full, bits_per_url: Some(12.0), ..SeenOptions::default() };
            let rate = Growth::new(&options).rate();
            let asked = SeenOptions { bits_per_url: None, false_positive_rate: rate, ..options };
            let bits = Growth::new(&asked).layer(0).unwrap().sizing.bits;
            assert!(bits.abs_diff(12_000_000) <= 512, "{bits} bits at a rate of {rate}");
        }
    }

    #[test]
    fn two_layers_are_a_decade() {
        let growth = growth(true);
        let until_100_m: u64 = (0..=MOST).map(|index| growth.layer(index).unwrap().capacity).sum();
        assert!(until_100_m.abs_diff(100_000_000) < 10);
    }

    #[test]
    fn a_known_capacity_that_was_too_low_costs_two_or_three_times_at_a_hundred_times_it() {
        for (rate, ten_times, hundred_times) in [(1e-2, 2.43, 3.03), (1e-4, 1.69, 2.18)] {
            let growth = Growth::new(&SeenOptions { shards: 1, false_positive_rate: rate, ..SeenOptions::default() });
            let (mut bits, mut urls, mut ratios) = (0, 0, Vec::new());
            for plan in (0..7).filter_map(|index| growth.layer(index)) {
                (bits, urls) = (bits + plan.sizing.bits, urls + plan.capacity);
                ratios.push(bits as f64 / Sizing::new(Layout::Blocked, urls, rate).bits as f64);
            }
            assert!(urls.abs_diff(100_000_000) < 10);
            assert!((ratios[3] - ten_times).abs() < 0.01 && (ratios[6] - hundred_times).abs() < 0.01, "{ratios:?}");
        }
    }

    /// For each layout and all rates: when the layers so far are full, and at 100 M URLs, the end of the fifth layer.
    #[test]
    fn unknown_capacity_costs_a_third_more_at_100_m() {
        for layout in [
            Layout::Blocked,
            Layout::Counting,
            Layout::Partitioned,
            Layout::Quotient,
            Layout::Standard,
            Layout::Verified,
        ] {
            for (rate, shards) in
                [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6].into_iter().zip([16, 1].into_iter().cycle())
            {
                let open_ended = SeenOptions { layout, open_ended: true, shards, ..SeenOptions::default() };
                let growth = Growth::new(&SeenOptions { false_positive_rate: rate, ..open_ended });
                let (mut bits, mut urls) = (0, 0);
                for index in 0..MOST + 3 {
                    let plan = growth.layer(index).unwrap();
                    (bits, urls) = (bits + plan.sizing.bits * shards as u64, urls + plan.capacity * shards as u64);
                    let right_from_the_start = Sizing::new(layout.of_filter(), urls, rate).bits;
                    let ratio = bits as f64 / right_from_the_start as f64;
                    // The first layers have the lowest rates, and are small.
                    let bound = [1.8, 1.7, 1.6, 1.5, 1.35, 1.45, 1.65][index];
                    assert!(ratio < bound, "{layout}, {rate}, {shards} shards, {urls} URLs: {ratio}");
                    if index == MOST {
                        assert!(urls.abs_diff(100_000_000) < 1000);
                    }
                }
            }
        }
    }

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
