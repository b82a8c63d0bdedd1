//! Seeds, and where seeds redirect to: every partition must know them, since they define the scope.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::ClusterError;
use super::link_batch::{self, LetterId, LinkBatchDraft};
use super::subject::ClusterSubject;
use super::transport::{ANSWERS, Backoff, ClusterTransport};
use crate::address::{CanonicalUrl, Canonicalizer};
use crate::gate::{Found, ScopeKind};

/// All seeds, and what they redirect to, as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct RootList {
    found: Mutex<Vec<Found>>,
    /// The last message that was read.
    read: AtomicU64,
}

impl RootList {
    fn found(&self) -> MutexGuard<'_, Vec<Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The roots from an index on.
    pub(crate) fn from(&self, first: usize) -> Vec<Found> {
        self.found().get(first..).unwrap_or_default().to_vec()
    }

    /// Reads on until it has this message. Waits without end for servers that do not answer.
    ///
    /// # Errors
    /// If they answer again and again that they do not have it.
    pub(crate) async fn read_to<T: ClusterTransport>(
        &self,
        transport: &T,
        canonicalizer: &Canonicalizer,
        last: u64,
    ) -> Result<(), ClusterError> {
        let mut backoff = Backoff::new();
        for _ in 0..ANSWERS {
            if self.read_on(transport, canonicalizer).await > 0 && self.read.load(Ordering::Acquire) >= last {
                return Ok(());
            }
            backoff.rest(transport).await;
        }
        Err(ClusterError::Log(format!("the servers have lost its seeds, up to message {last}")))
    }

    /// Reads on to the end of the list as it is now, and returns its length. Retries while the servers cannot be reached.
    pub(crate) async fn read_on<T: ClusterTransport>(&self, transport: &T, canonicalizer: &Canonicalizer) -> usize {
        let mut backoff = Backoff::new();
        loop {
            let read = self.read.load(Ordering::Acquire);
            match transport.next(&ClusterSubject::Roots, read).await {
                Ok(Some(message)) => {
                    match link_batch::open(&message.bytes, canonicalizer) {
                        Ok((_, found)) => self.found().extend(found),
                        Err(reason) => {
                            tracing::error!(sequence = message.sequence, reason, "seeds that cannot be read");
                        }
                    }
                    self.read.store(message.sequence, Ordering::Release);
                }
                Ok(None) => return self.found().len(),
                Err(_) => backoff.rest(transport).await,
            }
        }
    }
}

/// Whether seeds define the scope.
pub(crate) fn has_roots(kind: ScopeKind) -> bool {
    !matches!(kind, ScopeKind::Any | ScopeKind::Page)
}

/// Sends seeds to all partitions. Returns the sequence of the last message. Retries without end while no answer comes.
pub(crate) async fn add_seeds<T: ClusterTransport>(transport: &T, token: u64, seeds: &[CanonicalUrl]) -> u64 {
    let (mut last, mut serial, mut draft) = (0, 0, LinkBatchDraft::default());
    for (number, seed) in (1..).zip(seeds) {
        draft.add(&Found::seed(seed.clone()));
        if draft.is_full() || number == seeds.len() {
            serial += 1;
            let id = LetterId { token, serial };
            let link_batch = std::mem::take(&mut draft).link_batch(id);
            last = deliver(transport, &ClusterSubject::Roots, id, &link_batch).await;
        }
    }
    last
}

/// Sends a link batch, and returns once no crash of a server can lose it.
pub(crate) async fn deliver<T: ClusterTransport>(
    transport: &T,
    to: &ClusterSubject,
    id: LetterId,
    link_batch: &[u8],
) -> u64 {
    let name = format!("{:016x}-{}", id.token, id.serial);
    let mut backoff = Backoff::new();
    loop {
        if let Ok(sequence) = transport.publish(to, link_batch.to_vec(), None, Some(name.clone())).await {
            return sequence;
        }
        backoff.rest(transport).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::KeyRules;
    use crate::cluster::in_process::InProcess;

    #[tokio::test(start_paused = true)]
    async fn seeds_that_are_lost_are_not_waited_for() {
        let (transport, roots) = (InProcess::new(1, 0), RootList::default());
        let canonicalizer = Canonicalizer::new(&KeyRules::default());
        let error = roots.read_to(&*transport, &canonicalizer, 1).await.unwrap_err().to_string();
        assert!(error.ends_with("the servers have lost its seeds, up to message 1"), "{error}");
        let last = add_seeds(&*transport, 7, &[canonicalizer.canonicalize("http://a.example/").unwrap()]).await;
        roots.read_to(&*transport, &canonicalizer, last).await.unwrap();
        assert_eq!(roots.from(0).len(), 1);
        assert!(roots.read_to(&*transport, &canonicalizer, last + 1).await.is_err());
    }
}
