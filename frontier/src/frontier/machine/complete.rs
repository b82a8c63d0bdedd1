//! Leases come back: what becomes of the page, and the new status of its host and of its server's other ports.
//!
//! Two things are decided: the *host's* new status, as a [`HostStatus`] (its clock, its failures in a row, whether it is retired), and the
//! *page's* fate, as an `After`:
//!
//! | after | the page |
//! |---|---|
//! | done | leaves its queue, with its record |
//! | again | as done, and is scheduled for a later visit |
//! | later | leaves its queue for the schedule, until its next try |
//! | moved | is queued in its old place at another spelling of its key |
//! | parked | was given up: has a record, and waits until it is asked for again |
//! | tried, untried | stays its host's next page, with one try less, or with all its tries |
//!
//! Both are in one record, so no crash can come between them: in `Settled`, or in `Again` if the page has a new entry. If the journal
//! cannot take the record, nothing has changed, and the page goes next.
//!
//! # In an embedder's own loop
//!
//! [`seed`](Frontier::seed) and [`links`](Frontier::links) take URLs as texts, [`answer`](Frontier::answer) takes a whole reply. A crawl
//! with many workers calls the [`Gate`](crate::gate::Gate) itself.
//!
//! # A slow host rests longer
//!
//! With [`adaptive_share`](crate::frontier::Politeness::adaptive_share) the rest of a host follows its latency: it grows at once with a
//! slow answer, and shrinks by half the difference with a quick one. Only a 2xx lets it shrink: an error often comes quickly because the
//! host is overloaded.
//!
//! The learned rest is not state: a host's status has only the time when it is due. After a restart or an eviction the host rests as if
//! nothing had been learned, until its next answer.

use std::io;
use std::time::Duration;

use super::{Frontier, FrontierError};
use crate::frontier::durable::{Entry, HostRecord, Journal, Receipt, Receipts, ReceiptsBuf, Record, Settled};
use crate::frontier::hosts::{HostCost, HostId, HostStatus};
use crate::frontier::lease::outcome::{self, Redirect};
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::{Completion, Failure, Href, Lease, LeaseKind, Outcome, Reply, Timestamp, Trouble};
use crate::gate::{Admitted, Found, Position, Refusal};

impl<J: Journal> Frontier<J> {
    /// Takes a lease back. O(log hosts). If its host was [done](Self::answered) before, the outcome is only the page's.
    ///
    /// A response below 500, other than 408, 425 and 429, is final. Everything else is a failure:
    ///
    /// - Of the *host*, if there is no connection ([`Connect`](Failure::Connect), [`Dns`](Failure::Dns), [`Tls`](Failure::Tls)) or no
    ///   robots.txt. The host rests for a [backoff](crate::frontier::Politeness::backoff) that doubles with each failure in a row, and the
    ///   page keeps its tries. After [`host_failures`](crate::frontier::Politeness::host_failures) in a row the host is retired: its URLs
    ///   are [given up](crate::frontier::Next::GiveUp) as their turn comes, until it is [asked again](Self::ask_again).
    /// - Of the *host* again, if it says that it is asked too often: 429. It rests as above, or for as long as its Retry-After says, and
    ///   the page is asked for next, with all its tries. Only when the failures in a row reach half of those that retire the host does the
    ///   page asked for then lose one try and go after others: it may be this one page that is never answered.
    /// - Of the *host and the page*, if the host may be overloaded: a timeout, 408, 425, 503. The host rests as above, or for as long as
    ///   its Retry-After says, and the page loses one of its [`attempts`](crate::frontier::Politeness::attempts).
    /// - Of the *page*: another 5xx, a response that breaks off. The page waits for its next try, and the host goes on. Four different
    ///   pages that break in a row count as one failure of the host. Its robots.txt is asked for next, and if that is answered well, the
    ///   host is well: only a part of it is broken, and the pages that follow are not given up.
    /// - Of the *fetcher*, [`Lost`](Failure::Lost): the page loses one try.
    ///
    /// A robots.txt is tried again in the same way. Known rules stay in force while it cannot be had, up to 30 days (RFC 9309 section
    /// 2.3.1.4).
    ///
    /// # Errors
    /// If the journal's storage fails: the lease is back as if it had been released, and nothing else has changed.
    /// [`ForeignLease`](FrontierError::ForeignLease) if another frontier lent it: nothing has changed.
    pub fn complete(
        &mut self,
        mut lease: Lease,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        self.end_lease(&mut lease, outcome, Receipts::default(), now)
    }

