//! A host gets its seat: idle, on the agenda, due, giving way, or held back. It is retired if it fails too often, and evicted if it is
//! idle.
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
//! A host is in at most one list, and its seat says in which. List and seat change together here, and never differ between two calls. None
//! of this is journaled, since it follows from queues and clocks: a resume places all hosts once.
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
//!
//! # Failing hosts
//!
//! A failing host rests longer each time, while others are asked. It is *retired* once it has failed too often in a row, or once only
//! failing hosts are left and the crawl's patience with them is over. Each of its URLs then comes up as
//! [`Next::GiveUp`](crate::frontier::Next::GiveUp). The URL gets a record of its own, and is *parked* until [`Frontier::ask_again`] queues
//! it again.
//!
//! ```text
//!   well ── a failure that counts ──▶ fails ── host_failures in a row, or patience is over ──▶ retired
//!    ▲                                  │                                                        │
//!    └─────────── a good answer ────────┘◀──────────── ask_again: as if never ill ───────────────┘
//! ```
//!
//! Patience is for the end of a crawl. While any host is well, failing hosts delay nothing but their own URLs.
//!
//! # Evicted hosts
//!
//! A host with nothing queued or lent need not be in memory. The job takes the images of such hosts from the chunks of a checkpoint, and
//! evicts the hosts once the images are safe on disk. A host that has changed since stays. An evicted host comes back with the next URL
//! that is queued for it: its image is then read through the journal.
//!
//! ```text
//!   checkpoint: chunk ──▶ images of idle hosts ──▶ on disk, safe ──▶ evict: is it still the same? then it leaves
//!   later:      a URL of it ──▶ its image from the journal ──▶ back in memory, with its clock and rules
//! ```
//!
//! An evicted host cannot change. So its newest image is the host, and a crawl behaves the same whether hosts are evicted or not.

use std::io;
use std::time::Duration;

use super::{Frontier, FrontierError};
use crate::address::CanonicalUrl;
use crate::frontier::Timestamp;
use crate::frontier::durable::{DueRecord, Journal, Record, idle_hosts, image};
use crate::frontier::hosts::{Host, HostId, HostState, HostUpdate, Outlook, Patience};
use crate::frontier::queues::Agenda;
use crate::gate::domain;

impl<J: Journal> Frontier<J> {
    /// A URL has come to the queue of a host: an idle host is placed, and a due host may move up. A host that rests, or is lent out without
    /// further connections, finds its new best URL when its turn comes. O(1), or O(priorities in use) in a wait queue.
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
                let called = state.caller().map(|kind| HostState::called(kind, priority));
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
                let (kind, _) = state.line().expect("it is in a wait queue");
                self.promote(host, kind, worse, priority);
                self.wake_groups(host, now);
            }
            state @ (HostState::GivesWay(worse) | HostState::NewGivesWay(worse)) if priority < worse => {
                let is_new = state == HostState::NewGivesWay(worse);
                self.domains.promote(&mut self.state.seats(), host, (worse, priority), is_new);
            }
            HostState::Leased if self.policy(host).connections > 1 => self.place(host, now),
            _ => {}
        }
    }

    /// Seats a host that is in no list, by its queue and its clock: idle, on the agenda or due. A host with pages out rests or is due for a
    /// further page, or stays leased.
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
        let opens = |due| if self.is_over(host, id) { due } else { self.politeness.opens(host.policy, due, now) };
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
        self.count_outlook(id);
    }

    /// The priority of a host's next lease. If it is to be asked for the robots.txt of others, that goes first.
    #[inline]
    fn best(&self, host: &Host, id: HostId) -> Option<u8> {
        self.errands.errand_of(id).or_else(|| self.first_free(host, id).map(|first| first.priority))
    }

    /// Places all hosts, which are in no list yet. Called once, at the end of a resume.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(crate) fn place_all(&mut self, now: Timestamp) -> io::Result<()> {
        self.join_servers(now)?;
        self.state.hosts().ids().for_each(|host| self.place(host, now));
        Ok(())
    }

    /// Hosts with URLs queued that are not lent out. If there are none and nothing is out, the frontier has drained, except for its
    /// schedule.
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
        self.politeness.opens(host.policy, now, now) > now && !self.is_over(host, id)
    }

    /// If nothing is out and all remaining hosts sleep until their hours begin: when the first may be asked, and how many there are.
    pub fn sleeps_until(&self) -> Option<(Timestamp, usize)> {
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
    /// rate groups that have rested. O(log hosts) for each. Called before any host is lent or becomes due, so that hosts that have been due
    /// for longer go first.
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
        while let Some((rate_group, kind)) = self.rate_groups.pop_due(now) {
            // After a rest that a response asked for, there may be room for several hosts.
            while self.call(rate_group, kind, now) {}
        }
    }
}

