//! Whose robots rules may be dropped from memory.

use super::Host;
use std::collections::VecDeque;

/// Hosts whose robots rules stand in memory though the journal has them too, so that they may go.
///
/// The hand of a clock (Corbató 1968): rules that lent a page since it last passed stay for another round, others are dropped.
/// That is nearly the order of last use, at four bytes a host and no work when they are used.
#[derive(Debug, Default)]
pub(crate) struct RulesClock {
    /// Each host once; those whose rules went another way are passed over.
    pub(crate) hosts: VecDeque<u32>,
    /// Bytes that would be free without these rules.
    pub(crate) bytes: usize,
}

impl RulesClock {
    pub(crate) fn memory(&self) -> usize {
        self.hosts.capacity() * size_of::<u32>()
    }

    /// The host is leaving. Its number stays: it is the next host's.
    pub(crate) fn forget(&mut self, host: &Host) {
        self.bytes -= host.robots.spare();
    }
}
