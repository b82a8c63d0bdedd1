//! A host's turn becomes a lease, of its robots.txt or of a page.
//!
//! | the host | what is lent |
//! |---|---|
//! | is asked for the robots.txt of [others](super::robots) | that robots.txt |
//! | has spent its [budget](super::rounds) | nothing; its URLs are set aside |
//! | is retired | its next URL, to be given up |
//! | is a [named queue](#named-queues) | the robots.txt of its first URL's origin, or that URL |
//! | has no known robots.txt, or a stale one, or its pages break one after another | its robots.txt |
//! | any other | the first URL of its best priority that robots.txt and today's rules allow |
//!
//! On the way to that URL, URLs that robots.txt or a budget refuses are dropped, and URLs that today's rules refuse are set aside. Each
//! call does this for a bounded number of URLs, so that other hosts have their turn. URLs are judged here and not only when they are found:
//! the rules of robots.txt are known only when a host's first page goes out, and rules and budgets change while URLs wait.
//!
//! A lease takes nothing out of a queue: a page stays there until it comes back. So a lease needs no record: after a crash its page is
//! still queued. Only with a [`lease_timeout`](super::FrontierOptions::lease_timeout) is a lease journaled, so that it is still out after a
//! restart: see [`tokens`](super::tokens).
//!
//! # Named queues
//!
//! Each page of a [named queue](crate::frontier::Href::queue) goes by the robots.txt of its URL's origin.
//!
//! ```text
//!   the queue's turn ──▶ its first page is at O ──▶ O's robots.txt is unknown, or stale ──▶ it is lent, by the queue's clock
//!                                │ it is known                                                         │
//!                                ├──▶ it allows the page: the page is lent          O has the rules ◀──┘
//!                                └──▶ it does not: the page is dropped, and the next one is looked at
//! ```
//!
//! A queue has no robots.txt of its own. The rules of an origin are kept with the origin's host, so two queues that have pages there ask for
//! them once. The host is only their place: it is not asked, its clock does not run, and its failures are not counted. What the answer says
//! of a server counts for the queue: so an answer is two records, first what the host's file is, then the queue's status.
//!
//! A robots.txt that is on another host than the origin's is fetched by that host's clock, as for a host's own: the queue then waits for it.
//!
//! With several connections, a page whose rules are not known waits until no page of the queue is out, as a host's robots.txt does.

use std::hint::black_box;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use super::robots::{RobotsFiles, RobotsTurn};
use super::rulings::{RobotsQuestion, barren, is_judged_again, judge_again, refusal};
use super::{Frontier, FrontierError};
use crate::address::{Fingerprint, HostKey, origin_of, path_and_query};
use crate::frontier::durable::{
    Aside, AsideRecord, DisallowedRecord, HostRecord, Journal, Record, RobotsRecord, read_wire,
};
use crate::frontier::hosts::{HostId, RobotsFile};
use crate::frontier::lease::{LeaseQueue, Texts};
use crate::frontier::queues::Queued;
use crate::frontier::robots::Robots;
use crate::frontier::{Lease, Resolved, Timestamp, Trouble};
use crate::gate::{Position, Refusal};

impl<J: Journal> Frontier<J> {
    /// A lease of a host that was taken from the front queue of this priority. `None` if there is none this time, because URLs were dropped
    /// or set aside, or because its robots.txt is on another host: the host must be placed again.
    ///
    /// `drops` is how many URLs may still be dropped in this call of [`next`](Frontier::next), over all hosts that it looks at.
    ///
    /// # Errors
    /// If the journal cannot be read, or cannot take the record of what was dropped. Nothing is lent then.
    pub(crate) fn lend(
        &mut self,
        id: HostId,
        priority: u8,
        now: Timestamp,
        drops: &mut u32,
    ) -> io::Result<Option<Lease>> {
        if self.queues.priority_for_others(id).is_some() {
            return self.lend_for_others(id, priority, now);
        }
        if let Some(refusal) = self.state.budget_refusal(id) {
            // Before its robots.txt: a host that is not asked for pages is not asked for that either.
            return self.set_aside_spent(id, priority, refusal, drops).map(|()| None);
        }
        let host = self.state.host(id);
        if host.status.is_retired() {
            let trouble = host.status.last_trouble().cloned().map(Box::new);
            return self.lend_page(id, priority, trouble, now, drops);
        }
        let policy = self.politeness.policy(host.policy);
        let obeys_robots = policy.robots;
        if policy.is_queue && obeys_robots {
            return self.lend_of_queue(id, priority, now, drops);
        }
        if obeys_robots && host.wants_robots(now) && self.drops_first(id, priority, drops)? {
            // Before its robots.txt: a host that is not asked for pages is not asked for that either.
            return Ok(None);
        }
        let host = self.state.host(id);
        if obeys_robots && host.wants_robots(now) {
            if self.robots().goes_elsewhere(RobotsTurn::own(id), priority, now)? {
                *drops -= 1;
                return Ok(None);
            }
            let origin = self.state.host(id).key.clone();
            return self.lend_robots(id, (Some(id), &origin), priority, now).map(Some);
        }
        // If robots.txt is not honored, rules that are known from a run that honored it do not count.
        if let Some(position) = host.robots.unread().filter(|_| obeys_robots)
            && !self.read_rules(id, position)?
        {
            return Ok(None);
        }
        self.lend_page(id, priority, None, now, drops)
    }

