use std::ops::{Index, IndexMut};

use ahash::RandomState;
use hashbrown::HashTable;

use super::host::Host;
use crate::address::CanonicalUrl;

/// All hosts ever seen, by number and by key. The key's text is kept once, in the host.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    all: Vec<Host>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    /// Bytes of the keys' texts.
    texts: usize,
}

impl Hosts {
    /// The number of a URL's host; a new host gets the next one.
    ///
    /// # Panics
    /// With 2³² hosts: 400 GiB of them.
    pub(super) fn number(&mut self, url: &CanonicalUrl) -> u32 {
        let origin = url.origin();
        let hash = self.hasher.hash_one(origin);
        let is_same = |&number: &u32| self.all[number as usize].key.as_str() == origin;
        if let Some(&number) = self.numbers.find(hash, is_same) {
            return number;
        }
        let number = u32::try_from(self.all.len()).expect("fewer than 2^32 hosts");
        self.texts += origin.len();
        self.all.push(Host::new(url.host_key()));
        let rehash = |&number: &u32| self.hasher.hash_one(self.all[number as usize].key.as_str());
        self.numbers.insert_unique(hash, number, rehash);
        number
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.all.iter()
    }

    /// Bytes of memory held, without rules.
    pub(super) fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Host>() + self.texts + self.numbers.allocation_size()
    }
}

impl Index<u32> for Hosts {
    type Output = Host;

    fn index(&self, number: u32) -> &Host {
        &self.all[number as usize]
    }
}

impl IndexMut<u32> for Hosts {
    fn index_mut(&mut self, number: u32) -> &mut Host {
        &mut self.all[number as usize]
    }
}
