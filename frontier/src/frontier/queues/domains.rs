//! Turns by registrable domain, so that one domain with very many hosts does not have nearly all of them.
//!
//! A host is one name, and names cost nothing: the owner of a domain can make as many hosts as links to them. If each host had a turn, that
//! domain would have nearly all turns. So turns are counted by domain. A domain is *ahead* if its turns exceed the average of the domains
//! with URLs waiting by more than the lead. Its hosts then give way:
//!
//! ```text
//!   Front ──▶ is its domain ahead? ── no ──▶ its turn
//!                   │ yes                       ▲
//!                   ▼                           │
//!     known hosts: wait queue ── no other host is due, or the others have caught up
//!     new hosts:   wait queue ── the others have caught up
//! ```
//!
//! A host that has answered has pages that are wanted, and goes when no other host is due. A new host does not: while a good site rests
//! between two pages there is time for a hundred hosts of a link farm, and each would then have pages of its own. A domain that is alone is
//! never ahead.
//!
//! The average is over the domains that compete: those with a host that is out, is due, or will be due soon. A new domain begins with the
//! average. A domain that competes again keeps its turns, but is at most a few leads below the average. While a domain is more than two
//! leads ahead, its turns are not counted. So a domain that goes on while all others rest does not wait afterwards for turns that none of
//! them lost.
//!
//! None of this is state: after a restart all domains count as having had equally many turns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ahash::RandomState;
use hashbrown::HashTable;

use super::WaitQueue;
use crate::frontier::hosts::{HostId, HostState, SchedulingStates};

/// The registrable domains of hosts in memory, with their turns and the hosts that give way. Every operation is O(log domains) at most, and
/// allocates only for a new host.
#[derive(Debug)]
pub(crate) struct Domains {
    /// Turns that a domain may be above the average; 0 is no bound, and nothing is counted.
    lead: u64,
    /// By host number.
    members: Vec<Member>,
    all: Vec<Domain>,
    /// Places of domains that no longer have a host in memory.
    unused: Vec<u32>,
    /// The places by the hashes of the names.
    places: HashTable<u32>,
    hasher: RandomState,
    /// The number of domains that compete for turns, and (below) all turns that they have had.
    rivals: u64,
    turns: u64,
    /// The average when a domain last stopped competing.
    last: u64,
    /// Domains with hosts waiting, by their turns when they were noted; the one with the fewest turns is at the top.
    notes: BinaryHeap<Reverse<(u64, u32)>>,
    /// Domains with known hosts waiting, in the order in which these may go if no other host is due.
    spare: VecDeque<u32>,
    /// The number of hosts in all wait queues.
    waiting: usize,
    /// Of these, the known hosts.
    known: usize,
}

/// A host's domain: the domain's place plus one, or 0 for a host without one; and two flags.
#[derive(Clone, Copy, Debug, Default)]
struct Member(u32);

/// A domain of which a host in memory has competed.
#[derive(Debug)]
struct Domain {
    /// The hash of its name, in place of the name. Two names with one hash would share their turns: with a million domains, about one crawl
    /// in 40 million has such a pair.
    hash: u64,
    turns: u64,
    /// Hosts in memory.
    members: u32,
    /// Of these, the hosts that compete.
    competing: u32,
    /// Boxed, since few domains are ever ahead.
    queues: Option<Box<WaitQueues>>,
}

/// The hosts of a domain that give way.
#[derive(Debug, Default)]
struct WaitQueues {
    known: WaitQueue,
    new: WaitQueue,
    is_noted: bool,
    is_spare: bool,
}

const _: () = assert!(size_of::<Domain>() == 32);

/// The most leads that a domain may be below the average when it competes again. A domain whose only host has one link on each page stops
/// competing and begins again with each page, and must still have the turns by which others are ahead of it.
const SAVED: u64 = 4;

impl Member {
    const COMPETES: u32 = 1 << 31;
    /// The host is a seed's.
    const GOES: u32 = 1 << 30;

    /// The place of its domain.
    #[inline]
    fn place(self) -> Option<usize> {
        (self.0 & !(Self::COMPETES | Self::GOES)).checked_sub(1).map(|place| place as usize)
    }

    #[inline]
    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

impl WaitQueues {
    fn of(&mut self, is_new: bool) -> &mut WaitQueue {
        if is_new { &mut self.new } else { &mut self.known }
    }

