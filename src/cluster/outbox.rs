//! Links from one partition to others: the outbox of each partition, and the [`Outbound`] of its node, which collects them in link batches and
//! sends these together. A link that was sent recently is not sent again.

use std::collections::BTreeMap;
use std::iter::repeat;
use std::mem;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::journal::Backlog;
use super::peers::NodeLease;
use super::terms::{Partitions, deliver};
use super::transport::{ClusterSubject, ClusterTransport};
use super::wire::{LinkBatchDraft, LinkBatchId};
use crate::address::{CanonicalUrl, Fingerprint};
use crate::crawl::{ClusterPlace, RemotePartitions, RequestPermit};
use crate::gate::{Found, SeenTest, Via};

/// The outbox of a partition, for links that it has found for other partitions.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) partition: u32,
    pub(crate) partitions: Partitions,
    pub(crate) lease: Arc<NodeLease>,
    /// The epoch of the partition's owner.
    pub(crate) epoch: u64,
    /// The sequence of the next page record.
    pub(crate) records: AtomicU64,
    /// Whether seeds define the scope. Then all partitions must know the targets of redirects from seeds.
    pub(crate) has_roots: bool,
    pub(crate) outbound: Arc<Outbound>,
    /// The shipment that has the last link.
    pub(crate) shipment: AtomicU64,
    /// Notified when links are added.
    pub(crate) wake: Arc<Notify>,
    /// Counts each record.
    pub(crate) backlog: Arc<Backlog>,
}

impl Outbox {
    /// Returns once no crash of a server can lose the links that were found so far.
    pub(crate) async fn delivered(&self) {
        self.outbound.delivered(self.shipment.load(Ordering::Acquire)).await;
    }

    /// Whether all links that were found so far are delivered.
    pub(crate) fn is_empty(&self) -> bool {
        self.outbound.has_delivered(self.shipment.load(Ordering::Acquire))
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
        let (recent, shipment) = self.outbound.take(found, |found| (self.partitions.of(&found.url), is_root(found)));
        self.shipment.fetch_max(shipment, Ordering::AcqRel);
        self.wake.notify_one();
        recent
    }

    fn place(&self) -> ClusterPlace {
        let sequence = self.records.fetch_add(1, Ordering::Relaxed);
        self.backlog.add();
        ClusterPlace { partition: self.partition, epoch: self.epoch, sequence }
    }
}

/// At most this many link batches are on their way at once.
const MOST_IN_FLIGHT: usize = 64;
/// After this many link batches, all are delivered before the next one is sent: receivers recognize duplicates only within a window of link
/// batches.
const STRETCH: u64 = 1024;

/// Links that the partitions of a node have found for other partitions. They are sent in shipments, one after the other. A shipment has all
/// link batches that were begun since the previous shipment was closed.
#[derive(Debug)]
pub(crate) struct Outbound {
    token: u64,
    drafts: Mutex<Drafts>,
    /// No crash of a server can lose the shipments up to this one.
    delivered: watch::Sender<u64>,
    /// A partition waits for a shipment.
    wanted: Notify,
}

#[derive(Debug, Default)]
struct Drafts {
    /// Link batches by destination; the last one of each may take more URLs.
    link_batches: BTreeMap<ClusterSubject, Vec<LinkBatchDraft>>,
    /// How many shipments were closed.
    shipments: u64,
    recent: RecentSet,
}

impl Outbound {
    /// An empty one. The token was drawn for this node.
    pub(crate) fn new(token: u64) -> Self {
        Self { token, drafts: Mutex::default(), delivered: watch::Sender::new(0), wanted: Notify::default() }
    }

    fn drafts(&self) -> MutexGuard<'_, Drafts> {
        self.drafts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes URLs to send. `to` returns the partition that a URL goes to, and whether it also goes to all partitions. Returns how many of the
    /// URLs were sent recently, and are not sent again; and the number of the shipment that has the last URL.
    pub(crate) fn take(&self, found: Vec<(Found, Fingerprint)>, to: impl Fn(&Found) -> (u32, bool)) -> (u64, u64) {
        let (mut drafts, mut recent) = (self.drafts(), 0);
        for (found, fingerprint) in found {
            let (partition, is_root) = to(&found);
            if is_root {
                drafts.recent.forget();
                drafts.add(ClusterSubject::Roots, &found);
            }
            if drafts.recent.was_sent(&found, fingerprint) {
                recent += 1;
                continue;
            }
            drafts.add(ClusterSubject::Found(partition), &found);
        }
        let is_open = !drafts.link_batches.is_empty();
        (recent, drafts.shipments + u64::from(is_open))
    }

    /// Forgets which links were sent. Call this if links that were refused may be admitted now: if the scope is wider, or a drop rule is gone.
    pub(crate) fn forget_sent(&self) {
        self.drafts().recent.forget();
    }

    /// Whether all shipments up to this one are delivered.
    pub(crate) fn has_delivered(&self, shipment: u64) -> bool {
        *self.delivered.borrow() >= shipment
    }

