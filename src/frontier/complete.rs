//! Leases come back: what became of a page, and how that leaves its host.

use super::durable::{Entry, HostRecord, Journal, Receipt, Record, RobotsRecord, Settled};
use super::hosts::{HostState, Illness, Prospect};
use super::queues::Queued;
use super::setback::Setback;
use super::trouble::Blame;
use super::{Completion, Failure, ForeignLease, Frontier, Lease, Outcome, Timestamp, Trouble};
use crate::gate::{Position, Refusal};
use std::io;
use std::time::Duration;

/// Different pages of a host that break one after another, and count as one failure of the host: a site may have a corner that
/// is broken, and a host that is broken has nothing else.
const BROKEN_PAGES: u16 = 4;

impl<J: Journal> Frontier<J> {
    /// Takes a lease back. O(log hosts).
    ///
    /// A response below 500, other than 429, is final. Everything else is somebody's failure:
    ///
    /// - The *host's*, where there is no connection ([`Connect`](Failure::Connect), [`Dns`](Failure::Dns),
    ///   [`Tls`](Failure::Tls)) or no robots.txt. It rests for a [backoff](super::Politeness::backoff) that doubles with each
    ///   failure in a row, and the page keeps its tries. After [`host_failures`](super::Politeness::host_failures) in a row the
    ///   host is retired: its URLs are [given up](super::Next::GiveUp) as their turn comes, until it is
    ///   [asked again](Self::ask_again).
    /// - The *host's and the page's*, where the host may have too much to do: a timeout, 429, 503. It rests as above, or for as
    ///   long as its Retry-After says, and the page has one of its [`attempts`](super::Politeness::attempts) less.
    /// - The *page's*: another 5xx, a response that breaks off. The page waits for its next try, and the host goes on. Only where
    ///   four different pages in a row break does it count as one failure of the host.
    /// - The *fetcher's*, of [`Lost`](Failure::Lost): the page has one try less.
    ///
    /// A robots.txt is tried again in the same way. Rules that were known before stay in force while it is not to be had, up
    /// to 30 days (RFC 9309 section 2.3.1.4).
    ///
    /// # Errors
    /// Where the journal's storage fails: a page is queued as it was, and what a robots.txt says is known until a
    /// crash. [`InvalidInput`](io::ErrorKind::InvalidInput) with
    /// [`ForeignLease`] where another frontier lent it: nothing has changed.
    pub fn complete(&mut self, lease: Lease, outcome: Outcome, now: Timestamp) -> io::Result<Completion> {
        self.complete_with(lease, outcome, None, now)
    }

    /// As [`complete`](Self::complete), of a page with a record: where it is [done](Completion::Done), its record must be
    /// appended to the output now, before that of any other page. After a crash, the page counts as done only if the output
    /// has it.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    #[expect(clippy::needless_pass_by_value, reason = "who completes a lease has it no more")]
    pub fn complete_with(
        &mut self,
        lease: Lease,
        outcome: Outcome,
        record: Option<&[u8]>,
        now: Timestamp,
    ) -> io::Result<Completion> {
        self.check_is_out(&lease)?;
        self.count.leased -= 1;
        self.count.first_contacts -= u64::from(lease.is_first_contact && lease.trouble.is_none());
        match lease.position {
            Some(position) => self.complete_page(&lease, position, outcome, record, now),
            None => self.complete_robots(&lease, outcome, now),
        }
    }

