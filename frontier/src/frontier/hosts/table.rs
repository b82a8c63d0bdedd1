//! The hosts in memory, by number and by key, and the cache of their robots rules.
//!
//! Queues hold numbers of four bytes; keys come from URLs. A number is a place in a segment, so a host is found by its number without a
//! search, and stays in its place until it is evicted. The number of an evicted host goes to the next host that comes.
//!
//! Of the links on a page, four in five lead to the page's own host. So a small table of recently looked-up hosts is asked first; the table
//! of a million hosts fits no cache.
//!
//! # Robots rules, within a bound
//!
//! With a million hosts, parsed rules would take more memory than everything else known of them. A host needs its rules only when one of
//! its pages is lent, and the journal has their text. So rules beyond a bound are dropped, and read again when they are needed. Rules that
//! the journal does not have stay.
//!
//! [`RulesCache`] has the sums. Rules come, go and are replaced only through it, so that the sums stay right.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use ahash::RandomState;
use hashbrown::HashTable;

use super::Validators;
use super::usage::{SEGMENT, UsageTable};
use super::{Host, HostId, PolitenessTable, RULES_HOLD, RobotsFile, RobotsRedirect, Rules, SchedulingState, Usage};
use crate::address::HostKey;
use crate::frontier::Priorities;
use crate::frontier::durable::RobotsRecord;
use crate::frontier::robots::Robots;
use crate::gate::Position;

/// The hosts in memory, by number and by key. The key's text is kept once, in the host.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// In segments: growing allocates one of them and copies nothing. An evicted host leaves a hole: a host without a key.
    all: Vec<Vec<Host>>,
    /// What each of them has used of its budget.
    usage: UsageTable,
    /// The numbers of holes, for hosts that come. A number is reused at once, so a number that is kept beyond an eviction leads to another
    /// host.
    holes: Vec<HostId>,
    /// The numbers by the hashes of the keys, which only the hosts store.
    ids: HashTable<HostId>,
    /// Drawn at random, so that names cannot be chosen to collide.
    hasher: RandomState,
    /// Recently looked-up hosts, each at the place of its hash.
    recent: Box<[HostId]>,
    /// Bytes of the keys' texts.
    texts: usize,
    /// Numbers given, including those of holes.
    given: u32,
    /// Gives each host that comes its policy.
    politeness_table: Arc<PolitenessTable>,
}

/// Places for recently looked-up hosts: more than a crawl has workers. A power of two, since the lower bits of a hash choose the place.
const RECENT: usize = 4096;

/// The lower bits of the hash.
#[expect(clippy::cast_possible_truncation, reason = "below RECENT")]
const fn recent_place(hash: u64) -> usize {
    (hash % RECENT as u64) as usize
}

/// Looking up, adding and removing keep the hosts and both tables of numbers in step. A host is changed in place through its number.
impl Hosts {
    /// No hosts yet.
    pub(crate) fn new(politeness_table: Arc<PolitenessTable>) -> Self {
        Self {
            all: Vec::new(),
            usage: UsageTable::default(),
            holes: Vec::new(),
            ids: HashTable::new(),
            hasher: RandomState::new(),
            recent: vec![HostId::new(0); RECENT].into(),
            texts: 0,
            given: 0,
            politeness_table,
        }
    }

    /// How hosts are treated.
    pub(crate) fn politeness_table(&self) -> &Arc<PolitenessTable> {
        &self.politeness_table
    }

    /// The host with this key. It is noted as recently looked up.
    pub(crate) fn look_up(&mut self, origin: &str) -> Option<HostId> {
        let hash = self.hasher.hash_one(origin);
        let recent = self.recent[recent_place(hash)];
        if recent.number() < self.given && self[recent].key.as_str() == origin {
            return Some(recent);
        }
        let id = self.find_by(hash, origin)?;
        self.recent[recent_place(hash)] = id;
        Some(id)
    }

    /// The host with this key.
    pub(crate) fn find(&self, origin: &str) -> Option<HostId> {
        self.find_by(self.hasher.hash_one(origin), origin)
    }

    /// Adds a host; `None` if its key is already there.
    ///
    /// # Panics
    /// With 2³² - 1 hosts: 512 GiB of them.
    pub(crate) fn add(&mut self, mut host: Host) -> Option<HostId> {
        let hash = self.hasher.hash_one(host.key.as_str());
        if self.find_by(hash, host.key.as_str()).is_some() {
            return None;
        }
        self.texts += host.key.as_str().len();
        host.policy = self.politeness_table.number_for(&host.key);
        let id = match self.holes.pop() {
            Some(hole) => {
                // The clock holds numbers, and this one may be on it already.
                let is_on_clock = self[hole].is_on_clock;
                self[hole] = Host { is_on_clock, ..host };
                hole
            }
            None => self.append(host),
        };
        let (all, hasher) = (&self.all, &self.hasher);
        let rehash = |&id: &HostId| hasher.hash_one(host_at(all, id).key.as_str());
        self.ids.insert_unique(hash, id, rehash);
        self.recent[recent_place(hash)] = id;
        Some(id)
    }

