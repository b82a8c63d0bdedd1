//! The journal in its files, as it is appended to.

use std::io;
use std::ops::Range;
use std::time::Duration;

use super::frame::Frame;
use super::record::Unreadable;
use super::segment::{HEADER, Segment};
use super::window::Window;
use super::{Disk, JournalError, Needs, Storage};
use crate::bytes::FileError;
use crate::frontier::{Entry, HostRecord, Record, Recorder, RobotsRecord, Settled, Timestamp};
use crate::gate::Position;

/// Bytes that are gathered before they are written without being asked for.
const BUFFER: usize = 256 << 10;
/// Bytes read for one entry. As fast as 128, and spares most long URLs a second read; 4,096 takes half as long again, since a host's
/// URLs stand far apart.
const READ_AHEAD: usize = 512;
/// Positions there are.
const POSITIONS: u64 = 1 << 48;

/// How a journal is kept.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JournalOptions {
    /// When it is safe from a power cut.
    pub sync: SyncPolicy,
    /// Bytes after which a segment is closed and the next one begun.
    pub segment_bytes: u64,
}

impl Default for JournalOptions {
    /// A sync a second; segments of 64 MiB.
    fn default() -> Self {
        Self { sync: SyncPolicy::Interval(Duration::from_secs(1)), segment_bytes: 64 << 20 }
    }
}

/// What a power cut may cost. What was flushed before the process was killed is there under each of them: the operating
/// system has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Nothing that was flushed: each flush waits for the disk.
    Always,
    /// What was flushed in this time, and until the next flush after it has reached the disk. That flush does not wait: a later
    /// one says if it failed.
    Interval(Duration),
    /// The last segment's records: the disk is waited for when a segment is closed, so that the journal stays readable.
    Never,
}

/// The journal on disk; see the [module](crate::job::journal) for its layout and what a crash can do to it.
///
/// What is appended is gathered in memory, 256 KiB at most, and can be read at once. `flush` hands it to the
/// operating system: call it at the end of each batch, before anything is done that must not be done twice. Dropping the
/// journal does not flush.
///
/// An append or flush that fails, as on a full disk, can be tried again; after a sync that failed everything but reading is
/// [refused](JournalError::Stopped).
#[derive(Debug)]
pub(crate) struct FileJournal<S: Storage = Disk> {
    pub(super) storage: S,
    pub(super) job: u64,
    pub(super) options: JournalOptions,
    /// Oldest first, never empty but where it is only read. The last is written to.
    pub(super) segments: Vec<Segment>,
    /// Frames that follow the last segment's end and that the storage does not have yet.
    pub(super) pending: Vec<u8>,
    pub(super) state: FileState,
    /// The end that the sync under way will make safe.
    pub(super) syncing: Option<u64>,
    /// When a flush last began a sync.
    pub(super) synced: Option<Timestamp>,
    pub(super) window: Window,
}

/// What is known of the last segment's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// It was opened to be looked at, and may hold no segment.
    ReadOnly,
    /// All that was written is safe from a power cut.
    Synced,
    /// Not all is.
    Written,
    /// A write failed: behind the segment's end may be a part of it.
    Torn,
    /// A sync failed: nothing is known.
    Stopped,
}

impl<S: Storage> FileJournal<S> {
    /// Appends a record and says where it stands.
    ///
    /// # Errors
    /// Where the storage fails, and where the record or the journal is too long; nothing was appended then.
    pub(crate) fn record(&mut self, record: &Record<'_>) -> Result<Position, JournalError> {
        if self.pending.len() >= BUFFER {
            self.write()?;
        }
        self.refuse_if_stopped()?;
        let at = self.end().to_u64();
        let size = at - self.last().start;
        if size > HEADER as u64 && size >= self.options.segment_bytes {
            self.sync()?;
            self.begin(at)?;
        }
        let position = self.end();
        let at = position.to_u64();
        if at >= POSITIONS {
            return Err(JournalError::Full);
        }
        Frame::write(&mut self.pending, self.job, at, record)?;
        Ok(position)
    }

    /// Where it is kept, with whatever lies beside it.
    pub(in crate::job) fn storage(&mut self) -> &mut S {
        &mut self.storage
    }

