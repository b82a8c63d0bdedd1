//! A host gets its seat: idle, on the agenda, due, giving way, or held back.
//!
//! | what happens | the host goes |
//! |---|---|
//! | a URL of it comes | from idle to where its clock says; up in its queue if the URL is better than its best |
//! | a lease of it comes back | to the agenda, to the front queue, or to idle |
//! | its rest is over | from the agenda to the front queue |
//! | its turn comes outside its hours | to the agenda, until they begin |
//! | it is due, and its domain had more turns than others | to the wait queue of its [domain](super::turns) |
//! | it is due, and has never answered | to the held hosts, if the maximum of such hosts is out |
//!
//! A host is in one list at a time, and its seat says in which. List and seat change together here, and never differ between two calls.
//! None of this is journaled, since it follows from queues and clocks: a resume places all hosts once.

use std::io;

use super::Frontier;
use super::turns::RIVAL_REST;
use crate::frontier::Timestamp;
use crate::frontier::durable::Journal;
use crate::frontier::hosts::{Host, HostId, HostState};

impl<J: Journal> Frontier<J> {
    /// A URL has come to the queue of a host, which may move the host up. A host that is on the agenda, or lent out without further
    /// connections, finds its new best URL when its turn comes. O(1), or O(priorities in use) in a wait queue.
    pub(crate) fn arrived(&mut self, host: HostId, priority: u8, now: Timestamp) {
        match self.state.host(host).seat.state {
            HostState::Idle => self.place(host, now),
            state @ (HostState::Due(worse)
            | HostState::Called(worse)
            | HostState::CalledByAddress(worse)
            | HostState::CalledByServer(worse))
                if priority < worse =>
            {
                let seats = &mut self.state.seats();
                let called = state.caller().map(|tie| HostState::called(tie, priority));
                seats[host].state = called.unwrap_or(HostState::Due(priority));
                self.front.remove(seats, host, worse);
                self.front.push(seats, host, priority);
            }
            HostState::Held(worse) if priority < worse => {
                let seats = &mut self.state.seats();
                seats[host].state = HostState::Held(priority);
                self.held.remove(seats, host, worse);
                self.held.push(seats, host, priority);
            }
            state @ (HostState::InLine(worse)
            | HostState::InLineOfAddress(worse)
            | HostState::InLineOfServer(worse))
                if priority < worse =>
            {
                let (tie, _) = state.line().expect("it stands in a line");
                self.promote(host, tie, worse, priority);
                self.wake_groups(host, now);
            }
            state @ (HostState::GivesWay(worse) | HostState::NewGivesWay(worse)) if priority < worse => {
                let is_new = state == HostState::NewGivesWay(worse);
                self.domains.promote(&mut self.state.seats(), host, (worse, priority), is_new);
            }
            HostState::Leased if self.treatment(host).connections > 1 => self.place(host, now),
            _ => {}
        }
    }

