//! Groups of frames: after a crash, a group is on disk as a whole or not at all.
//!
//! Each frame of a group but the last says that the next one belongs to it. That takes no byte. A group is in one segment and in one write.
//! While it is open, each of its frames says that another one follows. When it ends, the last frame is changed. Its frames can be read one by
//! one at any time.
//!
//! A group ends by itself with the record that brings it to 1 MiB, and the next record begins another. So an opening reads at most that much
//! ahead, and memory holds no more.

use super::frame::Frame;
use super::segment::{Segment, Window};
use super::{JournalError, Storage};
use crate::frontier::Record;

/// A group with this many bytes ends.
pub(super) const GROUP_BYTES: usize = 1 << 20;

/// The frames that are appended as a group, if one is open.
#[derive(Debug, Default)]
pub(super) struct Group {
    is_open: bool,
    /// The positions of its first and last frame, and the bytes of the last; `None` if it has none yet.
    frames: Option<(u64, u64, usize)>,
}

impl Group {
    pub(super) fn begin(&mut self) {
        self.is_open = true;
    }

    /// Ends the group that is open, if there is one. Its last frame ends these bytes.
    pub(super) fn end(&mut self, bytes: &mut [u8], job: u64) {
        self.close(bytes, job);
        self.is_open = false;
    }

    /// Whether it has frames. They must stay pending until it ends.
    pub(super) fn has_begun(&self) -> bool {
        self.frames.is_some()
    }

    /// Appends the frame of the record at position `at`. If a group is open, the frame belongs to it.
    pub(super) fn append(
        &mut self,
        to: &mut Vec<u8>,
        job: u64,
        at: u64,
        record: &Record<'_>,
    ) -> Result<(), JournalError> {
        let before = to.len();
        Frame::write(to, job, at, record, self.is_open)?;
        if self.is_open {
            let (first, size) = (self.frames.map_or(at, |(first, ..)| first), to.len() - before);
            self.frames = Some((first, at, size));
            if at + size as u64 - first >= GROUP_BYTES as u64 {
                self.close(to, job);
            }
        }
        Ok(())
    }

    /// Makes the last frame, which ends these bytes, the end of the group. What is appended next begins another one.
    pub(super) fn close(&mut self, bytes: &mut [u8], job: u64) {
        if let Some((_, at, size)) = self.frames.take() {
            let begin = bytes.len() - size;
            Frame::end_group(&mut bytes[begin..], job, at);
        }
    }
}

impl Window {
    /// The end of the group whose first frame is at this position; or what is wrong with the first of its frames that is not whole.
    pub(super) fn group(
        &mut self,
        storage: &mut impl Storage,
        segment: &Segment,
        job: u64,
        mut at: u64,
    ) -> Result<Result<u64, &'static str>, JournalError> {
        while at < segment.end {
            match Frame::read(self.frame(storage, segment, at, GROUP_BYTES, 0)?, job, at) {
                Ok(frame) => {
                    at += frame.size();
                    if !frame.continues {
                        return Ok(Ok(at));
                    }
                }
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Err("the end of its group is missing"))
    }
}