    /// Removes a host that is in no queue and not lent; its number will be reused.
    pub(crate) fn remove(&mut self, id: HostId) -> (Host, Usage) {
        let is_on_clock = self[id].is_on_clock;
        let hole = Host { is_on_clock, ..Host::new(HostKey::of_origin("")) };
        let host = std::mem::replace(&mut self[id], hole);
        let hash = self.hasher.hash_one(host.key.as_str());
        if let Ok(entry) = self.ids.find_entry(hash, |&other| other == id) {
            entry.remove();
        }
        self.texts -= host.key.as_str().len();
        self.holes.push(id);
        (host, self.usage.take(id))
    }

    /// The host with this key, by its hash. Hosts whose hashes share a few bits are compared by key, which costs a cache line for each.
    fn find_by(&self, hash: u64, origin: &str) -> Option<HostId> {
        self.ids.find(hash, |&id| self[id].key.as_str() == origin).copied()
    }

    /// Gives a host the next number, in a new segment if the last is full. No host moves.
    fn append(&mut self, host: Host) -> HostId {
        let id = HostId::new(self.given);
        assert!(id != HostId::NONE, "fewer than 2^32 hosts");
        self.given += 1;
        if id.index().is_multiple_of(SEGMENT) {
            self.all.push(Vec::with_capacity(SEGMENT));
        }
        self.all[id.index() / SEGMENT].push(host);
        id
    }

    /// Notes a host to which links will probably be found soon.
    pub(crate) fn note_recent(&mut self, id: HostId) {
        let hash = self.hasher.hash_one(self[id].key.as_str());
        self.recent[recent_place(hash)] = id;
    }

    /// The number of hosts.
    pub(crate) fn len(&self) -> usize {
        self.given as usize - self.holes.len()
    }

    /// One more than the highest number.
    pub(crate) fn end(&self) -> u32 {
        self.given
    }

    /// All numbers, including those of holes. Borrows nothing, so hosts may be changed during the iteration.
    pub(crate) fn ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.given).map(HostId::new)
    }

    /// The hosts, in the order of their numbers, without holes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Host> {
        self.all.iter().flatten().filter(|host| !host.is_hole())
    }

    /// The hosts with numbers in `from..to`, each with its usage.
    pub(crate) fn range(&self, from: u32, to: u32) -> impl Iterator<Item = (&Host, Usage)> {
        let ids = (from..to).map(HostId::new).filter(|id| !self[*id].is_hole());
        ids.map(|id| (&self[id], self.usage(id)))
    }

    /// All hosts, each with its usage.
    pub(crate) fn with_usage(&self) -> impl Iterator<Item = (&Host, Usage)> {
        self.range(0, self.end())
    }

    /// What a host has used of its budget.
    pub(crate) fn usage(&self, id: HostId) -> Usage {
        self.usage.get(id)
    }

    /// The same, to be changed.
    pub(crate) fn usage_mut(&mut self, id: HostId) -> &mut Usage {
        self.usage.get_mut(id)
    }

    /// Bytes of memory held, without rules.
    pub(crate) fn memory(&self) -> usize {
        let holes = self.holes.capacity() * size_of::<HostId>();
        self.all.len() * SEGMENT * size_of::<Host>()
            + self.usage.memory()
            + holes
            + self.texts
            + self.ids.allocation_size()
    }

    /// The scheduling states of the hosts, and nothing else of them, to be changed.
    pub(crate) fn scheduling<'a>(&'a mut self, priorities: &'a Priorities) -> SchedulingStates<'a> {
        SchedulingStates { hosts: self, priorities }
    }
}

/// The scheduling states of all hosts: what a queue of hosts may change. And the order of priorities, by which it orders them.
#[derive(Debug)]
pub(crate) struct SchedulingStates<'a> {
    hosts: &'a mut Hosts,
    priorities: &'a Priorities,
}

impl<'a> SchedulingStates<'a> {
    /// The order of priorities.
    #[inline]
    pub(crate) fn priorities(&self) -> &'a Priorities {
        self.priorities
    }
}

impl SchedulingStates<'_> {
    /// How many of a host's pages are in hand.
    pub(crate) fn in_hand(&mut self, id: HostId) -> &mut u8 {
        &mut self.hosts[id].in_hand
    }
}

impl Index<HostId> for SchedulingStates<'_> {
    type Output = SchedulingState;

    fn index(&self, id: HostId) -> &SchedulingState {
        &self.hosts[id].scheduling
    }
}

impl IndexMut<HostId> for SchedulingStates<'_> {
    fn index_mut(&mut self, id: HostId) -> &mut SchedulingState {
        &mut self.hosts[id].scheduling
    }
}

impl Index<HostId> for Hosts {
    type Output = Host;

    fn index(&self, id: HostId) -> &Host {
        host_at(&self.all, id)
    }
}

impl IndexMut<HostId> for Hosts {
    fn index_mut(&mut self, id: HostId) -> &mut Host {
        &mut self.all[id.index() / SEGMENT][id.index() % SEGMENT]
    }
}

