//! [`Frontier::reprioritize`]: waiting URLs get other priorities, many at once. [`Frontier::move_up`]: those that were found again do.
//!
//! ```text
//!   fingerprints ──▶ positions ──▶ `moving`
//! ```

use std::io;

use super::moving::{Moving, Reprioritized, Walk};
use super::score_table::{ScoreTable, sorted};
use super::{Frontier, FrontierError};
use crate::address::{Fingerprint, HostKey};
use crate::frontier::durable::{Entry, Journal};
use crate::frontier::hosts::HostId;
use crate::frontier::{Href, Timestamp};
use crate::gate::{Found, Position, fingerprint};

/// What names a URL that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingUrl {
    /// All URLs with this fingerprint, of their [identities](Href::identity) or else of their keys.
    Fingerprint(Fingerprint),
    /// The URL with this entry, as its [lease](crate::frontier::Lease::position) or [`positions_of`](Frontier::positions_of) has it.
    Position(Position),
}

impl From<Fingerprint> for WaitingUrl {
    fn from(fingerprint: Fingerprint) -> Self {
        Self::Fingerprint(fingerprint)
    }
}

impl From<Position> for WaitingUrl {
    fn from(position: Position) -> Self {
        Self::Position(position)
    }
}

impl<J: Journal> Frontier<J> {
    /// Gives waiting URLs other priorities: the least goes first. The URLs may be in the queues of their hosts, wait for a time, be set
    /// aside or given up. A [fingerprint](crate::gate::Found::fingerprint) names all URLs that have it, a position names one. If a URL is
    /// named twice, the last name counts, and a position counts more than a fingerprint.
    ///
    /// A moved URL goes after all others of its new priority, or before them with the order [last in, first out](QueueOrder::Lifo); URLs
    /// that move together keep their order. Each move is journaled. If more than 256 priorities are in use, URLs go to the closest
    /// ([`shared_priorities`](super::FrontierStatistics::shared_priorities)).
    ///
    /// # Costs
    ///
    /// By position: a walk over all waiting URLs, some 15 ns each, and less than half a microsecond for each that moves; if at most one in
    /// 64 is named, a walk only over the URLs of the hosts concerned. By fingerprint the entry of each waiting URL is read as well, in
    /// about a microsecond, unless [URLs move up](super::FrontierOptions::move_up): a table then has their fingerprints. The call takes
    /// about 40 bytes of memory a name while it runs. To bound its memory or its time, split the names over several calls.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Timestamp};
    ///
    /// let mut options = FrontierOptions::default();
    /// options.politeness.robots = false;
    /// let (mut frontier, now) = (Frontier::new(&options)?, Timestamp::from_micros(0));
    /// for page in ["a", "b", "c"] {
    ///     frontier.seed(&format!("https://example.org/{page}"), now)?;
    /// }
    /// let key = frontier.gate().fingerprint_key();
    /// let canonicalizer = frontier.gate().canonicalizer().clone();
    /// let score = |page: &str, score| {
    ///     let url = canonicalizer.canonicalize(&format!("https://example.org/{page}"));
    ///     url.map(|url| (url.fingerprint(key), score))
    /// };
    /// let done = frontier.reprioritize([score("c", -10)?, score("b", 0)?, score("never", 1)?], now)?;
    /// assert_eq!((done.moved, done.unchanged, done.unknown), (1, 1, 1));
    /// let Next::Fetch(lease) = frontier.next(now)? else { panic!("a host is due") };
    /// assert_eq!((lease.url(), lease.priority()), ("https://example.org/c", -10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage): URLs of some hosts may have moved by then. The same call may be tried again.
    pub fn reprioritize<W: Into<WaitingUrl>>(
        &mut self,
        scores: impl IntoIterator<Item = (W, i64)>,
        now: Timestamp,
    ) -> Result<Reprioritized, FrontierError> {
        self.move_up(now)?;
        let (mut by_position, mut by_fingerprint) = (Vec::new(), Vec::new());
        for (name, score) in scores {
            match name.into() {
                WaitingUrl::Position(position) => by_position.push((position.to_u64(), score)),
                WaitingUrl::Fingerprint(fingerprint) => by_fingerprint.push((fingerprint.bits(), score)),
            }
        }
        let mut unknown = 0;
        if !by_fingerprint.is_empty() {
            let (mut found, missed) = self.with_fingerprints(by_fingerprint)?;
            unknown = missed;
            // The last counts.
            found.append(&mut by_position);
            by_position = found;
        }
        let done = self.moving(now).move_all(&ScoreTable::new(by_position));
        self.move_ups.catch_up(&mut self.journal)?;
        let mut done = done?;
        done.unknown += unknown;
        Ok(done)
    }

