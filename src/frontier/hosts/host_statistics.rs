//! One host in numbers.
//!
//! A row for reports. It is made of a host in memory, and kept of those evicted hosts that had the most requests.

use std::cmp::Ordering;
use std::time::Duration;

use super::{Host, Manners};
use crate::address::HostKey;

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

impl HostStatistics {
    /// A host in memory.
    pub(crate) fn of(host: &Host, manners: &Manners) -> Self {
        Self {
            host: host.key.clone(),
            requests: host.requests.into(),
            queued: host.waiting(),
            failures: host.failures.into(),
            delay: host.delay(manners),
            retired: host.is_retired(),
        }
    }

    /// Which goes first in a list by requests; equals go by name.
    pub(crate) fn most_first(&self, other: &Self) -> Ordering {
        other.requests.cmp(&self.requests).then_with(|| self.host.cmp(&other.host))
    }
}
