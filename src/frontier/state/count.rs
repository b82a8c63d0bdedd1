//! Sums over all hosts, kept as they change.

/// Sums that would otherwise take a walk over all hosts or over the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// URLs in the queues of hosts, including lent ones.
    pub(crate) queued: u64,
    /// Pages done for good, and pages given up.
    pub(crate) completed: u64,
    /// Leases that will be tried again.
    pub(crate) retries: u64,
    /// Hosts that are not asked again in this run.
    pub(crate) retired_hosts: u64,
    /// Bytes of the first output, by the last receipt.
    pub(crate) output: u64,
}
