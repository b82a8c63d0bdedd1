use std::ops::{Index, IndexMut};

use ahash::RandomState;
use hashbrown::HashTable;

use super::host::Host;
use crate::address::CanonicalUrl;

/// All hosts ever seen, by number and by key. The key's text is kept once, in the host.
#[derive(Debug)]
pub(super) struct Hosts {
    /// In segments: growing allocates one of them and copies nothing.
    all: Vec<Vec<Host>>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    /// Hosts that were asked for a while ago or less, each where its hash says: most links lead to the host they are
    /// found on, and the table of a million hosts is in no cache.
    recent: Box<[u32]>,
    /// Bytes of the keys' texts.
    texts: usize,
    len: u32,
}

/// As many as there are workers, and some. A power of two.
const RECENT: usize = 4096;
/// Hosts in one segment.
const SEGMENT: usize = 4096;

/// The lower bits of the hash.
#[expect(clippy::cast_possible_truncation, reason = "below RECENT")]
const fn recent_place(hash: u64) -> usize {
    (hash % RECENT as u64) as usize
}

impl Default for Hosts {
    fn default() -> Self {
        let recent = vec![0; RECENT].into();
        Self { all: Vec::new(), numbers: HashTable::new(), hasher: RandomState::new(), recent, texts: 0, len: 0 }
    }
}

impl Hosts {
    /// The number of a URL's host; a new host gets the next one.
    ///
    /// # Panics
    /// With 2³² hosts: 512 GiB of them.
    pub(super) fn number(&mut self, url: &CanonicalUrl) -> u32 {
        let origin = url.origin();
        let hash = self.hasher.hash_one(origin);
        let recent = self.recent[recent_place(hash)];
        if recent < self.len && self[recent].key.as_str() == origin {
            return recent;
        }
        let known = self.find_by(hash, origin);
        let number = known.unwrap_or_else(|| self.add(hash, Host::new(url.host_key())));
        self.recent[recent_place(hash)] = number;
        number
    }

    /// The number of the host with this key.
    pub(super) fn find(&self, origin: &str) -> Option<u32> {
        self.find_by(self.hasher.hash_one(origin), origin)
    }

    /// Adds a host that was one before; `None` where its key is there already.
    pub(super) fn put(&mut self, host: Host) -> Option<u32> {
        let hash = self.hasher.hash_one(host.key.as_str());
        if self.find_by(hash, host.key.as_str()).is_some() {
            return None;
        }
        Some(self.add(hash, host))
    }

    fn find_by(&self, hash: u64, origin: &str) -> Option<u32> {
        self.numbers.find(hash, |&number| self[number].key.as_str() == origin).copied()
    }

    fn add(&mut self, hash: u64, host: Host) -> u32 {
        let number = self.len;
        self.len = number.checked_add(1).expect("fewer than 2^32 hosts");
        if (number as usize).is_multiple_of(SEGMENT) {
            self.all.push(Vec::with_capacity(SEGMENT));
        }
        self.texts += host.key.as_str().len();
        self.all[number as usize / SEGMENT].push(host);
        let (all, hasher) = (&self.all, &self.hasher);
        let rehash = |&number: &u32| hasher.hash_one(host_of(all, number).key.as_str());
        self.numbers.insert_unique(hash, number, rehash);
        number
    }

    /// Links to this host may be found soon.
    pub(super) fn expect(&mut self, number: u32) {
        let hash = self.hasher.hash_one(self[number].key.as_str());
        self.recent[recent_place(hash)] = number;
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// As many, as the number that the next one gets.
    pub(super) fn count(&self) -> u32 {
        self.len
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.all.iter().flatten()
    }

    /// Bytes of memory held, without rules.
    pub(super) fn memory(&self) -> usize {
        self.all.len() * SEGMENT * size_of::<Host>() + self.texts + self.numbers.allocation_size()
    }
}

impl Index<u32> for Hosts {
    type Output = Host;

    fn index(&self, number: u32) -> &Host {
        host_of(&self.all, number)
    }
}

impl IndexMut<u32> for Hosts {
    fn index_mut(&mut self, number: u32) -> &mut Host {
        &mut self.all[number as usize / SEGMENT][number as usize % SEGMENT]
    }
}

fn host_of(all: &[Vec<Host>], number: u32) -> &Host {
    &all[number as usize / SEGMENT][number as usize % SEGMENT]
}
