//! How large a filter must be for a rate, and what rate a filter of a given size has. This is pure arithmetic; only [`can_be_had`] asks the
//! machine for memory.
//!
//! The lines of a blocked filter fill unevenly, so its rate is computed over all lines, step by step: see [`Load`].

use super::layouts::lines::Geometry;
use super::layouts::quotient::{Levels, Packing};
use super::options::{Layout, SeenOptions, Shape};
use super::probes::{LANE_PROBES, LINE_BITS, MAX_PROBES};

/// The size of a filter, and the numbers that follow from it. Nothing is allocated.
///
/// *Blocked.* All probes of a URL fall into one line of 512 bits, one or two into each of its 8
/// lanes of 64. URLs fall into lines at random, so a line's load is Poisson distributed, and the
/// false-positive rate is the mean over that load (Putze, Sanders and Singler 2009, section 3). The
/// formula for one large bit array would give too low a rate.
///
/// *Standard and counting.* After `n` URLs a cell is still clear with the chance `(1 - 1/m)^(k n)`, and a new URL is taken for seen when
/// none of its `k` cells is clear (Bloom 1970; Broder and Mitzenmacher 2004). The mean of the power is more than the power of the mean
/// (Bose and others 2008), by some percent below a hundred URLs. So the rate includes the variance of the fill.
///
/// *Partitioned.* A cell is still clear with the chance `(1 - k/m)^n`, which is a little less; in a large filter the difference vanishes.
/// The arrays fill independently, so the power of the mean is exact.
///
/// *Exact.* The number of URLs that have a line as their home is Poisson distributed. A new URL with this home is taken for seen if one of
/// them has the same identity bits.
///
/// *Quotient.* As exact, but a new URL may also meet those that found no room in their lines: see `layouts/quotient`.
///
/// *Verified.* The bits are those of a blocked filter. The rate is that of the whole fingerprints on disk: two URLs are confused only if
/// all 64 bits are equal.
///
/// ```
/// # use crawler_frontier::seen::{Layout, Sizing};
/// let sizing = Sizing::new(Layout::Blocked, 10_000_000, 1e-4);
/// assert_eq!((sizing.bytes() / 1_000_000, sizing.probes), (29, 8));
/// // Far fewer than one in 10,000 are lost on the way there, since the rate is low while the filter fills.
/// assert!((90.0..160.0).contains(&sizing.expected_lost(1e7)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizing {
    /// How the bits are laid out.
    pub layout: Layout,
    /// Cells of the filter, `m`: bits, or 4-bit counters in a counting filter; in the exact and the quotient layout, 512 for each line.
    pub bits: u64,
    /// Cells that are checked for each URL, `k`.
    pub probes: u32,
    /// Bits that the exact layout keeps of a fingerprint beside its line, or the quotient layout beside its line and bucket; 0 in other
    /// layouts.
    pub identity_bits: u32,
}

/// Below this rate, a filter has two bits a lane. That makes it smaller than with one: by 13 % at this rate, by 24 % at 1e-6. Above this
/// rate it would be larger, or the test would take longer for little gain.
const TWO_PROBES_A_LANE_BELOW: f64 = 2e-5;

/// A quotient filter may lose this many times as much on the way to capacity as a blocked filter of the same rate. Each bit of a slot halves
/// the loss, so it mostly loses less.
const MAY_LOSE: f64 = 1.15;

/// Bits in a lane of a line.
const LANE_BITS: f64 = 64.0;

