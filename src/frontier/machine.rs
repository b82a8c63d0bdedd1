use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::io;
use std::sync::Arc;

use super::agenda::Agenda;
use super::away::Away;
use super::back::{Back, Queued};
use super::dropped::Drops;
use super::front::Front;
use super::host::{HostState, RobotsFile};
use super::hosts::Hosts;
use super::rules::RulesClock;
use super::schedule::Schedule;
use super::{
    Admitted, Arena, Entry, FrontierError, FrontierOptions, Gate, Journal, Lease, LeaseKind, Politeness, Position,
    Refusal, Timestamp, Via,
};

/// What to do now.
#[derive(Debug)]
#[must_use = "a lease in it holds its host back until it is completed"]
pub enum Next {
    /// Fetch this, then complete it.
    Fetch(Lease),
    /// No host and nothing scheduled is due before this time; a completion, submission or schedule may bring it forward. Where
    /// it is not after `now`, enough was done in one call: call again.
    Wait(Timestamp),
    /// All that is queued waits for leases that are out; what is lent out may bring more.
    Busy,
    /// Nothing is queued, scheduled or lent out: the crawl is over.
    Drained,
}

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
///         Next::Wait(until) => now = until, // In earnest, sleep: the host rests for a second.
///         Next::Busy | Next::Drained => break,
///     }
/// }
/// assert_eq!(frontier.statistics().completed, 3); // The seed, /a and /b, each once.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Frontier<J: Journal = Arena> {
    pub(super) gate: Arc<Gate>,
    pub(super) journal: J,
    pub(super) politeness: Politeness,
    pub(super) redirects: u8,
    /// Marks its leases.
    pub(super) id: u64,
    pub(super) hosts: Hosts,
    pub(super) away: Away,
    pub(super) back: Back,
    pub(super) front: Front,
    pub(super) agenda: Agenda,
    pub(super) schedule: Schedule,
    /// Pages that are lent out and, once they are done, scheduled again: when.
    pub(super) again: BTreeMap<Position, Timestamp>,
    pub(super) clock: RulesClock,
    pub(super) count: Count,
    pub(super) drops: Drops,
}

/// What would take a walk over all hosts to find out.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) queued: u64,
    pub(super) leased: u64,
    pub(super) completed: u64,
    pub(super) retries: u64,
    pub(super) retired_hosts: u64,
    /// Bytes of robots rules.
    pub(super) rules: usize,
    /// Bytes of the output: of all receipts.
    pub(super) output: u64,
}

/// URLs that robots.txt disallows are dropped when their turn comes, this many a call at most: a host with a million
/// of them does not stop the others.
const DROPS: u32 = 128;

impl Frontier {
    /// A frontier in memory.
    ///
    /// # Errors
    /// Where an option is out of its range or does not parse.
    pub fn new(options: &FrontierOptions) -> Result<Self, FrontierError> {
        Self::with_journal(options, Arena::default())
    }
}

impl<J: Journal> Frontier<J> {
    /// A frontier over a journal.
    ///
    /// # Errors
    /// Where an option is out of its range or does not parse.
    pub fn with_journal(options: &FrontierOptions, journal: J) -> Result<Self, FrontierError> {
        options.check()?;
        Ok(Self::of(Gate::new(options, None)?, options, journal))
    }