/// A host that rests for longer than this does not compete for turns: others that go meanwhile take no turn from it.
pub(super) const RIVAL_REST: Duration = Duration::from_secs(10);

impl<J: Journal> Frontier<J> {
    /// Whether any host may be asked now, by its own clock and its domain.
    #[inline]
    pub(super) fn is_any_due(&self) -> bool {
        self.front.len() > 0 || self.domains.spare() > 0
    }

    /// Takes the host whose turn it is from the front queue; if that is empty, a known host that gives way. Returns it with its priority,
    /// and whether it has to give way: its domain is ahead, and it is new or another host is due.
    #[inline]
    pub(super) fn turn(&mut self) -> Option<(HostId, u8, bool)> {
        let seats = &mut self.state.seats();
        let Some((id, priority)) = self.front.pop(seats) else {
            return self.domains.take_spare(seats).map(|(id, priority)| (id, priority, false));
        };
        let gives_way = self.domains.is_ahead(id) && self.may_give_way(id);
        Some((id, priority, gives_way))
    }

    /// Whether a host whose domain is ahead lets others go first. A host whose URLs are given up is not asked, so it does not; nor does a
    /// host that is to be asked for the robots.txt of others, which wait for it.
    fn may_give_way(&self, id: HostId) -> bool {
        let host = self.state.host(id);
        let has_others = !host.has_answered || self.is_any_due();
        has_others && !self.is_over(host, id) && self.errands.errand_of(id).is_none()
    }

    /// Releases one host that has given way, if the others have caught up with its domain or nothing else is left to do.
    #[inline]
    pub(super) fn end_giving_way(&mut self) {
        if self.domains.waiting() == 0 {
            return;
        }
        let is_last = self.lent.all == 0 && !self.is_any_due() && self.earliest().is_none();
        let seats = &mut self.state.seats();
        if let Some((id, priority)) = self.domains.release(seats, is_last) {
            seats[id].state = HostState::Due(priority);
            self.front.push(seats, id, priority);
        }
    }

    /// Notes whether a host competes for turns from now on. Its domain is looked up the first time.
    #[inline]
    pub(super) fn compete(&mut self, id: HostId, competes: bool) {
        if competes && !self.domains.is_off() && !self.domains.knows(id) {
            let host = self.state.host(id).key.host();
            let is_seeds = self.state.gate().is_of_seed(host);
            self.domains.join(id, domain(host), is_seeds);
        }
        self.domains.compete(id, competes);
    }
}

impl<J: Journal> Frontier<J> {
    /// Queues all URLs that were given up, as if nothing had ever been wrong with their hosts, and says how many there were.
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

    /// A retired host is to be asked again, as if it had never failed. It rests no longer than after a response, unless it said itself when
    /// it may be asked. Any other host is left as it is, even if it fails.
    fn forgive(&mut self, id: HostId, now: Timestamp) -> io::Result<()> {
        let host = self.state.host(id);
        if !host.is_retired() {
            return Ok(());
        }
        let mut update = HostUpdate::of(host);
        if update.ill.as_ref().is_some_and(|ill| !ill.is_patient) {
            // It rested because it failed, and may have recovered since.
            update.due = update.due.min(now + host.delay(&self.politeness));
        }
        update.recover();
        self.note_host(id, &update, false)?;
        // Its URLs were given up without a rest; now it must rest.
        if self.leaves_its_queue(id) {
            self.wake_groups(id, now);
            self.place(id, now);
        }
        Ok(())
    }

