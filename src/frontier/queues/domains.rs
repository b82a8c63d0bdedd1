//! Turns by registrable domain.
//!
//! A host is one name, and names cost nothing: whoever has a domain has as many hosts as links to them. If each host had a turn, that domain
//! would have nearly all. So turns are counted for each domain. One that is *ahead* has had more of them than the domains with URLs waiting
//! have had on average, by more than its lead, and its hosts give way:
//!
//! ```text
//!   Front ──▶ is its domain ahead? ── no ──▶ its turn
//!                   │ yes                       ▲
//!                   ▼                           │
//!     known hosts: a line ── no other host is due, or the others have caught up
//!     new hosts:   a line ── the others have caught up
//! ```
//!
//! A host that has answered has pages that are wanted, and goes when no other host could. A new host does not: while a good site rests
//! between two pages there is time for a hundred hosts of a farm, each of which then has pages of its own. A domain that is alone is never
//! ahead.
//!
//! The average is that of domains with a host that is out, due, or will be soon. A domain that comes begins with it, so it owes nothing and
//! has saved nothing up. One that comes back has what it had, and has saved up a few leads at most. A domain that is far ahead, since no
//! other was due, counts as two leads ahead: it does not wait for turns that no other domain lost.
//!
//! Nothing of this is state: after a restart all domains have had as many turns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ahash::RandomState;
use hashbrown::HashTable;

use super::WaitQueue;
use crate::frontier::hosts::{HostId, HostSlots, HostState};

/// The registrable domains of hosts in memory, with their turns and the hosts that give way. Every operation is O(log domains) at most, and
/// allocates nothing but for a host that is new.
#[derive(Debug)]
pub(crate) struct Domains {
    /// Turns by which a domain may be beyond the average; 0 is no bound, and nothing is counted.
    lead: u64,
    /// By the numbers of their hosts.
    members: Vec<Member>,
    all: Vec<Domain>,
    /// Places of domains that have no host in memory any more.
    unused: Vec<u32>,
    /// The places by the hashes of the names.
    places: HashTable<u32>,
    hasher: RandomState,
    /// Domains that compete for turns, and the turns that these have had.
    rivals: u64,
    turns: u64,
    /// The average when the last of them left.
    last: u64,
    /// Domains with hosts in line, by their turns when this was noted; the fewest are the greatest.
    notes: BinaryHeap<Reverse<(u64, u32)>>,
    /// Domains with known hosts in line, in the order in which these may go where no other host is due.
    spare: VecDeque<u32>,
    /// Hosts in all lines.
    waiting: usize,
    /// Those of them that are known.
    known: usize,
}

/// What a host is to its domain: the domain's place and one, or 0 of a host without one; then two flags.
#[derive(Clone, Copy, Debug, Default)]
struct Member(u32);

/// A domain with a host in memory that has had URLs.
#[derive(Debug)]
struct Domain {
    /// Stands for its name. Two names with one hash would share their turns, once in 10¹² crawls of a million domains each.
    hash: u64,
    turns: u64,
    /// Hosts in memory.
    members: u32,
    /// Those of them that compete.
    competing: u32,
    /// In a box, since few domains are ever ahead.
    lines: Option<Box<Lines>>,
}

/// The hosts of a domain that give way.
#[derive(Debug, Default)]
struct Lines {
    known: WaitQueue,
    new: WaitQueue,
    is_noted: bool,
    is_spare: bool,
}

const _: () = assert!(size_of::<Domain>() == 32);

/// Leads that a domain may have saved up when it comes back. A domain comes and goes with each page where its only host has one link a page,
/// and must not lose by that what others are ahead of it.
const SAVED: u64 = 4;

impl Member {
    const COMPETES: u32 = 1 << 31;
    /// Its host is a seed's.
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

impl Lines {
    fn of(&mut self, is_new: bool) -> &mut WaitQueue {
        if is_new { &mut self.new } else { &mut self.known }
    }

    fn is_empty(&self) -> bool {
        self.known.is_empty() && self.new.is_empty()
    }
}

impl Domains {
    /// None yet.
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

    /// Whether the domain of a host was told.
    #[inline]
    pub(crate) fn knows(&self, host: HostId) -> bool {
        self.members.get(host.index()).is_some_and(|member| member.place().is_some())
    }

    /// A host is of this domain. One that `goes` never gives way, and takes turns of its domain all the same.
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

    /// A host leaves memory. It is in no line.
    pub(crate) fn part(&mut self, host: HostId) {
        self.compete(host, false);
        let member = self.members.get_mut(host.index()).map(std::mem::take).unwrap_or_default();
        let Some(place) = member.place() else { return };
        self.all[place].members -= 1;
        self.forget(place);
    }

    /// Whether a host competes for turns from here on: it has URLs, and is out, due, or will be soon. O(1).
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

    /// Whether a host gives way to others, if any is due.
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

    /// A host has its turn.
    #[inline]
    pub(crate) fn count(&mut self, host: HostId) {
        let Some(place) = self.members.get(host.index()).and_then(|member| member.place()) else { return };
        if !self.is_beyond(self.all[place].turns, 2 * self.lead) {
            let domain = &mut self.all[place];
            domain.turns += 1;
            self.turns += u64::from(domain.competing > 0);
        }
    }

