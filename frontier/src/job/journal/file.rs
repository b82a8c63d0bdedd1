//! The journal on disk: appending, reading one record, syncing.
//!
//! A record goes through three states. It is *pending* in memory when `record` returns. It is *written* when the storage has it, after a
//! flush or when enough is pending: from then on, killing the process cannot lose it. It is *safe* after a sync: from then on, a power cut
//! cannot lose it.
//!
//! ```text
//!   Synced ──write──▶ Torn ──it succeeded──▶ Written ──sync──▶ Stopped ──it succeeded──▶ Synced
//! ```
//!
//! These are the states of the last segment's file. The state is set to the bad case before each call of the storage, and to the good one
//! after it. So an error in between leaves the bad case: after `Torn`, the torn end is cut off before the next write; after `Stopped`,
//! nothing more is written.
//!
//! With an interval between syncs, a sync runs in its own thread while records go on being written. The first flush after it has ended
//! reads its result. Only what was written before the sync began counts as safe.
//!
//! # A record's place
//!
//! A position is known before the record is written: it is the end of everything appended so far. So the frontier can name it at once, and
//! a frame's checksum can be seeded with it. If the storage then refuses the bytes, they stay pending at the same position and are tried
//! again.
//!
//! # A segment's end
//!
//! A full segment is synced before the next one is begun, under any policy. So all segments but the last are whole on disk, and a bad frame
//! in them is damage, not a torn end. This wait comes once every 64 MiB, about 700,000 records.
//!
//! # Which parts must not be removed
//!
//! A waiting URL is a position in a queue, and its text is only in the journal. So a segment stays until none of its URLs waits,
//! however old it is. While a checkpoint is written, each URL that it saves marks its segment here.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use super::compacted::{self, Compacted, OldSegment, PREFIX};
use super::frame::Frame;
use super::group::Group;
use super::record::Unreadable;
use super::segment::{Blocks, HEADER, Segment};
use super::{Disk, JournalError, Storage};
use crate::bytes::FileError;
use crate::frontier::durable::OwnJournal;
use crate::frontier::{Entry, HostRecord, Journal, Record, RobotsRecord, Timestamp};
use crate::gate::Position;

/// When this many bytes are pending, they are written without a flush.
const BUFFER: usize = 256 << 10;
/// How long records may be pending if they are flushed in groups.
const GROUP: Duration = Duration::from_millis(10);
/// The number of positions.
const POSITIONS: u64 = 1 << 48;

/// How a journal is kept.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct JournalOptions {
    /// When appended records are made safe from a power cut.
    pub sync: SyncPolicy,
    /// A segment with this many bytes is closed, and the next one begun. If the journal is not kept, small segments are removed sooner,
    /// since one waiting URL keeps its whole segment. Each opening rewrites the last segment.
    pub segment_bytes: u64,
}

impl Default for JournalOptions {
    /// One sync a second; segments of 64 MiB.
    fn default() -> Self {
        Self { sync: SyncPolicy::Interval(Duration::from_secs(1)), segment_bytes: 64 << 20 }
    }
}

/// How much a power cut may cost. Killing the process loses nothing that was flushed, under any policy: the operating system has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Nothing that was flushed. Each flush waits for the disk.
    Always,
    /// The records that were flushed since the last completed sync began. Once this much time has passed since the last sync began, a flush
    /// begins the next one. It does not wait for the sync: a later flush reports its failure.
    Interval(Duration),
    /// The records of the last segment. Only closing a segment waits for the disk, so that the journal stays readable.
    Never,
}

impl SyncPolicy {
    /// How often files written beside the journal are synced, from the end of one sync to the beginning of the next; `None` if only
    /// checkpoints sync them.
    pub fn interval(self) -> Option<Duration> {
        match self {
            Self::Always => Some(GROUP),
            Self::Interval(interval) => Some(interval.max(GROUP)),
            Self::Never => None,
        }
    }
}

