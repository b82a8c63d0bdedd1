use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, Once, PoisonError};

use futures_util::FutureExt;

use super::budget::Budget;
use super::visit::Visit;
use super::{
    Fetcher, FinishReason, HeldLease, ParseOptions, PolitenessWatch, Progress, SharedFrontier, Sink, Stop, Tally,
    rfc3339,
};
use crate::frontier::{Admission, Admitted, Completion, Failure, Lease, LeaseKind, Refusal};
use crate::seen::OnFull;

/// What all workers of a crawl share.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) frontier: SharedFrontier,
    pub(super) fetcher: Fetcher,
    pub(super) parse: ParseOptions,
    pub(super) pages: Budget,
    pub(super) politeness: Mutex<PolitenessWatch>,
    pub(super) stop: Stop,
    pub(super) tally: Mutex<Tally>,
    /// Said once that the filter is full.
    pub(super) warned_full: Once,
}

/// One worker: leases, fetches, parses, submits.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) crew: Arc<Crew>,
    pub(super) sink: Sink,
}

impl Crew {
    /// The crawl as it stands.
    pub(super) fn progress(&self) -> Progress {
        let frontier = self.frontier.with(|frontier| frontier.statistics());
        let (pages, errors) = {
            let tally = lock(&self.tally);
            (tally.fetched + tally.failed, tally.failed)
        };
        Progress {
            pages,
            queued: frontier.queued,
            in_flight: frontier.leased,
            hosts: frontier.active_hosts,
            errors,
            duplicates: self.frontier.gate().refusals().of(Refusal::Seen),
            elapsed: self.frontier.clock().elapsed(),
        }
    }

    /// A filter beyond its capacity loses more pages than was promised: the user has said what then.
    fn heed_fill(&self) {
        let seen = self.frontier.gate().seen();
        if !seen.is_full() {
            return;
        }
        match seen.options().on_full {
            OnFull::Stop => self.stop.drain_because(FinishReason::SeenFull),
            // A filter that grows is full only where there is no memory to grow into.
            OnFull::Grow | OnFull::Warn => self.warned_full.call_once(|| {
                tracing::warn!("the seen filter is full: from here on it loses more pages than its target rate says");
            }),
        }
    }
}

impl Worker {
    /// Works until nothing is left, the pages are used up, or the crawl is stopped.
    pub(super) async fn work(self) -> io::Result<()> {
        let worked = self.keep_working().await;
        if worked.is_err() {
            self.crew.stop.now_because(FinishReason::StorageFailed);
        }
        worked
    }

    async fn keep_working(&self) -> io::Result<()> {
        loop {
            let next = async {
                let Some(page) = self.crew.pages.reserve().await else { return Ok(None) };
                Ok::<_, io::Error>(self.crew.frontier.lease().await?.map(|lease| (lease, page)))
            };
            let next = tokio::select! {
                biased;
                () = self.crew.stop.draining() => return Ok(()),
                next = next => next?,
            };
            let Some((lease, page)) = next else {
                self.crew.pages.close();
                return Ok(());
            };
            // A panic is this page's failure, not the crawl's.
            let visit = tokio::select! {
                biased;
                () = self.crew.stop.stopping() => return Ok(()),
                visit = AssertUnwindSafe(self.visit(&lease)).catch_unwind() => visit,
            };
            let visit = visit.unwrap_or_else(|_| Visit::failed(&lease, Failure::Lost, self.crew.frontier.gate()));
            if self.settle(lease, visit).await? {
                page.spend();
            }
        }
    }

    async fn visit(&self, lease: &Lease) -> Visit {
        let fetched = self.crew.fetcher.fetch(lease.url()).await;
        let clock = self.crew.frontier.clock();
        let sent_at = fetched.as_ref().map_or_else(|error| error.sent_at, |response| Some(response.sent_at));
        let sent_at = sent_at.map(|instant| clock.timestamp(instant));
        if let Some(sent_at) = sent_at {
            lock(&self.crew.politeness).sent(lease.host_key(), sent_at, lease.delay());
        }
        let mut visit = match fetched {
            Err(error) => {
                tracing::debug!(url = lease.url(), %error, "no response");
                Visit::failed(lease, error.failure, self.crew.frontier.gate())
            }
            Ok(response) => Visit::answered(lease, response, self.crew.frontier.gate(), &self.crew.parse).await,
        };
        visit.record.fetched_at = rfc3339(sent_at.unwrap_or_else(|| clock.now()));
        visit
    }

    /// Links through the gate, lease back, numbers counted, record out; whether a page record was written.
    async fn settle(&self, lease: HeldLease, mut visit: Visit) -> io::Result<bool> {
        let kind = lease.kind();
        let found = std::mem::take(&mut visit.found);
        let mut admitted: Vec<Admitted> = Vec::with_capacity(found.len());
        let links = &mut visit.record.links;
        for admission in self.crew.frontier.gate().admit_batch(found) {
            match admission {
                Admission::Admitted(proof) => admitted.push(proof),
                Admission::Refused(Refusal::Seen) => links.seen += 1,
                Admission::Refused(_) => links.refused += 1,
            }
        }
        self.crew.heed_fill();
        links.admitted = u32::try_from(admitted.len()).unwrap_or(u32::MAX);
        // From here to the completion nothing waits: what was admitted is submitted.
        let completion = lease.complete(admitted, visit.outcome)?;
        let done = completion == Completion::Done && kind == LeaseKind::Page;
        lock(&self.crew.tally).record(kind, completion, &visit.record);
        if done && !self.sink.write(visit.record).await {
            self.crew.stop.now_because(FinishReason::SinkFailed);
        }
        // A seen set that was chosen to lose nothing must not go on as one that does.
        self.crew.frontier.gate().seen().check().map_err(io::Error::other)?;
        Ok(done)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // Counters of a panicked holder are still counters.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
