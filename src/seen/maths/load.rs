//! What the lines of a blocked filter answer at a given fill.

use super::arithmetic::to_u64;
use crate::seen::probes::LANE_PROBES;

/// What the lines of a blocked filter answer at a mean load, in URLs a line.
///
/// A line's load `J` is Poisson distributed, and means over it are needed. Let `r(J)` be the rate of a line that holds `J` URLs. Then the
/// derivative of the mean of `r(J)` is the mean of `r(J + 1) - r(J)`, and its integral is the mean of `r(0) + ... + r(J - 1)`. So one walk
/// over the loads gives all three.
#[derive(Clone, Copy, Debug)]
pub(in crate::seen) struct Load {
    /// The share of new URLs that are taken for seen.
    pub(in crate::seen) rate: f64,
    /// URLs taken for seen on the way from an empty line to this load: the integral of the rate.
    pub(in crate::seen) lost: f64,
    /// The derivative of the rate.
    slope: f64,
}

/// Bits in a lane of a line.
const LANE_BITS: f64 = 64.0;

/// From this mean load on, all lines are full, to 13 digits.
const FULL: f64 = 4096.0;

impl Load {
    /// Walks over the loads that lines may have at this mean. `probes` is 8 or 16.
    pub(in crate::seen) fn of(mean_load: f64, probes: u32) -> Self {
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
    pub(in crate::seen) fn at_rate(rate: f64, probes: u32) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

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
