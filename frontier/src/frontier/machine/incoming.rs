//! URLs come in: seeds, links, batches, URLs that wait for a time. And what is asked for again: with another priority, or as if new.
//!
//! ```text
//!   text ──▶ URL ──▶ gate ──▶ admitted ──▶ its host's queue
//!               └──────────▶ the schedule, until its time ──▶ its host's queue
//! ```
//!
//! [`seed`](Frontier::seed) and [`links`](Frontier::links) take URLs as texts. A crawl with many workers calls the
//! [`Gate`](crate::gate::Gate) itself, and [submits](Frontier::submit) what it admits.
//!
//! A URL that waits has its priority from its finder, until [`reprioritize`](Frontier::reprioritize) gives it another, or it is found again
//! with a better one and [moves up](super::move_ups).

use std::io;

use super::moving::{Moving, Reprioritized, Walk};
use super::score_table::{ScoreTable, sorted};
use super::{Frontier, FrontierError};
use crate::address::{Canonicalizer, Fingerprint, HostKey};
use crate::frontier::durable::{Aside, DueRecord, Entry, Journal, Record};
use crate::frontier::hosts::HostId;
use crate::frontier::lease::outcome;
use crate::frontier::{FrontQueue, Href, Lease, Timestamp};
use crate::gate::{Admission, Admitted, Found, Position, Refusal, Via};
use crate::seen::Removal;

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

/// The most URLs that one call moves to their hosts' queues as their time comes, so that a million due at once do not stop the crawl.
const RELEASES: u32 = 128;

impl<J: Journal> Frontier<J> {
    /// Queues a seed; if the gate refuses it, says why.
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address), [`Metadata`](FrontierError::Metadata) or [`Storage`](FrontierError::Storage).
    pub fn seed<'a>(&mut self, href: impl Into<Href<'a>>, now: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        let href = href.into();
        self.gate().fits(href.metadata)?;
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        self.admit(Found::seed(url).said(&href), now)
    }

    /// Queues the links of the page that `lease` fetched, as they are written, resolved against its URL; says how many were new.
    /// [`answer`](Self::answer) does so too, and also honors the page's `<base href>` and nofollow.
    ///
    /// # Errors
    /// [`Metadata`](FrontierError::Metadata) or [`Storage`](FrontierError::Storage).
    pub fn links<'a, T: Into<Href<'a>>>(
        &mut self,
        lease: &Lease,
        hrefs: impl IntoIterator<Item = T>,
        now: Timestamp,
    ) -> Result<usize, FrontierError> {
        let found = outcome::links(self.gate(), lease, None, hrefs.into_iter().map(Into::into))?;
        let admitted = outcome::admitted(self.gate(), found);
        let queued = admitted.len();
        admitted.into_iter().try_for_each(|admitted| self.submit(admitted, now))?;
        self.move_up(now)?;
        Ok(queued)
    }

    /// Queues an admitted URL. O(log hosts). A URL of a retired host is [given up](crate::frontier::Next::GiveUp) when its turn comes.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage), or [`Metadata`](FrontierError::Metadata) unless the caller asked
    /// [`Gate::fits`](crate::gate::Gate::fits) before. The URL is then lost: the seen set has it, but no queue does.
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

    /// Shows requests from different places to the gate, and queues the admitted ones. Returns an answer to each request, in their order:
    /// `None` if it is queued, or the reason of its refusal. Of two requests with one identity, the second is refused as seen; but a seed
    /// goes first, and widens the scope for the others.
    ///
    /// Each lock of the seen set is taken once, and a job's journal gets the batch as one group of records, with the next write. After a
    /// crash the batch is there as a whole or not at all. A batch that takes more than 1 MiB in the journal, about 10,000 URLs, is several
    /// groups, each whole or not there; the same call then queues the others.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Timestamp};
    /// use crawler_frontier::gate::{Found, Refusal, Via};
    ///
    /// let (mut frontier, now) = (Frontier::new(&FrontierOptions::default())?, Timestamp::from_micros(0));
    /// let canonicalizer = frontier.gate().canonicalizer();
    /// let link = |text, depth| canonicalizer.canonicalize(text).map(|url| Found { depth, via: Via::Link, ..Found::seed(url) });
    /// let batch = vec![
    ///     link("https://example.org/news", 3)?,
    ///     link("https://example.org/news#top", 1)?,
    ///     link("https://elsewhere.example/", 1)?,
    ///     Found::seed(canonicalizer.canonicalize("https://example.org/")?),
    /// ];
    /// let refused = frontier.admit_batch(batch, now)?;
    /// assert_eq!(refused, [None, Some(Refusal::Seen), Some(Refusal::OutOfScope), None]);
    /// assert_eq!(frontier.statistics().queued, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Metadata`](FrontierError::Metadata), if there is no room for all of it: nothing has changed then.
    /// [`Storage`](FrontierError::Storage): the requests that were not queued yet are lost, as with [`submit`](Self::submit).
    pub fn admit_batch(&mut self, found: Vec<Found>, now: Timestamp) -> Result<Vec<Option<Refusal>>, FrontierError> {
        let mut held = 0;
        for Found { metadata, .. } in &found {
            self.gate().fits_beside(metadata, held)?;
            held += metadata.len() as u64;
        }
        let admissions = self.gate().admit_batch(found);
        self.journal.begin_group();
        let refused = self.submit_all(admissions, now);
        self.journal.end_group();
        refused
    }

    fn submit_all(
        &mut self,
        admissions: Vec<Admission>,
        now: Timestamp,
    ) -> Result<Vec<Option<Refusal>>, FrontierError> {
        let queued = admissions.into_iter().map(|admission| match admission {
            Admission::Admitted(admitted) => self.submit(admitted, now).map(|()| None),
            Admission::Refused(refusal) => Ok(Some(refusal)),
        });
        let refused = queued.collect::<Result<_, _>>()?;
        self.move_up(now)?;
        Ok(refused)
    }

    /// Shows one request to the gate, and queues it if it is admitted.
    pub(super) fn admit(&mut self, found: Found, now: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        match self.gate().admit(found) {
            Admission::Admitted(admitted) => self.submit(admitted, now).map(|()| None),
            Admission::Refused(refusal) => {
                self.move_up(now)?;
                Ok(Some(refusal))
            }
        }
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
}

