//! Snapshots: a partition's files at one position of its log, so that a new owner reads only the end of the log.
//!
//! A snapshot has the files of a checkpoint, and the journal that the checkpoint needs, up to a position of the log. It goes to the subject
//! `snapshot.P` in numbered messages. Once the servers have them all, a message to `named.P` names the snapshot. Two snapshots are kept, and
//! the messages of the log and link batches before the older one are purged. If the newer snapshot cannot be read, the older one is used, and
//! more of the log is read.
//!
//! All named snapshots are considered, and the two that are furthest in the log are used. So a name that arrives late, after a newer one, does
//! no harm. If the name were the value of a key, a late name would replace the newer one, although its own snapshot had been purged.
//!
//! A snapshot needs no fencing: it is made only of messages that count, so it is correct even if an overtaken owner has made it.
//!
//! ```text
//! message:  0  version   u8
//!           1  token     u64, drawn for the snapshot
//!           9  number    u32, counts its messages from 0
//!          13  rest: in message 0 the head; in the others the bytes of the files, one after the other
//!              checksum  u32, of all before; little-endian, as all numbers
//!
//! head:     the state of the log there; then for each file its length, u64, the length of its name, u16, and its name
//! ```
//!
//! [`SnapshotMaker`] decides when a snapshot is made. The partition's owner continues to work meanwhile.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use tokio::task::{JoinSet, spawn_blocking};

use super::error::ClusterError;
use super::journal::JournalFiles;
use super::succession::{LogState, SuccessionError};
use super::transport::{Backoff, ClusterSubject, ClusterTransport};
use super::wire::{SnapshotValue, read_value, seal, unseal, value_to_bytes};
use crate::crawl::PartitionHandle;
use crate::driver::{Fields, FileCopy};
use crate::gate::Position;

const VERSION: u8 = 2;
/// One message has at most this many bytes of files.
const MOST: usize = 512 << 10;
/// This many snapshots are kept.
const KEPT: usize = 2;
/// How often a failed read is tried: an answer may be out of date.
const LOOKS: u32 = 8;

/// Why a snapshot cannot be used.
#[derive(Debug, thiserror::Error)]
enum SnapshotError {
    #[error("{0}")]
    Damaged(&'static str),
    #[error(transparent)]
    Storage(#[from] io::Error),
}

/// One message of a snapshot.
fn message(token: u64, number: u32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rest.len() + 32);
    bytes.push(VERSION);
    bytes.extend(token.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend_from_slice(rest);
    seal(&mut bytes);
    bytes
}

/// The content of message `number` of a snapshot; `None` if this is an earlier message, or another snapshot's.
fn rest(bytes: &[u8], token: u64, number: u32) -> Result<Option<&[u8]>, &'static str> {
    let mut fields = Fields::of(unseal(bytes)?);
    if fields.u8()? != VERSION {
        return Err("of a version that is not known here");
    }
    if fields.u64()? != token {
        return Ok(None);
    }
    match fields.u32()? {
        found if found < number => Ok(None),
        found if found == number => Ok(Some(fields.bytes())),
        _ => Err("a message is missing"),
    }
}

/// Sends a snapshot of a partition, names it, and purges messages that are no longer needed. Retries without end while no answer comes.
/// `None` if another owner has made a snapshot that is further in the log.
///
/// # Errors
/// If the files cannot be read.
pub(super) async fn write<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    log: &LogState,
    files: Vec<FileCopy>,
    token: u64,
) -> io::Result<Option<SnapshotValue>> {
    let subject = ClusterSubject::Snapshot(partition);
    let behind = last(transport, &subject).await.map_or(0, |(sequence, _)| sequence);
    let bytes = files.iter().map(|file| file.length).sum();
    let mut head = Vec::new();
    log.put(&mut head);
    for file in &files {
        head.extend(file.length.to_le_bytes());
        head.extend(u16::try_from(file.name.len()).expect("a short name").to_le_bytes());
        head.extend_from_slice(file.name.as_bytes());
    }
    send(transport, &subject, message(token, 0, &head)).await;
    let mut all: Box<dyn Read + Send> = Box::new(io::empty());
    for FileCopy { file, length, .. } in files {
        all = Box::new(all.chain(file.take(length)));
    }
    let (mut number, mut left) = (0, bytes);
    while left > 0 {
        let reading = spawn_blocking(move || {
            let mut part = Vec::with_capacity(MOST);
            (&mut all).take(MOST as u64).read_to_end(&mut part).map(|_| (part, all))
        });
        let part;
        (part, all) = reading.await.map_err(io::Error::other)??;
        if part.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a file of the checkpoint has become shorter"));
        }
        number += 1;
        left -= part.len() as u64;
        send(transport, &subject, message(token, number, &part)).await;
    }
    let made = SnapshotValue { token, behind, last: log.last(), end: log.end, read: log.read, bytes };
    Ok(name(transport, partition, made).await)
}

