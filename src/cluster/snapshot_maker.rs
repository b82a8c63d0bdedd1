//! When a snapshot of a partition is made, alongside all else that its owner does.

use std::error::Error;
use std::sync::Arc;

use tokio::task::{JoinSet, spawn_blocking};

use super::snapshot;
use super::succession::LogState;
use super::transport::ClusterTransport;
use super::values::SnapshotValue;
use crate::crawl::PartitionHandle;
use crate::gate::Position;

/// A log that is shorter than this is read in a moment. Each time it has grown by as much again, we check whether a snapshot would be worth
/// it: a check opens a few files, once in some thousand pages.
const LEAST: u64 = 256 << 10;
/// A snapshot may have at most this many times the bytes that the log has grown by.
const SHARE: u64 = 2;

/// Makes a snapshot of a partition when it is smaller than [twice](SHARE) what the log has grown by since the last one. So all snapshots
/// together take at most twice the bytes of the log. The more of the found URLs are done, the fewer bytes of the journal a snapshot needs,
/// and the more often one is made; while most of them wait, the log is hardly larger than a snapshot.
#[derive(Debug)]
pub(crate) struct SnapshotMaker {
    last: SnapshotValue,
    /// Drawn by the partition's owner.
    token: u64,
    /// Where the journal ended at the checkpoint that was checked last.
    checkpoint: Position,
    /// Where the log ended at the last check.
    looked: u64,
    /// The snapshot that is being made.
    making: JoinSet<Looked>,
}

/// The result of a check: where the journal ended at the newest checkpoint, and its snapshot, if one was made.
type Looked = (Position, Option<SnapshotValue>);

impl SnapshotMaker {
    /// For a partition that was restored from this snapshot, or from none.
    pub(crate) fn new(last: SnapshotValue, token: u64) -> Self {
        Self { last, token, checkpoint: Position::default(), looked: 0, making: JoinSet::new() }
    }

    /// Begins a snapshot, if the log has grown enough for one. Returns at once.
    pub(crate) fn look<T: ClusterTransport>(
        &mut self,
        transport: &Arc<T>,
        partition: u32,
        fold: &LogState,
        inlet: &PartitionHandle,
    ) {
        if let Some(Ok((checkpoint, made))) = self.making.try_join_next() {
            (self.checkpoint, self.last) = (checkpoint, made.unwrap_or(self.last));
        }
        let grown = fold.end.saturating_sub(self.last.end);
        if grown < LEAST || fold.end.saturating_sub(self.looked) < LEAST || !self.making.is_empty() {
            return;
        }
        self.looked = fold.end;
        let (transport, fold, inlet, before) = (Arc::clone(transport), fold.clone(), inlet.clone(), self.checkpoint);
        // Each position in the log has its own token.
        let token = self.token.wrapping_add(fold.last());
        self.making
            .spawn(async move { make(&*transport, partition, &fold, inlet, SHARE * grown, before, token).await });
    }
}

/// Makes a snapshot of the newest checkpoint, if that is newer than `before`, the log has come as far, and the snapshot takes less than
/// `most` bytes.
async fn make<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    fold: &LogState,
    inlet: PartitionHandle,
    most: u64,
    before: Position,
    token: u64,
) -> Looked {
    let end = Position::from_u64(fold.end);
    let failed = |error: &dyn Error| tracing::warn!(partition, %error, "no snapshot can be made");
    let copies = match spawn_blocking(move || inlet.copies(end)).await {
        Ok(Ok(copies)) => copies.filter(|(checkpoint, _)| *checkpoint > before),
        Ok(Err(error)) => {
            failed(&error);
            None
        }
        Err(_) => None,
    };
    let Some((checkpoint, files)) = copies else { return (before, None) };
    if files.iter().map(|file| file.length).sum::<u64>() >= most {
        return (checkpoint, None);
    }
    let made = snapshot::write(transport, partition, fold, files, token).await;
    let made = made.inspect_err(|error| failed(error)).ok().flatten();
    if let Some(SnapshotValue { bytes, last, .. }) = made {
        tracing::info!(partition, bytes, last, "a snapshot was made");
    }
    (checkpoint, made)
}
