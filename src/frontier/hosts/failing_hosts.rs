//! How many hosts fail.
//!
//! A crawl with only failing hosts left waits for them for a while, and then gives them up. A walk over all hosts to find that moment would
//! cost too much. So each host is counted by its outlook when it takes a seat, and taken out of the count when it leaves it.

use super::Outlook;
use crate::frontier::Timestamp;

/// How many of the hosts with URLs queued fail, counted as hosts change seats.
#[derive(Debug, Default)]
pub(crate) struct FailingHosts {
    /// Hosts that fail and may come back.
    pub(crate) struggling: usize,
    /// Hosts that do not exist.
    pub(crate) hopeless: usize,
    /// Since when only failing hosts are left. `politeness.patience` counts from here; a host that answers ends it.
    pub(crate) since: Option<Timestamp>,
}

/// Whether the crawl waits for its failing hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// There are other hosts.
    Unasked,
    /// It waits for them until this time.
    Until(Timestamp),
    /// No longer, but some are still being asked.
    Over,
}

impl FailingHosts {
    /// The number of failing hosts with URLs queued, hopeless or not. Retired hosts, which are not asked again, are not included.
    pub(crate) fn failing(&self) -> usize {
        self.struggling + self.hopeless
    }

    /// The count of hosts with this outlook; `None` for a good one, which is not counted.
    pub(crate) fn count(&mut self, prospect: Outlook) -> Option<&mut usize> {
        match prospect {
            Outlook::Good => None,
            Outlook::Struggling => Some(&mut self.struggling),
            Outlook::Hopeless => Some(&mut self.hopeless),
        }
    }
}
