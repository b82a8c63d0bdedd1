//! Leases come back: what becomes of the page, and the new status of its host and of its server's other ports.
//!
//! Two things are decided: the *host's* new status, as a [`HostStatus`] (its clock, its failures in a row, whether it is retired), and the
//! *page's* fate, as a [`PageFate`].
//!
//! Both are in one record, so no crash can come between them: in `Settled`, or in `Again` if the page has a new entry. If the journal
//! cannot take the record, nothing has changed, and the page goes next.
//!
//! # In an embedder's own loop
//!
//! [`answer`](Frontier::answer) takes a whole reply. A crawl with many workers calls the [`Gate`](crate::gate::Gate) itself.
//!
//! # The two ends of a lease
//!
//! ```text
//!            next              answered                    complete
//!   queued ───────▶ lent out ───────────▶ in hand ─────────────────────▶ done, or queued for another try
//!                      │      the host is done        ▲
//!                      └──────────────────────────────┘ complete: both ends at once
//! ```
//!
//! A page that was fetched may be worked on for seconds. Its host has nothing to do with that. So a caller may say when the host is done:
//! its connection is free, its rest runs, its failures are counted, and its next page may be lent. The page is then *in hand*: lent out
//! until it is completed or its deadline passes, and counted under a bound of its own,
//! [`pages_in_hand`](super::FrontierOptions::pages_in_hand).
//!
//! - **Each end is judged once.** The status that was reported decides what becomes of the host, and the outcome of the completion what
//!   becomes of the page: whether it is done, and when it is tried again. So a 503 counts once, and a completion clears no failure.
//! - **A kill between the two ends asks again.** The page's completion is its only record. What the answer says of the host is journaled
//!   only if it is more than a rest: a failure, a recovery, a first answer. The rest itself waits for the completion, since hosts rest
//!   after a restart anyway.
//! - **A token outlives the process**, so the answer to its page does too: it is journaled, and the page is still in hand after a restart.
//! - **A robots.txt has one end.** No page goes out before its rules are known.

use std::io;

use super::host_queues::ServerNews;
use super::page_fate::PageFate;
use super::{Frontier, FrontierError};
use crate::frontier::durable::{AnsweredRecord, HostRecord, Journal, Receipt, Receipts, ReceiptsBuf, Record, Settled};
use crate::frontier::hosts::{HostCost, HostId, HostStatus, Rest};
use crate::frontier::lease::outcome::Redirect;
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::{Completion, Failure, HostAnswer, Lease, LeaseKind, Outcome, Reply, Timestamp, Trouble};
use crate::gate::{Admitted, Position, Refusal};

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

    /// Takes a lease back: frees its places first, then judges and journals the outcome, and places its host.
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
        let news = self.queues.server_news(&self.state, lease, &outcome);
        if lease.trouble.is_none() {
            let was_sent = !matches!(outcome, Outcome::Released | Outcome::GivenUp);
            self.rate.end(lease.charged, was_sent.then_some(lease.received));
        }
        self.queues.adapt(&mut self.state, lease, &outcome);
        let was_spent = self.state.budget_refusal(lease.host).is_some();
        let completion = match lease.position {
            Some(position) => self.complete_page(lease, position, outcome, receipts, answered_at),
            None => self.robots().complete(lease, outcome, answered_at),
        };
        let completion = if lease.token.is_some() { self.end_token(lease, completion) } else { completion };
        self.queues.note_spent(&mut self.state, lease.host, was_spent, now);
        if let Some(news) = news {
            self.share_status(lease, news, answered_at, now);
        }
        self.queues.place_returned(&mut self.state, lease, now);
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
                _ => self.settle(lease, position, update, PageFate::Parked, receipts),
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
        let done = again.map_or(PageFate::Done, PageFate::Again);
        let Some(setback) = setback else {
            update.due = rest.over;
            return self.settle(lease, position, update, done, receipts);
        };
        let counts = update.set_back(&setback, lease.attempt == 1, rest, &self.politeness, now);
        if counts {
            self.queues.begin_failure_epoch(lease.host);
        }
        let is_untried = setback.blame == Blame::Host || update.keeps_tries(&setback, counts, &self.politeness);
        let fate = if is_untried {
            PageFate::Untried
        } else {
            PageFate::failed(lease, &setback, done, &update, &self.politeness, now)
        };
        self.settle(lease, position, update, fate, receipts)
    }

    /// Writes the fate of the page and the status of its host as one record. Only a page that is done has receipts in it: the outputs have
    /// nothing of other pages.
    pub(super) fn settle(
        &mut self,
        lease: &Lease,
        position: Position,
        update: HostStatus,
        fate: PageFate<'_>,
        receipts: Receipts<'_>,
    ) -> io::Result<Option<Completion>> {
        if lease.url().is_empty()
            && fate.has_entry()
            && let Some(whole) = self.whole(lease)?
        {
            // The page has a new entry, which is made from the old one.
            return self.settle(&whole, position, update, fate, receipts);
        }
        let done = fate.is_done();
        let before = lease.attempt - 1 - lease.earlier;
        let attempts =
            before.saturating_add(u8::from(!matches!(fate, PageFate::Moved(_) | PageFate::Untried | PageFate::Parked)));
        let receipts = if done { receipts } else { Receipts::default() };
        let yielded = lease.yielded.as_deref().copied().filter(|_| done).map(|yielded| (yielded, lease.page_host()));
        let is_page = done && lease.kind == LeaseKind::Page;
        // A page that is given up was not requested.
        let cost = lease.trouble.as_ref().map_or(HostCost { is_page, bytes: lease.received }, |_| HostCost::default());
        let (host, status, priority) = (lease.host_key(), update, lease.priority);
        let is_overdue = false;
        let settled = Settled { host, status, position, priority, attempts, done, receipts, yielded, cost, is_overdue };
        let name = self.move_ups.name_of_page(lease);
        let previous = lease.position().filter(|_| fate.has_entry());
        let referrer = previous.map_or(Ok(None), |at| self.journal.read(at).map(|entry| entry.referrer))?;
        match fate.entry(lease, referrer) {
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
        Ok(match fate {
            PageFate::Later(at) => Some(Completion::Retry(at)),
            _ if done => Some(Completion::Done),
            _ => None,
        })
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
            return self.settle(lease, from, update, again.map_or(PageFate::Done, PageFate::Again), receipts);
        }
        self.settle(lease, from, update, PageFate::Moved(to), receipts)
    }

    /// Records a host's new status.
    pub(crate) fn note_host(&mut self, id: HostId, update: HostStatus, was_asked: bool) -> io::Result<()> {
        let key = self.state.host(id).key.clone();
        let host = HostRecord { host: key.as_str(), status: update, robots: None, was_asked, is_retry: false };
        let record = Record::Host(host);
        self.commit(&record, Some(id)).map(drop)
    }
}