    /// As [`complete`](Self::complete), for a page that is written to outputs. If the page is [done](Completion::Done), the caller then
    /// appends the bytes that the receipts describe, before those of any other page. After a crash, the page counts as done only if the
    /// outputs have these bytes.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    ///
    /// # Panics
    /// If an output's name has more than 255 bytes, or the receipts take more than 63 KiB.
    pub fn complete_with(
        &mut self,
        mut lease: Lease,
        outcome: Outcome,
        receipts: &[(&str, Receipt)],
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        self.end_lease(&mut lease, outcome, ReceiptsBuf::of(receipts).list(), now)
    }

    /// Takes a lease back: frees its places first, then judges and journals the outcome, and seats its host.
    pub(super) fn end_lease(
        &mut self,
        lease: &mut Lease,
        outcome: Outcome,
        receipts: Receipts<'_>,
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        self.check_is_out(lease)?;
        self.note_hand(lease);
        if lease.is_in_hand {
            return self.end_page(lease, outcome, receipts, now);
        }
        // The host's rest begins when the host had answered, not when the page had been read.
        let answered_at = lease.answered_at.map_or(now, |at| at.min(now));
        self.queues.take_back(&mut self.state, lease, &outcome, answered_at, now);
        let news = self.server_news(lease, &outcome);
        if lease.trouble.is_none() {
            let was_sent = !matches!(outcome, Outcome::Released | Outcome::GivenUp);
            self.rate.end(lease.charged, was_sent.then_some(lease.received));
        }
        self.adapt(lease, &outcome);
        let was_spent = self.state.budget_refusal(lease.host).is_some();
        let completion = match lease.position {
            Some(position) => self.complete_page(lease, position, outcome, receipts, answered_at),
            None => self.complete_robots(lease, outcome, answered_at),
        };
        let completion = if lease.token.is_some() { self.end_token(lease, completion) } else { completion };
        self.queues.note_spent(&mut self.state, lease.host, was_spent, now);
        if let Some(news) = news {
            self.share_status(lease, news, answered_at, now);
        }
        self.queues.take_seat(&mut self.state, lease, now);
        Ok(completion?
            .unwrap_or_else(|| Completion::Retry(self.queues.rested(self.state.host(lease.host), lease.host))))
    }

    /// Whether a host counts as failing: its last requests brought no answer, or one that counts against it.
    #[cfg(feature = "lending")]
    pub(crate) fn is_failing(&self, host: HostId) -> bool {
        self.state.host(host).status.failures > 0
    }

    /// Whether this frontier lent it. A lease cannot be cloned, so holding one proves it is outstanding, unless it has a token: then it may
    /// have been taken back.
    pub(crate) fn check_is_out(&self, lease: &Lease) -> Result<(), FrontierError> {
        match lease.token {
            _ if lease.frontier != self.id => Err(FrontierError::ForeignLease),
            Some(token) if self.state.leases().get(token).is_none() => Err(FrontierError::LeaseOver(token)),
            _ => Ok(()),
        }
    }