/// The journal on disk. The [module](crate::job::journal) describes its layout, and what a crash can do to it.
///
/// Appended records are gathered in memory, about 256 KiB at most and a group of 1 MiB, and can be read at once. `flush` hands them to the
/// operating system. Call it at the end of each batch, before anything that must not be done twice. `flush_due` does the same for several
/// batches at once: a record may wait 10 ms for others. Dropping the journal does not flush.
///
/// The last written records stay in memory, and so do the blocks of 4 KiB that were read last: at most 5 MiB together.
///
/// An append or flush that fails, as on a full disk, can be tried again. After a sync failed, everything but reading is
/// [refused](JournalError::Stopped): the operating system may have dropped what it could not write.
#[derive(Debug)]
pub struct FileJournal<S: Storage = Disk> {
    pub(super) storage: S,
    pub(super) job: u64,
    pub(super) options: JournalOptions,
    /// The segments, oldest first; empty only if the journal is read-only. Records are appended to the last one.
    pub(super) segments: Vec<Segment>,
    /// Where the records of compacted segments are, by their starts.
    pub(super) compacted: BTreeMap<u64, Compacted>,
    /// The last frames of the last segment, including those that are not written yet.
    pub(super) tail: Tail,
    /// The group that is open.
    pub(super) group: Group,
    /// When [`flush_due`](Journal::flush_due) first found frames pending.
    pub(super) pending_since: Option<Timestamp>,
    pub(super) state: FileState,
    /// The end that the sync under way will make safe.
    pub(super) syncing: Option<u64>,
    /// When a flush last began a sync.
    pub(super) synced: Option<Timestamp>,
    pub(super) blocks: Blocks,
    /// Bytes of metadata that were released since the journal was opened.
    pub(super) freed: u64,
    /// Is shown everything that is written.
    pub(in crate::job) observer: Option<Arc<dyn JournalObserver>>,
}

/// What is known about the file of the last segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// It was opened read-only; there may be no segment.
    ReadOnly,
    /// Everything written is safe from a power cut.
    Synced,
    /// Something written is not safe yet.
    Written,
    /// A write failed: part of it may be in the file, after the segment's end.
    Torn,
    /// A sync failed: what is on disk is not known.
    Stopped,
}

impl<S: Storage> FileJournal<S> {
    /// Appends a record, and returns its position.
    ///
    /// # Errors
    /// If the storage fails, or the record or the journal is too long. Nothing was appended then.
    pub(crate) fn record(&mut self, record: &Record<'_>) -> Result<Position, JournalError> {
        self.refuse_if_stopped()?;
        // A group is in one write and in one segment.
        if !self.group.has_begun() {
            self.make_room()?;
        }
        let position = self.end();
        let at = position.to_u64();
        if at >= POSITIONS {
            return Err(JournalError::Full);
        }
        self.group.append(self.tail.bytes(), self.job, at, record)?;
        Ok(position)
    }

    /// Writes the pending frames if there are 256 KiB of them, and begins another segment if the last one is full.
    fn make_room(&mut self) -> Result<(), JournalError> {
        if self.tail.pending().len() >= BUFFER {
            self.write()?;
        }
        let at = self.end().to_u64();
        let size = at - self.last().start;
        if size > HEADER as u64 && size >= self.options.segment_bytes {
            self.sync()?;
            self.begin(at)?;
        }
        Ok(())
    }

    /// The storage that holds the journal and the files beside it.
    pub(in crate::job) fn storage(&mut self) -> &mut S {
        &mut self.storage
    }

