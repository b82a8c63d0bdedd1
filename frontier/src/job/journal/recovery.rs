//! How a journal is read from end to end: by an opening, which replays its records and cuts off a torn end, and by [`salvage`], which reads
//! on after damage.
//!
//! The segments are read in order. Each must begin where the previous one ends, unless nothing in the gap is needed. A bad frame is an
//! error, with one exception: in the last segment, after everything that is known to be safe on disk, it is a torn end. The newest
//! checkpoint says what is safe: the journal was synced up to the checkpoint's position before the checkpoint got its name.
//!
//! # What a bad frame means
//!
//! | where | it is | the opening |
//! |---|---|---|
//! | in a segment that another one follows | damage: a segment is synced before the next is begun | fails, and names the byte |
//! | in the last segment, before the position that a checkpoint says is safe | damage | fails |
//! | in the last segment, after that position | a torn end | cuts it off and reports it |
//! | in a header, at the very end | a segment that was being begun | begins it again |
//!
//! A torn end begins with the [group](super) of the bad frame. Everything that is needed is read first. The last segment is rewritten only if
//! all of that is whole. So an opening that fails has changed nothing. If a power cut interrupts an opening, the next one repeats it.
//!
//! # What it costs
//!
//! An opening costs one read of everything after the starting position, in a window of 1 MiB (or the longest record, if that is longer),
//! one header for each segment before it, and one rewrite of the last segment, about 64 MiB at most by default.
//!
//! # How a damaged journal is read
//!
//! [`salvage`] yields each whole record, and the damaged or missing parts between them. After a damaged record, the next whole one is
//! searched for, byte by byte. Bytes of a text that look like a record do not deceive the search: a frame's checksum is seeded with the job
//! and the frame's own position.
//!
//! It differs from an opening in three ways: it goes on after damage, it reads from the first segment on, and it changes nothing. A segment
//! of another job or of a later format still ends it: its bytes were never this job's, or cannot be judged.
//!
//! It costs one read of the journal, and a search from each damaged place to the next whole record.

use std::collections::BTreeMap;
use std::iter;
use std::path::PathBuf;

use super::compacted::{Compacted, NEW_SUFFIX, unfinished};
use super::file::{FileState, Tail, damaged};
use super::frame::Frame;
use super::group::Group;
use super::record::Unreadable;
use super::segment::{Blocks, HEADER, Segment, Window};
use super::{FileJournal, JournalError, JournalOptions, Needs, Storage};
use crate::bytes::FileError;
use crate::frontier::Record;
use crate::gate::Position;

/// How many bytes are read at once when the journal is read from end to end.
pub(super) const READ_AHEAD: usize = 1 << 20;
/// The longest record, in bytes, that is searched for after a damaged one: longer than the rules of any robots.txt, and than a URL with all
/// the metadata that it may have.
const LONGEST: usize = (1 << 20) + (64 << 10);

/// What was found in a journal when it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Records that were replayed: all records after the newest checkpoint, or all there are if there is no checkpoint.
    pub records: u64,
    /// The end of the last segment that was cut off, because a crash had torn it or it was damaged.
    pub cut: Option<Cut>,
}

/// An end that was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cut {
    /// The segment.
    pub path: PathBuf,
    /// Bytes of the segment that were kept; 0 if not even its header was whole.
    pub offset: u64,
    /// Bytes that were cut off.
    pub bytes: u64,
    /// What was wrong with the first frame that was cut off.
    pub reason: &'static str,
}

