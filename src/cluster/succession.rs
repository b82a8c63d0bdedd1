//! The owners of a partition, one after the other: what each reads of the log, and what keeps another from writing to it.
//!
//! All that changes a partition is in its log. Each message names the one that it follows. Of those that follow the same one, the first in
//! the log counts, and the others are void, with all that follows them. So all who read the log agree on what counts, and as soon as a
//! new owner's epoch counts, nothing does that an older one writes, whatever that one believes.
//!
//! The servers are asked to keep a message only where nothing came since. Mostly they refuse what would be void. But not always: of two
//! messages that are on their way at once, a cluster of version 2.9 may keep both. And an answer may be lost, so that a message is sent
//! again and is there twice. So whoever writes looks afterwards which message follows the last one that counts: where it is its own, all
//! is well, and where it is not, another owner has begun. Mostly it need not ask for that: the servers tell of each message when they
//! keep it, and behind which one of its log it stands. Where that is the last one that was read, nothing came between. Where it is
//! another, or nothing is told, the log is read. To trust the answer alone would not do: both of two such messages are acknowledged.
//!
//! The beginning of a log may be purged, behind a [snapshot](super::snapshot). Who reads on then meets a message that follows one which is
//! gone. Such a message is no void one: whoever meets it does not know all that counts, and begins again with the snapshot.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use super::entry::{EntryKind, JournalPiece, LogEntry};
use super::subject::ClusterSubject;
use super::transport::{Arrivals, Backoff, ClusterTransport, FIRST_REST, Message, Unreachable};
use crate::bytes::Fields;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuccessionError {
    /// A message is not one that an owner can have written there.
    #[error("{subject}, message {sequence}: {reason}")]
    Damaged { subject: ClusterSubject, sequence: u64, reason: &'static str },
    /// Messages are gone that were not read: they were purged.
    #[error("{0}: its beginning was purged")]
    Purged(ClusterSubject),
    /// What it says cannot be kept here.
    #[error(transparent)]
    Storage(#[from] io::Error),
}

/// Another owner has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fenced;

/// Which messages of a log count, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chain {
    /// The last message that counts; 0 where there is none.
    last: u64,
    /// The last message that was read.
    seen: u64,
    /// Those behind the last one that counts which are void. So is what follows them.
    void: BTreeSet<u64>,
}

/// What a message is to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// It follows the last one that counts.
    Next,
    /// It does not count.
    Void,
    /// It follows one that was not read, and is gone.
    Purged,
}

impl Chain {
    /// The log up to a message that counts.
    fn up_to(last: u64) -> Self {
        Self { last, seen: last, void: BTreeSet::new() }
    }

    /// Takes the next message, and which one it follows. What cannot be read follows none.
    fn read(&mut self, sequence: u64, behind: Option<u64>) -> Link {
        self.seen = sequence;
        match behind {
            Some(behind) if behind == self.last => {
                self.last = sequence;
                // What follows one of these follows one before the last that counts.
                self.void.clear();
                Link::Next
            }
            Some(behind) if behind > self.last && !self.void.contains(&behind) => Link::Purged,
            _ => {
                self.void.insert(sequence);
                Link::Void
            }
        }
    }
}

/// What the log of a partition says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogState {
    chain: Chain,
    /// How many owners there were.
    pub(crate) epoch: u64,
    /// The last owner's.
    token: u64,
    /// Where the journal ends.
    pub(crate) end: u64,
    /// The journal has what link batches up to here brought.
    pub(crate) read: u64,
    /// What was counted.
    pub(crate) counts: Vec<u8>,
    /// The last owner has ended in good order.
    pub(crate) is_released: bool,
    /// It has not journaled anything yet. What it begins with may replace a torn end of the journal.
    is_fresh: bool,
}

impl LogState {
    /// The last message that was read, whether it counts or not.
    pub(crate) fn seen(&self) -> u64 {
        self.chain.seen
    }

    /// The last message that counts; 0 where there is none.
    pub(crate) fn last(&self) -> u64 {
        self.chain.last
    }