impl Sizing {
    /// The smallest filter that takes at most the share `rate` of new URLs for seen after `urls` distinct ones.
    ///
    /// `rate` lies between 0 and 1, exclusive. Sizes beyond 2^64 bits saturate.
    pub fn new(layout: Layout, urls: u64, rate: f64) -> Self {
        let count = urls.max(1) as f64;
        let apart = match layout.shape() {
            Shape::Cells { apart, .. } => apart,
            Shape::Lines => {
                let probes = LANE_PROBES * if rate < TWO_PROBES_A_LANE_BELOW { 2 } else { 1 };
                return Self::rounded(layout, count / Load::at_rate(rate, probes) * LINE_BITS as f64, probes);
            }
            Shape::Slots => return Self::exact(urls, SeenOptions::default().identity_bits),
            Shape::Remainders => return Self::quotient(urls, rate),
        };
        // The formula for the rate, solved for m. The best k takes the fewest bits.
        let bits = |probes: u32| {
            let probes = f64::from(probes);
            let ln_spared = (-rate.powf(1.0 / probes)).ln_1p() / count;
            if apart { -probes / ln_spared.exp_m1() } else { -1.0 / (ln_spared / probes).exp_m1() }
        };
        let best = cheapest(1..=MAX_PROBES, bits);
        let mut sizing = Self::rounded(layout, bits(best), best);
        // That formula leaves out the variance, which takes some bits more, however large the filter is.
        for _ in 0..8 {
            if !apart && sizing.rate(count) > rate {
                sizing.bits = sizing.bits.saturating_add(64);
            }
        }
        sizing
    }

    /// The exact layout with identities of this length and room for `urls`.
    pub fn exact(urls: u64, identity_bits: u32) -> Self {
        let lines = Geometry::of(identity_bits).lines(urls);
        Self { layout: Layout::Exact, bits: lines.saturating_mul(LINE_BITS), probes: 1, identity_bits }
    }

    /// The quotient layout with the shortest slots that keep the rate and lose about as much on the way there as a blocked filter does, or
    /// with the longest ones if none do.
    fn quotient(urls: u64, rate: f64) -> Self {
        let count = urls.max(1) as f64;
        let may_lose = Self::new(Layout::Blocked, urls, rate).expected_lost(count) * MAY_LOSE;
        let mut sized = Packing::BITS.map(|identity_bits| {
            let bits = Levels::for_urls(Packing::of(identity_bits), urls).bits();
            Self { layout: Layout::Quotient, bits, probes: 1, identity_bits }
        });
        let longest = sized.clone().next_back().expect("there are some");
        sized.find(|sized| sized.rate(count) <= rate && sized.expected_lost(count) <= may_lose).unwrap_or(longest)
    }

    /// The lines of a filter of the quotient layout; `None` if none has this size.
    pub(super) fn levels(&self) -> Option<Levels> {
        Levels::of_bits(Packing::of(self.identity_bits), self.bits)
    }

    /// The exact layout with the shortest identities that keep the rate, or with the longest ones if none do.
    pub(super) fn exact_at_rate(urls: u64, rate: f64) -> Self {
        let sized = Geometry::BITS.map(|bits| Self::exact(urls, bits));
        sized.clone().find(|sized| sized.rate(urls as f64) <= rate).unwrap_or(Self::exact(urls, *Geometry::BITS.end()))
    }

    /// A filter of this many bits a URL. If `probes` is `None`, it gets the best number at capacity: `m/n ln 2`, rounded, or 8 or 16 in the
    /// blocked layout.
    pub(super) fn with_bits(layout: Layout, urls: u64, bits_per_url: f64, probes: Option<u32>) -> Self {
        let sized = |probes| Self::rounded(layout, urls.max(1) as f64 * bits_per_url, probes);
        let rate = |probes| sized(probes).filter_rate(urls as f64);
        match (layout.shape(), probes) {
            (Shape::Slots | Shape::Remainders, _) => Self::new(layout, urls, 0.5),
            (_, Some(probes)) => sized(probes),
            (Shape::Lines, None) => sized(cheapest([LANE_PROBES, 2 * LANE_PROBES], rate)),
            (Shape::Cells { .. }, None) => sized(cheapest(1..=MAX_PROBES, rate)),
        }
    }

    /// A filter of this many bits, rounded up to whole lines, to arrays of one size, or to whole words, as the layout needs.
    fn rounded(layout: Layout, bits: f64, probes: u32) -> Self {
        let unit = match layout.shape() {
            Shape::Lines => LINE_BITS,
            Shape::Cells { apart: true, .. } => u64::from(probes),
            Shape::Cells { apart: false, .. } | Shape::Slots | Shape::Remainders => 64,
        };
        let bits = to_u64((bits / unit as f64).ceil()).max(1).saturating_mul(unit);
        Self { layout, bits, probes, identity_bits: 0 }
    }