    /// Returns once all shipments up to this one are delivered.
    pub(crate) async fn delivered(&self, shipment: u64) {
        if !self.has_delivered(shipment) {
            self.wanted.notify_one();
            // The sender is in `self`, so there is never an error.
            let _ = self.delivered.subscribe().wait_for(|delivered| *delivered >= shipment).await;
        }
    }

    /// Sends shipments without end, one after the other, each once a partition waits for it.
    pub(crate) async fn carry<T: ClusterTransport>(&self, transport: Arc<T>) {
        let mut serial = 0;
        loop {
            self.wanted.notified().await;
            let (shipment, link_batches) = self.drafts().close();
            let mut sending = JoinSet::new();
            for (to, draft) in link_batches.into_iter().flat_map(|(to, drafts)| repeat(to).zip(drafts)) {
                let room = if serial % STRETCH == 0 { 0 } else { MOST_IN_FLIGHT - 1 };
                while sending.len() > room {
                    arrive(&mut sending).await;
                }
                serial += 1;
                let (id, transport) = (LinkBatchId { token: self.token, serial }, Arc::clone(&transport));
                sending.spawn(async move { deliver(&*transport, &to, id, &draft.link_batch(id)).await });
            }
            while arrive(&mut sending).await {}
            self.delivered.send_replace(shipment);
        }
    }
}

/// Waits for a link batch to arrive; `false` if none is on its way. If sending panics, which is a bug of ours, the node ends, so that the
/// link batch is not lost.
async fn arrive(sending: &mut JoinSet<u64>) -> bool {
    match sending.join_next().await {
        Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
        arrived => arrived.is_some(),
    }
}

impl Drafts {
    fn add(&mut self, to: ClusterSubject, found: &Found) {
        let link_batches = self.link_batches.entry(to).or_default();
        if link_batches.last().is_none_or(LinkBatchDraft::is_full) {
            link_batches.push(LinkBatchDraft::default());
        }
        if let Some(draft) = link_batches.last_mut() {
            draft.add(found);
        }
    }

    /// Closes the open shipment, if there is one, and returns its link batches. Also returns the number of the last closed shipment.
    fn close(&mut self) -> (u64, BTreeMap<ClusterSubject, Vec<LinkBatchDraft>>) {
        let link_batches = mem::take(&mut self.link_batches);
        self.shipments += u64::from(!link_batches.is_empty());
        (self.shipments, link_batches)
    }
}

/// The set remembers at most this many URLs. A site's pages link to the same pages again and again.
const MOST_RECENT: usize = 1 << 16;

/// The links that were sent recently, with the properties by which receivers judge them. A link that may be judged differently counts as new.
#[derive(Debug)]
pub(super) struct RecentSet(Box<[Option<Sent>]>);

/// A URL that was sent.
#[derive(Clone, Copy, Debug)]
struct Sent {
    bits: u64,
    depth: u32,
    via: Via,
    redirects: u8,
}

impl Default for RecentSet {
    fn default() -> Self {
        Self(vec![None; MOST_RECENT].into())
    }
}

impl RecentSet {
    /// Whether this URL was already sent with the same `via`, and with a depth and a number of redirects that were not greater. If not, it
    /// counts as sent from now on. A URL that skips the seen test is always sent.
    pub(super) fn was_sent(&mut self, found: &Found, fingerprint: Fingerprint) -> bool {
        if found.seen_test != SeenTest::Asked {
            return false;
        }
        let Found { depth, via, redirects, .. } = *found;
        let bits = fingerprint.bits();
        // Each URL has one slot.
        let place = &mut self.0[usize::try_from(bits % MOST_RECENT as u64).unwrap_or_default()];
        let is_known =
            |sent: &Sent| sent.bits == bits && sent.via == via && sent.depth <= depth && sent.redirects <= redirects;
        if place.as_ref().is_some_and(is_known) {
            return true;
        }
        *place = Some(Sent { bits, depth, via, redirects });
        false
    }

