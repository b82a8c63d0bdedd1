//! A host's robots.txt comes back, from the host or from another one, and decides what is known of it from now on (RFC 9309 section 2.3.1).
//!
//! | the answer | what is known from now on |
//! |---|---|
//! | 2xx | its rules, for `politeness.robots_ttl` |
//! | 301, 302, 303, 307, 308 | where to ask next, up to five times; after that it counts as missing |
//! | 304 | what was known, for `robots_ttl` again |
//! | other 3xx, 4xx but 408, 425, 429 | there is none and everything is allowed, for `robots_ttl` |
//! | 408, 425, 429, 5xx, no response | what was known, up to 30 days beyond its time; if nothing was known, the host waits |
//!
//! A redirect is followed for the host that was asked: the rules found there are this host's. Each hop is a lease of its own, with the
//! host's rest between them. A redirect does not end a host's failures: only the answer at its end does.
//!
//! While nothing is known, no page of the host is fetched, and the host is treated as unreachable: it rests longer each time, and is
//! retired in the end.
//!
//! # On another host
//!
//! If a robots.txt redirects to another host, that host is asked for it by its own clock, as for its own URLs.
//!
//! ```text
//!   A's turn ──▶ its robots.txt is at B ──▶ A waits ──▶ B's turn ──▶ B is asked, once for all that wait for this URL
//!                       │ the copy is known                                │
//!                       └──▶ A has its rules ◀── each of them takes the copy ┘
//! ```
//!
//! A redirect within a host's own origin, or from its http to its https, is followed in the host's own turn. Any other redirect leads to a
//! server with its own clock, group and IP address, and perhaps its own blocklist entry. So that host, B, is lent out for it, by its own
//! rest and with nothing else of it out, and a page of A goes out only once the answer is there. The rules found count for A alone (RFC
//! 9309 section 2.3.1.2); if the URL is B's own robots.txt, they count for B too.
//!
//! A host on a blocklist is not asked. The file then counts as missing, like one after too many redirects.
//!
//! None of this is state. A's record says where its robots.txt is, and after a restart A waits again when its turn comes. Answers are kept
//! as copies for hosts that are redirected there later. Copies are bounded: a dropped copy costs a request.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::host_queues::HostQueues;
use super::robots_copies::{RobotsCopies, RobotsCopy, SharedRobots};
use crate::address::CanonicalUrl;
use crate::frontier::durable::{HostRecord, Journal, Record, RobotsRecord};
use crate::frontier::hosts::{Host, HostId, HostStatus, PolitenessTable, RULES_HOLD, Rest, RobotsFile};
use crate::frontier::lease::{Blame, Setback};
use crate::frontier::robots::{self, Robots};
use crate::frontier::state::State;
use crate::frontier::{Completion, Failure, Lease, Outcome, Timestamp, Trouble, Validators};

/// Redirects of a robots.txt that are followed: the least that RFC 9309 section 2.3.1.2 asks for.
const ROBOTS_HOPS: u8 = 5;

/// The host whose robots.txt is asked for, and the host or queue by whose clock: they are the same, unless that is a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RobotsTurn {
    /// Whose clock it is: it rests, and may fail.
    pub(super) by: HostId,
    /// Whose robots.txt it is.
    pub(super) of: HostId,
}

impl RobotsTurn {
    /// A host's own.
    pub(super) const fn own(id: HostId) -> Self {
        Self { by: id, of: id }
    }
}

/// What an answer says about the file, apart from what it says about the host.
enum RobotsNews {
    /// There is one: the lines that concern this crawler, and the validators for a conditional request.
    Rules(Vec<u8>, Option<Box<Validators>>),
    /// There is none: everything is allowed.
    Missing,
    /// It is at this URL, this many redirects away from its place on the host.
    Moved(u8, CanonicalUrl),
    /// It has not changed.
    Same,
    /// It cannot be had now, and why.
    Failed(Setback),
}

/// What is known of each robots.txt, and who must wait for one.
pub(super) struct RobotsFiles<'a, J> {
    pub(super) state: &'a mut State,
    pub(super) journal: &'a mut J,
    pub(super) politeness: &'a PolitenessTable,
    pub(super) queues: &'a mut HostQueues,
    pub(super) copies: &'a mut RobotsCopies,
}

