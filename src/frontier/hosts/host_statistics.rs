//! One host in numbers.
//!
//! A row for reports. It is made from a host in memory, and kept for some evicted hosts, such as those with the most requests.

use std::cmp::Ordering;
use std::time::Duration;

use super::{Host, PolitenessTable, Usage};
use crate::address::HostKey;
use crate::frontier::Trouble;

/// One host in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostStatistics {
    /// Scheme, host and port.
    pub host: HostKey,
    /// Requests that came back, including those for robots.txt.
    pub requests: u64,
    /// URLs waiting.
    pub queued: u64,
    /// Pages with a record, as [`Politeness::host_pages`](super::Politeness::host_pages) counts them.
    pub pages: u64,
    /// Bytes, as [`Politeness::host_bytes`](super::Politeness::host_bytes) counts them.
    pub bytes: u64,
    /// URLs set aside because its budget, or its group's, is spent.
    pub left_out: u64,
    /// Failures in a row.
    pub failures: u32,
    /// The rest in force.
    pub delay: Duration,
    /// Not asked again in this run.
    pub retired: bool,
    /// Its last failure, if it fails.
    pub trouble: Option<Trouble>,
}

impl HostStatistics {
    /// A host in memory.
    pub(crate) fn of(host: &Host, usage: Usage, politeness_table: &PolitenessTable) -> Self {
        Self {
            host: host.key.clone(),
            requests: host.requests.into(),
            queued: host.waiting(),
            pages: usage.pages.into(),
            bytes: usage.bytes,
            left_out: usage.left_out.into(),
            failures: host.failures.into(),
            delay: host.delay(politeness_table),
            retired: host.is_retired(),
            trouble: host.trouble().cloned(),
        }
    }

    /// The order of a list of failing hosts: retired hosts first, then those with the most URLs waiting, then with the most requests.
    #[cfg(feature = "crawl")]
    pub(crate) fn worst_first(&self, other: &Self) -> Ordering {
        let order = |host: &Self| (host.retired, host.queued);
        order(other).cmp(&order(self)).then_with(|| self.most_first(other))
    }

    /// The order of a list of hosts whose budgets are spent: most URLs set aside first.
    pub(crate) fn most_left_out_first(&self, other: &Self) -> Ordering {
        other.left_out.cmp(&self.left_out).then_with(|| self.most_first(other))
    }

    /// The order of a list by requests, most first; equals go by name.
    pub(crate) fn most_first(&self, other: &Self) -> Ordering {
        other.requests.cmp(&self.requests).then_with(|| self.host.cmp(&other.host))
    }
}