    /// The record at a position. One that lies in the journal and was not given by [`record`](Self::record) cannot be told
    /// from damage.
    ///
    /// # Errors
    /// Where the storage fails, the record is damaged, or the position lies outside.
    pub(crate) fn get(&mut self, position: Position) -> Result<Record<'_>, JournalError> {
        let at = position.to_u64();
        let segment = match self.segments.partition_point(|segment| segment.start <= at) {
            0 => return Err(JournalError::NoEntry(position)),
            after => &self.segments[after - 1],
        };
        let bytes = if at < segment.end {
            self.window.frame(&mut self.storage, segment, at, READ_AHEAD)?
        } else {
            // Where a segment was removed, there is nothing.
            let skipped = at.checked_sub(self.last().end).and_then(|skipped| usize::try_from(skipped).ok());
            let pending = skipped.and_then(|skipped| self.pending.get(skipped..)).unwrap_or_default();
            if pending.is_empty() {
                return Err(JournalError::NoEntry(position));
            }
            pending
        };
        let frame = Frame::read(bytes, self.job, at).map_err(Unreadable::Payload);
        frame.and_then(|frame| frame.record()).map_err(|why| damaged(&self.storage, segment, at, why))
    }

    /// Where the next record will stand, or the segment that it begins: [`open`](Self::open) from here shows what is appended
    /// from now on.
    pub(crate) fn end(&self) -> Position {
        let end = self.segments.last().map_or(0, |last| last.end);
        Position::from_u64(end + self.pending.len() as u64)
    }

    /// The name of the segment that is written to: the storage may be asked to sync it ahead of the journal.
    pub(crate) fn segment(&self) -> &str {
        &self.last().name
    }

    /// Returns once a power cut cannot take what was appended.
    ///
    /// # Errors
    /// Where the storage fails.
    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        self.write()?;
        self.end_sync()?;
        if self.state == FileState::Written { self.sync_written() } else { Ok(()) }
    }

    /// A sync of it through another handle has failed: what is on disk is not known, and nothing more is written.
    pub(in crate::job) fn stop(&mut self) {
        self.state = FileState::Stopped;
    }

    /// What is needed of it by one who will open it from its end: so far, nothing of what it holds.
    pub(crate) fn needs(&self) -> Needs {
        Needs::of(self.end(), self.segments.iter().map(Segment::part))
    }

    /// Removes the segments of which nothing is needed; the last one stays. [`open`](Self::open) must be asked for no position
    /// before them then.
    ///
    /// # Errors
    /// Where the storage fails; some may have been removed then.
    pub(crate) fn remove_unneeded(&mut self, is_needed: impl Fn(&Range<Position>) -> bool) -> Result<(), JournalError> {
        self.refuse_if_stopped()?;
        let closed = self.segments.len().saturating_sub(1);
        for at in (0..closed).rev() {
            let segment = &self.segments[at];
            if !is_needed(&segment.part()) {
                let name = &segment.name;
                self.storage.remove(name).map_err(FileError::of("remove", self.storage.path(name)))?;
                self.segments.remove(at);
            }
        }
        Ok(())
    }

    /// Hands what is pending to the storage. Where that fails it stays pending, and is tried again as a whole.
    fn write(&mut self) -> Result<(), JournalError> {
        self.refuse_if_stopped()?;
        if self.pending.is_empty() {
            return Ok(());
        }
        let last = self.segments.last_mut().expect("never empty");
        if self.state == FileState::Torn {
            let cut = self.storage.truncate(&last.name, last.end - last.start);
            cut.map_err(FileError::of("truncate", self.storage.path(&last.name)))?;
        }
        self.state = FileState::Torn;
        let written = self.storage.append(&last.name, &self.pending);
        // Once for each batch of records: the path is made where it is wanted.
        written.map_err(|source| FileError::of("write", self.storage.path(&last.name))(source))?;
        self.state = FileState::Written;
        last.end += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Begins a sync of what is written, without waiting for it.
    fn begin_sync(&mut self) -> Result<(), JournalError> {
        let last = self.segments.last().expect("never empty");
        self.storage.begin_sync(&last.name).map_err(FileError::of("begin to sync", self.storage.path(&last.name)))?;
        self.syncing = Some(last.end);
        Ok(())
    }

    /// Waits for the sync under way, if one is. All that is pending was written before.
    fn end_sync(&mut self) -> Result<(), JournalError> {
        let Some(end) = self.syncing.take() else { return Ok(()) };
        let last = self.segments.last().expect("never empty");
        if let Err(source) = self.storage.end_sync() {
            self.state = FileState::Stopped;
            return Err(FileError::of("sync", self.storage.path(&last.name))(source).into());
        }
        // What came later is written, and no more.
        if last.end == end {
            self.state = FileState::Synced;
        }
        Ok(())
    }

    fn sync_written(&mut self) -> Result<(), JournalError> {
        let name = &self.segments.last().expect("never empty").name;
        self.state = FileState::Stopped;
        self.storage.sync(name).map_err(FileError::of("sync", self.storage.path(name)))?;
        self.state = FileState::Synced;
        Ok(())
    }

    /// Begins a segment. The one before is safe on disk, and so is its header before a frame follows it.
    pub(super) fn begin(&mut self, start: u64) -> Result<(), JournalError> {
        let segment = Segment::new(start, HEADER as u64);
        let name = &segment.name;
        // A file that is there is what a try that failed before has left.
        self.storage.create(name).map_err(FileError::of("create", self.storage.path(name)))?;
        let written = self.storage.append(name, &segment.header(self.job));
        written.map_err(FileError::of("write", self.storage.path(name)))?;
        self.state = FileState::Stopped;
        let synced = self.storage.sync(name).and_then(|()| self.storage.sync_names());
        synced.map_err(FileError::of("sync", self.storage.path(name)))?;
        self.segments.push(segment);
        self.state = FileState::Synced;
        Ok(())
    }

    fn last(&self) -> &Segment {
        self.segments.last().expect("never empty")
    }

    fn refuse_if_stopped(&self) -> Result<(), JournalError> {
        match self.state {
            FileState::ReadOnly => Err(JournalError::ReadOnly),
            FileState::Stopped => Err(JournalError::Stopped),
            FileState::Synced | FileState::Torn | FileState::Written => Ok(()),
        }
    }
}