    fn is_empty(&self) -> bool {
        self.known.is_empty() && self.new.is_empty()
    }
}

impl Domains {
    /// No domains yet.
    pub(crate) fn new(lead: u32) -> Self {
        Self {
            lead: lead.into(),
            members: Vec::new(),
            all: Vec::new(),
            unused: Vec::new(),
            places: HashTable::new(),
            hasher: RandomState::new(),
            rivals: 0,
            turns: 0,
            last: 0,
            notes: BinaryHeap::new(),
            spare: VecDeque::new(),
            waiting: 0,
            known: 0,
        }
    }

    /// Whether turns are not counted.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.lead == 0
    }

    /// Whether the domain of a host is known.
    #[inline]
    pub(crate) fn knows(&self, host: HostId) -> bool {
        self.members.get(host.index()).is_some_and(|member| member.place().is_some())
    }

    /// Adds a host to this domain. A host that `goes` never gives way, but still uses turns of its domain.
    pub(crate) fn join(&mut self, host: HostId, domain: &str, goes: bool) {
        let hash = self.hasher.hash_one(domain);
        let known = self.places.find(hash, |&place| self.all[place as usize].hash == hash).copied();
        let place = known.unwrap_or_else(|| self.add(hash));
        self.all[place as usize].members += 1;
        if self.members.len() <= host.index() {
            self.members.resize(host.index() + 1, Member::default());
        }
        self.members[host.index()] = Member(place + 1 + if goes { Member::GOES } else { 0 });
    }

    /// A host is evicted. It is in no wait queue.
    pub(crate) fn evict(&mut self, host: HostId) {
        self.compete(host, false);
        let member = self.members.get_mut(host.index()).map(std::mem::take).unwrap_or_default();
        let Some(place) = member.place() else { return };
        self.all[place].members -= 1;
        self.forget(place);
    }

    /// Notes whether a host competes for turns from now on: it has URLs, and is out, due, or will be soon. O(1).
    #[inline]
    pub(crate) fn compete(&mut self, host: HostId, competes: bool) {
        let Some(member) = self.members.get_mut(host.index()) else { return };
        if member.has(Member::COMPETES) == competes {
            return;
        }
        let Some(place) = member.place() else { return };
        member.0 ^= Member::COMPETES;
        if competes {
            self.all[place].competing += 1;
            if self.all[place].competing == 1 {
                self.begins(place);
            }
        } else {
            self.all[place].competing -= 1;
            if self.all[place].competing == 0 {
                self.ends(place);
            }
        }
    }

    /// Whether a host's domain is ahead, so that the host gives way to others.
    #[inline]
    pub(crate) fn is_ahead(&self, host: HostId) -> bool {
        if self.rivals <= 1 || self.is_off() {
            return false;
        }
        let Some(member) = self.members.get(host.index()).filter(|member| !member.has(Member::GOES)) else {
            return false;
        };
        member.place().is_some_and(|place| self.is_beyond(self.all[place].turns, self.lead))
    }

    /// Counts a turn of a host.
    #[inline]
    pub(crate) fn count(&mut self, host: HostId) {
        let Some(place) = self.members.get(host.index()).and_then(|member| member.place()) else { return };
        if !self.is_beyond(self.all[place].turns, 2 * self.lead) {
            let domain = &mut self.all[place];
            domain.turns += 1;
            self.turns += u64::from(domain.competing > 0);
        }
    }

    /// Puts a host that is in no queue into its domain's wait queue, at this priority. It has answered before, unless it `is_new`.
    pub(crate) fn give_way(&mut self, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8, is_new: bool) {
        let Some(place) = self.members.get(host.index()).and_then(|member| member.place()) else { return };
        let domain = &mut self.all[place];
        let queues = domain.queues.get_or_insert_default();
        queues.of(is_new).push(hosts, host, priority);
        hosts[host].state = HostState::giving_way(is_new, priority);
        let place = u32::try_from(place).expect("a member has room for it");
        if !std::mem::replace(&mut queues.is_noted, true) {
            self.notes.push(Reverse((domain.turns, place)));
        }
        self.waiting += 1;
        if !is_new {
            self.known += 1;
            if !std::mem::replace(&mut queues.is_spare, true) {
                self.spare.push_back(place);
            }
        }
    }

