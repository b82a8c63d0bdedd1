//! Leases that end at a deadline, and come back by a number.
//!
//! With [`lease_timeout`](super::FrontierOptions::lease_timeout), a lease may go to another process, which may die:
//!
//! ```text
//!            next                        extend_token
//!   queued ─────────▶ out under a token ─────────────▶ the same, with a later deadline
//!     ▲                │   │
//!     │  expire        │   │ complete_token, answer_token, give_back_token, or complete with the lease itself
//!     └────────────────┘   └──▶ back; the answer is remembered
//! ```
//!
//! - **A token is a number that no other lease has.** A call with the token of a lease that was taken back is refused
//!   ([`LeaseOver`](FrontierError::LeaseOver)) and changes nothing: the URL may be out again, under another token. This is *fencing*.
//! - **A repeated call gets the first answer.** A client whose connection broke may send a completion again: it gets the answer that the
//!   first one got, until 16,384 further leases have gone out. After that it is refused, as a repeated completion of a robots.txt always
//!   is, and nothing is counted twice.
//! - **A page in hand keeps its token** and its deadline: see [`answered_token`](Frontier::answered_token).
//! - **The deadline is when a lease may be taken back.** A completion that comes later is still in time if neither
//!   [`expire`](Frontier::expire) nor [`next`](Frontier::next) was called meanwhile.
//!
//! # Restarts
//!
//! A lease, its extensions and its return are journaled. So leases are still out after a restart, and their hosts are asked nothing else,
//! until they come back or their deadlines have passed. If a token leaves the process, [flush](Frontier::flush) the journal first: a lease
//! whose record was lost in a crash is refused, and its URL is lent again at once. A resume without `lease_timeout` still keeps the promises
//! of the run before.
//!
//! # Costs
//!
//! A lease takes 44 to 47 bytes while it is out, and 24 bytes of the journal. `expire` takes a microsecond for each overdue lease, and
//! reads one word if none is. Without `lease_timeout` there are no such costs.

use std::io;
use std::time::Duration;

use super::{Frontier, FrontierError, FrontierOptions};
use crate::address::HostKey;
use crate::frontier::durable::{HostRecord, Journal, LentRecord, Receipts, Record, Settled, read_wire};
use crate::frontier::hosts::{HostCost, HostId};
use crate::frontier::lease::Texts;
use crate::frontier::queues::Queued;
use crate::frontier::state::{LATEST, LeaseAnswer, OutLease};
use crate::frontier::{Completion, Failure, HostAnswer, Lease, LeaseToken, Outcome, Reply, Timestamp, Trouble};
use crate::gate::Position;

/// When leases end, and what that costs their pages.
#[derive(Debug)]
pub(super) struct Deadlines {
    /// How long a lease lasts, if leases end.
    timeout: Option<Duration>,
    /// Whether a page loses a try if its lease ends.
    cost_tries: bool,
    /// Leases that were taken back because their deadlines had passed.
    expired: u64,
}

impl Deadlines {
    /// No lease is out.
    pub(super) fn new(options: &FrontierOptions) -> Self {
        Self { timeout: options.lease_timeout, cost_tries: options.counts_expired, expired: 0 }
    }

    /// The deadline of a lease that goes out now, in whole milliseconds, as the journal has it; `None` if leases do not end.
    pub(super) fn of(&self, now: Timestamp) -> Option<Timestamp> {
        let millis = |timeout| (now + timeout).as_micros().div_ceil(1000);
        self.timeout.map(|timeout| LATEST.min(Timestamp::from_micros(millis(timeout).saturating_mul(1000))))
    }

    /// When a lease with this deadline went out, unless it was extended.
    fn lent_at(&self, deadline: Timestamp) -> Timestamp {
        deadline.before(self.timeout.unwrap_or_default())
    }

    /// Whether the leases of a page have ended as often as it has tries.
    fn have_passed_too_often(&self, lease: &Lease) -> bool {
        self.cost_tries && self.timeout.is_some() && lease.attempt > lease.attempts
    }

    /// Leases that were taken back.
    pub(super) fn expired(&self) -> u64 {
        self.expired
    }
}

