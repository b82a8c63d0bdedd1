//! The trait of what takes part in the comparison.

/// One way to remember keys, which are URLs or vectors.
pub(super) trait Contender<K: ?Sized> {
    /// Remembers a key; says whether it was new.
    fn insert(&mut self, key: &K) -> bool;

    /// Whether a key was inserted, or is taken for it.
    fn contains(&self, key: &K) -> bool;

    /// Memory held, in bytes, with what is kept beside the keys.
    fn bytes(&self) -> u64;

    /// The share of new keys taken for seen after `keys` distinct ones, by theory; 0 where keys are kept whole.
    fn rate(&self, _keys: f64) -> f64 {
        0.0
    }

    /// How many of `keys` distinct keys, inserted one after the other, are taken for seen, by theory. Where the rate grows evenly, the
    /// mean rate is half of the last one.
    fn expected_lost(&self, keys: f64) -> f64 {
        keys * self.rate(keys) / 2.0
    }

    /// Inserts all, in order; says how many were new.
    fn insert_all<'k>(&mut self, keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        keys.fold(0, |new, key| new + u64::from(self.insert(key)))
    }

    /// How many of the keys it contains, or takes for seen.
    fn count<'k>(&self, keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        keys.fold(0, |held, key| held + u64::from(self.contains(key)))
    }
}

/// Memory of a standard hash set with this capacity. Its slots are a power of two, 7/8 of them at most are taken, each has a control
/// byte, and 16 more control bytes stand at the end.
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
