//! The files of a checkpoint: a header, then frames.
//!
//! A frame's checksum is seeded with the file's number and its own. So it fails for a frame of an older file, left in a reused block of
//! the disk, and for frames that changed places.
//!
//! A file of slices and a run end with an empty frame. Without it, a run that was cut between two frames would look whole.

use std::io::{self, BufReader, Read, Write};

use super::CheckpointError;
use super::names::name;
use super::stream::{BUFFER, StorageReader};
use crate::bytes::{Fields, FrameError, FrameReader, FrameWriter, Header};
use crate::gate::Position;
use crate::job::journal::Storage;

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

/// Reads a file that [`begin`] began: checks its header, and gives its frames to `read`. Errors name the file.
///
/// `read` must check the end: by the empty frame if there is one, else by [`FrameReader::end`]. A frame may have any length, since a
/// host's queue may; memory is taken only for bytes that are there.
pub(super) fn read<S: Storage, T>(
    storage: &mut S,
    file: &str,
    magic: [u8; 8],
    (job, number): (u64, u64),
    read: impl FnOnce(&mut Frames<'_, S>) -> Result<T, FrameError>,
) -> Result<T, CheckpointError> {
    let name = name(file, number);
    let path = storage.path(&name);
    let reading = BufReader::with_capacity(BUFFER, StorageReader { storage, name, at: 0 });
    let mut frames = FrameReader::new(reading, number, u32::MAX);
    let of_file = |error: FrameError| error.of_file(path.clone());
    let header: [u8; Header::SIZE] = frames.raw().map_err(of_file)?;
    Header { magic, version: VERSION, job, number }.check(&header, &path)?;
    Ok(read(&mut frames).map_err(of_file)?)
}

/// The frames of a file in a storage.
pub(super) type Frames<'a, S> = FrameReader<BufReader<StorageReader<'a, S>>>;

/// The next frame's payload without the position that it begins with, and that position.
pub(super) fn next_placed<R: Read>(frames: &mut FrameReader<R>) -> Result<(&[u8], Position), FrameError> {
    let offset = frames.next_offset();
    let mut fields = Fields::of(frames.next()?);
    let position = fields.u64().map_err(|reason| FrameError::Damaged { offset, reason })?;
    Ok((fields.bytes(), Position::from_u64(position)))
}
