//! The frontier as a state machine: it decides what to do now, and journals each change before it makes it.
//!
//! [`Frontier`] has the state, the queues of hosts that follow from it, and the outstanding leases. Here URLs are submitted, and
//! [`next`](Frontier::next) takes the host whose turn it is. All changes of the state go through [`State::commit`]: the journal takes the
//! record, then the state applies it. Hosts come into memory here, and leave it. The other modules are one task each:
//!
//! - `host_queues`: who may be asked now, who waits and for what, and what is lent out. It decides nothing that is journaled.
//! - `batch`: many requests come in, or leases go out, in one call.
//! - `lend`: a host's turn becomes a lease, of its robots.txt or of a page. URLs that robots.txt disallows are dropped here.
//! - `rate`: requests and bytes a second of the whole crawl.
//! - `complete`: a lease comes back, and the outcome decides what becomes of the page and of its host. Seeds and links are taken as texts.
//! - `robots`: a robots.txt comes back, or is on another host, which is then asked by its own clock.
//! - `queue_robots`: a named queue's turn, whose pages go by the robots.txt of their URLs' origins.
//! - `recrawl`: URLs are scheduled or forgotten, and queued URLs are judged again, by rules that change while they wait and by the budgets
//!   of hosts. Hosts that fail are retired, and asked again.
//! - `reprioritize`: URLs that wait get other priorities, or are found again with better ones. `moving` has the steps, `score_table` the new
//!   priorities by name, `move_ups` where each URL waits.
//! - `rulings`: what rules, budgets and robots.txt say of a page whose turn has come.
//! - `asked`: requests that did not come from here.
//! - `in_hand`: the two ends of a lease: its host has answered, and its page is complete.
//! - `tokens`: leases that end at a deadline, and come back by a number.
//! - `statistics`: the frontier in numbers, which URLs were dropped, why a URL was not fetched, and what a checkpoint saves.
//!
//! Between two calls each host is in one seat. A call that takes a host out of its seat puts it into another before it returns, or, if the
//! journal's storage fails, back into the same one.

mod asked;
mod batch;
mod complete;
mod host_queues;
mod in_hand;
mod lend;
mod move_ups;
mod moving;
mod options;
mod queue_robots;
mod rate;
pub(crate) mod recrawl;
mod reprioritize;
mod robots;
mod robots_turn;
mod rulings;
mod score_table;
pub(crate) mod statistics;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::address::HostKey;
use crate::frontier::durable::{Arena, Entry, Journal, Record};
use crate::frontier::hosts::{HostId, Patience, PolitenessTable};
use crate::frontier::state::State;
use crate::frontier::{FrontQueue, Next, Timestamp};
use crate::gate::{Admitted, Gate, OptionError, Position, Via};
use host_queues::{FrontTurn, HostQueues};
use move_ups::MoveUps;
use rate::Rate;
use robots::RobotsCopies;
use statistics::Drops;

pub use moving::Reprioritized;
pub use options::{FrontierError, FrontierOptions, FrontierStatistics};
pub use reprioritize::WaitingUrl;
#[cfg(test)]
pub(crate) use statistics::Dropped;

