//! What a frontier knows, and how it changes.
//!
//! Only [`State::apply`] changes what a [`State`] knows. A [`Change`] is a record with what the state cannot look up by itself. `save`
//! writes a state in chunks: [`SavedAt`](save::SavedAt) has the one rule on which records a chunk already has. `resume` rebuilds a state
//! from chunks and records: [`Lost`](restore::Lost) has the one rule on pages whose records the output lost.
//!
//! # The rule
//!
//! A state follows from its records. So `apply` reads no clock, draws no random number and decides nothing by an option: `machine` has
//! decided, and the record has the decision. (Options matter for sums only: which group a host's usage is added to, and how far a seed
//! opens the scope.) With the same options, two states that applied the same records are equal to the bit, whether the records came from a
//! running frontier, from a checkpoint and the journal after it, or from the whole journal. The tests of `job` check that.
//!
//! # What always holds
//!
//! - A URL that was admitted and is neither done nor dropped is in one place: the queue of its host, or the schedule.
//! - An evicted host has nothing queued, so all queues are in memory.
//! - What a checkpoint saves of a state follows from the records before its position.
//!
//! # What is not state
//!
//! - Scheduling states: which queue of hosts a host is in. They follow from its URLs and its clock, and a resume places all hosts anew.
//! - Leases without a token: a leased URL is still in its queue, so nothing about leases is needed after a crash.
//! - Parsed rules of robots.txt: the journal has their text.
//! - Which hosts are in memory: an evicted host is brought back before it changes.
//!
//! # What a record changes
//!
//! | record | what changes |
//! |---|---|
//! | `Admitted` | a URL is queued, scheduled, or takes the place of another |
//! | `Settled` | a page leaves its queue or stays, and its host gets the status in it |
//! | `Again` | both at once: a page leaves its queue, and waits for a time |
//! | `Due` | a URL goes from the schedule to its host's queue |
//! | `Disallowed` | URLs leave their queue, and no page was fetched |
//! | `Aside` | a URL leaves its queue, or where an earlier round set it aside, and is set aside |
//! | `Rules` | a new round of rules begins |
//! | `Priority` | a front queue stands for another priority |
//! | `Moved` | URLs go to other levels of their host's queue |
//! | `Rescored` | URLs that are in no host's queue have other priorities |
//! | `Forgotten` | a URL leaves the seen set |
//! | `Host` | a host gets the status in it, and what is known of its robots.txt may change |
//! | `Lent` | a lease is out under a token, until a record says that it is back |
//! | `Answered` | its page is in hand, and its host gets the status in it |
//! | `Extended` | it has another deadline |
//! | `Returned` | it was given back, or taken back, and nothing else changes |
//! | `Resumed` | nothing: the resume acts on it |

mod change;
mod leases;
mod new_lease;
mod out_lease;
mod rescored;
mod restore;
mod resume;
mod save;

use std::io;
use std::sync::Arc;

use crate::address::{CanonicalUrl, Fingerprint};
use crate::frontier::durable::{
    Aside, AsideRecord, DisallowedRecord, Entry, HostRecord, Journal, Record, RuleRound, Settled,
};
use crate::frontier::hosts::{
    Evicted, GroupUsage, Host, HostCost, HostId, HostPolicy, HostStatistics, HostStatus, Hosts, PolitenessTable,
    RobotsFile, RulesCache, SchedulingStates, SpentBudget, Usage,
};
use crate::frontier::queues::{Back, Queued, Schedule, Taken};
use crate::frontier::robots::Robots;
use crate::frontier::{LeaseToken, Validators};
use crate::gate::{Gate, Insertion, Position, Refusal, SeenTest};
use crate::seen::{Removal, SeenError};

pub(crate) use change::{Change, Count, PendingParts};
pub(crate) use leases::{LeaseAnswer, LeaseTable};
pub(crate) use out_lease::{LATEST, OutLease};
pub(crate) use rescored::Rescored;
pub(crate) use resume::Resume;
pub(crate) use save::StateChunk;

