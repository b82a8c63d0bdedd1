//! One frontier for many tasks, and its leases, which return to it.
//!
//! The records of settled leases are flushed in groups: they go to the journal's storage after 10 ms, or as soon as there are many.
//!
//! Each settled lease flushes the records that are due by then, so a busy crawl needs nothing else. The last records before a pause are
//! flushed by [`flush_in_time`](SharedFrontier::flush_in_time), which the crawl's loop polls along with everything else that it awaits. A
//! settled lease that leaves records wakes it, unless it already knows that records wait.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep_until;

use super::Clock;
use super::lender::Lender;
use crate::frontier::{
    Arena, Completion, Failure, Frontier, FrontierError, FrontierStatistics, HostAnswer, Href, Journal, Lease, Outcome,
    Receipt, Receipts, ReceiptsBuf, Reply, Resolved, Timestamp,
};
use crate::frontier::{HostTurn, Next};
use crate::gate::PageYield;
use crate::gate::{Admitted, DropRule, Found, Gate, Refusal};
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

    /// As [`Frontier::admit_batch`], under one lock.
    ///
    /// # Errors
    /// As there.
    pub fn admit_batch(&self, found: Vec<Found>) -> Result<Vec<Option<Refusal>>, FrontierError> {
        self.lender.change(|frontier, clock| frontier.admit_batch(found, clock.now()))
    }

    /// From here on, [`lease`](Self::lease) keeps waiting when the frontier is drained, since other tasks may bring more URLs.
    pub fn stay_open(&self) {
        self.lender.stays_open.store(true, std::sync::atomic::Ordering::Relaxed);
    }

    /// Queues admitted URLs, calls `then` before releasing the frontier's lock, and flushes.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage), if the journal fails.
    pub fn submit_and(
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

    /// Reads or changes the frontier under its lock. No waiting task is woken.
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

/// A lease that returns to its frontier: if it is dropped without completion, it counts as [`Failure::Lost`] and is tried again.
#[derive(Debug)]
#[must_use = "dropped, it is completed as lost"]
pub struct HeldLease<J: Journal = Arena> {
    /// Taken out on completion.
    lease: Option<Lease>,
    lender: Arc<Lender<J>>,
    /// The outcome if it is dropped without completion.
    dropped: Outcome,
}

impl<J: Journal> HeldLease<J> {
    pub(super) fn new(lease: Lease, lender: Arc<Lender<J>>) -> Self {
        Self { lease: Some(lease), lender, dropped: Outcome::Failed(Failure::Lost.into()) }
    }

    /// The same lease, but if it is dropped without a panic, the URL goes back to the head of its queue, as if it had not been leased.
    pub fn releasing(mut self) -> Self {
        self.dropped = Outcome::Released;
        self
    }

    /// As [`Lease::answered`].
    pub fn answered(&mut self, at: Timestamp, latency: Duration, bytes: u64) {
        if let Some(lease) = &mut self.lease {
            lease.answered(at, latency, bytes);
        }
    }

    /// As [`Frontier::answered`](crate::frontier::Frontier::answered): its host is done, and may be asked for its next page while this one is
    /// worked on.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage), as there.
    pub fn host_answered(&mut self, answer: HostAnswer) -> Result<(), FrontierError> {
        let Some(lease) = &mut self.lease else { return Ok(()) };
        self.lender.change(|frontier, clock| frontier.answered(lease, answer, clock.now()))
    }

    /// Notes what its page yielded, for its record in the journal.
    pub fn yielded(&mut self, yielded: PageYield) {
        if let Some(lease) = &mut self.lease {
            lease.yielded = Some(Box::new(yielded));
        }
    }

    /// As [`Frontier::resolved`](crate::frontier::Frontier::resolved). The frontier's lock is taken only if the addresses are new.
    pub fn resolved(&mut self, addresses: &[IpAddr]) -> Resolved {
        let Some(lease) = self.lease.as_mut().filter(|lease| lease.address_among(addresses).is_some()) else {
            return Resolved::Connect;
        };
        let mut frontier = self.lender.lock();
        let resolved = frontier.resolved(lease, addresses, self.lender.clock.now());
        // It has given up its place at another address.
        self.lender.wake();
        // This fails only for a lease of another frontier.
        resolved.unwrap_or(Resolved::Connect)
    }

    /// As [`Frontier::answer`](crate::frontier::Frontier::answer). The gate is asked before the frontier's lock is taken.
    ///
    /// # Errors
    /// [`Metadata`](FrontierError::Metadata) or [`Storage`](FrontierError::Storage): the page is lent again.
    pub fn answer(mut self, reply: &Reply<'_>) -> Result<Completion, FrontierError> {
        self.lease.iter_mut().for_each(|lease| lease.had(reply.body));
        // If a link has too much metadata, the lease is released when this is dropped.
        let (outcome, admitted) = reply.pass(&self.lender.gate, &self)?;
        self.settle_and_flush(admitted, outcome, Receipts::default(), || {})
    }

    /// As [`Frontier::complete`](crate::frontier::Frontier::complete).
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn complete(self, outcome: Outcome) -> Result<Completion, FrontierError> {
        self.settle_and_flush(Vec::new(), outcome, Receipts::default(), || {})
    }

    /// As [`Frontier::complete_with`](crate::frontier::Frontier::complete_with). If the page is done, `write` appends to the outputs
    /// the bytes that its receipts describe. It is called under the frontier's lock, so the outputs are in the journal's order. It must
    /// not wait.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn complete_with(
        self,
        outcome: Outcome,
        receipts: &[(&str, Receipt)],
        write: impl FnOnce(),
    ) -> Result<Completion, FrontierError> {
        self.settle_and_flush(Vec::new(), outcome, ReceiptsBuf::of(receipts).list(), write)
    }

    /// Queues what the page brought, takes the lease back and, if `goes_on`, leases the next URL that is due, all under one lock. The
    /// records are flushed with those of other leases, at the latest 10 ms later if [`flush_in_time`](SharedFrontier::flush_in_time) is
    /// polled. `again` is when a page that is done is to be fetched again, and its metadata then, if that changes. The returned
    /// [`HostTurn`] says how the outcome has changed the host.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage), if the journal fails.
    pub fn settle(
        mut self,
        admitted: Vec<Admitted>,
        outcome: Outcome,
        receipts: Receipts<'_>,
        again: Option<(Timestamp, Option<Vec<u8>>)>,
        write: impl FnOnce(),
        goes_on: bool,
    ) -> Result<(Completion, Option<HostTurn>, Option<Self>), FrontierError> {
        let Some(mut lease) = self.lease.take() else { return Ok((Completion::Done, None, None)) };
        let lender = Arc::clone(&self.lender);
        let mut frontier = lender.lock();
        let now = lender.clock.now();
        if let Some((at, travels)) = again {
            if let Some(metadata) = travels {
                lease.metadata = metadata.into();
            }
            frontier.schedule_again(&lease, at)?;
        }
        let host = lease.host;
        let was_failing = frontier.is_failing(host);
        let completed = settle(&mut frontier, lease, admitted, outcome, receipts, write, now);
        let turn = HostTurn::between(was_failing, frontier.is_failing(host));
        if frontier.flush_due(now)?.is_some() {
            lender.unflushed.notify();
        }
        let completion = completed?;
        if goes_on && let Next::Fetch(next) | Next::GiveUp(next) = frontier.next(now)? {
            lender.passed_by(&frontier, now);
            self.lease = Some(next);
            return Ok((completion, turn, Some(self)));
        }
        lender.wake();
        Ok((completion, turn, None))
    }

    /// Queues what the page brought, takes the lease back, and flushes the records at once.
    fn settle_and_flush(
        mut self,
        admitted: Vec<Admitted>,
        outcome: Outcome,
        receipts: Receipts<'_>,
        write: impl FnOnce(),
    ) -> Result<Completion, FrontierError> {
        self.give_back(admitted, outcome, receipts, write).unwrap_or(Ok(Completion::Done))
    }

    /// `None` if the lease was given back before.
    fn give_back(
        &mut self,
        admitted: Vec<Admitted>,
        outcome: Outcome,
        receipts: Receipts<'_>,
        write: impl FnOnce(),
    ) -> Option<Result<Completion, FrontierError>> {
        let lease = self.lease.take()?;
        Some(self.lender.change(|frontier, clock| {
            let now = clock.now();
            let completed = settle(frontier, lease, admitted, outcome, receipts, write, now);
            let flushed = frontier.flush(now);
            completed.and_then(|completion| flushed.map(|()| completion))
        }))
    }
}

