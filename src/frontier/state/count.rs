//! What would take a walk over all hosts to find out.

/// What would take a walk over all hosts to find out.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) queued: u64,
    pub(crate) leased: u64,
    /// Of these, first contacts with their hosts.
    pub(crate) first_contacts: u64,
    pub(crate) completed: u64,
    pub(crate) retries: u64,
    pub(crate) retired_hosts: u64,
    /// Bytes of robots rules.
    pub(crate) rules: usize,
    /// Bytes of the output: of all receipts.
    pub(crate) output: u64,
}
