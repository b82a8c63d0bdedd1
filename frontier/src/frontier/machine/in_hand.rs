//! The two ends of a lease: its host has answered, and its page is complete.
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

use super::complete::After;
use super::{Frontier, FrontierError};
use crate::frontier::durable::{AnsweredRecord, Journal, Receipts, Record};
use crate::frontier::hosts::{HostId, HostStatus, Rest};
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::{Completion, HostAnswer, Lease, LeaseToken, Outcome, Timestamp};
use crate::gate::Position;

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
        let news = self.server_news(lease, &outcome);
        self.rate.end(lease.charged, Some(lease.received));
        self.adapt(lease, &outcome);
        let rest = self.queues.rest(self.state.host(lease.host), lease, at);
        let (over, journaled) = self.judge_host(lease, answer, rest, at);
        lease.is_in_hand = true;
        self.queues.take_in_hand(&mut self.state, lease.host, page, over);
        if lease.token.is_some() {
            self.keep_in_table(lease);
        }
        self.queues.count_left(&self.state, lease.host);
        if let Some(news) = news {
            self.share_status(lease, news, at, now);
        }
        self.queues.seat_again(&mut self.state, lease.host, now);
        Ok(journaled?)
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

    /// Judges what an answer says of the host, and journals it if it is more than a rest, or if the lease outlives the process. Returns when
    /// the rest is over that nothing else keeps.
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
            lease.keeps_tries = self.keeps_tries(&setback, counts, &update);
        } else {
            update.due = rest.over;
        }
        if let Some(token) = lease.token {
            let (bytes, keeps_tries) = (lease.received, lease.keeps_tries);
            let record = AnsweredRecord { host: lease.host_key(), status: update, token, bytes, keeps_tries };
            let journaled = self.commit(&Record::Answered(record), Some(lease.host)).map(drop);
            return (rest.over, journaled);
        }
        let before = &self.state.host(lease.host).status;
        if (HostStatus { due: update.due, ..before.clone() }) == update {
            return (update.due, Ok(()));
        }
        (rest.over, self.note_host(lease.host, update, false))
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

    /// A page in hand is complete. Its host was judged before, and has a seat.
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
        self.queues.take_seat(&mut self.state, lease, now);
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
        let done = again.map_or(After::Done, After::Again);
        let after = match setback {
            None => done,
            // Its host asked for fewer requests, and said nothing of the page.
            Some(Setback { blame: Blame::Rate, .. }) if lease.keeps_tries => After::Untried,
            Some(setback) => self.after(lease, &setback, done, &update, now),
        };
        self.settle(lease, position, update, after, receipts)
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
