//! The owner of a partition: reads its log, opens its crawl, crawls, and gives it back.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, spawn_blocking};

use super::completion::before;
use super::drops::PartDrops;
use super::error::ClusterError;
use super::inbox::Inbox;
use super::journal::{Backlog, FRONTIER, FetchThrottle, JournalFiles, JournalPieces, take_copy};
use super::node_context::{NodeContext, OpenPart};
use super::outbox::Outbox;
use super::publisher::{PublishProgress, Publisher};
use super::snapshot::{SnapshotMaker, newest, restore};
use super::succession::{Fenced, LogState};
use super::terms::{Partitions, RootList, has_roots};
use super::transport::{ANSWERS, AbortOnDrop, Backoff, ClusterKey, ClusterSubject, ClusterTransport};
use super::wire::{SnapshotValue, StateValue, read_value};
use crate::crawl::{Crawl, CrawlError, CrawlPart, FinishReason, Finished};
use crate::gate::{DropRule, Found, Via};
use crate::job::{Job, JobJournal};

/// A command to an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Own the partition.
    Own,
    /// End in good order, and give the partition back.
    Release,
    /// Abandon the partition: another node owns it, or may own it.
    Drop,
}

/// How an owner has ended.
#[derive(Debug)]
pub(crate) enum OwnerEnd {
    /// Another owner has begun, or the node has lost its lease.
    Fenced,
    /// It has ended in good order. Everything that it has done is in the log.
    Released,
    /// It has ended in good order, but without being told to: the disk is nearly full, the filter is full, or records cannot be written.
    Stopped(FinishReason),
}

/// Owns a partition: reads its log, rebuilds its journal, and crawls it until a command ends that.
///
/// # Errors
/// If its log is damaged, or its files cannot be kept.
pub(crate) async fn own<T: ClusterTransport>(
    context: Arc<NodeContext<T>>,
    partition: u32,
    mut commands: watch::Receiver<Command>,
) -> Result<OwnerEnd, ClusterError> {
    let opened = {
        let opening = async {
            let _turn = context.opening.acquire().await;
            open(&context, partition).await
        };
        tokio::select! {
            opened = opening => opened?,
            // Nothing has happened yet, except that an epoch may have begun.
            _ = commands.wait_for(|command| *command != Command::Own) => return Ok(OwnerEnd::Fenced),
        }
    };
    let Some(Opened { crawl, parts, publisher, inbox }) = opened else { return Ok(OwnerEnd::Fenced) };
    let (stop, wake) = (crawl.stop(), Arc::clone(&publisher.wake));
    let (end, ended) = watch::channel(false);
    let mut crawling = tokio::spawn(crawl.run_part());
    let mut publishing = tokio::spawn(publisher.run(ended));
    let reading = tokio::spawn(inbox.run());
    let _ends = [AbortOnDrop(reading.abort_handle()), AbortOnDrop(publishing.abort_handle())];
    let (throttle, drops) = (Arc::clone(&parts.throttle), Arc::clone(&parts.drops));
    context.parts().insert(partition, parts);
    // From here on, the tasks that watch the lease and read the drop rules know the partition. It may have missed their last changes.
    throttle.set_late(!context.lease.may_ask());
    context.go_by_drops(partition, &drops).await;
    let mut command = Command::Own;
    let finished = loop {
        tokio::select! {
            biased;
            published = &mut publishing => break overtaken(published, crawling, &stop).await.map(Err),
            _ = commands.changed() => {
                command = *commands.borrow_and_update();
                match command {
                    Command::Own => {}
                    Command::Release => {
                        reading.abort();
                        stop.drain();
                    }
                    Command::Drop => break overtaken(Ok(Err(Fenced)), crawling, &stop).await.map(Err),
                }
            }
            finished = &mut crawling => break finished.map_err(panicked).map(Ok),
        }
    };
    reading.abort();
    context.parts().remove(&partition);
    let finished: Finished = match finished? {
        Ok(finished) => finished,
        Err(end) => return Ok(end),
    };
    if let Some(source) = finished.storage_error {
        return Err(ClusterError::Storage { what: format!("partition {partition}"), source });
    }
    let _ = end.send(true);
    wake.notify_one();
    tokio::select! {
        published = publishing => if !matches!(published, Ok(Ok(()))) { return Ok(OwnerEnd::Fenced) },
        _ = commands.wait_for(|command| *command == Command::Drop) => return Ok(OwnerEnd::Fenced),
    }
    Ok(if command == Command::Release { OwnerEnd::Released } else { OwnerEnd::Stopped(finished.reason) })
}

