//! The seen set's own layouts, as contenders.

use super::contender::Contender;
use crate::address::{Fingerprint, FingerprintKey};
use crate::seen::{Layout, OnFull, SeenOptions, SeenSet, Sighting, Sizing};

/// A seen set, and how a key becomes a fingerprint.
pub(super) struct Seen<F> {
    set: SeenSet,
    key: FingerprintKey,
    sizing: Sizing,
    fingerprint: F,
    /// Keys in a batch: [`BATCH`], or one.
    batch: usize,
}

/// The links of a page: the lock is taken once, and memory fetched once, for all of them.
const BATCH: usize = 64;

impl<F> Seen<F> {
    /// One shard, since there is one thread; no audit and no growth, so that the memory is that of the plan.
    pub(super) fn new(layout: Layout, keys: usize, rate: f64, fingerprint: F) -> Result<Self, String> {
        let options = SeenOptions {
            layout,
            capacity: keys as u64,
            false_positive_rate: rate,
            shards: 1,
            on_full: OnFull::Warn,
            audit: 0,
            directory: Some(std::env::temp_dir()),
            ..SeenOptions::default()
        };
        let set = SeenSet::new(&options).map_err(|error| error.to_string())?;
        Ok(Self { set, key: options.key, sizing: Sizing::new(layout, keys as u64, rate), fingerprint, batch: 1 })
    }

    /// The same set, which gets its keys in batches.
    pub(super) fn batched(self) -> Self {
        Self { batch: BATCH, ..self }
    }
}

impl<K: ?Sized, F: Fn(FingerprintKey, &K) -> Fingerprint> Contender<K> for Seen<F> {
    fn insert(&mut self, key: &K) -> bool {
        self.set.insert((self.fingerprint)(self.key, key)) == Sighting::New
    }

    fn contains(&self, key: &K) -> bool {
        self.set.contains((self.fingerprint)(self.key, key))
    }

    fn bytes(&self) -> u64 {
        self.set.bytes()
    }

    fn rate(&self, keys: f64) -> f64 {
        self.sizing.rate(keys)
    }

    fn expected_lost(&self, keys: f64) -> f64 {
        self.sizing.expected_lost(keys)
    }

    fn insert_all<'k>(&mut self, mut keys: impl Iterator<Item = &'k K>) -> u64
    where
        K: 'k,
    {
        if self.batch == 1 {
            return keys.fold(0, |new, key| new + u64::from(self.insert(key)));
        }
        let (mut batch, mut sightings) = (Vec::with_capacity(self.batch), Vec::new());
        let mut new = 0;
        loop {
            batch.clear();
            batch.extend(keys.by_ref().take(self.batch).map(|key| (self.fingerprint)(self.key, key)));
            if batch.is_empty() {
                return new;
            }
            self.set.insert_batch(&batch, &mut sightings);
            new += sightings.iter().filter(|&&sighting| sighting == Sighting::New).count() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hear_what_single_ones_hear() {
        let urls: Vec<String> = (0..1000).map(|url| format!("http://a.org/{}", url * 2 / 3)).collect();
        for layout in [Layout::Blocked, Layout::Exact, Layout::Standard, Layout::Verified] {
            let make = || Seen::new(layout, 1000, 0.01, FingerprintKey::fingerprint).unwrap();
            let one_by_one = make().insert_all(urls.iter().map(String::as_str));
            assert_eq!(make().batched().insert_all(urls.iter().map(String::as_str)), one_by_one);
        }
    }
}
