//! The use of the machine: time, CPU time, memory. On systems other than Linux, the CPU time is the clock's, and memory is 0.

use std::time::{Duration, Instant};

/// Time spent, on the clock and on the processor: the clock alone counts what other processes took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meter {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// A span under way.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    wall: Instant,
    cpu: Option<Duration>,
}

impl Span {
    pub(crate) fn begin() -> Self {
        Self { wall: Instant::now(), cpu: cpu() }
    }

    pub(crate) fn end(self) -> Meter {
        let wall = self.wall.elapsed();
        let cpu = self.cpu.and_then(|before| Some(cpu()?.saturating_sub(before)));
        Meter { wall, cpu: cpu.unwrap_or(wall) }
    }
}

impl Meter {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { wall: self.wall + other.wall, cpu: self.cpu + other.cpu }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self { wall: self.wall.saturating_sub(other.wall), cpu: self.cpu.saturating_sub(other.cpu) }
    }

    pub(crate) fn longer(self, other: Self) -> Self {
        Self { wall: self.wall.max(other.wall), cpu: self.cpu.max(other.cpu) }
    }
}

/// What this thread has had of the processor.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Bytes of memory that the process has in use.
pub(crate) fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).map_or(0, |kib: u64| kib << 10)
}
