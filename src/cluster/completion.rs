//! The completion of a crawl: the check whether it is over, and the one report of all partitions.
//!
//! A partition publishes that it is idle: it has no work, everything that it has done is in its log, and it has taken in all link batches up
//! to a number. This may be out of date. So it counts only if the log and the link batches still end where the partition said. The partition
//! must also apply the newest list of drop rules, since removing a rule may give it work.
//!
//! All partitions are checked twice, and both checks must find the same states. Between the checks, only a link batch can give a partition
//! work. Its sender must have got work from a link batch, too, and so on, back to a link batch that existed at the first check. But then a
//! partition had not read all of its link batches at the first check, which would have failed.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::error::ClusterError;
use super::snapshot::restore;
use super::succession::is_last;
use super::transport::{ClusterKey, ClusterSubject, ClusterTransport, Unreachable};
use super::wire::{CountsValue, StateValue, read_value, value_to_bytes};
use crate::crawl::{Carried, Cost, CrawlError, CrawlOptions, FinishReason, Finished, Observer, PartitionHandle, Tally};
use crate::frontier::Frontier;
use crate::job::JobJournal;
use crate::lending::Clock;
use crate::report::{Report, Settings};

/// Checks whether all partitions are idle. If they are, returns their state messages.
///
/// # Errors
/// If the servers do not answer.
pub(crate) async fn all_idle<T: ClusterTransport>(
    transport: &T,
    partitions: u32,
) -> Result<Option<Vec<u64>>, Unreachable> {
    let mut sequences = Vec::new();
    let dropped = transport.last(&ClusterSubject::Key(ClusterKey::Dropped)).await?.map_or(0, |last| last.sequence);
    for partition in 0..partitions {
        let Some(message) = transport.last(&ClusterSubject::Key(ClusterKey::State(partition))).await? else {
            return Ok(None);
        };
        let Some(StateValue { is_idle: true, journal, read, dropped: applied, .. }) = read_value(&message.bytes) else {
            return Ok(None);
        };
        if applied != dropped {
            return Ok(None);
        }
        let link_batches = transport.last(&ClusterSubject::Found(partition)).await?;
        if link_batches.map_or(0, |last| last.sequence) != read || !is_last(transport, partition, journal).await? {
            return Ok(None);
        }
        sequences.push(message.sequence);
    }
    Ok(Some(sequences))
}

/// At most this many partitions are read at once, so that their messages share reads and writes.
const READ: usize = 32;

/// The counts of a partition so far, as its log has them.
pub(crate) fn counts(handle: &PartitionHandle, observer: &Observer<JobJournal>, options: &CrawlOptions) -> Vec<u8> {
    let carried = String::from_utf8(handle.carried()).unwrap_or_default();
    let mut report = Report::of(&observer.so_far(), options, Cost::default(), None);
    report.shorten();
    value_to_bytes(&CountsValue { carried, report: Some(report) })
}

/// The counts from which a new owner continues: the counters, as `CrawlPart` takes them, and the number of refused URLs by reason.
pub(crate) fn before(counts: &[u8]) -> (Vec<u8>, BTreeMap<String, u64>) {
    let counts: CountsValue = read_value(counts).unwrap_or_default();
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
        let Some(CountsValue { carried, report: Some(mut part) }) = read_value(&counts) else { continue };
        let carried = Carried::read(carried.as_bytes());
        part.complete(carried.map_err(|error| ClusterError::Log(format!("counts: {error}")))?.unwrap_or_default());
        for shard in &mut part.seen.shards {
            shard.partition = Some(partition);
        }
        match &mut all {
            Some(all) => all.merge(&part),
            none => *none = Some(part),
        }
    }
    let mut all = all.map_or_else(|| nothing(options), Ok)?;
    all.finish = if has_ended { FinishReason::Drained } else { FinishReason::Unfinished };
    all.settings = Settings::from(options);
    // Each counted resume is only a move of a partition to another owner.
    all.resumes = 0;
    Ok(all)
}

/// The counts of each partition, from its log.
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

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::cluster::in_process::InProcess;
    use crate::cluster::wire::{EntryKind, LogEntry};

    fn now<R>(future: impl Future<Output = R>) -> R {
        let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
        loop {
            if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
                return done;
            }
        }
    }

    #[test]
    fn it_is_over_when_all_have_read_all_and_nobody_is_at_work() {
        let transport = InProcess::new(1, 0);
        let put = |subject: ClusterSubject| now(transport.publish(&subject, b"x".to_vec(), None, None)).unwrap();
        let begin = |partition, number, follows| {
            let what = EntryKind::Epoch { number, node: "a".to_owned() };
            let bytes = LogEntry { token: number, serial: 0, follows, what }.to_bytes();
            now(transport.publish(&ClusterSubject::Journal(partition), bytes, None, None)).unwrap()
        };
        let say_of = |partition, is_idle, journal, read, dropped| {
            let state = StateValue { is_idle, journal, read, unread: 0, dropped };
            now(transport.publish(
                &ClusterSubject::Key(ClusterKey::State(partition)),
                value_to_bytes(&state),
                None,
                None,
            ))
            .unwrap()
        };
        let say = |partition, is_idle, journal, read| say_of(partition, is_idle, journal, read, 0);
        let look = || now(all_idle(&*transport, 2)).unwrap();
        let (first, second) = (begin(0, 1, 0), begin(1, 1, 0));
        let one = say(0, true, first, 0);
        assert_eq!(look(), None, "one has said nothing");
        say(1, false, second, 0);
        assert_eq!(look(), None, "one is at work");
        let two = say(1, true, second, 0);
        assert_eq!(look(), Some(vec![one, two]));
        let link_batch = put(ClusterSubject::Found(0));
        assert_eq!(look(), None, "a link batch is not read");
        let read = say(0, true, first, link_batch);
        assert_eq!(look(), Some(vec![read, two]));
        let dropped = put(ClusterSubject::Key(ClusterKey::Dropped));
        assert_eq!(look(), None, "what is dropped is another thing now");
        let [read, two] = [(0, first, link_batch), (1, second, 0)].map(|(partition, journal, read)| {
            assert_eq!(look(), None, "one has not heard of it");
            say_of(partition, true, journal, read, dropped)
        });
        assert_eq!(look(), Some(vec![read, two]));
        begin(1, 2, 0);
        assert_eq!(look(), Some(vec![read, two]), "what is void changes nothing");
        begin(1, 2, second);
        assert_eq!(look(), None, "another owner has begun since");
    }
}
