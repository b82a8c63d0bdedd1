//! The part of a segment that was read last, for reading a journal from one end to the other.
//!
//! One read of the storage yields about 1 MiB of frames. A frame that reaches beyond the window is read again from its beginning, with
//! what follows it. So a record is always in one piece, and at most one frame per window is read twice. The [cache](super::blocks) is for
//! the other way of reading, one record here and one there.

use super::blocks::read_at;
use super::frame::{Frame, HEAD};
use super::segment::Segment;
use super::{JournalError, Storage};

/// The part of a segment that was read last. Segments only grow, so these bytes stay right.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// The position of its first byte.
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The bytes from a position on: at least the frame that begins there, or less if the segment ends earlier. If they are not in the
    /// window, `ahead` bytes are read, or as many as the frame takes.
    pub(super) fn frame(
        &mut self,
        storage: &mut impl Storage,
        segment: &Segment,
        at: u64,
        ahead: usize,
    ) -> Result<&[u8], JournalError> {
        if self.rest(at).len() < HEAD {
            self.fill(storage, segment, at, ahead)?;
        }
        if let Some(length) = Frame::length(self.rest(at))
            && self.rest(at).len() < length
        {
            self.fill(storage, segment, at, length.max(ahead))?;
        }
        Ok(self.rest(at))
    }

    /// Reads `wanted` bytes from a position on, or as many as the segment has. So a damaged length makes the window no longer than its
    /// segment.
    ///
    /// # Errors
    /// If the storage fails. The window is empty then.
    pub(super) fn fill(
        &mut self,
        storage: &mut impl Storage,
        segment: &Segment,
        at: u64,
        wanted: usize,
    ) -> Result<&[u8], JournalError> {
        let there = usize::try_from(segment.end.saturating_sub(at)).unwrap_or(usize::MAX);
        self.at = at;
        self.bytes.resize(wanted.min(there), 0);
        read_at(storage, segment, at, &mut self.bytes).inspect_err(|_| self.bytes.clear())?;
        Ok(&self.bytes)
    }

    /// The bytes that it holds from a position on.
    fn rest(&self, at: u64) -> &[u8] {
        let skipped = at.checked_sub(self.at).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.bytes.get(skipped..)).unwrap_or_default()
    }
}
