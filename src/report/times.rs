//! The times of a report, as percentiles; and the times from which the percentiles are computed, so that reports can be merged.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::crawl::{ConnectionTimes, Latencies, Tally, WaitTimes, micros};

/// Times, to three significant digits. A time of more than 30 days counts as 30 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Percentiles {
    /// Times measured.
    pub count: u64,
    /// Half of these times are no longer.
    pub p50_us: u64,
    /// Nine in ten of them are no longer.
    pub p90_us: u64,
    /// 99 in 100 of them are no longer.
    pub p99_us: u64,
    /// None of them is longer.
    pub max_us: u64,
}

/// How long it took to reach servers. A connection that was used again, and a name that was known, are not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct ConnectionFigures {
    /// Names, looked up by the system.
    pub lookup: Percentiles,
    /// TCP connections.
    pub connect: Percentiles,
    /// TLS handshakes.
    pub tls: Percentiles,
}

/// How long URLs and hosts waited before they were asked: a sample of them, where they are many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct WaitFigures {
    /// URLs in the queue, from their admission on, in one run.
    pub queued: Percentiles,
    /// Hosts with URLs, for the end of their rest: what politeness cost.
    pub rested: Percentiles,
    /// Hosts whose rest was over, for their turn: for a place among the fetches under way, for their group or address, or for the rate of the
    /// crawl. Where this is long, the machine or its limits are what is slow, and not the hosts.
    pub due: Percentiles,
}

impl Percentiles {
    /// As many times as were counted, made up so that they have these percentiles.
    pub(super) fn spread(&self) -> Latencies {
        let Self { count, p50_us, p90_us, p99_us, max_us } = *self;
        // One time is the longest. The others are spread so that each percentile comes out.
        let longest = count.min(1);
        let upto = |hundredths: u64| (count * hundredths).div_ceil(100).min(count - longest);
        let [half, most, nearly] = [50, 90, 99].map(upto);
        let rest = count - longest - nearly;
        let counts = [(p50_us, half), (p90_us, most - half), (p99_us, nearly - most), (max_us, longest + rest)];
        Latencies::from(counts.into_iter().filter(|(_, count)| *count > 0).collect::<Vec<_>>())
    }
}

impl From<&Latencies> for Percentiles {
    fn from(latencies: &Latencies) -> Self {
        let quantile_us = |share| micros(latencies.quantile(share));
        Self {
            count: latencies.count(),
            p50_us: quantile_us(0.5),
            p90_us: quantile_us(0.9),
            p99_us: quantile_us(0.99),
            max_us: micros(latencies.longest()),
        }
    }
}

impl From<&ConnectionTimes> for ConnectionFigures {
    fn from(times: &ConnectionTimes) -> Self {
        let [lookup, connect, tls] = [&times.lookup, &times.connect, &times.tls].map(Percentiles::from);
        Self { lookup, connect, tls }
    }
}

impl From<&WaitTimes> for WaitFigures {
    fn from(times: &WaitTimes) -> Self {
        let [queued, rested, due] = [&times.queued, &times.rested, &times.due].map(Percentiles::from);
        Self { queued, rested, due }
    }
}

/// The times from which a report's percentiles are computed, by the percentiles' names: `pages.first_byte`.
///
/// Each is written as one text, `1200*3 +5 +80*2`: a time in microseconds, or how much longer it is than the one before, and how often it
/// was counted, if more than once. Times have three significant digits, so a text has at most 32,768 of them, and mostly a few thousand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub(super) struct Histograms(BTreeMap<String, Latencies>);

/// The names of all percentiles.
pub(super) const NAMES: [&str; 10] = [
    "pages.first_byte",
    "pages.whole",
    "robots.first_byte",
    "robots.whole",
    "connections.lookup",
    "connections.connect",
    "connections.tls",
    "waits.queued",
    "waits.rested",
    "waits.due",
];