    /// A host that gives way has a better URL: it moves after all other hosts of that URL's priority.
    pub(crate) fn promote(
        &mut self,
        hosts: &mut SchedulingStates<'_>,
        host: HostId,
        (from, to): (u8, u8),
        is_new: bool,
    ) {
        if let Some(queues) = self.wait_queues_of(host) {
            queues.of(is_new).remove(hosts, host, from);
            queues.of(is_new).push(hosts, host, to);
            hosts[host].state = HostState::giving_way(is_new, to);
        }
    }

    /// Takes a host of this priority out of its wait queue.
    pub(crate) fn leave(&mut self, hosts: &mut SchedulingStates<'_>, host: HostId, priority: u8, is_new: bool) {
        if let Some(queues) = self.wait_queues_of(host) {
            queues.of(is_new).remove(hosts, host, priority);
            self.waiting -= 1;
            self.known -= usize::from(!is_new);
        }
    }

    /// Removes and returns a host that no longer gives way, with its priority: the others have caught up with its domain, or, as the caller
    /// says with `is_last`, no other host is left. O(log domains), amortized.
    pub(crate) fn release(&mut self, hosts: &mut SchedulingStates<'_>, is_last: bool) -> Option<(HostId, u8)> {
        loop {
            let &Reverse((noted, number)) = self.notes.peek()?;
            let place = number as usize;
            let turns = self.all[place].turns;
            let Some(queues) = self.all[place].queues.as_deref_mut().filter(|queues| !queues.is_empty()) else {
                self.notes.pop();
                self.all[place].queues.iter_mut().for_each(|queues| queues.is_noted = false);
                self.forget(place);
                continue;
            };
            if noted < turns {
                self.notes.pop();
                self.notes.push(Reverse((turns, number)));
                continue;
            }
            let is_new = match (queues.known.best(), queues.new.best()) {
                (Some(known), Some(new)) => hosts.priorities().rank(new) < hosts.priorities().rank(known),
                (known, _) => known.is_none(),
            };
            if self.is_beyond(turns, self.lead) {
                if !is_last {
                    return None;
                }
                self.pardon(place);
            }
            return self.take(hosts, place, is_new);
        }
    }

