//! Leases: what goes next of a host, and why it does not.

use super::durable::{Entry, Journal};
use super::hosts::{HostState, RobotsFile};
use super::queues::Queued;
use super::{Frontier, Lease, LeaseKind, Timestamp, Trouble};
use crate::gate::{Position, Refusal, Via};
use std::hint::black_box;
use std::io;

impl<J: Journal> Frontier<J> {
    /// A lease of a host that was taken from the front queue of this priority. `None` where robots.txt disallows its URLs up
    /// to one of another priority, or up to the bound: it must queue again.
    pub(crate) fn lend(
        &mut self,
        number: u32,
        priority: u8,
        now: Timestamp,
        drops: &mut u32,
    ) -> io::Result<Option<Lease>> {
        let host = &mut self.hosts[number];
        if host.is_retired() {
            return self.give_up(number);
        }
        if self.politeness.robots && host.robots.is_wanted(now) {
            let wire = match &host.robots {
                RobotsFile::Moved(detour) => detour.url.clone(),
                _ => host.key.robots_url().into(),
            };
            let attempt = u8::try_from(host.failures.saturating_add(1)).unwrap_or(u8::MAX);
            let validators = host.robots.rules().and_then(|rules| rules.validators.clone());
            let robots = Lease { wire, priority, attempt, validators, ..self.blank_lease(number) };
            return Ok(Some(self.lent(robots, HostState::LeasedRobots)));
        }
        // Rules that are known from a run that honored them count no more.
        if let Some(position) = host.robots.unread().filter(|_| self.politeness.robots)
            && !self.read_rules(number, position)?
        {
            return Ok(None);
        }
        while *drops > 0
            && let Some(first) = self.hosts[number].queue.first()
            && first.priority == priority
        {
            if let Some(lease) = self.lend_page(number, first, None)? {
                return Ok(Some(lease));
            }
            self.back.pop(&mut self.hosts[number].queue);
            self.count.queued -= 1;
            self.gate.withdraw(Refusal::Robots, 1);
            self.drops.note(&mut self.journal, first.position)?;
            *drops -= 1;
        }
        let host = &mut self.hosts[number];
        if host.queue.first().is_none() {
            host.robots.mark_used();
        }
        Ok(None)
    }

    /// A lease of the page that goes next of its host, to be fetched or, by `trouble`, to be given up; `None` where robots.txt
    /// disallows it.
    fn lend_page(&mut self, number: u32, first: Queued, trouble: Option<Box<Trouble>>) -> io::Result<Option<Lease>> {
        let Queued { position, priority, attempts } = first;
        let Entry { wire, depth, via, redirects, referrer, attempts: earlier, .. } = self.journal.read(position)?;
        let host = &mut self.hosts[number];
        if trouble.is_none() && self.politeness.robots && !host.robots.allows(path_and_query(wire)) {
            return Ok(None);
        }
        let wire = wire.into();
        let referrer = match referrer {
            Some(position) => read_wire(&mut self.journal, position)?,
            None => None,
        };
        self.back.pop(&mut host.queue);
        host.robots.mark_used();
        self.count.queued -= 1;
        let attempt = attempts.saturating_add(earlier).saturating_add(1);
        let blank = Lease { kind: LeaseKind::Page, position: Some(position), priority, ..self.blank_lease(number) };
        let page = Lease { wire, referrer, depth, via, redirects, attempt, earlier, trouble, ..blank };
        Ok(Some(self.lent(page, HostState::Leased { position, priority, attempts })))
    }

    /// A lease of the page that goes next of a host that is retired.
    fn give_up(&mut self, number: u32) -> io::Result<Option<Lease>> {
        let host = &self.hosts[number];
        let trouble = host.ill.as_deref().map(|ill| Box::new(ill.trouble.clone()));
        let Some(first) = host.queue.first() else { return Ok(None) };
        self.lend_page(number, first, trouble)
    }

    /// With a million hosts, a lease reads from half a dozen places that are in no cache, some known only from another. So
    /// with each lease the next host's are read, and the state of the one behind it, and nobody waits for them.
    pub(crate) fn look_ahead(&mut self) {
        let mut resting = self.agenda.first_three();
        let (next, second, third) = match self.front.first() {
            Some(next) => (next, self.hosts[next].link.behind(), None),
            None => match resting.next() {
                Some(next) => (next, resting.next(), resting.next()),
                None => return,
            },
        };
        let host = &self.hosts[next];
        if let Some(queued) = host.queue.first() {
            self.journal.expect(queued.position);
            self.back.expect(&host.queue);
        }
        black_box(host.key.as_str().as_bytes().first().copied());
        for later in [second, third].into_iter().flatten() {
            black_box(self.hosts[later].due);
        }
    }

    fn blank_lease(&self, number: u32) -> Lease {
        let host = &self.hosts[number];
        Lease {
            frontier: self.id,
            host: number,
            host_key: host.key.clone(),
            kind: LeaseKind::Robots,
            position: None,
            wire: Box::default(),
            referrer: None,
            depth: 0,
            priority: 0,
            via: Via::Seed,
            redirects: 0,
            attempt: 1,
            delay: host.delay(&self.politeness),
            earlier: 0,
            is_first_contact: !host.has_answered,
            trouble: None,
            validators: None,
        }
    }

    fn lent(&mut self, lease: Lease, state: HostState) -> Lease {
        let host = &mut self.hosts[lease.host];
        host.state = state;
        self.count.leased += 1;
        if lease.trouble.is_none() {
            host.requests = host.requests.saturating_add(1);
            self.count.first_contacts += u64::from(lease.is_first_contact);
        }
        self.hosts.expect(lease.host);
        lease
    }
}

/// The wire URL of an entry; `None` where there is none: a [`Found`](crate::gate::Found) says what its maker pleases.
pub(crate) fn read_wire(journal: &mut impl Journal, position: Position) -> io::Result<Option<Box<str>>> {
    match journal.read(position) {
        Ok(entry) => Ok(Some(entry.wire.into())),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

/// `/a?b` of the wire URL `https://example.org/a?b`.
fn path_and_query(wire: &str) -> &str {
    let host = wire.find("://").map_or(0, |at| at + 3);
    wire[host..].find('/').map_or("/", |path| &wire[host + path..])
}