/// The two ends of a lease.
impl<J: Journal> Frontier<J> {
    /// Says that the host of a lease is done: it has answered, and the response is here. From now on the host may be asked for its next page
    /// by its clock, while this page stays lent until it is [completed](Self::complete) or its deadline passes.
    ///
    /// The answer decides what becomes of the host: when it may be asked again, and whether it fails. The outcome of the completion decides
    /// about the page alone, and nothing is counted twice. A page that is released or taken back after this is asked for again.
    ///
    /// At most [`pages_in_hand`](super::FrontierOptions::pages_in_hand) pages are in hand before [`next`](Self::next) lends nothing more,
    /// and at most 128 of one host before that host waits for one of them. This call itself is never refused for that: the host is done.
    ///
    /// For a robots.txt this is [`Lease::answered`], since no page goes out before its rules are known. For a page that is to be given up
    /// or is in hand already it does nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use crawler_frontier::frontier::{Frontier, FrontierOptions, HostAnswer, Next, Outcome, Timestamp};
    ///
    /// let mut options = FrontierOptions::default();
    /// (options.politeness.robots, options.politeness.host_delay) = (false, Duration::from_millis(250));
    /// let (mut frontier, now) = (Frontier::new(&options)?, Timestamp::from_micros(0));
    /// frontier.seed("https://example.org/1", now)?;
    /// frontier.seed("https://example.org/2", now)?;
    /// let Next::Fetch(mut first) = frontier.next(now)? else { panic!("it is due") };
    /// frontier.answered(&mut first, HostAnswer::new(200, now), now)?;
    ///
    /// // The first page is worked on for seconds, and its host rests for a quarter of one.
    /// let Next::Wait(until) = frontier.next(now)? else { panic!("the host rests") };
    /// let Next::Fetch(second) = frontier.next(until)? else { panic!("the host has rested") };
    /// assert_eq!((second.url(), frontier.statistics().in_hand), ("https://example.org/2", 1));
    /// let outcome = Outcome::response(&first, 200, b"");
    /// frontier.complete(first, outcome, until + Duration::from_secs(2))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ForeignLease`](FrontierError::ForeignLease) and [`LeaseOver`](FrontierError::LeaseOver): nothing has changed.
    /// [`Storage`](FrontierError::Storage): the page is in hand, and the host is as it was before it was asked.
    pub fn answered(&mut self, lease: &mut Lease, answer: HostAnswer, now: Timestamp) -> Result<(), FrontierError> {
        self.check_is_out(lease)?;
        self.note_hand(lease);
        // Nothing, if it is in hand.
        lease.answered(answer.at.min(now), answer.latency, answer.bytes);
        let Some(page) = lease.position.filter(|_| !lease.is_in_hand && lease.trouble.is_none()) else { return Ok(()) };
        let at = answer.at.min(now);
        let outcome = Outcome::Response { status: answer.status, retry_after: answer.retry_after };
        self.queues.take_back(&mut self.state, lease, &outcome, at, now);
        let news = self.queues.server_news(&self.state, lease, &outcome);
        self.rate.end(lease.charged, Some(lease.received));
        self.queues.adapt(&mut self.state, lease, &outcome);
        let rest = self.queues.rest(self.state.host(lease.host), lease, at);
        let (asked, journaled) = self.judge_host(lease, answer, rest, at);
        lease.is_in_hand = true;
        self.queues.take_in_hand(&mut self.state, (lease.host, page), (rest.over, asked));
        if lease.token.is_some() {
            self.keep_in_table(lease);
        }
        self.queues.count_left(&self.state, lease.host);
        if let Some(news) = news {
            self.share_status(lease, news, at, now);
        }
        self.queues.place_again(&mut self.state, lease.host, now);
        Ok(journaled?)
    }