    /// Removes and returns a known host that gives way, with its priority. For when no other host is due; the domains take these turns in
    /// rotation.
    pub(crate) fn take_spare(&mut self, hosts: &mut SchedulingStates<'_>) -> Option<(HostId, u8)> {
        while let Some(number) = self.spare.pop_front() {
            let place = number as usize;
            let taken = self.take(hosts, place, false);
            let queues = self.all[place].queues.as_mut();
            let is_spare = queues.is_some_and(|queues| {
                queues.is_spare = !queues.known.is_empty();
                queues.is_spare
            });
            if is_spare {
                self.spare.push_back(number);
            } else {
                self.forget(place);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// The number of hosts that give way. They are in no other queue.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The number of known hosts that give way: they may go if no other host is due.
    #[inline]
    pub(crate) fn spare(&self) -> usize {
        self.known
    }

    /// Whether a host that gives way may go now, as far as is known without looking at all of them.
    pub(crate) fn has_turn(&self) -> bool {
        self.known > 0 || self.notes.peek().is_some_and(|&Reverse((turns, _))| !self.is_beyond(turns, self.lead))
    }

    /// Bytes of memory held, about.
    pub(crate) fn memory(&self) -> usize {
        self.members.capacity() * size_of::<Member>()
            + self.all.capacity() * size_of::<Domain>()
            + self.places.allocation_size()
    }

    /// Whether this many turns exceed the average by more than `lead`. Never with one domain alone.
    #[inline]
    fn is_beyond(&self, turns: u64, lead: u64) -> bool {
        self.rivals > 1 && turns > lead && (turns - lead) * self.rivals > self.turns
    }

    fn average(&self) -> u64 {
        self.turns.checked_div(self.rivals).unwrap_or(self.last)
    }

    fn add(&mut self, hash: u64) -> u32 {
        let domain = Domain { hash, turns: self.average(), members: 0, competing: 0, queues: None };
        let place = if let Some(place) = self.unused.pop() {
            self.all[place as usize] = domain;
            place
        } else {
            self.all.push(domain);
            u32::try_from(self.all.len() - 1).expect("fewer than 2^30 domains")
        };
        let all = &self.all;
        self.places.insert_unique(hash, place, |&place| all[place as usize].hash);
        place
    }

    /// Forgets a domain that has no host in memory, once it is noted nowhere.
    fn forget(&mut self, place: usize) {
        let domain = &self.all[place];
        let is_noted = domain.queues.as_ref().is_some_and(|queues| queues.is_noted || queues.is_spare);
        if domain.members > 0 || is_noted {
            return;
        }
        let number = u32::try_from(place).expect("a member has room for it");
        if let Ok(entry) = self.places.find_entry(domain.hash, |&other| other == number) {
            entry.remove();
            self.all[place].queues = None;
            self.unused.push(number);
        }
    }

    fn begins(&mut self, place: usize) {
        let least = self.average().saturating_sub(SAVED * self.lead);
        let domain = &mut self.all[place];
        domain.turns = domain.turns.max(least);
        self.rivals += 1;
        self.turns += domain.turns;
    }

    fn ends(&mut self, place: usize) {
        self.last = self.average();
        self.rivals -= 1;
        self.turns -= self.all[place].turns;
    }

    /// Cuts a domain's turns to the average, so that it is no longer ahead.
    fn pardon(&mut self, place: usize) {
        let most = self.average();
        let domain = &mut self.all[place];
        if domain.competing > 0 {
            self.turns -= domain.turns.saturating_sub(most);
        }
        domain.turns = domain.turns.min(most);
    }

    fn take(&mut self, hosts: &mut SchedulingStates<'_>, place: usize, is_new: bool) -> Option<(HostId, u8)> {
        let taken = self.all[place].queues.as_mut()?.of(is_new).pop(hosts)?;
        self.waiting -= 1;
        self.known -= usize::from(!is_new);
        Some(taken)
    }

    fn wait_queues_of(&mut self, host: HostId) -> Option<&mut WaitQueues> {
        let place = self.members.get(host.index())?.place()?;
        self.all[place].queues.as_deref_mut()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const LEAD: u64 = 3;

    #[derive(Clone, Copy, Debug)]
    enum Act {
        Compete(bool),
        Count,
        Part,
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Turns are counted once for each domain, whichever of its hosts come or go.
        #[test]
        fn the_average_is_that_of_the_domains_that_compete(
            acts in prop::collection::vec((0..12u32, prop_oneof![
                any::<bool>().prop_map(Act::Compete),
                Just(Act::Count),
                Just(Act::Count),
                Just(Act::Part),
            ]), 0..200),
        ) {
            let mut domains = Domains::new(3);
            // For each host, whether it competes.
            let mut hosts = BTreeMap::new();
            for (number, act) in acts {
                let (host, name) = (HostId::new(number), format!("d{}.example", number % 4));
                let place = |domains: &Domains| domains.members[host.index()].place().expect("it has one");
                if !domains.knows(host) {
                    domains.join(host, &name, number == 0);
                    hosts.insert(number, false);
                }
                match act {
                    Act::Compete(competes) => {
                        let least = domains.average().saturating_sub(SAVED * LEAD);
                        domains.compete(host, competes);
                        hosts.insert(number, competes);
                        prop_assert!(!competes || domains.all[place(&domains)].turns >= least);
                    }
                    Act::Count => {
                        let before = domains.all[place(&domains)].turns;
                        let is_far = domains.is_beyond(before, 2 * LEAD);
                        domains.count(host);
                        prop_assert_eq!(domains.all[place(&domains)].turns, before + u64::from(!is_far));
                    }
                    Act::Part => {
                        domains.evict(host);
                        hosts.remove(&number);
                    }
                }
                let rivals: Vec<u64> = domains.all.iter().filter(|domain| domain.competing > 0).map(|domain| domain.turns).collect();
                prop_assert_eq!(rivals.len() as u64, domains.rivals);
                prop_assert_eq!(rivals.iter().sum::<u64>(), domains.turns);
                let competing: u32 = domains.all.iter().map(|domain| domain.competing).sum();
                prop_assert_eq!(competing as usize, hosts.values().filter(|competes| **competes).count());
                let in_memory = domains.all.len() - domains.unused.len();
                prop_assert!(in_memory <= 4, "{in_memory} domains");
                for &number in hosts.keys() {
                    let host = HostId::new(number);
                    let turns = domains.all[domains.members[host.index()].place().unwrap()].turns;
                    let is_ahead = rivals.len() > 1 && turns > LEAD && (turns - LEAD) * rivals.len() as u64 > rivals.iter().sum();
                    prop_assert_eq!(domains.is_ahead(host), is_ahead && number != 0);
                }
            }
        }
    }
}
