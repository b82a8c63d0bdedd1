use std::io;
use std::time::Duration;

use super::back::Queued;
use super::host::{Detour, HostState, RobotsFile, Rules};
use super::outcome::Blame;
use super::robots::{self, Robots};
use super::{
    Completion, Entry, Failure, Frontier, HostRecord, Journal, Lease, Outcome, Position, Receipt, Record, Refusal,
    RobotsRecord, Settled, Timestamp,
};

/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const ROBOTS_HOPS: u8 = 5;

/// The lease was lent by another frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the lease was lent by another frontier")]
pub struct ForeignLease;

/// A try that came to nothing.
struct Setback {
    blame: Blame,
    /// Another try would end the same.
    is_final: bool,
    /// The rest that the host asked for.
    retry_after: Option<Duration>,
}

impl<J: Journal> Frontier<J> {
    /// Takes a lease back. O(log hosts).
    ///
    /// A response below 500, other than 429, is final. After others, and after transient failures, a page is tried again,
    /// [`attempts`](super::Politeness::attempts) times in all. Its host then rests for as long as its Retry-After says, else
    /// for a backoff that doubles with each failure in a row, and is retired after
    /// [`host_failures`](super::Politeness::host_failures) of them, or after `attempts` if it never answered.
    /// A good host has broken pages: the tries of one page that time out, break off or end in a 5xx other than 503 count
    /// once, however many. [`Failure::Lost`] is the fetcher's, and counts nothing.
    ///
    /// A robots.txt is tried again until its host is retired; one that can never be had, by a final failure, retires it at
    /// once.
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
        match lease.position {
            Some(position) => self.complete_page(&lease, position, outcome, record, now),
            None => self.complete_robots(&lease, outcome, now),
        }
    }

    /// Whether this frontier has lent it, and not got it back.
    pub(super) fn check_is_out(&self, lease: &Lease) -> io::Result<()> {
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
        let same = Queued { position, priority: lease.priority, attempts: lease.attempt - 1 };
        // Of no use where it is tried again: then its next lease is asked.
        let again = self.again.remove(&position);
        let setback = match outcome {
            Outcome::Released => return Ok(self.requeue(lease.host, same, now)),
            Outcome::Moved { to } => return self.follow(lease, same, &to, again, record, now),
            Outcome::Failed(failure) => Some(Setback::failed(failure)),
            Outcome::Response { status, retry_after } | Outcome::Robots { status, retry_after, .. } => {
                self.answer(lease.host, status, retry_after)
            }
        };
        let is_done = setback.as_ref().is_none_or(|setback| {
            self.set_back(lease, setback, now);
            let is_last = setback.is_final || lease.attempt >= self.politeness.attempts;
            is_last || self.hosts[lease.host].state == HostState::Retired
        });
        if setback.is_none() {
            self.rest(lease.host, self.hosts[lease.host].delay(&self.politeness), now);
        }
        self.settle(lease, same, is_done, again, record, now)
    }

    /// The page leaves the queue, or is queued again with one try less, and the journal has it.
    fn settle(
        &mut self,
        lease: &Lease,
        same: Queued,
        done: bool,
        again: Option<Timestamp>,
        record: Option<&[u8]>,
        now: Timestamp,
    ) -> io::Result<Completion> {
        let number = lease.host;
        let entry = again.filter(|_| done).map_or(Ok(None), |at| self.entry_again(lease, at));
        let Queued { position, priority, attempts } = same;
        let attempts = attempts.saturating_add(1);
        let receipt = record.filter(|_| done).map(|record| Receipt::of(record, self.count.output));
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
        if !done {
            self.count.retries += 1;
            return Ok(self.requeue(number, Queued { attempts, ..same }, now));
        }
        self.count.completed += 1;
        if self.hosts[number].state != HostState::Retired {
            self.place(number, now);
        }
        Ok(Completion::Done)
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
            return self.settle(lease, same, true, again, record, now);
        }
        // The entry last: once the journal has it, it is what is queued.
        let moved = self.note_host(lease.host, None).and_then(|_| {
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
            referrer,
            replaces,
            not_before: None,
        })
    }

    /// Tells the journal how a host stands, and what was learned of its robots.txt.
    fn note_host(&mut self, number: u32, robots: Option<RobotsRecord<'_>>) -> io::Result<Option<Position>> {
        let host = self.hosts[number].standing();
        self.journal.note(&Record::Host(HostRecord { host, robots }))
    }

    fn complete_robots(&mut self, lease: &Lease, outcome: Outcome, now: Timestamp) -> io::Result<Completion> {
        let number = lease.host;
        let mut lines = Vec::new();
        let setback = match outcome {
            Outcome::Released => {
                self.place(number, now);
                return Ok(Completion::Retry(self.hosts[number].due));
            }
            Outcome::Moved { to } => {
                self.answer(number, 302, None);
                let file = self.detour(number, &to).map_or_else(|| self.known(None, now), RobotsFile::Moved);
                self.learn(number, file);
                None
            }
            // However it was lost, the file is still needed: somebody must count.
            Outcome::Failed(failure) => Some(Setback { blame: Blame::Host, ..Setback::failed(failure) }),
            // A file whose body was left out must not be taken for an empty one.
            Outcome::Response { status: 200..300, .. } => Some(Setback::failed(Failure::Incomplete)),
            Outcome::Response { status, retry_after } => self.learn_answer(number, status, retry_after, &lines, now),
            Outcome::Robots { status, retry_after, body } => {
                lines = robots::relevant(&body, &self.politeness.agent);
                self.learn_answer(number, status, retry_after, &lines, now)
            }
        };
        let Some(setback) = setback else {
            self.rest(number, self.hosts[number].delay(&self.politeness), now);
            let noted = self.note_robots(number, &lines);
            self.place(number, now);
            return noted.map(|()| match self.hosts[number].robots {
                RobotsFile::Known { .. } => Completion::Done,
                RobotsFile::Moved(_) | RobotsFile::Unknown => Completion::Retry(self.hosts[number].due),
            });
        };
        self.set_back(lease, &setback, now);
        if setback.is_final {
            self.retire(number);
        }
        let noted = self.note_host(number, None);
        if self.hosts[number].state != HostState::Retired {
            self.count.retries += 1;
            self.place(number, now);
            return noted.map(|_| Completion::Retry(self.hosts[number].due));
        }
        noted.map(|_| Completion::Done)
    }

    /// Tells the journal what robots.txt is from here on; `lines` are those of its text that concern us.
    fn note_robots(&mut self, number: u32, lines: &[u8]) -> io::Result<()> {
        let host = &self.hosts[number];
        let record = match &host.robots {
            RobotsFile::Unknown => None,
            RobotsFile::Moved(detour) => Some(RobotsRecord::Moved { hops: detour.hops, url: &detour.url }),
            RobotsFile::Known { stale_at, rules, .. } => {
                Some(RobotsRecord::Known { stale_at: *stale_at, rules: rules.is_some().then_some(lines) })
            }
        };
        let kept_at = self.journal.note(&Record::Host(HostRecord { host: host.standing(), robots: record }))?;
        self.keep_rules(number, kept_at);
        Ok(())
    }

    /// What a response says about robots.txt (RFC 9309 section 2.3.1).
    fn learn_answer(
        &mut self,
        number: u32,
        status: u16,
        retry_after: Option<Duration>,
        lines: &[u8],
        now: Timestamp,
    ) -> Option<Setback> {
        let setback = self.answer(number, status, retry_after);
        if setback.is_none() {
            let is_there = (200..300).contains(&status);
            let rules = is_there.then(|| Rules::new(Robots::parse(lines, &self.politeness.agent), None));
            self.learn(number, self.known(rules, now));
        }
        // A file that is there and cannot be had now disallows everything, whatever its status says about pages.
        setback.map(|setback| Setback { blame: Blame::Host, ..setback })
    }

    fn known(&self, rules: Option<Rules>, now: Timestamp) -> RobotsFile {
        RobotsFile::Known { stale_at: now + self.politeness.robots_ttl, is_used: false, rules: rules.map(Box::new) }
    }

    /// The next hop of a robots.txt; `None` where it leads nowhere, or too far: then it is as good as missing.
    fn detour(&self, number: u32, to: &str) -> Option<Box<Detour>> {
        let hops = match &self.hosts[number].robots {
            RobotsFile::Moved(detour) => detour.hops + 1,
            _ => 1,
        };
        let url = self.gate.canonicalizer().canonicalize(to).ok().filter(|_| hops <= ROBOTS_HOPS)?;
        Some(Box::new(Detour { hops, url: url.wire().into() }))
    }

    /// The host speaks: that is a failure only where it says "not now".
    fn answer(&mut self, number: u32, status: u16, retry_after: Option<Duration>) -> Option<Setback> {
        let host = &mut self.hosts[number];
        host.has_answered = true;
        let setback = Blame::of_status(status).map(|blame| Setback { blame, is_final: false, retry_after });
        if setback.is_none() {
            host.failures = 0;
        }
        setback
    }

    /// Counts a failure against a host, and lets it rest or retires it.
    fn set_back(&mut self, lease: &Lease, setback: &Setback, now: Timestamp) {
        let host = &mut self.hosts[lease.host];
        let counts = match setback.blame {
            Blame::Fetcher => false,
            Blame::Host => true,
            Blame::Url => !host.has_answered || lease.attempt == 1,
        };
        host.failures = host.failures.saturating_add(counts.into());
        let delay = host.delay(&self.politeness);
        let rest = match (setback.blame, setback.retry_after) {
            (Blame::Fetcher, _) => delay,
            (_, Some(asked)) => delay.max(asked.min(self.politeness.max_retry_after)),
            (_, None) => host.backoff(&self.politeness, host.failures.max(lease.attempt.into())),
        };
        let is_hopeless = counts && host.is_hopeless(&self.politeness);
        self.rest(lease.host, rest, now);
        if is_hopeless {
            self.retire(lease.host);
        }
    }

    fn rest(&mut self, number: u32, rest: Duration, now: Timestamp) {
        self.hosts[number].due = now + rest;
    }

    /// The host is not asked again; what was queued for it is refused.
    fn retire(&mut self, number: u32) {
        if self.hosts[number].state != HostState::Retired {
            self.learn(number, RobotsFile::Unknown);
            let host = &mut self.hosts[number];
            host.state = HostState::Retired;
            let urls = self.back.clear(&mut host.queue);
            self.count.queued -= urls;
            self.count.retired_hosts += 1;
            self.gate.withdraw(Refusal::HostRetired, urls);
        }
    }

    /// A page goes back to the head of its queue.
    fn requeue(&mut self, number: u32, back: Queued, now: Timestamp) -> Completion {
        self.back.push_front(&mut self.hosts[number].queue, back);
        self.count.queued += 1;
        self.place(number, now);
        Completion::Retry(self.hosts[number].due)
    }
}

impl Setback {
    fn failed(failure: Failure) -> Self {
        Self { blame: Blame::of_failure(failure), is_final: !failure.is_transient(), retry_after: None }
    }
}