    /// With nothing in it, over options that were checked.
    pub(super) fn of(gate: Gate, options: &FrontierOptions, journal: J) -> Self {
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

    /// The journal.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// The journal, to look after its storage; what is appended to it by hand is unknown to the frontier.
    pub fn journal_mut(&mut self) -> &mut J {
        &mut self.journal
    }

    /// Queues an admitted URL. O(log hosts). One for a host that was retired meanwhile is counted as
    /// [`Refusal::HostRetired`].
    ///
    /// # Errors
    /// Where the journal's storage fails; the URL is lost then.
    pub fn submit(&mut self, admitted: Admitted, now: Timestamp) -> io::Result<()> {
        let Admitted { found, priority, .. } = admitted;
        let number = self.host_of(&found.url, now)?;
        if self.hosts[number].state == HostState::Retired {
            self.gate.withdraw(Refusal::HostRetired, 1);
            return Ok(());
        }
        let position = self.journal.append(Entry {
            wire: found.url.wire(),
            depth: found.depth,
            priority,
            via: found.via,
            redirects: found.redirects,
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
        let mut drops = DROPS;
        while drops > 0
            && let Some((number, priority)) = self.front.pop(&mut self.hosts)
        {
            match self.lend(number, priority, now, &mut drops) {
                Ok(Some(lease)) => {
                    self.look_ahead();
                    return Ok(Next::Fetch(lease));
                }
                Ok(None) => self.place(number, now),
                Err(error) => {
                    self.place(number, now);
                    return Err(error);
                }
            }
        }
        Ok(match self.agenda.earliest().into_iter().chain(self.schedule.due()).min() {
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

    /// Queues a URL at its host; `false` where that was retired.
    pub(super) fn queue(&mut self, number: u32, priority: u8, position: Position, now: Timestamp) -> bool {
        let host = &mut self.hosts[number];
        if host.state == HostState::Retired {
            return false;
        }
        self.back.push(&mut host.queue, priority, position);
        self.count.queued += 1;
        match host.state {
            HostState::Idle => self.place(number, now),
            HostState::Due(worse) if priority < worse => {
                host.state = HostState::Due(priority);
                self.front.remove(&mut self.hosts, number, worse);
                self.front.push(&mut self.hosts, number, priority);
            }
            _ => {}
        }
        true
    }

    /// Puts a host, that is nowhere, where it belongs by its queue and its clock.
    pub(super) fn place(&mut self, number: u32, now: Timestamp) {
        let (due, best) = {
            let host = &self.hosts[number];
            (host.due, host.queue.first())
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

    /// A lease of a host that was taken from the front queue of this priority. `None` where robots.txt disallows its URLs up
    /// to one of another priority, or up to the bound: it must queue again.
    fn lend(&mut self, number: u32, priority: u8, now: Timestamp, drops: &mut u32) -> io::Result<Option<Lease>> {
        let host = &mut self.hosts[number];
        if self.politeness.robots && host.robots.is_wanted(now) {
            let wire = match &host.robots {
                RobotsFile::Moved(detour) => detour.url.clone(),
                _ => host.key.robots_url().into(),
            };
            let attempt = u8::try_from(host.failures.saturating_add(1)).unwrap_or(u8::MAX);
            let robots = Lease { wire, priority, attempt, ..self.blank_lease(number) };
            return Ok(Some(self.lent(robots, HostState::LeasedRobots)));
        }
        if let Some(position) = host.robots.unread()
            && !self.read_rules(number, position)?
        {
            return Ok(None);
        }
        let host = &mut self.hosts[number];
        while *drops > 0
            && let Some(first) = host.queue.first()
            && first.priority == priority
        {
            let entry = self.journal.read(first.position)?;
            if host.robots.allows(path_and_query(entry.wire)) {
                let Entry { depth, via, redirects, referrer, .. } = entry;
                let wire = entry.wire.into();
                let referrer = match referrer {
                    Some(position) => read_wire(&mut self.journal, position)?,
                    None => None,
                };
                self.back.pop(&mut host.queue);
                host.robots.mark_used();
                self.count.queued -= 1;
                let attempt = first.attempts.saturating_add(1);
                let position = Some(first.position);
                let kind = LeaseKind::Page;
                let blank = self.blank_lease(number);
                let page = Lease { kind, position, wire, referrer, depth, priority, via, redirects, attempt, ..blank };
                let Queued { position, priority, attempts } = first;
                return Ok(Some(self.lent(page, HostState::Leased { position, priority, attempts })));
            }
            self.back.pop(&mut host.queue);
            self.count.queued -= 1;
            self.gate.withdraw(Refusal::Robots, 1);
            self.drops.note(&mut self.journal, first.position)?;
            *drops -= 1;
        }
        if host.queue.first().is_none() {
            host.robots.mark_used();
        }
        Ok(None)
    }

    /// With a million hosts, a lease reads from half a dozen places that are in no cache, some known only from another. So
    /// with each lease the next host's are read, and the state of the one behind it, and nobody waits for them.
    fn look_ahead(&mut self) {
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
        }
    }

    fn lent(&mut self, lease: Lease, state: HostState) -> Lease {
        let host = &mut self.hosts[lease.host];
        host.state = state;
        host.requests += 1;
        self.count.leased += 1;
        self.hosts.expect(lease.host);
        lease
    }
}

/// The wire URL of an entry; `None` where there is none: a [`Found`](super::Found) says what its maker pleases.
pub(super) fn read_wire(journal: &mut impl Journal, position: Position) -> io::Result<Option<Box<str>>> {
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