    /// A host, that is in no queue, gives way with this priority. It has answered before, unless it `is_new`.
    pub(crate) fn give_way(&mut self, seats: &mut HostSlots<'_>, host: HostId, priority: u8, is_new: bool) {
        let Some(place) = self.members.get(host.index()).and_then(|member| member.place()) else { return };
        let domain = &mut self.all[place];
        let lines = domain.lines.get_or_insert_default();
        lines.of(is_new).push(seats, host, priority);
        seats[host].state = HostState::giving_way(is_new, priority);
        let place = u32::try_from(place).expect("a member has room for it");
        if !std::mem::replace(&mut lines.is_noted, true) {
            self.notes.push(Reverse((domain.turns, place)));
        }
        self.waiting += 1;
        if !is_new {
            self.known += 1;
            if !std::mem::replace(&mut lines.is_spare, true) {
                self.spare.push_back(place);
            }
        }
    }

    /// A host that gives way has a better URL: it stands after all of that priority.
    pub(crate) fn promote(&mut self, seats: &mut HostSlots<'_>, host: HostId, (from, to): (u8, u8), is_new: bool) {
        if let Some(lines) = self.lines_of(host) {
            lines.of(is_new).remove(seats, host, from);
            lines.of(is_new).push(seats, host, to);
            seats[host].state = HostState::giving_way(is_new, to);
        }
    }

    /// Takes a host of this priority out of its line.
    pub(crate) fn leave(&mut self, seats: &mut HostSlots<'_>, host: HostId, priority: u8, is_new: bool) {
        if let Some(lines) = self.lines_of(host) {
            lines.of(is_new).remove(seats, host, priority);
            self.waiting -= 1;
            self.known -= usize::from(!is_new);
        }
    }

    /// A host that gives way no more, with its priority: the others have caught up with its domain, or no other host is left, as the caller
    /// may know. O(log domains), amortized.
    pub(crate) fn release(&mut self, seats: &mut HostSlots<'_>, is_last: bool) -> Option<(HostId, u8)> {
        loop {
            let &Reverse((noted, number)) = self.notes.peek()?;
            let place = number as usize;
            let turns = self.all[place].turns;
            let Some(lines) = self.all[place].lines.as_deref_mut().filter(|lines| !lines.is_empty()) else {
                self.notes.pop();
                self.all[place].lines.iter_mut().for_each(|lines| lines.is_noted = false);
                self.forget(place);
                continue;
            };
            if noted < turns {
                self.notes.pop();
                self.notes.push(Reverse((turns, number)));
                continue;
            }
            let is_new = match (lines.known.best(), lines.new.best()) {
                (Some(known), Some(new)) => new < known,
                (known, _) => known.is_none(),
            };
            if self.is_beyond(turns, self.lead) {
                if !is_last {
                    return None;
                }
                self.pardon(place);
            }
            return self.take(seats, place, is_new);
        }
    }

    /// A known host that gives way, with its priority, where no other host is due. The domains have these turns one after the other.
    pub(crate) fn take_spare(&mut self, seats: &mut HostSlots<'_>) -> Option<(HostId, u8)> {
        while let Some(number) = self.spare.pop_front() {
            let place = number as usize;
            let taken = self.take(seats, place, false);
            let lines = self.all[place].lines.as_mut();
            let is_spare = lines.is_some_and(|lines| {
                lines.is_spare = !lines.known.is_empty();
                lines.is_spare
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

    /// Hosts that give way. They are in no other queue.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Known hosts that give way: they may go where no other host is due.
    #[inline]
    pub(crate) fn spare(&self) -> usize {
        self.known
    }

    /// Whether a host that gives way may go now, as far as is known without a look at all of them.
    #[cfg(feature = "crawl")]
    pub(crate) fn has_turn(&self) -> bool {
        self.known > 0 || self.notes.peek().is_some_and(|&Reverse((turns, _))| !self.is_beyond(turns, self.lead))
    }

    /// Bytes of memory held, about.
    pub(crate) fn memory(&self) -> usize {
        self.members.capacity() * size_of::<Member>()
            + self.all.capacity() * size_of::<Domain>()
            + self.places.allocation_size()
    }

    /// Whether so many turns are beyond the average by more than a lead. Of one domain alone none are.
    #[inline]
    fn is_beyond(&self, turns: u64, lead: u64) -> bool {
        self.rivals > 1 && turns > lead && (turns - lead) * self.rivals > self.turns
    }

    fn average(&self) -> u64 {
        self.turns.checked_div(self.rivals).unwrap_or(self.last)
    }

    fn add(&mut self, hash: u64) -> u32 {
        let domain = Domain { hash, turns: self.average(), members: 0, competing: 0, lines: None };
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
        let is_noted = domain.lines.as_ref().is_some_and(|lines| lines.is_noted || lines.is_spare);
        if domain.members > 0 || is_noted {
            return;
        }
        let number = u32::try_from(place).expect("a member has room for it");
        if let Ok(entry) = self.places.find_entry(domain.hash, |&other| other == number) {
            entry.remove();
            self.all[place].lines = None;
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

    /// Takes so many turns from a domain that it is no further ahead than it may be.
    fn pardon(&mut self, place: usize) {
        let most = self.average();
        let domain = &mut self.all[place];
        if domain.competing > 0 {
            self.turns -= domain.turns.saturating_sub(most);
        }
        domain.turns = domain.turns.min(most);
    }

    fn take(&mut self, seats: &mut HostSlots<'_>, place: usize, is_new: bool) -> Option<(HostId, u8)> {
        let taken = self.all[place].lines.as_mut()?.of(is_new).pop(seats)?;
        self.waiting -= 1;
        self.known -= usize::from(!is_new);
        Some(taken)
    }

    fn lines_of(&mut self, host: HostId) -> Option<&mut Lines> {
        let place = self.members.get(host.index())?.place()?;
        self.all[place].lines.as_deref_mut()
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

        /// Turns are counted once for each domain, whichever of its hosts comes or goes.
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
            // By host, whether it competes.
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
                        domains.part(host);
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
