//! A lease that returns to its frontier.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use super::lender::Lender;
use crate::frontier::{
    Arena, Completion, Failure, Frontier, FrontierError, Journal, Lease, Outcome, Receipt, Receipts, ReceiptsBuf,
    Reply, Resolved, Timestamp,
};
#[cfg(feature = "crawl")]
use crate::frontier::{HostTurn, Next};
use crate::gate::Admitted;
#[cfg(feature = "crawl")]
use crate::gate::PageYield;

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

    /// Changes what a drop without a panic does: the URL goes back to the head of its queue, as if it had not been leased.
    #[cfg(feature = "crawl")]
    pub(crate) fn releasing(mut self) -> Self {
        self.dropped = Outcome::Released;
        self
    }

    /// As [`Lease::answered`].
    pub fn answered(&mut self, at: Timestamp, latency: Duration, bytes: u64) {
        if let Some(lease) = &mut self.lease {
            lease.answered(at, latency, bytes);
        }
    }

    /// Notes what its page yielded, for its record in the journal.
    #[cfg(feature = "crawl")]
    pub(crate) fn yielded(&mut self, yielded: PageYield) {
        if let Some(lease) = &mut self.lease {
            lease.yielded = Some(yielded);
        }
    }

    /// As [`Frontier::resolved`](crate::frontier::Frontier::resolved). The frontier's lock is taken only if the addresses are new.
    pub fn resolved(&mut self, addresses: &[IpAddr]) -> Resolved {
        let Some(lease) = self.lease.as_mut().filter(|lease| lease.address_among(addresses).is_some()) else {
            return Resolved::Connect;
        };
        let mut frontier = self.lender.lock();
        let resolved = frontier.resolved(lease, addresses, self.lender.clock.now());
        // Its slot at another address is free.
        self.lender.wake();
        // This frontier has lent it, so there is no error.
        resolved.unwrap_or(Resolved::Connect)
    }

    /// As [`Frontier::answer`](crate::frontier::Frontier::answer). The gate is asked before the frontier's lock is taken.
    ///
    /// # Errors
    /// [`Storage`](FrontierError::Storage).
    pub fn answer(mut self, reply: &Reply<'_>) -> Result<Completion, FrontierError> {
        self.lease.iter_mut().for_each(|lease| lease.had(reply.body));
        let (outcome, admitted) = reply.pass(&self.lender.gate, &self);
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
    /// records are flushed with those of other leases, when [`flush_due`](super::SharedFrontier::flush_due) says so. `again` is when a
    /// page that is done is to be fetched again, and its metadata then, if that changes. The returned host turn says how the outcome
    /// has changed the host.
    #[cfg(feature = "crawl")]
    pub(crate) fn settle(
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
            lender.unflushed.tell();
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