/// Names a complete snapshot, and purges everything before the previous snapshot. `None` if a snapshot that is further in the log is already
/// named.
async fn name<T: ClusterTransport>(transport: &T, partition: u32, made: SnapshotValue) -> Option<SnapshotValue> {
    let known = named(transport, partition).await;
    if known.first().is_some_and(|(_, newest)| newest.last >= made.last) {
        return None;
    }
    let names = ClusterSubject::Named(partition);
    send(transport, &names, value_to_bytes(&made)).await;
    // Together with the snapshot that was just named, these are the snapshots to keep.
    if let Some((at, oldest)) = known.get(KEPT - 2) {
        // The message at the position itself stays: it shows that the log is not shorter. If something cannot be purged now, the next snapshot
        // purges it.
        for (subject, before) in [
            (ClusterSubject::Journal(partition), oldest.last),
            (ClusterSubject::Found(partition), oldest.read),
            (ClusterSubject::Snapshot(partition), oldest.behind + 1),
            (names, *at),
        ] {
            if let Err(error) = transport.purge(&subject, before).await {
                tracing::debug!(%subject, %error, "messages that are not needed cannot be purged now");
            }
        }
    }
    Some(made)
}

/// The usable snapshots of a partition, the furthest in the log first, each with the sequence of the message that names it.
async fn named<T: ClusterTransport>(transport: &T, partition: u32) -> Vec<(u64, SnapshotValue)> {
    let subject = ClusterSubject::Named(partition);
    let (mut backoff, mut seen, mut named) = (Backoff::new(), 0, Vec::<(u64, SnapshotValue)>::new());
    let end = last(transport, &subject).await.map_or(0, |(sequence, _)| sequence);
    while seen < end {
        let Ok(Some(message)) = transport.next(&subject, seen).await else {
            backoff.rest(transport).await;
            continue;
        };
        seen = message.sequence;
        let value = read_value::<SnapshotValue>(&message.bytes);
        // A name that was sent twice counts once.
        named.extend(value.filter(|value| named.iter().all(|(_, other)| other != value)).map(|value| (seen, value)));
    }
    named.sort_by_key(|(_, snapshot)| Reverse(snapshot.last));
    named.truncate(KEPT);
    named
}

/// The furthest snapshot of a partition; an empty one if there is none.
pub(super) async fn newest<T: ClusterTransport>(transport: &T, partition: u32) -> SnapshotValue {
    named(transport, partition).await.first().map(|(_, snapshot)| *snapshot).unwrap_or_default()
}

/// The last message of a subject. Retries without end while no answer comes.
async fn last<T: ClusterTransport>(transport: &T, subject: &ClusterSubject) -> Option<(u64, Vec<u8>)> {
    let mut backoff = Backoff::new();
    loop {
        if let Ok(last) = transport.last(subject).await {
            return last.map(|last| (last.sequence, last.bytes));
        }
        backoff.rest(transport).await;
    }
}

