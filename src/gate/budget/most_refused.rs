//! What links are refused for most often: the spent budgets, by their texts.

use std::sync::{Mutex, PoisonError};

use ahash::AHashMap;

/// The budgets for which most links are refused, in bounded memory: the space-saving sketch (Metwally, Agrawal, El Abbadi 2005). A count is
/// exact as long as there are at most [`MOST`] texts, and otherwise too high by at most the smallest count.
#[derive(Debug, Default)]
pub(super) struct MostRefused(Mutex<AHashMap<String, u64>>);

/// Budgets that are counted. Each text is a host, with a section or a shape of it; so together they take tens of kilobytes, and half a
/// megabyte if each is as long as a URL may be.
const MOST: usize = 64;

impl MostRefused {
    /// Counts a link that was refused by the budget of this text. O(1); O(64) if all entries are taken and the text has none.
    pub(super) fn count(&self, of: String) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rarest = if counts.len() < MOST || counts.contains_key(&of) {
            None
        } else {
            counts.iter().min_by_key(|&(_, &count)| count).map(|(of, &count)| (of.clone(), count))
        };
        let least = rarest.map_or(0, |(rarest, count)| {
            counts.remove(&rarest);
            count
        });
        *counts.entry(of).or_insert(least) += 1;
    }

    /// Each text and its count, in no order. A count is never too low.
    pub(super) fn all(&self) -> Vec<(String, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(of, &count)| (of.clone(), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_most_is_known_among_many() {
        let refused = MostRefused::default();
        for number in 0..10_000 {
            refused.count(format!("a.example/{}/#", number % 1000));
            if number % 10 == 0 {
                refused.count("a.example/calendar/#".to_owned());
            }
        }
        let mut all = refused.all();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        assert_eq!(all.len(), MOST);
        assert_eq!(all[0].0, "a.example/calendar/#");
        assert!((1000..1300).contains(&all[0].1), "{}", all[0].1);
        assert_eq!(all.iter().map(|(_, count)| count).sum::<u64>(), 11_000, "each link counts once");
    }
}
