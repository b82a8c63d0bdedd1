use std::time::Duration;

use crate::address::HostKey;

/// The frontier in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontierStatistics {
    /// URLs waiting.
    pub queued: u64,
    /// URLs lent out.
    pub leased: u64,
    /// Page leases completed for good.
    pub completed: u64,
    /// Leases that will be tried again.
    pub retries: u64,
    /// Hosts known.
    pub hosts: u64,
    /// Hosts with URLs queued, resting or due.
    pub active_hosts: u64,
    /// Hosts not asked again in this crawl.
    pub retired_hosts: u64,
    /// Bytes of memory in all: queues, hosts with their robots rules, and journal.
    pub memory: u64,
    /// Of these, in the back queues: what the URLs waiting cost beside the journal.
    pub queue_memory: u64,
    /// Of these, in the journal.
    pub journal_memory: u64,
}

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
    /// Not asked again in this crawl.
    pub retired: bool,
}
