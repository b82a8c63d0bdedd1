//! The turn of a [named queue](crate::frontier::Href::queue): each of its pages goes by the robots.txt of its URL's origin.
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

use std::io;
use std::time::Duration;

use super::Frontier;
use super::robots_turn::RobotsTurn;
use super::rulings::{is_judged_again, judge_again, unproductive};
use crate::address::{HostKey, origin_of, path_and_query};
use crate::frontier::durable::{DisallowedRecord, Entry, Journal, Record};
use crate::frontier::hosts::{Host, HostId, RobotsFile};
use crate::frontier::lease::{LeaseQueue, Texts};
use crate::frontier::queues::Queued;
use crate::frontier::state::State;
use crate::frontier::{Lease, Timestamp};
use crate::gate::Refusal;

impl<J: Journal> Frontier<J> {
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
            if unproductive(gate, host, &entry).is_some() {
                self.drop_refused(id, priority, None, drops)?;
                continue;
            }
            let (origin, path) = (origin_of(entry.wire).into_owned(), path_and_query(entry.wire).to_owned());
            let metadata = entry.metadata.len();
            let of = self.queues.known_row(&mut self.state, &mut self.journal, &origin, now)?;
            if self.wants_robots_of(id, of, now) {
                if self.state.host(id).scheduling.out > 0 {
                    self.queues.await_robots(id);
                    return Ok(None);
                }
                if let Some(of) = of
                    && self.goes_elsewhere(RobotsTurn { by: id, of }, priority, now)?
                {
                    *drops -= 1;
                    return Ok(None);
                }
                return self.lend_robots_of(id, of, &origin, priority, now).map(Some);
            }
            let Some(of) = of else { return Ok(None) };
            if let Some(position) = self.state.host(of).robots.unread()
                && !self.read_rules(of, position)?
            {
                *drops -= 1;
            } else if let Some(refusal) = self.state.host(of).robots.refusal(&path, self.politeness.purpose) {
                self.drop_disallowed(id, first, metadata, refusal)?;
                *drops -= 1;
            } else {
                self.queues.forget_queue_robots(id);
                return self.lend_page(id, priority, None, now, drops);
            }
        }
        Ok(None)
    }

    /// Whether the robots.txt of a page's origin must be fetched before the page: nothing is known of it, it is stale, or page after page of
    /// the queue breaks.
    fn wants_robots_of(&self, by: HostId, of: Option<HostId>, now: Timestamp) -> bool {
        let Some(of) = of.filter(|_| !self.state.host(by).status.is_in_doubt()) else { return true };
        match self.state.host(of).robots {
            RobotsFile::Unknown | RobotsFile::Moved(_) => true,
            RobotsFile::Known { stale_at, .. } => {
                stale_at <= now && !self.queues.is_queue_robots_fresh(by, &self.state.host(of).key)
            }
        }
    }

    /// A lease of an origin's robots.txt, or of where it redirects to.
    fn lend_robots_of(
        &mut self,
        id: HostId,
        of: Option<HostId>,
        origin: &str,
        priority: u8,
        now: Timestamp,
    ) -> io::Result<Lease> {
        let queue = self.state.host(id);
        let attempt = u8::try_from(queue.status.failures.saturating_add(1)).unwrap_or(u8::MAX);
        let file = of.map(|of| &self.state.host(of).robots);
        let texts = match file {
            Some(RobotsFile::Moved(redirect)) => Texts::new(&redirect.url, origin),
            _ => Texts::new(&HostKey::of_origin(origin).robots_url(), origin),
        };
        let validators = file.and_then(|file| file.rules()?.validators.clone());
        let queue = Some(Box::new(LeaseQueue { key: queue.key.clone(), crawl_delay: Duration::ZERO }));
        let mut lease = Lease { texts, priority, attempt, validators, queue, ..self.blank_lease(id, now) };
        self.note_lent(&mut lease)?;
        Ok(lease)
    }

    /// Drops a queue's next page, which the robots.txt of its origin refuses.
    fn drop_disallowed(&mut self, id: HostId, first: Queued, metadata: usize, refusal: Refusal) -> io::Result<()> {
        let Queued { position, priority } = first;
        let key = self.state.host(id).key.clone();
        let record = DisallowedRecord { host: key.as_str(), priority, first: position, urls: 1, refusal };
        let name = self.move_ups.name_at(&mut self.journal, position)?;
        self.commit(&Record::Disallowed(record), Some(id))?;
        self.move_ups.left(name, position);
        self.queues.url_left(position);
        self.release_metadata(position, metadata);
        self.drops.note(&mut self.journal, position, refusal)
    }

    /// Whose robots.txt a lease was for. The host of an origin is added with the first news of its file.
    pub(super) fn robots_turn(&mut self, lease: &Lease, now: Timestamp) -> io::Result<RobotsTurn> {
        match &lease.queue {
            None => Ok(RobotsTurn::own(lease.host)),
            Some(_) => Ok(RobotsTurn { by: lease.host, of: self.row(lease.origin(), now)? }),
        }
    }
}

impl State {
    /// Fills a lease with what this entry of a host's queue says.
    #[inline]
    pub(super) fn fill(&self, lease: &mut Lease, queued: Queued, entry: &Entry<'_>) {
        let host = self.host(lease.host);
        let (score, tries) = (self.back().priorities().of(queued.priority), self.back().tries(queued.position));
        if entry.queue.is_none() {
            lease.fill((queued, score), entry, host.key.as_str(), tries);
            if self.policy(lease.host).robots {
                lease.preferences = host.robots.preferences(path_and_query(entry.wire));
            }
            return;
        }
        let origin = origin_of(entry.wire);
        lease.fill((queued, score), entry, &origin, tries);
        self.note_queue(lease, host, &origin);
    }

    /// Notes that a lease is of a named queue. The longer of the queue's rest and the Crawl-delay of the page's origin follows it.
    fn note_queue(&self, lease: &mut Lease, queue: &Host, origin: &str) {
        let of = self.hosts().find(origin).filter(|_| self.policy(lease.host).robots).map(|of| self.host(of));
        if let Some(of) = of {
            lease.preferences = of.robots.preferences(path_and_query(lease.url()));
        }
        let rules = self.hosts().find(origin).and_then(|of| self.host(of).robots.rules());
        let crawl_delay = rules.map_or(Duration::ZERO, |rules| rules.crawl_delay);
        lease.queue = Some(Box::new(LeaseQueue { key: queue.key.clone(), crawl_delay }));
        lease.delay = queue.delay_by(self.hosts().politeness_table(), crawl_delay);
    }
}