    /// The positions of the waiting requests at this URL, in the order in which they were queued. An [identity](Href::identity) of `href`
    /// selects the requests with that identity, a [queue](Href::queue) the requests in that queue. Use it to name one of several requests
    /// when you have only a URL.
    ///
    /// Reads the entry of each URL that waits in its queue, and of each that waits for a time, is set aside or was given up: about a
    /// microsecond each. No text is kept in memory for it.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// let api = "https://example.org/api";
    /// frontier.seed(api, now)?;
    /// frontier.seed(Href::from(api).unconditional(), now)?;
    /// frontier.seed(Href::from(api).identity("another")?, now)?;
    /// let [first, second] = frontier.positions_of(api)?[..] else { panic!("two wait") };
    /// assert_eq!(frontier.reprioritize([(second, -1)], now)?.moved, 1);
    /// assert_eq!(frontier.positions_of(Href::from(api).identity("another")?)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address) or [`Storage`](FrontierError::Storage).
    pub fn positions_of<'a>(&mut self, href: impl Into<Href<'a>>) -> Result<Vec<Position>, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        let queue = href.queue_key();
        let host = self.state.look_up(queue.as_ref().map_or(url.origin(), HostKey::as_str));
        let wanted = Found::seed(url).said(&href).fingerprint(self.gate().fingerprint_key());
        let mut positions = Vec::new();
        self.read_waiting(host, |position, fingerprint, _| {
            if fingerprint == wanted {
                positions.push(position);
            }
        })?;
        Ok(positions)
    }

    /// The [metadata](Href::metadata) of all requests with this fingerprint that wait or are lent out, in the order in which they were queued.
    ///
    /// Reads the entry of each waiting URL, at any host: about a microsecond each. It is for callers that know a request's fingerprint and
    /// want to see the request.
    ///
    /// ```
    /// use crawler_frontier::address::Identity;
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Href, Timestamp};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// frontier.seed(Href::from("https://example.org/api").identity("red")?.metadata(b"q=red")?, now)?;
    /// let red = Identity::new("red")?.fingerprint(frontier.gate().fingerprint_key());
    /// assert_eq!(frontier.metadata_of(red)?, [Box::from(*b"q=red")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn metadata_of(&mut self, fingerprint: Fingerprint) -> Result<Vec<Box<[u8]>>, FrontierError> {
        let mut found = Vec::new();
        self.read_waiting(self.state.hosts().ids(), |_, waiting, entry| {
            if waiting == fingerprint {
                found.push(entry.metadata.into());
            }
        })?;
        Ok(found)
    }

    /// The positions of all URLs that wait or are lent out: host by host, the next one first, then those that wait for a time, are set aside
    /// or were given up. Some 5 ns each.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let (hosts, back) = (self.state.hosts().iter(), self.state.back());
        let queued = hosts.flat_map(|host| back.levels(&host.queue)).flat_map(|level| back.positions(level));
        queued.chain(self.state.schedule().iter())
    }

    /// The positions of the URLs that wait with these fingerprints, each with its priority; and how many fingerprints no URL has.
    fn with_fingerprints(&mut self, named: Vec<(u64, i64)>) -> io::Result<(Vec<(u64, i64)>, u64)> {
        if self.move_ups.are_on() {
            let named = sorted(named);
            let (mut found, mut last, mut known) = (Vec::with_capacity(named.len()), None, 0);
            self.move_ups.find(&named, |number, place| {
                known += u64::from(last != Some(number));
                last = Some(number);
                found.push((place.position.to_u64(), named[number].1));
            });
            return Ok((found, named.len() as u64 - known));
        }
        let table = ScoreTable::new(named);
        let (mut found, mut is_found) = (Vec::new(), vec![false; table.len()]);
        self.read_waiting(self.state.hosts().ids(), |position, fingerprint, _| {
            if let Some(place) = table.find(fingerprint.bits()) {
                is_found[place] = true;
                found.push((position.to_u64(), table.at(place)));
            }
        })?;
        let missed = is_found.into_iter().filter(|is_found| !is_found).count();
        Ok((found, missed as u64))
    }

    /// Reads the entries of the URLs that wait at these hosts, and of those in no host's queue, in their order.
    fn read_waiting(
        &mut self,
        hosts: impl IntoIterator<Item = HostId>,
        mut each: impl FnMut(Position, Fingerprint, &Entry<'_>),
    ) -> io::Result<()> {
        let state = &self.state;
        let of_host = |id| {
            let (back, queue) = (state.back(), &state.host(id).queue);
            back.levels(queue).flat_map(|level| back.positions(level))
        };
        let mut waiting: Vec<Position> = hosts.into_iter().flat_map(of_host).chain(state.schedule().iter()).collect();
        waiting.sort_unstable();
        // The limits may be lower now; an admitted URL stays admitted.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        let key = self.gate().fingerprint_key();
        for position in waiting {
            let entry = self.journal.read(position)?;
            if let Ok(url) = canonicalizer.canonicalize(entry.wire) {
                each(position, fingerprint(&url, entry.identity, key), &entry);
            }
        }
        Ok(())
    }

    /// Moves up what was found again with better priorities since the last call.
    ///
    /// # Errors
    /// If the journal's storage fails. What has not moved by then keeps its priority.
    #[inline]
    pub(crate) fn move_up(&mut self, now: Timestamp) -> io::Result<()> {
        if self.move_ups.are_on() { self.move_up_found(now) } else { Ok(()) }
    }

    fn move_up_found(&mut self, now: Timestamp) -> io::Result<()> {
        let better = self.move_ups.take_better(&self.state);
        if better.is_empty() {
            return Ok(());
        }
        self.moving(now).take_fronts(better.iter().map(|better| better.score).collect())?;
        let moves = self.move_ups.by_host(better, &mut self.state, &mut self.journal)?;
        for of_host in moves.chunk_by(|(one, _), (other, _)| one == other) {
            let named = ScoreTable::new(of_host.iter().map(|(_, better)| (better.position, better.score)).collect());
            let mut levels = [false; 256];
            for (_, better) in of_host {
                levels[usize::from(better.front)] = true;
            }
            let mut walk = Walk::over_levels(&named, levels);
            let done = self.moving(now).move_host(of_host[0].0, &mut walk);
            self.shared_priorities += walk.shared();
            self.move_ups.catch_up(&mut self.journal)?;
            done?;
            self.move_ups.add(walk.moved());
        }
        Ok(())
    }

    /// What moves read and change.
    pub(super) fn moving(&mut self, now: Timestamp) -> Moving<'_, J> {
        let Self { state, journal, queues, move_ups, shared_priorities, .. } = self;
        Moving { state, journal, queues, move_ups, shared_priorities, now }
    }
}
