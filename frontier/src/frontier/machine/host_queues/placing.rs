//! A host is placed: idle, on the agenda, due, giving way, or held back.
//!
//! | what happens | the host goes |
//! |---|---|
//! | a URL of it comes | from idle to where its clock says; up in its queue if the URL is better than its best |
//! | a lease of it comes back | to the agenda, to the front queue, or to idle |
//! | its rest is over | from the agenda to the front queue |
//! | its turn comes outside its hours | to the agenda, until they begin |
//! | it is due, and its domain had more turns than others | to the wait queue of its domain |
//! | it is due, and has never answered | to the held hosts, if the maximum of such hosts is out |
//!
//! A host is in at most one list, and its state says in which. List and state change together here, and never differ between two calls.
//!
//! # Turns of domains
//!
//! A host gives way to hosts of other registrable domains if its own domain has had more turns. This is decided when the host is taken from
//! the front queue. When the other domains have caught up, hosts go back to the front queue, one with each call of
//! [`next`](Frontier::next). A host that has answered is also taken directly from its wait queue when no other host is due.
//! [`Domains`](crate::frontier::queues::Domains) has the counts and the wait queues.
//!
//! | a host | gives way |
//! |---|---|
//! | of a seed | never: the user named it |
//! | whose URLs are given up | never: it is not asked |
//! | that is to be asked for the robots.txt of others | never: they wait for it |
//! | that has answered | while another host is due |
//! | any other | until the others have caught up, or nothing else is left to do |

use std::time::Duration;

use super::HostQueues;
use crate::frontier::Timestamp;
use crate::frontier::hosts::{HostId, HostState};
use crate::frontier::queues::{Agenda, Queued};
use crate::frontier::state::State;
use crate::gate::domain;

/// A host that rests for longer than this does not compete for turns: others that go meanwhile take no turn from it.
const RIVAL_REST: Duration = Duration::from_secs(10);

impl HostQueues {
    /// A URL has come to the queue of a host: an idle host is placed, and a due host may move up. A host that rests, or is lent out without
    /// further connections, finds its new best URL when its turn comes. O(1), or O(priorities in use) in a wait queue.
    pub(crate) fn arrived(&mut self, state: &mut State, host: HostId, priority: u8, now: Timestamp) {
        let rank = state.back().priorities().rank(priority);
        match state.host(host).scheduling.state {
            HostState::Idle => self.place(state, host, now),
            HostState::Leased(_) if state.host(host).scheduling.out == 0 || state.policy(host).connections > 1 => {
                self.place(state, host, now);
            }
            _ => self.change_priority(state, host, priority, now, |state, worse| {
                rank < state.back().priorities().rank(worse)
            }),
        }
    }

    /// URLs of a host have other priorities. If the host's state has a priority, it becomes that of its best URL, and the host goes after
    /// all others of that priority. A host that is to be asked for the robots.txt of others goes up, but not down.
    pub(crate) fn moved(&mut self, state: &mut State, host: HostId, now: Timestamp) {
        let Some(Queued { priority, .. }) = self.first_free(state, host) else { return };
        let rank = state.back().priorities().rank(priority);
        let may_go_down = self.priority_for_others(host).is_none();
        self.change_priority(state, host, priority, now, |state, before| {
            before != priority && (may_go_down || rank < state.back().priorities().rank(before))
        });
    }

