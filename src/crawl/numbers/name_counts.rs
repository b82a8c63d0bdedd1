//! Counts by names that the web chooses.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts by names that the web chooses. Keeps at most [`NameCounts::MOST`] names, and counts the rare ones together as `other`.
///
/// When one more name arrives, the rarer half is merged into `other`. A merged name that comes back starts from zero. So a name's count is
/// a lower bound if `other` is not zero. The sum is always exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameCounts {
    named: BTreeMap<Box<str>, u64>,
    other: u64,
}

impl FromIterator<(String, u64)> for NameCounts {
    fn from_iter<I: IntoIterator<Item = (String, u64)>>(counts: I) -> Self {
        let mut all = Self::default();
        counts.into_iter().for_each(|(name, count)| all.add(&name, count));
        all
    }
}

impl NameCounts {
    /// At most this many distinct names. With names of up to 128 bytes they take 40 KiB.
    pub const MOST: usize = 256;

    /// Adds `count` to a name.
    pub fn add(&mut self, name: &str, count: u64) {
        if let Some(counted) = self.named.get_mut(name) {
            *counted += count;
            return;
        }
        if self.named.len() == Self::MOST {
            self.fold();
        }
        self.named.insert(name.into(), count);
    }

    /// The count of a name.
    pub fn of(&self, name: &str) -> u64 {
        self.named.get(name).copied().unwrap_or_default()
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        self.other += other.other;
        for (name, &count) in &other.named {
            self.add(name, count);
        }
    }

    /// Names and counts, most first, then by name.
    pub fn most_first(&self) -> Vec<(&str, u64)> {
        let mut counts: Vec<_> = self.named.iter().map(|(name, &count)| (&**name, count)).collect();
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        counts
    }

    /// The sum of the merged names' counts.
    pub fn other(&self) -> u64 {
        self.other
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.named.values().sum::<u64>() + self.other
    }

    fn fold(&mut self) {
        let mut rarest: Vec<_> = self.named.iter().map(|(name, &count)| (count, name.clone())).collect();
        rarest.sort_unstable();
        for (count, name) in rarest.drain(..Self::MOST / 2) {
            self.named.remove(&name);
            self.other += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_stay_few_and_the_common_ones_stay_exact() {
        let mut counts = NameCounts::default();
        for i in 0..10_000 {
            counts.add(&format!("x/{i}"), 1);
            counts.add(if i % 4 == 0 { "image/png" } else { "text/html" }, 1);
        }
        assert!(counts.named.len() <= NameCounts::MOST);
        assert_eq!(counts.most_first()[..2], [("text/html", 7_500), ("image/png", 2_500)]);
        assert_eq!(counts.total(), 20_000);
    }

    #[test]
    fn merging_loses_no_count() {
        let halves = [0, 1].map(|half| {
            let mut counts = NameCounts::default();
            (0..1_000).for_each(|i| counts.add(&format!("{half}/{i}"), i));
            counts.add("both", 1_000_000);
            counts
        });
        let [mut merged, right] = halves;
        merged.merge(&right);
        assert_eq!(merged.total(), 2 * (999 * 500 + 1_000_000));
        assert_eq!(merged.most_first()[0], ("both", 2_000_000));
        assert!(merged.named.len() <= NameCounts::MOST);
    }
}
