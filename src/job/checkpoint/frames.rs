use std::io::{self, Read, Write};
use std::path::PathBuf;

use super::CheckpointError;
use crate::address::FingerprintKey;
use crate::bytes::Fields;
use crate::gate::Position;

/// Bytes of a file's header.
pub(super) const HEADER: usize = 32;
/// Of a frame, before its payload and behind it.
pub(super) const HEAD: usize = 4 + 8;
const TAIL: usize = 8;
/// Those that its checksum, at its end, is of.
const CHECKED: usize = 28;
/// The format that is written here, and the latest that is read.
const VERSION: u32 = 1;
/// What a file of frames is about.
pub(super) const HOSTS: [u8; 8] = *b"hosts\n\0\0";
pub(super) const SUMMARY: [u8; 8] = *b"checkpt\n";
pub(super) const IDLE: [u8; 8] = *b"idle\n\0\0\0";

/// Writes a header, and behind it frames.
pub(super) struct FrameWriter<W> {
    to: W,
    seed: u64,
    frames: u64,
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn begin(mut to: W, magic: [u8; 8], job: u64, number: u64) -> io::Result<Self> {
        to.write_all(&header(magic, job, number))?;
        Ok(Self { to, seed: number, frames: 0 })
    }

    /// Writes a frame.
    pub(super) fn frame(&mut self, payload: &[u8], position: Position) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(|_| io::Error::other("a frame of 4 GiB"))?;
        let position = position.to_u64().to_le_bytes();
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(&position)?;
        self.to.write_all(payload)?;
        self.to.write_all(&checksum(self.seed ^ self.frames, position, payload).to_le_bytes())?;
        self.frames += 1;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl FrameWriter<Vec<u8>> {
    /// What was not taken to where it belongs yet.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.to
    }
}

/// Bytes of a frame in its file.
pub(super) const fn size(payload: usize) -> u64 {
    (HEAD + payload + TAIL) as u64
}

/// The payload of a frame that was read by itself: the one with this number in file `number`.
pub(super) fn payload(bytes: &[u8], number: u64, frame: u64) -> Result<&[u8], &'static str> {
    let parts = bytes.split_last_chunk().and_then(|(rest, found)| Some((rest.split_first_chunk::<HEAD>()?, found)));
    let ((head, payload), found): ((_, &[u8]), &[u8; TAIL]) = parts.ok_or("the file is cut short")?;
    let (length, position) = head.split_first_chunk().expect("twelve bytes");
    if u32::from_le_bytes(*length) as usize != payload.len() {
        return Err("a frame of another length");
    }
    let position = *position.first_chunk().expect("eight of twelve bytes");
    if u64::from_le_bytes(*found) != checksum(number ^ frame, position, payload) {
        return Err("the checksum does not match");
    }
    Ok(payload)
}

/// Reads what a [`FrameWriter`] wrote.
pub(super) struct FrameReader<R> {
    from: R,
    path: PathBuf,
    /// Bytes in the file: what a frame claims beyond them is not believed.
    length: u64,
    /// Where the header or frame begins that was read last.
    offset: u64,
    /// Where the next one does.
    end: u64,
    seed: u64,
    frames: u64,
    payload: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    pub(super) fn begin(
        mut from: R,
        path: PathBuf,
        length: u64,
        magic: [u8; 8],
        job: u64,
        number: u64,
    ) -> Result<Self, CheckpointError> {
        let mut found = [0; HEADER];
        let is_whole = from.read_exact(&mut found);
        let end = HEADER as u64;
        let reader = Self { from, path, length, offset: 0, end, seed: number, frames: 0, payload: Vec::new() };
        is_whole.map_err(|source| reader.unread(source))?;
        reader.check(&found, magic, job, number)?;
        Ok(reader)
    }

    /// The next frame, and its position.
    pub(super) fn next(&mut self) -> Result<(&[u8], Position), CheckpointError> {
        let (mut length, mut position, mut found) = ([0; 4], [0; 8], [0; 8]);
        self.offset = self.end;
        self.read(&mut length)?;
        self.read(&mut position)?;
        let length = u32::from_le_bytes(length);
        if u64::from(length) > self.length.saturating_sub(self.offset) {
            return Err(self.damaged("a frame longer than its file"));
        }
        let mut payload = std::mem::take(&mut self.payload);
        payload.resize(length as usize, 0);
        let read = self.read(&mut payload);
        self.payload = payload;
        read?;
        self.read(&mut found)?;
        if u64::from_le_bytes(found) != checksum(self.seed ^ self.frames, position, &self.payload) {
            return Err(self.damaged("the checksum does not match"));
        }
        self.end += size(length as usize);
        self.frames += 1;
        Ok((&self.payload, Position::from_u64(u64::from_le_bytes(position))))
    }

    /// Where in the file the frame begins that was read last.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Nothing may follow.
    pub(super) fn end(&mut self) -> Result<(), CheckpointError> {
        self.offset = self.end;
        if self.end == self.length { Ok(()) } else { Err(self.damaged("something follows the last frame")) }
    }

    /// The frame that was read last says what cannot be.
    pub(super) fn damaged(&self, reason: &'static str) -> CheckpointError {
        CheckpointError::Damaged { path: self.path.clone(), offset: self.offset, reason }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<(), CheckpointError> {
        self.from.read_exact(buffer).map_err(|source| self.unread(source))
    }

    fn unread(&self, source: io::Error) -> CheckpointError {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged("the file is cut short"),
            _ => CheckpointError::Io { action: "read", path: self.path.clone(), source },
        }
    }

    fn check(&self, found: &[u8; HEADER], magic: [u8; 8], job: u64, number: u64) -> Result<(), CheckpointError> {
        let path = || self.path.clone();
        // All formats to come have a header of this size, so that a later one can be told from damage.
        if found[CHECKED..] != header_checksum(found) {
            return Err(self.damaged("the header's checksum does not match"));
        }
        let mut fields = Fields::of(found);
        let wrong = |reason| self.damaged(reason);
        let (begin, version) = (fields.take().map_err(wrong)?, fields.u32().map_err(wrong)?);
        let (found_job, found_number) = (fields.u64().map_err(wrong)?, fields.u64().map_err(wrong)?);
        if begin != magic {
            return Err(self.damaged("another file's header"));
        }
        if version > VERSION {
            return Err(CheckpointError::Newer { path: path(), found: version, supported: VERSION });
        }
        if found_job != job {
            return Err(CheckpointError::Foreign { path: path(), found: found_job, expected: job });
        }
        if found_number != number {
            return Err(self.damaged("another checkpoint's file"));
        }
        Ok(())
    }
}

fn header(magic: [u8; 8], job: u64, number: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&magic);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&job.to_le_bytes());
    header[20..28].copy_from_slice(&number.to_le_bytes());
    let checksum = header_checksum(&header);
    header[CHECKED..].copy_from_slice(&checksum);
    header
}

fn header_checksum(header: &[u8; HEADER]) -> [u8; HEADER - CHECKED] {
    let checksum = FingerprintKey::from_u64(0).fingerprint_bytes(&header[..CHECKED]).bits();
    *checksum.to_le_bytes().first_chunk().expect("four of eight bytes")
}

fn checksum(seed: u64, position: [u8; 8], payload: &[u8]) -> u64 {
    let position = FingerprintKey::from_u64(seed).fingerprint_bytes(&position).bits();
    FingerprintKey::from_u64(position).fingerprint_bytes(payload).bits()
}