    /// Judges what an answer says of the host, and journals it if it is more than a rest, or if the lease outlives the process. Returns when
    /// the rest is over that it asked for, if that is not journaled.
    fn judge_host(
        &mut self,
        lease: &mut Lease,
        answer: HostAnswer,
        rest: Rest,
        at: Timestamp,
    ) -> (Timestamp, io::Result<()>) {
        let mut update = self.state.host(lease.host).status.clone();
        if let Some(setback) = update.answer(answer.status, answer.retry_after, rest.is_late) {
            let counts = update.set_back(&setback, lease.attempt == 1, rest, &self.politeness, at);
            if counts {
                self.queues.begin_failure_epoch(lease.host);
            }
            lease.keeps_tries = update.keeps_tries(&setback, counts, &self.politeness);
        } else {
            update.due = rest.over;
        }
        if let Some(token) = lease.token {
            let (bytes, keeps_tries) = (lease.received, lease.keeps_tries);
            let record = AnsweredRecord { host: lease.host_key(), status: update, token, bytes, keeps_tries };
            let journaled = self.commit(&Record::Answered(record), Some(lease.host)).map(drop);
            return (Timestamp::default(), journaled);
        }
        let before = &self.state.host(lease.host).status;
        if (HostStatus { due: update.due, ..before.clone() }) == update {
            return (update.due, Ok(()));
        }
        (Timestamp::default(), self.note_host(lease.host, update, false))
    }

    /// A page in hand is complete. Its host was judged before, and is placed.
    pub(super) fn end_page(
        &mut self,
        lease: &Lease,
        outcome: Outcome,
        receipts: Receipts<'_>,
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        let was_spent = self.state.budget_refusal(lease.host).is_some();
        self.queues.leaves_hand(&self.state, lease.host);
        let completion = match lease.position {
            Some(position) => self.complete_in_hand(lease, position, outcome, receipts, now),
            None => Ok(None),
        };
        let completion = if lease.token.is_some() { self.end_token(lease, completion) } else { completion };
        let kept = self.keep_rest(lease.host);
        self.queues.note_spent(&mut self.state, lease.host, was_spent, now);
        self.queues.wake_groups(&mut self.state, lease.host, now);
        self.queues.place_returned(&mut self.state, lease, now);
        let completion = completion?;
        kept?;
        Ok(completion.unwrap_or_else(|| Completion::Retry(self.state.host(lease.host).status.due)))
    }

    /// What becomes of the page; `None` if it goes back to the head of its queue as it was. Of its host's status only the rest may change,
    /// if nothing was journaled of that before.
    fn complete_in_hand(
        &mut self,
        lease: &Lease,
        position: Position,
        outcome: Outcome,
        receipts: Receipts<'_>,
        now: Timestamp,
    ) -> io::Result<Option<Completion>> {
        let again = self.again.remove(&position);
        let host = self.state.host(lease.host);
        let update = HostStatus { due: self.queues.rested(host, lease.host), ..host.status.clone() };
        let setback = match outcome {
            Outcome::Released | Outcome::GivenUp => return Ok(None),
            Outcome::Moved { to } => return self.follow(lease, position, update, &to, again, receipts),
            Outcome::Failed(trouble) => Some(Setback::failed(trouble)),
            Outcome::Response { status, retry_after } | Outcome::Robots { status, retry_after, .. } => {
                HostStatus::default().answer(status, retry_after, true)
            }
        };
        let done = again.map_or(PageFate::Done, PageFate::Again);
        let fate = match setback {
            None => done,
            // Its host asked for fewer requests, and said nothing of the page.
            Some(Setback { blame: Blame::Rate, .. }) if lease.keeps_tries => PageFate::Untried,
            Some(setback) => PageFate::failed(lease, &setback, done, &update, &self.politeness, now),
        };
        self.settle(lease, position, update, fate, receipts)
    }

    /// The last page in hand takes with it what is known of its host's rest. Journals the rest, if the page's own record has not.
    pub(super) fn keep_rest(&mut self, id: HostId) -> io::Result<()> {
        let host = self.state.host(id);
        let due = self.queues.rested(host, id);
        if due == host.status.due {
            return Ok(());
        }
        self.note_host(id, HostStatus { due, ..host.status.clone() }, false)
    }
}

/// In an embedder's own loop.
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

/// The other ports of a server.
impl<J: Journal> Frontier<J> {
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
            if !(is_retired && self.queues.end_wait(&mut self.state, id, now)) {
                self.queues.count_outlook(&mut self.state, id);
            }
        }
    }
}
