//! The commands to a crawl's thread, the types of its answers, and the state that it shares with the crawl's handle.

use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::frontier::{Frontier, Lease, LeaseToken, Timestamp};
use crate::gate::Gate;
use crate::job::JobJournal;
use crate::lending::Clock;

/// Why a call to a crawl has no answer. The call may be tried again.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The maximum number of calls already waits for a lease.
    #[error("{0} calls of this crawl wait for a lease already, and no more may")]
    Busy(usize),
    /// The crawl is deleted, or the server is shutting down.
    #[error("the crawl is closed")]
    Closed,
    /// The storage has failed, or the crawl's files cannot be opened. Nothing of the call was kept.
    #[error("the crawl's files: {0}")]
    Storage(Arc<str>),
}

impl CallError {
    /// The storage has failed: its error, with all causes.
    pub(super) fn storage(error: &(dyn Error + 'static)) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let reason = error.to_string();
            // Some errors display their cause too.
            if !text.contains(&reason) {
                text.push_str(": ");
                text.push_str(&reason);
            }
            cause = error.source();
        }
        Self::Storage(text.into())
    }
}

/// A call. It holds its answer until the journal is flushed.
pub(super) trait Call: Send {
    /// Acts on the frontier.
    fn act(&mut self, frontier: &mut Frontier<JobJournal>, now: Timestamp) -> io::Result<()>;

    /// Sends the answer.
    fn answer(self: Box<Self>, flushed: Result<(), &CallError>);
}

/// A command to a crawl's thread.
pub(super) enum CrawlCommand {
    /// End. Without `keeps` the crawl is deleted, so no checkpoint is written.
    Close {
        keeps: bool,
    },
    Call(Box<dyn Call>),
    /// Take back leases whose client has gone.
    GiveBack(Vec<LeaseToken>),
    Lease(LeaseCall),
    /// Stop lending, or lend again.
    Pause(bool, oneshot::Sender<()>),
}

impl std::fmt::Debug for CrawlCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Call(_) => "Call",
            Self::Close { .. } => "Close",
            Self::GiveBack(_) => "GiveBack",
            Self::Lease(_) => "Lease",
            Self::Pause(..) => "Pause",
        })
    }
}

/// Leases for a worker, and why there are no more. If this is dropped without [`take`](Self::take), the client has gone, and the leases are
/// given back.
#[derive(Debug)]
pub struct LentBatch {
    pub(super) leases: Vec<Lease>,
    pub(super) waiting: Waiting,
    pub(super) owner: Sender<CrawlCommand>,
}

/// Why no more leases go out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// More leases may be available at once.
    No,
    /// A host is due at this time; a completion or a new URL may bring it forward.
    Until(Timestamp),
    /// All queued URLs wait for leases that are out.
    Busy,
    /// Nothing is queued, scheduled or lent out.
    Drained,
    /// The crawl is paused.
    Paused,
}

impl LentBatch {
    /// The leases, to be sent to a worker.
    pub fn take(mut self) -> (Vec<Lease>, Waiting) {
        (std::mem::take(&mut self.leases), self.waiting)
    }
}

impl Drop for LentBatch {
    fn drop(&mut self) {
        let tokens: Vec<LeaseToken> = self.leases.iter().filter_map(Lease::token).collect();
        if !tokens.is_empty() {
            // If the thread has ended, the leases end at their deadlines.
            _ = self.owner.send(CrawlCommand::GiveBack(tokens));
        }
    }
}

/// A call that waits for leases.
#[derive(Debug)]
pub(super) struct LeaseCall {
    pub(super) most: usize,
    /// When the call is answered even without a lease.
    pub(super) until: Timestamp,
    pub(super) to: oneshot::Sender<Result<LentBatch, CallError>>,
    /// Its permit to wait: the number of long polls is bounded.
    pub(super) _place: OwnedSemaphorePermit,
}

/// What a crawl's thread and its handle share.
#[derive(Debug)]
pub(super) struct CrawlShared {
    pub(super) clock: Clock,
    pub(super) counts: CrawlCounts,
    /// The gate of the frontier, once the frontier is open.
    pub(super) gate: RwLock<Option<Result<Arc<Gate>, CallError>>>,
}

impl CrawlShared {
    pub(super) fn set_gate(&self, gate: Result<Arc<Gate>, CallError>) {
        *self.gate.write().unwrap_or_else(PoisonError::into_inner) = Some(gate);
    }

    pub(super) fn gate(&self) -> Option<Result<Arc<Gate>, CallError>> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Counts since the server started.
#[derive(Debug, Default)]
pub struct CrawlCounts {
    /// URLs that came in.
    pub urls: AtomicU64,
    /// URLs that were queued.
    pub admitted: AtomicU64,
    /// Leases that went out.
    pub leased: AtomicU64,
    /// Leases that were completed.
    pub done: AtomicU64,
    /// Leases that came back to be tried again.
    pub retries: AtomicU64,
    /// Completions that came too late: their leases were over.
    pub late: AtomicU64,
    /// Calls that wait for a lease now.
    pub waiting: AtomicUsize,
}

impl CrawlCounts {
    /// How many records a restart without a checkpoint would have to replay, counted by URLs.
    pub(super) fn records(&self) -> u64 {
        let all = [&self.admitted, &self.leased, &self.done, &self.retries];
        all.into_iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}
