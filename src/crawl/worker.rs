//! What each task of a crawl does with its lease: fetch, parse, submit, record.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, PoisonError};

use futures_util::FutureExt;

use super::bounds::Share;
use super::finish::FinishReason;
use super::http::Ask;
use super::lock::lock;
use super::records::{Additions, Outputs, SkipList, Skips, Slot, Writer, line};
use super::shared::Crew;
use super::visit::Visit;
use crate::frontier::{Completion, Failure, Frontier, Journal, Lease, LeaseKind, Trouble};
use crate::gate::{Admission, Admitted, Found, Refusal};
use crate::lending::HeldLease;

/// How a task ended that had a lease to see to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With a page record.
    Recorded,
    /// For want of something of this machine's: its lease went back as it was.
    Released,
    /// Without a page record: it was a robots.txt, or will be tried again.
    Unrecorded,
}

/// What each task does with its lease: fetch, parse, submit.
#[derive(Debug)]
pub(super) struct Worker<J: Journal> {
    pub(super) crew: Arc<Crew<J>>,
    /// Where page records go.
    pub(super) pages: Writer,
    /// What else is written of each page.
    pub(super) outputs: Outputs,
    /// Where refused links are listed, if they are.
    pub(super) skipped: Option<SkipList>,
}

impl<J: Journal> Worker<J> {
    /// Fetches what was lent, and sees to what comes of it.
    pub(super) async fn see_to(&self, lease: HeldLease<J>) -> io::Result<Ended> {
        // A panic is this page's failure, not the crawl's.
        let mut share = self.crew.memory.share();
        let visit = AssertUnwindSafe(self.visit(&lease, &mut share)).catch_unwind().await;
        let lost = |_| Some(Visit::failed(&lease, Failure::Lost.into(), self.crew.frontier.gate()));
        match visit.unwrap_or_else(lost) {
            Some(visit) => self.settle(lease, visit).await,
            None => Ok(Ended::Released),
        }
    }

    /// What came of the request; `None` where this machine lacked what it takes to ask, which is nobody's fault but its own.
    async fn visit(&self, lease: &Lease, share: &mut Share) -> Option<Visit> {
        let clock = self.crew.frontier.clock();
        if let Some(trouble) = lease.trouble() {
            let mut visit = Visit::given_up(lease, trouble, self.crew.frontier.gate());
            visit.record.fetched_at = clock.now().to_string();
            return Some(visit);
        }
        let fetched = self
            .crew
            .fetcher
            .ask(Ask {
                url: lease.url(),
                changed: lease.validators(),
                is_first_contact: lease.is_first_contact(),
                only_html: lease.kind() == LeaseKind::Page,
                keeps_exchange: lease.kind() == LeaseKind::Page && self.outputs.need_exchange(),
                share: Some(share),
            })
            .await;
        if let Err(error) = &fetched
            && error.is_local
        {
            tracing::debug!(url = lease.url(), %error, "not asked");
            return None;
        }
        let sent_at = fetched.as_ref().map_or_else(|error| error.sent_at, |response| Some(response.sent_at));
        let sent_at = sent_at.map(|instant| clock.timestamp(instant));
        if let Some(sent_at) = sent_at {
            lock(&self.crew.politeness).sent(lease.origin(), sent_at, lease.delay());
        }
        let mut visit = match fetched {
            Err(error) => {
                tracing::debug!(url = lease.url(), %error, "no response");
                Visit::failed(lease, Trouble::new(error.failure, &error.message), self.crew.frontier.gate())
            }
            Ok(response) => {
                let skips = Skips::of(self.skipped.as_ref(), lease);
                Visit::answered(lease, response, self.crew.frontier.gate(), &self.crew.parse, skips, share).await
            }
        };
        visit.record.fetched_at = sent_at.unwrap_or_else(|| clock.now()).to_string();
        Some(visit)
    }

