//! The context of a node: the state that its partitions share, and the partitions that are open.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::drops::{DropList, PartDrops};
use super::journal::FetchThrottle;
use super::outbox::Outbound;
use super::peers::NodeLease;
use super::terms::{Partitions, RootList};
use super::transport::ClusterTransport;
use crate::address::Canonicalizer;
use crate::crawl::{CrawlOptions, FetchResources, PartOutputs, PartitionHandle, Progress};
use crate::gate::{Found, Via};
use crate::lending::Clock;

/// At most this many partitions are opened at once, since each reads its log.
const OPENING: usize = 4;

/// The state that all partitions of a node share.
#[derive(Debug)]
pub(crate) struct NodeContext<T: ClusterTransport> {
    pub(crate) transport: Arc<T>,
    /// The options of one partition.
    pub(crate) options: CrawlOptions,
    pub(crate) resources: FetchResources,
    pub(crate) partitions: Partitions,
    /// A number that tells this crawl's files from those of other crawls.
    pub(crate) id: u64,
    /// This node's id.
    pub(crate) node: String,
    /// A random number, drawn once for the job directory.
    pub(crate) place: u64,
    /// The node's job directory.
    pub(crate) directory: PathBuf,
    /// The page records and all other outputs.
    pub(crate) outputs: PartOutputs,
    /// Whether each request and each refused link is logged.
    pub(crate) logs_all: bool,
    pub(crate) lease: Arc<NodeLease>,
    /// By how many microseconds this machine's clock is ahead of the servers'; 0 if it is near enough.
    pub(crate) clock_ahead: AtomicI64,
    pub(crate) roots: RootList,
    /// The drop rules that this node has read.
    pub(crate) drops: DropList,
    pub(crate) opening: Semaphore,
    pub(crate) outbound: Arc<Outbound>,
    /// Pages of all partitions that are not in the log yet.
    pub(crate) backlog: Arc<AtomicU64>,
    /// When the node began.
    pub(crate) begun: Instant,
    /// The partitions that are open here.
    pub(crate) parts: Mutex<BTreeMap<u32, OpenPart>>,
}

/// A partition that is open on this node.
pub(crate) struct OpenPart {
    pub(crate) handle: PartitionHandle,
    pub(crate) throttle: Arc<FetchThrottle>,
    pub(crate) drops: Arc<PartDrops>,
    pub(crate) watch: Box<dyn Fn() -> Progress + Send + Sync>,
}

impl fmt::Debug for OpenPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenPart").field("handle", &self.handle).finish_non_exhaustive()
    }
}

impl<T: ClusterTransport> NodeContext<T> {
    /// The canonicalizer of the crawl.
    pub(crate) fn canonicalizer(&self) -> Canonicalizer {
        let frontier = &self.options.frontier;
        Canonicalizer::new(&frontier.keys).with_max_bytes(frontier.traps.url_bytes)
    }

    /// Where the files of a partition are.
    pub(crate) fn directory_of(&self, partition: u32) -> PathBuf {
        self.directory.join("partitions").join(format!("{partition:04}"))
    }

    /// The number of a partition's job, the same on all machines.
    pub(crate) fn job_of(&self, partition: u32) -> u64 {
        self.id.wrapping_add(partition.into())
    }

    /// The next beat of this interval. All partitions of the node have the same beats, so that their messages share reads, writes and turns.
    pub(crate) fn beat(&self, every: Duration) -> Instant {
        self.begun + next_beat(self.begun.elapsed(), every)
    }

    /// The clock of a partition, corrected by the servers' clock. Without this, if this machine's clock is ahead, the partition's next owner
    /// would have to wait for times in the future.
    pub(crate) fn clock(&self) -> Clock {
        Clock::start().set_back(self.clock_ahead.load(Ordering::Relaxed))
    }

    /// A semaphore that limits how many partitions are opened at once.
    pub(crate) fn turns() -> Semaphore {
        Semaphore::new(OPENING)
    }

    pub(crate) fn parts(&self) -> MutexGuard<'_, BTreeMap<u32, OpenPart>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a partition apply the newest list of drop rules that the node has read.
    pub(crate) async fn go_by_drops(self: &Arc<Self>, partition: u32, drops: &Arc<PartDrops>) {
        if self.drops.message() <= drops.applied() {
            return;
        }
        let (context, drops) = (Arc::clone(self), Arc::clone(drops));
        let going = move || drops.go_by(context.drops.newest(), || context.seeds_of(partition));
        if let Err(panic) = spawn_blocking(going).await {
            resume_unwind(panic.into_panic());
        }
    }

    /// The seeds of a partition.
    fn seeds_of(&self, partition: u32) -> Vec<Found> {
        let is_its = |found: &Found| found.via == Via::Seed && self.partitions.of(&found.url) == partition;
        self.roots.from(0).into_iter().filter(is_its).collect()
    }

    /// The progress of all partitions that are open here, summed up.
    pub(crate) fn progress(&self) -> Progress {
        let mut sum = Progress::default();
        for part in self.parts().values() {
            sum.merge((part.watch)());
        }
        sum
    }
}

/// The first multiple of `every` after `elapsed`.
fn next_beat(elapsed: Duration, every: Duration) -> Duration {
    let beats = elapsed.as_nanos() / every.as_nanos() + 1;
    every * u32::try_from(beats).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_is_the_same_for_all_that_wait_for_it() {
        let next = |elapsed| next_beat(Duration::from_millis(elapsed), Duration::from_millis(40)).as_millis();
        assert_eq!([0, 1, 39, 40, 41, 100_000_001].map(next), [40, 40, 40, 80, 80, 100_000_040]);
    }
}
