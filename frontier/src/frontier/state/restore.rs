//! What a resume does to a state besides applying records: it loads the parts of a checkpoint, sets the clocks, and queues pages again whose
//! records the output lost.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Count, State};
use crate::frontier::Timestamp;
use crate::frontier::durable::{Moves, RuleRound};
use crate::frontier::hosts::{Host, HostCost, HostId, HostStatistics, PolitenessTable, Usage};
use crate::frontier::queues::{Back, Queued, Schedule};
use crate::gate::{Gate, Position};

/// The parts of a checkpoint, which a resume loads besides records.
impl State {
    /// Loads a host of a checkpoint with its queue; `None` if `load` fails, or its key is already there.
    pub(super) fn load_host(&mut self, load: impl FnOnce(&mut Back) -> Option<(Host, Usage)>) -> Option<()> {
        let (host, usage) = load(&mut self.back)?;
        self.count.queued += u64::from(host.queue.len());
        self.count.retired_hosts += u64::from(host.status.is_retired());
        self.rules.came(&host);
        let id = self.hosts.add(host)?;
        *self.hosts.usage_mut(id) = usage;
        let policy = self.hosts.politeness_table().policy(self.hosts[id].policy);
        self.groups.get_mut(policy).into_iter().for_each(|group| group.join(usage));
        Some(())
    }

    /// Counts a host that was evicted before the checkpoint.
    pub(super) fn load_evicted(&mut self, host: &Host, usage: Usage, politeness_table: &PolitenessTable) {
        self.count.retired_hosts += u64::from(host.status.is_retired());
        self.groups.get_mut(politeness_table.policy(host.policy)).into_iter().for_each(|group| group.join(usage));
        self.evicted.add(HostStatistics::of(host, usage, politeness_table));
    }

    /// Takes back what a page whose record is lost used of its host's budget.
    pub(super) fn take_back(&mut self, id: HostId, cost: HostCost) {
        self.hosts.usage_mut(id).take_back(cost);
        let policy = self.hosts.politeness_table().policy(self.hosts[id].policy);
        self.groups.get_mut(policy).into_iter().for_each(|usage| usage.take_back(cost));
    }

    /// The schedule, to load chunks of a checkpoint, and for pages whose records are lost.
    pub(super) fn schedule_mut(&mut self) -> &mut Schedule {
        &mut self.schedule
    }

    /// Removes a URL from the schedule; says whether it was there.
    pub(super) fn unschedule(&mut self, at: Timestamp, position: Position) -> bool {
        self.rescored.remove(position);
        self.schedule.remove(at, position)
    }

    /// The sums, to load those of a checkpoint, and for pages whose records are lost.
    pub(super) fn count_mut(&mut self) -> &mut Count {
        &mut self.count
    }

    /// The round of rules, to load that of a checkpoint.
    pub(super) fn rules_mut(&mut self) -> &mut RuleRound {
        &mut self.judged_by
    }

    /// The gate, while it is not shared.
    pub(super) fn gate_mut(&mut self) -> &mut Gate {
        Arc::get_mut(&mut self.gate).expect("it is not shared before the frontier is finished")
    }

    /// Queues a page, with its used tries, before all others of its priority.
    pub(super) fn queue_first(&mut self, host: HostId, queued: Queued, tries: u8) {
        self.back.push_front(&mut self.hosts[host].queue, queued);
        self.back.set_tries(queued.position, tries);
        self.count.queued += 1;
    }

    /// Limits the times of each host in memory, and notes how to limit those of evicted hosts when they come back. For a resume, which
    /// knows the current time.
    pub(super) fn set_clocks(&mut self, since: Option<Timestamp>, was_ahead: bool, now: Timestamp) {
        (self.evicted.since, self.evicted.was_ahead) = (since, was_ahead);
        let politeness_table = Arc::clone(self.hosts.politeness_table());
        for id in self.hosts.ids() {
            let host = &mut self.hosts[id];
            self.evicted.set_clock(host, &politeness_table, now);
            host.status.due = host.status.due.max(now);
        }
    }
}