    /// Takes a page back, and says what became of it; `None` if it stays its host's next page.
    ///
    /// A page that is given up says nothing about its host, which was not asked. Otherwise the outcome is an answer or a setback with a
    /// blame, and the blame decides whether and when the page is tried again.
    fn complete_page(
        &mut self,
        lease: &Lease,
        position: Position,
        outcome: Outcome,
        receipts: Receipts<'_>,
        now: Timestamp,
    ) -> io::Result<Option<Completion>> {
        // If the page is tried again, this time is dropped: the next lease may set another.
        let again = self.again.remove(&position);
        let mut update = self.state.host(lease.host).status.clone();
        if lease.trouble.is_some() {
            // Nothing was asked, so the outcome says nothing.
            return match outcome {
                Outcome::Released | Outcome::Failed(Trouble { failure: Failure::Lost, .. }) => Ok(None),
                _ => self.settle(lease, position, update, After::Parked, receipts),
            };
        }
        let rest = self.queues.rest(self.state.host(lease.host), lease, now);
        let setback = match outcome {
            Outcome::Released | Outcome::GivenUp => return Ok(None),
            Outcome::Moved { to } => {
                update.answer(302, None, rest.is_late);
                update.due = rest.over;
                return self.follow(lease, position, update, &to, again, receipts);
            }
            Outcome::Failed(trouble) => Some(Setback::failed(trouble)),
            Outcome::Response { status, retry_after } | Outcome::Robots { status, retry_after, .. } => {
                update.answer(status, retry_after, rest.is_late)
            }
        };
        let done = again.map_or(After::Done, After::Again);
        let Some(setback) = setback else {
            update.due = rest.over;
            return self.settle(lease, position, update, done, receipts);
        };
        let counts = update.set_back(&setback, lease.attempt == 1, rest, &self.politeness, now);
        if counts {
            self.queues.begin_failure_epoch(lease.host);
        }
        let is_untried = setback.blame == Blame::Host || self.keeps_tries(&setback, counts, &update);
        let after = if is_untried { After::Untried } else { self.after(lease, &setback, done, &update, now) };
        self.settle(lease, position, update, after, receipts)
    }

