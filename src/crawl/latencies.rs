//! A histogram of durations.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Durations, as a histogram: any quantile to three significant digits. Its memory grows with the longest time, not with the number of
/// times: 16 KiB for milliseconds, 260 KiB for 30 days, the longest time it distinguishes.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Longer times count as this one.
    pub(crate) const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

    /// Records a time, to the microsecond.
    pub fn record(&mut self, latency: Duration) {
        let micros = latency.min(Self::LONGEST).as_micros();
        // An auto-resizing histogram refuses only what `usize` cannot index: 32,768 slots hold 30 days.
        let _never_refused = self.0.record(u64::try_from(micros).unwrap_or(u64::MAX));
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        // Never refused: a time that fits one histogram fits the other.
        let _never_refused = self.0.add(&other.0);
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The time that this share of all (0 to 1) did not exceed; zero if nothing was recorded.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.0.value_at_quantile(share))
    }

    /// The longest; zero if nothing was recorded.
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.0.max())
    }
}

impl fmt::Debug for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (half, longest) = (self.quantile(0.5), self.longest());
        f.debug_struct("Latencies")
            .field("count", &self.count())
            .field("p50", &half)
            .field("longest", &longest)
            .finish()
    }
}

impl Default for Latencies {
    fn default() -> Self {
        // Only more than five digits are refused.
        Self(Histogram::new(3).expect("three digits are few"))
    }
}

/// Microseconds, and how often they were recorded: the form in a checkpoint.
impl From<Latencies> for Vec<(u64, u64)> {
    fn from(latencies: Latencies) -> Self {
        let recorded = latencies.0.iter_recorded();
        recorded.map(|step| (step.value_iterated_to(), step.count_since_last_iteration())).collect()
    }
}

impl From<Vec<(u64, u64)>> for Latencies {
    fn from(counts: Vec<(u64, u64)>) -> Self {
        let mut latencies = Self::default();
        let longest = u64::try_from(Self::LONGEST.as_micros()).unwrap_or(u64::MAX);
        for (micros, count) in counts {
            // Never refused, as in `record`.
            let _never_refused = latencies.0.record_n(micros.min(longest), count);
        }
        latencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times as in a crawl, some beyond the range.
    fn times() -> Vec<Duration> {
        (0..10_000_u64).map(|i| Duration::from_micros(i * i * 37 % 4_000_000_007)).collect()
    }

    #[test]
    fn quantiles_agree_with_a_sorted_list_to_three_digits() {
        let mut sorted = times();
        let mut latencies = Latencies::default();
        for &time in &sorted {
            latencies.record(time);
        }
        sorted.sort_unstable();
        for (share, rank) in [(0.5, 4_999), (0.9, 8_999), (0.99, 9_899), (1.0, 9_999)] {
            let (exact, ours) =
                (sorted[rank].min(Latencies::LONGEST).as_secs_f64(), latencies.quantile(share).as_secs_f64());
            assert!((ours - exact).abs() <= exact * 1e-3, "{share}: {ours} for {exact}");
        }
        assert_eq!(latencies.count(), 10_000);
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut left, mut right, mut both) = (Latencies::default(), Latencies::default(), Latencies::default());
        for (i, time) in times().into_iter().enumerate() {
            // Of very different ranges, so that one of the two histograms has to grow.
            let (side, time) = if i % 3 == 0 { (&mut left, time / 1000) } else { (&mut right, time) };
            side.record(time);
            both.record(time);
        }
        left.merge(&right);
        assert_eq!(left.count(), both.count());
        for share in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(left.quantile(share), both.quantile(share), "{share}");
        }
    }

    #[test]
    fn nothing_counted_is_zero() {
        assert_eq!(Latencies::default().quantile(0.5), Duration::ZERO);
        assert_eq!(Latencies::default().longest(), Duration::ZERO);
    }
}