impl<J: Journal> Frontier<J> {
    /// The lease of a token, as it went out, for all calls that take a lease: [`links`](Self::links), [`answer`](Self::answer),
    /// [`complete_with`](Self::complete_with). Drop it if you need it no more: it stays out. Reads its entry from the journal.
    ///
    /// Its [`lent_at`](Lease::lent_at) is its deadline less [`lease_timeout`](super::FrontierOptions::lease_timeout).
    ///
    /// # Errors
    /// [`LeaseOver`](FrontierError::LeaseOver) if it came back or was taken back; [`ForeignLease`](FrontierError::ForeignLease) if this
    /// frontier never lent it; [`Storage`](FrontierError::Storage).
    pub fn redeem(&mut self, token: LeaseToken) -> Result<Lease, FrontierError> {
        let Some(out) = self.state.leases().get(token).copied() else { return Err(self.refused(token)) };
        Ok(self.lease_of(token, &out)?)
    }

    /// As [`complete`](Self::complete), by a token. The same completion twice gets the same answer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use crawler_frontier::frontier::{Completion, Frontier, FrontierError, FrontierOptions, LeaseToken, Next, Outcome, Timestamp};
    ///
    /// let mut options = FrontierOptions::default();
    /// options.politeness.robots = false;
    /// options.lease_timeout = Some(Duration::from_secs(60));
    /// let mut frontier = Frontier::new(&options)?;
    /// let start = Timestamp::from_micros(0);
    /// frontier.seed("https://example.org/", start)?;
    ///
    /// // A worker gets the URL and the token, as text, and is not heard of for a minute.
    /// let Next::Fetch(lease) = frontier.next(start)? else { panic!("it is due") };
    /// let (url, token) = (lease.url().to_owned(), lease.token().expect("leases end").to_string());
    /// let Next::Wait(later) = frontier.next(start)? else { panic!("its deadline") };
    /// assert_eq!(later, start + Duration::from_secs(60));
    /// assert!(matches!(frontier.next(later)?, Next::Wait(_)), "the host rests");
    /// let Next::Fetch(again) = frontier.next(later + Duration::from_secs(1))? else { panic!("another worker gets it") };
    /// assert_eq!(again.url(), url);
    ///
    /// // The first worker is too late, and changes nothing.
    /// let late: LeaseToken = token.parse()?;
    /// let page = || Outcome::Response { status: 200, retry_after: None };
    /// assert!(matches!(frontier.complete_token(late, page(), later), Err(FrontierError::LeaseOver(_))));
    /// // The second one is not, and may ask twice.
    /// let token = again.token().expect("leases end");
    /// for _ in 0..2 {
    ///     assert_eq!(frontier.complete_token(token, page(), later)?, Completion::Done);
    /// }
    /// assert_eq!(frontier.statistics().completed, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`redeem`](Self::redeem).
    pub fn complete_token(
        &mut self,
        token: LeaseToken,
        outcome: Outcome,
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        if let Some(completion) = self.answered_before(token) {
            return Ok(completion);
        }
        let mut lease = self.redeem_for(token, &outcome)?;
        let completion = self.end_lease(&mut lease, outcome, Receipts::default(), now);
        self.key_of_plain = lease.texts.into_buffer();
        completion
    }

    /// As [`answer`](Self::answer), by a token. The same answer twice gets the same completion, and its links are queued once.
    ///
    /// # Errors
    /// As [`redeem`](Self::redeem).
    pub fn answer_token(
        &mut self,
        token: LeaseToken,
        reply: &Reply<'_>,
        now: Timestamp,
    ) -> Result<Completion, FrontierError> {
        match self.answered_before(token) {
            Some(completion) => Ok(completion),
            None => self.redeem(token).and_then(|lease| self.answer(lease, reply, now)),
        }
    }

    /// As [`answered`](Self::answered), by a token. It is journaled, so the page is in hand after a restart too. A second call changes
    /// nothing, nor does a call for a robots.txt, whose lease has one end.
    ///
    /// # Errors
    /// As [`redeem`](Self::redeem), also if it was completed.
    pub fn answered_token(
        &mut self,
        token: LeaseToken,
        answer: HostAnswer,
        now: Timestamp,
    ) -> Result<(), FrontierError> {
        let mut lease = self.redeem(token)?;
        self.answered(&mut lease, answer, now)
    }

    /// Gives a lease more time: its deadline is now a [`lease_timeout`](super::FrontierOptions::lease_timeout) after `now`, if that is
    /// later. Returns the deadline. For workers that report from time to time that they still work.
    ///
    /// # Errors
    /// As [`redeem`](Self::redeem).
    pub fn extend_token(&mut self, token: LeaseToken, now: Timestamp) -> Result<Timestamp, FrontierError> {
        let Some(before) = self.state.leases().get(token).map(OutLease::deadline) else {
            return Err(self.refused(token));
        };
        // A run without the option extends nothing, and keeps what the run before has promised.
        let deadline = self.deadlines.of(now).unwrap_or(before);
        if deadline <= before {
            return Ok(before);
        }
        self.commit(&Record::Extended { token, deadline }, None)?;
        Ok(deadline)
    }

