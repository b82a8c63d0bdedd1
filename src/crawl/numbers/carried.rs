//! What one run of a job passes on to the next.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cost::Cost;
use super::politeness_watch::PolitenessCounts;
use super::seed_counts::SeedCounts;
use super::spent::Spent;
use super::tally::Tally;
use super::timeline::Timeline;
use crate::crawl::records::OutputEnds;
use crate::frontier::Timestamp;

/// What one run of a job passes on to the next, beside the frontier. Each checkpoint contains it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Carried {
    /// When the first run began, in microseconds since the Unix epoch.
    pub(in crate::crawl) started_us: u64,
    /// How long all runs took, in microseconds.
    pub(in crate::crawl) elapsed_us: u64,
    /// The cost of all runs.
    pub(in crate::crawl) cost: Cost,
    /// The number of runs after the first.
    pub(in crate::crawl) resumes: u64,
    pub(in crate::crawl) seeds: SeedCounts,
    pub(crate) tally: Tally,
    pub(in crate::crawl) politeness: PolitenessCounts,
    /// The numbers over time, of all runs.
    pub(crate) timeline: Timeline,
    /// Where the outputs end, by name.
    pub(in crate::crawl) outputs: OutputEnds,
    /// When it was saved, in microseconds since the Unix epoch.
    pub(in crate::crawl) saved_us: u64,
    /// The directory of the bodies, as an absolute path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::crawl) bodies: Option<PathBuf>,
}

impl Carried {
    /// For the first run of a job.
    pub(in crate::crawl) fn begin(now: Timestamp) -> Self {
        Self { started_us: now.as_micros(), ..Self::default() }
    }

    /// The form in a checkpoint.
    pub(in crate::crawl) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("plain data")
    }

    /// Reads the totals of a checkpoint; `None` if they are empty, since no crawl has written them. Counters that this version does not
    /// know are ignored. Counters missing from the bytes start at 0.
    ///
    /// # Errors
    /// If the bytes cannot be read. They are never treated as a new beginning.
    pub(crate) fn read(bytes: &[u8]) -> io::Result<Option<Self>> {
        if bytes.is_empty() { Ok(None) } else { Ok(serde_json::from_slice(bytes).map(Some)?) }
    }

    /// Adds what the run used after the checkpoint that this comes from.
    pub(in crate::crawl) fn catch_up(&mut self, spent: Spent) {
        self.elapsed_us = self.elapsed_us.max(spent.elapsed_us);
        self.cost.cpu_us = self.cost.cpu_us.max(spent.cost.cpu_us);
        self.cost.peak_memory_bytes = self.cost.peak_memory_bytes.max(spent.cost.peak_memory_bytes);
    }

    /// The time and cost of all runs.
    pub(in crate::crawl) fn spent(&self) -> Spent {
        Spent { elapsed_us: self.elapsed_us, cost: self.cost }
    }

    pub(in crate::crawl) fn started(&self) -> Timestamp {
        Timestamp::from_micros(self.started_us)
    }

    /// How far the clock has gone back since the last save, as far as that can be told: time passed since then hides as much of it. `None`
    /// if it is less than a second, since clocks are adjusted all the time.
    pub(in crate::crawl) fn went_back(&self, now: Timestamp) -> Option<Duration> {
        Some(Timestamp::from_micros(self.saved_us).since(now)).filter(|by| *by >= Duration::from_secs(1))
    }

    /// Page records of all runs.
    pub(in crate::crawl) fn pages(&self) -> u64 {
        self.tally.records()
    }

    pub(in crate::crawl) fn elapsed(&self) -> Duration {
        Duration::from_micros(self.elapsed_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::{LinkCounts, PageRecord, Timings};

    #[test]
    fn a_clock_that_went_back_is_noticed() {
        let carried = Carried { saved_us: 7_000_000_000, ..Carried::default() };
        let went_back = |seconds: u64| carried.went_back(Timestamp::from_micros(seconds * 1_000_000));
        assert_eq!(went_back(7_000), None);
        assert_eq!(went_back(9_000), None);
        assert_eq!(went_back(6_000), Some(Duration::from_secs(1_000)));
        assert_eq!(carried.went_back(Timestamp::from_micros(6_999_100_000)), None, "it is put right all the time");
    }

    #[test]
    fn a_tally_survives_with_its_histograms() {
        let mut carried = Carried::begin(Timestamp::from_micros(7));
        for i in 0..1000_u16 {
            let record = PageRecord {
                status: (i % 3 > 0).then_some(200 + i % 5),
                error: (i % 3 == 0).then(|| "timeout".to_owned()),
                content_type: Some(format!("a/{}", i % 300)),
                // Each time is counted more than once.
                timings: Timings { first_byte_us: u64::from(i % 100) * 1000, total_us: u64::from(i % 100) * 2500 },
                links: LinkCounts { found: 3, admitted: 1, seen: 2, refused: 0, userinfo: 1, sent: 2 },
                ..PageRecord::default()
            };
            carried.tally.record_page(true, &record);
        }
        carried.seeds = SeedCounts { taken: 3, refused: 4 };
        let read = Carried::read(&carried.to_bytes()).unwrap().unwrap();
        assert!(read == carried, "each count of each time");
        let p99 = |carried: &Carried| carried.tally.pages.first_byte.quantile(0.99);
        assert!(p99(&read) > Duration::from_millis(90));
        assert_eq!(p99(&read), p99(&carried));
        assert_eq!(Carried::read(b"").unwrap(), None);
        for wrong in ["no", "{", r#"{"tally": {"fetched": "x"}}"#] {
            Carried::read(wrong.as_bytes()).unwrap_err();
        }
    }

    /// Bytes of an earlier version can be read although they lack the counters added since. Those begin at 0.
    #[test]
    fn what_counts_less_is_read() {
        let before = r#"{
            "started_us": 5, "seeds": {"taken": 2}, "politeness": {"requests": 9}, "of a later version": 1,
            "tally": {"fetched": 3, "links": {"found": 7}, "unreachable": {"named": {"dns": 4}}, "pages": {"requests": 8}}
        }"#;
        let read = Carried::read(before.as_bytes()).unwrap().unwrap();
        assert_eq!((read.started_us, read.seeds.taken, read.politeness.requests), (5, 2, 9));
        assert_eq!((read.tally.fetched, read.tally.links.found, read.tally.pages.requests), (3, 7, 8));
        assert_eq!(read.tally.unreachable.total(), 4);
        let record = r#"{"url": "https://a.example/", "key": "https://a.example/", "links": {"found": 2}, "timings": {"total_us": 1500}}"#;
        let record: PageRecord = serde_json::from_str(record).unwrap();
        assert_eq!((record.links.found, record.timings.total_us), (2, 1500));
    }
}
