//! What the partitions of a node have found for others, in link batches that are filled as pages come and are sent together.

use std::collections::BTreeMap;
use std::iter::repeat;
use std::mem;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::link_batch::{LetterId, LinkBatchDraft};
use super::recent_set::RecentSet;
use super::roots::deliver;
use super::subject::ClusterSubject;
use super::transport::ClusterTransport;
use crate::address::Fingerprint;
use crate::gate::Found;

/// Link batches on their way at once, at most.
const LETTERS: usize = 64;
/// After each stretch of this many link batches, all of them are delivered before the next are sent: receivers recognize a duplicate only
/// within such a window.
const STRETCH: u64 = 1024;

/// What the partitions of a node have found for others. It is sent in bags, one after the other: a bag has all link batches that were begun
/// since the bag before it was closed.
#[derive(Debug)]
pub(crate) struct Outbound {
    token: u64,
    drafts: Mutex<Drafts>,
    /// No crash of a server can lose the bags up to this one.
    delivered: watch::Sender<u64>,
    /// A partition waits for a bag.
    wanted: Notify,
}

#[derive(Debug, Default)]
struct Drafts {
    /// Link batches by destination; the last one of each may take more URLs.
    link_batches: BTreeMap<ClusterSubject, Vec<LinkBatchDraft>>,
    /// Bags that were closed.
    bags: u64,
    recent: RecentSet,
}

impl Outbound {
    /// Empty. The token was drawn for this node.
    pub(crate) fn new(token: u64) -> Self {
        Self { token, drafts: Mutex::default(), delivered: watch::Sender::new(0), wanted: Notify::default() }
    }

    fn drafts(&self) -> MutexGuard<'_, Drafts> {
        self.drafts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was found, and the partition it goes to; with the flag, it also goes to all partitions. Returns how many were sent
    /// recently, and are not sent again; and the number of the bag with the last of them all.
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
        (recent, drafts.bags + u64::from(is_open))
    }

    /// The scope is wider: links that were sent and refused may be admitted now.
    pub(crate) fn forget_sent(&self) {
        self.drafts().recent.forget();
    }

    /// Whether all bags up to this one are delivered.
    pub(crate) fn has_delivered(&self, bag: u64) -> bool {
        *self.delivered.borrow() >= bag
    }

    /// Returns once all bags up to this one are delivered.
    pub(crate) async fn delivered(&self, bag: u64) {
        if !self.has_delivered(bag) {
            self.wanted.notify_one();
            // The sender is in `self`, so there is no error.
            let _ = self.delivered.subscribe().wait_for(|delivered| *delivered >= bag).await;
        }
    }

    /// Sends one bag after the other, each when a partition waits for it. Without end.
    pub(crate) async fn carry<T: ClusterTransport>(&self, transport: Arc<T>) {
        let mut serial = 0;
        loop {
            self.wanted.notified().await;
            let (bag, link_batches) = self.drafts().close();
            let mut sending = JoinSet::new();
            for (to, draft) in link_batches.into_iter().flat_map(|(to, drafts)| repeat(to).zip(drafts)) {
                let room = if serial % STRETCH == 0 { 0 } else { LETTERS - 1 };
                while sending.len() > room {
                    arrive(&mut sending).await;
                }
                serial += 1;
                let (id, transport) = (LetterId { token: self.token, serial }, Arc::clone(&transport));
                sending.spawn(async move { deliver(&*transport, &to, id, &draft.link_batch(id)).await });
            }
            while arrive(&mut sending).await {}
            self.delivered.send_replace(bag);
        }
    }
}

/// Waits for a link batch to arrive; `false` if none is on its way. If a bug of ours keeps one from being sent, the node ends, so that
/// it is not lost.
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

    /// Closes the open bag, if there is one. Returns the number of the bag that was closed last, and what is in this one.
    fn close(&mut self) -> (u64, BTreeMap<ClusterSubject, Vec<LinkBatchDraft>>) {
        let link_batches = mem::take(&mut self.link_batches);
        self.bags += u64::from(!link_batches.is_empty());
        (self.bags, link_batches)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::address::{Canonicalizer, FingerprintKey, KeyRules};
    use crate::cluster::in_process::InProcess;
    use crate::cluster::link_batch;

    #[tokio::test(start_paused = true)]
    async fn what_all_have_found_goes_together_and_a_bag_is_there_when_it_is_said_to_be() {
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let key = FingerprintKey::from_u64(7);
        let found = |number: u32| {
            let url = canonicalizer.canonicalize(&format!("http://host{number}.test/")).unwrap();
            let fingerprint = url.fingerprint(key);
            (Found { depth: 1, ..Found::seed(url) }, fingerprint)
        };
        // A server that fails now and then, and whose answers of what it has kept are lost.
        let (transport, post) = (InProcess::new(3, 20), Arc::new(Outbound::new(5)));
        let to = |found: &Found| (u32::from(found.url.key().len().is_multiple_of(2)), found.depth == 0);
        assert_eq!(post.take((0..300).map(found).collect(), to), (0, 1));
        let (recent, bag) = post.take((290..600).map(found).collect(), to);
        assert!((8..=10).contains(&recent) && bag == 1, "{recent} were sent not long ago");
        assert!(timeout(Duration::from_secs(9), post.delivered(1)).await.is_err(), "nobody carries it");
        let carrying = tokio::spawn({
            let (post, transport) = (Arc::clone(&post), Arc::clone(&transport));
            async move { post.carry(transport).await }
        });
        post.delivered(1).await;
        assert!(post.has_delivered(1) && !post.has_delivered(2));
        // A URL that was sent is in no new bag; a root is in two link batches.
        assert_eq!(post.take(vec![found(599)], to), (1, 1));
        // The receiver of a link may have refused it as out of scope.
        let (mut root, fingerprint) = found(599);
        root.depth = 0;
        assert_eq!(post.take(vec![(root, fingerprint)], to), (0, 2));
        assert_eq!(post.take(vec![found(598)], to), (0, 2));
        post.delivered(2).await;
        carrying.abort();

        transport.mend();
        let mut there = Vec::new();
        for subject in [ClusterSubject::Found(0), ClusterSubject::Found(1), ClusterSubject::Roots] {
            let (mut behind, mut ids) = (0, std::collections::BTreeSet::new());
            let mut urls = 0;
            while let Some(message) = transport.next(&subject, behind).await.unwrap() {
                behind = message.sequence;
                let (id, found) = link_batch::open(&message.bytes, &canonicalizer).unwrap();
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
}