    /// What becomes of a page after a failed try; `done` if it was the last. `update` is the host's status after it.
    pub(super) fn after<'a>(
        &self,
        lease: &Lease,
        setback: &Setback,
        done: After<'a>,
        update: &HostStatus,
        now: Timestamp,
    ) -> After<'a> {
        let is_last = setback.trouble.failure.is_final() || lease.is_last_try();
        match setback.blame {
            _ if is_last => done,
            // It is given up together with its host's other pages.
            _ if update.is_retired() => After::Tried,
            Blame::Fetcher | Blame::Host => After::Tried,
            // The host rests for its Retry-After in any case, so the page may stay first.
            Blame::Load if setback.retry_after.is_some() => After::Tried,
            Blame::Load | Blame::Rate => After::Later(update.due),
            Blame::Page => After::Later(now + self.politeness.backoff_of(lease.attempt.into())),
        }
    }

    /// Whether a page keeps its tries because its host only asked for fewer requests. `counts` says whether that was a new failure of the
    /// host, and `update` is the host's status after it.
    pub(super) fn keeps_tries(&self, setback: &Setback, counts: bool, update: &HostStatus) -> bool {
        setback.blame == Blame::Rate && (!counts || update.is_retired() || !self.doubts_page(update.failures))
    }

    /// Whether a page that a host refuses to answer goes after others and loses one try: once in a row of failures, halfway to the host's
    /// retirement. So one page that is always refused does not retire its host, and if a host refuses all pages, only one page in each such
    /// row loses a try.
    fn doubts_page(&self, failures: u16) -> bool {
        u32::from(failures) == self.politeness.host_failures.div_ceil(2)
    }

    /// Writes the fate of the page and the status of its host as one record. Only a page that is done has receipts in it: the outputs have
    /// nothing of other pages.
    pub(super) fn settle(
        &mut self,
        lease: &Lease,
        position: Position,
        update: HostStatus,
        after: After<'_>,
        receipts: Receipts<'_>,
    ) -> io::Result<Option<Completion>> {
        if lease.url().is_empty()
            && !matches!(after, After::Done | After::Tried | After::Untried)
            && let Some(whole) = self.whole(lease)?
        {
            // The page has a new entry, which is made from the old one.
            return self.settle(&whole, position, update, after, receipts);
        }
        let done = after.is_done();
        let before = lease.attempt - 1 - lease.earlier;
        let attempts =
            before.saturating_add(u8::from(!matches!(after, After::Moved(_) | After::Untried | After::Parked)));
        let receipts = if done { receipts } else { Receipts::default() };
        let yielded = lease.yielded.as_deref().copied().filter(|_| done).map(|yielded| (yielded, lease.page_host()));
        let is_page = done && lease.kind == LeaseKind::Page;
        // A page that is given up was not requested.
        let cost = lease.trouble.as_ref().map_or(HostCost { is_page, bytes: lease.received }, |_| HostCost::default());
        let (host, status, priority) = (lease.host_key(), update, lease.priority);
        let is_overdue = false;
        let settled = Settled { host, status, position, priority, attempts, done, receipts, yielded, cost, is_overdue };
        let name = self.move_ups.name_of_page(lease);
        match self.entry_after(lease, after)? {
            None => {
                self.state.commit_with(
                    &mut self.journal,
                    &Record::Settled(settled),
                    Some(lease.host),
                    (None, lease.token),
                )?;
                if done {
                    self.release_metadata(position, lease.metadata.len());
                    self.move_ups.left(name, position);
                }
            }
            Some(entry) => {
                // The gate remembers the URL from the entry that this one replaces.
                let url = match entry.replaces {
                    None => self.gate().canonicalizer().canonicalize(entry.wire).ok(),
                    Some(_) => None,
                };
                let front = entry.not_before.is_none().then_some(priority);
                let again = Record::Again { settled, entry };
                let by =
                    self.state.commit_with(&mut self.journal, &again, Some(lease.host), (url.as_ref(), lease.token))?;
                self.move_ups.left(name, position);
                self.move_ups.came(name, by, front);
                self.release_metadata(position, lease.metadata.len());
            }
        }
        Ok(match after {
            After::Later(at) => Some(Completion::Retry(at)),
            _ if done => Some(Completion::Done),
            _ => None,
        })
    }

    /// The new entry of a page that waits for a time or has moved; `None` if it keeps its entry. It keeps the referrer of the previous
    /// entry, which is read for it.
    fn entry_after<'a>(&mut self, lease: &'a Lease, after: After<'a>) -> io::Result<Option<Entry<'a>>> {
        let not_before = match after {
            After::Done | After::Tried | After::Untried => return Ok(None),
            After::Again(at) | After::Later(at) => Some(at),
            After::Moved(_) => None,
            After::Parked => Some(Entry::NEVER),
        };
        let referrer = lease.position().map_or(Ok(None), |at| self.journal.read(at).map(|entry| entry.referrer))?;
        let blank = Entry { referrer, not_before, ..lease.entry(lease.url()) };
        Ok(Some(match after {
            After::Later(_) => Entry { attempts: lease.attempt, ..blank },
            // Redirects are counted anew: otherwise a page that is reached by a redirect each time would be refused after some visits.
            After::Again(_) => Entry { redirects: 0, replaces: None, ..blank },
            After::Moved(to) => Entry { wire: to, redirects: lease.redirects + 1, ..blank },
            _ => blank,
        }))
    }

    /// The page is asked for at another spelling of its key: a new entry replaces the old one, without a seen test. If it was redirected
    /// too often, or to a URL that cannot have the same key, it is done instead.
    pub(super) fn follow(
        &mut self,
        lease: &Lease,
        from: Position,
        update: HostStatus,
        to: &str,
        again: Option<Timestamp>,
        receipts: Receipts<'_>,
    ) -> io::Result<Option<Completion>> {
        let refusal = match self.gate().canonicalizer().canonicalize(to) {
            Err(error) => Some(Refusal::from(&error)),
            // Same key, same host; anything else has bypassed the gate.
            Ok(url) if url.origin() != lease.origin() => Some(Refusal::OutOfScope),
            Ok(_) if lease.redirects >= self.redirects => Some(Refusal::TooManyRedirects),
            Ok(_) => None,
        };
        if let Some(refusal) = refusal {
            self.gate().refuse(refusal);
            return self.settle(lease, from, update, again.map_or(After::Done, After::Again), receipts);
        }
        self.settle(lease, from, update, After::Moved(to), receipts)
    }

    /// Records a host's new status.
    pub(crate) fn note_host(&mut self, id: HostId, update: HostStatus, was_asked: bool) -> io::Result<()> {
        let key = self.state.host(id).key.clone();
        let host = HostRecord { host: key.as_str(), status: update, robots: None, was_asked, is_retry: false };
        let record = Record::Host(host);
        self.commit(&record, Some(id)).map(drop)
    }
}

