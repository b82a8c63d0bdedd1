//! The times from which a report's percentiles are computed, so that reports can be merged.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::times::Percentiles;
use crate::crawl::{Latencies, Tally};

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

/// Skips what cannot be read. Then there are fewer times than the report counted, which [`Histograms::behind`] notices.
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
        let told = Percentiles { count: 1000, p50_us: 100, p90_us: 200, p99_us: 300, max_us: 400 };
        let made_up = Histograms::default().behind("pages.whole", &told);
        assert_eq!(Percentiles::from(&made_up), told);
        let one = Percentiles { count: 1, p50_us: 7, p90_us: 7, p99_us: 7, max_us: 7 };
        assert_eq!(Percentiles::from(&one.spread()), one);
        assert_eq!(Percentiles::default().spread().count(), 0);
    }
}
