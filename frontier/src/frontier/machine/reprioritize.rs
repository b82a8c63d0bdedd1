//! [`Frontier::reprioritize`]: waiting URLs get other priorities, many at once.
//!
//! ```text
//!   names ──▶ positions ──▶ one walk over what waits ──▶ front queues ──▶ a record for each host ──▶ its levels, rebuilt once
//! ```
//!
//! A URL in a host's queue has the priority of its level there, and nothing else says where it is. So one walk over the queues looks up
//! each waiting URL among the names, and all moves of a host are made together. A URL that waits for a time, is set aside or was given up
//! is in no host's queue: it keeps its place, and its new priority is [kept](crate::frontier::state::Rescored) until it is queued.
//!
//! - **A URL that is lent out stays where it is**, and so does one that was tried and goes next: a lent URL must be found near the front of
//!   its level. The answer counts them as `out`.
//! - **Moved URLs are queued as if they were found now**, in the order in which they stood: after all others of their new priority, or
//!   before them with the order [last in, first out](QueueOrder::Lifo).
//! - **The journal has each move**, before it is made. A host's moves are in one record, or in several of a MiB.
//! - **Beyond 256 priorities**, URLs share the front queue of the closest priority, as single URLs do. If this call empties front queues,
//!   the priorities that had to share get them.

use std::hint::black_box;
use std::io;
use std::ops::Range;

use super::recrawl::key_of;
use super::score_table::{Reprioritized, ScoreTable, Walk, sorted};
use super::{Frontier, FrontierError};
use crate::address::{Fingerprint, HostKey};
use crate::frontier::durable::{Entry, Journal, MovedRecord, MovesBuf, Record, ScoresBuf};
use crate::frontier::hosts::{HostId, QueueOrder};
use crate::frontier::queues::{Back, Level};
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

/// At most this many passes. Each gives front queues that the moves of the pass before have emptied to priorities that had to share.
const PASSES: u32 = 4;
/// If at most one in this many waiting URLs is named, the entries of the named ones are read to find their hosts: an entry takes a
/// microsecond, a walk 15 ns a URL.
const FEW: u64 = 64;

/// This many URLs are looked up at once, so that their waits for memory overlap.
const AT_ONCE: usize = 1024;
/// At most this many hosts are looked at together, as long as they have no more than [`AT_ONCE`] URLs in all: otherwise a host with ten
/// URLs would wait for memory as often as one with a thousand.
const HOSTS_AT_ONCE: usize = 64;

/// How many of a host's moves are listed so far.
struct Listed {
    is_lifo: bool,
    /// The lists before the last.
    lists: usize,
    is_any: bool,
    /// The level that URLs leave now.
    level: Option<u8>,
}