    /// Forgets all links.
    pub(super) fn forget(&mut self) {
        self.0.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use tokio::time::timeout;

    use super::*;
    use crate::address::{Canonicalizer, FingerprintKey, KeyRules};
    use crate::cluster::in_process::InProcess;
    use crate::cluster::terms::PartitionBy;
    use crate::cluster::transport::{ClusterSubject, ClusterTransport};
    use crate::cluster::wire::read_link_batch;
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
            outbound: Arc::new(Outbound::new(5)),
            shipment: AtomicU64::new(0),
            wake: Arc::default(),
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
            () = outbox.outbound.carry(Arc::clone(&transport)) => {}
        }
        assert!(outbox.is_empty());
        let mut urls = 0;
        for subject in (0..4).map(ClusterSubject::Found).chain([ClusterSubject::Roots]) {
            let mut after = 0;
            while let Some(message) = transport.next(&subject, after).await.unwrap() {
                after = message.sequence;
                let (_, found) = read_link_batch(&message.bytes, &canonicalizer).unwrap();
                urls += found.len();
                let is_there = |found: &Found| subject == ClusterSubject::Found(partitions.of(&found.url));
                assert!(found.iter().all(is_there) || subject == ClusterSubject::Roots && found.len() == 1);
            }
        }
        assert!(urls >= away.len() + 2 && urls <= away.len() + 3, "{urls} of {}", away.len());
        let places = [outbox.place(), outbox.place()].map(|place| (place.partition, place.epoch, place.sequence));
        assert_eq!((places, outbox.backlog.own()), ([(1, 3, 40), (1, 3, 41)], 2));
    }

    #[tokio::test(start_paused = true)]
    async fn what_all_have_found_goes_together_and_a_bag_is_there_when_it_is_said_to_be() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let key = FingerprintKey::from_u64(7);
        let found = |number: u32| {
            let url = canonicalizer.canonicalize(&format!("http://host{number}.test/")).unwrap();
            let fingerprint = url.fingerprint(key);
            (Found { depth: 1, ..Found::seed(url) }, fingerprint)
        };
        // A server that fails now and then, and some of whose acknowledgments are lost.
        let (transport, outbound) = (InProcess::new(3, 20), Arc::new(Outbound::new(5)));
        let to = |found: &Found| (u32::from(found.url.key().len().is_multiple_of(2)), found.depth == 0);
        assert_eq!(outbound.take((0..300).map(found).collect(), to), (0, 1));
        let (recent, shipment) = outbound.take((290..600).map(found).collect(), to);
        assert!((8..=10).contains(&recent) && shipment == 1, "{recent} were sent not long ago");
        assert!(timeout(Duration::from_secs(9), outbound.delivered(1)).await.is_err(), "nobody carries it");
        let carrying = tokio::spawn({
            let (outbound, transport) = (Arc::clone(&outbound), Arc::clone(&transport));
            async move { outbound.carry(transport).await }
        });
        outbound.delivered(1).await;
        assert!(outbound.has_delivered(1) && !outbound.has_delivered(2));
        // A URL that was sent is in no new shipment; a root is in two link batches.
        assert_eq!(outbound.take(vec![found(599)], to), (1, 1));
        // The receiver of a link may have refused it as out of scope.
        let (mut root, fingerprint) = found(599);
        root.depth = 0;
        assert_eq!(outbound.take(vec![(root, fingerprint)], to), (0, 2));
        assert_eq!(outbound.take(vec![found(598)], to), (0, 2));
        outbound.delivered(2).await;
        carrying.abort();

        transport.mend();
        let mut there = Vec::new();
        for subject in [ClusterSubject::Found(0), ClusterSubject::Found(1), ClusterSubject::Roots] {
            let (mut after, mut ids) = (0, std::collections::BTreeSet::new());
            let mut urls = 0;
            while let Some(message) = transport.next(&subject, after).await.unwrap() {
                after = message.sequence;
                let (id, found) = read_link_batch(&message.bytes, &canonicalizer).unwrap();
                assert_eq!(id.token, 5);
                if ids.insert(id) {
                    urls += found.len();
                }
            }
            there.push((ids.len(), urls));
        }
        let [(of_one, one), (of_other, other), roots] = there[..] else { unreachable!() };
        assert_eq!((roots, one + other), ((1, 1), 602 + 10 - usize::try_from(recent).unwrap()));
        assert!(of_one + of_other <= 5, "{of_one} and {of_other} letters");
    }

    #[test]
    fn what_may_be_judged_in_another_way_is_sent_again() {
        let url = Canonicalizer::new(&KeyRules::default()).canonicalize("http://a.test/").unwrap();
        let fingerprint = url.fingerprint(FingerprintKey::from_u64(7));
        let mut recent = RecentSet::default();
        let mut was_sent = |depth, via, redirects| {
            let found = Found { depth, via, redirects, ..Found::seed(url.clone()) };
            recent.was_sent(&found, fingerprint)
        };
        assert!(!was_sent(5, Via::Link, 0));
        assert!(was_sent(5, Via::Link, 0) && was_sent(6, Via::Link, 0));
        assert!(!was_sent(3, Via::Link, 0), "it may have been too deep");
        assert!(was_sent(4, Via::Link, 0));
        assert!(!was_sent(4, Via::Redirect, 2) && was_sent(4, Via::Redirect, 2));
        assert!(!was_sent(4, Via::Redirect, 1), "it may have been one redirect too many");
        assert!(!was_sent(4, Via::Sitemap, 1), "a sitemap is no page");
        recent.forget();
        assert!(!recent.was_sent(&Found::sitemap(url.clone(), 4), fingerprint));
        let unconditional = Found { seen_test: SeenTest::Skipped, ..Found::sitemap(url, 4) };
        assert!(!(0..2).any(|_| recent.was_sent(&unconditional, fingerprint)));
    }
}
