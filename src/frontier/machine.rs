//! What to do now: the frontier as a machine.

use super::drops::Drops;
use super::durable::{Arena, Entry, Journal};
use super::hosts::{Away, HostState, Hosts, Patience, Politeness, RulesClock, Struggle};
use super::queues::{Agenda, Back, Front, Queued, Schedule};
use super::state::Count;
use super::{FrontierOptions, Next, Timestamp};
use crate::gate::{Admitted, Gate, OptionError, Position};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;

/// URLs known and not yet fetched, and the order they go in.
///
/// A host with URLs queued is in one place: in the *agenda*, by the time it may be asked again; in a *front queue*, by the
/// priority of its best URL, once that time has come; or lent out. Its URLs are in its *back queue*. [`next`](Self::next)
/// takes the host that waits longest among those of the best priority, and of it the URL that waits longest among
/// its best. A host's first lease is its robots.txt.
///
/// ```
/// use std::collections::HashMap;
/// use crawler::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
///
/// // Any client that follows no redirects, and any parser; here a web of two pages and no robots.txt.
/// let web = HashMap::from([("https://example.org/", "/a /b"), ("https://example.org/a", "/ /a#top")]);
/// let mut now = Timestamp::from_micros(0);
/// let mut frontier = Frontier::new(&FrontierOptions::default())?;
/// frontier.seed("https://example.org/", now)?;
/// loop {
///     match frontier.next(now)? {
///         Next::Fetch(lease) => {
///             let (status, body) = web.get(lease.url()).map_or((404, ""), |body| (200, *body));
///             frontier.links(&lease, body.split_whitespace(), now)?;
///             let outcome = Outcome::response(&lease, status, body.as_bytes());
///             frontier.complete(lease, outcome, now)?;
///         }
///         Next::GiveUp(lease) => _ = frontier.complete(lease, Outcome::GivenUp, now)?,
///         Next::Wait(until) => now = until, // In earnest, sleep: the host rests for a second.
///         Next::Busy | Next::Drained => break,
///     }
/// }
/// assert_eq!(frontier.statistics().completed, 3); // The seed, /a and /b, each once.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Frontier<J: Journal = Arena> {
    pub(crate) gate: Arc<Gate>,
    pub(crate) journal: J,
    pub(crate) politeness: Politeness,
    pub(crate) redirects: u8,
    /// Marks its leases.
    pub(crate) id: u64,
    pub(crate) hosts: Hosts,
    pub(crate) away: Away,
    pub(crate) back: Back,
    pub(crate) front: Front,
    /// Hosts that never answered, and are due: too many of their kind are lent out.
    pub(crate) held: Front,
    /// Of these, as many as may be lent out at once.
    first_contacts: u64,
    pub(crate) struggle: Struggle,
    pub(crate) agenda: Agenda,
    pub(crate) schedule: Schedule,
    /// Pages that are lent out and, once they are done, scheduled again: when.
    pub(crate) again: BTreeMap<Position, Timestamp>,
    pub(crate) clock: RulesClock,
    pub(crate) count: Count,
    pub(crate) drops: Drops,
}

/// URLs that robots.txt disallows are dropped when their turn comes, this many a call at most: a host with a million
/// of them does not stop the others.
const DROPS: u32 = 128;

impl Frontier {
    /// A frontier in memory.
    ///
    /// # Errors
    /// Where an option is out of its range or does not parse.
    pub fn new(options: &FrontierOptions) -> Result<Self, OptionError> {
        Self::with_journal(options, Arena::default())
    }
}

impl<J: Journal> Frontier<J> {
    /// A frontier over a journal.
    ///
    /// # Errors
    /// Where an option is out of its range or does not parse.
    pub fn with_journal(options: &FrontierOptions, journal: J) -> Result<Self, OptionError> {
        options.check()?;
        Ok(Self::of(Gate::new(options.gate(), None)?, options, journal))
    }

    /// With nothing in it, over options that were checked.
    pub(crate) fn of(gate: Gate, options: &FrontierOptions, journal: J) -> Self {
        Self {
            gate: Arc::new(gate),
            journal,
            politeness: options.politeness.clone(),
            redirects: options.traps.redirects,
            id: RandomState::new().hash_one("frontier"),
            hosts: Hosts::default(),
            away: Away::default(),
            back: Back::default(),
            front: Front::default(),
            held: Front::default(),
            first_contacts: u64::MAX,
            struggle: Struggle::default(),
            agenda: Agenda::default(),
            schedule: Schedule::default(),
            again: BTreeMap::new(),
            clock: RulesClock::default(),
            count: Count::default(),
            drops: Drops::default(),
        }
    }

    /// The gate; clone the `Arc` to admit from other threads.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Lends out so many hosts at once, at most, that never answered, and one at least; the others wait. So hosts that never do
    /// answer hold up those alone which nobody knows either.
    pub fn limit_first_contacts(&mut self, most: usize) {
        self.first_contacts = most.max(1) as u64;
    }

    /// The journal.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// The journal, to look after its storage; what is appended to it by hand is unknown to the frontier.
    pub fn journal_mut(&mut self) -> &mut J {
        &mut self.journal
    }