    /// Whether a filter can have this size. This checks what a file says, since its checksum shows only that it was written so.
    pub(super) fn is_possible(&self) -> bool {
        let is_whole = |unit| self.bits > 0 && self.bits.is_multiple_of(unit);
        let may_probe = (1..=MAX_PROBES).contains(&self.probes);
        match self.layout.shape() {
            Shape::Lines => is_whole(LINE_BITS) && [LANE_PROBES, 2 * LANE_PROBES].contains(&self.probes),
            Shape::Slots => is_whole(LINE_BITS) && Geometry::BITS.contains(&self.identity_bits),
            Shape::Remainders => {
                Packing::BITS.contains(&self.identity_bits) && self.probes == 1 && self.levels().is_some()
            }
            Shape::Cells { apart, .. } => may_probe && is_whole(if apart { self.probes.into() } else { 1 }),
        }
    }

    /// Memory for the cells, in bytes.
    pub fn bytes(&self) -> u64 {
        match self.layout.shape() {
            Shape::Cells { width: 4, .. } => self.bits.div_ceil(2),
            _ => self.bits.div_ceil(8),
        }
    }

    /// The share of new URLs that are taken for seen after `urls` distinct ones were shown.
    pub fn rate(&self, urls: f64) -> f64 {
        if self.layout.loses() { self.filter_rate(urls) } else { urls / 2_f64.powi(64) }
    }

    /// The same for the filter alone, before its answers are verified.
    fn filter_rate(&self, urls: f64) -> f64 {
        match self.layout.shape() {
            Shape::Lines => self.load(urls).rate,
            Shape::Cells { apart: true, .. } => self.fill_ratio(urls).powf(f64::from(self.probes)),
            Shape::Cells { apart: false, .. } => self.flat_rate(urls),
            Shape::Remainders => self.levels().map_or(1.0, |levels| levels.rate(urls)),
            Shape::Slots => -(-urls * 2_f64.powi(-self.identity_bits.cast_signed()) / self.lines()).exp_m1(),
        }
    }

    /// How many of `urls` distinct URLs, shown one after the other, are taken for seen: the rate, added up over the fill.
    pub fn expected_lost(&self, urls: f64) -> f64 {
        match self.layout.shape() {
            _ if !self.layout.loses() => urls * self.rate(urls) / 2.0,
            Shape::Lines => self.lines() * self.load(urls).lost,
            _ => integral(|urls| self.rate(urls), urls),
        }
    }

    /// The share of cells that are not clear after `urls` distinct ones were shown.
    pub(super) fn fill_ratio(&self, urls: f64) -> f64 {
        match self.layout.shape() {
            Shape::Slots | Shape::Remainders => urls / self.slots(),
            _ => -(urls * self.ln_spared()).exp_m1(),
        }
    }

    /// The number of distinct URLs that were shown, from the share of cells that are not clear: [`fill_ratio`](Self::fill_ratio) inverted
    /// (Swamidass and Baldi 2007).
    ///
    /// URLs that were taken for seen are counted: they found their bits set, so the filter is as it would be with them. For a full filter
    /// the answer is infinity.
    pub(super) fn cardinality(&self, fill_ratio: f64) -> f64 {
        match self.layout.shape() {
            Shape::Slots | Shape::Remainders => fill_ratio * self.slots(),
            _ => (-fill_ratio).ln_1p() / self.ln_spared(),
        }
    }

    /// The mean of `fill^k` over the fills that one array may have, to the second order.
    fn flat_rate(&self, urls: f64) -> f64 {
        let (bits, probes) = (self.bits as f64, f64::from(self.probes));
        let fill = self.fill_ratio(urls);
        if fill <= 0.0 || fill >= 1.0 {
            return fill.max(0.0);
        }
        let clear = 1.0 - fill;
        let both_clear = (probes * urls * (-2.0 / bits).max(-1.0).ln_1p()).exp();
        let variance = (clear / bits + (1.0 - 1.0 / bits) * both_clear - clear * clear).max(0.0);
        fill.powf(probes) * (1.0 + probes * (probes - 1.0) / 2.0 * variance / (fill * fill))
    }

    /// The rates of the lines after `urls` URLs.
    fn load(&self, urls: f64) -> Load {
        Load::of(urls / self.lines(), self.probes)
    }