/// URLs that are fetched later, again, or as if new.
impl<J: Journal> Frontier<J> {
    /// Queues a URL that is not to be fetched before a time, whether it was seen or not. The URL is added to the seen set without a test,
    /// unless it is [unconditional](Href::unconditional). If the gate refuses it for another reason, says why. It counts as found anew,
    /// like a seed: at depth 0, and it widens the scope. [`schedule_again`](Self::schedule_again) schedules the page of a lease, which
    /// keeps its depth.
    ///
    /// It goes to the end of its host's queue within a second of its time, at the next call of [`next`](Self::next); robots.txt and
    /// politeness then apply as to any other. A URL that is scheduled twice is fetched twice.
    ///
    /// Works with every [layout](crate::seen::Layout) of the seen set. Besides the journal's entry it costs two to four bytes of memory a
    /// URL, or about a hundred if no other URL has the same second. If the journal is durable, so is this; the journal segment with its
    /// entry is kept until then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Outcome, Timestamp};
    ///
    /// // Each page once a day. No page links to another here.
    /// let day = Duration::from_secs(24 * 3600);
    /// let begin = Timestamp::from_micros(0);
    /// let (mut frontier, mut now, mut visits) = (Frontier::new(&FrontierOptions::default())?, begin, Vec::new());
    /// frontier.seed("https://example.org/", now)?;
    /// while now < begin + 3 * day {
    ///     match frontier.next(now)? {
    ///         Next::Fetch(lease) => {
    ///             if lease.url() == "https://example.org/" {
    ///                 visits.push(now.since(begin).as_secs() / 3600);
    ///             }
    ///             frontier.schedule_again(&lease, now + day)?;
    ///             let outcome = Outcome::response(&lease, 200, b"");
    ///             frontier.complete(lease, outcome, now)?;
    ///         }
    ///         Next::Wait(until) => now = until,
    ///         Next::GiveUp(_) | Next::Busy | Next::Drained => unreachable!("it never ends"),
    ///     }
    /// }
    /// assert_eq!(visits, [0, 24, 48]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Address`](FrontierError::Address), [`Metadata`](FrontierError::Metadata) or [`Storage`](FrontierError::Storage).
    pub fn schedule<'a>(&mut self, href: impl Into<Href<'a>>, at: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        self.schedule_found(&Found::seed(url).said(&href), at)
    }

    /// Queues a page again whose last try failed, at the depth it was found at, whether it was seen or not.
    ///
    /// # Errors
    /// As [`schedule`](Self::schedule).
    pub fn retry<'a>(
        &mut self,
        href: impl Into<Href<'a>>,
        via: crate::gate::Via,
        depth: u32,
        now: Timestamp,
    ) -> Result<Option<Refusal>, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        self.schedule_found(&Found { depth, via, ..Found::seed(url).said(&href) }, now)
    }

    /// Schedules the page that `lease` is for, as it was found: it keeps its depth, so that recrawling brings no page nearer to a seed.
    ///
    /// Call it before the lease is completed. The page is then done and scheduled in one record, so whenever the process dies, it is queued
    /// exactly once. If the lease ends with another try, nothing is scheduled: call this again with the next lease. The same holds if it
    /// ends with a redirect to another spelling of the page. A robots.txt is never scheduled: it is fetched again by itself.
    ///
    /// # Errors
    /// [`ForeignLease`](FrontierError::ForeignLease) if another frontier lent it.
    pub fn schedule_again(&mut self, lease: &Lease, at: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        self.check_is_out(lease)?;
        let Some(position) = lease.position() else { return Ok(None) };
        let (identity, queue) = (lease.identity.clone(), lease.queue.as_ref().map(|queue| queue.key.clone()));
        let found = |url| Found { depth: lease.depth(), via: lease.via(), identity, queue, ..Found::seed(url) };
        let url = self.gate().canonicalizer().canonicalize(lease.url());
        // The limits may be lower than when it was admitted.
        let verdict = url.map_err(|error| Refusal::from(&error)).and_then(|url| self.gate().check(&found(url)));
        if let Err(refusal) = verdict {
            self.gate().refuse(refusal);
            return Ok(Some(refusal));
        }
        self.again.insert(position, at);
        Ok(None)
    }

    /// Takes a URL from the seen set, or the [identity](Href::identity) that is given with it, so that it is new when it is next found. If
    /// it is queued, scheduled, given up or lent out, it stays so.
    ///
    /// Only the counting and the exact [layout](crate::seen::Layout::forgets) can forget. In the counting layout, forgetting a URL that was
    /// never found may make another one new, at the filter's false-positive rate. If the journal is durable, so is this. The call waits
    /// while a checkpoint writes the URL's shard. Do not call it while the URL is admitted but not yet submitted.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Timestamp};
    /// use crawler_frontier::gate::Refusal;
    /// use crawler_frontier::seen::{Layout, Removal};
    ///
    /// let mut options = FrontierOptions::default();
    /// options.seen.layout = Layout::Exact;
    /// let (mut frontier, now) = (Frontier::new(&options)?, Timestamp::from_micros(0));
    /// frontier.seed("https://example.org/", now)?;
    /// assert_eq!(frontier.seed("https://example.org/", now)?, Some(Refusal::Seen));
    /// assert_eq!(frontier.forget("https://example.org/")?, Removal::Removed);
    /// assert_eq!(frontier.seed("https://example.org/", now)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](FrontierError::Unsupported) with the layout's name, if that cannot forget; [`Address`](FrontierError::Address);
    /// [`Storage`](FrontierError::Storage): nothing is forgotten then.
    pub fn forget<'a>(&mut self, href: impl Into<Href<'a>>) -> Result<Removal, FrontierError> {
        let href = href.into();
        let url = self.gate().canonicalizer().canonicalize(href.text)?;
        let fingerprint = Found::seed(url).said(&href).fingerprint(self.gate().fingerprint_key());
        if self.gate().seen().options().layout.forgets() {
            self.journal.append(&Record::Forgotten { fingerprint })?;
        }
        Ok(self.state.forget(fingerprint)?)
    }

    /// Checks a URL by the rules of the gate, without the seen test, and schedules it. The seen set gets it when the record is applied.
    fn schedule_found(&mut self, found: &Found, at: Timestamp) -> Result<Option<Refusal>, FrontierError> {
        self.gate().fits(&found.metadata)?;
        if let Err(refusal) = self.gate().check(found) {
            self.gate().refuse(refusal);
            return Ok(Some(refusal));
        }
        let entry = Entry { not_before: Some(at), ..Entry::of(found, Entry::own_front(found.score())) };
        let position =
            self.state.commit_with(&mut self.journal, &Record::Admitted(entry), None, (Some(&found.url), None))?;
        let name = self.move_ups.are_on().then(|| found.fingerprint(self.gate().fingerprint_key()));
        self.move_ups.came(name, position, None);
        if !found.metadata.is_empty() {
            self.gate().note_held(self.journal.held());
        }
        Ok(None)
    }

    /// Moves URLs whose time has come to their hosts' queues, up to the bound.
    pub(crate) fn release(&mut self, now: Timestamp) -> io::Result<()> {
        if self.state.schedule().first_due(now).is_none() {
            return Ok(());
        }
        // The limits may be lower now; an admitted URL stays admitted.
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        for _ in 0..RELEASES {
            let Some(position) = self.state.schedule().first_due(now) else { break };
            self.release_first(position, &canonicalizer, now)?;
        }
        Ok(())
    }

    /// Moves one URL from the schedule to its host's queue. The entry is read for the URL's text: its host may be evicted or new.
    fn release_first(&mut self, position: Position, canonicalizer: &Canonicalizer, now: Timestamp) -> io::Result<()> {
        let entry = self.journal.read(position)?;
        let (score, key) = (entry.score, entry.queue_key(canonicalizer)?);
        let host = self.row(key.as_str(), now)?;
        self.queue_due((host, key.as_str()), (position, score), None, now)
    }

    /// Queues a URL whose time has come, which was asked for again, or which today's rules let pass.
    pub(super) fn queue_due(
        &mut self,
        (id, host): (HostId, &str),
        (position, score): (Position, i64),
        from: Option<Aside>,
        now: Timestamp,
    ) -> io::Result<()> {
        let priority = self.front_queue(self.state.rescored().get(position).unwrap_or(score))?;
        let after = self.queues.place_of_new(&self.state, id, priority);
        let name = self.move_ups.name_at(&mut self.journal, position)?;
        self.commit(&Record::Due(DueRecord { host, position, priority, from, after }), Some(id))?;
        self.move_ups.changed(name, position, Some(priority));
        self.queues.arrived(&mut self.state, id, priority, now);
        Ok(())
    }
}

/// URLs that wait get other priorities.
impl<J: Journal> Frontier<J> {
    /// Gives waiting URLs other priorities: the least goes first. The URLs may be in the queues of their hosts, wait for a time, be set
    /// aside or given up. A [fingerprint](crate::gate::Found::fingerprint) names all URLs that have it, a position names one. If a URL is
    /// named twice, the last name counts, and a position counts more than a fingerprint.
    ///
    /// A moved URL goes after all others of its new priority, or before them with the order
    /// [last in, first out](crate::frontier::QueueOrder::Lifo); URLs that move together keep their order. Each move is journaled. If more than 256 priorities are in use, URLs go to the closest
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
