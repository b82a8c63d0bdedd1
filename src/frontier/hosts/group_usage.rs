//! What groups of hosts have used together, and whether their budgets are spent.

use super::{HostPolicy, Sharing, Usage};
use crate::gate::Refusal;

/// A budget that is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpentBudget {
    /// Which of the two bounds is spent.
    pub(crate) refusal: Refusal,
    /// Whether it is the budget of the host's group.
    pub(crate) is_of_group: bool,
}

/// What groups of hosts have used together, by the groups' numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupUsage(Vec<Usage>);

impl GroupUsage {
    /// For this many groups, which have used nothing.
    pub(crate) fn new(groups: usize) -> Self {
        Self(vec![Usage::default(); groups])
    }

    pub(crate) fn of(&self, group: u16) -> Usage {
        self.0[usize::from(group)]
    }

    /// The usage of a host's group, if it is in one.
    pub(crate) fn get_mut(&mut self, treatment: &HostPolicy) -> Option<&mut Usage> {
        treatment.group.map(|group| &mut self.0[usize::from(group)])
    }

    /// The budget that is spent, if any: the host's own, or else its group's.
    pub(crate) fn spent(&self, treatment: &HostPolicy, groups: &[Sharing], usage: Usage) -> Option<SpentBudget> {
        if let Some(refusal) = treatment.budget.spent(usage) {
            return Some(SpentBudget { refusal, is_of_group: false });
        }
        let group = treatment.group?;
        let refusal = groups[usize::from(group)].budget.spent(self.of(group))?;
        Some(SpentBudget { refusal, is_of_group: true })
    }
}
