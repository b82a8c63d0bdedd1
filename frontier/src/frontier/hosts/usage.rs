//! The budgets of hosts, and what hosts have used of them.

use super::HostId;
use crate::gate::Refusal;

/// What a host has used of its budget, in all runs of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Its pages that have a record.
    pub(crate) pages: u32,
    /// Its URLs that are set aside because a budget is spent.
    pub(crate) left_out: u32,
    /// Bytes of its responses to requests for pages and sitemaps.
    pub(crate) bytes: u64,
}

/// What a returned lease used of its host's budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCost {
    /// Whether it was a page that is now done.
    pub(crate) is_page: bool,
    /// Bytes of the response.
    pub(crate) bytes: u64,
}

/// What a host, or all hosts of a group together, may have. The default is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostBudget {
    /// Pages with a record.
    pub(crate) pages: u64,
    /// Bytes of responses.
    pub(crate) bytes: u64,
}

impl Usage {
    /// Adds what a returned lease used.
    pub(crate) fn add(&mut self, cost: HostCost) {
        self.pages = self.pages.saturating_add(cost.is_page.into());
        self.bytes = self.bytes.saturating_add(cost.bytes);
    }

    /// Takes back what a lease used: its page's record was lost, and the page is asked for again.
    pub(crate) fn take_back(&mut self, cost: HostCost) {
        self.pages = self.pages.saturating_sub(cost.is_page.into());
        self.bytes = self.bytes.saturating_sub(cost.bytes);
    }

    /// Adds another host's usage.
    pub(crate) fn join(&mut self, other: Self) {
        self.pages = self.pages.saturating_add(other.pages);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Default for HostBudget {
    fn default() -> Self {
        Self { pages: u64::MAX, bytes: u64::MAX }
    }
}

impl HostBudget {
    /// The budget of the options; `None` and `u64::MAX` are no bound.
    pub(crate) fn of(pages: Option<u64>, bytes: Option<u64>) -> Self {
        let Self { pages: all_pages, bytes: all_bytes } = Self::default();
        Self { pages: pages.unwrap_or(all_pages), bytes: bytes.unwrap_or(all_bytes) }
    }

    /// The pages left of it.
    pub(crate) fn pages_left(&self, usage: Usage) -> u64 {
        self.pages.saturating_sub(usage.pages.into())
    }

    /// Which of the two bounds is spent, if any: pages go before bytes.
    pub(super) fn spent(&self, usage: Usage) -> Option<Refusal> {
        if u64::from(usage.pages) >= self.pages {
            return Some(Refusal::HostPages);
        }
        (usage.bytes >= self.bytes).then_some(Refusal::HostBytes)
    }
}

/// The usage of the hosts in memory, by their numbers, in segments as the hosts are: 16 bytes a host. It is not stored in the hosts, since
/// a host is two full cache lines, and mostly only returning leases need it.
#[derive(Debug, Default)]
pub(super) struct UsageTable(Vec<Vec<Usage>>);

/// Hosts in one segment, of hosts and of their usage.
pub(super) const SEGMENT: usize = 4096;

impl UsageTable {
    pub(super) fn get(&self, id: HostId) -> Usage {
        let segment = self.0.get(id.index() / SEGMENT);
        segment.and_then(|segment| segment.get(id.index() % SEGMENT)).copied().unwrap_or_default()
    }

    /// The usage to change, even of a host that has none yet.
    pub(super) fn get_mut(&mut self, id: HostId) -> &mut Usage {
        let place = id.index() / SEGMENT;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Vec::new);
        }
        let segment = &mut self.0[place];
        if segment.is_empty() {
            segment.resize(SEGMENT, Usage::default());
        }
        &mut segment[id.index() % SEGMENT]
    }

    /// A host is evicted: removes and returns its usage, since its number will be reused.
    pub(super) fn take(&mut self, id: HostId) -> Usage {
        let usage = self.get(id);
        if usage != Usage::default() {
            *self.get_mut(id) = Usage::default();
        }
        usage
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.0.iter().map(|segment| segment.capacity() * size_of::<Usage>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_with_its_last_page_or_byte() {
        let budget = HostBudget::of(Some(2), Some(100));
        let mut usage = Usage::default();
        assert_eq!((budget.spent(usage), budget.pages_left(usage)), (None, 2));
        usage.add(HostCost { is_page: true, bytes: 99 });
        assert_eq!((budget.spent(usage), budget.pages_left(usage)), (None, 1));
        usage.add(HostCost { is_page: false, bytes: 1 });
        assert_eq!(budget.spent(usage), Some(Refusal::HostBytes));
        usage.add(HostCost { is_page: true, bytes: 0 });
        assert_eq!((budget.spent(usage), budget.pages_left(usage)), (Some(Refusal::HostPages), 0));
        usage.take_back(HostCost { is_page: true, bytes: 5 });
        assert_eq!((usage.pages, usage.bytes, budget.spent(usage)), (1, 95, None));
        assert_eq!(HostBudget::of(None, None).spent(Usage { pages: u32::MAX, bytes: 1 << 60, left_out: 0 }), None);
    }

    #[test]
    fn a_host_that_leaves_leaves_nothing_to_the_next_of_its_number() {
        let mut table = UsageTable::default();
        let (host, far) = (HostId::new(3), HostId::new(9000));
        assert_eq!((table.take(far), table.memory()), (Usage::default(), 0));
        table.get_mut(host).add(HostCost { is_page: true, bytes: 7 });
        assert_eq!(table.get(host), Usage { pages: 1, left_out: 0, bytes: 7 });
        assert_eq!(table.take(host).pages, 1);
        assert_eq!((table.get(host), table.get(far)), (Usage::default(), Usage::default()));
    }
}
