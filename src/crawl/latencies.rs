//! A histogram of durations, and its form in files: percentiles, and the times from which they are computed.

use std::fmt::{self, Write};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::counters::Counter;

/// A duration in microseconds, as records and reports have it.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Durations, as a histogram: any quantile to three significant digits. Its memory grows with the longest time, not with the number of
/// times: 16 KiB for milliseconds, 260 KiB for 30 days, the longest time it distinguishes. A file has them as [`Percentiles`].
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(from = "Percentiles", into = "Percentiles")]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Longer times count as this one.
    pub(crate) const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

    /// Records a time, to the microsecond.
    pub fn record(&mut self, latency: Duration) {
        self.record_n(micros(latency), 1);
    }

    /// Records a time in microseconds, `count` times.
    fn record_n(&mut self, us: u64, count: u64) {
        // An auto-resizing histogram refuses only what `usize` cannot index: 32,768 slots hold 30 days.
        let _never_refused = self.0.record_n(us.min(micros(Self::LONGEST)), count);
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

    /// The percentiles that a report shows, without the times.
    pub fn percentiles(&self) -> Percentiles {
        let quantile_us = |share| self.0.value_at_quantile(share);
        Percentiles {
            count: self.count(),
            p50_us: quantile_us(0.5),
            p90_us: quantile_us(0.9),
            p99_us: quantile_us(0.99),
            max_us: self.0.max(),
            times: String::new(),
        }
    }

    /// Times in microseconds, and how often each was recorded.
    fn times(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
    }
}

impl Counter for Latencies {
    fn merge_with(&mut self, other: &Self) {
        // Never refused: a time that fits one histogram fits the other.
        let _never_refused = self.0.add(&other.0);
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

impl FromIterator<(u64, u64)> for Latencies {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(times: I) -> Self {
        let mut latencies = Self::default();
        times.into_iter().for_each(|(us, count)| latencies.record_n(us, count));
        latencies
    }
}

/// Times, to three significant digits. A time of more than 30 days counts as 30 days.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct Percentiles {
    /// Times measured.
    #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "none")))]
    pub count: u64,
    /// Half of these times are no longer.
    pub p50_us: u64,
    /// Nine in ten of them are no longer.
    pub p90_us: u64,
    /// 99 in 100 of them are no longer.
    pub p99_us: u64,
    /// None of them is longer.
    pub max_us: u64,
    /// The times themselves, for a merge, as `1200*3 +5 +80*2`: each in microseconds or, after a `+`, as the difference to the time before;
    /// a number after a `*` says how often it occurred. Left out if they follow from the percentiles.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub times: String,
}

impl Percentiles {
    /// Made-up times with these percentiles, as many as were counted.
    fn spread(&self) -> Latencies {
        let Self { count, p50_us, p90_us, p99_us, max_us, .. } = *self;
        // One time is the longest. The others are spread so that each percentile comes out.
        let longest = count.min(1);
        // Counts from a file may be anything.
        let share = |hundredths: u64| (u128::from(count) * u128::from(hundredths)).div_ceil(100);
        let upto = |hundredths| u64::try_from(share(hundredths)).unwrap_or(count).min(count - longest);
        let [half, most, nearly] = [50, 90, 99].map(upto);
        let rest = count - longest - nearly;
        let counts = [(p50_us, half), (p90_us, most - half), (p99_us, nearly - most), (max_us, longest + rest)];
        counts.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

/// The form in files. There are at most 32,768 times, and mostly a few thousand.
impl From<Latencies> for Percentiles {
    fn from(latencies: Latencies) -> Self {
        let percentiles = latencies.percentiles();
        if percentiles.spread() == latencies {
            return percentiles;
        }
        let (mut times, mut before) = (String::new(), 0);
        for (time, count) in latencies.times() {
            // Writing to a `String` cannot fail.
            let _ = write!(times, "{}{}", if times.is_empty() { "" } else { " +" }, time - before);
            if count > 1 {
                let _ = write!(times, "*{count}");
            }
            before = time;
        }
        Self { times, ..percentiles }
    }
}

/// Reads the times. If a file has more or fewer times than its count says, they are made up from the percentiles.
impl From<Percentiles> for Latencies {
    fn from(percentiles: Percentiles) -> Self {
        let mut time: u64 = 0;
        let times = percentiles.times.split_ascii_whitespace().filter_map(|one| {
            let (step, count) = one.split_once('*').unwrap_or((one, "1"));
            let (step, count) = (step.trim_start_matches('+').parse().ok()?, count.parse().ok()?);
            time = time.saturating_add(step);
            Some((time, count))
        });
        let latencies: Self = times.collect();
        if latencies.count() == percentiles.count { latencies } else { percentiles.spread() }
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
        left.merge_with(&right);
        assert_eq!(left.count(), both.count());
        for share in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(left.quantile(share), both.quantile(share), "{share}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_little() {
        let mut latencies = Latencies::default();
        for number in 0..100_000_u64 {
            latencies.record(Duration::from_micros(number * number % 3_000_017));
        }
        let written = Percentiles::from(latencies.clone());
        assert!(written.times.len() < 60_000, "{}", written.times.len());
        assert_eq!(Latencies::from(written), latencies);
        let few: Latencies = [(1200, 3), (1205, 1), (1285, 2)].into_iter().collect();
        assert_eq!(Percentiles::from(few.clone()).times, "1200*3 +5 +80*2");
        let nonsense =
            Percentiles { count: 6, times: "1200*3 nonsense +5 +80*2 +x*2".to_owned(), ..Percentiles::default() };
        assert_eq!(Latencies::from(nonsense), few);
    }

    #[test]
    fn without_times_percentiles_stand_for_them() {
        let spread = |count, p50_us, p90_us, p99_us, max_us| {
            let percentiles = Percentiles { count, p50_us, p90_us, p99_us, max_us, times: String::new() };
            assert_eq!(Latencies::from(percentiles.clone()).percentiles(), percentiles);
        };
        spread(1000, 100, 200, 300, 400);
        spread(1, 7, 7, 7, 7);
        spread(0, 0, 0, 0, 0);
        let absurd = Percentiles { count: u64::MAX, p50_us: 7, ..Percentiles::default() };
        assert_eq!(Latencies::from(absurd).count(), u64::MAX);
    }

    #[test]
    fn nothing_counted_is_zero() {
        assert_eq!(Latencies::default().quantile(0.5), Duration::ZERO);
        assert_eq!(Latencies::default().longest(), Duration::ZERO);
    }
}