    /// A lease of a robots.txt, or of where it redirects to: the host's own, or for a queue the one of an origin.
    fn lend_robots(
        &mut self,
        id: HostId,
        (of, origin): (Option<HostId>, &HostKey),
        priority: u8,
        now: Timestamp,
    ) -> io::Result<Lease> {
        let host = self.state.host(id);
        let file = of.map(|of| &self.state.host(of).robots);
        let texts = match file {
            Some(RobotsFile::Moved(redirect)) => Texts::new(&redirect.url, origin.as_str()),
            _ => Texts::new(&origin.robots_url(), origin.as_str()),
        };
        let validators = file.and_then(|file| file.rules()?.validators.clone());
        let queue = host.key.queue().map(|_| LeaseQueue { key: host.key.clone(), crawl_delay: Duration::ZERO });
        let (attempt, queue) = (host.status.attempt(), queue.map(Box::new));
        let mut lease = Lease { texts, priority, attempt, validators, queue, ..self.blank_lease(id, now) };
        self.note_lent(&mut lease)?;
        Ok(lease)
    }

    /// The lease of a host whose turn has come, for the robots.txt that others wait for; `None` if the host is retired.
    fn lend_for_others(&mut self, id: HostId, priority: u8, now: Timestamp) -> io::Result<Option<Lease>> {
        let host = self.state.host(id);
        if host.status.is_retired() {
            self.robots().fail_others(id, now);
            return Ok(None);
        }
        let Some((url, waits)) = self.queues.first_awaited_robots(id) else { return Ok(None) };
        let (texts, attempt) = (Texts::new(url, host.key.as_str()), host.status.attempt());
        let for_other = Some(self.state.host(waits).key.as_str().into());
        let mut lease = Lease { texts, priority, attempt, for_other, ..self.blank_lease(id, now) };
        self.note_lent(&mut lease)?;
        Ok(Some(lease))
    }

    /// A lease of the host's next page, to be fetched or, with `trouble`, to be given up. Pages of the same priority before it that are
    /// refused are dropped or set aside, up to the bound; `None` if no other page of this priority is left.
    ///
    /// The page's entry is read from the journal. The texts that the fetcher needs are copied into the lease, since the journal may move
    /// before it comes back. A page to be given up is not checked against robots.txt; a page that today's rules refuse is not given up but
    /// set aside.
    pub(super) fn lend_page(
        &mut self,
        id: HostId,
        priority: u8,
        trouble: Option<Box<Trouble>>,
        now: Timestamp,
        drops: &mut u32,
    ) -> io::Result<Option<Lease>> {
        let is_asked = trouble.is_none() && self.state.policy(id).robots;
        let question = is_asked.then_some(self.politeness.purpose);
        let mut lease = self.blank_lease(id, now);
        let referrer = loop {
            let host = self.state.host(id);
            let first = self.queues.first_free(&self.state, id);
            let Some(first) = first.filter(|first| first.priority == priority && *drops > 0) else {
                return Ok(None);
            };
            let entry = self.journal.read(first.position)?;
            let gate = self.state.gate();
            if is_judged_again(gate, self.state.rules(), first.position)
                && let Err(refusal) = judge_again(gate, &entry)
            {
                self.set_aside(id, first, refusal)?;
                *drops -= 1;
                continue;
            }
            if trouble.is_none() && refusal(gate, host, question, &entry).is_some() {
                self.drop_refused(id, priority, question, drops)?;
                continue;
            }
            self.state.fill(&mut lease, first, &entry);
            break entry.referrer;
        };
        if let Some(position) = referrer
            && let Some(referrer) = read_wire(&mut self.journal, position)?
        {
            lease.texts.set_referrer(referrer);
        }
        lease.trouble = trouble.or_else(|| self.expired_too_often(&lease));
        self.note_lent(&mut lease)?;
        Ok(Some(lease))
    }