/// Everything that a frontier knows: the hosts with their queues, the schedule, the evicted hosts, the gate and the counts.
///
/// Only [`apply`](Self::apply) changes what it knows, while running and on resume. So a frontier rebuilt from its records equals the
/// original.
///
/// Three things in it are not knowledge, and change without records: the [scheduling states](Self::scheduling) of the hosts, which belong
/// to `machine`; parsed robots rules, whose text the journal has; and which hosts are in memory.
#[derive(Debug)]
pub(crate) struct State {
    /// The seen set, the scope and the counts of what was admitted and refused.
    gate: Arc<Gate>,
    hosts: Hosts,
    /// Their queued URLs, including lent ones.
    back: Back,
    /// URLs that wait for a time, are set aside, or were given up.
    schedule: Schedule,
    evicted: Evicted,
    /// Which parsed rules may be dropped.
    rules: RulesCache,
    count: Count,
    /// What groups of hosts have used together: the sum over their hosts, including evicted ones.
    groups: GroupUsage,
    /// The round of rules by which URLs are judged.
    judged_by: RuleRound,
    /// The leases that are out under a token.
    leases: LeaseTable,
    /// The priorities of URLs that are in no host's queue, if they are not those of their entries.
    rescored: Rescored,
}

impl State {
    /// The state of a frontier that knows only what its gate knows. The politeness table is made from options, and is not saved.
    pub(crate) fn new(gate: Gate, politeness_table: Arc<PolitenessTable>) -> Self {
        Self {
            gate: Arc::new(gate),
            groups: GroupUsage::new(politeness_table.groups().len()),
            hosts: Hosts::new(politeness_table),
            back: Back::default(),
            schedule: Schedule::default(),
            evicted: Evicted::default(),
            rules: RulesCache::default(),
            count: Count::default(),
            judged_by: RuleRound::default(),
            leases: LeaseTable::default(),
            rescored: Rescored::default(),
        }
    }

    /// The only way in which a running frontier changes what it knows: the journal takes the record first, then it is
    /// [applied](Self::apply). Returns the record's position in the journal.
    ///
    /// `host` is the host that the record is about: the state cannot look it up by itself.
    #[inline]
    pub(crate) fn commit(
        &mut self,
        journal: &mut impl Journal,
        record: &Record<'_>,
        host: Option<HostId>,
    ) -> io::Result<Option<Position>> {
        self.commit_with(journal, record, host, (None, None))
    }

    /// The same, with a URL to add to the seen set, or for a record with which the lease of this token comes back.
    pub(crate) fn commit_with(
        &mut self,
        journal: &mut impl Journal,
        record: &Record<'_>,
        host: Option<HostId>,
        (remember, token): (Option<&CanonicalUrl>, Option<LeaseToken>),
    ) -> io::Result<Option<Position>> {
        let at = journal.append(record)?;
        self.apply(&Change { record, at, host, remember, token, fresh: PendingParts::ALL });
        Ok(at)
    }