impl<J: Journal> RobotsFiles<'_, J> {
    /// Takes a robots.txt back; `None` if it is to be asked for again. The host has answered or failed by the same rules as with a page;
    /// what that says about the file is decided here.
    ///
    /// # Errors
    /// If the journal cannot take the record. Then nothing has changed.
    pub(super) fn complete(
        &mut self,
        lease: &Lease,
        outcome: Outcome,
        now: Timestamp,
    ) -> io::Result<Option<Completion>> {
        if matches!(outcome, Outcome::Released | Outcome::GivenUp) {
            return Ok(None);
        }
        let turn = self.turn(lease, now)?;
        let mut update = self.state.host(lease.host).status.clone();
        let is_own = lease.for_other.is_none() || lease.is_own_robots();
        let answer = match outcome {
            Outcome::Released | Outcome::GivenUp => return Ok(None),
            Outcome::Moved { to } => {
                update.has_answered = true;
                let redirect = if is_own { self.next_hop(turn.of, &to) } else { self.hop(1, &to) };
                redirect.map_or(RobotsNews::Missing, |(hops, url)| RobotsNews::Moved(hops, url))
            }
            Outcome::Failed(trouble) => RobotsNews::Failed(Setback::failed(trouble)),
            // A response without its body must not be taken for an empty file.
            Outcome::Response { status: 200..300, .. } => {
                RobotsNews::Failed(Setback::failed(Trouble::new(Failure::Incomplete, "its body was left out")))
            }
            Outcome::Response { status, retry_after } => {
                RobotsNews::of_status(lease, status, retry_after, &mut update, || (Vec::new(), None))
            }
            Outcome::Robots { status, retry_after, body, validators } => {
                let lines = || (robots::relevant(&body, &self.politeness.agent), validators);
                RobotsNews::of_status(lease, status, retry_after, &mut update, lines)
            }
        };
        let others = if self.queues.priority_for_others(lease.host).is_some() { answer.shared() } else { None };
        let is_failure = matches!(answer, RobotsNews::Failed(_));
        let stale_at = now + self.politeness.robots_ttl;
        let completion = match answer {
            RobotsNews::Failed(setback) if is_own => self.failed(turn, update, setback, true, now),
            answer if is_own => self.learn(turn, update, answer, (stale_at, true), now),
            answer => self.asked_for_others(lease, update, &answer, now),
        }?;
        let due = self.state.host(lease.host).status.due;
        // Half of that time, so that hosts redirected there later do not take a copy that is about to go stale.
        let fresh_until = if is_failure { due } else { now + self.politeness.robots_ttl / 2 };
        self.answer_others(lease.host, lease.url(), others, fresh_until, now);
        Ok(completion)
    }

    /// Whose robots.txt a lease was for. The host of an origin is added with the first news of its file.
    fn turn(&mut self, lease: &Lease, now: Timestamp) -> io::Result<RobotsTurn> {
        match &lease.queue {
            None => Ok(RobotsTurn::own(lease.host)),
            Some(_) => {
                Ok(RobotsTurn { by: lease.host, of: self.queues.row(self.state, self.journal, lease.origin(), now)? })
            }
        }
    }

    /// Records the status of a host that was asked for the robots.txt of others, by the same rules as with a page.
    fn asked_for_others(
        &mut self,
        lease: &Lease,
        mut update: HostStatus,
        answer: &RobotsNews,
        now: Timestamp,
    ) -> io::Result<Option<Completion>> {
        let delay = self.state.host(lease.host).delay(self.politeness);
        let rest = Rest { over: update.due.max(now + delay), is_late: false };
        update.due = rest.over;
        let is_retry = if let RobotsNews::Failed(setback) = answer {
            update.set_back(setback, lease.attempt == 1, rest, self.politeness, now);
            true
        } else {
            false
        };
        self.note_robots(RobotsTurn::own(lease.host), update, None, (true, is_retry))?;
        Ok((!is_retry).then_some(Completion::Done))
    }

    /// Records that the file is known from now on, or where to ask next. The rules go to the journal as the lines that concern this
    /// crawler; parsed, they go to the cache only once the journal has them.
    ///
    /// The rest before the first page follows the Crawl-delay of these rules, not of the previous ones. The file is good until `stale_at`;
    /// `was_asked` is true if the host itself sent it.
    fn learn(
        &mut self,
        turn: RobotsTurn,
        mut update: HostStatus,
        answer: RobotsNews,
        (stale_at, was_asked): (Timestamp, bool),
        now: Timestamp,
    ) -> io::Result<Option<Completion>> {
        if !matches!(answer, RobotsNews::Moved(..)) {
            update.recover();
        }
        let host = self.state.host(turn.by);
        let mut delay = self.delay_of(turn);
        let mut parsed = None;
        let lines;
        let record = match answer {
            RobotsNews::Rules(text, validators) => {
                let robots = Robots::parse(&text, &self.politeness.agent);
                let asked = robots.crawl_delay().unwrap_or_default();
                // Whole milliseconds, as checkpoints store it.
                let crawl_delay = Duration::from_millis(u64::try_from(asked.as_millis()).unwrap_or(u64::MAX));
                delay = host.delay_by(self.politeness, crawl_delay);
                parsed = Some((robots, validators));
                lines = text;
                RobotsRecord::Known { stale_at, crawl_delay, rules: Some(&lines) }
            }
            RobotsNews::Missing => {
                delay = host.delay_by(self.politeness, Duration::ZERO);
                RobotsRecord::Known { stale_at, crawl_delay: Duration::ZERO, rules: None }
            }
            RobotsNews::Moved(hops, ref url) => RobotsRecord::Moved { hops, url: url.wire() },
            RobotsNews::Same | RobotsNews::Failed(_) => {
                RobotsRecord::Renewed { stale_at, good_until: stale_at + RULES_HOLD }
            }
        };
        // Others may have asked it meanwhile.
        update.due = update.due.max(now + delay);
        self.note_robots(turn, update, Some(record), (was_asked, false))?;
        if let Some((robots, validators)) = parsed {
            self.state.cache_rules(turn.of, robots, validators);
            self.state.drop_rules(self.politeness.robots_memory);
        }
        let is_known = matches!(self.state.host(turn.of).robots, RobotsFile::Known { .. });
        Ok(is_known.then_some(Completion::Done))
    }

    /// Records that the file cannot be had.
    ///
    /// Known rules stay in force, and the file is asked for again after `politeness.max_backoff`. If the host answers at all, its pages go
    /// on meanwhile, unless they break too. If nothing was known, or the rules have expired, any kind of failure counts against the host:
    /// without a robots.txt no page of it goes out. `was_asked` is true if the host itself failed, not another host that has its file.
    fn failed(
        &mut self,
        turn: RobotsTurn,
        mut update: HostStatus,
        setback: Setback,
        was_asked: bool,
        now: Timestamp,
    ) -> io::Result<Option<Completion>> {
        let host = self.state.host(turn.by);
        let known = self.state.host(turn.of).robots.known();
        let good_until = known.and_then(RobotsFile::rules).map(|rules| rules.good_until);
        let holds = known.is_some() && good_until.is_none_or(|until| now < until);
        // The pages break, and so does this: the host as a whole fails.
        let is_broken = holds && host.status.is_in_doubt();
        let is_down = setback.blame == Blame::Host || setback.blame == Blame::Fetcher;
        let words = format!("robots.txt: {}", setback.trouble);
        let setback = if is_down {
            setback
        } else {
            let failure = if is_broken { setback.trouble.failure } else { Failure::Robots };
            Setback { blame: Blame::Host, trouble: Trouble::new(failure, &words), ..setback }
        };
        let politeness_table = self.politeness;
        let delay = if holds { self.delay_of(turn) } else { host.delay_by(politeness_table, Duration::ZERO) };
        if holds && !is_down && !is_broken {
            // The host answers, and its pages may be asked for.
            let asked = setback.retry_after.unwrap_or_default().min(self.politeness.max_retry_after);
            update.due = update.due.max(now + delay.max(asked));
        } else {
            let rest = Rest { over: update.due.max(now + delay), is_late: false };
            update.set_back(&setback, host.status.failures == 0, rest, self.politeness, now);
        }
        // A host that is retired now loses its rules; the rules of an origin stay with it.
        let was_retired = self.state.host(turn.by).status.is_retired();
        if holds && (was_retired || !update.is_retired() || turn.by != turn.of) {
            let stale_at = now + self.politeness.max_backoff;
            let renewed = RobotsRecord::Renewed { stale_at, good_until: good_until.unwrap_or(stale_at) };
            self.note_robots(turn, update, Some(renewed), (was_asked, false))?;
        } else {
            self.note_robots(turn, update, (!holds).then_some(RobotsRecord::Unknown), (was_asked, true))?;
        }
        Ok(None)
    }

    /// The rest after a robots.txt that has not changed what is known: with the Crawl-delay of the rules in force.
    fn delay_of(&self, turn: RobotsTurn) -> Duration {
        let rules = self.state.host(turn.of).robots.rules();
        self.state.host(turn.by).delay_by(self.politeness, rules.map_or(Duration::ZERO, |rules| rules.crawl_delay))
    }

    /// Writes the host's status, and what is known of its robots.txt if that has changed, as one record: after a crash both are there, or
    /// neither. `is_retry` says that the file will be asked for again, which is counted.
    ///
    /// For a named queue these are two records, first that of the file: after a crash between them the file is known, and the queue only rests
    /// as after any other crash.
    fn note_robots(
        &mut self,
        turn: RobotsTurn,
        update: HostStatus,
        mut robots: Option<RobotsRecord<'_>>,
        (was_asked, is_retry): (bool, bool),
    ) -> io::Result<()> {
        if turn.by != turn.of
            && let Some(news) = robots.take()
        {
            let Host { key, status, .. } = self.state.host(turn.of);
            let (key, status) = (key.clone(), status.clone());
            let host = key.as_str();
            let file = HostRecord { host, status, robots: Some(news), was_asked: false, is_retry: false };
            self.state.commit(self.journal, &Record::Host(file), Some(turn.of))?;
            self.queues.note_queue_robots(turn.by, key);
        }
        let key = self.state.host(turn.by).key.clone();
        let record = Record::Host(HostRecord { host: key.as_str(), status: update, robots, was_asked, is_retry });
        self.state.commit(self.journal, &record, Some(turn.by)).map(drop)
    }

    /// The next hop of a host's robots.txt. `None` if the target is no URL or the hops are too many: the file then counts as missing, which
    /// allows everything.
    fn next_hop(&self, id: HostId, to: &str) -> Option<(u8, CanonicalUrl)> {
        let hops = match &self.state.host(id).robots {
            RobotsFile::Moved(redirect) => redirect.hops + 1,
            _ => 1,
        };
        self.hop(hops, to)
    }

    fn hop(&self, hops: u8, to: &str) -> Option<(u8, CanonicalUrl)> {
        let url = self.state.gate().canonicalizer().canonicalize(to).ok()?;
        (hops <= ROBOTS_HOPS).then_some((hops, url))
    }
}