/// Ends a crawl that another owner continues.
async fn overtaken(
    published: Result<Result<(), Fenced>, tokio::task::JoinError>,
    crawling: JoinHandle<Finished>,
    stop: &crate::crawl::Stop,
) -> Result<OwnerEnd, ClusterError> {
    stop.now();
    // Nothing that the crawl does now counts: it only has to end.
    let _ = crawling.await;
    published.map_err(panicked).map(|_| OwnerEnd::Fenced)
}

pub(super) fn panicked(error: tokio::task::JoinError) -> ClusterError {
    ClusterError::Storage { what: "a partition".to_owned(), source: std::io::Error::other(error) }
}

/// A partition that was opened.
#[derive(Debug)]
struct Opened<T: ClusterTransport> {
    crawl: Crawl<JobJournal>,
    parts: OpenPart,
    publisher: Publisher<T>,
    inbox: Inbox<T>,
}

/// How an opening ended.
#[derive(Debug)]
enum Opening<T: ClusterTransport> {
    Opened(Box<Opened<T>>),
    /// Another owner was first.
    Fenced,
    /// The journal on this machine is shorter than it should be.
    Torn,
}

/// Reads the log, begins an epoch, and opens the crawl. `None` if another owner was first.
async fn open<T: ClusterTransport>(
    context: &Arc<NodeContext<T>>,
    partition: u32,
) -> Result<Option<Opened<T>>, ClusterError> {
    let directory = context.directory_of(partition);
    // This must be read before the log, which may grow meanwhile.
    let published_end = published_end(&*context.transport, partition).await;
    let own = own_copy(context, partition).await.filter(|(log, ..)| log.seen() >= published_end);
    if let Some((log, snapshot, whole)) = own {
        let behind = log.end - whole;
        tracing::info!(partition, whole, behind, "begins with this machine's own copy");
        match open_from(context, partition, log, snapshot, whole).await {
            Ok(Opening::Opened(opened)) => return Ok(Some(*opened)),
            Ok(Opening::Fenced) => return Ok(None),
            Ok(Opening::Torn) => tracing::warn!(partition, "this machine's own copy is not whole"),
            Err(error) => tracing::warn!(partition, %error, "this machine's own copy cannot be opened"),
        }
    }
    if directory.exists() {
        // These are the files of an earlier owner. Only the log counts.
        fs::remove_dir_all(&directory).map_err(ClusterError::storing("a partition"))?;
    }
    let (log, snapshot) = restore_to(&*context.transport, partition, &directory.join(FRONTIER), published_end).await?;
    if snapshot.bytes > 0 {
        let behind = log.end - snapshot.end;
        tracing::info!(partition, bytes = snapshot.bytes, behind, "begins with a snapshot, and the log after it");
    }
    match open_from(context, partition, log, snapshot, 0).await? {
        Opening::Opened(opened) => Ok(Some(*opened)),
        Opening::Fenced | Opening::Torn => Ok(None),
    }
}

/// The last message of the log when the partition's owner last published its state; 0 if none did.
async fn published_end<T: ClusterTransport>(transport: &T, partition: u32) -> u64 {
    let mut backoff = Backoff::new();
    loop {
        if let Ok(last) = transport.last(&ClusterSubject::Key(ClusterKey::State(partition))).await {
            return last.and_then(|last| read_value::<StateValue>(&last.bytes)).map_or(0, |state| state.journal);
        }
        backoff.rest(transport).await;
    }
}