    /// Links through the gate, lease back, numbers counted, record out.
    async fn settle(&self, lease: HeldLease<J>, visit: Visit) -> io::Result<Ended> {
        // A place in each output first: from the gate on, nothing waits.
        let places = match lease.kind() {
            LeaseKind::Page => {
                let Some(places) = self.places(&visit).await else {
                    self.crew.break_off(FinishReason::SinkFailed);
                    return Ok(Ended::Unrecorded);
                };
                Some(places)
            }
            LeaseKind::Robots => None,
        };
        let crossed = {
            let _crossing = self.crew.crossing.read().unwrap_or_else(PoisonError::into_inner);
            let crossed = self.cross(lease, visit, places);
            if crossed.is_err() {
                // Said before anybody else may pass.
                self.crew.break_off(FinishReason::StorageFailed);
            }
            crossed
        };
        let (ended, skips) = crossed?;
        self.list(skips).await;
        Ok(ended)
    }

    /// A place among the page records, and what the other outputs get; `None` where a writer has failed.
    async fn places(&self, visit: &Visit) -> Option<(Slot<'_>, Additions<'_>)> {
        let slot = self.pages.reserve().await?;
        Some((slot, self.outputs.additions(&visit.record, visit.exchange.as_deref()).await?))
    }

    /// Lists what robots.txt turned away while a lease was waited for.
    pub(super) async fn list_dropped(&self) {
        let Some(list) = &self.skipped else { return };
        let (dropped, further) = self.crew.frontier.with(Frontier::take_dropped);
        self.list(Skips::dropped(list, dropped, further)).await;
    }

    async fn list(&self, skips: Skips) {
        if let Some(list) = &self.skipped
            && !list.take(skips).await
        {
            self.crew.break_off(FinishReason::SinkFailed);
        }
    }

    fn cross(
        &self,
        lease: HeldLease<J>,
        mut visit: Visit,
        places: Option<(Slot<'_>, Additions<'_>)>,
    ) -> io::Result<(Ended, Skips)> {
        let gate = self.crew.frontier.gate();
        let found = std::mem::take(&mut visit.found);
        let named = |found: &Found| (found.url.wire().to_owned(), found.depth);
        let mut named = if visit.skips.is_kept() { found.iter().map(named).collect() } else { Vec::new() }.into_iter();
        let mut admitted: Vec<Admitted> = Vec::with_capacity(found.len());
        let links = &mut visit.record.links;
        for admission in gate.admit_batch(found) {
            let named = named.next();
            match admission {
                Admission::Admitted(proof) => admitted.push(proof),
                Admission::Refused(Refusal::Seen) => links.seen += 1,
                Admission::Refused(refusal) => {
                    links.refused += 1;
                    if let Some((url, depth)) = named {
                        visit.skips.add(refusal, &url, depth);
                    }
                }
            }
        }
        // A seen set that was chosen to lose nothing must not go on as one that does.
        gate.seen().check().map_err(io::Error::other)?;
        self.crew.heed_fill();
        links.admitted = u32::try_from(admitted.len()).unwrap_or(u32::MAX);
        let (kind, is_given_up) = (lease.kind(), lease.trouble().is_some());
        let completion = match places {
            None => lease.settle(admitted, visit.outcome, None, || {})?,
            Some((slot, additions)) => {
                // Held until the page is in the journal, so that the outputs have its order.
                let mut ends = (!additions.is_empty()).then(|| lock(&self.crew.output_ends));
                if let Some(ends) = &ends {
                    visit.record.outputs = additions.places(ends);
                }
                let line = line(&visit.record);
                let receipt = Arc::clone(&line);
                let receipt = Some(&*receipt).filter(|_| self.crew.receipts);
                lease.settle(admitted, visit.outcome, receipt, || {
                    slot.put(line);
                    if let Some(ends) = &mut ends {
                        additions.put(ends);
                    }
                })?
            }
        };
        lock(&self.crew.tally).record(kind, completion, &visit.record);
        let is_recorded = completion == Completion::Done && kind == LeaseKind::Page && !is_given_up;
        Ok((if is_recorded { Ended::Recorded } else { Ended::Unrecorded }, visit.skips))
    }
}