/// The URLs of a level, each with its front queue, and its place there.
fn places<'a>(back: &'a Back, level: &'a Level) -> impl Iterator<Item = (Position, u8, usize)> + 'a {
    back.positions(level).enumerate().map(|(place, position)| (position, level.priority, place))
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
        let done = self.move_all(&ScoreTable::new(by_position), now);
        self.keep_places()?;
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
        if let Some(move_ups) = &self.move_ups {
            let named = sorted(named);
            let (mut found, mut last, mut known) = (Vec::with_capacity(named.len()), None, 0);
            move_ups.find_all(&named, |number, place| {
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
}

/// The steps of a call.
impl<J: Journal> Frontier<J> {
    /// Gives the URLs at these positions other priorities.
    fn move_all(&mut self, named: &ScoreTable, now: Timestamp) -> Result<Reprioritized, FrontierError> {
        if named.len() == 0 {
            return Ok(Reprioritized::default());
        }
        let hosts = self.hosts_of(named)?;
        let mut done = None;
        for pass in 1..=PASSES {
            self.take_fronts(named.scores().collect())?;
            let mut walk = Walk::over(named);
            match &hosts {
                Some(hosts) => self.move_hosts(hosts.iter().copied(), &mut walk, now)?,
                None => self.move_hosts(self.state.hosts().ids(), &mut walk, now)?,
            }
            done.get_or_insert(walk.done);
            if walk.shared == 0 || pass == PASSES || !self.has_free_front() {
                self.shared_priorities += walk.shared;
                break;
            }
        }
        let mut done = done.unwrap_or_default();
        let (moved, unchanged) = self.rescore(named)?;
        (done.moved, done.unchanged) = (done.moved + moved, done.unchanged + unchanged);
        done.unknown = named.len() as u64 - done.moved - done.unchanged - done.out;
        Ok(done)
    }

    /// The numbers of the hosts that have the URLs at these positions. `None` means all hosts: with as many URLs named, a walk over all
    /// hosts takes no longer.
    fn hosts_of(&mut self, named: &ScoreTable) -> io::Result<Option<Vec<HostId>>> {
        if (named.len() as u64).saturating_mul(FEW) >= self.state.count().queued {
            return Ok(None);
        }
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        let mut hosts = Vec::new();
        for name in named.names() {
            let entry = match self.journal.read(Position::from_u64(name)) {
                Ok(entry) => entry,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => continue,
                // It is no position, or its record is damaged: the queues say whether it waits.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Ok(None),
                Err(error) => return Err(error),
            };
            let key = key_of(&entry, &canonicalizer).ok();
            hosts.extend(key.and_then(|key| self.state.look_up(key.as_str())));
        }
        hosts.sort_unstable();
        hosts.dedup();
        Ok(Some(hosts))
    }

    /// Journals and makes the moves of these hosts, one after the other.
    fn move_hosts(
        &mut self,
        mut hosts: impl Iterator<Item = HostId>,
        walk: &mut Walk<'_>,
        now: Timestamp,
    ) -> io::Result<()> {
        loop {
            walk.hosts.clear();
            walk.hosts.extend(hosts.by_ref().take(HOSTS_AT_ONCE).map(|id| (id, 0)));
            if walk.hosts.is_empty() {
                return Ok(());
            }
            let state = &self.state;
            state.back().prefetch_all(walk.hosts.iter().map(|(id, _)| &state.host(*id).queue));
            for (id, _) in &walk.hosts {
                black_box(state.host(*id).key.as_str().as_bytes().first());
            }
            let mut at = 0;
            while let Some((first, _)) = walk.hosts.get(at).copied() {
                let (from, back) = (at, self.state.back());
                walk.next.clear();
                while let Some((id, end)) = walk.hosts.get_mut(at) {
                    let queue = &self.state.host(*id).queue;
                    if walk.next.len() + queue.len() as usize > AT_ONCE {
                        break;
                    }
                    walk.next.extend(back.levels(queue).flat_map(|level| places(back, level)));
                    *end = walk.next.len();
                    at += 1;
                }
                if at == from {
                    self.move_host(first, walk, now)?;
                    at += 1;
                    continue;
                }
                walk.look_up();
                let mut begin = 0;
                for host in from..at {
                    let (id, end) = walk.hosts[host];
                    if begin < end {
                        let lists = self.list_moves(id, walk, Some(begin..end));
                        self.make_moves(id, walk, lists, now)?;
                    }
                    begin = end;
                }
            }
        }
    }

    /// Journals and makes the moves of a host.
    pub(super) fn move_host(&mut self, id: HostId, walk: &mut Walk<'_>, now: Timestamp) -> io::Result<()> {
        if self.state.host(id).queue.len() == 0 {
            return Ok(());
        }
        let lists = self.list_moves(id, walk, None);
        self.make_moves(id, walk, lists, now)
    }

    /// Journals and makes the moves in this many lists.
    fn make_moves(&mut self, id: HostId, walk: &mut Walk<'_>, lists: usize, now: Timestamp) -> io::Result<()> {
        if lists == 0 {
            return Ok(());
        }
        walk.key.clear();
        walk.key.push_str(self.state.host(id).key.as_str());
        for list in &mut walk.lists[..lists] {
            let moves = list.list();
            self.commit(&Record::Moved(MovedRecord { host: &walk.key, moves }), Some(id), None)?;
            if let Some(move_ups) = &mut self.move_ups {
                move_ups.note_moves(moves);
            }
        }
        self.queues.moved(&mut self.state, id, now);
        Ok(())
    }

    /// Lists the moves of a host for its records; says how many lists there are. URLs that stay with the closest priority are left out. If
    /// the host's URLs were looked up, they are this range of `next`.
    fn list_moves(&self, id: HostId, walk: &mut Walk<'_>, known: Option<Range<usize>>) -> usize {
        let host = self.state.host(id);
        let is_lifo = self.politeness.policy(host.policy).order.unwrap_or(self.order) == QueueOrder::Lifo;
        let mut listed = Listed { is_lifo, lists: 0, is_any: false, level: None };
        walk.lists[0].begin();
        walk.left.clear();
        walk.to.clear();
        if let Some(known) = known {
            self.list_some(id, walk, known, &mut listed);
        } else {
            let (asked, back) = (walk.levels, self.state.back());
            let is_asked = |level: &&Level| asked.is_none_or(|asked| asked[usize::from(level.priority)]);
            let mut each = back.levels(&host.queue).filter(is_asked).flat_map(|level| places(back, level)).fuse();
            loop {
                walk.next.clear();
                walk.next.extend(each.by_ref().take(AT_ONCE));
                if walk.next.is_empty() {
                    break;
                }
                walk.look_up();
                self.list_some(id, walk, 0..walk.next.len(), &mut listed);
            }
        }
        if !listed.is_any {
            return 0;
        }
        if is_lifo {
            self.give_places(id, walk, listed.lists + 1);
        }
        listed.lists + 1
    }

    /// Lists the moves of some URLs of a host.
    fn list_some(&self, id: HostId, walk: &mut Walk<'_>, some: Range<usize>, listed: &mut Listed) {
        let (state, back) = (&self.state, self.state.back());
        let (out, alone) = (self.queues.pages_of(id), self.queues.alone_out(state, id));
        let keeps_place = |position: Position, front, place| {
            (place == 0 && alone == Some(front)) || out.contains(&position) || back.tries(position) > 0
        };
        for at in some {
            let (Some(score), (position, front, place)) = (walk.scores[at], walk.next[at]) else { continue };
            if keeps_place(position, front, place) {
                walk.done.out += 1;
                continue;
            }
            if score == back.priorities().of(front) {
                walk.done.unchanged += 1;
                continue;
            }
            walk.done.moved += 1;
            let to = walk.closest(score, back.priorities());
            walk.shared += u64::from(back.priorities().of(to) != score);
            if to == front {
                continue;
            }
            if walk.lists[listed.lists].is_full() {
                (listed.lists, listed.level) = (listed.lists + 1, None);
                if walk.lists.len() == listed.lists {
                    walk.lists.push(MovesBuf::default());
                }
                walk.lists[listed.lists].begin();
            }
            if listed.level != Some(front) {
                walk.lists[listed.lists].level(front);
                listed.level = Some(front);
            }
            walk.lists[listed.lists].url(position, to);
            listed.is_any = true;
            if listed.is_lifo {
                walk.left.push((front, place));
                walk.to.push(to);
            }
        }
    }

    /// For a host whose order is last in, first out: writes into the lists after how many URLs of each priority the new ones go.
    fn give_places(&self, id: HostId, walk: &mut Walk<'_>, lists: usize) {
        walk.to.sort_unstable();
        walk.to.dedup();
        let place = |front: u8| {
            let after = self.queues.first_place(&self.state, id, front);
            // In several records, some leave after others have come.
            let is_before = |(from, place): &&(u8, usize)| *from == front && *place < after.into() && lists == 1;
            let leave = walk.left.iter().filter(is_before).count();
            (front, after - u16::try_from(leave).unwrap_or(after))
        };
        let places: Vec<_> = walk.to.iter().map(|front| place(*front)).collect();
        walk.lists[..lists].iter_mut().for_each(|list| list.places(&places));
    }

    /// Gives new priorities to those of these URLs that are in no host's queue; says how many changed, and how many had theirs already.
    fn rescore(&mut self, named: &ScoreTable) -> io::Result<(u64, u64)> {
        let scores = self.state.schedule().iter().filter_map(|at| Some((at, named.get(at.to_u64())?)));
        let scores: Vec<(Position, i64)> = scores.collect();
        let (mut moved, mut unchanged) = (0, 0);
        let mut list = ScoresBuf::default();
        for (position, score) in scores {
            let known = self
                .state
                .rescored()
                .get(position)
                .map_or_else(|| self.journal.read(position).map(|entry| entry.score), Ok)?;
            if known == score {
                unchanged += 1;
                continue;
            }
            moved += 1;
            list.url(position, score);
            if list.is_full() {
                self.commit(&Record::Rescored(std::mem::take(&mut list).list()), None, None)?;
            }
        }
        if !list.is_empty() {
            self.commit(&Record::Rescored(list.list()), None, None)?;
        }
        Ok((moved, unchanged))
    }

    /// A URL of this priority was set aside. If it was moved before, its priority is kept: its entry has another.
    pub(super) fn keep_score(&mut self, position: Position, front: u8) -> io::Result<()> {
        if !self.state.rescored().has_moved() {
            return Ok(());
        }
        let score = self.state.back().priorities().of(front);
        if self.journal.read(position)?.score == score {
            return Ok(());
        }
        let mut list = ScoresBuf::default();
        list.url(position, score);
        self.commit(&Record::Rescored(list.list()), None, None).map(drop)
    }
}