impl Histograms {
    pub(super) fn of(tally: &Tally) -> Self {
        let (connections, waits) = (&tally.connections, &tally.waits);
        let [pages, robots] = [&tally.pages, &tally.robots];
        let times = [
            &pages.first_byte,
            &pages.total,
            &robots.first_byte,
            &robots.total,
            &connections.lookup,
            &connections.connect,
            &connections.tls,
            &waits.queued,
            &waits.rested,
            &waits.due,
        ];
        let counted = NAMES.into_iter().zip(times).filter(|(_, times)| times.count() > 0);
        Self(counted.map(|(name, times)| (name.to_owned(), times.clone())).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Merges both, and computes the percentiles anew, in the order of [`NAMES`].
    pub(super) fn merge<'a>(
        &mut self,
        ours: impl IntoIterator<Item = &'a mut Percentiles>,
        others: (&Self, impl IntoIterator<Item = &'a mut Percentiles>),
    ) {
        let mut merged = Self::default();
        for ((name, ours), theirs) in NAMES.into_iter().zip(ours).zip(others.1) {
            let mut times = self.behind(name, ours);
            times.merge(&others.0.behind(name, theirs));
            *ours = Percentiles::from(&times);
            if times.count() > 0 {
                merged.0.insert(name.to_owned(), times);
            }
        }
        *self = merged;
    }

    /// The times of one percentile. If the report does not have them, they are made up from its percentiles: as many as were counted, half
    /// of them as long as the median, and so on.
    fn behind(&self, name: &str, percentiles: &Percentiles) -> Latencies {
        match self.0.get(name) {
            Some(times) if times.count() == percentiles.count => times.clone(),
            _ => percentiles.spread(),
        }
    }
}

impl From<BTreeMap<String, String>> for Histograms {
    fn from(texts: BTreeMap<String, String>) -> Self {
        Self(texts.into_iter().map(|(name, text)| (name, Latencies::from(read(&text)))).collect())
    }
}

impl From<Histograms> for BTreeMap<String, String> {
    fn from(histograms: Histograms) -> Self {
        histograms.0.into_iter().map(|(name, times)| (name, written(&Vec::from(times)))).collect()
    }
}

fn written(counts: &[(u64, u64)]) -> String {
    let (mut text, mut before) = (String::new(), 0);
    for &(time, count) in counts {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{}{}", if text.is_empty() { "" } else { " +" }, time - before);
        if count > 1 {
            let _ = write!(text, "*{count}");
        }
        before = time;
    }
    text
}

/// Reads times, and skips those that cannot be parsed. Then there are fewer times than the report counted, which [`Histograms::behind`]
/// notices.
fn read(text: &str) -> Vec<(u64, u64)> {
    let mut time: u64 = 0;
    let counted = text.split_ascii_whitespace().filter_map(|one| {
        let (step, count) = one.split_once('*').unwrap_or((one, "1"));
        let (step, count) = (step.trim_start_matches('+').parse().ok()?, count.parse().ok()?);
        time = time.saturating_add(step);
        Some((time, count))
    });
    counted.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_little() {
        let mut times = Latencies::default();
        for number in 0..100_000_u64 {
            times.record(Duration::from_micros(number * number % 3_000_017));
        }
        let histograms = Histograms(BTreeMap::from([("pages.whole".to_owned(), times.clone())]));
        let texts: BTreeMap<String, String> = histograms.clone().into();
        assert!(texts["pages.whole"].len() < 60_000, "{}", texts["pages.whole"].len());
        assert_eq!(Histograms::from(texts), histograms);
        assert_eq!(written(&[(1200, 3), (1205, 1), (1285, 2)]), "1200*3 +5 +80*2");
        assert_eq!(read("1200*3 nonsense +5 +x*2"), [(1200, 3), (1205, 1)]);
    }

    #[test]
    fn without_times_percentiles_stand_for_them() {
        let percentiles = Percentiles { count: 1000, p50_us: 100, p90_us: 200, p99_us: 300, max_us: 400 };
        let made_up = Histograms::default().behind("pages.whole", &percentiles);
        assert_eq!(Percentiles::from(&made_up), percentiles);
        let one = Percentiles { count: 1, p50_us: 7, p90_us: 7, p99_us: 7, max_us: 7 };
        assert_eq!(Percentiles::from(&one.spread()), one);
        assert_eq!(Percentiles::default().spread().count(), 0);
    }
}