    /// Gives a host that waits for its turn this priority, if `loses` says so of its present one.
    #[inline]
    fn change_priority(
        &mut self,
        state: &mut State,
        host: HostId,
        priority: u8,
        now: Timestamp,
        loses: impl Fn(&State, u8) -> bool,
    ) {
        let is_better = |worse: u8| loses(state, worse);
        match state.host(host).scheduling.state {
            scheduling @ (HostState::Due(worse)
            | HostState::Called(worse)
            | HostState::CalledByAddress(worse)
            | HostState::CalledByServer(worse))
                if is_better(worse) =>
            {
                let hosts = &mut state.scheduling();
                let called = scheduling.caller().map(|kind| HostState::called(kind, priority));
                hosts[host].state = called.unwrap_or(HostState::Due(priority));
                self.front.remove(hosts, host, worse);
                self.front.push(hosts, host, priority);
            }
            HostState::Held(worse) if is_better(worse) => {
                let hosts = &mut state.scheduling();
                hosts[host].state = HostState::Held(priority);
                self.held.remove(hosts, host, worse);
                self.held.push(hosts, host, priority);
            }
            scheduling @ (HostState::InLine(worse)
            | HostState::InLineOfAddress(worse)
            | HostState::InLineOfServer(worse))
                if is_better(worse) =>
            {
                let (kind, _) = scheduling.line().expect("it is in a wait queue");
                self.promote(state, host, kind, worse, priority);
                self.wake_groups(state, host, now);
            }
            scheduling @ (HostState::GivesWay(worse) | HostState::NewGivesWay(worse)) if is_better(worse) => {
                let is_new = scheduling == HostState::NewGivesWay(worse);
                self.domains.promote(&mut state.scheduling(), host, (worse, priority), is_new);
            }
            _ => {}
        }
    }

    /// Places a host that is in no list, by its queue and its clock: idle, on the agenda or due. A host with pages out rests or is due for a
    /// further page, or stays leased.
    pub(crate) fn place(&mut self, state: &mut State, id: HostId, now: Timestamp) {
        let host = state.host(id);
        if host.scheduling.state == HostState::RobotsElsewhere {
            return;
        }
        let was_idle = host.scheduling.state == HostState::Idle;
        let turn = self.turn(state, id, now);
        let opens = |due| if self.is_over(state, id) { due } else { self.politeness.opens(host.policy, due, now) };
        let (was_asleep, rested) = (host.scheduling.state == HostState::Asleep, turn.map(|(due, _)| due));
        let turn = turn.map(|(due, best)| (opens(due), best));
        self.asleep -= usize::from(was_asleep);
        let competes = turn.map_or(host.scheduling.out > 0, |(due, _)| due <= now + RIVAL_REST);
        let scheduling = match turn {
            None if host.scheduling.out > 0 || host.in_hand > 0 => match host.scheduling.state {
                leased @ HostState::Leased(_) => leased,
                _ => HostState::Leased(0),
            },
            None => {
                self.waits.idle(id);
                HostState::Idle
            }
            Some((due, _)) if due > now => {
                self.agenda.push(due, id);
                self.waits.placed(id, due, now);
                let is_asleep = rested != Some(due);
                self.asleep += usize::from(is_asleep);
                if is_asleep { HostState::Asleep } else { HostState::Snoozed }
            }
            Some((_, priority)) => {
                // Hosts that have been due for longer come first.
                self.wake(state, now);
                self.front.push(&mut state.scheduling(), id, priority);
                self.waits.placed(id, now, now);
                HostState::Due(priority)
            }
        };
        state.scheduling()[id].state = scheduling;
        self.compete(state, id, competes);
        self.busy = self.busy + usize::from(was_idle) - usize::from(scheduling == HostState::Idle);
        self.count_outlook(state, id);
    }

    /// The priority of a host's next lease. If it is to be asked for the robots.txt of others, that goes first.
    #[inline]
    pub(super) fn best(&self, state: &State, id: HostId) -> Option<u8> {
        self.priority_for_others(id).or_else(|| self.first_free(state, id).map(|first| first.priority))
    }

    /// Whether a host's pages are given up or set aside at its turn, and not fetched. Such a host need not rest.
    #[inline]
    pub(super) fn is_over(&self, state: &State, id: HostId) -> bool {
        state.host(id).status.is_retired()
            || (state.budget_refusal(id).is_some() && self.priority_for_others(id).is_none())
    }

    /// Places all hosts, which are in no list yet. Called once, at the end of a resume.
    pub(crate) fn place_all(&mut self, state: &mut State, now: Timestamp) {
        for host in state.hosts().ids() {
            match state.host(host).scheduling.state {
                // It was asked before this process, and its answer may still come.
                HostState::LeasedRobots => {
                    self.busy += 1;
                    self.compete(state, host, true);
                    self.count_outlook(state, host);
                }
                HostState::Leased(_) => {
                    self.busy += 1;
                    self.place(state, host, now);
                }
                _ => self.place(state, host, now),
            }
        }
    }