/// The fate of a page whose lease came back.
#[derive(Clone, Copy, Debug)]
pub(super) enum After<'a> {
    /// Its record is its last.
    Done,
    /// Its record is its last until it is fetched again, at this time.
    Again(Timestamp),
    /// Its next try is not before this time; other pages of its host go first.
    Later(Timestamp),
    /// It takes its place in the queue at this spelling of its key, with all its tries.
    Moved(&'a str),
    /// Given up: it has a record, and waits until it is asked for again.
    Parked,
    /// It stays its host's next page, with one try less.
    Tried,
    /// It stays its host's next page, with all its tries.
    Untried,
}

impl After<'_> {
    /// The page leaves the queue with a record.
    const fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::Again(_) | Self::Parked)
    }
}

impl<J: Journal> Frontier<J> {
    /// Takes a lease back with the server's reply, and queues what the reply leads to: the links of a page, or the target of a redirect.
    /// The rules of a robots.txt are read.
    ///
    /// A page that redirects to another spelling of its own key is fetched there next, and so is a robots.txt that redirects. Any other
    /// target is queued like a link, and waits for its own host. So the client must not follow redirects by itself. If there was no reply,
    /// [complete](Self::complete) the lease with [`Outcome::Failed`].
    ///
    /// If a link cannot be written to the journal, the page is not done: it is lent again, and its links are found again.
    ///
    /// # Errors
    /// [`ForeignLease`](FrontierError::ForeignLease). With [`Metadata`](FrontierError::Metadata) or [`Storage`](FrontierError::Storage) the
    /// lease counts as released: the page is lent again.
    pub fn answer(&mut self, mut lease: Lease, reply: &Reply<'_>, now: Timestamp) -> Result<Completion, FrontierError> {
        self.check_is_out(&lease)?;
        lease.had(reply.body);
        match reply.pass(self.gate(), &lease) {
            Ok((outcome, admitted)) => self.take_back(lease, admitted, outcome, Receipts::default(), now),
            Err(error) => self.complete(lease, Outcome::Released, now).and(Err(error.into())),
        }
    }

    /// The outcome with which to complete a lease whose response redirects; queues the target, if that is another page. For callers that
    /// complete a lease [with a receipt](Self::complete_with); [`answer`](Self::answer) does this by itself.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn redirect(
        &mut self,
        lease: &Lease,
        status: u16,
        location: &str,
        now: Timestamp,
    ) -> Result<Outcome, FrontierError> {
        let plain = Outcome::response(lease, status, &[]);
        match Redirect::of(self.gate(), lease, location) {
            Ok(Redirect::Same(to)) => Ok(Outcome::Moved { to }),
            Ok(Redirect::Other(found)) => self.admit(found, now).map(|_| plain),
            Err(_) => Ok(plain),
        }
    }

    /// Queues the URLs that a page brought, and takes its lease back. If one of them cannot be journaled, the lease is released instead:
    /// were the page done, that link would never be found again.
    pub(crate) fn take_back(
        &mut self,
        mut lease: Lease,
        admitted: Vec<Admitted>,
        outcome: Outcome,
        receipts: Receipts<'_>,
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        let submitted = admitted.into_iter().try_for_each(|admitted| self.submit(admitted, now));
        match submitted.and_then(|()| Ok(self.move_up(now)?)) {
            Ok(()) => self.end_lease(&mut lease, outcome, receipts, now),
            Err(error) => self.complete(lease, Outcome::Released, now).and(Err(error)),
        }
    }
}