fn settle<J: Journal>(
    frontier: &mut Frontier<J>,
    lease: Lease,
    admitted: Vec<Admitted>,
    outcome: Outcome,
    receipts: Receipts<'_>,
    write: impl FnOnce(),
    now: Timestamp,
) -> Result<Completion, FrontierError> {
    let completed = frontier.take_back(lease, admitted, outcome, receipts, now);
    if let Ok(Completion::Done) = completed {
        write();
    }
    completed
}

impl<J: Journal> Deref for HeldLease<J> {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        self.lease.as_ref().expect("taken out only where the holder is consumed or dropped")
    }
}

impl<J: Journal> Drop for HeldLease<J> {
    fn drop(&mut self) {
        let lost = Outcome::Failed(Failure::Lost.into());
        let dropped = std::mem::replace(&mut self.dropped, Outcome::Released);
        let outcome = if std::thread::panicking() { lost } else { dropped };
        // The next call that can report an error reports a failing journal.
        let _ = self.give_back(Vec::new(), outcome, Receipts::default(), || {});
    }
}

impl<J: Journal> SharedFrontier<J> {
    /// Flushes the records of settled leases, if they have waited for 10 ms or there are many. Returns when the next call is due;
    /// `None` if no records wait.
    pub(crate) fn flush_due(&self) -> Result<Option<Timestamp>, FrontierError> {
        let now = self.lender.clock.now();
        self.lender.lock().flush_due(now)
    }

