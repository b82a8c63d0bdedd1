//! The publisher of a partition: publishes its progress to its log, in an order in which nothing can be lost.
//!
//! A round takes the bytes that the journal has written. Then, in this order:
//!
//! 1. the link batches of all pages in these bytes are sent and acknowledged;
//! 2. the records and other outputs of these pages are written to their files;
//! 3. the bytes go to the log.
//!
//! So a page's log entry is written after everything else: when a reader of the log finds a page, its links are on the servers, and its
//! record is in a file. A page without a log entry counts as never fetched, and the next owner fetches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::completion::counts;
use super::drops::PartDrops;
use super::journal::{Backlog, FetchThrottle, JournalPieces, keep_copy};
use super::node_context::NodeContext;
use super::outbox::Outbox;
use super::snapshot::SnapshotMaker;
use super::succession::{Fenced, Tenure};
use super::transport::{ClusterKey, ClusterSubject, ClusterTransport};
use super::wire::{EntryKind, JournalPiece, StateValue, value_to_bytes};
use crate::crawl::{Observer, PartitionHandle};
use crate::job::JobJournal;

/// The interval of rounds of a busy partition: all pages of an interval are published together.
const GROUP: Duration = Duration::from_millis(40);
/// How often counts go to the log while something changes. They are long, so not each time when the partition becomes idle.
const COUNTS: Duration = Duration::from_secs(10);
/// How often counts go to the log while link batches bring nothing new.
const SELDOM: Duration = Duration::from_secs(60);
/// How often to check whether the partition is idle.
const LOOK: Duration = Duration::from_millis(250);
/// A partition that got nothing for this long may publish that it is idle. With a shorter wait, many partitions would publish it again and
/// again.
const QUIET: Duration = Duration::from_millis(500);

/// Publishes the progress of a partition to its log.
#[derive(Debug)]
pub(crate) struct Publisher<T: ClusterTransport> {
    pub(crate) context: Arc<NodeContext<T>>,
    pub(crate) partition: u32,
    pub(crate) tenure: Tenure<T>,
    pub(crate) pieces: Arc<JournalPieces>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) handle: PartitionHandle,
    pub(crate) observer: Observer<JobJournal>,
    pub(crate) throttle: Arc<FetchThrottle>,
    pub(crate) drops: Arc<PartDrops>,
    pub(crate) backlog: Arc<Backlog>,
    pub(crate) wake: Arc<Notify>,
    pub(crate) unread: Arc<AtomicU64>,
    pub(crate) progress: PublishProgress,
    pub(crate) snapshots: SnapshotMaker,
}

/// How far a publisher has come.
#[derive(Debug, Default)]
pub(crate) struct PublishProgress {
    /// According to the log, link batches are read up to this one.
    pub(crate) read: u64,
    /// Link batches are read up to this one, and their new links are in the log. The last of them may have had no new links.
    taken: u64,
    /// The segment of the last piece in the log, and where the piece ends.
    published: (u64, u64),
    /// When the last round that published something began.
    began: Option<Instant>,
    /// Something was published since the last counts.
    is_uncounted: bool,
    /// The last state that was published.
    last_state: Option<StateValue>,
}

impl From<u64> for PublishProgress {
    /// For an owner that has published nothing yet, and has read link batches up to this one.
    fn from(read: u64) -> Self {
        Self { read, taken: read, ..Self::default() }
    }
}

impl PublishProgress {
    /// Whether the state with this list of drop rules was not published yet.
    fn has_news(&self, dropped: u64) -> bool {
        self.last_state.as_ref().map_or(0, |last| last.dropped) != dropped
    }

    /// Whether counts should go to the log, if the last ones went there this long ago.
    fn is_due(&self, ago: Duration, is_last: bool) -> bool {
        self.is_uncounted && (is_last || ago >= COUNTS) || self.taken > self.read && (is_last || ago >= SELDOM)
    }
}

impl<T: ClusterTransport> Publisher<T> {
    /// Publishes until the crawl of the partition has ended and everything that it has done is in the log.
    ///
    /// # Errors
    /// If another owner has begun.
    pub(crate) async fn run(mut self, ended: watch::Receiver<bool>) -> Result<(), Fenced> {
        let (mut counted, mut last_notified) = (Instant::now(), Instant::now());
        let mut is_kept = false;
        loop {
            // This must be read first: once the crawl has ended, the round publishes everything that is left.
            let is_last = *ended.borrow();
            self.round().await?;
            if !is_kept && self.progress.is_uncounted {
                // From now on, the next owner on this machine need not read the same part from the servers again.
                self.keep_here().await;
                is_kept = true;
            }
            // This must be read before the idle check: a removed rule may bring work.
            let dropped = self.drops.applied();
            let is_idle = self.is_idle();
            if self.progress.is_due(counted.elapsed(), is_last) {
                self.count().await?;
                counted = Instant::now();
            }
            if is_last {
                return self.tenure.append(EntryKind::Released).await;
            }
            if !is_idle || last_notified.elapsed() >= QUIET || self.progress.has_news(dropped) {
                self.publish_state(is_idle, dropped).await;
            }
            self.snapshots.look(&self.context.transport, self.partition, self.tenure.log(), &self.handle);
            let backlog = Arc::clone(&self.backlog);
            let is_notified = tokio::select! {
                is_notified = self.rest(&ended) => is_notified,
                () = backlog.is_long() => true,
            };
            if is_notified {
                last_notified = Instant::now();
            }
        }
    }

