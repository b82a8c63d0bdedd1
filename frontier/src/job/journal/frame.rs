//! Frames: a record's bytes in a segment, with its length, its kind and a checksum.
//!
//! The checksum of a frame covers length and kind too, so a damaged length is noticed. A reader reads no bytes beyond the segment, whatever
//! a length claims.
//!
//! A frame takes eight bytes more than its record; the [frames](crate::bytes) of other files take twelve. Half a checksum is enough here,
//! since frames are seldom read, and a payload must also be a record.

use super::JournalError;
use super::record::{Unreadable, kind, read, write};
use crate::bytes::half_checksum;
use crate::frontier::Record;
use crate::gate::Position;

/// Bytes before the payload.
pub(super) const HEAD: usize = 8;
/// The longest payload: its length has three bytes.
const MAX_PAYLOAD: u32 = (1 << 24) - 1;
/// Bytes of the checksum, at the frame's start.
const CHECKSUM: usize = 4;
/// Set in a frame's kind if the next frame belongs to its group.
const CONTINUES: u8 = 1 << 7;

/// A record as it is in a segment. Its checksum was right.
pub(super) struct Frame<'a> {
    at: Position,
    kind: u8,
    /// The next frame belongs to its group.
    pub(super) continues: bool,
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Appends the frame of the record at position `at`; nothing if the record is too long. `continues` says that the next frame belongs to
    /// its group.
    pub(super) fn write(
        to: &mut Vec<u8>,
        job: u64,
        at: u64,
        record: &Record<'_>,
        continues: bool,
    ) -> Result<(), JournalError> {
        let begin = to.len();
        to.extend([0; HEAD]);
        write(record, Position::from_u64(at), to);
        let payload = to.len() - begin - HEAD;
        let Some(length) = u32::try_from(payload).ok().filter(|length| *length <= MAX_PAYLOAD) else {
            to.truncate(begin);
            return Err(JournalError::TooLong { length: payload, most: MAX_PAYLOAD as usize });
        };
        let frame = &mut to[begin..];
        let kind = kind(record) | if continues { CONTINUES } else { 0 };
        frame[CHECKSUM..HEAD].copy_from_slice(&(length | u32::from(kind) << 24).to_le_bytes());
        seal(frame, job, at);
        Ok(())
    }

    /// Makes this frame, at position `at`, the last of its group.
    pub(super) fn end_group(frame: &mut [u8], job: u64, at: u64) {
        frame[HEAD - 1] &= !CONTINUES;
        seal(frame, job, at);
    }

    /// The frame at position `at`, at the beginning of these bytes; or what is wrong with it.
    pub(super) fn read(bytes: &'a [u8], job: u64, at: u64) -> Result<Self, &'static str> {
        let frame = Self::length(bytes).and_then(|length| bytes.get(..length)).ok_or("the frame is cut short")?;
        let (found, checked) = frame.split_at(CHECKSUM);
        if found != half_checksum(job ^ at, checked) {
            return Err("the checksum does not match");
        }
        let (kind, continues) = (frame[HEAD - 1] & !CONTINUES, frame[HEAD - 1] & CONTINUES != 0);
        Ok(Self { at: Position::from_u64(at), kind, continues, payload: &frame[HEAD..] })
    }

    /// The record that it holds.
    pub(super) fn record(&self) -> Result<Record<'a>, Unreadable> {
        read(self.kind, self.payload, self.at)
    }

    /// The bytes that it takes in the segment.
    pub(super) fn size(&self) -> u64 {
        (HEAD + self.payload.len()) as u64
    }

    /// The length that a frame claims to have, including its head; `None` if there are too few bytes to tell.
    pub(super) fn length(bytes: &[u8]) -> Option<usize> {
        let [_, _, _, _, low, middle, high, _] = *bytes.first_chunk::<HEAD>()?;
        Some(HEAD + u32::from_le_bytes([low, middle, high, 0]) as usize)
    }
}

/// Writes the checksum of a frame at position `at`.
fn seal(frame: &mut [u8], job: u64, at: u64) {
    let checksum = half_checksum(job ^ at, &frame[CHECKSUM..]);
    frame[..CHECKSUM].copy_from_slice(&checksum);
}
