//! The hosts in memory, by number and by key.

use std::ops::{Index, IndexMut};

use ahash::RandomState;
use hashbrown::HashTable;

use super::Host;
use crate::address::HostKey;

/// The hosts in memory, by number and by key. The key's text is kept once, in the host.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// In segments: growing allocates one of them and copies nothing. Where a host left there is a hole: one without a key.
    all: Vec<Vec<Host>>,
    /// Where they are, for those that come.
    holes: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: RandomState,
    /// Hosts that were asked for a while ago or less, each where its hash says: most links lead to the host they are
    /// found on, and the table of a million hosts is in no cache.
    recent: Box<[u32]>,
    /// Bytes of the keys' texts.
    texts: usize,
    /// Numbers given, those of holes too.
    given: u32,
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
        Self {
            all: Vec::new(),
            holes: Vec::new(),
            numbers: HashTable::new(),
            hasher: RandomState::new(),
            recent,
            texts: 0,
            given: 0,
        }
    }
}

impl Hosts {
    /// The number of the host with this key, to which URLs are found.
    pub(crate) fn number(&mut self, origin: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(origin);
        let recent = self.recent[recent_place(hash)];
        if recent < self.given && self[recent].key.as_str() == origin {
            return Some(recent);
        }
        let number = self.find_by(hash, origin)?;
        self.recent[recent_place(hash)] = number;
        Some(number)
    }

    /// The number of the host with this key.
    pub(crate) fn find(&self, origin: &str) -> Option<u32> {
        self.find_by(self.hasher.hash_one(origin), origin)
    }

    /// Adds a host, and says its number; `None` where its key is there already.
    ///
    /// # Panics
    /// With 2³² hosts: 512 GiB of them.
    pub(crate) fn put(&mut self, host: Host) -> Option<u32> {
        let hash = self.hasher.hash_one(host.key.as_str());
        if self.find_by(hash, host.key.as_str()).is_some() {
            return None;
        }
        self.texts += host.key.as_str().len();
        let number = match self.holes.pop() {
            Some(hole) => {
                // What is on the clock is the number.
                let is_on_clock = self[hole].is_on_clock;
                self[hole] = Host { is_on_clock, ..host };
                hole
            }
            None => self.append(host),
        };
        let (all, hasher) = (&self.all, &self.hasher);
        let rehash = |&number: &u32| hasher.hash_one(host_of(all, number).key.as_str());
        self.numbers.insert_unique(hash, number, rehash);
        self.recent[recent_place(hash)] = number;
        Some(number)
    }

    /// Takes a host out, that is in no queue and not lent; its number is another's from here on.
    pub(crate) fn take(&mut self, number: u32) -> Host {
        let is_on_clock = self[number].is_on_clock;
        let hole = Host { is_on_clock, ..Host::new(HostKey::of_origin("")) };
        let host = std::mem::replace(&mut self[number], hole);
        let hash = self.hasher.hash_one(host.key.as_str());
        if let Ok(entry) = self.numbers.find_entry(hash, |&other| other == number) {
            entry.remove();
        }
        self.texts -= host.key.as_str().len();
        self.holes.push(number);
        host
    }

    fn find_by(&self, hash: u64, origin: &str) -> Option<u32> {
        self.numbers.find(hash, |&number| self[number].key.as_str() == origin).copied()
    }

    fn append(&mut self, host: Host) -> u32 {
        let number = self.given;
        self.given = number.checked_add(1).expect("fewer than 2^32 hosts");
        if (number as usize).is_multiple_of(SEGMENT) {
            self.all.push(Vec::with_capacity(SEGMENT));
        }
        self.all[number as usize / SEGMENT].push(host);
        number
    }

    /// Links to this host may be found soon.
    pub(crate) fn expect(&mut self, number: u32) {
        let hash = self.hasher.hash_one(self[number].key.as_str());
        self.recent[recent_place(hash)] = number;
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.given as usize - self.holes.len()
    }

    /// One more than the highest number.
    pub(crate) fn end(&self) -> u32 {
        self.given
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.all.iter().flatten().filter(|host| !host.is_hole())
    }

    /// Those with the numbers from one to before another.
    pub(crate) fn range(&self, from: u32, to: u32) -> impl Iterator<Item = &Host> {
        (from..to).map(|number| &self[number]).filter(|host| !host.is_hole())
    }

    /// Bytes of memory held, without rules.
    pub(crate) fn memory(&self) -> usize {
        let holes = self.holes.capacity() * size_of::<u32>();
        self.all.len() * SEGMENT * size_of::<Host>() + holes + self.texts + self.numbers.allocation_size()
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
