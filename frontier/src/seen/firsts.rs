//! A table of the first holder of each key, such as the first page with a text, in bounded memory.

use std::hash::Hash;
use std::sync::Arc;

use ahash::AHashMap;

/// Bytes of a text's reference counts.
const COUNTS: usize = 2 * size_of::<usize>();

/// The first holder of each key. Entries that were not used for a while are dropped, so that the table never exceeds its bytes.
#[derive(Debug)]
pub struct Firsts<K> {
    /// Most bytes of each of the two tables.
    most: usize,
    /// Bytes of the young table.
    bytes: usize,
    /// Entries that were noted or read lately, and older entries. When the young table is full, it replaces the old one.
    young: AHashMap<K, Arc<str>>,
    old: AHashMap<K, Arc<str>>,
}

impl<K: Hash + Eq> Firsts<K> {
    /// An empty table. Keys and texts take at most `bytes`, spare slots of the hash tables included.
    pub fn within(bytes: usize) -> Self {
        Self { most: bytes / 2, bytes: 0, young: AHashMap::new(), old: AHashMap::new() }
    }

    /// The first holder of a key; `None` if there was none, or it is forgotten.
    pub fn of(&mut self, key: &K) -> Option<&str> {
        if let Some((key, first)) = self.old.remove_entry(key) {
            self.add(key, first);
        }
        self.young.get(key).map(|first| &**first)
    }

    /// Notes the first holder of a key, unless one is known. Keys may share a holder.
    pub fn note(&mut self, key: K, first: impl Into<Arc<str>>) {
        if !self.young.contains_key(&key) && !self.old.contains_key(&key) {
            self.add(key, first.into());
        }
    }

    fn add(&mut self, key: K, first: Arc<str>) {
        // A table has up to twice the slots that it needs, and grows by doubling.
        let bytes = 2 * size_of::<(K, Arc<str>)>() + COUNTS + first.len();
        if self.bytes + bytes > self.most {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.young.insert(key, first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stays_the_first() {
        let mut firsts = Firsts::within(1 << 20);
        assert_eq!(firsts.of(&7_u64), None);
        firsts.note(7, "a");
        firsts.note(7, "b");
        assert_eq!(firsts.of(&7), Some("a"));
    }

    #[test]
    fn what_is_asked_about_stays_and_memory_is_bounded() {
        const MOST: usize = 100_000;
        let mut firsts = Firsts::within(MOST);
        firsts.note(0, "asked about");
        firsts.note(1, "never again");
        for key in 2..1_000_000_u64 {
            firsts.note(key, "https://a.example/a/page");
            if key % 100 == 0 {
                assert_eq!(firsts.of(&0), Some("asked about"), "{key}");
            }
            let places = firsts.young.capacity() + firsts.old.capacity();
            let texts: usize = firsts.young.values().chain(firsts.old.values()).map(|text| text.len()).sum();
            if key % 10_000 == 0 {
                assert!(places * size_of::<(u64, Arc<str>)>() + texts <= MOST, "{places} places, {texts} bytes");
            }
        }
        assert_eq!(firsts.of(&1), None);
        assert!(firsts.of(&999_999).is_some() && firsts.of(&999_500).is_some());
    }
}
