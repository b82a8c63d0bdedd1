//! The CPU time and memory that a crawl took.

use std::fs;

use serde::{Deserialize, Serialize};

/// The CPU time and memory that a crawl took, in all its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Microseconds of CPU time of the process while the crawl ran, user and system, to ten milliseconds: the sum over all runs. `null` where
    /// the system does not say.
    pub cpu_us: Option<u64>,
    /// The most memory that was resident at once, in any run; `null` where the system does not say.
    pub peak_memory_bytes: Option<u64>,
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

    /// The cost of this run followed by the next.
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

    #[test]
    fn reads_what_linux_writes() {
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
