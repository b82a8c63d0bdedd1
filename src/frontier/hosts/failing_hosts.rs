//! How many hosts are in trouble.
//!
//! A crawl that has nothing left but failing hosts waits for them for a while, and then gives them up. A walk over all hosts would be
//! too much to look for that moment. So each host is counted by its prospect when it takes a seat, and taken out of the count when it
//! leaves it.

use super::Outlook;
use crate::frontier::Timestamp;

/// How many of the hosts with URLs queued are in trouble, counted as hosts change seats.
#[derive(Debug, Default)]
pub(crate) struct FailingHosts {
    /// Hosts that fail and may come back.
    pub(crate) struggling: usize,
    /// Hosts that do not exist.
    pub(crate) hopeless: usize,
    /// Since when there are no others. `politeness.patience` counts from here; a host that answers ends it.
    pub(crate) since: Option<Timestamp>,
}

/// How a crawl stands to its hosts that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// There are others.
    Unasked,
    /// They are waited for.
    Until(Timestamp),
    /// No longer, and some are still being asked.
    Over,
}

impl FailingHosts {
    /// Hosts with URLs queued that fail, whether there is hope for them or not. Retired ones are not among them: nobody asks these again.
    pub(crate) fn failing(&self) -> usize {
        self.struggling + self.hopeless
    }

    /// The count that a host of this prospect is in; `None` for a good one, which is not counted.
    pub(crate) fn count(&mut self, prospect: Outlook) -> Option<&mut usize> {
        match prospect {
            Outlook::Good => None,
            Outlook::Struggling => Some(&mut self.struggling),
            Outlook::Hopeless => Some(&mut self.hopeless),
        }
    }
}