async fn send<T: ClusterTransport>(transport: &T, subject: &ClusterSubject, bytes: Vec<u8>) {
    let mut backoff = Backoff::new();
    while transport.publish(subject, bytes.clone(), None, None).await.is_err() {
        backoff.rest(transport).await;
    }
}

/// The current state of a partition's log, from its newest usable snapshot and the log after it. If a directory is given, it is emptied, and
/// the files are rebuilt there. Also returns the snapshot; an empty one if the log was read from its beginning.
///
/// # Errors
/// If the log is damaged, or neither a snapshot nor the log's beginning can be read; if the files cannot be kept.
pub(super) async fn restore<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    directory: Option<&Path>,
) -> Result<(LogState, SnapshotValue), ClusterError> {
    let (mut backoff, mut looks, mut why) = (Backoff::new(), 0, String::new());
    while looks < LOOKS {
        let named = named(transport, partition).await;
        // As long as nothing was purged, the whole log can be read instead.
        let whole = (named.len() < KEPT).then(SnapshotValue::default);
        for snapshot in named.into_iter().map(|(_, snapshot)| snapshot).chain(whole) {
            if let Some(directory) = directory {
                let emptied = fs::remove_dir_all(directory).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                });
                emptied.and_then(|()| fs::create_dir_all(directory)).map_err(ClusterError::storing("a partition"))?;
            }
            let read = if snapshot == SnapshotValue::default() {
                Ok(LogState::default())
            } else {
                read(transport, partition, snapshot, directory).await
            };
            let mut log = match read {
                Ok(log) => log,
                Err(SnapshotError::Storage(source)) => return Err(ClusterError::storing("a partition")(source)),
                Err(SnapshotError::Damaged(reason)) => {
                    tracing::warn!(partition, last = snapshot.last, reason, "a snapshot cannot be read");
                    reason.clone_into(&mut why);
                    continue;
                }
            };
            let mut files =
                directory.map(JournalFiles::open).transpose().map_err(ClusterError::storing("a partition"))?;
            let keep = |piece: &_| files.as_mut().map_or(Ok(()), |files| files.keep(piece));
            match log.read_on(transport, partition, keep).await {
                Ok(()) => return Ok((log, snapshot)),
                Err(error @ SuccessionError::Purged(_)) => why = error.to_string(),
                Err(error) => return Err(error.into()),
            }
        }
        backoff.rest(transport).await;
        looks += 1;
    }
    Err(ClusterError::Log(format!("partition {partition}: no snapshot serves, and the log is not whole: {why}")))
}

/// Reads a snapshot: its head and, if a directory is given, its files.
async fn read<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    snapshot: SnapshotValue,
    directory: Option<&Path>,
) -> Result<LogState, SnapshotError> {
    let (mut seen, mut number) = (snapshot.behind, 0);
    let head = next(transport, partition, snapshot.token, &mut seen, &mut number).await?;
    let mut fields = Fields::of(&head);
    let log = LogState::take_off(&mut fields).map_err(SnapshotError::Damaged)?;
    let Some(directory) = directory else { return Ok(log) };
    let mut part: Vec<u8> = Vec::new();
    while fields.end().is_err() {
        let (mut left, name) = file_of(&mut fields).map_err(SnapshotError::Damaged)?;
        let mut file = File::create_new(directory.join(name))?;
        while left > 0 {
            if part.is_empty() {
                part = next(transport, partition, snapshot.token, &mut seen, &mut number).await?;
            }
            let rest = part.split_off(usize::try_from(left).unwrap_or(usize::MAX).min(part.len()));
            file.write_all(&part)?;
            left -= part.len() as u64;
            part = rest;
        }
    }
    Ok(log)
}

