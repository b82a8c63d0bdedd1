//! What the partitions have counted, and the one report that they make together.

use std::collections::BTreeMap;

use super::error::ClusterError;
use super::snapshot::restore;
use super::transport::ClusterTransport;
use super::values::{self, CountsValue};
use crate::crawl::{Carried, CrawlError, CrawlOptions, FinishReason, Finished, Inlet, Observer, Tally};
use crate::frontier::Frontier;
use crate::job::JobJournal;
use crate::lending::Clock;
use crate::report::{Cost, Report, Settings};

/// What a partition has counted so far, as its log keeps it.
pub(crate) fn counts(inlet: &Inlet, observer: &Observer<JobJournal>, options: &CrawlOptions) -> Vec<u8> {
    let carried = String::from_utf8(inlet.carried()).unwrap_or_default();
    let mut report = Report::of(&observer.so_far(), options, Cost::default(), None);
    report.shorten();
    values::to_bytes(&CountsValue { carried, report: Some(report) })
}

/// What an owner goes on from: the counters as a part of a crawl takes them, and what was refused.
pub(crate) fn before(counts: &[u8]) -> (Vec<u8>, BTreeMap<String, u64>) {
    let counts: CountsValue = values::read(counts).unwrap_or_default();
    (counts.carried.into_bytes(), counts.report.map(|report| report.urls.refused).unwrap_or_default())
}

/// Reads what all partitions have counted, and makes one report of it.
///
/// # Errors
/// Where a log or its counts cannot be read.
pub(crate) async fn merged<T: ClusterTransport>(
    transport: &T,
    partitions: u32,
    has_ended: bool,
    options: &CrawlOptions,
) -> Result<Report, ClusterError> {
    let mut all: Option<Report> = None;
    for partition in 0..partitions {
        let (fold, _) = restore(transport, partition, None).await?;
        let Some(CountsValue { carried, report: Some(mut part) }) = values::read(&fold.counts) else { continue };
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
    // What was counted are moves of partitions.
    all.resumes = 0;
    Ok(all)
}

/// Of a crawl of which nothing was counted yet.
fn nothing(options: &CrawlOptions) -> Result<Report, ClusterError> {
    let frontier = Frontier::new(&options.frontier).map_err(CrawlError::from)?;
    let finished = Finished::of(&frontier, Tally::default(), Clock::start().now());
    Ok(Report::of(&finished, options, Cost::default(), None))
}