impl RobotsNews {
    /// The answer as other hosts take it; `None` if it is of no use to them.
    fn shared(&self) -> Option<SharedRobots> {
        match self {
            Self::Rules(lines, _) => Some(SharedRobots::Rules(lines.as_slice().into())),
            Self::Missing => Some(SharedRobots::Missing),
            Self::Moved(_, url) => Some(SharedRobots::Moved(url.wire().into())),
            Self::Failed(setback) => Some(SharedRobots::Failed(Arc::new(setback.clone()))),
            Self::Same => None,
        }
    }

    /// Reads what a response says about the file. `update` takes in what it says about the host. `lines` is only called if there are
    /// rules, since picking them takes a walk over the body.
    fn of_status(
        lease: &Lease,
        status: u16,
        retry_after: Option<Duration>,
        update: &mut HostStatus,
        lines: impl FnOnce() -> (Vec<u8>, Option<Box<Validators>>),
    ) -> Self {
        if status == 304 && lease.validators.is_none() {
            let trouble = Trouble::new(Failure::BadResponse, "304 to a request without conditions");
            return Self::Failed(Setback::failed(trouble));
        }
        if let Some(setback) = update.answer(status, retry_after, false) {
            return Self::Failed(setback);
        }
        match status {
            304 => Self::Same,
            200..300 => {
                let (lines, validators) = lines();
                Self::Rules(lines, validators)
            }
            _ => Self::Missing,
        }
    }
}

