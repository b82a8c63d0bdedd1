//! The totals that one run of a job passes on to the next: all its numbers, in each checkpoint ([`Carried`]); and the time and cost so far,
//! written every second so that they survive a kill ([`Spent`]).

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::counts::SeedCounts;
use super::politeness_watch::PolitenessCounts;
use super::tally::Tally;
use super::timeline::Timeline;
use crate::crawl::counters::counters;
use crate::crawl::records::OutputEnds;
use crate::driver::own;
use crate::driver::{Fields, checksum};
use crate::frontier::Timestamp;

/// The totals that one run of a job passes on to the next, besides the frontier. Each checkpoint contains them.
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

    /// Adds the time and cost that the run used after the checkpoint of these totals.
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

    /// How far the clock has gone back since the last save, at least: the time that has passed since then makes it look like less. `None`
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

/// What all runs of a job have used up to a moment.
///
/// A checkpoint has the same for its own moment. The pages that a killed run has fetched after its checkpoint are counted by their records;
/// the time that they took is counted by this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::crawl) struct Spent {
    /// How long all runs took, in microseconds.
    pub(in crate::crawl) elapsed_us: u64,
    pub(in crate::crawl) cost: Cost,
}

/// The file of [`Spent`], in the job's frontier directory: 32 bytes, overwritten in place.
///
/// ```text
/// elapsed  u64  microseconds
/// CPU      u64  microseconds; all bits set if the system does not say
/// memory   u64  the most bytes at once; all bits set likewise
/// checksum u64  of the bytes before it, with the seed 0
/// ```
///
/// All numbers are little-endian. The file is not synced: if a power cut leaves it short or torn, the checkpoint's time counts.
#[derive(Debug)]
pub(in crate::crawl) struct SpentFile(File);

const NAME: &str = "spent";
const UNKNOWN: u64 = u64::MAX;

impl Spent {
    /// Reads the file in this frontier directory. A missing or torn file counts as zero.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn read(frontier: &Path) -> io::Result<Self> {
        match own::read(&SpentFile::path(frontier)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            bytes => Ok(Self::from_bytes(&bytes?).unwrap_or_default()),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (said, sum) = bytes.split_at_checked(24)?;
        let mut fields = Fields::of(said);
        let mut next = || fields.u64().ok();
        let (elapsed_us, [cpu_us, peak_memory_bytes]) = (next()?, [next()?, next()?]);
        let known = |number: u64| (number != UNKNOWN).then_some(number);
        let cost = Cost { cpu_us: known(cpu_us), peak_memory_bytes: known(peak_memory_bytes) };
        (sum == checksum(0, said).to_le_bytes()).then_some(Self { elapsed_us, cost })
    }

    fn to_bytes(self) -> [u8; 32] {
        let Cost { cpu_us, peak_memory_bytes } = self.cost;
        let mut bytes = [0; 32];
        let numbers = [self.elapsed_us, cpu_us.unwrap_or(UNKNOWN), peak_memory_bytes.unwrap_or(UNKNOWN)];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(0, &bytes[..24]);
        bytes[24..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

impl SpentFile {
    /// The path of the file, given the frontier directory.
    pub(in crate::crawl) fn path(frontier: &Path) -> PathBuf {
        frontier.join(NAME)
    }

    /// Opens the file in this frontier directory, or makes it.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn open(frontier: &Path) -> io::Result<Self> {
        own::open_or_create_in_place(&Self::path(frontier)).map(Self)
    }

    /// Overwrites the file.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(in crate::crawl) fn write(&mut self, spent: Spent) -> io::Result<()> {
        self.0.rewind()?;
        self.0.write_all(&spent.to_bytes())
    }
}

counters! {
    /// The CPU time and memory that a crawl took, in all its runs. A merge adds the memory of two crawls, which two processes need.
    #[derive(Copy, Eq)]
    pub struct Cost {
        /// Microseconds of CPU time of the process while the crawl ran, user and system, to ten milliseconds: the sum over all runs. `null`
        /// where the system does not say.
        pub cpu_us: Option<u64>,
        /// The most memory that was resident at once, in any run; `null` where the system does not say.
        #[cfg_attr(feature = "cli", schemars(extend("x-metric" = "gauge")))]
        pub peak_memory_bytes: Option<u64>,
    }
}

impl Cost {
    /// The cost of this process so far, from `/proc` (Linux).
    pub fn of_this_process() -> Self {
        Self {
            cpu_us: fs::read_to_string("/proc/self/stat").ok().and_then(|stat| cpu_us(&stat)),
            peak_memory_bytes: fs::read_to_string("/proc/self/status").ok().and_then(|status| peak_memory(&status)),
        }
    }