    /// Applies a record. O(log hosts); for dropped URLs, O(their number).
    ///
    /// It cannot fail, and it decides nothing: the caller has looked up the host and decided, and the journal has the record. Parts of the
    /// state that are not among the [`PendingParts`] already have the record, from a checkpoint.
    ///
    /// # Panics
    /// If the URL of a returned lease is not queued, in a build with assertions.
    pub(crate) fn apply(&mut self, change: &Change<'_>) {
        let (host, fresh) = (change.host, change.fresh);
        match change.record {
            Record::Admitted(entry) => self.admitted(entry, change),
            Record::Settled(settled) => self.settled(settled, None, change),
            Record::Again { settled, entry } => self.settled(settled, Some(entry), change),
            Record::Due(due) => {
                self.rescored.remove(due.position);
                if let Some(from) = due.from {
                    self.leaves_aside(from, host, fresh);
                } else {
                    let taken = self.schedule.take_first(due.position);
                    self.count.completed -= u64::from(taken == Some(Taken::Parked) && fresh.counts);
                }
                if let Some(host) = host {
                    self.queue(host, Queued { position: due.position, priority: due.priority }, due.after);
                }
            }
            Record::Disallowed(disallowed) => {
                if fresh.counts {
                    self.gate.withdraw(disallowed.refusal, disallowed.urls.into());
                }
                if let Some(host) = host {
                    let DisallowedRecord { first: position, priority, urls, .. } = *disallowed;
                    let first = Queued { position, priority };
                    let dropped = self.back.remove_run(&mut self.hosts[host].queue, first, urls);
                    self.count.queued -= u64::from(dropped);
                    self.mark_used_if_empty(host);
                }
            }
            Record::Aside(aside) => self.set_aside(aside, change),
            Record::Rules { digest } => {
                if fresh.counts {
                    self.judged_by = self.judged_by.next(*digest, change.at);
                }
            }
            Record::Priority { front, priority } => self.back.priorities_mut().set(*front, *priority),
            Record::Moved(moved) => {
                self.rescored.note_moved();
                if let Some(host) = host {
                    self.back.move_urls(&mut self.hosts[host].queue, moved.moves);
                }
            }
            Record::Rescored(scores) => self.rescored.set(*scores),
            Record::Forgotten { fingerprint } => {
                if fresh.seen {
                    // Layouts that cannot forget have no such records.
                    let _ = self.forget(*fingerprint);
                }
            }
            Record::Host(record) => {
                self.count.retries += u64::from(record.is_retry && fresh.counts);
                if fresh.counts {
                    self.leases.host_answered(record, change.token);
                }
                if let Some(host) = host {
                    self.learned(host, record, change.at);
                }
            }
            Record::Lent(lent) => {
                if fresh.counts {
                    self.leases.lend(lent, host);
                }
            }
            Record::Answered(answered) => self.answered(answered, change),
            Record::Extended { token, deadline } => {
                if fresh.counts {
                    self.leases.extend(*token, *deadline);
                }
            }
            Record::Returned { token, is_overdue } => {
                if fresh.counts {
                    self.leases.returned(*token, (!is_overdue).then_some(LeaseAnswer::GivenBack));
                }
            }
            Record::Resumed { .. } => {}
        }
    }

    /// A URL is queued or scheduled.
    fn admitted(&mut self, entry: &Entry<'_>, change: &Change<'_>) {
        self.remember(entry, change);
        let position = change.at.expect("a journal says where an admission stands");
        if let Some(at) = entry.not_before {
            if change.fresh.schedule {
                self.schedule.push(at, position);
            }
            return;
        }
        let Some(host) = change.host else { return };
        self.queue(host, Queued { position, priority: entry.priority }, entry.after);
    }

    /// A URL is no longer set aside. If a host's budget was the reason, the record names the host, and its usage changes.
    fn leaves_aside(&mut self, from: Aside, host: Option<HostId>, fresh: PendingParts) {
        if fresh.counts {
            self.gate.readmit(from.refusal, 1);
        }
        if fresh.aside {
            self.schedule.take_aside(from);
        }
        if let Some(host) = host.filter(|_| from.refusal.is_of_host_budget()) {
            let usage = self.hosts.usage_mut(host);
            usage.left_out = usage.left_out.saturating_sub(1);
        }
    }

    /// A URL is refused by today's rules. It may have been set aside by earlier ones: then it is in no queue.
    fn set_aside(&mut self, aside: &AsideRecord<'_>, change: &Change<'_>) {
        let AsideRecord { position, priority, to, from, .. } = *aside;
        if let Some(from) = from {
            self.leaves_aside(from, change.host, change.fresh);
        }
        if change.fresh.counts {
            self.gate.withdraw(to.refusal, 1);
        }
        if change.fresh.schedule {
            self.schedule.set_aside(to, position);
        }
        let Some(host) = change.host else { return };
        if to.refusal.is_of_host_budget() {
            let usage = self.hosts.usage_mut(host);
            usage.left_out = usage.left_out.saturating_add(1);
        }
        if from.is_none() {
            self.unqueue(host, Queued { position, priority });
            self.mark_used_if_empty(host);
        }
    }