/// On another host.
impl<J: Journal> RobotsFiles<'_, J> {
    /// If the host's robots.txt is on another host, takes the known copy, or waits for the other host. Returns whether it did either; if
    /// not, the host itself is to be asked.
    ///
    /// # Errors
    /// If the journal cannot be read or written. The host is as it was.
    pub(super) fn goes_elsewhere(&mut self, turn: RobotsTurn, priority: u8, now: Timestamp) -> io::Result<bool> {
        let host = self.state.host(turn.of);
        let RobotsFile::Moved(redirect) = &host.robots else { return Ok(false) };
        let Ok(url) = self.state.gate().canonicalizer().clone().with_max_bytes(usize::MAX).canonicalize(&redirect.url)
        else {
            return Ok(false);
        };
        let is_separate = self.state.policy(turn.of).one_server == Some(false);
        if is_its_own(host, &url, is_separate) {
            return Ok(false);
        }
        if self.state.gate().blocklist().is_some_and(|list| list.blocks(&url)) {
            self.take_copy(turn, SharedRobots::Missing, now, now)?;
            return Ok(true);
        }
        if let Some((answer, at)) = self.copies.get(url.wire(), now) {
            self.take_copy(turn, answer, at, now)?;
            return Ok(true);
        }
        let server = self.queues.row(self.state, self.journal, url.origin(), now)?;
        if let Some((answer, at)) = self.own_copy(server, &url, now)? {
            self.take_copy(turn, answer, at, now)?;
            return Ok(true);
        }
        self.queues.wait_for(self.state, (turn.by, priority), server, url.wire(), now);
        Ok(true)
    }

    /// The answer that is known if the URL is the server's own robots.txt, so that it need not be fetched again.
    fn own_copy(
        &mut self,
        server: HostId,
        url: &CanonicalUrl,
        now: Timestamp,
    ) -> io::Result<Option<(SharedRobots, Timestamp)>> {
        let host = self.state.host(server);
        let RobotsFile::Known { stale_at, rules, .. } = &host.robots else { return Ok(None) };
        if *stale_at <= now || host.key.robots_url() != url.wire() {
            return Ok(None);
        }
        let at = stale_at.before(self.politeness.robots_ttl);
        let Some(rules) = rules else { return Ok(Some((SharedRobots::Missing, at))) };
        let Some(position) = rules.kept_at else { return Ok(None) };
        Ok(self.journal.rules(position)?.map(|lines| (SharedRobots::Rules(lines.into()), at)))
    }

    /// A host takes another host's answer as its robots.txt, or as the failure to get it. The host itself was not asked.
    fn take_copy(&mut self, turn: RobotsTurn, answer: SharedRobots, at: Timestamp, now: Timestamp) -> io::Result<()> {
        let update = self.state.host(turn.by).status.clone();
        let answer = match answer {
            SharedRobots::Failed(setback) => {
                return self.failed(turn, update, (*setback).clone(), false, now).map(drop);
            }
            SharedRobots::Rules(lines) => RobotsNews::Rules(lines.to_vec(), None),
            SharedRobots::Missing => RobotsNews::Missing,
            SharedRobots::Moved(to) => {
                self.next_hop(turn.of, &to).map_or(RobotsNews::Missing, |(hops, url)| RobotsNews::Moved(hops, url))
            }
        };
        let stale_at = at + self.politeness.robots_ttl;
        self.learn(turn, update, answer, (stale_at, false), now).map(drop)
    }

    /// The host is retired, so no robots.txt that others wait for can be had from it.
    pub(super) fn fail_others(&mut self, id: HostId, now: Timestamp) {
        let Some((url, _)) = self.queues.first_awaited_robots(id) else { return };
        let (url, trouble) = (Box::<str>::from(url), self.state.host(id).status.last_trouble().cloned());
        let answer = trouble.map(|trouble| SharedRobots::Failed(Arc::new(Setback::failed(trouble))));
        self.answer_others(id, &url, answer, now + self.politeness.backoff, now);
    }

    /// The hosts that wait for this URL go on: each takes the answer when its turn comes. Without an answer that is of use to them, they
    /// wait on, and the URL is asked for again.
    fn answer_others(
        &mut self,
        server: HostId,
        url: &str,
        answer: Option<SharedRobots>,
        fresh_until: Timestamp,
        now: Timestamp,
    ) {
        let Some(answer) = answer else { return };
        self.copies.keep(url, RobotsCopy { answer, at: now, fresh_until });
        self.queues.end_wait_for(self.state, server, url, now);
    }
}

/// Whether this URL is asked for in the host's own turn: it is at the host's own origin, or the host is at http and the URL at https, with
/// default ports that share a clock.
fn is_its_own(host: &Host, url: &CanonicalUrl, is_separate: bool) -> bool {
    let (own, there) = (host.key.as_str(), url.origin());
    let name = own.strip_prefix("http://").filter(|_| !is_separate && own.ends_with(host.key.host()));
    own == there || name.is_some_and(|name| there.strip_prefix("https://") == Some(name))
}
