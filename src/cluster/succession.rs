//! The succession of a partition's owners. Each owner reads the log of the owners before it, and only one owner can write to it.
//!
//! Everything that changes a partition is in its log. Each message names the message that it follows. If several messages follow the same
//! message, the first of them in the log counts. The others are void, and so are all messages that follow void ones. So all readers of the log
//! agree on the messages that count. As soon as a new owner's epoch counts, no later message of an older owner counts, even if that owner does
//! not know it yet.
//!
//! The servers are asked to keep a message only if it follows the last one. So they mostly refuse a message that would be void, but not always:
//! if two messages are on their way at once, a cluster of version 2.9 may keep both. Also, an answer may be lost, and the message sent again,
//! so that it is there twice. So the writer checks afterwards which message follows the last one that counts. If it is the writer's own, all is
//! well. If not, another owner has begun. An acknowledgment is not enough to know this, since both of two such messages are acknowledged.
//!
//! The check mostly needs no read of the log. The servers announce each message that they keep, and name the message before it in its log. If
//! that is the last message that was read, no other message came between. Otherwise, or if nothing is announced, the log is read.
//!
//! The beginning of a log may be purged after a [snapshot](super::snapshot). Then a reader may find a message that follows a purged one. That
//! message is not void: the reader lacks messages that count, and begins again with the snapshot.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use super::transport::{Arrivals, Backoff, ClusterSubject, ClusterTransport, FIRST_REST, Message, Unreachable};
use super::wire::{EntryKind, JournalPiece, LogEntry};
use crate::driver::Fields;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuccessionError {
    /// No owner can have written this message there.
    #[error("{subject}, message {sequence}: {reason}")]
    Damaged { subject: ClusterSubject, sequence: u64, reason: &'static str },
    /// Messages that were not read yet were purged.
    #[error("{0}: its beginning was purged")]
    Purged(ClusterSubject),
    /// The journal in the log cannot be kept on this machine.
    #[error(transparent)]
    Storage(#[from] io::Error),
}

/// Another owner has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fenced;

/// Which messages of a log count, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chain {
    /// The last message that counts; 0 if there is none.
    last: u64,
    /// The last message that was read.
    seen: u64,
    /// Void messages after the last one that counts. Messages that follow them are void, too.
    void: BTreeSet<u64>,
}

/// How a message relates to the messages before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// It follows the last message that counts.
    Next,
    /// It does not count.
    Void,
    /// It follows a message that was not read, and is gone.
    Purged,
}

impl Chain {
    /// The chain up to a message that counts.
    fn up_to(last: u64) -> Self {
        Self { last, seen: last, void: BTreeSet::new() }
    }

    /// Takes the next message, and the sequence of the message that it follows. A message that cannot be parsed follows none.
    fn read(&mut self, sequence: u64, follows: Option<u64>) -> Link {
        self.seen = sequence;
        match follows {
            Some(follows) if follows == self.last => {
                self.last = sequence;
                // The listed messages come before the new last message. A message that follows one of them is void in any case.
                self.void.clear();
                Link::Next
            }
            Some(follows) if follows > self.last && !self.void.contains(&follows) => Link::Purged,
            _ => {
                self.void.insert(sequence);
                Link::Void
            }
        }
    }
}

/// The state of a partition, according to its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogState {
    chain: Chain,
    /// How many owners there were.
    pub(crate) epoch: u64,
    /// The last owner's token.
    token: u64,
    /// Where the journal ends.
    pub(crate) end: u64,
    /// The journal has the links of all link batches up to this one.
    pub(crate) read: u64,
    /// The last counts.
    pub(crate) counts: Vec<u8>,
    /// The last owner has ended in good order.
    pub(crate) is_released: bool,
    /// The last owner has not journaled anything yet. Its first piece may replace a torn end of the journal.
    is_fresh: bool,
}

impl LogState {
    /// The last message that was read, whether it counts or not.
    pub(crate) fn seen(&self) -> u64 {
        self.chain.seen
    }

