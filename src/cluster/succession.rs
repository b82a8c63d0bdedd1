//! The owners of a partition, one after the other: what each reads of the log, and what keeps another from writing to it.
//!
//! All that changes a partition is in its log. Each message names the one that it follows. Of those that follow the same one, the first in
//! the log counts, and the others are void, with all that follows them. So all who read the log agree on what counts, and as soon as a
//! new owner's epoch counts, nothing does that an older one writes, whatever that one believes.
//!
//! The servers are asked to keep a message only where nothing came since. Mostly they refuse what would be void. But not always: of two
//! messages that are on their way at once, a cluster of version 2.9 may keep both. And an answer may be lost, so that a message is sent
//! again and is there twice. So whoever writes looks afterwards which message follows the last one that counts: where it is its own, all
//! is well, and where it is not, another owner has begun.

use std::io;
use std::sync::Arc;

use super::entry::{EntryKind, JournalPiece, LogEntry};
use super::subject::ClusterSubject;
use super::transport::{Backoff, ClusterTransport, Message, Unreachable};

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SuccessionError {
    /// A message is not one that an owner can have written there.
    #[error("{subject}, message {sequence}: {reason}")]
    Damaged { subject: ClusterSubject, sequence: u64, reason: &'static str },
    /// What it says cannot be kept here.
    #[error(transparent)]
    Storage(#[from] io::Error),
}

/// Another owner has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overtaken;

/// What the log of a partition says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fold {
    /// The last message that counts; 0 where there is none.
    pub(crate) last: u64,
    /// The last message that was read.
    seen: u64,
    /// How many owners there were.
    pub(crate) epoch: u64,
    /// The last owner's.
    token: u64,
    /// Where the journal ends.
    pub(crate) end: u64,
    /// The journal has what letters up to here brought.
    pub(crate) read: u64,
    /// What was counted.
    pub(crate) counts: Vec<u8>,
    /// The last owner has ended in good order.
    pub(crate) is_released: bool,
    /// It has not journaled anything yet. What it begins with may replace a torn end of the journal.
    is_fresh: bool,
}

impl Fold {
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
        self.seen = message.sequence;
        if behind != self.last {
            return Ok(());
        }
        if !matches!(what, EntryKind::Epoch { .. }) && token != self.token {
            return Err(damaged("of an owner that was overtaken"));
        }
        match what {
            EntryKind::Epoch { number, .. } if number == self.epoch + 1 => {
                (self.epoch, self.token, self.is_released, self.is_fresh) = (number, token, false, true);
            }
            EntryKind::Epoch { .. } => return Err(damaged("an epoch that is not the next")),
            EntryKind::Journal(piece) => {
                if piece.at > self.end || piece.at < self.end && !self.is_fresh {
                    return Err(damaged("a piece of the journal that is not the next"));
                }
                keep(&piece)?;
                self.is_fresh &= piece.bytes.is_empty();
                self.end = piece.at + piece.bytes.len() as u64;
                self.read = self.read.max(piece.read);
            }
            EntryKind::Counts(bytes) => self.counts = bytes,
            EntryKind::Released => self.is_released = true,
        }
        self.last = message.sequence;
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
            match transport.next(&subject, self.seen).await {
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
        &mut self,
        transport: Arc<T>,
        partition: u32,
        node: &str,
        token: u64,
    ) -> Result<Tenure<T>, Overtaken> {
        let epoch = self.epoch + 1;
        let subject = ClusterSubject::Journal(partition);
        let mut tenure = Tenure { transport, subject, token, serial: 0, last: self.last, seen: self.seen, epoch };
        tenure.append(EntryKind::Epoch { number: epoch, node: node.to_owned() }).await?;
        Ok(tenure)
    }
}

/// The right to write to a partition's log, as long as nobody else has begun.
#[derive(Debug)]
pub(crate) struct Tenure<T: ClusterTransport> {
    transport: Arc<T>,
    subject: ClusterSubject,
    token: u64,
    serial: u64,
    /// The last message that counts.
    last: u64,
    /// The last message that is known, which may be void.
    seen: u64,
    epoch: u64,
}

impl<T: ClusterTransport> Tenure<T> {
    /// Which owner this is.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number that it has drawn.
    pub(crate) fn token(&self) -> u64 {
        self.token
    }

    /// The last message that counts.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Appends to the log. Returns when no crash of a server can take it. Without an answer it tries again, without end.
    ///
    /// # Errors
    /// Where another owner has begun. Nothing more can be written.
    pub(crate) async fn append(&mut self, what: EntryKind) -> Result<(), Overtaken> {
        let behind = self.last;
        let bytes = LogEntry { token: self.token, serial: self.serial, behind, what }.to_bytes();
        let mut backoff = Backoff::new();
        loop {
            let published = self.transport.publish(&self.subject, bytes.clone(), Some(self.seen), None).await;
            // What was kept may not be to be read yet, and what was refused may be there already.
            while let Ok(found) = self.transport.next(&self.subject, self.seen).await {
                let Some(message) = found else {
                    if published.is_err() {
                        break;
                    }
                    backoff.rest(&*self.transport).await;
                    continue;
                };
                self.seen = message.sequence;
                if message.bytes == bytes {
                    self.last = message.sequence;
                    self.serial += 1;
                    return Ok(());
                }
                if follows(&message, behind) {
                    return Err(Overtaken);
                }
            }
            backoff.rest(&*self.transport).await;
        }
    }
}

/// Whether a message of a log follows this one. What cannot be read follows none.
fn follows(message: &Message, behind: u64) -> bool {
    LogEntry::read(&message.bytes).is_ok_and(|entry| entry.behind == behind)
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
    let (subject, mut seen) = (ClusterSubject::Journal(partition), last);
    while let Some(message) = transport.next(&subject, seen).await? {
        if follows(&message, last) {
            return Ok(false);
        }
        seen = message.sequence;
    }
    Ok(true)
}

/// Gives a key a value behind another one, and returns its sequence. It must differ from all that others write.
pub(super) async fn append<T: ClusterTransport>(
    transport: &T,
    subject: &ClusterSubject,
    behind: u64,
    bytes: Vec<u8>,
) -> Result<u64, Overtaken> {
    let mut backoff = Backoff::new();
    loop {
        let published = transport.publish(subject, bytes.clone(), Some(behind), None).await;
        // Of two that are on their way at once, both may be kept. The last one counts.
        while let Ok(found) = transport.next(subject, behind).await {
            match found {
                Some(message) if message.bytes == bytes => return Ok(message.sequence),
                Some(_) => return Err(Overtaken),
                None if published.is_err() => break,
                None => backoff.rest(transport).await,
            }
        }
        backoff.rest(transport).await;
    }
}

#[cfg(test)]
mod tests;