/// The length and the name of the next file in a head.
fn file_of<'a>(fields: &mut Fields<'a>) -> Result<(u64, &'a str), &'static str> {
    let (length, name) = (fields.u64()?, fields.u16()?);
    let name = fields.text(name.into())?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_name { Ok((length, name)) } else { Err("a file with another's name") }
}

/// The content of the next message of a snapshot.
async fn next<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    token: u64,
    seen: &mut u64,
    number: &mut u32,
) -> Result<Vec<u8>, SnapshotError> {
    let subject = ClusterSubject::Snapshot(partition);
    let (mut backoff, mut looks) = (Backoff::new(), 0);
    while looks < LOOKS {
        match transport.next(&subject, *seen).await {
            Ok(Some(message)) => {
                *seen = message.sequence;
                if let Some(rest) = rest(&message.bytes, token, *number).map_err(SnapshotError::Damaged)? {
                    *number += 1;
                    return Ok(rest.to_vec());
                }
                continue;
            }
            Ok(None) => looks += 1,
            Err(_) => {}
        }
        backoff.rest(transport).await;
    }
    Err(SnapshotError::Damaged("it is not whole"))
}

/// A shorter log is read quickly, and needs no snapshot. Each time the log has grown by this many bytes, we check whether a snapshot is
/// worthwhile: a check opens a few files, once in some thousand pages.
const LEAST: u64 = 256 << 10;
/// A snapshot may have at most this many times the bytes by which the log has grown.
const SHARE: u64 = 2;

/// Makes a snapshot of a partition if it takes fewer bytes than [twice](SHARE) the growth of the log since the last snapshot. So all snapshots
/// together take at most twice the bytes of the log. The more of the found URLs are done, the fewer bytes of the journal a snapshot needs, and
/// the more often a snapshot is made. While most of the URLs wait, the log is hardly larger than a snapshot.
#[derive(Debug)]
pub(crate) struct SnapshotMaker {
    last: SnapshotValue,
    /// Drawn by the partition's owner.
    token: u64,
    /// The end of the journal at the checkpoint that was checked last.
    checkpoint: Position,
    /// The end of the log at the last check.
    looked: u64,
    /// The snapshot that is being made.
    making: JoinSet<Looked>,
}

/// The result of a check: the end of the journal at the newest checkpoint, and the snapshot, if one was made.
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
        log: &LogState,
        handle: &PartitionHandle,
    ) {
        if let Some(Ok((checkpoint, made))) = self.making.try_join_next() {
            (self.checkpoint, self.last) = (checkpoint, made.unwrap_or(self.last));
        }
        let grown = log.end.saturating_sub(self.last.end);
        if grown < LEAST || log.end.saturating_sub(self.looked) < LEAST || !self.making.is_empty() {
            return;
        }
        self.looked = log.end;
        let (transport, log, handle, before) = (Arc::clone(transport), log.clone(), handle.clone(), self.checkpoint);
        // Each position in the log has its own token.
        let token = self.token.wrapping_add(log.last());
        self.making
            .spawn(async move { make(&*transport, partition, &log, handle, SHARE * grown, before, token).await });
    }
}

/// Makes a snapshot of the newest checkpoint, if that is later than `before`, the log reaches that far, and the snapshot takes fewer than
/// `most` bytes.
async fn make<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    log: &LogState,
    handle: PartitionHandle,
    most: u64,
    before: Position,
    token: u64,
) -> Looked {
    let end = Position::from_u64(log.end);
    let failed = |error: &dyn Error| tracing::warn!(partition, %error, "no snapshot can be made");
    let copies = match spawn_blocking(move || handle.copies(end)).await {
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
    let made = write(transport, partition, log, files, token).await;
    let made = made.inspect_err(|error| failed(error)).ok().flatten();
    if let Some(SnapshotValue { bytes, last, .. }) = made {
        tracing::info!(partition, bytes, last, "a snapshot was made");
    }
    (checkpoint, made)
}