impl<J: Journal> Frontier<J> {
    /// Learns from a page that came back how long its host is to rest.
    pub(crate) fn adapt(&mut self, lease: &Lease, outcome: &Outcome) {
        let was_asked = lease.trouble.is_none() && !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        if lease.position.is_none() || !was_asked {
            return;
        }
        let wanted = lease.took.and_then(|took| self.politeness.adaptive_delay(took, lease.connections > 1));
        let Some(wanted) = wanted.map(|rest| u32::try_from(rest.as_micros().div_ceil(1000)).unwrap_or(u32::MAX)) else {
            return;
        };
        let before = self.state.host(lease.host).delay(&self.politeness);
        let learned = &mut self.state.seats()[lease.host].learned_ms;
        if wanted >= *learned {
            *learned = wanted;
        } else if matches!(outcome, Outcome::Response { status: 200..=299, .. }) {
            *learned = u32::midpoint(*learned, wanted);
        }
        let after = self.state.host(lease.host).delay(&self.politeness);
        self.queues.rest_longer(lease.host, after.saturating_sub(before));
    }

    /// A lease is back, and has changed the status of its host. Changes the status of the server's other ports too, as far as the outcome
    /// concerns them. If the journal cannot take a record, the ports that are left keep their status until the next failure.
    pub(super) fn share_status(
        &mut self,
        lease: &Lease,
        ServerNews { failures, fails, asks }: ServerNews,
        answered_at: Timestamp,
        now: Timestamp,
    ) {
        let Some(rate_group) = self.queues.server_of(lease.host) else { return };
        self.queues.server_answered(&self.state, rate_group, answered_at);
        let asked = self.state.host(lease.host).status.clone();
        let fails = fails && asked.failures > failures;
        if !fails && asks.is_none() {
            return;
        }
        // An evicted port comes back, because an evicted host cannot change.
        let key = self.state.host(lease.host).key.clone();
        if let Ok(Some(other)) = self.queues.other_port_of(&mut self.state, &mut self.journal, &key, now) {
            self.queues.join_server(&self.state, other, Some(lease.host), now);
        }
        let ports = self.queues.rate_groups().ports(rate_group).to_vec();
        let row = ports
            .iter()
            .filter(|id| **id != lease.host)
            .map(|id| self.state.host(*id).status.failures.saturating_add(1));
        let row = row.chain([asked.failures]).min().unwrap_or_default();
        let rest = asks
            .map_or_else(|| self.politeness.backoff_of(row.into()), |rest| rest.min(self.politeness.max_retry_after));
        let until = answered_at + rest;
        self.queues.rest_server(rate_group, until);
        for id in ports.into_iter().filter(|id| *id != lease.host) {
            let mut update = self.state.host(id).status.clone();
            if update.is_retired() {
                continue;
            }
            if let Some(failure_state) = asked.failure_state.as_ref().filter(|_| fails) {
                update.fail_with(failure_state, &self.politeness);
            }
            update.due = update.due.max(until);
            let is_retired = update.is_retired();
            if self.note_host(id, update, false).is_err() {
                return;
            }
            if fails {
                self.queues.begin_failure_epoch(id);
            }
            if !(is_retired && self.queues.reseat(&mut self.state, id, now)) {
                self.queues.count_outlook(&mut self.state, id);
            }
        }
    }

    /// What a lease's outcome may mean for the other ports of its server. Taken before the outcome is judged.
    #[inline]
    pub(super) fn server_news(&self, lease: &Lease, outcome: &Outcome) -> Option<ServerNews> {
        let was_sent = lease.trouble.is_none() && !matches!(outcome, Outcome::Released | Outcome::GivenUp);
        self.queues.server_of(lease.host).filter(|_| was_sent)?;
        let fails = match outcome {
            Outcome::Failed(trouble) => is_servers(trouble.failure),
            Outcome::Response { status, .. } | Outcome::Robots { status, .. } => Blame::of_status(*status).is_some(),
            _ => false,
        };
        Some(ServerNews { failures: self.state.host(lease.host).status.failures, fails, asks: outcome.asks_for() })
    }
}

/// What an outcome at one port means for the server's other ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerNews {
    /// The port's failures in a row before the outcome.
    failures: u16,
    /// It failed, and the failure may be the server's.
    fails: bool,
    /// The rest that it asked for.
    asks: Option<Duration>,
}

/// Whether a failure is the server's, and not only one port's.
const fn is_servers(failure: Failure) -> bool {
    matches!(failure, Failure::Dns | Failure::NoSuchHost | Failure::Timeout)
}
