//! How many lines a filter of the quotient layout has, and the rate that follows.

use super::line::Packing;
use crate::seen::probes::LINE_BITS;

/// The lines of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::seen) struct Levels {
    pub(super) packing: Packing,
    /// The number of lines in each level. A level takes what finds no room in the level before.
    pub(super) lines: [u64; 3],
}

impl Levels {
    /// URLs at capacity for 100 slots of the first level. A higher load would make a filter smaller and slower. At 110, one new URL in seven
    /// reads a second line when the filter is full; with a twentieth less memory, it would be one in five.
    const LOAD: u64 = 110;

    /// The levels of the smallest filter that holds `urls` URLs.
    pub(in crate::seen) fn for_urls(packing: Packing, urls: u64) -> Self {
        let a_line = u128::from(packing.slots) * u128::from(Self::LOAD);
        let first = (u128::from(urls.max(1)) * 100).div_ceil(a_line);
        Self::after(packing, u64::try_from(first).unwrap_or(u64::MAX))
    }

    /// The levels of a filter of this many bits; `None` if no filter has this size.
    pub(in crate::seen) fn of_bits(packing: Packing, bits: u64) -> Option<Self> {
        let lines = bits / LINE_BITS;
        let (mut least, mut most) = (0, lines);
        while least < most {
            let first = most - (most - least) / 2;
            if Self::after(packing, first).all() > lines { most = first - 1 } else { least = first }
        }
        let levels = Self::after(packing, least);
        (least > 0 && bits.is_multiple_of(LINE_BITS) && levels.all() == lines).then_some(levels)
    }

    /// The levels of a filter whose first level has `first` lines.
    ///
    /// Whole numbers only: a file says how many lines there are in all, and every machine must divide them alike. At capacity, a line of the
    /// second level has 97 % of its slots taken, and one of the third about half of them. A small level has more for the chance that more
    /// URLs than expected crowd into some lines.
    fn after(packing: Packing, first: u64) -> Self {
        let slots = u128::from(packing.slots);
        let second = u128::from(first) * (110 * slots + 950) / (1000 * slots);
        let second = u64::try_from(second).unwrap_or(u64::MAX).saturating_add(first.isqrt() / 2 + 1);
        let third = second / 10 + second.isqrt() / 2 + 1;
        Self { packing, lines: [first, second, third] }
    }

    /// All lines.
    fn all(&self) -> u64 {
        self.lines.iter().fold(0, |all, &lines| all.saturating_add(lines))
    }

    /// The bits of all lines.
    pub(in crate::seen) fn bits(&self) -> u64 {
        self.all().saturating_mul(LINE_BITS)
    }

    /// The share of new URLs that are taken for seen after `urls` distinct ones were shown.
    ///
    /// The URLs of a line cover a share of its items, wherever they are kept: those that gave way are searched for if a new URL with their
    /// item comes. A new URL that is beyond a full line's last item meets others in the next level.
    pub(in crate::seen) fn rate(&self, urls: f64) -> f64 {
        let items = f64::from(self.packing.buckets) * 2_f64.powi(self.packing.slot_bits.cast_signed());
        let (mut here, mut comes, mut covered) = (urls, 1.0, 0.0);
        for lines in self.lines.map(|lines| lines as f64) {
            covered += comes * here / lines / items;
            let (gone, goes_on) = overflow(here / lines, self.packing.slots);
            (here, comes) = (gone * lines, comes * goes_on);
        }
        -(-covered).exp_m1()
    }
}

/// For a line of `slots` slots whose number of URLs is Poisson distributed with this mean: how many URLs find no slot, and the chance that a
/// new URL would find none.
fn overflow(mean: f64, slots: u32) -> (f64, f64) {
    let slots_f = f64::from(slots);
    if mean > 4.0 * slots_f + 100.0 {
        // All lines are full, to 13 digits.
        return (mean - slots_f, 1.0 - slots_f / mean);
    }
    let mut chance = (1..=slots).fold((-mean).exp(), |chance, count| chance * mean / f64::from(count));
    let (mut gone, mut goes_on, mut count) = (0.0, 0.0, slots_f);
    while chance > 1e-18 || count < mean {
        gone += chance * (count - slots_f);
        goes_on += chance * (1.0 - slots_f / (count + 1.0));
        count += 1.0;
        chance *= mean / count;
    }
    (gone, goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_is_divided_in_one_way() {
        for packing in Packing::BITS.map(Packing::of) {
            for first in (1..300).chain([999, 123_456, 1 << 33, 1 << 50]) {
                let levels = Levels::after(packing, first);
                assert_eq!(Levels::of_bits(packing, levels.bits()), Some(levels));
                assert_eq!(Levels::of_bits(packing, levels.bits() + 1), None);
            }
        }
        let packing = Packing::of(15);
        let sizes: Vec<_> = (1..60).filter(|&lines| Levels::of_bits(packing, lines * LINE_BITS).is_some()).collect();
        assert!(sizes.starts_with(&[3, 4, 5]) && sizes.len() < 59, "{sizes:?}");
        assert_eq!(Levels::of_bits(packing, 0), None);
        // Files depend on them.
        assert_eq!(Levels::after(packing, 1_000_000).lines, [1_000_000, 143_259, 14_515]);
        assert_eq!(Levels::for_urls(packing, 31_900).lines, [1000, 158, 22]);
    }

    /// Against sums by definition, over loads one after the other.
    #[test]
    fn those_beyond_are_the_tail_of_poisson() {
        for slots in [11, 29, 56] {
            for mean in [0.0, 0.5, 20.0, 31.9, 60.0, 400.0] {
                let (mut ln_factorial, mut gone, mut goes_on) = (0.0, 0.0, 0.0);
                for count in 0..2000_u32 {
                    let of = f64::from(count);
                    ln_factorial += of.max(1.0).ln();
                    let chance = if mean == 0.0 {
                        f64::from(count == 0)
                    } else {
                        (of * f64::ln(mean) - mean - ln_factorial).exp()
                    };
                    gone += chance * f64::from(count.saturating_sub(slots));
                    goes_on += chance * (1.0 - f64::from(slots) / f64::from(count + 1)).max(0.0);
                }
                let (ours, ours_on) = overflow(mean, slots);
                assert!((ours - gone).abs() < 1e-9 * (1.0 + gone), "{slots}, {mean}: {ours}, not {gone}");
                assert!((ours_on - goes_on).abs() < 3e-4, "{slots}, {mean}: {ours_on}, not {goes_on}");
            }
        }
    }
}
