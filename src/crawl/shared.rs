//! The state that all tasks of a crawl share; the fetcher and the memory that the partitions of a crawl in one process share; and the trait
//! through which a partition reaches the others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, RwLock};

use super::bounds::{Memory, PageQuota, ResourceLimits};
use super::counters::Counter;
use super::error::CrawlError;
use super::http::{Fetcher, RequestPermit};
use super::latencies::micros;
use super::lock::lock;
use super::numbers::{Carried, Cost, Moment, PolitenessWatch, Progress, Spent, Tally};
use super::options::CrawlOptions;
use super::records::{ClusterPlace, OutputEnds};
use super::source::ReadOptions;
use super::stop::{FinishReason, Stop};
use crate::address::{CanonicalUrl, Fingerprint};
use crate::frontier::Journal;
use crate::gate::{Found, Refusal};
use crate::lending::SharedFrontier;
use crate::seen::{OnFull, SeenSet, ShardStatistics};

/// State that all tasks of a crawl share.
#[derive(Debug)]
pub(super) struct Shared<J: Journal> {
    pub(super) frontier: SharedFrontier<J>,
    pub(super) fetcher: Arc<Fetcher>,
    /// The memory that pages in flight may take.
    pub(super) memory: Memory,
    /// How responses are read.
    pub(super) read: ReadOptions,
    pub(super) page_quota: Arc<PageQuota>,
    /// New fetches may begin. Set by the dispatcher: not after a stop, not during a pause, and not while the machine is short of something.
    pub(super) is_leasing: AtomicBool,
    pub(super) politeness: Mutex<PolitenessWatch>,
    pub(super) stop: Stop,
    pub(super) tally: Mutex<Tally>,
    /// The totals of earlier runs.
    pub(super) carried: Mutex<Carried>,
    /// The cost of the process when this run began.
    pub(super) began: Cost,
    /// Held by each page on its way from the gate to the journal and the counters. A task that holds it exclusively sees all of a page or
    /// nothing.
    pub(super) quiesce: RwLock<()>,
    /// Where the outputs end.
    pub(super) output_ends: Arc<Mutex<OutputEnds>>,
    /// A write has failed. The seen set may hold URLs that the journal does not have: a checkpoint now would lose them for ever.
    pub(super) broken: AtomicBool,
    /// The outputs can be read again after a crash, so a page is done only if its record is there.
    pub(super) has_receipts: bool,
    /// Records, not the journal, say where a page's bytes are in the outputs: another process may continue the journal with other outputs.
    pub(super) has_places: bool,
    /// Makes the warning that the filter is full appear once.
    pub(super) warned_full: Once,
    /// The rest of a distributed crawl; `None` if this is all of the crawl.
    pub(super) remote: Option<Arc<dyn RemotePartitions>>,
}

impl<J: Journal> Shared<J> {
    /// The crawl's current numbers.
    pub(super) fn progress(&self) -> Progress {
        let counts =
            |tally: &Tally| [tally.records(), tally.urls.failed, tally.pages.wire_bytes + tally.robots.wire_bytes];
        let [earlier_pages, earlier_errors, earlier_wire_bytes] = counts(&lock(&self.carried).tally);
        let [pages, errors, wire_bytes] = counts(&lock(&self.tally));
        let gate = self.frontier.gate();
        Progress {
            pages: earlier_pages + pages,
            errors: earlier_errors + errors,
            wire_bytes: earlier_wire_bytes + wire_bytes,
            earlier_pages,
            earlier_wire_bytes,
            duplicates: gate.refusals().of(Refusal::Seen),
            elapsed: self.frontier.clock().elapsed(),
            now: self.frontier.clock().now(),
            filter_used: used(gate.seen()),
            is_filter_full: gate.seen().is_full(),
            is_paused: self.stop.is_paused(),
            is_cut_off: false,
            frontier: self.frontier.with(|frontier| frontier.statistics()),
        }
    }

    /// Samples the counts for the report if a sample is due or the run ends. Takes no lock while it holds another.
    pub(super) fn note_moment(&self, is_end: bool) {
        let (mut moment, is_due) = {
            let carried = lock(&self.carried);
            let elapsed_us = carried.elapsed_us + micros(self.frontier.clock().elapsed());
            (Moment::of(elapsed_us, &carried.tally), carried.timeline.is_due(elapsed_us))
        };
        if !is_due && !is_end {
            return;
        }
        moment.count(&lock(&self.tally));
        let gate = self.frontier.gate();
        (moment.found, moment.admitted) = (gate.found(), gate.admitted());
        let frontier = self.frontier.with(|frontier| frontier.statistics());
        moment.queued = frontier.queued + frontier.scheduled;
        moment.measure(&gate.seen().statistics().merged);
        lock(&self.carried).timeline.keep(moment);
    }