    /// Reads the record at a position that [`record`](Self::record) returned. Any other position within the journal looks like damage.
    ///
    /// # Errors
    /// If the storage fails, the record is damaged, or the position lies outside the journal.
    pub(crate) fn get(&mut self, position: Position) -> Result<Record<'_>, JournalError> {
        let at = position.to_u64();
        let segment = match self.segments.partition_point(|segment| segment.start <= at) {
            0 => return Err(JournalError::NoEntry(position)),
            after => &self.segments[after - 1],
        };
        let skipped = at.checked_sub(self.last().end - self.tail.written());
        let bytes = match skipped.and_then(|skipped| self.tail.bytes_after(skipped)) {
            Some(bytes) => bytes,
            None if let Some(compacted) = self.compacted.get(&segment.start) => {
                let found = compacted.find(&mut self.storage, &mut self.blocks, at)?;
                let found = found.ok_or(JournalError::NoEntry(position))?;
                &self.blocks.frame(&mut self.storage, &compacted.file, found, PREFIX)?[PREFIX..]
            }
            None if at < segment.end => self.blocks.frame(&mut self.storage, segment, at, 0)?,
            // After the end, or in a segment that was removed.
            None => return Err(JournalError::NoEntry(position)),
        };
        let frame = Frame::read(bytes, self.job, at).map_err(Unreadable::Payload);
        frame.and_then(|frame| frame.record()).map_err(|why| damaged(&self.storage, segment, at, why))
    }

    /// The position of the next record, or of the header of the segment that it begins. An [`open`](Self::open) from here shows everything
    /// that is appended from now on.
    pub(crate) fn end(&self) -> Position {
        let end = self.segments.last().map_or(0, |last| last.end);
        Position::from_u64(end + self.tail.pending().len() as u64)
    }

    /// The name of the segment that is written to. A caller may have the storage sync it ahead of [`sync`](Self::sync).
    pub(crate) fn segment(&self) -> &str {
        &self.last().name
    }

    /// Returns when everything appended is safe from a power cut.
    ///
    /// # Errors
    /// If the storage fails.
    pub(crate) fn sync(&mut self) -> Result<(), JournalError> {
        self.write()?;
        self.end_sync()?;
        if self.state == FileState::Written { self.sync_written() } else { Ok(()) }
    }

    /// Refuses further writes: a sync through another handle failed, so it is not known what is on disk.
    pub(in crate::job) fn stop(&mut self) {
        self.state = FileState::Stopped;
    }

    /// The needs of a checkpoint that begins now: everything from the journal's end on, and so far nothing before it.
    pub(crate) fn needs(&self) -> Needs {
        Needs { freed: self.freed, ..Needs::of(self.end(), self.segments.iter().map(Segment::range)) }
    }

    /// Removes the segments that are not needed; the last one stays. After that, the journal cannot be [opened](Self::open) from a position
    /// before a removed segment.
    ///
    /// # Errors
    /// If the storage fails; some segments may have been removed then.
    pub(crate) fn remove_unneeded(&mut self, is_needed: impl Fn(&Range<Position>) -> bool) -> Result<(), JournalError> {
        self.refuse_if_stopped()?;
        let closed = self.segments.len().saturating_sub(1);
        for at in (0..closed).rev() {
            let segment = &self.segments[at];
            if !is_needed(&segment.range()) {
                let name = &segment.name;
                self.storage.remove(name).map_err(FileError::of("remove", self.storage.path(name)))?;
                self.compacted.remove(&segment.start);
                self.segments.remove(at);
            }
        }
        Ok(())
    }

    /// The segments that end before a position, oldest first; none if an observer has a copy of the journal, byte for byte.
    pub(in crate::job) fn old_segments(&self, before: Position) -> Vec<OldSegment> {
        let closed = &self.segments[..self.segments.len().saturating_sub(1)];
        let old = closed.iter().filter(|segment| segment.end <= before.to_u64() && self.observer.is_none());
        let bytes = |segment: &Segment| self.compacted.get(&segment.start).map_or(segment.length(), Compacted::length);
        old.map(|segment| OldSegment { start: segment.start, range: segment.range(), bytes: bytes(segment) }).collect()
    }

    /// Puts the file that [`compact`](super::compacted::compact) wrote in the place of a segment's old file.
    ///
    /// # Errors
    /// If the storage fails: the segment is as it was.
    pub(in crate::job) fn place_compacted(&mut self, start: u64) -> Result<(), JournalError> {
        self.refuse_if_stopped()?;
        let Self { storage, segments, blocks, .. } = self;
        let Some(segment) = segments.iter().find(|segment| segment.start == start) else { return Ok(()) };
        let beside = compacted::unfinished(&segment.name);
        let mut header = [0; HEADER];
        let read = storage.read_at(&beside, 0, &mut header).map_err(FileError::of("read", storage.path(&beside)))?;
        let (mut compacted, _) = Compacted::open(storage, self.job, start, &beside, &header[..read])?;
        if let Err(source) = storage.rename(&beside, &segment.name) {
            let _ = storage.remove(&beside);
            return Err(FileError::of("rename", storage.path(&segment.name))(source).into());
        }
        blocks.forget(segment);
        compacted.file.name.clone_from(&segment.name);
        self.compacted.insert(start, compacted);
        Ok(())
    }

    /// Hands the pending frames to the storage. If that fails, they stay pending, and all of them are tried again.
    fn write(&mut self) -> Result<(), JournalError> {
        self.refuse_if_stopped()?;
        if self.tail.pending().is_empty() {
            return Ok(());
        }
        self.group.close(self.tail.bytes(), self.job);
        let last = self.segments.last_mut().expect("never empty");
        if self.state == FileState::Torn {
            let cut = self.storage.truncate(&last.name, last.end - last.start);
            cut.map_err(FileError::of("truncate", self.storage.path(&last.name)))?;
        }
        self.state = FileState::Torn;
        let written = self.storage.append(&last.name, self.tail.pending());
        // The path is made only for an error: this runs for each batch of records.
        written.map_err(|source| FileError::of("write", self.storage.path(&last.name))(source))?;
        self.state = FileState::Written;
        if let Some(observer) = &self.observer {
            observer.written(last.start, last.end, self.tail.pending());
        }
        last.end += self.tail.pending().len() as u64;
        self.tail.note_written();
        self.pending_since = None;
        Ok(())
    }

    /// Begins a sync of what is written, without waiting for it.
    fn begin_sync(&mut self) -> Result<(), JournalError> {
        let last = self.segments.last().expect("never empty");
        self.storage.begin_sync(&last.name).map_err(FileError::of("begin to sync", self.storage.path(&last.name)))?;
        self.syncing = Some(last.end);
        Ok(())
    }

    /// Waits for the sync under way, if there is one. Nothing is pending.
    fn end_sync(&mut self) -> Result<(), JournalError> {
        let Some(end) = self.syncing.take() else { return Ok(()) };
        let last = self.segments.last().expect("never empty");
        if let Err(source) = self.storage.end_sync() {
            self.state = FileState::Stopped;
            return Err(FileError::of("sync", self.storage.path(&last.name))(source).into());
        }
        // Frames that came after the sync began are written, but not synced.
        if last.end == end {
            self.state = FileState::Synced;
        }
        Ok(())
    }

    /// Syncs the last segment. If that fails, it is not known what is on disk, so nothing more is written.
    fn sync_written(&mut self) -> Result<(), JournalError> {
        let name = &self.segments.last().expect("never empty").name;
        self.state = FileState::Stopped;
        self.storage.sync(name).map_err(FileError::of("sync", self.storage.path(name)))?;
        self.state = FileState::Synced;
        Ok(())
    }

    /// Begins a segment. The previous segment is safe on disk by now, and the new header is safe before any frame follows it. A power cut
    /// in between leaves no file, or one with part of the header: the next opening begins the segment again at the same place.
    pub(super) fn begin(&mut self, start: u64) -> Result<(), JournalError> {
        let segment = Segment::new(start, HEADER as u64);
        let name = &segment.name;
        // A file of this name can only be left over from an attempt that failed.
        self.storage.create(name).map_err(FileError::of("create", self.storage.path(name)))?;
        let written = self.storage.append(name, &segment.header(self.job));
        written.map_err(FileError::of("write", self.storage.path(name)))?;
        self.state = FileState::Stopped;
        let synced = self.storage.sync(name).and_then(|()| self.storage.sync_names());
        synced.map_err(FileError::of("sync", self.storage.path(name)))?;
        if let Some(observer) = &self.observer {
            observer.written(start, start, &segment.header(self.job));
        }
        self.segments.push(segment);
        self.tail.clear();
        self.state = FileState::Synced;
        Ok(())
    }

    fn last(&self) -> &Segment {
        self.segments.last().expect("never empty")
    }

    /// The error if nothing more may be written.
    fn refuse_if_stopped(&self) -> Result<(), JournalError> {
        match self.state {
            FileState::ReadOnly => Err(JournalError::ReadOnly),
            FileState::Stopped => Err(JournalError::Stopped),
            FileState::Synced | FileState::Torn | FileState::Written => Ok(()),
        }
    }
}

