//! One host in numbers.

use super::{Host, Politeness};
use crate::address::HostKey;
use std::cmp::Ordering;
use std::time::Duration;

/// One host in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostStatistics {
    /// Scheme, host and port.
    pub host: HostKey,
    /// Leases handed out, robots.txt included.
    pub requests: u64,
    /// URLs waiting.
    pub queued: u64,
    /// Failures in a row.
    pub failures: u32,
    /// The rest in force.
    pub delay: Duration,
    /// Not asked again in this run.
    pub retired: bool,
}

pub(crate) fn in_numbers(host: &Host, politeness: &Politeness) -> HostStatistics {
    HostStatistics {
        host: host.key.clone(),
        requests: host.requests.into(),
        queued: host.queue.len().into(),
        failures: host.failures.into(),
        delay: host.delay(politeness),
        retired: host.is_retired(),
    }
}

/// By requests, equals by name.
pub(crate) fn most_first(a: &HostStatistics, b: &HostStatistics) -> Ordering {
    b.requests.cmp(&a.requests).then_with(|| a.host.cmp(&b.host))
}