    /// Gives a lease back whose URL was not requested, as [`Outcome::Released`] does. A second call changes nothing.
    ///
    /// # Errors
    /// As [`redeem`](Self::redeem), also if it was completed.
    pub fn give_back_token(&mut self, token: LeaseToken, now: Timestamp) -> Result<(), FrontierError> {
        if self.state.leases().answer(token) == Some(LeaseAnswer::GivenBack) {
            return Ok(());
        }
        let lease = self.redeem(token)?;
        self.complete(lease, Outcome::Released, now).map(drop)
    }

    /// Takes back the leases whose deadlines have passed, and says how many. Their URLs are lent again after their hosts' rests. O(their
    /// number). [`next`](Self::next) calls it.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage), if the journal fails.
    pub fn expire(&mut self, now: Timestamp) -> Result<usize, FrontierError> {
        let mut taken = 0;
        while let Some(token) = self.state.leases().overdue(now) {
            let Some(out) = self.state.leases().get(token).copied() else { break };
            let lease = self.lease_of(token, &out)?;
            self.take_overdue(&lease, now)?;
            taken += 1;
        }
        Ok(taken)
    }

    /// The answer that its completion got, if that is remembered.
    fn answered_before(&self, token: LeaseToken) -> Option<Completion> {
        match self.state.leases().answer(token)? {
            LeaseAnswer::Done => Some(Completion::Done),
            LeaseAnswer::Retry(at) => Some(Completion::Retry(at)),
            LeaseAnswer::GivenBack => None,
        }
    }

    /// Why the token of a lease that is not out is refused.
    fn refused(&self, token: LeaseToken) -> FrontierError {
        let is_known = token.number() <= self.state.leases().last_number();
        if is_known { FrontierError::LeaseOver(token) } else { FrontierError::ForeignLease }
    }
}

/// Leases with tokens go out, and come back.
impl<J: Journal> Frontier<J> {
    /// Gives a lease that goes out its token and this deadline, and journals both.
    pub(super) fn begin_token(&mut self, lease: &mut Lease, deadline: Timestamp) -> io::Result<()> {
        let token = self.state.leases().next_token(lease.lent_at);
        let page = lease.position;
        let texts = if page.is_some() { None } else { Some((lease.host_key(), lease.url())) };
        let (host, url) = texts.unwrap_or_default();
        let of_queue = lease.queue.as_ref().map(|_| lease.origin()).filter(|_| page.is_none());
        let for_other = of_queue.or(lease.for_other()).unwrap_or_default();
        let attempt = if page.is_some() { 0 } else { lease.attempt };
        let lent = LentRecord { token, deadline, page, host, for_other, url, attempt };
        self.commit(&Record::Lent(lent), Some(lease.host))?;
        self.state.leases_mut().begin();
        lease.token = Some(token);
        Ok(())
    }

    /// A lease with a token may have been answered by another copy of it.
    pub(super) fn note_hand(&self, lease: &mut Lease) {
        if let Some(out) = lease.token.and_then(|token| self.state.leases().get(token))
            && out.page.is_in_hand()
            && !lease.is_in_hand
        {
            (lease.is_in_hand, lease.keeps_tries) = (true, out.page.keeps_tries());
            lease.received = out.charged.into();
        }
    }

    /// Keeps in the table what the lease's return will need and the journal does not have.
    pub(super) fn keep_in_table(&mut self, lease: &Lease) {
        let Some(out) = lease.token.and_then(|token| self.state.leases_mut().get_mut(token)) else { return };
        out.page = out.page.with(lease);
        out.host = lease.host;
        out.address = lease.address.map(|on| on.rate_group);
        let bytes = if lease.is_in_hand { lease.received } else { lease.charged };
        out.charged = u32::try_from(bytes).unwrap_or(u32::MAX);
        out.set_failure_epoch(lease.failure_epoch);
    }

