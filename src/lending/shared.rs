//! One frontier for many tasks.

use std::sync::Arc;

use super::lender::Lender;
use super::{Clock, HeldLease};
use crate::frontier::{Arena, Frontier, FrontierError, FrontierStatistics, Href, Journal, Lease, Outcome};
use crate::gate::{Admitted, DropRule, Gate, Refusal};
use crate::job::JobJournal;
use crate::job::checkpoint::{CheckpointCost, CheckpointError};
use crate::job::journal::Storage;

/// A frontier that many tasks lease from; cheap to clone. Its calls are the [`Frontier`]'s, at the time of its clock.
///
/// Waiting tasks form a wait queue. Only the first of them watches the frontier, so a host that becomes due wakes one
/// task, not all. Everything else takes the frontier's own lock, for a microsecond or two at a time.
#[derive(Debug)]
pub struct SharedFrontier<J: Journal = Arena> {
    pub(super) lender: Arc<Lender<J>>,
}

impl<J: Journal> Clone for SharedFrontier<J> {
    fn clone(&self) -> Self {
        Self { lender: Arc::clone(&self.lender) }
    }
}

impl<J: Journal> SharedFrontier<J> {
    /// Shares a frontier; `clock` gives its time from here on.
    pub fn new(frontier: Frontier<J>, clock: Clock) -> Self {
        Self { lender: Arc::new(Lender::new(frontier, clock)) }
    }

    /// The gate. It is `Sync`, and takes no lock of this frontier.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.lender.gate
    }

    /// The clock that gives the frontier its time.
    pub fn clock(&self) -> Clock {
        self.lender.clock
    }

    /// The next URL that may be fetched, or is to be [given up](crate::frontier::Next::GiveUp), as soon as there is one;
    /// `None` once the frontier is drained.
    ///
    /// Cancel safe: a future dropped while it waits has leased nothing.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub async fn lease(&self) -> Result<Option<HeldLease<J>>, FrontierError> {
        let lease = self.lender.lease().await?;
        Ok(lease.map(|lease| HeldLease::new(lease, Arc::clone(&self.lender))))
    }

    /// As [`Frontier::seed`].
    ///
    /// # Errors
    /// As there.
    pub fn seed<'a>(&self, href: impl Into<Href<'a>>) -> Result<Option<Refusal>, FrontierError> {
        self.lender.change(|frontier, clock| frontier.seed(href, clock.now()))
    }

    /// As [`Frontier::drop_by`]. The rule is safe on disk when this returns.
    ///
    /// # Errors
    /// As there.
    pub fn drop_by(&self, rule: DropRule) -> Result<(), FrontierError> {
        self.lender.change(|frontier, clock| {
            frontier.drop_by(rule, clock.now())?;
            frontier.flush(clock.now())
        })
    }

    /// As [`Frontier::undo_drop`]. The change is safe on disk when this returns.
    ///
    /// # Errors
    /// As there.
    pub fn undo_drop(&self, rule: &DropRule) -> Result<bool, FrontierError> {
        self.lender.change(|frontier, clock| {
            let was_dropped = frontier.undo_drop(rule, clock.now())?;
            frontier.flush(clock.now()).map(|()| was_dropped)
        })
    }

    /// Queues admitted URLs.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn submit(&self, admitted: impl IntoIterator<Item = Admitted>) -> Result<(), FrontierError> {
        self.lender.change(|frontier, clock| {
            let now = clock.now();
            admitted.into_iter().try_for_each(|admitted| frontier.submit(admitted, now))
        })
    }

    /// From here on, [`lease`](Self::lease) keeps waiting when the frontier is drained: others may bring more URLs.
    #[cfg(feature = "cluster")]
    pub(crate) fn stay_open(&self) {
        self.lender.stays_open.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Queues admitted URLs, calls `then` before releasing the frontier's lock, and flushes.
    #[cfg(feature = "cluster")]
    pub(crate) fn submit_and(
        &self,
        admitted: impl IntoIterator<Item = Admitted>,
        then: impl FnOnce(),
    ) -> Result<(), FrontierError> {
        self.lender.change(|frontier, clock| {
            let now = clock.now();
            admitted.into_iter().try_for_each(|admitted| frontier.submit(admitted, now))?;
            then();
            frontier.flush(now)
        })
    }

    /// As [`Frontier::links`].
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn links<'a, T: Into<Href<'a>>>(
        &self,
        lease: &Lease,
        hrefs: impl IntoIterator<Item = T>,
    ) -> Result<usize, FrontierError> {
        self.lender.change(|frontier, clock| frontier.links(lease, hrefs, clock.now()))
    }

    /// As [`Frontier::redirect`].
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn redirect(&self, lease: &Lease, status: u16, location: &str) -> Result<Outcome, FrontierError> {
        self.lender.change(|frontier, clock| frontier.redirect(lease, status, location, clock.now()))
    }

    /// As [`Frontier::flush`]. A [`HeldLease`] that is completed or answered flushes too.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn flush(&self) -> Result<(), FrontierError> {
        self.lender.change(|frontier, clock| frontier.flush(clock.now()))
    }

    /// As [`Frontier::statistics`].
    pub fn statistics(&self) -> FrontierStatistics {
        self.lender.lock().statistics()
    }

    /// Reads or changes the frontier under its lock.
    pub fn with<T>(&self, look: impl FnOnce(&mut Frontier<J>) -> T) -> T {
        look(&mut self.lender.lock())
    }
}

impl<S: Storage> SharedFrontier<JobJournal<S>> {
    /// As [`Frontier::checkpoint`]. Blocks until the disk is done, and all tasks wait for that.
    ///
    /// # Errors
    /// As there.
    pub fn checkpoint(&self) -> Result<CheckpointCost, CheckpointError> {
        self.lender.lock().checkpoint()
    }
}

#[cfg(all(test, feature = "crawl"))]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::frontier::{FrontierOptions, Receipts, Reply};
    use crate::gate::ScopeKind;

    const RESPONSE: Outcome = Outcome::Response { status: 200, retry_after: None };

    #[tokio::test]
    async fn who_settles_goes_on_with_one_host_and_the_first_in_line_has_the_other() {
        let mut options = FrontierOptions::default();
        options.politeness.robots = false;
        options.scope.kind = ScopeKind::Any;
        let frontier = SharedFrontier::new(Frontier::new(&options).unwrap(), Clock::start());
        frontier.seed("http://a.test/").unwrap();
        let lease = frontier.lease().await.unwrap().unwrap();
        let mut in_line = pin!(frontier.lease());
        assert!(timeout(Duration::ZERO, &mut in_line).await.is_err(), "all hosts are lent out");

        let links = ["http://b.test/", "http://c.test/"].map(Href::from);
        let mut reply = Reply::from(200);
        reply.links = links.into();
        let (outcome, admitted) = reply.pass(frontier.gate(), &lease);
        let (_, _, next) = lease.settle(admitted, outcome, Receipts::default(), None, || {}, true).unwrap();
        assert_eq!(next.as_ref().map(|next| next.url()), Some("http://b.test/"));
        let other = timeout(Duration::from_secs(60), in_line).await.expect("it is woken").unwrap().unwrap();
        assert_eq!(other.url(), "http://c.test/");

        let (_, _, none) = other.settle(Vec::new(), RESPONSE, Receipts::default(), None, || {}, true).unwrap();
        assert!(none.is_none(), "the hosts rest");
        let (_, _, none) = next.unwrap().settle(Vec::new(), RESPONSE, Receipts::default(), None, || {}, false).unwrap();
        assert!(none.is_none());
    }
}
