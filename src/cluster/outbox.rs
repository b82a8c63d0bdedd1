//! What a partition has found for others, until it is sent.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::backlog::Backlog;
use super::lease::NodeLease;
use super::letter::{LetterDraft, LetterId};
use super::partitions::Partitions;
use super::subject::ClusterSubject;
use crate::address::{CanonicalUrl, Fingerprint};
use crate::crawl::{ClusterPlace, Elsewhere, MayAsk};
use crate::gate::Found;

/// URLs that a partition knows that it has sent, at most. A site's pages link to the same others again and again.
const RECENT: usize = 1 << 13;

/// What a partition has found for others, in letters that are filled as pages come.
pub(crate) struct Outbox {
    partition: u32,
    partitions: Partitions,
    lease: Arc<NodeLease>,
    /// Which owner of the partition this is.
    epoch: u64,
    /// The number of the next record.
    records: AtomicU64,
    /// Seeds open the scope, so what they redirect to is everybody's concern.
    has_roots: bool,
    drafts: Mutex<Drafts>,
    /// Told when the first URL comes.
    told: Arc<Notify>,
    /// Told of each record.
    backlog: Arc<Backlog>,
}

#[derive(Debug)]
struct Drafts {
    /// Letters by where they go; the last one of each may get more.
    letters: BTreeMap<ClusterSubject, Vec<LetterDraft>>,
    /// Fingerprints of what was sent not long ago, each at the place that it asks for; 0 is none.
    recent: Box<[u64]>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("partition", &self.partition).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

impl Outbox {
    /// Empty. Records have the numbers from `first` on.
    pub(crate) fn new(
        partition: u32,
        partitions: Partitions,
        lease: Arc<NodeLease>,
        (epoch, first): (u64, u64),
        has_roots: bool,
        told: Arc<Notify>,
        backlog: Arc<Backlog>,
    ) -> Self {
        let drafts = Drafts { letters: BTreeMap::new(), recent: vec![0; RECENT].into() };
        let records = AtomicU64::new(first);
        Self { partition, partitions, lease, epoch, records, has_roots, drafts: Mutex::new(drafts), told, backlog }
    }

    fn drafts(&self) -> MutexGuard<'_, Drafts> {
        self.drafts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes all letters out, each with its name. `serial` counts them.
    pub(crate) fn take(&self, token: u64, serial: &mut u64) -> Vec<(ClusterSubject, LetterId, Vec<u8>)> {
        let letters = std::mem::take(&mut self.drafts().letters);
        let drafts =
            letters.into_iter().flat_map(|(to, drafts)| drafts.into_iter().map(move |draft| (to.clone(), draft)));
        let named = drafts.map(|(to, draft)| {
            *serial += 1;
            let id = LetterId { partition: Some(self.partition), token, serial: *serial };
            (to, id, draft.letter(id))
        });
        named.collect()
    }

    /// Whether nothing waits in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.drafts().letters.is_empty()
    }
}

impl Drafts {
    fn add(&mut self, to: ClusterSubject, found: &Found) {
        let letters = self.letters.entry(to).or_default();
        if letters.last().is_none_or(LetterDraft::is_full) {
            letters.push(LetterDraft::default());
        }
        if let Some(draft) = letters.last_mut() {
            draft.add(found);
        }
    }

    /// Whether this was sent not long ago. From here on it was.
    fn was_sent(&mut self, fingerprint: Fingerprint) -> bool {
        let bits = fingerprint.bits().max(1);
        let at = usize::try_from(bits % RECENT as u64).unwrap_or_default();
        std::mem::replace(&mut self.recent[at], bits) == bits
    }
}

impl MayAsk for Outbox {
    fn may_ask(&self) -> bool {
        self.lease.may_ask()
    }
}

impl Elsewhere for Outbox {
    fn has(&self, url: &CanonicalUrl) -> bool {
        self.partitions.of(url) != self.partition
    }

    fn send(&self, found: Vec<(Found, Fingerprint)>) -> u64 {
        let mut drafts = self.drafts();
        let mut recent = 0;
        for (found, fingerprint) in found {
            if drafts.was_sent(fingerprint) {
                recent += 1;
                continue;
            }
            if self.has_roots && found.via.widens_scope(found.depth) {
                drafts.add(ClusterSubject::Roots, &found);
            }
            drafts.add(ClusterSubject::Found(self.partitions.of(&found.url)), &found);
        }
        drop(drafts);
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
    use crate::cluster::letter;
    use crate::cluster::partitions::PartitionBy;
    use crate::gate::Via;

    #[test]
    fn links_go_to_their_partitions_once_and_what_a_seed_redirects_to_goes_to_all() {
        let key = FingerprintKey::from_u64(7);
        let partitions = Partitions { count: 4, by: PartitionBy::Host, key };
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let lease = Arc::new(NodeLease::new(Duration::from_secs(20)));
        let backlog = Arc::new(Backlog::new(&Arc::default()));
        let outbox =
            Outbox::new(1, partitions, Arc::clone(&lease), (3, 40), true, Arc::default(), Arc::clone(&backlog));
        assert!(!outbox.may_ask());
        lease.renewed(Instant::now());
        assert!(outbox.may_ask());
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
        let mut serial = 0;
        let letters = outbox.take(5, &mut serial);
        assert_eq!((outbox.is_empty(), serial), (true, letters.len() as u64));
        let mut urls = 0;
        for (to, id, bytes) in &letters {
            let (from, found) = letter::open(bytes, &canonicalizer).unwrap();
            assert_eq!((from, from.partition, from.token), (*id, Some(1), 5));
            urls += found.len();
            let is_there =
                |found: &Found| *to == ClusterSubject::Found(partitions.of(&found.url)) || *to == ClusterSubject::Roots;
            assert!(found.iter().all(is_there));
        }
        assert_eq!(letters.iter().filter(|(to, ..)| *to == ClusterSubject::Roots).count(), 1);
        assert!(urls >= away.len() + 2 && urls <= away.len() + 3, "{urls} of {}", away.len());
        let places = [outbox.place(), outbox.place()].map(|place| (place.partition, place.epoch, place.sequence));
        assert_eq!((places, backlog.own()), ([(1, 3, 40), (1, 3, 41)], 2));
    }
}