    /// Flushes the records of settled leases whenever that is due. Ends only if a flush fails.
    pub async fn flush_in_time(&self) -> FrontierError {
        loop {
            self.lender.unflushed.look();
            match self.flush_due() {
                Err(error) => return error,
                Ok(None) => self.lender.unflushed.wait().await,
                Ok(Some(due)) => {
                    self.lender.unflushed.know();
                    sleep_until(self.clock().instant(due).into()).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::pin::pin;

    use tokio::time::timeout;

    use super::*;
    use crate::frontier::FrontierOptions;
    use crate::gate::ScopeKind;

    const RESPONSE: Outcome = Outcome::Response { status: 200, retry_after: None };

    #[tokio::test]
    async fn a_settled_lease_goes_on_with_one_host_and_the_first_in_the_queue_has_the_other() {
        let mut options = FrontierOptions::default();
        options.politeness.robots = false;
        options.scope.kind = ScopeKind::Any;
        let frontier = SharedFrontier::new(Frontier::new(&options).unwrap(), Clock::start());
        frontier.seed("http://a.test/").unwrap();
        let lease = frontier.lease().await.unwrap().unwrap();
        let mut waiting = pin!(frontier.lease());
        assert!(timeout(Duration::ZERO, &mut waiting).await.is_err(), "all hosts are lent out");

        let links = ["http://b.test/", "http://c.test/"].map(Href::from);
        let mut reply = Reply::from(200);
        reply.links = links.into();
        let (outcome, admitted) = reply.pass(frontier.gate(), &lease).unwrap();
        let (_, _, next) = lease.settle(admitted, outcome, Receipts::default(), None, || {}, true).unwrap();
        assert_eq!(next.as_ref().map(|next| next.url()), Some("http://b.test/"));
        let other = timeout(Duration::from_secs(60), waiting).await.expect("it is woken").unwrap().unwrap();
        assert_eq!(other.url(), "http://c.test/");

        let (_, _, none) = other.settle(Vec::new(), RESPONSE, Receipts::default(), None, || {}, true).unwrap();
        assert!(none.is_none(), "the hosts rest");
        let (_, _, none) = next.unwrap().settle(Vec::new(), RESPONSE, Receipts::default(), None, || {}, false).unwrap();
        assert!(none.is_none());
    }

    /// Bytes of the journal that the operating system has.
    fn flushed(job: &Path) -> u64 {
        let files = fs::read_dir(job.join("frontier")).unwrap().map(Result::unwrap);
        files
            .filter(|file| file.file_name().to_string_lossy().starts_with("journal-"))
            .map(|file| file.metadata().unwrap().len())
            .sum()
    }

    #[tokio::test]
    async fn the_last_record_before_a_pause_is_flushed_in_time_and_each_completion_at_once() {
        let (directory, clock) = (tempfile::tempdir().unwrap(), Clock::start());
        let mut options = FrontierOptions::default();
        options.politeness.robots = false;
        options.politeness.host_delay = Duration::ZERO;
        let frontier = Frontier::open(directory.path(), &options, clock.now()).unwrap();
        let frontier = SharedFrontier::new(frontier, clock);
        for seed in ["http://a.test/", "http://b.test/"] {
            frontier.seed(seed).unwrap();
        }
        frontier.flush().unwrap();
        let response = || Outcome::Response { status: 200, retry_after: None };

        let before = flushed(directory.path());
        let lease = frontier.lease().await.unwrap().unwrap();
        drop(lease.settle(Vec::new(), response(), Receipts::default(), None, || {}, false).unwrap());
        assert_eq!(flushed(directory.path()), before, "it waits for others");
        // A task of its own is polled once, and then only when its timer wakes it.
        let flushing = tokio::spawn({
            let frontier = frontier.clone();
            async move { frontier.flush_in_time().await }
        });
        let in_time = async {
            while flushed(directory.path()) == before {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(10), in_time).await.expect("it is flushed");
        flushing.abort();
        assert_eq!(frontier.flush_due().unwrap(), None);

        let before = flushed(directory.path());
        frontier.lease().await.unwrap().unwrap().complete(response()).unwrap();
        assert!(flushed(directory.path()) > before);
    }
}