/// Restores a partition from the servers, at least up to `published_end`. Retries, since a server that has just become the leader may not have
/// all of the log yet.
///
/// # Errors
/// If the log is damaged, or the servers keep answering that it ends before `published_end`.
async fn restore_to<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    frontier: &Path,
    published_end: u64,
) -> Result<(LogState, SnapshotValue), ClusterError> {
    let mut backoff = Backoff::new();
    let mut seen = 0;
    for _ in 0..ANSWERS {
        let (log, snapshot) = restore(transport, partition, Some(frontier)).await?;
        seen = log.seen();
        if seen >= published_end {
            return Ok((log, snapshot));
        }
        backoff.rest(transport).await;
    }
    Err(ClusterError::Log(format!("partition {partition}: it had message {published_end}, and ends at {seen}")))
}

/// The local copy of a partition, completed with the later messages of the log; the partition's newest snapshot; and the position up to which
/// the local journal must be whole. `None` if there is no usable copy.
async fn own_copy<T: ClusterTransport>(
    context: &NodeContext<T>,
    partition: u32,
) -> Option<(LogState, SnapshotValue, u64)> {
    let (directory, job) = (context.directory_of(partition), context.job_of(partition));
    let frontier = directory.join(FRONTIER);
    let mut log = spawn_blocking(move || take_copy(&directory, job)).await.ok()??;
    let (mut files, whole) = (JournalFiles::open(&frontier).ok()?, log.end);
    log.read_on(&*context.transport, partition, |piece| files.keep(piece)).await.ok()?;
    Some((log, newest(&*context.transport, partition).await, whole))
}

/// Begins an epoch after the last message that was read, and opens the crawl over the existing files. Their journal should be complete up to
/// `whole`. After that, the log may end within a record.
async fn open_from<T: ClusterTransport>(
    context: &Arc<NodeContext<T>>,
    partition: u32,
    log: LogState,
    snapshot: SnapshotValue,
    whole: u64,
) -> Result<Opening<T>, ClusterError> {
    let token = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), partition);
    let began = log.begin(Arc::clone(&context.transport), partition, &context.node, token).await;
    let Ok(tenure) = began else { return Ok(Opening::Fenced) };
    let wake = Arc::new(Notify::new());
    let pieces = Arc::new(JournalPieces::new(log.read, Arc::clone(&wake)));
    let has_roots = has_roots(context.options.frontier.scope.kind);
    let backlog = Arc::new(Backlog::new(&context.backlog));
    let outbox = Arc::new(Outbox {
        partition,
        partitions: context.partitions,
        lease: Arc::clone(&context.lease),
        epoch: tenure.log().epoch,
        records: AtomicU64::new(log.end),
        has_roots,
        outbound: Arc::clone(&context.outbound),
        shipment: AtomicU64::new(0),
        wake: Arc::clone(&wake),
        backlog: Arc::clone(&backlog),
    });
    let (applied, dropped) = context.drops.newest();
    let crawl = {
        let (context, log, pieces, outbox) =
            (Arc::clone(context), log.clone(), Arc::clone(&pieces), Arc::clone(&outbox));
        let opening = move || open_crawl(&context, partition, &log, (whole, dropped), &pieces, outbox);
        spawn_blocking(opening).await.map_err(panicked)??
    };
    let Some(crawl) = crawl else { return Ok(Opening::Torn) };
    add_seeds(&crawl, &context.roots, &context.partitions, partition, log.epoch == 0, has_roots)?;
    let (handle, stop) = (crawl.handle(), crawl.stop());
    let throttle = Arc::new(FetchThrottle::new(stop, !context.lease.may_ask()));
    let drops = Arc::new(PartDrops::new(handle.clone(), applied));
    let canonicalizer = crawl.gate().canonicalizer().clone();
    let unread = Arc::new(AtomicU64::new(0));
    let publisher = Publisher {
        context: Arc::clone(context),
        partition,
        tenure,
        pieces: Arc::clone(&pieces),
        outbox,
        handle: handle.clone(),
        observer: crawl.observer(),
        throttle: Arc::clone(&throttle),
        drops: Arc::clone(&drops),
        backlog,
        wake,
        unread: Arc::clone(&unread),
        progress: PublishProgress::from(log.read),
        snapshots: SnapshotMaker::new(snapshot, token),
    };
    let transport = Arc::clone(&context.transport);
    let inbox = Inbox { transport, partition, handle: handle.clone(), pieces, canonicalizer, unread };
    let parts = OpenPart { handle, throttle, drops, watch: Box::new(crawl.watch()) };
    Ok(Opening::Opened(Box::new(Opened { crawl, parts, publisher, inbox })))
}