    /// The lease of a token, to complete it with this outcome. For a [plain](Lease::is_plain) lease the entry is not read, so the lease has
    /// no URL: [`whole`](Self::whole) reads it.
    fn redeem_for(&mut self, token: LeaseToken, outcome: &Outcome) -> Result<Lease, FrontierError> {
        let Some(out) = self.state.leases().get(token).copied() else { return Err(self.refused(token)) };
        let needs_url = self.move_ups.are_on() || matches!(outcome, Outcome::Moved { .. });
        let Some(position) = out.page.position().filter(|_| out.page.is_plain() && !needs_url) else {
            return Ok(self.lease_of(token, &out)?);
        };
        let lent_at = self.deadlines.lent_at(out.deadline());
        let mut lease = self.blank_lease(out.host, lent_at);
        let key = self.state.host(out.host).key.as_str();
        lease.be_plain(position, out.page.priority(), self.state.back().tries(position));
        lease.texts = Texts::of_key(std::mem::take(&mut self.key_of_plain), key);
        self.give_token(&mut lease, token, &out);
        Ok(lease)
    }

    /// The same lease with its URL, if it was redeemed without.
    #[cold]
    pub(super) fn whole(&mut self, lease: &Lease) -> io::Result<Option<Box<Lease>>> {
        let Some((token, out)) = lease.token.and_then(|token| Some((token, *self.state.leases().get(token)?))) else {
            return Ok(None);
        };
        self.lease_of(token, &out).map(Box::new).map(Some)
    }

    /// The lease of a token that is out.
    fn lease_of(&mut self, token: LeaseToken, out: &OutLease) -> io::Result<Lease> {
        let lent_at = self.deadlines.lent_at(out.deadline());
        let mut lease = self.blank_lease(out.host, lent_at);
        if let Some(position) = out.page.position() {
            let queued = Queued { position, priority: out.page.priority() };
            let entry = self.journal.read(position)?;
            let referrer = entry.referrer;
            self.state.fill(&mut lease, queued, &entry);
            if let Some(referrer) = referrer
                && let Some(referrer) = read_wire(&mut self.journal, referrer)?
            {
                lease.texts.set_referrer(referrer);
            }
        } else {
            self.state.fill_robots(&mut lease, out.page.priority());
        }
        if out.page.is_given_up() {
            let known = self.state.host(out.host).status.last_trouble().cloned();
            lease.trouble = Some(Box::new(known.unwrap_or_else(|| Failure::Lost.into())));
        }
        self.give_token(&mut lease, token, out);
        Ok(lease)
    }

    /// Fills in what the table has of a lease.
    fn give_token(&self, lease: &mut Lease, token: LeaseToken, out: &OutLease) {
        lease.is_first_contact = out.page.is_first_contact();
        lease.token = Some(token);
        self.note_hand(lease);
        if lease.is_in_hand {
            return;
        }
        (lease.charged, lease.failure_epoch) = (out.charged.into(), out.failure_epoch());
        self.queues.places_of(&self.state, lease, out.address);
    }

    /// A lease with a token is back, and its outcome was judged, with this `completion`. If nothing of that was journaled, its return is.
    pub(super) fn end_token(
        &mut self,
        lease: &Lease,
        completion: io::Result<Option<Completion>>,
    ) -> io::Result<Option<Completion>> {
        let Some(token) = lease.token.filter(|token| self.state.leases().get(*token).is_some()) else {
            return completion;
        };
        let completion = match completion {
            Ok(completion) => {
                let record = Record::Returned { token, is_overdue: false };
                self.commit(&record, None).map(|_| completion)
            }
            failed => failed,
        };
        // The journal failed: it is back all the same.
        self.state.leases_mut().end(token);
        completion
    }

    /// Takes a lease back whose deadline has passed. Its host may have been asked until now, and rests, unless the page was in hand.
    fn take_overdue(&mut self, lease: &Lease, now: Timestamp) -> io::Result<()> {
        if lease.is_in_hand {
            self.queues.leaves_hand(&self.state, lease.host);
        } else {
            let lost = Outcome::Failed(Failure::Lost.into());
            self.queues.take_back(&mut self.state, lease, &lost, now, now);
            if lease.trouble.is_none() {
                self.rate.end(lease.charged, Some(lease.charged));
            }
        }
        // As after any other try that brought nothing.
        lease.position.map(|position| self.again.remove(&position));
        let taken = match lease.position {
            Some(position) if lease.trouble.is_none() => self.page_is_overdue(lease, position, now),
            _ => self.other_is_overdue(lease, now),
        };
        // The journal failed: it is back all the same.
        lease.token.map(|token| self.state.leases_mut().end(token));
        self.deadlines.expired += 1;
        if lease.is_in_hand {
            self.queues.count_left(&self.state, lease.host);
            self.queues.wake_groups(&mut self.state, lease.host, now);
        }
        self.queues.place_returned(&mut self.state, lease, now);
        taken
    }