    /// Seats a host that is in no list, by its queue and its clock: idle, resting or due. A host with pages out rests or is due for a
    /// further one, or stays leased.
    pub(crate) fn place(&mut self, id: HostId, now: Timestamp) {
        let host = self.state.host(id);
        if host.seat.state == HostState::RobotsElsewhere {
            return;
        }
        let was_idle = host.seat.state == HostState::Idle;
        let turn = match host.seat.out {
            // A host that is not asked need not rest.
            0 => self.best(host, id).map(|best| (if self.is_over(host, id) { now } else { host.due }, best)),
            _ => self.further(id, now).map(|(due, first)| (due, first.priority)),
        };
        let opens = |due| if self.is_over(host, id) { due } else { self.politeness.opens(host.treatment, due, now) };
        let (was_asleep, rested) = (host.seat.state == HostState::Asleep, turn.map(|(due, _)| due));
        let turn = turn.map(|(due, best)| (opens(due), best));
        self.asleep -= usize::from(was_asleep);
        let competes = turn.map_or(host.seat.out > 0, |(due, _)| due <= now + RIVAL_REST);
        let state = match turn {
            None if host.seat.out > 0 => HostState::Leased,
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
                self.wake(now);
                self.front.push(&mut self.state.seats(), id, priority);
                self.waits.placed(id, now, now);
                HostState::Due(priority)
            }
        };
        self.state.seats()[id].state = state;
        self.compete(id, competes);
        self.busy = self.busy + usize::from(was_idle) - usize::from(state == HostState::Idle);
        self.count_prospect(id);
    }

    /// The priority of a host's next lease: the robots.txt of others that it is asked for goes first.
    #[inline]
    fn best(&self, host: &Host, id: HostId) -> Option<u8> {
        self.errands.errand_of(id).or_else(|| self.first_free(host, id).map(|first| first.priority))
    }

    /// Places all hosts, which are in no list yet. Once, at the end of a resume.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(crate) fn place_all(&mut self, now: Timestamp) -> io::Result<()> {
        self.join_servers(now)?;
        self.state.hosts().ids().for_each(|host| self.place(host, now));
        Ok(())
    }

    /// Hosts with URLs queued that are not lent out. If there are none and nothing is out, the frontier has drained but for its schedule.
    pub(crate) fn active_hosts(&self) -> usize {
        self.agenda.len() + self.front.len() + self.held.len() + self.waiting_in_line()
    }

    /// Hosts that wait for their rate group, their domain or another host. They are in no other queue.
    fn waiting_in_line(&self) -> usize {
        self.rate_groups.waiting() + self.domains.waiting() + self.errands.waiting()
    }

    /// Whether a host that was taken from the front may not be asked at this time of day.
    pub(super) fn is_outside_its_hours(&self, id: HostId, now: Timestamp) -> bool {
        let host = self.state.host(id);
        self.politeness.opens(host.treatment, now, now) > now && !self.is_over(host, id)
    }

    /// If nothing is out and all remaining hosts sleep until their hours begin: when the first may be asked, and how many there are.
    #[cfg(feature = "crawl")]
    pub(crate) fn sleeps_until(&self) -> Option<(Timestamp, usize)> {
        let all_sleep = self.asleep > 0 && self.asleep == self.active_hosts() && self.lent.all == 0;
        self.earliest().filter(|_| all_sleep).map(|until| (until, self.asleep))
    }

    /// Whether a due host that has never answered must wait until another such host has come back. Otherwise hosts that accept connections
    /// and never answer could take all concurrent fetches, and known hosts would wait for them.
    pub(super) fn is_to_be_held(&self, id: HostId) -> bool {
        let host = self.state.host(id);
        !host.has_answered && self.lent.first_contacts >= self.first_contacts && !self.is_over(host, id)
    }

    /// Holds a due host back. It keeps its priority, and goes to the front again when another first contact has come back.
    pub(super) fn hold(&mut self, host: HostId, priority: u8) {
        let seats = &mut self.state.seats();
        self.held.push(seats, host, priority);
        seats[host].state = HostState::Held(priority);
    }

    /// Releases held hosts, as many as may be asked now.
    pub(super) fn release_held(&mut self) {
        if self.held.len() == 0 {
            return;
        }
        let seats = &mut self.state.seats();
        for _ in self.lent.first_contacts..self.first_contacts {
            let Some((host, priority)) = self.held.pop(seats) else { break };
            self.front.push(seats, host, priority);
            seats[host].state = HostState::Due(priority);
        }
    }

    /// Moves hosts that have become due from the agenda to the front, in the order of their times; then calls hosts from the wait queues of
    /// rate groups that have rested. O(log hosts) for each. Each call that may lend or seat a host comes here first, so that hosts due for
    /// longer go before one that becomes due now.
    #[inline]
    pub(crate) fn wake(&mut self, now: Timestamp) {
        while let Some(id) = self.agenda.pop_due(now) {
            let host = self.state.host(id);
            let best = self.best(host, id).expect("a host in the agenda has a URL to be lent");
            // A host that failed before it slept is not counted as failing until it has been asked once more: patience is for hosts that
            // may be asked.
            self.asleep -= usize::from(host.seat.state == HostState::Asleep);
            let seats = &mut self.state.seats();
            seats[id].state = HostState::Due(best);
            self.front.push(seats, id, best);
            self.compete(id, true);
        }
        while let Some((rate_group, tie)) = self.rate_groups.pop_due(now) {
            // After a rest that a response asked for, there may be room for several hosts.
            while self.call(rate_group, tie, now) {}
        }
    }
}