/// Opens the crawl over the rebuilt journal, and adds everything after the end of the log to `pieces`, to be published. `None` if the journal
/// ends before `whole`. `dropped` are the drop rules.
fn open_crawl<T: ClusterTransport>(
    context: &NodeContext<T>,
    partition: u32,
    log: &LogState,
    (whole, dropped): (u64, Vec<DropRule>),
    pieces: &Arc<JournalPieces>,
    outbox: Arc<Outbox>,
) -> Result<Option<Crawl<JobJournal>>, ClusterError> {
    let job = Job::adopt(&context.directory_of(partition), context.job_of(partition), context.partitions.key)?;
    let (carried, refused) = before(&log.counts);
    let part = CrawlPart {
        resources: &context.resources,
        clock: context.clock(),
        remote: outbox,
        observer: Arc::clone(pieces) as Arc<dyn crate::driver::JournalObserver>,
        carried: &carried,
        refused: &refused,
        outputs: &context.outputs,
        logs_all: context.logs_all,
    };
    let mut options = context.options.clone();
    options.frontier.scope.dropped = dropped;
    let (crawl, cut) = Crawl::open_part(&options, &job, part)?;
    // A torn end was cut off. The log has it, and this owner's first piece replaces it.
    let kept = cut.and_then(|cut| {
        let name = cut.path.file_name()?.to_str()?.strip_prefix("journal-")?.to_owned();
        Some(u64::from_str_radix(&name, 16).ok()? + cut.offset)
    });
    if kept.is_some_and(|kept| kept < whole) {
        return Ok(None);
    }
    let from = kept.map_or(log.end, |kept| kept.min(log.end));
    let files = job.frontier_directory();
    pieces.add_files(&files, from).map_err(ClusterError::storing("the journal of a partition"))?;
    Ok(Some(crawl))
}

/// Adds a partition's own seeds. If seeds define the scope, all other seeds widen the crawl's scope.
fn add_seeds(
    crawl: &Crawl<JobJournal>,
    roots: &RootList,
    partitions: &Partitions,
    partition: u32,
    is_first: bool,
    has_roots: bool,
) -> Result<(), CrawlError> {
    let (mut taken, mut refused) = (0, 0);
    for found in roots.from(0) {
        if found.via == Via::Seed && partitions.of(&found.url) == partition {
            // Adding a seed again costs a lookup, and is not counted.
            let refusal = if is_first { crawl.seed(found.url)? } else { crawl.seed_again(found.url)? };
            match refusal {
                None => taken += 1,
                Some(crate::gate::Refusal::Seen) => {}
                Some(refusal) => {
                    tracing::warn!(partition, %refusal, "a seed is refused");
                    refused += u64::from(is_first);
                }
            }
        } else if has_roots {
            widen(crawl, &found);
        }
    }
    crawl.count_seeds(taken, refused);
    crawl.sync()
}

/// Widens the scope by another partition's seed.
fn widen(crawl: &Crawl<JobJournal>, found: &Found) {
    let _ = crawl.gate().check(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::in_process::InProcess;
    use crate::cluster::wire::value_to_bytes;

    #[tokio::test(start_paused = true)]
    async fn a_log_that_ends_before_what_was_said_of_it_is_not_begun_anew() {
        let (transport, directory) = (InProcess::new(1, 0), tempfile::tempdir().unwrap());
        let frontier = directory.path().join(FRONTIER);
        assert_eq!(published_end(&*transport, 3).await, 0);
        let (log, _) = restore_to(&*transport, 3, &frontier, 0).await.unwrap();
        assert_eq!(log.seen(), 0);
        let state = value_to_bytes(&StateValue { journal: 7, ..StateValue::default() });
        transport.publish(&ClusterSubject::Key(ClusterKey::State(3)), state, None, None).await.unwrap();
        let published_end = published_end(&*transport, 3).await;
        let error = restore_to(&*transport, 3, &frontier, published_end).await.unwrap_err().to_string();
        assert!(error.ends_with("partition 3: it had message 7, and ends at 0"), "{error}");
    }
}
