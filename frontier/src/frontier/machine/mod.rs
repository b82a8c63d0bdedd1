//! The frontier as a state machine: it decides what to do now, and journals each change before it makes it.
//!
//! [`Frontier`] has the state, the queues of hosts that follow from it, and the outstanding leases. Here URLs are submitted, and
//! [`next`](Frontier::next) takes the host whose turn it is. All changes of the state go through `commit`, which is here too: the journal
//! takes the record, then the state applies it. The other modules are one task each:
//!
//! - `seating`: a host goes to the agenda, the front queue or the held hosts. Hosts give way to hosts of other domains. Hosts that fail are
//!   waited for, retired, and asked again. Idle hosts are evicted, and come back with their next URL.
//! - `lend`: a host's turn becomes a lease, of its robots.txt or of a page. URLs that robots.txt disallows are dropped here. It also keeps
//!   the leases that are out, among them several pages of one host.
//! - `rate_groups`: hosts of one group, on one server or on one IP address share a clock, and wait for it in a queue.
//! - `rate`: requests and bytes a second of the whole crawl.
//! - `complete`: a lease comes back, and the outcome decides what becomes of the page and of its host. Seeds and links are taken as texts.
//! - `robots`: a robots.txt comes back, or is on another host, which is then asked by its own clock.
//! - `recrawl`: URLs are scheduled or forgotten, and queued URLs are judged again, by rules that change while they wait and by the budgets
//!   of hosts.
//! - `statistics`: the frontier in numbers, how long a sample of URLs and hosts wait, which URLs were dropped, and why a URL was not
//!   fetched.
//!
//! Between two calls each host is in one seat. A call that takes a host out of its seat puts it into another before it returns, or, if the
//! journal's storage fails, back into the same one.

mod complete;
mod host_queues;
mod lend;
mod options;
mod rate;
mod rate_groups;
pub(crate) mod recrawl;
mod robots;
mod seating;
pub(crate) mod statistics;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;

use crate::address::CanonicalUrl;
use crate::frontier::durable::{Arena, Entry, Journal, Record};
use crate::frontier::hosts::{FailingHosts, HostId, Patience, PolitenessTable};
use crate::frontier::queues::{Agenda, Domains, Front, RateGroups};
use crate::frontier::state::{Change, PendingParts, State};
use crate::frontier::{Next, Timestamp};
use crate::gate::{Admitted, Gate, OptionError, Position};
use host_queues::{Errands, Lent, Waits};
use rate::Rate;
use statistics::Drops;

pub use options::{FrontierError, FrontierOptions};
#[cfg(test)]
pub(crate) use statistics::Dropped;
pub use statistics::FrontierStatistics;

/// URLs known and not yet fetched, and the order they go in.
///
/// A host with URLs queued is in one place: on the *agenda*, ordered by the time it may be asked again; once that time has come, in a
/// *front queue*, by the priority of its best URL; or lent out. Its URLs are in its *back queue*. [`next`](Self::next) takes the host that
/// has waited longest among those of the best priority, and from it the URL that has waited longest among its best. A host's first lease is
/// its robots.txt.
///
/// ```
/// use std::collections::HashMap;
/// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Next, Outcome, Reply, Timestamp};
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
///             let mut reply = Reply::from(status);
///             (reply.body, reply.links) = (body.as_bytes(), body.split_whitespace().map(Href::from).collect());
///             frontier.answer(lease, &reply, now)?;
///         }
///         Next::GiveUp(lease) => _ = frontier.complete(lease, Outcome::GivenUp, now)?,
///         Next::Wait(until) => now = until, // In earnest, sleep: the host rests for a second.
///         Next::Busy | Next::Drained => break,
///     }
/// }
/// assert_eq!(frontier.statistics().completed, 3); // The seed, /a and /b, each once.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Frontier<J: Journal = Arena> {
    /// All that is known. Of the fields below, only the journal must outlive the process: the others are queues of hosts, outstanding
    /// leases, options and statistics.
    pub(crate) state: State,
    /// Keeps what is appended, and reads it back on resume.
    pub(crate) journal: J,
    pub(crate) politeness: Arc<PolitenessTable>,
    /// Some hosts may have several requests out at once.
    pub(crate) lends_concurrently: bool,
    /// Redirects in a row that are followed.
    pub(crate) redirects: u8,
    /// Marks its leases, so that another frontier's are recognized.
    pub(crate) id: u64,
    /// Hosts that may be asked now.
    pub(crate) front: Front,
    /// Hosts that are due and have never answered, held because the maximum of such hosts is lent out.
    pub(crate) held: Front,
    /// The most first contacts that may be lent out at once.
    first_contacts: u64,
    /// Hosts that rest.
    pub(crate) agenda: Agenda,
    /// Groups, servers and addresses whose hosts share a clock, and the hosts that wait for it.
    pub(crate) rate_groups: RateGroups,
    /// The registrable domains of hosts with the turns they have had, and the hosts that give way.
    pub(crate) domains: Domains,
    /// The rate limits of the whole crawl.
    pub(crate) rate: Rate,
    /// Requests to hosts for the robots.txt of others.
    errands: Errands,
    /// Failing hosts, by their outlook.
    pub(crate) struggle: FailingHosts,
    /// The outstanding leases.
    pub(crate) lent: Lent,
    /// Hosts with URLs queued, including those lent out.
    pub(crate) busy: usize,
    /// Hosts on the agenda whose hours have not begun.
    asleep: usize,
    /// Pages that are lent out and to be scheduled again once they are done, with the time.
    pub(crate) again: BTreeMap<Position, Timestamp>,
    pub(crate) drops: Drops,
    /// How long things wait.
    pub(crate) waits: Waits,
}