    /// Where the outputs end; `None` if no receipts or places are needed. With ends, each page's record says where its bytes are in each
    /// output.
    pub(super) fn ends(&self) -> Option<&Mutex<OutputEnds>> {
        (self.has_receipts || self.has_places).then(|| &*self.output_ends)
    }

    /// Ends the crawl at once. Writes no further checkpoint.
    pub(super) fn abort(&self, reason: FinishReason) {
        self.broken.store(true, Ordering::Release);
        self.stop.now_because(reason);
    }

    /// The totals of this run and earlier ones, for a checkpoint or the report. No page may be on its way.
    pub(super) fn carried(&self) -> Carried {
        let mut carried = lock(&self.carried).clone();
        let Spent { elapsed_us, cost } = self.spent();
        (carried.elapsed_us, carried.cost) = (elapsed_us, cost);
        carried.saved_us = self.frontier.clock().now().as_micros();
        carried.tally.merge_with(&lock(&self.tally));
        carried.tally.connections.merge_with(&self.fetcher.connection_times());
        carried.tally.refused_shapes.merge_with(&self.frontier.gate().budgets().most_refused().into_iter().collect());
        if self.remote.is_none() {
            carried.outputs.clone_from(&lock(&self.output_ends));
        }
        carried.politeness.merge_with(&lock(&self.politeness).counts());
        carried
    }

    /// The cost of all runs so far. For one partition of a distributed crawl it is not known: partitions share a process.
    pub(super) fn spent(&self) -> Spent {
        let before = lock(&self.carried).spent();
        let elapsed_us = before.elapsed_us + micros(self.frontier.clock().elapsed());
        let of_this_run = || Cost::of_this_process_since(self.began);
        let cost = if self.remote.is_none() { before.cost.then(of_this_run()) } else { before.cost };
        Spent { elapsed_us, cost }
    }

    /// If the filter is full, stops the crawl or warns, as the user has chosen: a full filter loses more pages than promised.
    pub(super) fn check_fill(&self) {
        let seen = self.frontier.gate().seen();
        if !seen.is_full() {
            return;
        }
        match seen.options().on_full {
            OnFull::Stop => self.stop.drain_because(FinishReason::SeenFull),
            // A growing filter is full only if there is no memory to grow into.
            OnFull::Grow | OnFull::Warn => self.warned_full.call_once(|| {
                tracing::warn!("the seen filter is full: from here on it loses more pages than its target rate says");
            }),
        }
    }
}

/// The share of a seen set's capacity that is used; 0 if it grows.
pub(crate) fn used(seen: &SeenSet) -> f64 {
    if seen.options().on_full == OnFull::Grow {
        return 0.0;
    }
    let ShardStatistics { inserted, capacity, .. } = seen.statistics().merged;
    inserted as f64 / capacity.max(1) as f64
}

/// The fetcher of a crawl, with its connections, and the memory for pages in flight. The partitions of a crawl in one process share it.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FetchResources {
    pub(super) fetcher: Arc<Fetcher>,
    pub(super) memory: Memory,
}

impl FetchResources {
    /// Makes room for as many fetches at once as the options say.
    ///
    /// # Errors
    /// If an option is out of range, or the HTTP client cannot be built.
    pub(crate) fn new(options: &CrawlOptions) -> Result<Self, CrawlError> {
        ResourceLimits::check(options.workers, options.memory)?;
        let places = ResourceLimits::fit(options.workers, options.memory);
        let asks_at_once = options.frontier.politeness.connections_per_host > 1;
        let fetcher = Arc::new(Fetcher::within(&options.fetch, places, asks_at_once)?);
        Ok(Self { fetcher, memory: Memory::new(options.memory) })
    }
}

/// The rest of a distributed crawl. A crawl of one partition fetches its own URLs, and sends the other URLs there. If the [`RequestPermit`]
/// refuses, the partition may have another owner by now.
pub(crate) trait RemotePartitions: RequestPermit {
    /// Whether another partition owns this URL.
    fn has(&self, url: &CanonicalUrl) -> bool;

    /// Takes URLs of other partitions. They are safe from a crash before the journal has the page on which they were found. Returns how
    /// many were sent recently, and are therefore not sent again.
    fn send(&self, found: Vec<(Found, Fingerprint)>) -> u64;

    /// The place of the next record in the distributed crawl.
    fn place(&self) -> ClusterPlace;
}
