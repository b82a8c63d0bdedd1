//! A host's robots.txt comes back: what is known of it from here on (RFC 9309 section 2.3.1).

use super::durable::{HostRecord, Journal, Record, RobotsRecord};
use super::hosts::{Detour, RobotsFile, Rules};
use super::robots::Robots;
use super::setback::Setback;
use super::trouble::Blame;
use super::{Completion, Failure, Frontier, Lease, Outcome, Timestamp, Trouble, Validators, robots};
use std::io;
use std::time::Duration;

/// Redirects of a robots.txt that are followed (RFC 9309 section 2.3.1.2).
const ROBOTS_HOPS: u8 = 5;

/// How long rules hold, once they are stale, where no newer ones are to be had (RFC 9309 section 2.3.1.4).
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// What came of asking for it.
enum Answer {
    /// There is one, or there is none; with the lines that concern us.
    Is(RobotsFile, Vec<u8>),
    /// It is elsewhere.
    Moved(RobotsFile),
    /// It has not changed.
    Same,
    /// It is not to be had just now.
    Failed(Setback),
}

impl<J: Journal> Frontier<J> {
    pub(crate) fn complete_robots(
        &mut self,
        lease: &Lease,
        outcome: Outcome,
        now: Timestamp,
    ) -> io::Result<Completion> {
        let number = lease.host;
        let answer = match outcome {
            Outcome::Released | Outcome::GivenUp => {
                self.place(number, now);
                return Ok(Completion::Retry(self.hosts[number].due));
            }
            Outcome::Moved { to } => {
                self.answer(number, 302, None);
                match self.detour(number, &to) {
                    Some(detour) => Answer::Moved(RobotsFile::Moved(detour)),
                    None => Answer::Is(self.known(None, now), Vec::new()),
                }
            }
            Outcome::Failed(trouble) => Answer::Failed(Setback::failed(trouble)),
            // A file whose body was left out must not be taken for an empty one.
            Outcome::Response { status: 200..300, .. } => {
                Answer::Failed(Setback::failed(Trouble::new(Failure::Incomplete, "its body was left out")))
            }
            Outcome::Response { status, retry_after } => {
                self.read_answer(lease, status, retry_after, Vec::new(), None, now)
            }
            Outcome::Robots { status, retry_after, body, validators } => {
                let lines = robots::relevant(&body, &self.politeness.agent);
                self.read_answer(lease, status, retry_after, lines, validators, now)
            }
        };
        let setback = match answer {
            Answer::Failed(setback) => setback,
            answer => return self.learn_answer(number, answer, now),
        };
        self.robots_failed(lease, setback, now)
    }

    /// What a response says about robots.txt.
    fn read_answer(
        &mut self,
        lease: &Lease,
        status: u16,
        retry_after: Option<Duration>,
        lines: Vec<u8>,
        validators: Option<Box<Validators>>,
        now: Timestamp,
    ) -> Answer {
        if status == 304 && lease.validators.is_none() {
            return Answer::Failed(Setback::failed(Trouble::new(
                Failure::BadResponse,
                "304 to a request without conditions",
            )));
        }
        if let Some(setback) = self.answer(lease.host, status, retry_after) {
            return Answer::Failed(setback);
        }
        if status == 304 {
            return Answer::Same;
        }
        let good_until = now + self.politeness.robots_ttl + KEPT_FOR;
        let is_there = (200..300).contains(&status);
        let rules = is_there.then(|| Rules::new(Robots::parse(&lines, &self.politeness.agent), good_until, validators));
        Answer::Is(self.known(rules, now), lines)
    }

    /// It is known from here on, or where to ask next.
    fn learn_answer(&mut self, number: u32, answer: Answer, now: Timestamp) -> io::Result<Completion> {
        let noted = match answer {
            Answer::Is(file, lines) => {
                self.learn(number, file);
                self.rest(number, self.hosts[number].delay(&self.politeness), now);
                self.note_robots(number, &lines)
            }
            Answer::Moved(file) => {
                self.learn(number, file);
                self.rest(number, self.hosts[number].delay(&self.politeness), now);
                self.note_robots(number, &[])
            }
            Answer::Same | Answer::Failed(_) => {
                self.turn_back(number);
                self.rest(number, self.hosts[number].delay(&self.politeness), now);
                let stale_at = now + self.politeness.robots_ttl;
                self.renew(number, stale_at, Some(stale_at + KEPT_FOR))
            }
        };
        self.place(number, now);
        noted.map(|()| match self.hosts[number].robots {
            RobotsFile::Known { .. } => Completion::Done,
            RobotsFile::Moved(_) | RobotsFile::Unknown => Completion::Retry(self.hosts[number].due),
        })
    }