    /// As [`lend`](Self::lend), for a named queue that obeys robots.txt, and is neither retired nor spent.
    pub(super) fn lend_of_queue(
        &mut self,
        id: HostId,
        priority: u8,
        now: Timestamp,
        drops: &mut u32,
    ) -> io::Result<Option<Lease>> {
        while *drops > 0
            && let Some(first) = self.queues.first_free(&self.state, id).filter(|first| first.priority == priority)
        {
            let (gate, host) = (self.state.gate(), self.state.host(id));
            let entry = self.journal.read(first.position)?;
            if is_judged_again(gate, self.state.rules(), first.position)
                && let Err(refusal) = judge_again(gate, &entry)
            {
                self.set_aside(id, first, refusal)?;
                *drops -= 1;
                continue;
            }
            if barren(gate, host, &entry).is_some() {
                self.drop_refused(id, priority, None, drops)?;
                continue;
            }
            let (origin, path) = (origin_of(entry.wire).into_owned(), path_and_query(entry.wire).to_owned());
            let metadata = entry.metadata.len();
            let of = self.queues.known_row(&mut self.state, &mut self.journal, &origin, now)?;
            if self.queues.wants_robots_of(&self.state, id, of, now) {
                if self.state.host(id).scheduling.out > 0 {
                    self.queues.await_robots(id);
                    return Ok(None);
                }
                if let Some(of) = of
                    && self.robots().goes_elsewhere(RobotsTurn { by: id, of }, priority, now)?
                {
                    *drops -= 1;
                    return Ok(None);
                }
                return self.lend_robots(id, (of, &HostKey::of_origin(&origin)), priority, now).map(Some);
            }
            let Some(of) = of else { return Ok(None) };
            if let Some(position) = self.state.host(of).robots.unread()
                && !self.read_rules(of, position)?
            {
                *drops -= 1;
            } else if let Some(refusal) = self.state.host(of).robots.refusal(&path, self.politeness.purpose) {
                let name = self.move_ups.name_at(&mut self.journal, first.position)?;
                self.drop_pages(id, first, refusal, vec![(first.position, metadata, name)])?;
                *drops -= 1;
            } else {
                self.queues.forget_queue_robots(id);
                return self.lend_page(id, priority, None, now, drops);
            }
        }
        Ok(None)
    }

    /// Sets a host's next page aside if today's rules refuse it, or drops it, with the pages after it, if its budget is spent; says whether
    /// it did. So a host whose queued pages are all refused is not asked for its robots.txt: otherwise a wildcard domain would cost a
    /// request for each of its names, and a dropped host would still be asked. The page's entry is read here, and once more when the page
    /// is lent.
    fn drops_first(&mut self, id: HostId, priority: u8, drops: &mut u32) -> io::Result<bool> {
        let Some(first) = self.queues.first_free(&self.state, id).filter(|first| first.priority == priority) else {
            return Ok(false);
        };
        let (gate, rules) = (self.state.gate(), self.state.rules());
        let is_judged = is_judged_again(gate, rules, first.position);
        if !is_judged && !gate.budgets().is_any_spent() {
            return Ok(false);
        }
        let entry = self.journal.read(first.position)?;
        let again = || judge_again(gate, &entry).err();
        if let Some(refusal) = is_judged.then(again).flatten() {
            self.set_aside(id, first, refusal)?;
            *drops -= 1;
            return Ok(true);
        }
        let is_barren = barren(gate, self.state.host(id), &entry).is_some();
        if is_barren {
            self.drop_refused(id, priority, Some(self.politeness.purpose), drops)?;
        }
        Ok(is_barren)
    }

