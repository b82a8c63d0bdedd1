//! Lists whose filters combine: which of them bring new URLs, and which only show the same ones in another way.

use super::{Budgets, Evidence, Kind, Spent};
use crate::address::Fingerprint;
use crate::gate::Refusal;
use crate::gate::budget::shape::{Combination, combination};
use crate::gate::budget::{Combined, PageYield};
use crate::seen::Sighting;

impl Budgets {
    /// How a page's query combines parameters. Its set of names is remembered.
    pub(super) fn combined(&self, host: &str, path_and_query: &str) -> Option<Combined> {
        let (path, set) = self.combination(host, path_and_query)?;
        match set.filter(|_| !self.evidence.get().is_some_and(|evidence| self.has_many_sets(evidence, path))) {
            None => Some(Combined::Further { path, leads: false }),
            Some(set) => (self.contents.insert(set) == Sighting::New).then_some(Combined::First { path, set }),
        }
    }

    /// Whether the budget of a path's combinations is spent.
    pub(super) fn spent_combination(&self, evidence: &Evidence, host: &str, path_and_query: &str) -> Option<Spent> {
        let (path, set) = self.combination(host, path_and_query)?;
        let brought = evidence.of(path);
        if !brought.is_beyond(self.limits.shape_budget, self.limits.budget_growth)
            || set.is_some() && !self.has_many_sets(evidence, path)
        {
            return None;
        }
        let path = path_and_query.split('?').next().unwrap_or_default();
        Some(Spent {
            refusal: Refusal::BarrenCombination,
            of: format!("{host}{path}?..."),
            brought,
            budget: ("parameter_sets", self.limits.parameter_sets),
        })
    }

    /// What a combination adds to the evidence: a set of names, or whether the page led to something new.
    pub(super) fn of_combined(&self, yielded: &PageYield) -> Option<(Fingerprint, bool)> {
        Some(match yielded.combined? {
            Combined::First { path, .. } => (self.sets(path), true),
            Combined::Further { path, leads } => (path, leads && yielded.what.is_fresh()),
        })
    }

    /// The key that the sets of names of a path are counted under.
    fn sets(&self, path: Fingerprint) -> Fingerprint {
        self.salted(Kind::Sets).fingerprint_bytes(&path.bits().to_le_bytes())
    }

    /// The path of a combination and its set of names; `None` if the sets have no bound, and for other URLs.
    fn combination(&self, host: &str, path_and_query: &str) -> Option<(Fingerprint, Option<Fingerprint>)> {
        let Combination { path, set } = combination(path_and_query).filter(|_| self.limits.parameter_sets > 0)?;
        Some((self.print(Kind::Combined, host, &path), set.map(|set| self.print(Kind::Set, host, &set))))
    }

    fn has_many_sets(&self, evidence: &Evidence, path: Fingerprint) -> bool {
        evidence.of(self.sets(path)).fresh >= u64::from(self.limits.parameter_sets)
    }
}
