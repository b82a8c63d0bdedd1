//! How a damaged journal is read: each whole record, and the damaged or missing parts between them.
//!
//! After a damaged record, the next whole one is searched for, byte by byte. Bytes of a page that look like a record do not deceive the
//! search: a frame's checksum is seeded with the job and the frame's own position.
//!
//! This differs from an [opening](super::recovery) in three ways: it goes on after damage, it reads from the first segment on, and it
//! changes nothing. A segment of another job or of a later format still ends it: those bytes were never this job's, or cannot be judged.
//!
//! It costs one read of the journal, and a search from each damaged place to the next whole record.

use super::file::damaged;
use super::frame::Frame;
use super::record::Unreadable;
use super::recovery::{READ_AHEAD, next_frame};
use super::segment::{HEADER, Segment};
use super::window::Window;
use super::{JournalError, Storage};
use crate::bytes::FileError;
use crate::frontier::Record;
use crate::gate::Position;

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
    /// The rest of the last segment, torn by a crash.
    Torn,
}

/// Shows all records of a journal when no checkpoint says how far it was safe on disk. Damage counts as a torn end only if no whole
/// record follows it.
///
/// # Errors
/// If the storage fails, a segment is another job's, of a later format or missing, or a record is damaged.
#[cfg(feature = "crawl")]
pub(crate) fn look_closely(
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
            Piece::Begin { is_whole: true, .. } | Piece::Torn => return Ok(()),
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
        // If a segment reaches into the next one, the rest of it is damaged.
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
            let bytes = window.frame(storage, &segment, at, READ_AHEAD)?;
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