impl<S: Storage> FileJournal<S> {
    /// Opens the journal of a job, or begins one if there is none. Passes each record from the position `from` on to `replay`, in order,
    /// with its position. That part is read once, 1 MiB at a time, and the last segment is rewritten.
    ///
    /// The position is 0, or one that `end` or `record` returned. Segments before it may be missing. Only
    /// their headers and lengths are checked: damage in them is found when they are read.
    ///
    /// Files of other names are left alone. Only one process may open a journal at a time; the job's lock sees to that.
    ///
    /// # Errors
    /// If the storage fails; a segment is another job's, of a later format or missing; a record is damaged or of an unknown kind (except
    /// at the very end, which is [cut off](Recovery::cut)); or the position lies beyond the end or within a record. No segment was changed
    /// then.
    pub fn open(
        storage: S,
        job: u64,
        options: &JournalOptions,
        from: Position,
        replay: impl FnMut(Position, Record<'_>),
    ) -> Result<(Self, Recovery), JournalError> {
        Self::open_needed(storage, job, options, &Needs::with(from, iter::empty()), from, replay)
    }

    /// As [`open`](Self::open), but `needs` says what must be there. The journal was safe on disk up to `synced`: damage before that is
    /// not a torn end.
    pub(in crate::job) fn open_needed(
        storage: S,
        job: u64,
        options: &JournalOptions,
        needs: &Needs,
        synced: Position,
        replay: impl FnMut(Position, Record<'_>),
    ) -> Result<(Self, Recovery), JournalError> {
        let (mut journal, found, begin) = Self::scan(storage, job, options, needs, false, synced, replay)?;
        match begin {
            None => journal.renew()?,
            Some(end) => journal.begin(end)?,
        }
        journal.sweep()?;
        Ok((journal, found))
    }

    /// Opens a journal read-only, even while another process writes to it. Reads the whole journal once and passes each record to `show`,
    /// in order, with its position. An end that is torn or is still being written is left alone.
    ///
    /// `needs` says what must be there. The journal was safe on disk up to `synced`: damage before that is not a torn end. Also
    /// returns whether all segments are there: some may have been removed.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn look(
        storage: S,
        job: u64,
        needs: &Needs,
        synced: Position,
        show: impl FnMut(Position, Record<'_>),
    ) -> Result<(Self, bool), JournalError> {
        let options = JournalOptions::default();
        let (mut journal, _, _) = Self::scan(storage, job, &options, needs, true, synced, show)?;
        journal.state = FileState::ReadOnly;
        let ends = iter::once(0).chain(journal.segments.iter().map(|segment| segment.end));
        let is_whole = journal.segments.iter().zip(ends).all(|(segment, end)| segment.start == end);
        let is_whole = is_whole && journal.compacted.is_empty();
        Ok((journal, is_whole))
    }

    /// Reads the part that is needed, or everything if `is_all`. If there is no segment to append to, also returns the position where one
    /// must begin: 0 if there are no segments at all, else the start of the one whose header is torn.
    ///
    /// Changes nothing. A segment that is not read is taken to be as long as its file; the next one must begin where it ends.
    fn scan(
        mut storage: S,
        job: u64,
        options: &JournalOptions,
        needs: &Needs,
        is_all: bool,
        synced: Position,
        mut replay: impl FnMut(Position, Record<'_>),
    ) -> Result<(Self, Recovery, Option<u64>), JournalError> {
        let starts = Segment::starts(&mut storage)?;
        let from = if is_all { 0 } else { needs.from().to_u64() };
        let synced = synced.to_u64().max(from);
        let (window, found) = (Window::default(), Recovery::default());
        let compacted = BTreeMap::new();
        let mut scan = Scan { storage, job, needs, from, synced, window, found, compacted };
        let mut segments = Vec::with_capacity(starts.len());
        let (mut end, mut is_begun) = (0, false);
        for (at, &start) in starts.iter().enumerate() {
            let segment = scan.segment(start, end, starts.get(at + 1).copied(), &mut replay)?;
            (end, is_begun) = (segment.end, segment.end > segment.start);
            if is_begun {
                segments.push(segment);
            }
        }
        let Scan { storage, found, compacted, .. } = scan;
        if synced > end {
            let path = storage.path("");
            let (position, end) = (Position::from_u64(synced), Position::from_u64(end));
            return Err(JournalError::Beyond { path, position, end });
        }
        let journal = Self {
            storage,
            job,
            options: *options,
            segments,
            compacted,
            tail: Tail::default(),
            group: Group::default(),
            pending_since: None,
            state: FileState::Synced,
            syncing: None,
            synced: None,
            blocks: Blocks::default(),
            freed: 0,
            observer: None,
        };
        Ok((journal, found, (!is_begun).then_some(end)))
    }

    /// Writes the good part of the last segment to a new file, and renames that into place. An earlier sync may have failed. Then the
    /// operating system shows bytes that are not on the disk, and does not report that at the next sync. (Rebello and others, "Can
    /// Applications Recover from fsync Failures?", USENIX ATC 2020, say what each file system does then.)
    ///
    /// After a power cut, the segment is the old file or the new one, and a part of the new one may be left as `NAME.new`. Nothing reads
    /// that part, and the next opening overwrites it.
    fn renew(&mut self) -> Result<(), JournalError> {
        let Self { storage, segments, .. } = self;
        let last = segments.last().expect("there is one");
        let beside = unfinished(&last.name);
        storage.create(&beside).map_err(FileError::of("create", storage.path(&beside)))?;
        let (mut window, mut at) = (Window::default(), last.start);
        while at < last.end {
            let bytes = window.fill(storage, last, at, READ_AHEAD)?;
            at += bytes.len() as u64;
            storage.append(&beside, bytes).map_err(FileError::of("write", storage.path(&beside)))?;
        }
        let done = storage.sync(&beside).and_then(|()| storage.rename(&beside, &last.name));
        let done = done.and_then(|()| storage.sync_names());
        Ok(done.map_err(FileError::of("renew", storage.path(&last.name)))?)
    }
}

impl<S: Storage> FileJournal<S> {
    /// Removes segments that a crash left before they were whole.
    fn sweep(&mut self) -> Result<(), JournalError> {
        let Self { storage, .. } = self;
        let names = storage.list().map_err(FileError::of("list", storage.path("")))?;
        let is_unfinished =
            |name: &&String| name.strip_suffix(NEW_SUFFIX).is_some_and(|name| Segment::start_of(name).is_some());
        for name in names.iter().filter(is_unfinished) {
            storage.remove(name).map_err(FileError::of("remove", storage.path(name)))?;
        }
        Ok(())
    }
}

/// The first position, from this one on, at which a whole record of a known kind begins. A damaged record does not reveal its length, so
/// every byte after it is tried. Longer records are not searched for.
///
/// A position is mistaken for a record with a chance of at most one in 2^32: three bytes must claim a length that fits, the checksum must
/// be right for this job and this position, and the payload must be a record. Each position whose claimed length fits costs a checksum
/// over that many bytes.
pub(super) fn next_frame(
    storage: &mut impl Storage,
    segment: &Segment,
    job: u64,
    from: u64,
) -> Result<Option<u64>, JournalError> {
    let mut window = Window::default();
    let mut at = from;
    while at < segment.end {
        let bytes = window.fill(storage, segment, at, READ_AHEAD + LONGEST)?;
        // The rest of this piece is searched again, together with what follows it.
        let here = if at + bytes.len() as u64 >= segment.end { bytes.len() } else { READ_AHEAD };
        for skipped in 0..here {
            let bytes = &bytes[skipped..];
            let is_likely = Frame::length(bytes).is_some_and(|length| length <= bytes.len().min(LONGEST));
            let position = at + skipped as u64;
            if is_likely && Frame::read(bytes, job, position).is_ok_and(|frame| frame.record().is_ok()) {
                return Ok(Some(position));
            }
        }
        at += here as u64;
    }
    Ok(None)
}

/// One reading of all segments.
struct Scan<'a, S> {
    storage: S,
    job: u64,
    /// What must be there of the journal before the starting position.
    needs: &'a Needs,
    /// The starting position: records from here on are read.
    from: u64,
    /// No crash can have torn anything before this position.
    synced: u64,
    window: Window,
    found: Recovery,
    compacted: BTreeMap<u64, Compacted>,
}

impl<S: Storage> Scan<'_, S> {
    /// Reads the segment at `start`, or only its header if the next one starts at or before the starting position. The previous segment
    /// ends at `expected`; the next one, if any, starts at `next`. The result is empty if not even the header was written.
    fn segment(
        &mut self,
        start: u64,
        expected: u64,
        next: Option<u64>,
        replay: &mut impl FnMut(Position, Record<'_>),
    ) -> Result<Segment, JournalError> {
        let mut segment = Segment::open(&mut self.storage, start)?;
        let length = segment.length();
        let gap = Position::from_u64(expected)..Position::from_u64(start);
        if start < expected || start > expected && self.needs.any_in(&gap) {
            return Err(self.damaged(&segment, start, "the segment before it is missing or has another length"));
        }
        let path = self.storage.path(&segment.name);
        let is_before = next.is_some_and(|next| next <= self.from);
        let ahead = if is_before { HEADER } else { READ_AHEAD };
        let header = self.window.fill(&mut self.storage, &segment, start, ahead)?;
        let header = &header[..header.len().min(HEADER)];
        if Compacted::is_one(header) {
            let header = header.to_vec();
            return self.compacted(segment, &header, next.is_none(), replay);
        }
        match segment.check(header, self.job, &path) {
            // A header is safe on disk before anything follows it. So this segment was still being begun.
            Err(FileError::Damaged { path, reason, .. })
                if next.is_none() && length <= HEADER as u64 && start >= self.synced =>
            {
                segment.end = start;
                self.found.cut = Some(Cut { path, offset: 0, bytes: length, reason });
                return Ok(segment);
            }
            checked => checked?,
        }
        if is_before {
            return Ok(segment);
        }
        let first = start + HEADER as u64;
        // If the starting position is the segment's end or in its header, no frame is read that would show whether a frame begins there. So
        // the frames before it are followed from the segment's beginning.
        if self.from == segment.end || (start + 1..first).contains(&self.from) {
            self.check_start(&segment)?;
        }
        let mut at = first.max(self.from);
        // Up to here, no group is torn.
        let mut untorn = if next.is_some() { segment.end } else { self.synced };
        while at < segment.end {
            let bytes = self.window.frame(&mut self.storage, &segment, at, READ_AHEAD, 0)?;
            let mut frame = Frame::read(bytes, self.job, at);
            if at >= untorn && frame.as_ref().is_ok_and(|frame| frame.continues) {
                match self.window.group(&mut self.storage, &segment, self.job, at)? {
                    Ok(end) => {
                        untorn = end;
                        continue;
                    }
                    Err(reason) => frame = Err(reason),
                }
            }
            match frame {
                Ok(frame) => {
                    let record = frame.record();
                    replay(Position::from_u64(at), record.map_err(|why| damaged(&self.storage, &segment, at, why))?);
                    self.found.records += 1;
                    at += frame.size();
                }
                Err(reason) => {
                    // The frame is torn or damaged, or the starting position is not the beginning of a frame: `check_start` finds out.
                    if at == self.from {
                        self.check_start(&segment)?;
                    }
                    if next.is_some() || at < self.synced {
                        return Err(self.damaged(&segment, at, reason));
                    }
                    let (path, bytes) = (self.storage.path(&segment.name), segment.end - at);
                    self.found.cut = Some(Cut { path, offset: at - start, bytes, reason });
                    segment.end = at;
                }
            }
        }
        Ok(segment)
    }

    /// Opens a compacted segment, and reads it if the whole journal is read.
    fn compacted(
        &mut self,
        mut segment: Segment,
        header: &[u8],
        is_last: bool,
        replay: &mut impl FnMut(Position, Record<'_>),
    ) -> Result<Segment, JournalError> {
        let Self { ref mut storage, job, .. } = *self;
        let (compacted, end) = Compacted::open(storage, job, segment.start, &segment.name, header)?;
        if is_last || end > self.needs.from().to_u64() {
            return Err(self.damaged(&segment, segment.start, "a part of it that is needed was removed"));
        }
        if segment.start >= self.from {
            let (mut records, mut bad) = (0, None);
            let stopped = compacted.each(storage, READ_AHEAD, |position, at, bytes| {
                let frame = Frame::read(bytes, job, position).map_err(Unreadable::Payload);
                match frame.and_then(|frame| frame.record()) {
                    Ok(record) => replay(Position::from_u64(position), record),
                    Err(why) => bad = bad.or(Some((at, why))),
                }
                records += 1;
                Ok::<_, JournalError>(())
            })?;
            if let Some((at, why)) = bad.or(stopped.map(|at| (at, Unreadable::Payload("the frame is cut short")))) {
                return Err(damaged(storage, &segment, at, why));
            }
            self.found.records += records;
        }
        segment.end = end;
        self.compacted.insert(segment.start, compacted);
        Ok(segment)
    }

    /// Goes frame by frame to the starting position, and checks that a frame ends there. This is done only if the position is in doubt,
    /// since it reads the segment from its beginning.
    ///
    /// # Errors
    /// [`NoEntry`](JournalError::NoEntry) if the position lies within a record; damage, if a frame on the way is damaged.
    fn check_start(&mut self, segment: &Segment) -> Result<(), JournalError> {
        let mut at = segment.start + HEADER as u64;
        while at < self.from {
            let bytes = self.window.frame(&mut self.storage, segment, at, READ_AHEAD, 0)?;
            let frame = Frame::read(bytes, self.job, at).map(|frame| frame.size());
            at += frame.map_err(|reason| self.damaged(segment, at, reason))?;
        }
        if at == self.from { Ok(()) } else { Err(JournalError::NoEntry(Position::from_u64(self.from))) }
    }

    fn damaged(&self, segment: &Segment, at: u64, reason: &'static str) -> JournalError {
        damaged(&self.storage, segment, at, Unreadable::Payload(reason))
    }
}

/// A piece of a journal. The pieces follow each other without gaps.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub(in crate::job) enum Piece<'a> {
    /// A segment begins; its header may be damaged.
    Begin { start: u64, is_whole: bool },
    /// A record, and the bytes of its frame.
    Record { position: Position, bytes: u64, record: Record<'a> },
    /// Bytes of a segment that are not a record.
    Damaged { start: u64, position: u64, bytes: u64, reason: &'static str },
    /// Bytes that are in no segment.
    Missing { position: u64, bytes: u64 },
    /// Bytes that were removed when their segment was compacted.
    Removed { position: u64, bytes: u64 },
    /// The rest of the last segment, torn by a crash.
    Torn,
}

/// Shows all records of a journal for which no checkpoint says how far it was safe on disk. Damage counts as a torn end only if no whole
/// record follows it.
///
/// # Errors
/// If the storage fails, a segment is another job's, of a later format or missing, or a record is damaged.
pub fn look_closely(
    storage: &mut impl Storage,
    job: u64,
    mut show: impl FnMut(Position, Record<'_>),
) -> Result<(), JournalError> {
    let path = storage.path("");
    salvage(storage, job, |piece| {
        let (start, offset, reason) = match piece {
            Piece::Record { position, record, .. } => {
                show(position, record);
                return Ok(());
            }
            Piece::Begin { is_whole: true, .. } | Piece::Removed { .. } | Piece::Torn => return Ok(()),
            Piece::Begin { start, is_whole: false } => (start, 0, "the header's checksum does not match"),
            Piece::Damaged { start, position, reason, .. } => (start, position - start, reason),
            Piece::Missing { position, bytes } => {
                (position + bytes, 0, "the segment before it is missing or has another length")
            }
        };
        Err(FileError::Damaged { path: path.join(super::segment_name(start)), offset, reason }.into())
    })
}

/// Shows every piece of a journal, in order.
///
/// Bytes of the last segment that no whole record follows are [torn](Piece::Torn), since a crash leaves such an end. They may also be
/// damage: the two cannot be told apart.
///
/// # Errors
/// If the storage fails, or a segment is another job's or of a later format; and the errors of `show`.
pub(in crate::job) fn salvage<E: From<FileError> + From<JournalError>>(
    storage: &mut impl Storage,
    job: u64,
    mut show: impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let starts = Segment::starts(storage)?;
    let mut end = 0;
    let mut window = Window::default();
    for (nth, &start) in starts.iter().enumerate() {
        let next = starts.get(nth + 1).copied();
        let mut segment = Segment::open(storage, start)?;
        // If a segment reaches into the next one, it is cut there.
        segment.end = segment.end.min(next.unwrap_or(u64::MAX));
        if segment.end < start + HEADER as u64 {
            // There is not even a header: the segment is missing, or was never begun.
            continue;
        }
        if start > end {
            show(Piece::Missing { position: end, bytes: start - end })?;
        }
        let header = window.fill(storage, &segment, start, READ_AHEAD)?;
        let header = header[..header.len().min(HEADER)].to_vec();
        if Compacted::is_one(&header) {
            end = salvage_compacted(storage, job, &segment, &header, next, &mut show)?;
            continue;
        }
        let is_whole = match segment.check(&header, job, &storage.path(&segment.name)) {
            Err(FileError::Damaged { .. }) => false,
            checked => checked.map(|()| true)?,
        };
        if !is_whole && next.is_none() && segment.end == start + HEADER as u64 {
            // It was still being begun.
            return show(Piece::Torn);
        }
        show(Piece::Begin { start, is_whole })?;
        let mut at = start + HEADER as u64;
        while at < segment.end {
            let bytes = window.frame(storage, &segment, at, READ_AHEAD, 0)?;
            let reason = match Frame::read(bytes, job, at) {
                Ok(frame) => {
                    let bytes = frame.size();
                    match frame.record() {
                        Ok(record) => show(Piece::Record { position: Position::from_u64(at), bytes, record })?,
                        Err(Unreadable::Payload(reason)) => {
                            show(Piece::Damaged { start, position: at, bytes, reason })?;
                        }
                        Err(why) => return Err(damaged(storage, &segment, at, why).into()),
                    }
                    at += bytes;
                    continue;
                }
                Err(reason) => reason,
            };
            match next_frame(storage, &segment, job, at + 1)? {
                None if next.is_none() => {
                    show(Piece::Torn)?;
                    segment.end = at;
                }
                follower => {
                    let to = follower.unwrap_or(segment.end);
                    show(Piece::Damaged { start, position: at, bytes: to - at, reason })?;
                    at = to;
                }
            }
        }
        end = segment.end;
    }
    Ok(())
}

/// Shows every piece of a compacted segment, and returns where it ends. If its index is damaged, the whole segment counts as damaged: only
/// the index tells where the segment ended.
fn salvage_compacted<E: From<FileError> + From<JournalError>>(
    storage: &mut impl Storage,
    job: u64,
    segment: &Segment,
    header: &[u8],
    next: Option<u64>,
    show: &mut impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<u64, E> {
    let start = segment.start;
    let (compacted, end) = match Compacted::open(storage, job, start, &segment.name, header) {
        Ok(opened) => opened,
        Err(JournalError::File(FileError::Damaged { reason, .. })) => {
            let end = next.unwrap_or(segment.end);
            show(Piece::Damaged { start, position: start, bytes: end - start, reason })?;
            return Ok(end);
        }
        Err(error) => return Err(error.into()),
    };
    show(Piece::Begin { start, is_whole: true })?;
    let (mut at, mut shown) = (start + HEADER as u64, Ok(()));
    compacted.each(storage, READ_AHEAD, |position, _, bytes| {
        if shown.is_err() {
            return Ok(());
        }
        let Some(gap) = position.checked_sub(at) else { return Ok(()) };
        let frame = Frame::read(bytes, job, position).map_err(Unreadable::Payload);
        let piece = match frame.and_then(|frame| Ok((frame.size(), frame.record()?))) {
            Ok((bytes, record)) => Piece::Record { position: Position::from_u64(position), bytes, record },
            Err(_) => Piece::Damaged { start, position, bytes: 1, reason: "a record that was kept is damaged" },
        };
        if gap > 0 {
            shown = show(Piece::Removed { position: at, bytes: gap });
        }
        if shown.is_ok() {
            at = position
                + if let Piece::Record { bytes, .. } | Piece::Damaged { bytes, .. } = piece { bytes } else { 0 };
            shown = show(piece);
        }
        Ok(())
    })?;
    shown?;
    if at < end {
        show(Piece::Removed { position: at, bytes: end - at })?;
    }
    Ok(end)
}