impl<S: Storage> OwnJournal for FileJournal<S> {}

impl<S: Storage> Journal for FileJournal<S> {
    fn append(&mut self, record: &Record<'_>) -> io::Result<Option<Position>> {
        Ok(Some(self.record(record)?))
    }

    fn begin_group(&mut self) {
        self.group.begin();
    }

    fn end_group(&mut self) {
        self.group.end(self.tail.bytes(), self.job);
    }

    fn read(&mut self, position: Position) -> io::Result<Entry<'_>> {
        match self.get(position)? {
            Record::Admitted(entry) | Record::Again { entry, .. } => Ok(entry),
            _ => Err(JournalError::NoEntry(position).into()),
        }
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

    fn flush_due(&mut self, now: Timestamp) -> io::Result<Option<Timestamp>> {
        if self.tail.pending().is_empty() {
            return Ok(None);
        }
        let due = *self.pending_since.get_or_insert(now) + GROUP;
        if now < due && self.tail.pending().len() < BUFFER {
            return Ok(Some(due));
        }
        self.flush(now)?;
        Ok(None)
    }

    fn release(&mut self, _: Position, bytes: usize) {
        self.freed += bytes as u64;
    }

    fn memory(&self) -> usize {
        let names: usize = self.segments.iter().map(|segment| segment.name.capacity()).sum();
        let compacted: usize = self.compacted.values().map(Compacted::memory).sum();
        let segments = self.segments.capacity() * size_of::<Segment>() + names + compacted;
        self.tail.memory() + self.blocks.memory() + segments
    }
}