    /// Tells the gate of a URL that has not passed its seen test: on resume each URL, while running only scheduled ones. Other URLs that
    /// are admitted while running have passed the gate before, and have no `remember`.
    fn remember(&mut self, entry: &Entry<'_>, change: &Change<'_>) {
        if let Some(url) = change.remember {
            let is_told = entry.seen_test != SeenTest::Skipped;
            let found = (entry.via, entry.depth);
            let insert = match entry.not_before {
                _ if !is_told || !change.fresh.seen => Insertion::None,
                // The seen set was asked, and said that it is new.
                None if entry.seen_test == SeenTest::Asked => Insertion::Admitted,
                _ => Insertion::Shown,
            };
            self.gate.remember(url, entry.identity, found, insert, change.fresh.counts);
        }
    }

    /// A page's lease came back. The page leaves its queue if it is done, or if it waits for a time by the entry `again`. If it moved to
    /// another spelling of its key, that entry takes its place; otherwise it stays there, with its used tries.
    ///
    /// A checkpoint saves counts, schedule and host at separate positions, so it is checked for each of the three whether the record is new
    /// to it.
    fn settled(&mut self, settled: &Settled<'_>, again: Option<&Entry<'_>>, change: &Change<'_>) {
        let Settled { position, priority, attempts, done, receipts, cost, .. } = *settled;
        let moved = again.is_some_and(|entry| entry.not_before.is_none());
        if change.fresh.counts {
            self.count.completed += u64::from(done);
            self.count.retries += u64::from(!done && !moved);
            self.count.output = receipts.first().map_or(self.count.output, |receipt| receipt.end);
            let _ = settled.yielded_at().map(|(yielded, at)| self.gate.budgets().note(at, &yielded));
            if let Some(token) = change.token {
                let waits = again.and_then(|entry| entry.not_before);
                let answer =
                    if done { LeaseAnswer::Done } else { LeaseAnswer::Retry(waits.unwrap_or(settled.status.due)) };
                self.leases.returned(token, (!settled.is_overdue).then_some(answer));
            }
        }
        if let Some(entry) = again {
            self.remember(entry, change);
            if change.fresh.schedule
                && let (Some(at), Some(position)) = (entry.not_before, change.at)
            {
                self.schedule.push(at, position);
            }
        }
        let Some(id) = change.host else { return };
        if moved {
            let by = change.at.expect("a journal says where an entry stands");
            let was_queued = self.back.replace(&mut self.hosts[id].queue, position, Queued { position: by, priority });
            self.count.queued += u64::from(!was_queued);
        } else if done || again.is_some() {
            self.unqueue(id, Queued { position, priority });
        } else {
            self.back.set_tries(position, attempts);
        }
        self.spend(id, cost);
        self.hosts[id].robots.mark_used();
        self.set_status(id, &settled.status, !again.is_some_and(Entry::is_parked));
    }

    /// Adds the cost of a returned lease to the usage of its host and of the host's group.
    fn spend(&mut self, id: HostId, cost: HostCost) {
        self.hosts.usage_mut(id).add(cost);
        let policy = self.hosts.politeness_table().policy(self.hosts[id].policy);
        self.groups.get_mut(policy).into_iter().for_each(|usage| usage.add(cost));
    }

    /// What is known of a robots.txt may have changed, and so has its host's status.
    fn learned(&mut self, host: HostId, record: &HostRecord<'_>, at: Option<Position>) {
        if let Some(robots) = record.robots {
            self.rules.learn(&mut self.hosts, host, robots, at);
        }
        self.set_status(host, &record.status, record.was_asked);
    }