/// The most disallowed URLs that one call drops, so that a host with a million of them does not stop the others.
const DROPS: u32 = 128;

impl Frontier {
    /// A frontier in memory.
    ///
    /// # Errors
    /// If an option is out of its range or does not parse.
    pub fn new(options: &FrontierOptions) -> Result<Self, OptionError> {
        Self::with_journal(options, Arena::default())
    }
}

impl<J: Journal> Frontier<J> {
    /// A frontier over a journal.
    ///
    /// # Errors
    /// If an option is out of its range or does not parse.
    pub(crate) fn with_journal(options: &FrontierOptions, journal: J) -> Result<Self, OptionError> {
        options.check()?;
        let politeness_table = Arc::new(PolitenessTable::new(&options.politeness, &options.rules)?);
        Ok(Self::of(
            State::new(Gate::new(options.gate(), None, politeness_table.depths())?, politeness_table),
            options,
            journal,
        ))
    }

    /// A frontier over a state, with options that were checked.
    pub(crate) fn of(state: State, options: &FrontierOptions, journal: J) -> Self {
        let politeness = Arc::clone(state.hosts().politeness_table());
        let mut frontier = Self {
            state,
            journal,
            lends_concurrently: politeness.lends_concurrently(),
            rate_groups: RateGroups::new(&politeness, None),
            domains: Domains::new(options.traps.domain_lead),
            rate: Rate::new(options.rate_limits()),
            errands: Errands::default(),
            politeness,
            redirects: options.traps.redirects,
            id: RandomState::new().hash_one("frontier"),
            front: Front::default(),
            held: Front::default(),
            first_contacts: u64::MAX,
            agenda: Agenda::default(),
            struggle: FailingHosts::default(),
            lent: Lent::default(),
            busy: 0,
            asleep: 0,
            again: BTreeMap::new(),
            drops: Drops::default(),
            waits: Waits::default(),
        };
        frontier.leave_pages();
        frontier
    }

    /// The gate; clone the `Arc` to admit from other threads.
    pub fn gate(&self) -> &Arc<Gate> {
        self.state.gate()
    }

    /// At most `most` hosts that have never answered are leased at once (at least one); the others wait. So hosts that never answer delay
    /// only other hosts that have not answered yet.
    pub fn limit_first_contacts(&mut self, most: usize) {
        self.first_contacts = most.max(1) as u64;
    }

    /// The journal.
    pub fn journal(&self) -> &J {
        &self.journal
    }

    /// The journal, to look after its storage. The frontier does not see records that are appended to it directly.
    pub fn journal_mut(&mut self) -> &mut J {
        &mut self.journal
    }

    /// Queues an admitted URL. O(log hosts). A URL of a retired host is [given up](Next::GiveUp) when its turn comes.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage); the URL is then lost: the seen set has it, but no queue does.
    pub fn submit(&mut self, admitted: Admitted, now: Timestamp) -> Result<(), FrontierError> {
        let Admitted { found, priority, .. } = admitted;
        let host = self.host_of(&found.url, now)?;
        let position = self.commit(&Record::Admitted(Entry::of(&found, priority)), Some(host), None)?;
        if let Some(position) = position {
            self.waits.queued(position, now);
        }
        self.arrived(host, priority, now);
        Ok(())
    }