    /// Whether this frontier has lent it, and not got it back.
    pub(crate) fn check_is_out(&self, lease: &Lease) -> io::Result<()> {
        let is_out = lease.frontier == self.id
            && match (self.hosts[lease.host].state, lease.position) {
                (HostState::Leased { position, .. }, Some(lent)) => position == lent,
                (HostState::LeasedRobots, None) => true,
                _ => false,
            };
        if is_out { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, ForeignLease)) }
    }

    fn complete_page(
        &mut self,
        lease: &Lease,
        position: Position,
        outcome: Outcome,
        record: Option<&[u8]>,
        now: Timestamp,
    ) -> io::Result<Completion> {
        let same = Queued { position, priority: lease.priority, attempts: lease.attempt - 1 - lease.earlier };
        // Of no use where it is tried again: then its next lease is asked.
        let again = self.again.remove(&position);
        if lease.trouble.is_some() {
            // Nothing was asked, whatever came of that.
            return match outcome {
                Outcome::Released | Outcome::Failed(Trouble { failure: Failure::Lost, .. }) => {
                    Ok(self.requeue(lease.host, same, now))
                }
                _ => self.settle(lease, same, After::Parked, record, now),
            };
        }
        let setback = match outcome {
            Outcome::Released | Outcome::GivenUp => return Ok(self.requeue(lease.host, same, now)),
            Outcome::Moved { to } => return self.follow(lease, same, &to, again, record, now),
            Outcome::Failed(trouble) => Some(Setback::failed(trouble)),
            Outcome::Response { status, retry_after } | Outcome::Robots { status, retry_after, .. } => {
                self.answer(lease.host, status, retry_after)
            }
        };
        let done = again.map_or(After::Done, After::Again);
        let Some(setback) = setback else {
            self.rest(lease.host, self.hosts[lease.host].delay(&self.politeness), now);
            return self.settle(lease, same, done, record, now);
        };
        let rest = self.set_back(lease, &setback, now);
        let is_last = setback.trouble.failure.is_final() || lease.attempt >= self.politeness.attempts;
        let after = match setback.blame {
            Blame::Host => After::Untried,
            _ if is_last => done,
            // Given up with the others of its host.
            _ if self.hosts[lease.host].is_retired() => After::Tried,
            Blame::Fetcher => After::Tried,
            // The host is asked nothing else before.
            Blame::Load if setback.retry_after.is_some() => After::Tried,
            Blame::Load => After::Later(now + rest),
            Blame::Page => After::Later(now + self.politeness.backoff_of(lease.attempt.into())),
        };
        self.settle(lease, same, after, record, now)
    }

    /// The page leaves the queue, or waits for its next try, and the journal has it.
    fn settle(
        &mut self,
        lease: &Lease,
        same: Queued,
        after: After,
        record: Option<&[u8]>,
        now: Timestamp,
    ) -> io::Result<Completion> {
        let number = lease.host;
        let Queued { position, priority, attempts } = same;
        let done = after.is_done();
        let attempts = attempts.saturating_add(u8::from(!matches!(after, After::Untried | After::Parked)));
        let receipt = record.filter(|_| done).map(|record| Receipt::of(record, self.count.output));
        let entry = self.entry_after(lease, after);
        let host = self.hosts[number].standing();
        let settled = Settled { host, position, priority, attempts, done, receipt };
        let noted = match entry {
            Ok(Some(entry)) => self.journal.append_again(&settled, entry).map(|at| self.scheduled_again(&entry, at)),
            Ok(None) => self.journal.note(&Record::Settled(settled)).map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = noted {
            self.requeue(number, same, now);
            return Err(error);
        }
        self.count.output = receipt.map_or(self.count.output, |receipt| receipt.end);
        if done {
            self.count.completed += 1;
            self.place(number, now);
            return Ok(Completion::Done);
        }
        self.count.retries += 1;
        match after {
            After::Later(at) => {
                self.place(number, now);
                Ok(Completion::Retry(at))
            }
            _ => Ok(self.requeue(number, Queued { attempts, ..same }, now)),
        }
    }

    /// The entry by which the page waits for a time, if it does.
    fn entry_after<'a>(&mut self, lease: &'a Lease, after: After) -> io::Result<Option<Entry<'a>>> {
        let not_before = match after {
            After::Done | After::Tried | After::Untried => return Ok(None),
            After::Again(at) | After::Later(at) => at,
            After::Parked => Entry::NEVER,
        };
        let referrer = lease.position().map_or(Ok(None), |at| self.journal.read(at).map(|entry| entry.referrer))?;
        let Lease { depth, priority, via, redirects, attempt, position, .. } = *lease;
        let blank = Entry {
            wire: lease.url(),
            depth,
            priority,
            via,
            redirects,
            attempts: 0,
            referrer,
            replaces: position,
            not_before: Some(not_before),
        };
        Ok(Some(match after {
            After::Later(_) => Entry { attempts: attempt, ..blank },
            // The way to it begins anew: a page that is reached by a redirect each time would be refused after some.
            After::Again(_) => Entry { redirects: 0, replaces: None, ..blank },
            _ => blank,
        }))
    }

    /// The page is asked for at another spelling of its key: a new entry, at the head like any that comes back.
    fn follow(
        &mut self,
        lease: &Lease,
        same: Queued,
        to: &str,
        again: Option<Timestamp>,
        record: Option<&[u8]>,
        now: Timestamp,
    ) -> io::Result<Completion> {
        self.answer(lease.host, 302, None);
        self.rest(lease.host, self.hosts[lease.host].delay(&self.politeness), now);
        let refusal = match self.gate.canonicalizer().canonicalize(to) {
            Err(error) => Some(Refusal::from(&error)),
            // Same key, same host; anything else came around the gate.
            Ok(url) if url.origin() != lease.host_key.as_str() => Some(Refusal::OutOfScope),
            Ok(_) if lease.redirects >= self.redirects => Some(Refusal::TooManyRedirects),
            Ok(_) => None,
        };
        if let Some(refusal) = refusal {
            self.gate.refuse(refusal);
            return self.settle(lease, same, again.map_or(After::Done, After::Again), record, now);
        }
        // The entry last: once the journal has it, it is what is queued.
        let moved = self.note_host(lease.host, None, true).and_then(|_| {
            let position = self.append_moved(lease, same.position, to)?;
            Ok(Queued { position, attempts: 0, ..same })
        });
        let completion = self.requeue(lease.host, *moved.as_ref().unwrap_or(&same), now);
        moved.map(|_| completion)
    }

    fn append_moved(&mut self, lease: &Lease, from: Position, to: &str) -> io::Result<Position> {
        let referrer = self.journal.read(from)?.referrer;
        let Lease { depth, priority, via, redirects, .. } = *lease;
        let replaces = Some(from);
        self.journal.append(Entry {
            wire: to,
            depth,
            priority,
            via,
            redirects: redirects + 1,
            attempts: 0,
            referrer,
            replaces,
            not_before: None,
        })
    }

    /// Tells the journal how a host stands, and what was learned of its robots.txt.
    pub(crate) fn note_host(
        &mut self,
        number: u32,
        robots: Option<RobotsRecord<'_>>,
        was_asked: bool,
    ) -> io::Result<Option<Position>> {
        let host = self.hosts[number].standing();
        self.journal.note(&Record::Host(HostRecord { host, robots, was_asked, is_retry: false }))
    }

    /// The host speaks: that is a failure only where it says "not now".
    pub(crate) fn answer(&mut self, number: u32, status: u16, retry_after: Option<Duration>) -> Option<Setback> {
        self.hosts[number].has_answered = true;
        let Some(blame) = Blame::of_status(status) else {
            self.recover(number);
            return None;
        };
        Some(Setback { blame, trouble: Trouble::new(Failure::Server, &format!("status {status}")), retry_after })
    }

    /// Counts a failure against a host, and lets it rest or retires it; says how long it rests.
    pub(crate) fn set_back(&mut self, lease: &Lease, setback: &Setback, now: Timestamp) -> Duration {
        let Setback { blame, trouble, retry_after } = setback;
        let host = &mut self.hosts[lease.host];
        if *blame == Blame::Fetcher {
            let rest = host.delay(&self.politeness);
            self.rest(lease.host, rest, now);
            return rest;
        }
        let (broken, counted) = host.ill.as_deref().map_or((0, Prospect::Good), |ill| (ill.broken, ill.counted));
        // All tries of one page are one page that breaks.
        let is_another = *blame == Blame::Page && lease.attempt == 1;
        let broken = broken.saturating_add(is_another.into());
        let counts = match blame {
            Blame::Fetcher => false,
            Blame::Host | Blame::Load => true,
            Blame::Page => is_another && broken.is_multiple_of(BROKEN_PAGES),
        };
        host.failures = host.failures.saturating_add(counts.into());
        let rest = match retry_after {
            Some(asked) => host.delay(&self.politeness).max((*asked).min(self.politeness.max_retry_after)),
            None if counts => host.backoff(&self.politeness, host.failures.into()),
            None => host.delay(&self.politeness),
        };
        let is_retired = trouble.failure.ends_host() || (counts && host.has_failed_too_often(&self.politeness));
        let (trouble, is_patient) = (trouble.clone(), retry_after.is_some());
        host.ill = Some(Box::new(Illness { trouble, broken, is_patient, is_retired: false, counted }));
        self.rest(lease.host, rest, now);
        if is_retired {
            self.retire(lease.host);
        }
        rest
    }

    pub(crate) fn rest(&mut self, number: u32, rest: Duration, now: Timestamp) {
        self.hosts[number].due = now + rest;
    }

    /// A page goes back to the head of its queue.
    fn requeue(&mut self, number: u32, back: Queued, now: Timestamp) -> Completion {
        self.back.push_front(&mut self.hosts[number].queue, back);
        self.count.queued += 1;
        self.place(number, now);
        Completion::Retry(self.hosts[number].due)
    }
}

/// What becomes of a page whose lease came back.
#[derive(Clone, Copy, Debug)]
enum After {
    /// Its record is its last.
    Done,
    /// As before, and it is to be fetched again then.
    Again(Timestamp),
    /// Its next try comes not before this time; others of its host go first.
    Later(Timestamp),
    /// Given up: it has a record, and waits for somebody to ask for it again.
    Parked,
    /// It goes next of its host, with one try less.
    Tried,
    /// It goes next of its host.
    Untried,
}

impl After {
    /// The page leaves the queue with a record.
    const fn is_done(self) -> bool {
        matches!(self, Self::Done | Self::Again(_) | Self::Parked)
    }
}
