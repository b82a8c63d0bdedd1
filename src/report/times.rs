//! The times of a report.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::crawl::{ConnectionTimes, Latencies, WaitTimes};

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
    /// Times with these percentiles, as many as were counted.
    pub(super) fn spread(&self) -> Latencies {
        let Self { count, p50_us, p90_us, p99_us, max_us } = *self;
        // The longest time; the others are spread so that each percentile comes out.
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

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
