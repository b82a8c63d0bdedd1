//! The trait of all contenders in the comparison.

/// One way to remember keys, which are URLs or vectors.
pub(super) trait Contender<K: ?Sized> {
    /// Inserts a key; returns whether it was new.
    fn insert(&mut self, key: &K) -> bool;

    /// Whether a key was inserted, or is a false positive.
    fn contains(&self, key: &K) -> bool;

    /// Memory in use, in bytes, with everything kept beside the keys.
    fn bytes(&self) -> u64;

    /// By theory, the share of new keys taken for seen after `keys` distinct ones; 0 if keys are kept whole.
    fn rate(&self, _keys: f64) -> f64 {
        0.0
    }

    /// By theory, how many of `keys` distinct keys are taken for seen when they are inserted one after the other. If
    /// the rate grows evenly, the mean rate is half of the last one.
    fn expected_lost(&self, keys: f64) -> f64 {
        keys * self.rate(keys) / 2.0
    }

    /// Inserts all keys, in order; returns how many were new.
    fn insert_all<'k>(&mut self, keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        keys.fold(0, |new, key| new + u64::from(self.insert(key)))
    }

    /// How many of the keys it contains or takes for seen.
    fn count<'k>(&self, keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        keys.fold(0, |held, key| held + u64::from(self.contains(key)))
    }
}

/// The memory of a standard hash set with this capacity. The number of slots is a power of two, at most 7/8 of them are
/// used, each has a control byte, and there are 16 more control bytes at the end.
pub(super) fn table_bytes(capacity: usize, slot: usize) -> u64 {
    let slots = match capacity {
        0 => return 0,
        1..=3 => 4,
        4..=7 => 8,
        _ => (capacity * 8 / 7).next_power_of_two(),
    };
    (slots * (slot + 1) + 16) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_table_is_as_large_as_the_standard_library_makes_it() {
        for keys in [1_u64, 5, 14, 28, 29, 1000, 7168, 7169, 100_000] {
            let capacity = (0..keys).collect::<HashSet<_>>().capacity();
            let slots = (table_bytes(capacity, 8) - 16) / 9;
            assert!(slots.is_power_of_two(), "{keys} keys, {slots} slots");
            assert!(slots as f64 * 0.875 >= keys as f64 || slots <= 8);
            assert_eq!(capacity as u64, if slots <= 8 { slots - 1 } else { slots / 8 * 7 });
        }
    }
}
