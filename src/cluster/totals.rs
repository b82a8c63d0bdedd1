//! What the partitions have counted, and the one report that they make together.

use std::collections::BTreeMap;

use super::error::ClusterError;
use super::snapshot::restore;
use super::transport::ClusterTransport;
use super::values::{self, CountsValue};
use crate::crawl::{CrawlOptions, FinishReason, Inlet, Observer, PartSums, Timeline};
use crate::job::JobJournal;
use crate::report::{Cost, HostBucket, Report};
use crate::seen::SeenStatistics;

/// Hosts in the report's list.
const TOP_HOSTS: usize = 10;

/// What a partition has counted so far, as its log keeps it.
pub(crate) fn counts(inlet: &Inlet, observer: &Observer<JobJournal>, options: &CrawlOptions) -> Vec<u8> {
    let carried = String::from_utf8(inlet.carried()).unwrap_or_default();
    let mut report = Report::of(&observer.so_far(), options, Cost::default(), None);
    // What is carried has both, and they are long.
    report.timeline = Timeline::default();
    report.forget_histograms();
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
    let mut parts: Vec<CountsValue> = Vec::new();
    for partition in 0..partitions {
        let (fold, _) = restore(transport, partition, None).await?;
        parts.extend(values::read::<CountsValue>(&fold.counts));
    }
    merge(parts, has_ended, options)
}

fn merge(parts: Vec<CountsValue>, has_ended: bool, options: &CrawlOptions) -> Result<Report, ClusterError> {
    let mut sums = PartSums::default();
    for part in &parts {
        sums.add(part.carried.as_bytes()).map_err(|error| ClusterError::Log(format!("counts: {error}")))?;
    }
    let mut all = Report::of(&sums.finished(options)?, options, Cost::default(), None);
    all.finish = if has_ended { FinishReason::Drained } else { FinishReason::Unfinished };
    let (mut shards, mut recent) = (Vec::new(), 0);
    let mut buckets: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for part in parts.into_iter().filter_map(|part| part.report) {
        for (reason, count) in part.urls.refused {
            *all.urls.refused.entry(reason).or_default() += count;
        }
        all.urls.found += part.urls.found;
        all.urls.admitted += part.urls.admitted;
        all.urls.queued += part.urls.queued;
        all.urls.in_flight += part.urls.in_flight;
        let (hosts, of) = (&mut all.hosts, part.hosts);
        hosts.known += of.known;
        hosts.in_memory += of.in_memory;
        hosts.active += of.active;
        hosts.resting += of.resting;
        hosts.failing += of.failing;
        hosts.unreachable += of.unreachable;
        hosts.longest_due_us = hosts.longest_due_us.max(of.longest_due_us);
        hosts.top.extend(of.top);
        for HostBucket { from, to, hosts } in of.by_requests {
            *buckets.entry((from, to)).or_default() += hosts;
        }
        all.politeness.worst = all.politeness.worst.take().or(part.politeness.worst);
        all.duplicates.bytes += part.duplicates.bytes;
        all.duplicates.expected_lost += part.duplicates.expected_lost;
        shards.extend(part.seen.shards);
        recent += part.seen.recent_hits;
    }
    all.hosts.top.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.host.cmp(&b.host)));
    all.hosts.top.truncate(TOP_HOSTS);
    all.hosts.by_requests = buckets.into_iter().map(|((from, to), hosts)| HostBucket { from, to, hosts }).collect();
    all.seen = SeenStatistics::new(shards, recent);
    Ok(all)
}