    /// Sets aside a queued URL that today's rules refuse: it leaves its queue, and waits for other rules.
    pub(super) fn set_aside(&mut self, id: HostId, queued: Queued, refusal: Refusal) -> io::Result<()> {
        let Queued { position, priority } = queued;
        let (host, round) = (self.state.host(id).key.clone(), self.state.rules().number);
        let to = Aside { round, refusal };
        let record = AsideRecord { host: host.as_str(), position, priority, to, from: None };
        let name = self.move_ups.name_at(&mut self.journal, position)?;
        self.commit(&Record::Aside(record), Some(id))?;
        self.move_ups.changed(name, position, None);
        self.state.keep_score(&mut self.journal, position, priority)?;
        self.queues.url_left(position);
        self.drops.note(&mut self.journal, position, refusal)
    }

    /// Sets aside URLs of a host whose budget is spent, beginning with its next: up to a URL of another priority, or the bound.
    fn set_aside_spent(&mut self, id: HostId, priority: u8, refusal: Refusal, drops: &mut u32) -> io::Result<()> {
        while *drops > 0
            && let Some(first) = self.queues.first_free(&self.state, id).filter(|first| first.priority == priority)
        {
            self.set_aside(id, first, refusal)?;
            *drops -= 1;
        }
        Ok(())
    }

    /// Drops a host's next URL and those after it that are refused for the same reason: up to a URL of another priority, one that is lent
    /// out, or the bound. One record says how many: a replay drops as many, without looking at the rules, which may have changed by then.
    /// The sample of waits and the list of drops are updated after the record is written.
    pub(super) fn drop_refused(
        &mut self,
        id: HostId,
        priority: u8,
        robots: RobotsQuestion,
        drops: &mut u32,
    ) -> io::Result<()> {
        let Some(first) = self.queues.first_free(&self.state, id) else { return Ok(()) };
        let Self { state, journal, queues, move_ups, .. } = self;
        let host = state.host(id);
        let out = queues.pages_of(id);
        let mut dropped = Vec::new();
        let mut why = None;
        for position in state.back().of(&host.queue, priority).skip_while(|position| *position != first.position) {
            if *drops == 0 || out.contains(&position) {
                break;
            }
            let entry = journal.read(position)?;
            let refusal = refusal(state.gate(), host, robots, &entry);
            if refusal.is_none() || why.is_some() && refusal != why {
                break;
            }
            why = refusal;
            let name = move_ups.name_of(&entry);
            dropped.push((position, entry.metadata.len(), name));
            *drops -= 1;
        }
        why.map_or(Ok(()), |refusal| self.drop_pages(id, first, refusal, dropped))
    }

    /// Drops a host's next pages, of the priority of the `first`, each with the length of its metadata and its fingerprint in the table of
    /// waiting URLs.
    fn drop_pages(
        &mut self,
        id: HostId,
        first: Queued,
        refusal: Refusal,
        pages: Vec<(Position, usize, Option<Fingerprint>)>,
    ) -> io::Result<()> {
        let Queued { position: first, priority } = first;
        let key = self.state.host(id).key.clone();
        let urls = u32::try_from(pages.len()).expect("no more than are dropped in one call");
        let record = DisallowedRecord { host: key.as_str(), priority, first, urls, refusal };
        self.commit(&Record::Disallowed(record), Some(id))?;
        pages.into_iter().try_for_each(|(position, metadata, name)| {
            self.queues.url_left(position);
            self.move_ups.left(name, position);
            self.release_metadata(position, metadata);
            self.drops.note(&mut self.journal, position, refusal)
        })
    }

    /// Reads and parses a host's rules from the journal: they were dropped from memory, or not yet needed since a resume. `false` if the
    /// journal has lost them with an old segment. Then a record says that they are unknown, so that the host is asked for them again.
    pub(super) fn read_rules(&mut self, id: HostId, position: Position) -> io::Result<bool> {
        // Other rules are dropped before the read, since the rules that are read now must stay until a page has been lent by them.
        self.state.drop_rules(self.politeness.robots_memory);
        if let Some(text) = self.journal.rules(position)? {
            self.state.cache_rules(id, Robots::parse(text, &self.politeness.agent), None);
            return Ok(true);
        }
        let host = self.state.host(id);
        let (key, status) = (host.key.clone(), host.status.clone());
        let (host, robots) = (key.as_str(), Some(RobotsRecord::Unknown));
        let record = Record::Host(HostRecord { host, status, robots, was_asked: false, is_retry: false });
        self.commit(&record, Some(id))?;
        Ok(false)
    }