/// A host by number. Free of `self`, so that the table of numbers can be changed while hosts are read.
fn host_at(all: &[Vec<Host>], id: HostId) -> &Host {
    &all[id.index() / SEGMENT][id.index() % SEGMENT]
}

/// The cache of robots rules: the hosts whose rules are both in memory and in the journal, so that they may be dropped.
///
/// A clock with a hand (Corbató 1968): rules that were used since the hand last passed stay for another round, and others are dropped. This
/// is nearly LRU, at four bytes a host, and using rules only sets a flag.
#[derive(Debug, Default)]
pub(crate) struct RulesCache {
    /// Each host once; hosts whose rules were removed otherwise are passed over.
    clock: VecDeque<HostId>,
    /// Bytes that would be free without these rules.
    spare: usize,
    /// Bytes of all rules, including the rules that may not be dropped.
    all: usize,
}

impl RulesCache {
    /// Replaces what is known of a host's robots.txt, and returns what was known before. Any other way to change it leaves the sums
    /// wrong.
    pub(crate) fn replace(&mut self, hosts: &mut Hosts, id: HostId, file: RobotsFile) -> RobotsFile {
        let robots = &mut hosts[id].robots;
        self.all -= robots.memory();
        self.spare -= robots.spare();
        let before = std::mem::replace(robots, file);
        self.all += robots.memory();
        self.note_spare(hosts, id);
        before
    }

    /// A record, at `at` in the journal, changes what is known of a robots.txt. The old rules are taken out first, so that their memory is
    /// counted once.
    ///
    /// New rules are not parsed here. In a running crawl the frontier has parsed them, and passes them to [`fill`](Self::fill); after a
    /// resume they are parsed at the host's first lease.
    pub(crate) fn learn(&mut self, hosts: &mut Hosts, id: HostId, robots: RobotsRecord<'_>, at: Option<Position>) {
        let mut known = || self.replace(hosts, id, RobotsFile::Unknown).into_known();
        let file = match robots {
            RobotsRecord::Moved { hops, url } => {
                RobotsFile::Moved(Box::new(RobotsRedirect { hops, url: url.into(), before: known().map(Box::new) }))
            }
            RobotsRecord::Renewed { stale_at, good_until } => {
                let mut file = known().unwrap_or(RobotsFile::Unknown);
                file.renew(stale_at, good_until);
                file
            }
            RobotsRecord::Known { stale_at, crawl_delay, rules } => {
                let rules = rules.map(|_| Box::new(Rules::unread(at, crawl_delay, stale_at + RULES_HOLD)));
                RobotsFile::Known { stale_at, is_used: false, rules }
            }
            RobotsRecord::Unknown => RobotsFile::Unknown,
        };
        self.replace(hosts, id, file);
    }

    /// Stores the parsed rules of a host, and the validators for conditional requests. The host must have these rules already, without
    /// their parsed form.
    pub(crate) fn fill(&mut self, hosts: &mut Hosts, id: HostId, robots: Robots, validators: Option<Box<Validators>>) {
        let host = &mut hosts[id];
        let RobotsFile::Known { rules: Some(rules), .. } = &mut host.robots else { return };
        let before = rules.memory();
        let is_kept = rules.kept_at.is_some();
        self.spare -= rules.parsed.as_deref().filter(|_| is_kept).map_or(0, Robots::memory);
        rules.parsed = Some(Box::new(robots));
        rules.validators = validators.or(rules.validators.take());
        self.all = self.all - before + rules.memory();
        self.note_spare(hosts, id);
    }

    /// Counts the rules of a host that comes into memory.
    pub(crate) fn came(&mut self, host: &Host) {
        self.all += host.robots.memory();
    }

    /// Takes the rules of an evicted host from the sums. Its number stays on the clock, for the next host with that number.
    pub(crate) fn left(&mut self, host: &Host) {
        self.all -= host.robots.memory();
        self.spare -= host.robots.spare();
    }

    /// Drops rules until the rest is within the bound. O(1), amortized over the rules that were read.
    pub(crate) fn shrink(&mut self, hosts: &mut Hosts, bound: usize) {
        while self.spare > bound
            && let Some(id) = self.clock.pop_front()
        {
            let host = &mut hosts[id];
            if host.robots.take_turn() {
                self.clock.push_back(id);
                continue;
            }
            host.is_on_clock = false;
            let dropped = host.robots.drop_spare();
            self.spare -= dropped;
            self.all -= dropped;
        }
    }

    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        self.all + self.clock.capacity() * size_of::<HostId>()
    }

    /// Puts a host on the clock, if its rules may be dropped and it is not there yet.
    fn note_spare(&mut self, hosts: &mut Hosts, id: HostId) {
        let host = &mut hosts[id];
        let spare = host.robots.spare();
        self.spare += spare;
        if spare > 0 && !host.is_on_clock {
            host.is_on_clock = true;
            self.clock.push_back(id);
        }
    }
}

impl Rules {
    /// Bytes of memory held.
    pub(crate) fn memory(&self) -> usize {
        let validators = self.validators.as_deref().map_or(0, Validators::memory);
        size_of::<Self>() + validators + self.parsed.as_deref().map_or(0, Robots::memory)
    }
}