    /// As bytes, for a snapshot. What is void is not kept.
    ///
    /// ```text
    /// last, epoch, token, end, read   u64 each, little-endian
    /// flags                           u8: bit 0 released, bit 1 fresh
    /// counts                          u32 length, bytes
    /// ```
    pub(super) fn put(&self, to: &mut Vec<u8>) {
        for number in [self.chain.last, self.epoch, self.token, self.end, self.read] {
            to.extend(number.to_le_bytes());
        }
        to.push(u8::from(self.is_released) | u8::from(self.is_fresh) << 1);
        to.extend(u32::try_from(self.counts.len()).expect("a message").to_le_bytes());
        to.extend_from_slice(&self.counts);
    }

    /// Reads it from the front of these fields.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn take_off(fields: &mut Fields<'_>) -> Result<Self, &'static str> {
        let chain = Chain::up_to(fields.u64()?);
        let (epoch, token, end, read) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?);
        let flags = fields.u8()?;
        let length = usize::try_from(fields.u32()?).unwrap_or(usize::MAX);
        let counts = fields.part(length)?.bytes().to_vec();
        Ok(Self { chain, epoch, token, end, read, counts, is_released: flags & 1 > 0, is_fresh: flags & 2 > 0 })
    }

    /// Takes the next message. Pieces of the journal go to `keep`.
    fn take(
        &mut self,
        subject: &ClusterSubject,
        message: &Message,
        keep: &mut impl FnMut(&JournalPiece) -> io::Result<()>,
    ) -> Result<(), SuccessionError> {
        let damaged =
            |reason| SuccessionError::Damaged { subject: subject.clone(), sequence: message.sequence, reason };
        let LogEntry { token, behind, what, .. } = LogEntry::read(&message.bytes).map_err(damaged)?;
        match self.chain.read(message.sequence, Some(behind)) {
            Link::Next => {}
            Link::Void => return Ok(()),
            Link::Purged => return Err(SuccessionError::Purged(subject.clone())),
        }
        if !matches!(what, EntryKind::Epoch { .. }) && token != self.token {
            return Err(damaged("of an owner that was overtaken"));
        }
        self.apply(token, &what).map_err(damaged)?;
        if let EntryKind::Journal(piece) = &what {
            keep(piece)?;
        }
        Ok(())
    }

    /// What a message that counts changes.
    ///
    /// # Errors
    /// Why no owner can have written it.
    fn apply(&mut self, token: u64, what: &EntryKind) -> Result<(), &'static str> {
        match what {
            EntryKind::Epoch { number, .. } if *number == self.epoch + 1 => {
                (self.epoch, self.token, self.is_released, self.is_fresh) = (*number, token, false, true);
            }
            EntryKind::Epoch { .. } => return Err("an epoch that is not the next"),
            EntryKind::Journal(piece) => {
                if piece.at > self.end || piece.at < self.end && !self.is_fresh {
                    return Err("a piece of the journal that is not the next");
                }
                self.is_fresh &= piece.bytes.is_empty();
                self.end = piece.at + piece.bytes.len() as u64;
                self.read = self.read.max(piece.read);
            }
            EntryKind::Counts(bytes) => self.counts.clone_from(bytes),
            EntryKind::Released => self.is_released = true,
        }
        Ok(())
    }

    /// Reads on to the end of the log, as it is now. What cannot be reached is tried again, without end.
    ///
    /// # Errors
    /// Where the log is damaged, or `keep` fails.
    pub(crate) async fn read_on<T: ClusterTransport>(
        &mut self,
        transport: &T,
        partition: u32,
        mut keep: impl FnMut(&JournalPiece) -> io::Result<()>,
    ) -> Result<(), SuccessionError> {
        let subject = ClusterSubject::Journal(partition);
        let mut backoff = Backoff::new();
        loop {
            match transport.next(&subject, self.chain.seen).await {
                Ok(Some(message)) => self.take(&subject, &message, &mut keep)?,
                Ok(None) => return Ok(()),
                Err(_) => backoff.rest(transport).await,
            }
        }
    }

    /// Begins to own the partition, behind all that was read. Without an answer it tries again, without end.
    ///
    /// # Errors
    /// Where more was written since.
    pub(crate) async fn begin<T: ClusterTransport>(
        &self,
        transport: Arc<T>,
        partition: u32,
        node: &str,
        token: u64,
    ) -> Result<Tenure<T>, Fenced> {
        let subject = ClusterSubject::Journal(partition);
        let arrivals = transport.arrivals(&subject).await.ok();
        let mut tenure = Tenure { transport, subject, arrivals, token, serial: 0, fold: self.clone() };
        tenure.append(EntryKind::Epoch { number: self.epoch + 1, node: node.to_owned() }).await?;
        Ok(tenure)
    }
}