    /// The cost of this process since `began`. The memory is the peak of its whole life.
    pub(in crate::crawl) fn of_this_process_since(began: Self) -> Self {
        let now = Self::of_this_process();
        let since = |now: u64| now.saturating_sub(began.cpu_us.unwrap_or_default());
        Self { cpu_us: now.cpu_us.map(since), ..now }
    }

    /// The cost of this run and the next one together.
    pub(in crate::crawl) fn then(self, next: Self) -> Self {
        let both = |one: Option<u64>, other: Option<u64>, of: fn(u64, u64) -> u64| match (one, other) {
            (Some(one), Some(other)) => Some(of(one, other)),
            (one, other) => one.or(other),
        };
        Self {
            cpu_us: both(self.cpu_us, next.cpu_us, u64::saturating_add),
            peak_memory_bytes: both(self.peak_memory_bytes, next.peak_memory_bytes, u64::max),
        }
    }
}

/// `utime` and `stime`, fields 14 and 15 of `/proc/PID/stat`, in ticks. User space sees ticks of 10 ms on every architecture that Rust's
/// standard library supports, whatever the kernel's own tick is (`USER_HZ`, proc(5)).
fn cpu_us(stat: &str) -> Option<u64> {
    // The second field is the program's name in parentheses; it may itself contain spaces and parentheses.
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut ticks = after_name.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    Some((ticks.next()?.ok()? + ticks.next()?.ok()?) * 10_000)
}

/// `VmHWM` of `/proc/PID/status`, converted from KiB.
fn peak_memory(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()? * 1024)
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
    fn totals_with_fewer_or_unknown_fields_are_read() {
        let before = r#"{
            "started_us": 5, "seeds": {"taken": 2}, "politeness": {"requests": 9}, "of a later version": 1,
            "tally": {"fetched": 3, "links": {"found": 7}, "unreachable": {"dns": 4}, "pages": {"requests": 8}}
        }"#;
        let read = Carried::read(before.as_bytes()).unwrap().unwrap();
        assert_eq!((read.started_us, read.seeds.taken, read.politeness.requests), (5, 2, 9));
        assert_eq!((read.tally.urls.fetched, read.tally.links.found, read.tally.pages.requests), (3, 7, 8));
        assert_eq!(read.tally.urls.unreachable.total(), 4);
        let record = r#"{"url": "https://a.example/", "key": "https://a.example/", "links": {"found": 2}, "timings": {"total_us": 1500}}"#;
        let record: PageRecord = serde_json::from_str(record).unwrap();
        assert_eq!((record.links.found, record.timings.total_us), (2, 1500));
    }

    #[test]
    fn the_last_write_is_read_and_a_torn_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Spent::read(directory.path()).unwrap(), Spent::default(), "there is no file");
        let mut file = SpentFile::open(directory.path()).unwrap();
        for (elapsed_us, cpu_us) in [(9_000_000, Some(80)), (7, None), (u64::MAX, Some(0))] {
            let spent = Spent { elapsed_us, cost: Cost { cpu_us, peak_memory_bytes: Some(4096) } };
            file.write(spent).unwrap();
            assert_eq!(Spent::read(directory.path()).unwrap(), spent);
        }
        let whole = std::fs::read(SpentFile::path(directory.path())).unwrap();
        assert_eq!(whole.len(), 32);
        for place in 0..32 {
            assert_eq!(Spent::from_bytes(&whole[..place]), None);
            let mut torn = whole.clone();
            torn[place] ^= 1;
            assert_eq!(Spent::from_bytes(&torn), None);
        }
    }

    #[test]
    fn proc_files_of_linux_are_read() {
        let stat = "71 (a (b) c) S 1 71 71 0 -1 4194560 983 0 12 0 1234 56 0 0 20 0 9 0 4711 1 2 3";
        assert_eq!(cpu_us(stat), Some(12_900_000));
        assert_eq!(
            peak_memory("Name:\tcrawler\nVmPeak:\t  999 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 1 kB\n"),
            Some(2_097_152)
        );
        for nonsense in ["", ")", "1 (x) S 1 2", "VmHWM: many kB"] {
            assert_eq!((cpu_us(nonsense), peak_memory(nonsense)), (None, None));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_used_something() {
        let hoard = vec![1_u8; 8 << 20];
        let cost = Cost::of_this_process();
        assert!(cost.peak_memory_bytes > Some(hoard.iter().map(|&byte| u64::from(byte)).sum()), "{cost:?}");
        assert!(cost.cpu_us.is_some(), "{cost:?}");
    }
}
