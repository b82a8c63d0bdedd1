//! What a partition has found for others: it goes to the `Outbound` of its node.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

use super::backlog::Backlog;
use super::lease::NodeLease;
use super::outbound::Outbound;
use super::partitions::Partitions;
use crate::address::{CanonicalUrl, Fingerprint};
use crate::crawl::{ClusterPlace, RemotePartitions, RequestPermit};
use crate::gate::Found;

/// Where a partition puts what it has found for others.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) partition: u32,
    pub(crate) partitions: Partitions,
    pub(crate) lease: Arc<NodeLease>,
    /// Which owner of the partition this is.
    pub(crate) epoch: u64,
    /// The number of the next record.
    pub(crate) records: AtomicU64,
    /// Whether seeds define the scope: then all partitions must know where they redirect to.
    pub(crate) has_roots: bool,
    pub(crate) post: Arc<Outbound>,
    /// The bag with the last link that was found.
    pub(crate) bag: AtomicU64,
    /// Notified when URLs come.
    pub(crate) told: Arc<Notify>,
    /// Counts each record.
    pub(crate) backlog: Arc<Backlog>,
}

impl Outbox {
    /// Returns once no crash can lose what was found so far.
    pub(crate) async fn delivered(&self) {
        self.post.delivered(self.bag.load(Ordering::Acquire)).await;
    }

    /// Whether all of it is delivered.
    pub(crate) fn is_empty(&self) -> bool {
        self.post.has_delivered(self.bag.load(Ordering::Acquire))
    }
}

impl RequestPermit for Outbox {
    fn may_ask(&self) -> bool {
        self.lease.may_ask()
    }
}

impl RemotePartitions for Outbox {
    fn has(&self, url: &CanonicalUrl) -> bool {
        self.partitions.of(url) != self.partition
    }

    fn send(&self, found: Vec<(Found, Fingerprint)>) -> u64 {
        let is_root = |found: &Found| self.has_roots && found.via.widens_scope(found.depth);
        let (recent, bag) = self.post.take(found, |found| (self.partitions.of(&found.url), is_root(found)));
        self.bag.fetch_max(bag, Ordering::AcqRel);
        self.told.notify_one();
        recent
    }

    fn place(&self) -> ClusterPlace {
        let sequence = self.records.fetch_add(1, Ordering::Relaxed);
        self.backlog.add();
        ClusterPlace { partition: self.partition, epoch: self.epoch, sequence }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::address::{Canonicalizer, FingerprintKey, KeyRules};
    use crate::cluster::in_process::InProcess;
    use crate::cluster::link_batch;
    use crate::cluster::partitions::PartitionBy;
    use crate::cluster::subject::ClusterSubject;
    use crate::cluster::transport::ClusterTransport;
    use crate::gate::Via;

    #[tokio::test(start_paused = true)]
    async fn links_go_to_their_partitions_once_and_what_a_seed_redirects_to_goes_to_all() {
        let key = FingerprintKey::from_u64(7);
        let partitions = Partitions { count: 4, by: PartitionBy::Host, key };
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let outbox = Outbox {
            partition: 1,
            partitions,
            lease: Arc::new(NodeLease::new(Duration::from_secs(20))),
            epoch: 3,
            records: AtomicU64::new(40),
            has_roots: true,
            post: Arc::new(Outbound::new(5)),
            bag: AtomicU64::new(0),
            told: Arc::default(),
            backlog: Arc::new(Backlog::new(&Arc::default())),
        };
        assert!(!outbox.may_ask());
        outbox.lease.renewed(Instant::now());
        assert!(outbox.may_ask() && outbox.is_empty());
        let found = |number: u32| {
            let url = canonicalizer.canonicalize(&format!("http://host{number}.test/")).unwrap();
            let fingerprint = url.fingerprint(key);
            (Found { depth: 1, via: Via::Link, ..Found::seed(url) }, fingerprint)
        };
        let away: Vec<_> = (0..600).map(found).filter(|(found, _)| outbox.has(&found.url)).collect();
        assert!((400..500).contains(&away.len()), "{}", away.len());
        assert_eq!((outbox.send(away.clone()), outbox.is_empty()), (0, false));
        assert!(outbox.send(away[..9].to_vec()) >= 8, "sent not long ago");
        let (mut root, fingerprint) = found(1_000);
        (root.depth, root.via) = (0, Via::Redirect);
        outbox.send(vec![(root, fingerprint)]);
        let transport = InProcess::new(1, 0);
        tokio::select! {
            () = outbox.delivered() => {}
            () = outbox.post.carry(Arc::clone(&transport)) => {}
        }
        assert!(outbox.is_empty());
        let mut urls = 0;
        for subject in (0..4).map(ClusterSubject::Found).chain([ClusterSubject::Roots]) {
            let mut behind = 0;
            while let Some(message) = transport.next(&subject, behind).await.unwrap() {
                behind = message.sequence;
                let (_, found) = link_batch::open(&message.bytes, &canonicalizer).unwrap();
                urls += found.len();
                let is_there = |found: &Found| subject == ClusterSubject::Found(partitions.of(&found.url));
                assert!(found.iter().all(is_there) || subject == ClusterSubject::Roots && found.len() == 1);
            }
        }
        assert!(urls >= away.len() + 2 && urls <= away.len() + 3, "{urls} of {}", away.len());
        let places = [outbox.place(), outbox.place()].map(|place| (place.partition, place.epoch, place.sequence));
        assert_eq!((places, outbox.backlog.own()), ([(1, 3, 40), (1, 3, 41)], 2));
    }
}