    /// It is not to be had. What was known before holds; else the host waits for it, as it waits for a connection.
    fn robots_failed(&mut self, lease: &Lease, setback: Setback, now: Timestamp) -> io::Result<Completion> {
        let number = lease.host;
        let is_down = setback.blame == Blame::Host || setback.blame == Blame::Fetcher;
        let words = format!("robots.txt: {}", setback.trouble);
        let setback = if is_down {
            setback
        } else {
            Setback { blame: Blame::Host, trouble: Trouble::new(Failure::Robots, &words), ..setback }
        };
        // From the first hop on, next time.
        self.turn_back(number);
        let holds = match &self.hosts[number].robots {
            RobotsFile::Known { rules, .. } => rules.as_ref().is_none_or(|rules| now < rules.good_until),
            RobotsFile::Moved(_) | RobotsFile::Unknown => false,
        };
        if !holds {
            self.learn(number, RobotsFile::Unknown);
        }
        if holds && !is_down {
            // The host speaks, and its pages may be asked for.
            let asked = setback.retry_after.unwrap_or_default().min(self.politeness.max_retry_after);
            self.rest(number, self.hosts[number].delay(&self.politeness).max(asked), now);
        } else {
            self.set_back(lease, &setback, now);
        }
        let noted = if holds && !self.hosts[number].is_retired() {
            self.renew(number, now + self.politeness.max_backoff, None)
        } else {
            self.count.retries += 1;
            let host = self.hosts[number].standing();
            self.journal
                .note(&Record::Host(HostRecord { host, robots: None, was_asked: true, is_retry: true }))
                .map(drop)
        };
        self.place(number, now);
        noted.map(|()| Completion::Retry(self.hosts[number].due))
    }

    /// Tells the journal what robots.txt is from here on; `lines` are those of its text that concern us.
    fn note_robots(&mut self, number: u32, lines: &[u8]) -> io::Result<()> {
        let host = &self.hosts[number];
        let robots = match &host.robots {
            RobotsFile::Unknown => None,
            RobotsFile::Moved(detour) => Some(RobotsRecord::Moved { hops: detour.hops, url: &detour.url }),
            RobotsFile::Known { stale_at, rules, .. } => {
                Some(RobotsRecord::Known { stale_at: *stale_at, rules: rules.is_some().then_some(lines) })
            }
        };
        let record = HostRecord { host: host.standing(), robots, was_asked: true, is_retry: false };
        let kept_at = self.journal.note(&Record::Host(record))?;
        self.keep_rules(number, kept_at);
        Ok(())
    }

    /// What was known before the way through redirects is known again.
    fn turn_back(&mut self, number: u32) {
        if matches!(self.hosts[number].robots, RobotsFile::Moved(_)) {
            let before = self.unlearn(number).into_known();
            self.learn(number, before.unwrap_or(RobotsFile::Unknown));
        }
    }

    /// What is known holds on.
    fn renew(&mut self, number: u32, stale_at: Timestamp, good_until: Option<Timestamp>) -> io::Result<()> {
        let file = &mut self.hosts[number].robots;
        let good_until = match (good_until, file.rules()) {
            (Some(until), _) => until,
            (None, rules) => rules.map_or(stale_at, |rules| rules.good_until),
        };
        file.renew(stale_at, good_until);
        self.note_host(number, Some(RobotsRecord::Renewed { stale_at, good_until }), true).map(drop)
    }

    fn known(&self, rules: Option<Rules>, now: Timestamp) -> RobotsFile {
        RobotsFile::Known { stale_at: now + self.politeness.robots_ttl, is_used: false, rules: rules.map(Box::new) }
    }

    /// The next hop of a robots.txt; `None` where it leads nowhere, or too far: then it is as good as missing.
    fn detour(&mut self, number: u32, to: &str) -> Option<Box<Detour>> {
        let hops = match &self.hosts[number].robots {
            RobotsFile::Moved(detour) => detour.hops + 1,
            _ => 1,
        };
        let url = self.gate.canonicalizer().canonicalize(to).ok().filter(|_| hops <= ROBOTS_HOPS)?;
        let before = self.unlearn(number).into_known().map(Box::new);
        Some(Box::new(Detour { hops, url: url.wire().into(), before }))
    }
}