    /// Whether a host that was taken from the front may not be asked at this time of day.
    pub(super) fn is_outside_its_hours(&self, state: &State, id: HostId, now: Timestamp) -> bool {
        let host = state.host(id);
        self.politeness.opens(host.policy, now, now) > now && !self.is_over(state, id)
    }

    /// Whether a due host that has never answered must wait until another such host has come back. Otherwise hosts that accept connections
    /// and never answer could take all concurrent fetches, and known hosts would wait for them.
    pub(super) fn is_to_be_held(&self, state: &State, id: HostId) -> bool {
        let host = state.host(id);
        !host.status.has_answered && self.lent.first_contacts >= self.most_first_contacts && !self.is_over(state, id)
    }

    /// Holds a due host back. It keeps its priority, and goes to the front again when another first contact has come back.
    pub(super) fn hold(&mut self, state: &mut State, host: HostId, priority: u8) {
        let hosts = &mut state.scheduling();
        self.held.push(hosts, host, priority);
        hosts[host].state = HostState::Held(priority);
    }

    /// Releases hosts whose reason to wait is over: held hosts, as many as may be asked now, and one that gives way.
    #[inline]
    pub(crate) fn release(&mut self, state: &mut State) {
        self.release_held(state);
        self.end_giving_way(state);
    }

    fn release_held(&mut self, state: &mut State) {
        if self.held.len() == 0 {
            return;
        }
        let hosts = &mut state.scheduling();
        for _ in self.lent.first_contacts..self.most_first_contacts {
            let Some((host, priority)) = self.held.pop(hosts) else { break };
            self.front.push(hosts, host, priority);
            hosts[host].state = HostState::Due(priority);
        }
    }

    /// Moves hosts that have become due from the agenda to the front, in the order of their times; then calls hosts from the wait queues of
    /// rate groups that have rested. O(log hosts) for each. Called before any host is lent or becomes due, so that hosts that have been due
    /// for longer go first.
    #[inline]
    pub(crate) fn wake(&mut self, state: &mut State, now: Timestamp) {
        while let Some(id) = self.agenda.pop_due(now) {
            let host = state.host(id);
            if host.scheduling.out == 0 && self.rests_alone(state, id, now) {
                // It was asked by others meanwhile.
                self.place(state, id, now);
                continue;
            }
            let best = self.best(state, id).expect("a host in the agenda has a URL to be lent");
            // A host that failed before it slept is not counted as failing until it has been asked once more: patience is for hosts that
            // may be asked.
            self.asleep -= usize::from(host.scheduling.state == HostState::Asleep);
            let hosts = &mut state.scheduling();
            hosts[id].state = HostState::Due(best);
            self.front.push(hosts, id, best);
            self.compete(state, id, true);
        }
        while let Some((rate_group, kind)) = self.rate_groups.pop_due(now) {
            // After a rest that a response asked for, there may be room for several hosts.
            while self.call(state, rate_group, kind, now) {}
        }
    }

    /// Whether a host whose domain is ahead lets others go first. A host whose URLs are given up is not asked, so it does not; nor does a
    /// host that is to be asked for the robots.txt of others, which wait for it.
    pub(super) fn may_give_way(&self, state: &State, id: HostId) -> bool {
        let host = state.host(id);
        let has_others = !host.status.has_answered || self.is_any_due();
        has_others && !self.is_over(state, id) && self.priority_for_others(id).is_none()
    }

    /// Releases one host that has given way, if the others have caught up with its domain or nothing else is left to do.
    #[inline]
    fn end_giving_way(&mut self, state: &mut State) {
        if self.domains.waiting() == 0 {
            return;
        }
        let is_last = self.lent.all == 0 && !self.is_any_due() && self.earliest().is_none();
        let hosts = &mut state.scheduling();
        if let Some((id, priority)) = self.domains.release(hosts, is_last) {
            hosts[id].state = HostState::Due(priority);
            self.front.push(hosts, id, priority);
        }
    }