    /// Prefetches for the next lease. With a million hosts, a lease reads half a dozen places that are in no cache, and some of them can be
    /// found only through another. So each lease also begins to read the places of the next host, and the hosts after it.
    pub(crate) fn look_ahead(&mut self) {
        let [Some(next), second, third] = self.queues.ahead(&self.state) else { return };
        let host = self.state.host(next);
        if let Some(queued) = host.queue.first() {
            self.journal.prefetch(queued.position);
            self.state.back().prefetch(&host.queue);
        }
        black_box(host.key.as_str().as_bytes().first().copied());
        for later in [second, third].into_iter().flatten() {
            black_box(self.state.host(later).status.due);
        }
    }

    /// A [blank lease](State::blank_lease): [`note_lent`](Self::note_lent) counts it, once nothing can fail any more.
    pub(super) fn blank_lease(&self, id: HostId, now: Timestamp) -> Lease {
        self.state.blank_lease(self.id, id, now)
    }

    /// What is known of each robots.txt.
    pub(super) fn robots(&mut self) -> RobotsFiles<'_, J> {
        let Self { state, journal, politeness, queues, copies, .. } = self;
        RobotsFiles { state, journal, politeness, queues, copies }
    }

    /// Counts a lease that goes out, and marks its host as leased. If leases end, it gets a token first, and a record.
    ///
    /// # Errors
    /// If the journal cannot take the record. Nothing is lent then.
    pub(super) fn note_lent(&mut self, lease: &mut Lease) -> io::Result<()> {
        if let Some(deadline) = self.deadlines.of(lease.lent_at) {
            self.begin_token(lease, deadline)?;
        }
        self.queues.note_lent(&mut self.state, lease);
        if lease.trouble.is_none() {
            lease.charged = self.rate.begin(lease.lent_at);
        }
        if lease.token.is_some() {
            self.keep_in_table(lease);
        }
        Ok(())
    }
}

impl<J: Journal> Frontier<J> {
    /// Notes the addresses to which the name of a lease's host resolves, before a connection is made: hosts on one address are asked like
    /// one server, by [`address_delay`](crate::frontier::Politeness::address_delay) and
    /// [`connections_per_address`](crate::frontier::Politeness::connections_per_address).
    ///
    /// The least address stands for all; of IPv6 addresses, the first 64 bits. Pass them with each lease: repeating them costs next to
    /// nothing. If they are not known, because a proxy looks them up, pass none: the request then counts for no address.
    ///
    /// ```
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, Next, Outcome, Resolved, Timestamp};
    ///
    /// let now = Timestamp::from_micros(0);
    /// let mut options = FrontierOptions::default();
    /// options.politeness.connections_per_address = 1;
    /// let mut frontier = Frontier::new(&options)?;
    /// for seed in ["https://a.example/", "https://b.example/"] {
    ///     frontier.seed(seed, now)?;
    /// }
    /// let Next::Fetch(mut a) = frontier.next(now)? else { panic!("it is due") };
    /// let Next::Fetch(mut b) = frontier.next(now)? else { panic!("it is due, as far as anybody knows") };
    /// let addresses = ["192.0.2.1".parse()?];
    /// assert_eq!(frontier.resolved(&mut a, &addresses, now)?, Resolved::Connect);
    /// assert_eq!(frontier.resolved(&mut b, &addresses, now)?, Resolved::Release);
    /// frontier.complete(b, Outcome::Released, now)?;
    /// assert!(matches!(frontier.next(now)?, Next::Busy));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ForeignLease`](FrontierError::ForeignLease).
    pub fn resolved(
        &mut self,
        lease: &mut Lease,
        addresses: &[IpAddr],
        now: Timestamp,
    ) -> Result<Resolved, FrontierError> {
        self.check_is_out(lease)?;
        self.note_hand(lease);
        let Some(address) = lease.address_among(addresses) else { return Ok(Resolved::Connect) };
        let resolved = self.queues.resolved(&mut self.state, lease, address, now);
        if lease.token.is_some() {
            self.keep_in_table(lease);
        }
        Ok(resolved)
    }
}
