use std::io;
use std::time::Duration;

use super::back::Queued;
use super::host::{Detour, HostState, RobotsFile};
use super::outcome::Blame;
use super::robots::Robots;
use super::{Completion, Entry, Failure, Frontier, Journal, Lease, Outcome, Position, Refusal, Timestamp};

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
    /// Where the journal's storage fails: the page is queued as it was. [`InvalidInput`](io::ErrorKind::InvalidInput) with
    /// [`ForeignLease`] where another frontier lent it: nothing has changed.
    #[expect(clippy::needless_pass_by_value, reason = "who completes a lease has it no more")]
    pub fn complete(&mut self, lease: Lease, outcome: Outcome, now: Timestamp) -> io::Result<Completion> {
        if lease.frontier != self.id || self.hosts[lease.host].state != HostState::Leased {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, ForeignLease));
        }
        self.count.leased -= 1;
        match lease.position {
            Some(position) => self.complete_page(&lease, position, outcome, now),
            None => Ok(self.complete_robots(&lease, outcome, now)),
        }
    }

    fn complete_page(
        &mut self,
        lease: &Lease,
        position: Position,
        outcome: Outcome,
        now: Timestamp,
    ) -> io::Result<Completion> {
        let same = Queued { position, priority: lease.priority, attempts: lease.attempt - 1 };
        let setback = match outcome {
            Outcome::Released => return Ok(self.requeue(lease.host, same, now)),
            Outcome::Moved { to } => return self.follow(lease, same, &to, now),
            Outcome::Failed(failure) => Setback::failed(failure),
            Outcome::Response { status, retry_after } | Outcome::Robots { status, retry_after, .. } => {
                match self.answer(lease.host, status, retry_after) {
                    Some(setback) => setback,
                    None => return Ok(self.finish(lease.host, now)),
                }
            }
        };
        let is_last = setback.is_final || lease.attempt >= self.politeness.attempts;
        self.set_back(lease, &setback, now);
        if is_last || self.hosts[lease.host].state == HostState::Retired {
            return Ok(self.done(lease.host, now));
        }
        self.count.retries += 1;
        Ok(self.requeue(lease.host, Queued { attempts: lease.attempt, ..same }, now))
    }

    /// The page is asked for at another spelling of its key: a new entry, at the head like any that comes back.
    fn follow(&mut self, lease: &Lease, same: Queued, to: &str, now: Timestamp) -> io::Result<Completion> {
        self.answer(lease.host, 302, None);
        let refusal = match self.gate.canonicalizer().canonicalize(to) {
            Err(error) => Some(Refusal::from(&error)),
            // Same key, same host; anything else came around the gate.
            Ok(url) if url.origin() != lease.host_key.as_str() => Some(Refusal::OutOfScope),
            Ok(_) if lease.redirects >= self.redirects => Some(Refusal::TooManyRedirects),
            Ok(_) => None,
        };
        if let Some(refusal) = refusal {
            self.gate.refuse(refusal);
            return Ok(self.finish(lease.host, now));
        }
        match self.append_moved(lease, same.position, to) {
            Ok(position) => {
                self.rest(lease.host, self.hosts[lease.host].delay(&self.politeness), now);
                Ok(self.requeue(lease.host, Queued { position, attempts: 0, ..same }, now))
            }
            Err(error) => {
                self.requeue(lease.host, same, now);
                Err(error)
            }
        }
    }

    fn append_moved(&mut self, lease: &Lease, from: Position, to: &str) -> io::Result<Position> {
        let referrer = self.journal.read(from)?.referrer;
        let Lease { depth, priority, via, redirects, .. } = *lease;
        self.journal.append(Entry { wire: to, depth, priority, via, redirects: redirects + 1, referrer })
    }

    fn complete_robots(&mut self, lease: &Lease, outcome: Outcome, now: Timestamp) -> Completion {
        let number = lease.host;
        let setback = match outcome {
            Outcome::Released => {
                self.place(number, now);
                return Completion::Retry(self.hosts[number].due);
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
            Outcome::Response { status, retry_after } => self.learn_answer(number, status, retry_after, &[], now),
            Outcome::Robots { status, retry_after, body } => self.learn_answer(number, status, retry_after, &body, now),
        };
        let Some(setback) = setback else {
            self.rest(number, self.hosts[number].delay(&self.politeness), now);
            self.place(number, now);
            return match self.hosts[number].robots {
                RobotsFile::Known { .. } => Completion::Done,
                RobotsFile::Moved(_) | RobotsFile::Unknown => Completion::Retry(self.hosts[number].due),
            };
        };
        self.set_back(lease, &setback, now);
        if setback.is_final {
            self.retire(number);
        }
        if self.hosts[number].state == HostState::Retired {
            return Completion::Done;
        }
        self.count.retries += 1;
        self.place(number, now);
        Completion::Retry(self.hosts[number].due)
    }

    /// What a response says about robots.txt (RFC 9309 section 2.3.1).
    fn learn_answer(
        &mut self,
        number: u32,
        status: u16,
        retry_after: Option<Duration>,
        body: &[u8],
        now: Timestamp,
    ) -> Option<Setback> {
        let setback = self.answer(number, status, retry_after);
        if setback.is_none() {
            let is_there = (200..300).contains(&status);
            let rules = is_there.then(|| Box::new(Robots::parse(body, &self.politeness.agent)));
            self.learn(number, self.known(rules, now));
        }
        // A file that is there and cannot be had now disallows everything, whatever its status says about pages.
        setback.map(|setback| Setback { blame: Blame::Host, ..setback })
    }

    fn known(&self, rules: Option<Box<Robots>>, now: Timestamp) -> RobotsFile {
        RobotsFile::Known { stale_at: now + self.politeness.robots_ttl, is_used: false, rules }
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

    fn learn(&mut self, number: u32, file: RobotsFile) {
        let host = &mut self.hosts[number];
        self.count.rules -= host.robots.memory();
        self.count.rules += file.memory();
        host.robots = file;
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

    /// A page is fetched; its host may be asked again after its delay.
    fn finish(&mut self, number: u32, now: Timestamp) -> Completion {
        self.rest(number, self.hosts[number].delay(&self.politeness), now);
        self.done(number, now)
    }

    fn done(&mut self, number: u32, now: Timestamp) -> Completion {
        self.count.completed += 1;
        if self.hosts[number].state != HostState::Retired {
            self.place(number, now);
        }
        Completion::Done
    }
}

impl Setback {
    fn failed(failure: Failure) -> Self {
        Self { blame: Blame::of_failure(failure), is_final: !failure.is_transient(), retry_after: None }
    }
}