    /// Says what to do now. O(log hosts), amortized: each host that has become due moves to the front once.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage); nothing is lost then, and the call can be tried again.
    pub fn next(&mut self, now: Timestamp) -> Result<Next, FrontierError> {
        self.wake(now);
        self.release(now)?;
        self.bring_back(now)?;
        self.release_held();
        self.end_giving_way();
        let patience = match self.check_patience(now)? {
            Patience::Over => return Ok(Next::Busy),
            Patience::Unasked => None,
            Patience::Until(until) => Some(until),
        };
        if self.rate.due() > now && self.is_any_due() {
            return Ok(Next::Wait(self.rate.due()));
        }
        let mut drops = DROPS;
        while drops > 0
            && let Some((host, priority, gives_way)) = self.turn()
        {
            let caller = self.take_reservation(host);
            if self.is_outside_its_hours(host, now) {
                self.wake_groups(host, now);
                self.place(host, now);
                continue;
            }
            if gives_way {
                let is_new = !self.state.host(host).has_answered;
                self.domains.give_way(&mut self.state.seats(), host, priority, is_new);
                self.wake_groups(host, now);
                continue;
            }
            if self.is_to_be_held(host) {
                self.hold(host, priority);
                self.wake_groups(host, now);
                continue;
            }
            if self.lends_concurrently(host) && self.must_wait(host, now) {
                self.wake_groups(host, now);
                self.place(host, now);
                continue;
            }
            if self.stands_in_line(host, priority, caller, now) {
                self.wake_groups(host, now);
                continue;
            }
            match self.lend(host, priority, now, &mut drops) {
                Ok(Some(mut lease)) => {
                    if lease.trouble.is_none() {
                        lease.charged = self.rate.begin(now);
                        self.domains.count(host);
                    }
                    self.wake_groups(host, now);
                    if self.lends_concurrently(host) && lease.position.is_some() {
                        self.place(host, now);
                    }
                    self.look_ahead();
                    return Ok(if lease.trouble.is_some() { Next::GiveUp(lease) } else { Next::Fetch(lease) });
                }
                Ok(None) => {
                    self.wake_groups(host, now);
                    self.place(host, now);
                }
                Err(error) => {
                    self.wake_groups(host, now);
                    self.place(host, now);
                    return Err(error.into());
                }
            }
        }
        Ok(match self.earliest().into_iter().chain(self.state.schedule().due()).chain(patience).min() {
            _ if self.is_any_due() || self.has_to_bring_back() => Next::Wait(now),
            Some(due) => Next::Wait(due),
            None if self.lent.all > 0 => Next::Busy,
            // The next call releases one of them.
            None if self.domains.waiting() > 0 => Next::Wait(now),
            None => Next::Drained,
        })
    }

    /// The earliest time, as far as is known now, at which another host may be lent out; `None` if no host waits.
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let waiting = || self.earliest().into_iter().chain(self.state.schedule().due()).min();
        let is_due = self.front.len() > 0 || self.domains.has_turn();
        if is_due { Some(now.max(self.rate.due())) } else { waiting() }
    }

    /// When the first host that waits for its own clock or a rate group's may be asked.
    pub(crate) fn earliest(&self) -> Option<Timestamp> {
        let rate_group = self.rate_groups.earliest();
        self.agenda
            .earliest()
            .map_or(rate_group, |host| Some(rate_group.map_or(host, |rate_group| rate_group.min(host))))
    }

    /// Ends a batch: when this returns, the journal's storage has everything submitted.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage); nothing is lost then, and the call can be tried again.
    pub fn flush(&mut self, now: Timestamp) -> Result<(), FrontierError> {
        Ok(self.journal.flush(now)?)
    }

    /// As [`flush`](Self::flush), but only once many records wait or they have waited for 10 ms. Says when the next call is due; `None` if
    /// nothing waits.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_due(&mut self, now: Timestamp) -> Result<Option<Timestamp>, FrontierError> {
        Ok(self.journal.flush_due(now)?)
    }

    /// The only way the state changes: the journal takes the record first, then the state applies it. Returns the record's position in the
    /// journal.
    ///
    /// `host` is the host that the record is about, and `remember` a URL to add to the seen set: the state can look up neither by itself.
    pub(crate) fn commit(
        &mut self,
        record: &Record<'_>,
        host: Option<HostId>,
        remember: Option<&CanonicalUrl>,
    ) -> io::Result<Option<Position>> {
        let at = self.journal.append(record)?;
        self.state.apply(&Change { record, at, host, remember, fresh: PendingParts::ALL });
        Ok(at)
    }
}
