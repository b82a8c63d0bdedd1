//! The inbox of a partition: takes in the link batches that other partitions have sent, in the order of the log, each once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::journal::JournalPieces;
use super::transport::{Backoff, ClusterSubject, ClusterTransport, Message};
use super::wire::{LinkBatchId, read_link_batch};
use crate::address::Canonicalizer;
use crate::crawl::PartitionHandle;

/// A writer has fewer link batches than this on their way at once.
const WINDOW: u64 = 4096;

/// How often the log is read while no message is announced.
const LOOK: Duration = Duration::from_secs(1);

/// Takes in the links that others have found for a partition.
#[derive(Debug)]
pub(crate) struct Inbox<T: ClusterTransport> {
    pub(crate) transport: Arc<T>,
    pub(crate) partition: u32,
    pub(crate) handle: PartitionHandle,
    pub(crate) pieces: Arc<JournalPieces>,
    pub(crate) canonicalizer: Canonicalizer,
    /// Link batches that could not be read.
    pub(crate) unread: Arc<AtomicU64>,
}

impl<T: ClusterTransport> Inbox<T> {
    /// Takes in link batches without end. Returns only if their links cannot be kept, which also ends the crawl.
    pub(crate) async fn run(self) {
        let subject = ClusterSubject::Found(self.partition);
        let (mut read, mut dedup, mut backoff) = (self.pieces.read(), Dedup::default(), Backoff::new());
        let (mut arrivals, mut is_notified) = (None, false);
        loop {
            if arrivals.is_none() {
                // This comes before the log is read, so that no message is missed between the two.
                arrivals = self.transport.arrivals(&subject).await.ok();
            }
            let found = match &mut arrivals {
                Some(arrivals) if is_notified => tokio::select! {
                    arrival = arrivals.next(read) => arrival,
                    () = self.transport.rest(LOOK) => None,
                },
                _ => self.transport.next(&subject, read).await.ok().flatten(),
            };
            let Some(message) = found else {
                // At the end of the log, switch to announcements. If one was missed, or none came for long, switch back to reading the
                // log.
                is_notified = !is_notified && arrivals.is_some();
                if arrivals.is_none() {
                    backoff.rest(&*self.transport).await;
                }
                continue;
            };
            backoff = Backoff::new();
            read = message.sequence;
            if let Err(error) = self.take(&message, &mut dedup).await {
                tracing::error!(partition = self.partition, %error, "links from other partitions cannot be kept");
                return;
            }
        }
    }

    async fn take(&self, message: &Message, dedup: &mut Dedup) -> std::io::Result<()> {
        let found = match read_link_batch(&message.bytes, &self.canonicalizer) {
            Ok((id, found)) => {
                if dedup.is_new(id) {
                    found
                } else {
                    Vec::new()
                }
            }
            Err(reason) => {
                self.put_aside(message, reason).await;
                Vec::new()
            }
        };
        self.handle.take(found, || self.pieces.has_read(message.sequence))?;
        self.pieces.has_written(message.sequence);
        Ok(())
    }

    /// Keeps a link batch that cannot be read, so that an operator can look at it.
    async fn put_aside(&self, message: &Message, reason: &str) {
        let (partition, sequence) = (self.partition, message.sequence);
        tracing::error!(partition, sequence, reason, "a link batch cannot be read: it is kept, as unread.P");
        let id = Some(format!("unread-{partition}-{sequence}"));
        let mut backoff = Backoff::new();
        let to = ClusterSubject::Unread(partition);
        while self.transport.publish(&to, message.bytes.clone(), None, id.clone()).await.is_err() {
            backoff.rest(&*self.transport).await;
        }
        self.unread.fetch_add(1, Ordering::Relaxed);
    }
}

/// Recognizes link batches that were taken in before: if the acknowledgment is lost, a link batch is sent again.
#[derive(Debug, Default)]
struct Dedup(BTreeMap<u64, Taken>);

/// The link batches of one writer.
#[derive(Debug, Default)]
struct Taken {
    /// All serials up to this one count as taken.
    up_to: u64,
    /// The later serials that were taken.
    later: BTreeSet<u64>,
}

impl Dedup {
    /// Whether a link batch comes for the first time.
    fn is_new(&mut self, id: LinkBatchId) -> bool {
        let taken = self.0.entry(id.token).or_default();
        if id.serial <= taken.up_to || !taken.later.insert(id.serial) {
            return false;
        }
        // A writer counts its link batches to all partitions, so there are gaps. A link batch whose serial is `WINDOW` less than the newest
        // is no longer on its way.
        taken.up_to = taken.up_to.max(id.serial.saturating_sub(WINDOW));
        taken.later = taken.later.split_off(&(taken.up_to + 1));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_batch_is_taken_once_in_any_order() {
        let mut dedup = Dedup::default();
        let id = |token, serial| LinkBatchId { token, serial };
        for serial in [5, 3, 9] {
            assert!(dedup.is_new(id(1, serial)));
            assert!(!dedup.is_new(id(1, serial)));
        }
        assert!(dedup.is_new(id(2, 5)), "of another writer");
        assert!(dedup.is_new(id(1, WINDOW * 2)));
        assert!(!dedup.is_new(id(1, 4)), "long on its way: it counts as a duplicate");
        assert!(dedup.0[&1].later.len() <= 2);
    }
}