/// Pages whose records the outputs may not have: a crash may have lost the records, or a resume may have cut the output before their ends.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Pages whose records are lost. They are queued before all others, at the point of the replay where they were queued before: where the
    /// journal was opened again, or else at the end of this resume.
    pages: BTreeMap<Position, LostPage>,
    /// Pages that are done, unless the output later proves to have been cut before their records.
    done: Vec<Done>,
}

/// A page that is queued again if its record is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostPage {
    /// Its host, which stays in memory: nothing is evicted during a resume.
    pub(super) host: HostId,
    /// Its position and priority in the queue.
    pub(super) queued: Queued,
    /// The tries that it had used before.
    pub(super) tries: u8,
    /// Where its record ends.
    pub(super) end: u64,
    /// What it used of its host's budget.
    pub(super) cost: HostCost,
}

impl LostPage {
    /// Queues it before all others of its priority.
    fn queue(self, state: &mut State) {
        state.queue_first(self.host, self.queued, self.tries);
    }
}

/// A page that is done.
#[derive(Debug)]
pub(super) struct Done {
    /// The page to queue if its record proves to be lost.
    pub(super) page: LostPage,
    /// The entry by which it is to be fetched again.
    pub(super) again: Option<Again>,
}

/// How a page that is done is to be fetched again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// The time that it waits for.
    pub(super) at: Timestamp,
    /// The entry by which it waits.
    pub(super) position: Position,
    /// Whether it was given up.
    pub(super) is_parked: bool,
}

impl Lost {
    /// Adds a page whose record is lost.
    pub(super) fn add(&mut self, page: LostPage) {
        self.pages.insert(page.queued.position, page);
    }

    /// Adds a page that is done and whose record is there.
    pub(super) fn add_done(&mut self, done: Done) {
        self.done.push(done);
    }

    /// If this page's record was lost, queues it: a later record is about it, so it was in its queue again.
    pub(super) fn queue(&mut self, page: Position, state: &mut State) {
        if let Some(page) = self.pages.remove(&page) {
            page.queue(state);
        }
    }

    /// The same, for each of these pages.
    pub(super) fn queue_moved(&mut self, moves: Moves<'_>, state: &mut State) {
        if self.pages.is_empty() {
            return;
        }
        let (_, mut levels) = moves.parts();
        while levels.begin().is_some() {
            while let Some((page, _)) = levels.next() {
                self.queue(page, state);
            }
        }
    }

    /// The journal was opened again here, and the first output was cut to `output` bytes: pages whose records ended after that were queued
    /// then. The bytes that are there now may be those of other pages.
    pub(super) fn cut(&mut self, output: u64, state: &mut State) {
        while let Some(Done { page, again }) = self.done.pop_if(|done| done.page.end > output) {
            match again {
                // It was given up, and has been asked for again since: it is queued already.
                Some(Again { at, position, is_parked: true }) if !state.unschedule(at, position) => continue,
                Some(Again { at, position, is_parked: false }) if state.unschedule(at, position) => {
                    state.gate().retract(1);
                }
                _ => {}
            }
            state.take_back(page.host, page.cost);
            self.add(page);
            state.count_mut().completed -= 1;
        }
        let count = state.count_mut();
        count.output = count.output.min(output);
        let pages = std::mem::take(&mut self.pages).into_iter();
        let (kept, queued) = pages.partition(|(_, page)| page.end <= output);
        self.pages = queued;
        self.queue_all(state);
        self.pages = kept;
    }

    /// Queues all pages whose records are lost, in their order, before all others.
    pub(super) fn queue_all(&mut self, state: &mut State) {
        std::mem::take(&mut self.pages).into_values().rev().for_each(|page| page.queue(state));
    }
}