    /// The number of lines, in a layout that has lines.
    fn lines(&self) -> f64 {
        (self.bits / LINE_BITS) as f64
    }

    /// The number of slots, in a layout that has slots.
    fn slots(&self) -> f64 {
        let slots = if self.layout == Layout::Quotient {
            Packing::of(self.identity_bits).slots
        } else {
            Geometry::of(self.identity_bits).slots
        };
        self.lines() * f64::from(slots)
    }

    /// The logarithm of the chance that one URL leaves one given cell as it is.
    fn ln_spared(&self) -> f64 {
        let (bits, probes) = (self.bits as f64, f64::from(self.probes));
        match self.layout.shape() {
            Shape::Lines => {
                let spared_in_lane = (1.0 - 1.0 / LANE_BITS).powf(probes / f64::from(LANE_PROBES));
                ((spared_in_lane - 1.0) / self.lines()).ln_1p()
            }
            Shape::Cells { apart: true, .. } => (-probes / bits).ln_1p(),
            Shape::Cells { apart: false, .. } | Shape::Slots | Shape::Remainders => probes * (-1.0 / bits).ln_1p(),
        }
    }
}

/// The number of probes that costs the least.
fn cheapest(probes: impl IntoIterator<Item = u32>, cost: impl Fn(u32) -> f64) -> u32 {
    let costs = probes.into_iter().map(|probes| (cost(probes), probes));
    costs.min_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(1, |(_, probes)| probes)
}

/// The integral of a function from 0 to `end`, by Simpson's rule. The rates that it is used for are
/// smooth.
fn integral(function: impl Fn(f64) -> f64, end: f64) -> f64 {
    const PIECES: u32 = 128;
    let at = |piece: u32, weight: f64| weight * function(end * f64::from(piece) / f64::from(PIECES));
    let inner: f64 = (1..PIECES).map(|piece| at(piece, if piece % 2 == 1 { 4.0 } else { 2.0 })).sum();
    (at(0, 1.0) + inner + at(PIECES, 1.0)) * end / f64::from(3 * PIECES)
}

/// The rates of a blocked filter's lines at a mean load, in URLs a line.
///
/// A line's load `J` is Poisson distributed. Let `r(J)` be the rate of a line that holds `J` URLs, and the filter's rate the mean of
/// `r(J)`. Its derivative by the mean load is the mean of `r(J + 1) - r(J)`, and its integral is the mean of `r(0) + ... + r(J - 1)`. So
/// one walk over the loads gives all three.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// The share of new URLs that are taken for seen.
    pub(super) rate: f64,
    /// URLs taken for seen on the way from an empty line to this load: the integral of the rate.
    pub(super) lost: f64,
    /// The derivative of the rate.
    slope: f64,
}

/// From this mean load on, all lines are full, to 13 digits.
const FULL: f64 = 4096.0;

impl Load {
    /// Walks over the loads that lines may have at this mean. `probes` is 8 or 16.
    pub(super) fn of(mean_load: f64, probes: u32) -> Self {
        let mean = mean_load.min(FULL);
        // Loads outside this range have chances below 1e-18 of the rest.
        let spread = 14.0 * mean.sqrt() + 40.0;
        let (least, most) = (to_u64((mean - spread).max(0.0)), to_u64(mean + spread));
        // The first load gets the chance 1, and at the end all are divided by the sum of the chances.
        let (mut chance, mut chances) = (1.0, 0.0);
        let (mut rate_sum, mut lost_sum, mut slope_sum) = (0.0, 0.0, 0.0);
        let (mut lane, mut lost) = (Lane::default(), 0.0);
        let mut rate = lane.rate(probes);
        for load in 0..=most {
            lane.add(probes);
            let next = lane.rate(probes);
            if load >= least {
                chances += chance;
                rate_sum += chance * rate;
                lost_sum += chance * lost;
                slope_sum += chance * (next - rate);
                chance *= mean / (load + 1) as f64;
            }
            lost += rate;
            rate = next;
        }
        let lost = lost_sum / chances + (mean_load - mean);
        Self { rate: rate_sum / chances, lost, slope: slope_sum / chances }
    }