/// The error for the frame at this position, which cannot be read.
pub(super) fn damaged(storage: &impl Storage, segment: &Segment, at: u64, why: Unreadable) -> JournalError {
    let (path, offset) = (storage.path(&segment.name), at - segment.start);
    match why {
        Unreadable::Kind(kind) => JournalError::Kind { path, offset, kind },
        Unreadable::Payload(reason) => FileError::Damaged { path, offset, reason }.into(),
    }
}

/// At least this many written bytes are kept (once that many have been written), and about twice as many at most. A crawl with few waiting
/// URLs reads all of them from here.
const KEPT: usize = 256 << 10;

/// The last frames of the last segment. The frames at its end are *pending*: the storage does not have them yet.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    /// How many of the bytes the storage has.
    written: usize,
}

impl Tail {
    /// The bytes that the storage does not have yet.
    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// How many of the kept bytes the storage has.
    pub(super) fn written(&self) -> u64 {
        self.written as u64
    }

    /// Where frames are appended.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The bytes after the first `skipped` ones; `None` if there are none.
    pub(super) fn bytes_after(&self, skipped: u64) -> Option<&[u8]> {
        let bytes = usize::try_from(skipped).ok().and_then(|skipped| self.bytes.get(skipped..));
        bytes.filter(|bytes| !bytes.is_empty())
    }

    /// Notes that the storage has everything. The bytes that are still kept are moved to the front once every 256 KiB, not at each write.
    pub(super) fn note_written(&mut self) {
        if self.bytes.len() > 2 * KEPT {
            self.bytes.drain(..self.bytes.len() - KEPT);
            // This gives memory back after a record that is longer than all kept bytes.
            self.bytes.shrink_to(4 * KEPT);
        }
        self.written = self.bytes.len();
    }

    /// Forgets all bytes, since another segment begins. Nothing is pending.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
    }

    /// Bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

/// The parts of a journal that are needed: everything from a position on, and before it the segments with a URL that still waits. A
/// checkpoint keeps this list, so that old segments can be removed when no checkpoint needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    from: Position,
    /// The segments before that position, oldest first, and whether each is needed.
    segments: Vec<(Range<Position>, bool)>,
    /// Bytes of metadata that were released before that position, since the journal was opened; 0 for a checkpoint that another process
    /// wrote.
    freed: u64,
}

impl Needs {
    /// Everything from this position on, and nothing before it.
    pub fn from_on(from: Position) -> Self {
        Self { from, ..Self::default() }
    }

    /// Everything from this position on, and none of these segments (oldest first) so far.
    pub(super) fn of(from: Position, segments: impl Iterator<Item = Range<Position>>) -> Self {
        Self { from, segments: segments.map(|segment| (segment, false)).collect(), freed: 0 }
    }

    /// Everything from this position on, and all of these segments (oldest first).
    pub(in crate::job) fn with(from: Position, segments: impl Iterator<Item = Range<Position>>) -> Self {
        Self { from, segments: segments.map(|segment| (segment, true)).collect(), freed: 0 }
    }

    /// The position from which everything is needed: a replay begins here.
    pub(crate) fn from(&self) -> Position {
        self.from
    }

    /// Bytes of metadata that were released before that position, since the journal was opened.
    pub(crate) fn freed(&self) -> u64 {
        self.freed
    }

    /// Adds the segment that holds this position. O(log segments).
    pub(crate) fn add(&mut self, position: Position) {
        let after = self.segments.partition_point(|(segment, _)| segment.start <= position);
        if let Some(at) = after.checked_sub(1) {
            self.segments[at].1 = true;
        }
    }

    /// The needed segments, oldest first. For the segment that was being written when the checkpoint began, it is the part that was there
    /// then.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &Range<Position>> {
        self.segments.iter().filter(|(_, is_needed)| *is_needed).map(|(segment, _)| segment)
    }

    /// Whether anything at these positions of the journal is needed.
    pub(crate) fn any_in(&self, range: &Range<Position>) -> bool {
        let overlaps = |segment: &Range<Position>| segment.start < range.end && range.start < segment.end;
        range.end > self.from || self.segments().any(overlaps)
    }
}

/// Observes the bytes that a journal writes. With the same bytes at the same positions, a copy of the journal can be made elsewhere.
pub trait JournalObserver: fmt::Debug + Send + Sync {
    /// The storage has these bytes, at a position in the segment that starts at `segment`. Called while the journal is locked, and must not
    /// wait.
    fn written(&self, segment: u64, at: u64, bytes: &[u8]);
}
