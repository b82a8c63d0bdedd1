//! An axis of a chart: maps a value to its position between the ends.

use crate::report::figures::{thousands, whole};

/// From 0 to 1 along one side of a panel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
}

/// Maximum number of ticks after the first: more would touch.
const MAX_TICKS: u32 = 8;

impl Axis {
    /// From 0 to `high`, above 0.
    pub(super) fn linear(high: f64) -> Self {
        Self { low: 0.0, high, is_log: false }
    }

    /// Between two powers of ten that enclose these values, which are above 0.
    pub(super) fn log(low: f64, high: f64) -> Self {
        // A division may leave a power of ten slightly off.
        let low = (low.log10() + 1e-9).floor();
        Self { low, high: (high.log10() - 1e-9).ceil().max(low + 1.0), is_log: true }
    }

    /// The first and last value.
    pub(super) fn ends(&self) -> (f64, f64) {
        if self.is_log { (10_f64.powf(self.low), 10_f64.powf(self.high)) } else { (self.low, self.high) }
    }

    /// From 0 to 1; `None` outside the ends.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let value = if self.is_log { value.log10() } else { value };
        let place = (value - self.low) / (self.high - self.low);
        // NaN is outside too.
        (-1e-9..=1.0 + 1e-9).contains(&place).then_some(place)
    }

    /// The positions of the ticks, and their labels.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let step = if self.is_log {
            ((self.high - self.low) / f64::from(MAX_TICKS)).ceil().max(1.0)
        } else {
            round_step(self.high / 5.0)
        };
        (0..=MAX_TICKS)
            .map(|tick| self.low + f64::from(tick) * step)
            .take_while(|&at| at <= self.high * (1.0 + 1e-9) + 1e-9)
            .map(|at| {
                let label = if self.is_log { format!("1e{at:.0}") } else { thousands(whole(at)) };
                ((at - self.low) / (self.high - self.low), label)
            })
            .collect()
    }
}

/// The least of 1, 2, 5, 10, 20, ... that is at least `step`.
fn round_step(step: f64) -> f64 {
    let decade = 10_f64.powf(step.log10().floor()).max(1.0);
    [1.0, 2.0, 5.0].map(|part| part * decade).into_iter().find(|&round| round >= step).unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_axis_runs_between_powers_of_ten() {
        let axis = Axis::log(3e-4, 0.5);
        assert_eq!(
            axis.ticks().iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(),
            ["1e-4", "1e-3", "1e-2", "1e-1", "1e0"]
        );
        assert!((axis.place(0.01).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!([0.0, 1e-5, 2.0, f64::NAN].map(|value| axis.place(value)), [None; 4]);
        let same = Axis::log(1e-2 / 1000.0, 1.0);
        assert_eq!(same.ticks()[0].1, "1e-5");
    }

    #[test]
    fn a_linear_axis_has_round_ticks() {
        let ticks = |high| Axis::linear(high).ticks().into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(ticks(20_000.0), ["0", "5,000", "10,000", "15,000", "20,000"]);
        assert_eq!(ticks(3.0), ["0", "1", "2", "3"]);
        assert_eq!(ticks(1e6), ["0", "200,000", "400,000", "600,000", "800,000", "1,000,000"]);
        assert_eq!(Axis::linear(10.0).place(5.0), Some(0.5));
    }
}