    /// The mean load at which the rate is reached.
    pub(super) fn at_rate(rate: f64, probes: u32) -> f64 {
        let (mut low, mut high) = (0.0, FULL);
        // If all lines held the same number of URLs, a bit would be set with the chance
        // `rate^(1/k)`.
        let ln_clear = (-rate.powf(1.0 / f64::from(probes))).ln_1p();
        let mut load = (-ln_clear * LANE_BITS / f64::from(probes / LANE_PROBES)).min(FULL);
        // Newton's method on logarithmic axes, where the curve is nearly straight: it takes some five steps. If a step leads out of the
        // bounds, their middle is tried instead.
        for _ in 0..100 {
            let line = Self::of(load, probes);
            *(if line.rate > rate { &mut high } else { &mut low }) = load;
            let step = load * (rate / line.rate).powf(line.rate / (load * line.slope));
            if (step - load).abs() <= load * 1e-9 {
                // Each step doubles the digits, so this one has all of them.
                return step;
            }
            load = if low < step && step < high { step } else { f64::midpoint(low, high) };
        }
        load
    }
}

/// A lane of a line, in chances. All 8 lanes fill alike, and independently of each other.
#[derive(Default)]
struct Lane {
    /// The chance that a given bit is set.
    one: f64,
    /// The chance that two given bits are set.
    both: f64,
}

impl Lane {
    /// Adds one URL, with one or two probes a lane.
    fn add(&mut self, probes: u32) {
        for _ in 0..probes / LANE_PROBES {
            self.both += (self.one - self.both) * 2.0 / LANE_BITS;
            self.one += (1.0 - self.one) / LANE_BITS;
        }
    }

    /// The chance that all lanes hold the bits that a new URL probes. Two probes in one lane may be
    /// the same bit.
    fn rate(&self, probes: u32) -> f64 {
        let held = if probes == LANE_PROBES { self.one } else { self.both + (self.one - self.both) / LANE_BITS };
        held.powi(8)
    }
}

/// `part / whole`; 0 if the whole is 0.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// A count as a whole number. Counts are not negative, and beyond 2^64 they saturate.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; not negative by its use")]
pub(super) fn to_u64(count: f64) -> u64 {
    count as u64
}

/// The most memory that is requested: 16 TiB, more than any machine has.
const MAX_BYTES: u128 = 1 << 44;

