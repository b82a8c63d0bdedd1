//! What the state says of a lease that goes out, or is redeemed by its token.

use std::time::Duration;

use super::State;
use crate::address::{origin_of, path_and_query};
use crate::frontier::durable::Entry;
use crate::frontier::hosts::{Host, HostId};
use crate::frontier::lease::{LeaseQueue, Texts, Waited};
use crate::frontier::queues::Queued;
use crate::frontier::robots::Preferences;
use crate::frontier::{Lease, LeaseKind, Timestamp};
use crate::gate::{SeenTest, Via};

impl State {
    /// A lease with what is known of the host, and nothing of a page. It is of the frontier with this mark. It is not counted
    /// and takes no places in rate groups.
    pub(crate) fn blank_lease(&self, frontier: u64, id: HostId, now: Timestamp) -> Lease {
        let (host, politeness) = (self.host(id), self.hosts().politeness_table());
        Lease {
            frontier,
            token: None,
            host: id,
            kind: LeaseKind::Robots,
            position: None,
            texts: Texts::default(),
            depth: 0,
            priority: 0,
            score: 0,
            via: Via::Seed,
            redirects: 0,
            attempt: 1,
            attempts: politeness.attempts,
            delay: host.delay(politeness),
            group: None,
            server: None,
            by_address: politeness.policy(host.policy).by_address,
            address: None,
            connections: politeness.policy(host.policy).connections,
            earlier: 0,
            is_first_contact: !host.status.has_answered,
            failure_epoch: 0,
            lent_at: now,
            answered_at: None,
            took: None,
            received: 0,
            charged: 0,
            is_in_hand: false,
            keeps_tries: false,
            trouble: None,
            validators: None,
            for_other: None,
            yielded: None,
            metadata: Box::default(),
            identity: None,
            seen_test: SeenTest::Asked,
            queue: None,
            preferences: Preferences::default(),
            waited: Waited::default(),
        }
    }

    /// Fills a lease with what this entry of a host's queue says.
    #[inline]
    pub(crate) fn fill(&self, lease: &mut Lease, queued: Queued, entry: &Entry<'_>) {
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

    /// Fills in what is known of a robots.txt that is out, from the host that has it.
    pub(crate) fn fill_robots(&self, lease: &mut Lease, priority: u8) {
        let host = self.host(lease.host);
        let Some(out) = self.leases().robots(host.key.as_str()) else { return };
        lease.attempt = out.attempt;
        lease.priority = priority;
        if host.key.queue().is_some() {
            // It waits for itself, and the file is that of an origin.
            lease.texts = Texts::new(&out.url, &out.for_other);
            let of = self.hosts().find(&out.for_other).map(|of| self.host(of));
            lease.validators = of.and_then(|of| of.robots.rules()?.validators.clone());
            lease.queue = Some(Box::new(LeaseQueue { key: host.key.clone(), crawl_delay: Duration::ZERO }));
            return;
        }
        lease.texts = Texts::new(&out.url, host.key.as_str());
        if out.for_other.is_empty() {
            lease.validators = host.robots.rules().and_then(|rules| rules.validators.clone());
        } else {
            lease.for_other = Some(out.for_other.clone());
        }
    }
}