    /// Counts a host by its current outlook. The counts are kept as hosts change, so that [`next`](Self::next) need not walk over all hosts
    /// to see whether any but failing ones are left.
    pub(crate) fn count_outlook(&mut self, id: HostId) {
        let outlook = self.state.host(id).outlook();
        let before = std::mem::replace(&mut self.state.seats()[id].counted, outlook);
        if before != outlook {
            self.struggle.count(before).into_iter().for_each(|count| *count -= 1);
            self.struggle.count(outlook).into_iter().for_each(|count| *count += 1);
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
    /// so that each gets a record. If the journal cannot take a record, only the hosts recorded so far are retired, and the crawl waits for
    /// the others again.
    fn retire_all(&mut self, now: Timestamp) -> io::Result<()> {
        self.struggle.since = None;
        let mut noted = Ok(());
        // A retired host need not rest any longer.
        self.agenda = Agenda::default();
        for id in self.state.hosts().ids() {
            let host = self.state.host(id);
            let mut is_resting = host.seat.state == HostState::Snoozed;
            if host.outlook() != Outlook::Good {
                let mut update = HostUpdate::of(host);
                update.retire();
                noted = noted.and_then(|()| self.note_host(id, &update, false));
                self.count_outlook(id);
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

impl<J: Journal> Frontier<J> {
    /// Evicts the hosts of these images that have not changed since, and says how many it evicted. The journal must have each of these
    /// images as its host's newest from now on.
    ///
    /// Costs about two microseconds a host.
    pub(crate) fn evict(&mut self, images: &[u8]) -> usize {
        let mut evicted = 0;
        let mut image = Vec::new();
        for idle in idle_hosts(images) {
            let hosts = self.state.hosts();
            let Some(id) = hosts.find(idle.key).filter(|&id| hosts[id].may_be_evicted()) else { continue };
            image.clear();
            image::save(&hosts[id], hosts.usage(id), self.state.back(), &mut image);
            if image == idle.image {
                if let Some(address) = self.state.host(id).seat.address {
                    self.rate_groups.part(address);
                }
                self.domains.part(id);
                let delay = self.state.host(id).delay(&self.politeness);
                self.rate_groups.leave_server(id, delay);
                self.state.evict(id, &self.politeness);
                evicted += 1;
            }
        }
        evicted
    }

    /// The host of a URL. If it was evicted, it is brought back; if it is new, it is added. Only reading an image costs more than a lookup.
    pub(crate) fn host_of(&mut self, url: &CanonicalUrl, now: Timestamp) -> io::Result<HostId> {
        let origin = url.origin();
        if let Some(id) = self.state.look_up(origin) {
            return Ok(id);
        }
        let host = match self.journal.host(origin)? {
            Some(image) => Some(self.state.of_image(image, origin)?),
            None => None,
        };
        let key = url.host_key();
        let twin = self.twin_of(&key, now)?;
        let id = match host {
            Some((mut host, usage)) => {
                self.state.evicted().set_clock(&mut host, &self.politeness, now);
                self.state.bring_back(host, usage)
            }
            None => self.state.add_host(Host::new(key)),
        };
        self.join_server(id, twin, now);
        Ok(id)
    }

    /// Joins each host in memory to the clock of its server's other ports. Called once, at the end of a resume.
    pub(super) fn join_servers(&mut self, now: Timestamp) -> io::Result<()> {
        for id in self.state.hosts().ids() {
            let host = self.state.host(id);
            if !host.is_hole() {
                let twin = self.twin_of(&host.key.clone(), now)?;
                self.join_server(id, twin, now);
            }
        }
        Ok(())
    }
}