    /// Waits until there may be something to publish. If the partition has published something recently, also waits for the next round, so that
    /// more is published together. Returns whether there is something.
    async fn rest(&mut self, ended: &watch::Receiver<bool>) -> bool {
        // The wait has a timeout, since nothing announces that the frontier is drained.
        let is_notified = timeout_at(self.context.beat(LOOK), self.wake.notified()).await.is_ok();
        let is_busy = self.progress.began.is_some_and(|began| began.elapsed() < 2 * GROUP);
        if is_notified && is_busy && !*ended.borrow() {
            sleep_until(self.context.beat(GROUP)).await;
        }
        is_notified
    }

    /// Whether there is no work, and everything that was done is in the log.
    fn is_idle(&self) -> bool {
        self.handle.is_drained()
            && self.pieces.is_empty()
            && self.outbox.is_empty()
            && self.progress.taken == self.pieces.read()
    }

    /// One round. If it takes long, no new fetches start meanwhile.
    async fn round(&mut self) -> Result<(), Fenced> {
        self.handle.flush();
        // A few of these pages have a record, but are not in the journal yet.
        let (pages, read) = (self.backlog.own(), self.pieces.read());
        let pieces = self.pieces.take();
        if pieces.is_empty() && self.outbox.is_empty() {
            self.progress.taken = read;
            return Ok(());
        }
        self.progress.began = Some(Instant::now());
        // Up to these positions, the outputs have all pages of this round. Later pages of other partitions are not waited for.
        let made = self.handle.between_pages(|| self.context.outputs.made());
        let (throttle, backlog) = (Arc::clone(&self.throttle), Arc::clone(&self.backlog));
        backlog.throttled(&throttle, self.publish(pieces, made)).await?;
        backlog.take(pages);
        self.progress.taken = read;
        Ok(())
    }

    async fn publish(&mut self, pieces: Vec<JournalPiece>, made: Vec<u64>) -> Result<(), Fenced> {
        self.outbox.delivered().await;
        if !self.context.outputs.catch_up(&made).await {
            // A writer has failed, which ends the crawl. A page without a record counts as not fetched.
            std::future::pending::<()>().await;
        }
        for piece in pieces {
            self.journal(piece).await?;
        }
        self.progress.is_uncounted = true;
        Ok(())
    }

    async fn journal(&mut self, piece: JournalPiece) -> Result<(), Fenced> {
        let (read, published) = (piece.read, (piece.segment, piece.at + piece.bytes.len() as u64));
        self.tenure.append(EntryKind::Journal(piece)).await?;
        self.progress.read = self.progress.read.max(read);
        self.progress.published = published;
        Ok(())
    }

    /// Writes the counts to the log, and the position up to which link batches are read.
    async fn count(&mut self) -> Result<(), Fenced> {
        if self.progress.taken > self.progress.read {
            // The last link batches brought no new links, so no piece of the journal has their position.
            let (segment, at) = self.progress.published;
            self.journal(JournalPiece { segment, at, read: self.progress.taken, bytes: Vec::new() }).await?;
        }
        let (handle, observer, options) = (self.handle.clone(), self.observer.clone(), self.context.options.clone());
        let counted = tokio::task::spawn_blocking(move || counts(&handle, &observer, &options)).await;
        if let Ok(counted) = counted {
            self.tenure.append(EntryKind::Counts(counted)).await?;
            self.keep_here().await;
        }
        self.progress.is_uncounted = false;
        Ok(())
    }

    /// Stores the state of the log on this machine, for the next owner here. Everything that the journal has written up to that state is in the
    /// log.
    async fn keep_here(&mut self) {
        let (directory, job) = (self.context.directory_of(self.partition), self.context.job_of(self.partition));
        let log = self.tenure.log().clone();
        let kept = tokio::task::spawn_blocking(move || keep_copy(&directory, job, &log)).await;
        if !matches!(kept, Ok(Ok(()))) {
            tracing::debug!(self.partition, "the next owner here will read all of it from the servers");
        }
    }

    /// Publishes whether the partition is idle and which list of drop rules it applies, if that has changed.
    async fn publish_state(&mut self, is_idle: bool, dropped: u64) {
        let (journal, read) = (self.tenure.log().last(), self.progress.taken);
        let unread = self.unread.load(Ordering::Relaxed);
        let state = StateValue { is_idle, journal, read, unread, dropped };
        let is_published =
            |last: &StateValue| *last == state || !last.is_idle && !is_idle && !self.progress.has_news(dropped);
        if self.progress.last_state.as_ref().is_some_and(is_published) {
            return;
        }
        let key = ClusterSubject::Key(ClusterKey::State(self.partition));
        let published = self.context.transport.publish(&key, value_to_bytes(&state), None, None).await;
        // Without an answer, it is published again the next time.
        self.progress.last_state = published.is_ok().then_some(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_batches_that_brought_nothing_go_to_the_log_seldom_and_at_the_end() {
        let mut progress = PublishProgress::from(7);
        assert!(!progress.is_due(2 * SELDOM, true), "nothing has come");
        progress.taken = 9;
        assert!(!progress.is_due(COUNTS, false) && progress.is_due(SELDOM, false) && progress.is_due(COUNTS / 2, true));
        progress.is_uncounted = true;
        assert!(progress.is_due(COUNTS, false) && !progress.is_due(COUNTS / 2, false));
        progress.read = 9;
        assert!(progress.is_due(COUNTS, false) && progress.is_due(COUNTS / 2, true));
    }
}