/// Whether this machine gives `bytes` of memory at once.
///
/// The memory is allocated and freed again. If the lack of memory were found out later, it would end the process, since a failed allocation
/// cannot be caught. Systems that promise more than they have may still say yes, and fail when the memory is touched.
pub(super) fn can_be_had(bytes: u128) -> bool {
    bytes <= MAX_BYTES && usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, tabulated: f64, tolerance: f64) {
        assert!((value / tabulated - 1.0).abs() < tolerance, "{value} is not {tabulated}");
    }

    #[test]
    fn blocked_sizes_are_the_tabulated_ones() {
        // Computed by an independent program over the same sums.
        for (rate, bits, probes) in [
            (0.1, 5.879, 8),
            (0.01, 10.099, 8),
            (1e-3, 15.725, 8),
            (1e-4, 23.607, 8),
            (1e-6, 39.015, 16),
            (1e-8, 65.72, 16),
        ] {
            let sizing = Sizing::new(Layout::Blocked, 10_000_000, rate);
            close(sizing.bits as f64 / 1e7, bits, 1e-4);
            assert_eq!(sizing.probes, probes);
            close(sizing.rate(1e7), rate, 1e-3);
        }
    }

    #[test]
    fn standard_sizes_are_the_tabulated_ones() {
        let sizing = Sizing::new(Layout::Standard, 10_000_000, 1e-4);
        close(sizing.bits as f64 / 1e7, 19.17, 3e-4);
        assert_eq!(sizing.probes, 13);
        // The reference point of the literature, m/n = 20 and k = 10.
        let sizing = Sizing::with_bits(Layout::Standard, 10_000_000, 20.0, Some(10));
        close(sizing.rate(1e7), 8.894e-5, 1e-3);
        // 1e9 keys at 1 %: 1,143 MiB, k = 7.
        let sizing = Sizing::new(Layout::Standard, 1_000_000_000, 0.01);
        close(sizing.bytes() as f64 / 1_048_576.0, 1143.0, 1e-3);
        assert_eq!(sizing.probes, 7);
        // Seven probes into 5,000,000 bits are 13.8 % wrong at 1 M URLs.
        close(Sizing::with_bits(Layout::Standard, 1_000_000, 5.0, Some(7)).rate(1e6), 0.138, 5e-3);
        // Small arrays apart are worse, not better: 9.07e-5 against 8.98e-5 at m = 2,000.
        close(
            Sizing { layout: Layout::Standard, bits: 2000, probes: 10, identity_bits: 0 }.rate(100.0),
            8.982_35e-5,
            1e-4,
        );
        close(
            Sizing { layout: Layout::Partitioned, bits: 2000, probes: 10, identity_bits: 0 }.rate(100.0),
            9.07e-5,
            1e-3,
        );
        assert_eq!(Sizing::with_bits(Layout::Standard, 1000, 10.0, None).probes, 7);
    }

    /// Sets that any version saved can be merged by any other, which requires layers of the same size.
    #[test]
    fn sizes_are_as_ever() {
        const RATES: [f64; 5] = [0.1, 1e-2, 1e-4, 1e-6, 1e-9];
        for (layout, urls, bits) in [
            (Layout::Blocked, 1, [512; 5]),
            (Layout::Blocked, 1000, [6144, 10_240, 24_064, 39_424, 86_016]),
            (Layout::Blocked, 6_260_000, [36_804_096, 63_221_760, 147_778_560, 244_233_216, 536_915_456]),
            (
                Layout::Blocked,
                1_000_000_000,
                [5_879_181_312, 10_099_308_032, 23_606_795_776, 39_014_857_728, 85_769_164_288],
            ),
            (Layout::Exact, 1_000_000_000, [49_660_559_360; 5]),
            (Layout::Quotient, 1, [1536; 5]),
            (Layout::Quotient, 6_260_000, [59_417_600, 75_941_376, 116_420_096, 171_132_416, 249_091_072]),
            (Layout::Partitioned, 1, [8, 15, 27, 42, 63]),
            (Layout::Partitioned, 6_260_000, [30_100_131, 60_051_901, 120_022_708, 180_008_060, 270_012_090]),
            (Layout::Standard, 1, [64; 5]),
            (Layout::Standard, 1000, [4864, 9600, 19_200, 28_800, 43_200]),
            (Layout::Standard, 6_260_000, [30_100_160, 60_051_904, 120_022_720, 180_008_064, 270_012_096]),
            (
                Layout::Standard,
                1_000_000_000,
                [4_808_327_424, 9_592_954_752, 19_172_954_816, 28_755_278_720, 43_132_918_080],
            ),
        ] {
            assert_eq!(RATES.map(|rate| Sizing::new(layout, urls, rate).bits), bits, "{layout}, {urls} URLs");
        }
    }

    #[test]
    fn small_filters_have_their_exact_rates() {
        // The sum over the distinct cells among a URL's probes, by inclusion and exclusion, with 80
        // digits.
        for (bits, probes, urls, rate) in [
            (128, 7, 10.0, 2.537_400_6e-3),
            (192, 10, 10.0, 1.343_177_5e-4),
            (448, 10, 30.0, 7.981_353_8e-4),
            (960, 7, 100.0, 1.005_520_6e-2),
            (1984, 13, 100.0, 7.422_540_8e-5),
            (19_200, 13, 1000.0, 9.887_492_7e-5),
        ] {
            close(Sizing { layout: Layout::Standard, bits, probes, identity_bits: 0 }.rate(urls), rate, 1.5e-3);
        }
        for layout in [Layout::Counting, Layout::Partitioned, Layout::Standard] {
            for (urls, rate) in (1..300).flat_map(|urls| [0.3, 0.01, 1e-4, 1e-7].map(|rate| (urls, rate))) {
                let sized = Sizing::new(layout, urls, rate);
                assert!(sized.rate(urls as f64) <= rate * (1.0 + 1e-9), "{sized:?} for {urls} URLs at {rate}");
            }
        }
    }

    #[test]
    fn lost_is_the_rate_added_up() {
        for layout in Layout::ALL {
            for rate in [0.3, 1e-2, 1e-4, 1e-6] {
                let sizing = Sizing::new(layout, 100_000, rate);
                let sum: f64 = (0..1000).map(|part| sizing.rate(f64::from(part) * 100.0 + 50.0) * 100.0).sum();
                close(sizing.expected_lost(100_000.0), sum, 1e-4);
            }
        }
        let sizing = Sizing::new(Layout::Blocked, 100_000, 1e-4);
        let mean = sizing.rate(100_000.0) * 100_000.0 / sizing.expected_lost(100_000.0);
        assert!((6.5..11.0).contains(&mean), "the mean rate is 1/{mean} of the last");
    }

    #[test]
    fn cardinality_is_the_fill_backwards() {
        for layout in Layout::ALL {
            for rate in [0.9, 1e-2, 1e-6] {
                let sizing = Sizing::new(layout, 5000, rate);
                for urls in [0.0, 1.0, 5000.0, 9000.0] {
                    assert!((sizing.cardinality(sizing.fill_ratio(urls)) - urls).abs() < 1e-6 * (urls + 1.0));
                }
            }
        }
    }

    /// The same means, term by term from their definitions.
    fn by_definition(mean: f64, probes: u32) -> (f64, f64) {
        let (mut ln_factorial, mut rate, mut lost, mut before) = (0.0, 0.0, 0.0, 0.0);
        for load in 0..2000 {
            let count = f64::from(load);
            ln_factorial += count.max(1.0).ln();
            let chance = (count * mean.ln() - mean - ln_factorial).exp();
            let clear = |bits: f64| (1.0 - bits / 64.0).powf(count * f64::from(probes / 8));
            let held = match probes {
                8 => 1.0 - clear(1.0),
                _ => (1.0 - clear(1.0)) / 64.0 + (1.0 - 2.0 * clear(1.0) + clear(2.0)) * 63.0 / 64.0,
            };
            rate += chance * held.powi(8);
            lost += chance * before;
            before += held.powi(8);
        }
        (rate, lost)
    }

    #[test]
    fn rates_and_losses_are_the_means_by_definition() {
        for probes in [8, 16] {
            for step in 0..40 {
                let load = 1e-3 * 1.4_f64.powi(step);
                let (line, (rate, lost)) = (Load::of(load, probes), by_definition(load, probes));
                assert!((line.rate / rate - 1.0).abs() < 1e-9, "{line:?}, not {rate} at {load}");
                assert!((line.lost / lost - 1.0).abs() < 1e-9, "{line:?}, not {lost} at {load}");
                let (below, above) = (Load::of(load * 0.9999, probes), Load::of(load * 1.0001, probes));
                let slope = (above.rate - below.rate) / (load * 0.0002);
                assert!((line.slope / slope - 1.0).abs() < 1e-6, "{line:?}, not {slope} at {load}");
            }
        }
        let empty = Load::of(0.0, 8);
        assert_eq!((empty.rate, empty.lost), (0.0, 0.0));
    }

    #[test]
    fn a_full_line_takes_all_for_seen() {
        for probes in [8, 16] {
            let (full, fuller) = (Load::of(FULL, probes), Load::of(1e18, probes));
            assert!((full.rate - 1.0).abs() < 1e-12, "{full:?}");
            assert_eq!(fuller.rate.to_bits(), full.rate.to_bits());
            assert!((fuller.lost / 1e18 - 1.0).abs() < 1e-12, "{fuller:?}");
        }
    }

    /// However low or high the rate: no step diverges, and the number of steps suffices.
    #[test]
    fn the_load_at_a_rate_has_that_rate() {
        for probes in [8, 16] {
            for rate in (1..1000).map(|step| 0.5_f64.powi(step)).chain([0.9, 0.99, 0.999]) {
                let line = Load::of(Load::at_rate(rate, probes), probes);
                assert!((line.rate / rate - 1.0).abs() < 1e-12, "{line:?}, not {rate}");
            }
            assert!(Load::at_rate(1.0 - f64::EPSILON, probes) <= FULL);
        }
    }
}
