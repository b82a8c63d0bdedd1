//! The files of a checkpoint: a header, then frames.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use super::CheckpointError;
use crate::bytes::{Fields, FrameError, FrameReader, FrameWriter, Header};
use crate::gate::Position;

/// The format that is written here, and the latest that is read.
const VERSION: u32 = 1;
/// What the header calls a file of hosts, of the summary, of evicted hosts.
pub(super) const HOSTS: [u8; 8] = *b"hosts\n\0\0";
pub(super) const SUMMARY: [u8; 8] = *b"checkpt\n";
pub(super) const EVICTED: [u8; 8] = *b"evicted\n";

/// Writes a file's header, and returns the writer of its frames.
pub(super) fn begin<W: Write>(mut to: W, magic: [u8; 8], job: u64, number: u64) -> io::Result<FrameWriter<W>> {
    to.write_all(&Header { magic, version: VERSION, job, number }.to_bytes())?;
    Ok(FrameWriter::new(to, number))
}

/// Reads a file that [`begin`] began. Errors name the file.
pub(super) struct FileReader<R> {
    frames: FrameReader<R>,
    path: PathBuf,
}

impl<R: Read> FileReader<R> {
    /// Reads and checks the header.
    pub(super) fn begin(
        from: R,
        path: PathBuf,
        magic: [u8; 8],
        job: u64,
        number: u64,
    ) -> Result<Self, CheckpointError> {
        let mut reader = Self { frames: FrameReader::new(from, number, u32::MAX), path };
        let found: [u8; Header::SIZE] = reader.frames.raw().map_err(|error| reader.error(error))?;
        Header { magic, version: VERSION, job, number }.check(&found, &reader.path)?;
        Ok(reader)
    }

    /// The next frame's payload.
    pub(super) fn next(&mut self) -> Result<&[u8], CheckpointError> {
        let Self { frames, path } = self;
        Ok(frames.next().map_err(|error| error.of_file(path.clone()))?)
    }

    /// The next frame's payload without the position that it begins with, and that position.
    pub(super) fn next_placed(&mut self) -> Result<(&[u8], Position), CheckpointError> {
        let Self { frames, path } = self;
        let offset = frames.next_offset();
        let damaged = |reason| FrameError::Damaged { offset, reason };
        let mut fields = Fields::of(frames.next().map_err(|error| error.of_file(path.clone()))?);
        let position = fields.u64().map_err(|reason| damaged(reason).of_file(path.clone()))?;
        Ok((fields.bytes(), Position::from_u64(position)))
    }

    /// Where in the file the last frame that was read begins.
    pub(super) fn offset(&self) -> u64 {
        self.frames.offset()
    }

    /// The error for the last frame that was read, whose content is wrong.
    pub(super) fn damaged(&self, reason: &'static str) -> CheckpointError {
        self.error(self.frames.damaged(reason))
    }

    /// Checks that the file ends here, with an empty frame.
    pub(super) fn finish(self) -> Result<(), CheckpointError> {
        let Self { frames, path } = self;
        Ok(frames.finish().map_err(|error| error.of_file(path))?)
    }

    /// Checks that nothing follows the last frame that was read.
    pub(super) fn end(self) -> Result<(), CheckpointError> {
        let Self { frames, path } = self;
        Ok(frames.end().map_err(|error| error.of_file(path))?)
    }

    fn error(&self, error: FrameError) -> CheckpointError {
        error.of_file(self.path.clone()).into()
    }
}
