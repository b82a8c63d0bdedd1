//! Budgets of hosts, and of groups of hosts: the pages and bytes that they may have in all.
//!
//! Usage is state, so it outlives the process. An outstanding page counts as used until it is back: a host has no more pages out than its
//! budget leaves, and a group's rate group no more requests. The bytes of a response are not known before it ends: when the bytes are
//! spent, outstanding requests are still completed.
//!
//! A host whose budget is spent is asked nothing, so it neither rests nor waits in a queue. Its URLs are set aside as its turn comes, like
//! URLs that [rules](super::rounds) refuse: each has a record and a reason, and the next round of rules, which a change of budgets begins,
//! judges it again. The host is still asked for the robots.txt of others, by its clock.

use std::io;

use super::Frontier;
use crate::frontier::Timestamp;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{Host, HostId, HostState};
use crate::frontier::queues::RateGroupId;
use crate::gate::Refusal;

impl<J: Journal> Frontier<J> {
    /// The refusal of a host's URLs, if its budget or its group's is spent. One load if no host has a budget.
    #[inline]
    pub(crate) fn spent(&self, id: HostId) -> Option<Refusal> {
        if self.politeness.has_budgets() { self.state.spent(id).map(|spent| spent.refusal) } else { None }
    }

    /// Whether a host's pages are given up or set aside at its turn, and not fetched. Such a host need not rest.
    #[inline]
    pub(crate) fn is_over(&self, host: &Host, id: HostId) -> bool {
        host.is_retired() || (self.spent(id).is_some() && self.errands.errand_of(id).is_none())
    }

    /// Pages of a host that may be out at once, by its budget. A spent budget sets no bound: its pages are set aside, not lent.
    #[inline]
    pub(crate) fn pages_left(&self, id: HostId) -> u64 {
        if !self.politeness.has_budgets() {
            return u64::MAX;
        }
        match self.treatment(id).budget.pages_left(self.state.hosts().usage(id)) {
            0 => u64::MAX,
            left => left,
        }
    }

    /// Sets aside URLs of a host whose budget is spent, beginning with the next: up to one of another priority, or the bound.
    pub(super) fn set_aside_spent(
        &mut self,
        id: HostId,
        priority: u8,
        refusal: Refusal,
        drops: &mut u32,
    ) -> io::Result<()> {
        while *drops > 0
            && let Some(first) = self.first_free(self.state.host(id), id).filter(|first| first.priority == priority)
        {
            self.set_aside(id, first, refusal)?;
            *drops -= 1;
        }
        Ok(())
    }

    /// Tells the rate groups of host groups what their budgets leave. Once, before anything is lent.
    pub(crate) fn leave_pages(&mut self) {
        for (number, group) in (0..).zip(self.politeness.groups()) {
            let left = group.budget.pages_left(self.state.group_usage(number));
            self.rate_groups.leave_pages(RateGroupId::of_group(number), left);
        }
    }

    /// A lease of a host is back and counted; `was_spent` says whether its budget was spent before. Tells the rate group of its group what
    /// is left. If nothing is, resting hosts of the group need not rest any more: a failing one would delay the end of the crawl by its
    /// rest. That is O(hosts in memory), once.
    pub(super) fn note_spent(&mut self, id: HostId, was_spent: bool, now: Timestamp) {
        let Some(number) = self.treatment(id).group.filter(|_| self.politeness.has_budgets()) else { return };
        let left = self.politeness.groups()[usize::from(number)].budget.pages_left(self.state.group_usage(number));
        self.rate_groups.leave_pages(RateGroupId::of_group(number), left);
        if was_spent || !self.state.spent(id).is_some_and(|spent| spent.is_of_group) {
            return;
        }
        let is_resting = |id: &HostId| {
            let host = self.state.host(*id);
            let is_resting = matches!(host.seat.state, HostState::Asleep | HostState::Snoozed);
            is_resting && self.politeness.treatment(host.treatment).group == Some(number)
        };
        let resting: Vec<HostId> = self.state.hosts().ids().filter(is_resting).collect();
        self.agenda.remove(|id| resting.binary_search(&id).is_ok());
        for id in resting {
            self.place(id, now);
        }
    }
}
