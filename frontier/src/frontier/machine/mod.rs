//! The frontier as a state machine: it decides what to do now, and journals each change before it makes it.
//!
//! [`Frontier`] has the state, the queues of hosts that follow from it, and the outstanding leases. [`next`](Frontier::next) takes the host
//! whose turn it is. All changes of the state go through [`State::commit`]: the journal takes the record, then the state applies it. Each
//! module has one step of a URL's way, or a type of its own:
//!
//! - `incoming`: URLs come in, wait for a time, and get other priorities.
//! - `lend`: a host's turn becomes a lease, of its robots.txt or of a page. URLs that robots.txt disallows are dropped here.
//! - `complete`: a lease comes back, and the outcome decides what becomes of the page and of its host: `page_fate`. The host may have
//!   answered before.
//! - `tokens`: leases that end at a deadline, and come back by a number.
//! - `rounds`: queued URLs are judged again, by rules that change while they wait and by the budgets of hosts. Hosts that fail are retired,
//!   and asked again.
//! - `statistics`: the frontier in numbers, which URLs wait, which were dropped, why a URL was not fetched, and what a checkpoint saves.
//!
//! - `host_queues`: who may be asked now, who waits and for what, what is lent out, and which hosts are in memory. It decides nothing that is
//!   journaled.
//! - `robots`: what is known of each robots.txt: one comes back, or is on another host, which is then asked by its own clock.
//!   `robots_copies` has the answers for others.
//! - `moving`: the steps by which waiting URLs get other priorities. `score_table` has these by name, `move_ups` where each URL waits.
//! - `rate`: requests and bytes a second of the whole crawl.
//! - `rulings`: what rules, budgets and robots.txt say of a page whose turn has come.
//!
//! Between two calls each host is in one queue, lent out, or idle. A call that takes a host out of its queue places it before it returns;
//! if the journal's storage fails, in the same queue again.

mod complete;
mod host_queues;
mod incoming;
mod lend;
mod move_ups;
mod moving;
mod options;
mod page_fate;
mod rate;
mod robots;
mod robots_copies;
pub(crate) mod rounds;
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

use crate::address::HostKey;
use crate::frontier::durable::{Arena, Journal, Record};
use crate::frontier::hosts::{HostId, HostStatus, Patience, PolitenessTable};
use crate::frontier::state::State;
use crate::frontier::{Href, Lease, Next, Timestamp};
use crate::gate::{Gate, OptionError, Position};
use host_queues::{FrontTurn, HostQueues};
use move_ups::MoveUps;
use rate::Rate;
use robots_copies::RobotsCopies;
use statistics::Drops;
use tokens::Deadlines;

pub use incoming::WaitingUrl;
pub use moving::Reprioritized;
pub use options::{FrontierError, FrontierOptions, FrontierStatistics};
#[cfg(test)]
pub(crate) use statistics::Dropped;

/// URLs known and not yet fetched, and the order they go in.
///
/// A host with URLs queued is in one place: on the *agenda*, ordered by the time it may be asked again; once that time has come, in a
/// *front queue*, by the priority of its best URL; or lent out. Its URLs are in its *back queue*. [`next`](Self::next) takes the host that
/// has waited longest among those of the best priority, and from it the URL that has waited longest among its best, or the shortest (see
/// [`QueueOrder`](crate::frontier::QueueOrder)). A host's first lease is its robots.txt.
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
    state: State,
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
    /// When leases end.
    deadlines: Deadlines,
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
            deadlines: Deadlines::new(options),
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

    /// Appends up to `most` leases, each as [`next`](Self::next) lends it: one a host, unless the host may have more. Returns why there are
    /// fewer; `None` if there are as many. A lease with a [trouble](crate::frontier::Lease::trouble) is to be given up.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// for seed in ["https://a.example/", "https://a.example/b", "https://c.example/"] {
    ///     frontier.seed(seed, now)?;
    /// }
    /// let mut leases = Vec::new();
    /// assert!(matches!(frontier.next_batch(10, &mut leases, now)?, Some(Next::Busy)));
    /// let asked: Vec<&str> = leases.iter().map(|lease| lease.url()).collect();
    /// assert_eq!(asked, ["https://a.example/robots.txt", "https://c.example/robots.txt"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`next`](Self::next); the leases before that were appended.
    pub fn next_batch(
        &mut self,
        most: usize,
        leases: &mut Vec<Lease>,
        now: Timestamp,
    ) -> Result<Option<Next>, FrontierError> {
        for _ in 0..most {
            match self.next(now)? {
                Next::Fetch(lease) | Next::GiveUp(lease) => leases.push(lease),
                none => return Ok(Some(none)),
            }
        }
        Ok(None)
    }

    /// The earliest time, as far as is known now, at which another host may be lent out, or a lease is to be taken back; `None` if no host
    /// waits and no lease ends.
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let deadline = self.state.leases().earliest();
        let waiting = || self.queues.earliest().into_iter().chain(self.state.schedule().due()).chain(deadline).min();
        if self.queues.has_turn() { Some(now.max(self.rate.due())) } else { waiting() }
    }

    /// Notes that other software sent a request to a host at this time: a browser for an image, a downloader for a robots.txt. The host
    /// rests as after a request of this frontier, and so do its group, its server and its IP address. `at` is in the past or now; a time
    /// before the host's last request changes nothing.
    ///
    /// Any URL of the host names it; with a [queue](Href::queue), the request counts for the queue and not for the host. The host need not
    /// be known yet: it then rests before its first lease. The rest is journaled. Requests of the host or its group that are out go on, and
    /// the rate of the whole crawl ([`request_rate`](super::FrontierOptions)) stays as it is.
    ///
    /// ```
    /// use std::time::Duration;
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// frontier.seed("https://example.org/", now)?;
    /// // A browser fetches an image there.
    /// frontier.host_was_asked("https://example.org/logo.png", now)?;
    /// let Next::Wait(until) = frontier.next(now)? else { panic!("the host rests") };
    /// assert_eq!(until, now + Duration::from_secs(1));
    /// assert!(matches!(frontier.next(until)?, Next::Fetch(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address) if it is no URL; [`Storage`](FrontierError::Storage): the host's own rest has not changed then.
    pub fn host_was_asked<'a>(&mut self, of: impl Into<Href<'a>>, at: Timestamp) -> Result<(), FrontierError> {
        let href = of.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        let queue = href.queue_key();
        let id = self.row(queue.as_ref().map_or(url.origin(), HostKey::as_str), at)?;
        self.queues.was_asked(&self.state, id, at);
        let host = self.state.host(id);
        let rested = at + host.delay(&self.politeness);
        if host.status.due < rested {
            let update = HostStatus { due: rested, ..host.status.clone() };
            // It is not counted: were it a request of ours, a robots.txt that is out would be back.
            self.note_host(id, update, false)?;
        }
        Ok(())
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

    /// All that is known.
    #[cfg(test)]
    pub(crate) fn state(&self) -> &State {
        &self.state
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