    /// Notes whether a host competes for turns from now on. Its domain is looked up the first time.
    #[inline]
    fn compete(&mut self, state: &State, id: HostId, competes: bool) {
        if competes && !self.domains.is_off() && !self.domains.knows(id) {
            let host = state.host(id).key.host();
            // A queue is no part of a domain, and the user named it.
            let is_queue = state.policy(id).is_queue;
            let is_seeds = is_queue || state.gate().is_of_seed(host);
            self.domains.join(id, if is_queue { host } else { domain(host) }, is_seeds);
        }
        self.domains.compete(id, competes);
    }

    /// Counts a host by its current outlook. The counts are kept as hosts change, so that [`next`](Frontier::next) need not walk over all hosts
    /// to see whether any but failing ones are left.
    pub(crate) fn count_outlook(&mut self, state: &mut State, id: HostId) {
        let outlook = state.host(id).outlook();
        let before = std::mem::replace(&mut state.scheduling()[id].counted, outlook);
        if before != outlook {
            self.failing.count(before).into_iter().for_each(|count| *count -= 1);
            self.failing.count(outlook).into_iter().for_each(|count| *count += 1);
        }
    }

    /// Takes a due host out of its queue; `false` if it is in none. It is then in no list, and has to be [placed](Self::place). A resting
    /// host stays on the agenda, which cannot cheaply remove one from its middle.
    pub(super) fn leaves_its_queue(&mut self, state: &mut State, id: HostId) -> bool {
        let scheduling = state.host(id).scheduling.state;
        let kind = scheduling.caller().or(scheduling.line().map(|(kind, _)| kind));
        let rate_group = kind.and_then(|kind| self.rate_group(state, id, kind));
        let hosts = &mut state.scheduling();
        match (scheduling, rate_group) {
            (
                HostState::Called(priority)
                | HostState::CalledByAddress(priority)
                | HostState::CalledByServer(priority),
                Some(rate_group),
            ) => {
                self.front.remove(hosts, id, priority);
                self.rate_groups.answered(rate_group);
            }
            (
                HostState::InLine(priority)
                | HostState::InLineOfAddress(priority)
                | HostState::InLineOfServer(priority),
                Some(rate_group),
            ) => {
                self.rate_groups.leave(rate_group, hosts, id, priority);
            }
            (HostState::GivesWay(priority), _) => self.domains.leave(hosts, id, priority, false),
            (HostState::NewGivesWay(priority), _) => self.domains.leave(hosts, id, priority, true),
            (HostState::Due(priority), _) => self.front.remove(hosts, id, priority),
            (HostState::Held(priority), _) => self.held.remove(hosts, id, priority),
            _ => return false,
        }
        true
    }

    /// Places a host whose reason to wait is gone, and calls its rate groups' next hosts; `false` if it is in no queue. A resting host stays
    /// on the agenda.
    pub(crate) fn end_wait(&mut self, state: &mut State, id: HostId, now: Timestamp) -> bool {
        let was_there = self.leaves_its_queue(state, id);
        if was_there {
            self.wake_groups(state, id, now);
            self.place(state, id, now);
        }
        was_there
    }

    /// Places resting hosts whose rest ends early. O(resting hosts).
    pub(crate) fn end_rests(&mut self, state: &mut State, resting: &[HostId], now: Timestamp) {
        self.agenda.remove(|id| resting.binary_search(&id).is_ok());
        for id in resting {
            self.place(state, *id, now);
        }
    }

    /// All hosts with URLs queued are retired, as far as the journal could record it: none of them need rest or wait any longer.
    pub(crate) fn end_all_rests(&mut self, state: &mut State, now: Timestamp) {
        self.failing.since = None;
        self.agenda = Agenda::default();
        for id in state.hosts().ids() {
            let scheduling = state.host(id).scheduling.state;
            let waits = scheduling.line().is_some() || scheduling.gives_way().is_some();
            if scheduling == HostState::Snoozed || (waits && self.leaves_its_queue(state, id)) {
                self.place(state, id, now);
            }
        }
    }
}
