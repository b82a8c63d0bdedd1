//! What all tasks of a crawl share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, RwLock};

use super::bounds::{Budget, Memory};
use super::finish::FinishReason;
use super::http::Fetcher;
use super::lock::lock;
use super::numbers::{Carried, PolitenessWatch, Progress, Tally};
use super::options::ParseOptions;
use super::records::OutputEnds;
use super::stop::Stop;
use crate::frontier::Journal;
use crate::gate::Refusal;
use crate::lending::SharedFrontier;
use crate::seen::OnFull;

/// What all tasks of a crawl share.
#[derive(Debug)]
pub(super) struct Crew<J: Journal> {
    pub(super) frontier: SharedFrontier<J>,
    pub(super) fetcher: Fetcher,
    /// What pages in flight may take.
    pub(super) memory: Memory,
    pub(super) parse: ParseOptions,
    pub(super) pages: Budget,
    pub(super) politeness: Mutex<PolitenessWatch>,
    pub(super) stop: Stop,
    pub(super) tally: Mutex<Tally>,
    /// From the runs before.
    pub(super) carried: Mutex<Carried>,
    /// Held while a page's links cross from the gate to the journal, and its numbers are counted: who holds it alone sees
    /// all of a page or nothing.
    pub(super) crossing: RwLock<()>,
    /// Where the outputs beside the page records end.
    pub(super) output_ends: Mutex<OutputEnds>,
    /// Something could not be kept: the seen set may hold what the journal does not, and that would be missed for ever.
    pub(super) broken: AtomicBool,
    /// Records can be read again after a crash, so a page is done only where its record is.
    pub(super) receipts: bool,
    /// Said once that the filter is full.
    pub(super) warned_full: Once,
}

impl<J: Journal> Crew<J> {
    /// The crawl as it stands.
    pub(super) fn progress(&self) -> Progress {
        let frontier = self.frontier.with(|frontier| frontier.statistics());
        let (mut pages, mut errors) = (0, 0);
        for tally in [&*lock(&self.tally), &lock(&self.carried).tally] {
            (pages, errors) = (pages + tally.fetched + tally.failed, errors + tally.failed);
        }
        Progress {
            pages,
            queued: frontier.queued,
            scheduled: frontier.scheduled,
            unreachable: frontier.unreachable,
            in_flight: frontier.leased,
            hosts: frontier.active_hosts,
            failing: frontier.failing_hosts,
            errors,
            duplicates: self.frontier.gate().refusals().of(Refusal::Seen),
            elapsed: self.frontier.clock().elapsed(),
        }
    }

    /// Ends the crawl at once, and leaves its last checkpoint the last.
    pub(super) fn break_off(&self, reason: FinishReason) {
        self.broken.store(true, Ordering::Release);
        self.stop.now_because(reason);
    }

    /// What the next run, or the report, should know of this one and those before. Nobody may be crossing.
    pub(super) fn carried(&self) -> Carried {
        let mut carried = lock(&self.carried).clone();
        carried.elapsed_us += u64::try_from(self.frontier.clock().elapsed().as_micros()).unwrap_or(u64::MAX);
        carried.tally.merge(&lock(&self.tally));
        carried.outputs.clone_from(&lock(&self.output_ends));
        carried.politeness.merge(lock(&self.politeness).counts());
        carried
    }

    /// A filter beyond its capacity loses more pages than was promised: the user has said what then.
    pub(super) fn heed_fill(&self) {
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