    fn page_is_overdue(&mut self, lease: &Lease, position: Position, now: Timestamp) -> io::Result<()> {
        let host = self.state.host(lease.host);
        let mut status = host.status.clone();
        status.due = if lease.is_in_hand {
            self.queues.rested(host, lease.host)
        } else {
            status.due.max(self.queues.rest(host, lease, now).over)
        };
        let attempts = (lease.attempt - 1 - lease.earlier).saturating_add(u8::from(self.deadlines.cost_tries));
        let settled = Settled {
            host: lease.host_key(),
            status,
            position,
            priority: lease.priority,
            attempts,
            done: false,
            receipts: Receipts::default(),
            yielded: None,
            cost: HostCost::default(),
            is_overdue: true,
        };
        self.state
            .commit_with(&mut self.journal, &Record::Settled(settled), Some(lease.host), (None, lease.token))
            .map(drop)
    }

    /// A robots.txt is asked for again once its host has rested; a page that was to be given up is lent again at once.
    fn other_is_overdue(&mut self, lease: &Lease, now: Timestamp) -> io::Result<()> {
        let Some(token) = lease.token else { return Ok(()) };
        self.commit(&Record::Returned { token, is_overdue: true }, None)?;
        if lease.trouble.is_some() {
            return Ok(());
        }
        let host = self.state.host(lease.host);
        let mut status = host.status.clone();
        status.due = status.due.max(now + host.delay(&self.politeness));
        let record = HostRecord { host: lease.host_key(), status, robots: None, was_asked: true, is_retry: true };
        self.commit(&Record::Host(record), Some(lease.host)).map(drop)
    }

    /// Why a page that goes out is to be given up: it has been lent as often as it may be, and each lease ended by its deadline.
    pub(super) fn expired_too_often(&self, lease: &Lease) -> Option<Box<Trouble>> {
        self.deadlines
            .have_passed_too_often(lease)
            .then(|| Box::new(Trouble::new(Failure::Lost, "its leases ended before it was completed")))
    }

    /// Lends out again what was out when the process before ended. Called once, at the end of a resume, before hosts are placed.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(crate) fn lend_again(&mut self, now: Timestamp) -> io::Result<()> {
        let out: Vec<(LeaseToken, Option<Position>)> =
            self.state.leases().iter().map(|(token, out)| (token, out.page.position())).collect();
        for (token, page) in out {
            let Some((host, priority)) = self.host_out(token, page, now)? else {
                self.state.leases_mut().end(token);
                continue;
            };
            if let Some(out) = self.state.leases_mut().get_mut(token) {
                out.host = host;
                out.page = out.page.with_priority(priority);
            }
            let Some(out) = self.state.leases().get(token).copied() else { continue };
            let mut lease = self.lease_of(token, &out)?;
            if let Some(page) = page.filter(|_| lease.is_in_hand) {
                self.queues.note_in_hand_before(&mut self.state, lease.host, page);
                continue;
            }
            let host = self.state.host(host);
            if host.status.is_retired() && page.is_some() {
                lease.trouble = host.status.last_trouble().cloned().map(Box::new);
            } else if page.is_some() {
                lease.trouble = self.expired_too_often(&lease);
            }
            lease.is_first_contact = !self.state.host(lease.host).status.has_answered;
            self.queues.note_lent_before(&mut self.state, &mut lease);
            self.keep_in_table(&lease);
        }
        Ok(())
    }

    /// The host of a lease that was out, and its page's place in the queue; `None` if that page is not queued.
    fn host_out(
        &mut self,
        token: LeaseToken,
        page: Option<Position>,
        now: Timestamp,
    ) -> io::Result<Option<(HostId, u8)>> {
        let Some(position) = page else {
            let robots = self.state.leases().all_robots().find(|(_, robots)| robots.token == token);
            let key = robots.map(|(host, _)| HostKey::of_origin(host));
            return key.map(|key| Ok((self.row(key.as_str(), now)?, 0))).transpose();
        };
        let canonicalizer = self.gate().canonicalizer().clone().with_max_bytes(usize::MAX);
        let entry = self.journal.read(position)?;
        let Ok(url) = canonicalizer.canonicalize(entry.wire) else { return Ok(None) };
        let queue = entry.queue.map(HostKey::of_origin);
        let host = self.row(queue.as_ref().map_or(url.origin(), HostKey::as_str), now)?;
        let queued = self.state.back().find(&self.state.host(host).queue, position);
        Ok(queued.map(|queued| (host, queued.priority)))
    }
}