    /// Queues an admitted URL. O(log hosts). One of a host that is not asked any more is [given up](Next::GiveUp) when its turn
    /// comes.
    ///
    /// # Errors
    /// Where the journal's storage fails; the URL is lost then.
    pub fn submit(&mut self, admitted: Admitted, now: Timestamp) -> io::Result<()> {
        let Admitted { found, priority, .. } = admitted;
        let number = self.host_of(&found.url, now)?;
        let position = self.journal.append(Entry {
            wire: found.url.wire(),
            depth: found.depth,
            priority,
            via: found.via,
            redirects: found.redirects,
            attempts: 0,
            referrer: found.referrer,
            replaces: None,
            not_before: None,
        })?;
        self.queue(number, priority, position, now);
        Ok(())
    }

    /// What to do now. O(log hosts), amortized: each host that has become due moves to the front once.
    ///
    /// # Errors
    /// Where the journal's storage fails; nothing is lost then.
    pub fn next(&mut self, now: Timestamp) -> io::Result<Next> {
        self.wake(now);
        self.release(now)?;
        self.let_go();
        let patience = match self.mind_patience(now)? {
            Patience::Over => return Ok(Next::Busy),
            Patience::Unasked => None,
            Patience::Until(until) => Some(until),
        };
        let mut drops = DROPS;
        while drops > 0
            && let Some((number, priority)) = self.front.pop(&mut self.hosts)
        {
            if self.is_to_be_held(number) {
                self.held.push(&mut self.hosts, number, priority);
                self.hosts[number].state = HostState::Held(priority);
                continue;
            }
            match self.lend(number, priority, now, &mut drops) {
                Ok(Some(lease)) => {
                    self.look_ahead();
                    return Ok(if lease.trouble.is_some() { Next::GiveUp(lease) } else { Next::Fetch(lease) });
                }
                Ok(None) => self.place(number, now),
                Err(error) => {
                    self.place(number, now);
                    return Err(error);
                }
            }
        }
        Ok(match self.agenda.earliest().into_iter().chain(self.schedule.due()).chain(patience).min() {
            _ if self.front.len() > 0 => Next::Wait(now),
            Some(due) => Next::Wait(due),
            None if self.count.leased > 0 => Next::Busy,
            None => Next::Drained,
        })
    }

    /// The end of a batch: what was submitted is with the journal's storage when this returns.
    ///
    /// # Errors
    /// Where the journal's storage fails; nothing is lost then, and it can be tried again.
    pub fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.journal.flush(now)
    }

    /// Queues a URL at its host.
    pub(crate) fn queue(&mut self, number: u32, priority: u8, position: Position, now: Timestamp) {
        let host = &mut self.hosts[number];
        self.back.push(&mut host.queue, priority, position);
        self.count.queued += 1;
        match host.state {
            HostState::Idle => self.place(number, now),
            HostState::Due(worse) if priority < worse => {
                host.state = HostState::Due(priority);
                self.front.remove(&mut self.hosts, number, worse);
                self.front.push(&mut self.hosts, number, priority);
            }
            HostState::Held(worse) if priority < worse => {
                host.state = HostState::Held(priority);
                self.held.remove(&mut self.hosts, number, worse);
                self.held.push(&mut self.hosts, number, priority);
            }
            _ => {}
        }
    }

    /// Puts a host, that is nowhere, where it belongs by its queue and its clock.
    pub(crate) fn place(&mut self, number: u32, now: Timestamp) {
        let (due, best) = {
            let host = &self.hosts[number];
            // Whom nobody asks need not rest.
            (if host.is_retired() { now } else { host.due }, host.queue.first())
        };
        self.hosts[number].state = match best {
            None => HostState::Idle,
            Some(_) if due > now => {
                self.agenda.push(due, number);
                HostState::Snoozed
            }
            Some(Queued { priority, .. }) => {
                // Those that have been due for longer come first.
                self.wake(now);
                self.front.push(&mut self.hosts, number, priority);
                HostState::Due(priority)
            }
        };
        self.count_prospect(number);
    }

    /// Hosts with URLs queued that are not lent out.
    pub(crate) fn active_hosts(&self) -> usize {
        self.agenda.len() + self.front.len() + self.held.len()
    }

    /// Whether a host that is due must wait until one that nobody knew either has come back.
    fn is_to_be_held(&self, number: u32) -> bool {
        let host = &self.hosts[number];
        !host.has_answered && !host.is_retired() && self.count.first_contacts >= self.first_contacts
    }

    /// Hosts that nobody knows, as many as may be asked now: their turn.
    fn let_go(&mut self) {
        for _ in self.count.first_contacts..self.first_contacts {
            let Some((number, priority)) = self.held.pop(&mut self.hosts) else { break };
            self.front.push(&mut self.hosts, number, priority);
            self.hosts[number].state = HostState::Due(priority);
        }
    }

    /// Moves hosts that have become due from the agenda to the front, in the order of their times.
    fn wake(&mut self, now: Timestamp) {
        while let Some(number) = self.agenda.pop_due(now) {
            let host = &mut self.hosts[number];
            let best = host.queue.first().expect("a host in the agenda has URLs queued");
            host.state = HostState::Due(best.priority);
            self.front.push(&mut self.hosts, number, best.priority);
        }
    }
}
