//! Failing hosts: how they are counted, when they are given up, and how they are asked again.
//!
//! A failing host rests longer each time, while others are asked. It is *retired* once it has failed too often in a row, or once only
//! failing hosts are left and the crawl's patience with them is over. Each of its URLs then comes up as
//! [`Next::GiveUp`](crate::frontier::Next::GiveUp): it has a record of its own, and is *parked*, until [`Frontier::ask_again`] queues it
//! anew.
//!
//! ```text
//!   well ── a failure that counts ──▶ fails ── host_failures in a row, or patience is over ──▶ retired
//!    ▲                                  │                                                        │
//!    └─────────── a good answer ────────┘◀──────────── ask_again: as if never ill ───────────────┘
//! ```
//!
//! Patience is for the end of a crawl. While any host is well, failing hosts delay nothing but their own URLs.

use std::io;

use super::{Frontier, FrontierError};
use crate::frontier::Timestamp;
use crate::frontier::durable::{DueRecord, Journal, Record};
use crate::frontier::hosts::{HostId, HostState, HostUpdate, Outlook, Patience};
use crate::frontier::queues::Agenda;

impl<J: Journal> Frontier<J> {
    /// Queues all URLs that were given up, as if nothing had ever been wrong with their hosts, and says how many.
    ///
    /// A resumed crawl begins with it: the cause of a host's failures may be gone.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage); URLs not queued yet wait for the next call.
    pub fn ask_again(&mut self, now: Timestamp) -> Result<u64, FrontierError> {
        for host in self.state.hosts().ids() {
            self.forgive(host, now)?;
        }
        // The limits may be lower now; an admitted URL stays admitted.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        let mut asked = 0;
        while let Some(position) = self.state.schedule().first_parked() {
            let entry = self.journal.read(position)?;
            let priority = entry.priority;
            let url = canonicalizer.canonicalize(entry.wire);
            let url = url.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            let host = self.host_of(&url, now)?;
            self.forgive(host, now)?;
            let due = DueRecord { host: url.origin(), position, priority, from: None };
            self.commit(&Record::Due(due), Some(host), None)?;
            self.arrived(host, priority, now);
            asked += 1;
        }
        Ok(asked)
    }

    /// Asks a retired host again, as if it had never failed. It rests no longer than after a response, unless it said itself when it may be
    /// asked. Any other host is left as it is, even a failing one.
    fn forgive(&mut self, id: HostId, now: Timestamp) -> io::Result<()> {
        let host = self.state.host(id);
        if !host.is_retired() {
            return Ok(());
        }
        let mut conduct = HostUpdate::of(host);
        if conduct.ill.as_ref().is_some_and(|ill| !ill.is_patient) {
            // It rested because it failed, and may have recovered since.
            conduct.due = conduct.due.min(now + host.delay(&self.politeness));
        }
        conduct.recover();
        self.note_host(id, &conduct, false)?;
        // It could be given up without a rest; now it must rest.
        if self.leaves_its_queue(id) {
            self.wake_groups(id, now);
            self.place(id, now);
        }
        Ok(())
    }

    /// Counts a host by its current outlook. The counts are kept as hosts change, so that [`next`](Self::next) need not walk over all hosts
    /// to see whether any but failing ones are left.
    pub(crate) fn count_prospect(&mut self, id: HostId) {
        let prospect = self.state.host(id).prospect();
        let before = std::mem::replace(&mut self.state.seats()[id].counted, prospect);
        if before != prospect {
            self.struggle.count(before).into_iter().for_each(|count| *count -= 1);
            self.struggle.count(prospect).into_iter().for_each(|count| *count += 1);
        }
    }

    /// Whether the crawl only waits for failing hosts, and until when it will.
    ///
    /// The wait begins when every host with URLs queued or lent out fails, and nothing is scheduled. It ends after `politeness.patience`,
    /// or at once if no failing host could be asked before that. Then all of them are retired.
    pub(crate) fn check_patience(&mut self, now: Timestamp) -> io::Result<Patience> {
        let failing = self.struggle.failing();
        let leased = self.lent.all;
        if failing == 0 || failing < self.busy || self.state.schedule().len() > 0 {
            self.struggle.since = None;
            return Ok(Patience::Unasked);
        }
        let until = *self.struggle.since.get_or_insert(now) + self.politeness.patience;
        let may_come = leased > 0 || self.is_any_due() || self.earliest().is_some_and(|due| due <= until);
        if self.struggle.struggling > 0 && now < until && may_come {
            return Ok(Patience::Until(until));
        }
        if leased > 0 {
            return Ok(Patience::Over);
        }
        self.retire_all(now)?;
        Ok(Patience::Unasked)
    }

    /// Retires all hosts with URLs queued: each of them fails, and nothing is out. Their URLs are given up one by one, as their turn comes,
    /// so that each has a record. If the journal cannot take a record, the hosts recorded so far are retired, and the call is tried again.
    fn retire_all(&mut self, now: Timestamp) -> io::Result<()> {
        self.struggle.since = None;
        let mut noted = Ok(());
        // A retired host need not rest any longer.
        self.agenda = Agenda::default();
        for id in self.state.hosts().ids() {
            let host = self.state.host(id);
            let mut is_resting = host.seat.state == HostState::Snoozed;
            if host.prospect() != Outlook::Good {
                let mut conduct = HostUpdate::of(host);
                conduct.retire();
                noted = noted.and_then(|()| self.note_host(id, &conduct, false));
                self.count_prospect(id);
            }
            let state = self.state.host(id).seat.state;
            if state.line().is_some() || state.gives_way().is_some() {
                is_resting = self.leaves_its_queue(id);
            }
            if is_resting {
                self.place(id, now);
            }
        }
        noted
    }
}