/// URLs known and not yet fetched, and the order they go in.
///
/// A host with URLs queued is in one place: on the *agenda*, ordered by the time it may be asked again; once that time has come, in a
/// *front queue*, by the priority of its best URL; or lent out. Its URLs are in its *back queue*. [`next`](Self::next) takes the host that
/// has waited longest among those of the best priority, and from it the URL that has waited longest among its best, or the shortest (see
/// [`QueueOrder`]). A host's first lease is its robots.txt.
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
    journal: J,
    politeness: Arc<PolitenessTable>,
    /// Redirects in a row that are followed.
    redirects: u8,
    /// Marks its leases, so that another frontier's are recognized.
    id: u64,
    /// Who may be asked now, who waits, and what is lent out.
    queues: HostQueues,
    /// The rate limits of the whole crawl.
    rate: Rate,
    /// What hosts answered lately when they were asked for the robots.txt of others.
    copies: RobotsCopies,
    /// Pages that are lent out and to be scheduled again once they are done, with the time.
    again: BTreeMap<Position, Timestamp>,
    drops: Drops,
    /// How long a lease lasts, and whether a page loses a try if it ends.
    lease_timeout: Option<Duration>,
    counts_expired: bool,
    /// Leases that were taken back because their deadlines had passed.
    expired: u64,
    /// Memory for the key of a host whose page is completed by a token.
    key_of_plain: String,
    /// URLs that were queued with others of the closest priority.
    shared_priorities: u64,
    /// Where each URL waits, if URLs move up.
    move_ups: MoveUps,
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
            None,
        ))
    }

    /// A frontier over a state, with options that were checked. It has no host in a queue yet. Groups of hosts rest from `since` on, if
    /// another process may have asked them before.
    pub(crate) fn of(state: State, options: &FrontierOptions, journal: J, since: Option<Timestamp>) -> Self {
        let politeness = Arc::clone(state.hosts().politeness_table());
        let mut queues = HostQueues::new(Arc::clone(&politeness), options, since);
        queues.leave_pages(&state);
        let move_ups = MoveUps::new(state.gate(), options.move_up);
        Self {
            state,
            journal,
            politeness,
            redirects: options.traps.redirects,
            id: RandomState::new().hash_one("frontier"),
            queues,
            rate: Rate::new(options.rate_limits()),
            copies: RobotsCopies::default(),
            again: BTreeMap::new(),
            drops: Drops::default(),
            lease_timeout: options.lease_timeout,
            counts_expired: options.counts_expired,
            expired: 0,
            key_of_plain: String::new(),
            shared_priorities: 0,
            move_ups,
        }
    }

    /// The gate; clone the `Arc` to admit from other threads.
    pub fn gate(&self) -> &Arc<Gate> {
        self.state.gate()
    }

    /// At most `most` requests to hosts that have never answered are leased at once (at least one); other such hosts wait. So hosts that
    /// never answer delay only other hosts that have not answered yet.
    pub fn limit_first_contacts(&mut self, most: usize) {
        self.queues.limit_first_contacts(most);
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
    /// [`Storage`](FrontierError::Storage), or [`Metadata`](FrontierError::Metadata) unless the caller asked [`Gate::fits`] before. The URL is
    /// then lost: the seen set has it, but no queue does.
    pub fn submit(&mut self, admitted: Admitted, now: Timestamp) -> Result<(), FrontierError> {
        let Admitted { found, priority, fingerprint } = admitted;
        if found.via != Via::Redirect {
            // What a redirect inherits takes the place of what its page had.
            self.gate().fits(&found.metadata)?;
        }
        let host = self.row(found.queue.as_ref().map_or(found.url.origin(), HostKey::as_str), now)?;
        let priority = self.front_queue(priority)?;
        let entry =
            Entry { after: self.queues.place_of_new(&self.state, host, priority), ..Entry::of(&found, priority) };
        let position = self.commit(&Record::Admitted(entry), Some(host))?;
        if let Some(position) = position {
            self.queues.url_came(position, now);
        }
        self.move_ups.came(Some(fingerprint), position, Some(priority));
        self.queues.arrived(&mut self.state, host, priority, now);
        if !found.metadata.is_empty() {
            self.gate().note_held(self.journal.held());
        }
        Ok(())
    }

    /// A URL with metadata of this length is done, dropped, or has another entry.
    pub(crate) fn release_metadata(&mut self, position: Position, bytes: usize) {
        if bytes > 0 {
            self.journal.release(position, bytes);
            self.gate().note_held(self.journal.held());
        }
    }

    /// Says what to do now. O(log hosts), amortized: each host that has become due moves to the front once.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage); nothing is lost then, and the call can be tried again.
    pub fn next(&mut self, now: Timestamp) -> Result<Next, FrontierError> {
        if self.state.leases().overdue(now).is_some() {
            self.expire(now)?;
        }
        self.queues.wake(&mut self.state, now);
        self.move_up(now)?;
        self.release(now)?;
        self.bring_back(now)?;
        self.queues.release(&mut self.state);
        let patience = match self.check_patience(now)? {
            Patience::Over => return Ok(self.state.leases().earliest().map_or(Next::Busy, Next::Wait)),
            Patience::Unasked => None,
            Patience::Until(until) => Some(until),
        };
        if self.rate.due() > now && self.queues.is_any_due() {
            return Ok(Next::Wait(self.rate.due()));
        }
        if self.state.leases().is_full() || self.queues.are_hands_full() {
            return Ok(self.state.leases().earliest().map_or(Next::Busy, Next::Wait));
        }
        let mut drops = DROPS;
        while drops > 0 {
            let Some(mut turn) = FrontTurn::begin(self, now) else { break };
            if let Some(lease) = turn.lend(&mut drops)? {
                drop(turn);
                self.look_ahead();
                return Ok(if lease.trouble.is_some() { Next::GiveUp(lease) } else { Next::Fetch(lease) });
            }
        }
        let due = self.queues.earliest().into_iter().chain(self.state.schedule().due());
        Ok(match due.chain(patience).chain(self.state.leases().earliest()).min() {
            _ if self.queues.is_any_due() || self.has_to_bring_back() => Next::Wait(now),
            Some(due) => Next::Wait(due),
            None if self.queues.hold_hosts() > 0 => Next::Busy,
            // The next call releases one of them.
            None if self.queues.gives_any_way() => Next::Wait(now),
            None if self.queues.leased() > 0 => Next::Busy,
            None => Next::Drained,
        })
    }

    /// The earliest time, as far as is known now, at which another host may be lent out, or a lease is to be taken back; `None` if no host
    /// waits and no lease ends.
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let deadline = self.state.leases().earliest();
        let waiting = || self.queues.earliest().into_iter().chain(self.state.schedule().due()).chain(deadline).min();
        if self.queues.has_turn() { Some(now.max(self.rate.due())) } else { waiting() }
    }

    /// If nothing is out and all remaining hosts sleep until their hours begin: when the first may be asked, and how many there are.
    pub fn sleeps_until(&self) -> Option<(Timestamp, usize)> {
        self.queues.sleeps_until()
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

    /// The front queue for a URL of this priority that is queued now. If none stands for it, one without URLs does from now on; if there is
    /// none without, the closest is taken.
    #[inline]
    pub(super) fn front_queue(&mut self, priority: i64) -> io::Result<u8> {
        let back = self.state.back();
        match back.priorities().find(priority, |front| back.is_unused(front)) {
            FrontQueue::Exact(front) => Ok(front),
            FrontQueue::Free(front) => {
                self.commit(&Record::Priority { front, priority }, None)?;
                self.queues.reorder(&self.state);
                Ok(front)
            }
            FrontQueue::Closest(front) => {
                self.shared_priorities += 1;
                Ok(front)
            }
        }
    }

    /// The [row of the host table](HostQueues::row) with this key.
    #[inline]
    fn row(&mut self, key: &str, now: Timestamp) -> io::Result<HostId> {
        self.queues.row(&mut self.state, &mut self.journal, key, now)
    }

    /// [Commits](State::commit) a record about this host, if it is about one.
    #[inline]
    fn commit(&mut self, record: &Record<'_>, host: Option<HostId>) -> io::Result<Option<Position>> {
        self.state.commit(&mut self.journal, record, host)
    }
}

/// For resumes and checkpoints.
impl<J: Journal> Frontier<J> {
    /// Finds what waits, takes up what is lent out, and places all hosts, which are in no list yet. Called once, at the end of a resume.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(crate) fn take_up(&mut self, now: Timestamp) -> io::Result<()> {
        self.move_ups.find_all(&self.state, &mut self.journal)?;
        self.lend_again(now)?;
        self.queues.join_servers(&mut self.state, &mut self.journal, now)?;
        self.queues.place_all(&mut self.state, now);
        Ok(())
    }

    /// All places of the table of [`MoveUps`], and all that the queues have.
    #[cfg(test)]
    pub(crate) fn all_places(&mut self) -> [std::collections::BTreeSet<crate::frontier::queues::WaitingPlace>; 2] {
        self.move_ups.all_places(&self.state)
    }

    /// Evicts the hosts of these images that have not changed since, and says how many it evicted. The journal must have each of these
    /// images as its host's newest from now on.
    ///
    /// Costs about two microseconds a host.
    pub(crate) fn evict(&mut self, images: &[u8]) -> usize {
        self.queues.evict(&mut self.state, images)
    }
}
