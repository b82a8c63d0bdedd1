//! Hosts that fail: how they are counted, when they are given up, and how they are asked again.
//!
//! A host that fails rests longer each time, while others are asked. It is *retired* once it failed too often in a row, or once
//! nothing but failing hosts is left and the crawl has waited for them as long as it should. Each of its URLs then comes up as
//! [`Next::GiveUp`](super::Next::GiveUp): it has a record of its own, and is *parked*, until
//! [`Frontier::ask_again`] queues it anew.

use super::durable::{DueRecord, Journal, Record};
use super::hosts::{HostState, Patience, Prospect, RobotsFile};
use super::queues::Agenda;
use super::{Frontier, Timestamp};
use std::io;

impl<J: Journal> Frontier<J> {
    /// Queues all URLs that were given up, as if nothing had ever been wrong with their hosts, and says how many those are.
    ///
    /// A crawl that goes on begins with it: whatever kept a host from being asked may be gone.
    ///
    /// # Errors
    /// Where the journal's storage fails; those that are not queued yet wait for the next call.
    pub fn ask_again(&mut self, now: Timestamp) -> io::Result<u64> {
        for number in 0..self.hosts.end() {
            self.forgive(number, now)?;
        }
        // What was admitted stays so, should the limits be lower now.
        let canonicalizer = self.gate.canonicalizer().clone().with_max_bytes(usize::MAX);
        let mut asked = 0;
        while let Some(position) = self.schedule.first_parked() {
            let entry = self.journal.read(position)?;
            let priority = entry.priority;
            let url = canonicalizer.canonicalize(entry.wire);
            let url = url.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let number = self.host_of(&url, now)?;
            self.forgive(number, now)?;
            self.journal.note(&Record::Due(DueRecord { host: url.origin(), position, priority }))?;
            self.schedule.pop_parked();
            self.count.completed -= 1;
            self.queue(number, priority, position, now);
            asked += 1;
        }
        Ok(asked)
    }

    /// A retired host is asked again.
    fn forgive(&mut self, number: u32, now: Timestamp) -> io::Result<()> {
        if !self.hosts[number].is_retired() {
            return Ok(());
        }
        let host = &mut self.hosts[number];
        let (ill, failures, due) = (host.ill.take(), std::mem::take(&mut host.failures), host.due);
        if ill.as_deref().is_some_and(|ill| !ill.is_patient) {
            // It rested because it failed, and nobody knows whether it still does.
            host.due = due.min(now + host.delay(&self.politeness));
        }
        if let Err(error) = self.note_host(number, None, false) {
            let host = &mut self.hosts[number];
            (host.ill, host.failures, host.due) = (ill, failures, due);
            return Err(error);
        }
        self.count.retired_hosts -= 1;
        // It need not have rested to be given up; now it must.
        match self.hosts[number].state {
            HostState::Due(priority) => self.front.remove(&mut self.hosts, number, priority),
            HostState::Held(priority) => self.held.remove(&mut self.hosts, number, priority),
            HostState::Idle | HostState::Snoozed | HostState::Leased { .. } | HostState::LeasedRobots => return Ok(()),
        }
        self.place(number, now);
        Ok(())
    }

    /// The host is well again.
    pub(crate) fn recover(&mut self, number: u32) {
        let host = &mut self.hosts[number];
        host.failures = 0;
        if let Some(ill) = host.ill.take()
            && let Some(count) = self.struggle.count(ill.counted)
        {
            *count -= 1;
        }
    }

    /// The host is not asked again in this run.
    pub(crate) fn retire(&mut self, number: u32) {
        if let Some(ill) = self.hosts[number].ill.as_deref_mut()
            && !ill.is_retired
        {
            ill.is_retired = true;
            self.count.retired_hosts += 1;
            self.learn(number, RobotsFile::Unknown);
        }
    }

    /// Counts a host that has just been placed as what it is now.
    pub(crate) fn count_prospect(&mut self, number: u32) {
        let host = &mut self.hosts[number];
        let prospect = host.prospect();
        if let Some(ill) = host.ill.as_deref_mut() {
            let before = std::mem::replace(&mut ill.counted, prospect);
            if before != prospect {
                self.struggle.count(before).into_iter().for_each(|count| *count -= 1);
                self.struggle.count(prospect).into_iter().for_each(|count| *count += 1);
            }
        }
    }

    /// Whether hosts that fail are waited for: no others have URLs queued. Retires them once that is over, or could bring nothing.
    pub(crate) fn mind_patience(&mut self, now: Timestamp) -> io::Result<Patience> {
        let failing = self.struggle.failing();
        let leased = usize::try_from(self.count.leased).unwrap_or(usize::MAX);
        if failing == 0 || failing < self.active_hosts() + leased || self.schedule.len() > 0 {
            self.struggle.since = None;
            return Ok(Patience::Unasked);
        }
        let until = *self.struggle.since.get_or_insert(now) + self.politeness.patience;
        let may_come = leased > 0 || self.front.len() > 0 || self.agenda.earliest().is_some_and(|due| due <= until);
        if self.struggle.struggling > 0 && now < until && may_come {
            return Ok(Patience::Until(until));
        }
        if leased > 0 {
            return Ok(Patience::Over);
        }
        self.retire_all(now)?;
        Ok(Patience::Unasked)
    }

    /// Retires all hosts with URLs queued: they fail, each of them.
    fn retire_all(&mut self, now: Timestamp) -> io::Result<()> {
        self.struggle.since = None;
        let mut noted = Ok(());
        // Whoever rests need not rest any longer.
        self.agenda = Agenda::default();
        for number in 0..self.hosts.end() {
            let is_resting = self.hosts[number].state == HostState::Snoozed;
            if self.hosts[number].prospect() != Prospect::Good {
                self.retire(number);
                noted = noted.and_then(|()| self.note_host(number, None, false).map(drop));
                self.count_prospect(number);
            }
            if is_resting {
                self.place(number, now);
            }
        }
        noted
    }
}