    /// The last message that counts; 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.chain.last
    }

    /// Appends the state as bytes, for a snapshot. Void messages are not included.
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

    /// Reads the state from the front of these fields.
    ///
    /// # Errors
    /// Why it cannot be read.
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
        let LogEntry { token, follows, what, .. } = LogEntry::read(&message.bytes).map_err(damaged)?;
        match self.chain.read(message.sequence, Some(follows)) {
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

    /// Applies a message that counts.
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

    /// Reads on to the end of the log, as it is now. Retries without end while the servers cannot be reached.
    ///
    /// # Errors
    /// If the log is damaged, or `keep` fails.
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

    /// Begins to own the partition, with a message that follows the last one that was read. Retries without end while no answer comes.
    ///
    /// # Errors
    /// If another message was written since.
    pub(crate) async fn begin<T: ClusterTransport>(
        &self,
        transport: Arc<T>,
        partition: u32,
        node: &str,
        token: u64,
    ) -> Result<Tenure<T>, Fenced> {
        let subject = ClusterSubject::Journal(partition);
        let arrivals = transport.arrivals(&subject).await.ok();
        let mut tenure = Tenure { transport, subject, arrivals, token, serial: 0, log: self.clone() };
        tenure.append(EntryKind::Epoch { number: self.epoch + 1, node: node.to_owned() }).await?;
        Ok(tenure)
    }
}

/// The right to write to a partition's log, until another owner begins.
#[derive(Debug)]
pub(crate) struct Tenure<T: ClusterTransport> {
    transport: Arc<T>,
    subject: ClusterSubject,
    /// Announces messages that are kept; `None` if we could not subscribe.
    arrivals: Option<Arrivals>,
    token: u64,
    serial: u64,
    /// The state according to the log, including everything that this owner has written.
    log: LogState,
}

impl<T: ClusterTransport> Tenure<T> {
    /// The state according to the log.
    pub(crate) fn log(&self) -> &LogState {
        &self.log
    }

    /// Appends to the log. Returns once no crash of a server can lose the message. Retries without end while no answer comes.
    ///
    /// # Errors
    /// If another owner has begun. Nothing more can be written.
    pub(crate) async fn append(&mut self, what: EntryKind) -> Result<(), Fenced> {
        let entry = LogEntry { token: self.token, serial: self.serial, follows: self.log.last(), what };
        let bytes = entry.to_bytes();
        let mut backoff = Backoff::new();
        loop {
            let seen = self.log.chain.seen;
            let published = self.transport.publish(&self.subject, bytes.clone(), Some(seen), None).await;
            // A kept message may not be readable yet, and a message that seems to be refused may have been kept earlier.
            while let Ok(found) = self.next(published.is_ok()).await {
                let Some(message) = found else {
                    if published.is_err() {
                        break;
                    }
                    backoff.rest(&*self.transport).await;
                    continue;
                };
                let is_own = message.bytes == bytes;
                let follows = if is_own { Some(entry.follows) } else { follows(&message) };
                match self.log.chain.read(message.sequence, follows) {
                    Link::Next if is_own => {
                        self.serial += 1;
                        return self.log.apply(self.token, &entry.what).map_err(|reason| {
                            tracing::error!(log = %self.subject, reason, "an impossible message was written to the log");
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

    /// The first message after those that were read. A message that was just kept is announced. If the announcement is late, or an earlier one
    /// was missed, the log is read.
    async fn next(&mut self, is_kept: bool) -> Result<Option<Message>, Unreachable> {
        let seen = self.log.chain.seen;
        if let Some(arrivals) = self.arrivals.as_mut().filter(|_| is_kept) {
            let arrival = tokio::select! {
                biased;
                arrival = arrivals.next(seen) => arrival,
                () = self.transport.rest(FIRST_REST) => None,
            };
            if arrival.is_some() {
                return Ok(arrival);
            }
        }
        self.transport.next(&self.subject, seen).await
    }
}

/// The sequence of the message that a message of a log follows.
fn follows(message: &Message) -> Option<u64> {
    Some(LogEntry::read(&message.bytes).ok()?.follows)
}

/// Whether a message is the last of a partition's log that counts, as the log is now.
///
/// # Errors
/// If the servers do not answer.
pub(crate) async fn is_last<T: ClusterTransport>(
    transport: &T,
    partition: u32,
    last: u64,
) -> Result<bool, Unreachable> {
    let (subject, mut chain) = (ClusterSubject::Journal(partition), Chain::up_to(last));
    while let Some(message) = transport.next(&subject, chain.seen).await? {
        if chain.read(message.sequence, follows(&message)) != Link::Void {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the value of a key after message `after`, and returns its sequence. The value must differ from all values that others write.
pub(super) async fn append<T: ClusterTransport>(
    transport: &T,
    subject: &ClusterSubject,
    after: u64,
    bytes: Vec<u8>,
) -> Result<u64, Fenced> {
    let mut backoff = Backoff::new();
    loop {
        let published = transport.publish(subject, bytes.clone(), Some(after), None).await;
        // Two values that are on their way at once may both be kept. A key has only its last value, so the last one counts.
        while let Ok(found) = transport.next(subject, after).await {
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