    /// Sets a host's status. A host that becomes retired loses its rules: if it is asked again, it is first asked for its robots.txt.
    fn set_status(&mut self, id: HostId, status: &HostStatus, was_asked: bool) {
        let host = &mut self.hosts[id];
        let was_retired = host.status.is_retired();
        let requests = host.status.requests.saturating_add(was_asked.into());
        host.status = HostStatus { requests, ..status.clone() };
        match (was_retired, host.status.is_retired()) {
            (false, true) => {
                self.count.retired_hosts += 1;
                self.rules.replace(&mut self.hosts, id, RobotsFile::Unknown);
            }
            (true, false) => self.count.retired_hosts -= 1,
            _ => {}
        }
    }

    /// Queues a URL after this many of the same priority, or after all. The caller places the host afterwards; a resume places all hosts
    /// once, at its end.
    fn queue(&mut self, host: HostId, queued: Queued, after: Option<u16>) {
        let queue = &mut self.hosts[host].queue;
        match after {
            None => self.back.push(queue, queued),
            Some(after) => self.back.push_after(queue, queued, after),
        }
        self.count.queued += 1;
    }

    /// Takes a URL out of its queue. It is always there: on resume, a record that the host's chunk already has is not applied to the host
    /// again.
    fn unqueue(&mut self, host: HostId, queued: Queued) {
        let was_queued = self.back.remove(&mut self.hosts[host].queue, queued);
        debug_assert!(was_queued, "a URL stays queued while it is lent out");
        self.count.queued -= u64::from(was_queued);
    }

    /// If a robots.txt disallowed everything that was queued, marks it as used: once stale, it is fetched again although no page was lent
    /// by it.
    fn mark_used_if_empty(&mut self, id: HostId) {
        let host = &mut self.hosts[id];
        if host.queue.len() == 0 {
            host.robots.mark_used();
        }
    }
}

/// Access to the parts, and changes that need no record because they are not knowledge.
impl State {
    /// The gate, shared with threads that admit URLs: they need neither the frontier nor its lock.
    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The hosts in memory.
    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// A host in memory.
    pub(crate) fn host(&self, id: HostId) -> &Host {
        &self.hosts[id]
    }

    /// How a host is treated.
    #[inline]
    pub(crate) fn policy(&self, id: HostId) -> &HostPolicy {
        self.hosts.politeness_table().policy(self.hosts[id].policy)
    }