/// The right to write to a partition's log, as long as nobody else has begun.
#[derive(Debug)]
pub(crate) struct Tenure<T: ClusterTransport> {
    transport: Arc<T>,
    subject: ClusterSubject,
    /// Tells of what is kept; `None` where it could not be asked to.
    arrivals: Option<Arrivals>,
    token: u64,
    serial: u64,
    /// What the log says, with all that this owner has written.
    fold: LogState,
}

impl<T: ClusterTransport> Tenure<T> {
    /// What the log says.
    pub(crate) fn fold(&self) -> &LogState {
        &self.fold
    }

    /// Appends to the log. Returns when no crash of a server can take it. Without an answer it tries again, without end.
    ///
    /// # Errors
    /// Where another owner has begun. Nothing more can be written.
    pub(crate) async fn append(&mut self, what: EntryKind) -> Result<(), Fenced> {
        let entry = LogEntry { token: self.token, serial: self.serial, behind: self.fold.last(), what };
        let bytes = entry.to_bytes();
        let mut backoff = Backoff::new();
        loop {
            let seen = self.fold.chain.seen;
            let published = self.transport.publish(&self.subject, bytes.clone(), Some(seen), None).await;
            // What was kept may not be to be read yet, and what was refused may be there already.
            while let Ok(found) = self.next(published.is_ok()).await {
                let Some(message) = found else {
                    if published.is_err() {
                        break;
                    }
                    backoff.rest(&*self.transport).await;
                    continue;
                };
                let is_own = message.bytes == bytes;
                let behind = if is_own { Some(entry.behind) } else { behind(&message) };
                match self.fold.chain.read(message.sequence, behind) {
                    Link::Next if is_own => {
                        self.serial += 1;
                        return self.fold.apply(self.token, &entry.what).map_err(|reason| {
                            tracing::error!(log = %self.subject, reason, "what was written to the log cannot be");
                            Fenced
                        });
                    }
                    Link::Void => {}
                    Link::Next | Link::Purged => return Err(Fenced),
                }
            }
            backoff.rest(&*self.transport).await;
        }
    }

    /// The first message behind all that was read. What was just kept is told; where it is not in time, or one between was not told of,
    /// the log is read.
    async fn next(&mut self, is_kept: bool) -> Result<Option<Message>, Unreachable> {
        let seen = self.fold.chain.seen;
        if let Some(arrivals) = self.arrivals.as_mut().filter(|_| is_kept) {
            let told = tokio::select! {
                biased;
                told = arrivals.next(seen) => told,
                () = self.transport.rest(FIRST_REST) => None,
            };
            if told.is_some() {
                return Ok(told);
            }
        }
        self.transport.next(&self.subject, seen).await
    }
}

/// The message that a message of a log follows.
fn behind(message: &Message) -> Option<u64> {
    Some(LogEntry::read(&message.bytes).ok()?.behind)
}

/// Whether a message is the last of a partition's log that counts, as the log is now.
///
/// # Errors
/// Where the servers do not answer.
pub(crate) async fn is_last<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    last: u64,
) -> Result<bool, Unreachable> {
    let (subject, mut chain) = (ClusterSubject::Journal(partition), Chain::up_to(last));
    while let Some(message) = transport.next(&subject, chain.seen).await? {
        if chain.read(message.sequence, behind(&message)) != Link::Void {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives a key a value behind another one, and returns its sequence. It must differ from all that others write.
pub(super) async fn append<T: ClusterTransport>(
    transport: &T,
    subject: &ClusterSubject,
    behind: u64,
    bytes: Vec<u8>,
) -> Result<u64, Fenced> {
    let mut backoff = Backoff::new();
    loop {
        let published = transport.publish(subject, bytes.clone(), Some(behind), None).await;
        // Of two that are on their way at once, both may be kept. The last one counts.
        while let Ok(found) = transport.next(subject, behind).await {
            match found {
                Some(message) if message.bytes == bytes => return Ok(message.sequence),
                Some(_) => return Err(Fenced),
                None if published.is_err() => break,
                None => backoff.rest(transport).await,
            }
        }
        backoff.rest(transport).await;
    }
}

#[cfg(test)]
mod tests;
