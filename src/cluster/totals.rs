//! The counts of the partitions, and the one report that they make together.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::error::ClusterError;
use super::snapshot::restore;
use super::transport::ClusterTransport;
use super::values::{self, CountsValue};
use crate::crawl::{Carried, Cost, CrawlError, CrawlOptions, FinishReason, Finished, Observer, PartitionHandle, Tally};
use crate::frontier::Frontier;
use crate::job::JobJournal;
use crate::lending::Clock;
use crate::report::{Report, Settings};

/// Partitions that are read at once, so that their messages share reads and writes.
const READ: usize = 32;

/// What a partition has counted so far, as its log keeps it.
pub(crate) fn counts(inlet: &PartitionHandle, observer: &Observer<JobJournal>, options: &CrawlOptions) -> Vec<u8> {
    let carried = String::from_utf8(inlet.carried()).unwrap_or_default();
    let mut report = Report::of(&observer.so_far(), options, Cost::default(), None);
    report.shorten();
    values::to_bytes(&CountsValue { carried, report: Some(report) })
}

/// What a new owner continues from: the counters, as `CrawlPart` takes them, and how many URLs were refused, by reason.
pub(crate) fn before(counts: &[u8]) -> (Vec<u8>, BTreeMap<String, u64>) {
    let counts: CountsValue = values::read(counts).unwrap_or_default();
    (counts.carried.into_bytes(), counts.report.map(|report| report.urls.refused).unwrap_or_default())
}

/// Reads the counts of all partitions, and makes one report of them.
///
/// # Errors
/// If a log or its counts cannot be read.
pub(crate) async fn merged<T: ClusterTransport>(
    transport: &Arc<T>,
    partitions: u32,
    has_ended: bool,
    options: &CrawlOptions,
) -> Result<Report, ClusterError> {
    let mut all: Option<Report> = None;
    for (partition, counts) in counts_of_all(transport, partitions).await? {
        let Some(CountsValue { carried, report: Some(mut part) }) = values::read(&counts) else { continue };
        let carried = Carried::read(carried.as_bytes());
        part.complete(carried.map_err(|error| ClusterError::Log(format!("counts: {error}")))?.unwrap_or_default());
        for shard in &mut part.seen.shards {
            shard.partition = Some(partition);
        }
        match &mut all {
            Some(all) => all.merge(part),
            none => *none = Some(part),
        }
    }
    let mut all = all.map_or_else(|| nothing(options), Ok)?;
    all.finish = if has_ended { FinishReason::Drained } else { FinishReason::Unfinished };
    all.settings = Settings::from(options);
    // What was counted as resumes are moves of partitions.
    all.resumes = 0;
    Ok(all)
}

/// What each partition has counted, by its log.
async fn counts_of_all<T: ClusterTransport>(
    transport: &Arc<T>,
    partitions: u32,
) -> Result<BTreeMap<u32, Vec<u8>>, ClusterError> {
    let (mut all, mut reading, mut left) = (BTreeMap::new(), JoinSet::new(), 0..partitions);
    loop {
        for partition in left.by_ref().take(READ - reading.len()) {
            let transport = Arc::clone(transport);
            reading.spawn(async move { (partition, restore(&*transport, partition, None).await) });
        }
        match reading.join_next().await {
            None => return Ok(all),
            Some(Ok((partition, restored))) => all.insert(partition, restored?.0.counts),
            Some(Err(panic)) => resume_unwind(panic.into_panic()),
        };
    }
}

/// The report of a crawl that has no counts yet.
fn nothing(options: &CrawlOptions) -> Result<Report, ClusterError> {
    let frontier = Frontier::new(&options.frontier).map_err(CrawlError::from)?;
    let finished = Finished::of(&frontier, Tally::default(), Clock::start().now());
    Ok(Report::of(&finished, options, Cost::default(), None))
}