    /// The scheduling states of the hosts, for the machine to change: no record is about them.
    pub(crate) fn scheduling(&mut self) -> SchedulingStates<'_> {
        self.hosts.scheduling(self.back.priorities())
    }

    /// The back queues.
    pub(crate) fn back(&self) -> &Back {
        &self.back
    }

    /// URLs that wait for a time, are set aside, or are parked.
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// What is known of hosts that are not in memory.
    pub(crate) fn evicted(&self) -> &Evicted {
        &self.evicted
    }

    /// The spent budget of a host or its group, if one is spent.
    pub(crate) fn spent(&self, id: HostId) -> Option<SpentBudget> {
        self.spent_of(self.hosts[id].policy, self.hosts.usage(id))
    }

    /// The same, for a host with this policy number and this usage.
    pub(crate) fn spent_of(&self, policy: u16, usage: Usage) -> Option<SpentBudget> {
        let politeness_table = self.hosts.politeness_table();
        self.groups.spent(politeness_table.policy(policy), politeness_table.groups(), usage)
    }

    /// The refusal of a host's URLs, if its budget or its group's is spent. One load if no host has a budget.
    #[inline]
    pub(crate) fn budget_refusal(&self, id: HostId) -> Option<Refusal> {
        if !self.hosts.politeness_table().has_budgets() {
            return None;
        }
        self.spent(id).map(|spent| spent.refusal)
    }

    /// Pages of a host that may be out at once, by its budget. A spent budget sets no bound, since the host's pages are set aside and not
    /// lent.
    #[inline]
    pub(crate) fn pages_left(&self, id: HostId) -> u64 {
        if !self.hosts.politeness_table().has_budgets() {
            return u64::MAX;
        }
        match self.policy(id).budget.pages_left(self.hosts.usage(id)) {
            0 => u64::MAX,
            left => left,
        }
    }

    /// What a group of hosts has used together.
    pub(crate) fn group_usage(&self, group: u16) -> Usage {
        self.groups.of(group)
    }

    /// A digest of today's rules: those of the gate, and the budgets of hosts. Never 0.
    pub(crate) fn rules_digest(&self) -> u64 {
        (self.gate.digest() ^ self.hosts.politeness_table().budgets_digest()).max(1)
    }

    /// The round of rules by which URLs are judged.
    pub(crate) fn rules(&self) -> RuleRound {
        self.judged_by
    }

    /// The current sums. All are kept as records are applied, so nothing is walked.
    pub(crate) fn count(&self) -> Count {
        self.count
    }

    /// The leases that are out under a token.
    #[inline]
    pub(crate) fn leases(&self) -> &LeaseTable {
        &self.leases
    }

    /// The same, for the machine to change what it keeps there.
    pub(crate) fn leases_mut(&mut self) -> &mut LeaseTable {
        &mut self.leases
    }

    /// The priorities of URLs that are in no host's queue, if they are not those of their entries.
    #[inline]
    pub(crate) fn rescored(&self) -> &Rescored {
        &self.rescored
    }

    /// Bytes of robots rules in memory.
    pub(crate) fn rules_memory(&self) -> usize {
        self.rules.memory()
    }

    /// Bytes of memory held by hosts and their rules.
    pub(crate) fn hosts_memory(&self) -> usize {
        self.hosts.memory() + self.rules.memory()
    }

    /// Bytes of memory held by queues of URLs.
    pub(crate) fn queues_memory(&self) -> usize {
        self.back.memory() + self.schedule.memory() + self.rescored.memory() + self.leases.memory()
    }

    /// The host with this key, if it is in memory.
    pub(crate) fn look_up(&mut self, origin: &str) -> Option<HostId> {
        self.hosts.look_up(origin)
    }

    /// Notes a host to which links will probably be found soon.
    pub(crate) fn note_recent(&mut self, host: HostId) {
        self.hosts.note_recent(host);
    }

    /// Adds a new host, which must be neither in memory nor evicted. The caller has looked for it in both places: two hosts with one key
    /// would be asked at twice the rate.
    pub(crate) fn add_host(&mut self, host: Host) -> HostId {
        self.hosts.add(host).expect("it was not there")
    }

    /// Brings an evicted host back to memory. There is no record of this: which hosts are in memory is not knowledge.
    pub(crate) fn bring_back(&mut self, host: Host, usage: Usage) -> HostId {
        self.evicted.remove(&host);
        self.rules.came(&host);
        let id = self.add_host(host);
        *self.hosts.usage_mut(id) = usage;
        id
    }

    /// Evicts a host that [may be](Host::may_be_evicted) and whose image the caller has stored.
    pub(crate) fn evict(&mut self, host: HostId, politeness_table: &PolitenessTable) {
        let (host, usage) = self.hosts.remove(host);
        self.rules.left(&host);
        self.evicted.add(HostStatistics::of(&host, usage, politeness_table));
    }

    /// Stores the parsed rules of a host whose robots.txt is known, to lend by them.
    pub(crate) fn cache_rules(&mut self, host: HostId, robots: Robots, validators: Option<Box<Validators>>) {
        self.rules.fill(&mut self.hosts, host, robots, validators);
    }

    /// Drops parsed rules beyond this many bytes, roughly the least recently used first. Their texts are in the journal.
    pub(crate) fn drop_rules(&mut self, bound: usize) {
        self.rules.shrink(&mut self.hosts, bound);
    }

    /// Takes a URL from the seen set. [`apply`](Self::apply) does it for a record.
    ///
    /// # Errors
    /// If the layout cannot forget.
    pub(crate) fn forget(&self, fingerprint: Fingerprint) -> Result<Removal, SeenError> {
        self.gate.seen().remove(fingerprint)
    }
}