impl<S: Storage> Recorder for FileJournal<S> {
    fn append(&mut self, entry: Entry<'_>) -> io::Result<Position> {
        Ok(self.record(&Record::Admitted(entry))?)
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        match self.get(position)? {
            Record::Admitted(entry) | Record::Again { entry, .. } => Ok(entry),
            _ => Err(JournalError::NoEntry(position).into()),
        }
    }

    fn append_again(&mut self, settled: &Settled<'_>, entry: Entry<'_>) -> io::Result<Position> {
        Ok(self.record(&Record::Again { settled: *settled, entry })?)
    }

    fn note(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        Ok(Some(self.record(record)?))
    }

    fn rules(&mut self, position: Position) -> io::Result<Option<&[u8]>> {
        match self.get(position) {
            Ok(Record::Host(HostRecord { robots: Some(RobotsRecord::Known { rules, .. }), .. })) => Ok(rules),
            Ok(_) | Err(JournalError::NoEntry(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn flush(&mut self, now: Timestamp) -> io::Result<()> {
        self.write()?;
        if self.syncing.is_some() && !self.storage.is_syncing() {
            self.end_sync()?;
        }
        match self.options.sync {
            SyncPolicy::Always => self.sync()?,
            SyncPolicy::Interval(interval) => {
                let is_due = self.synced.is_none_or(|synced| now.since(synced) >= interval);
                if is_due && self.syncing.is_none() && self.state == FileState::Written {
                    self.begin_sync()?;
                    self.synced = Some(now);
                }
            }
            SyncPolicy::Never => {}
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        let names: usize = self.segments.iter().map(|segment| segment.name.capacity()).sum();
        let segments = self.segments.capacity() * size_of::<Segment>() + names;
        self.pending.capacity() + self.window.memory() + segments
    }
}

/// The error for a frame that cannot be read.
pub(super) fn damaged(storage: &impl Storage, segment: &Segment, at: u64, why: Unreadable) -> JournalError {
    let (path, offset) = (storage.path(&segment.name), at - segment.start);
    match why {
        Unreadable::Kind(kind) => JournalError::Kind { path, offset, kind },
        Unreadable::Payload(reason) => FileError::Damaged { path, offset, reason }.into(),
    }
}
